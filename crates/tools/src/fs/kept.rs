//! The first of many finds, in an order, as many as a result can hold. The rest is only counted.

use std::collections::BTreeMap;

use crate::bounded::RESULT_LIMIT;

/// What is left of the limit of a result for the lines around the finds.
const NOTES: usize = 500;

/// Finds in the order of their keys. However many are added, it keeps little more than it will show.
pub(super) struct Kept<K> {
    blocks: BTreeMap<K, Block>,
    line_limit: usize,
    lines: usize,
    bytes: usize,
    finds: u64,
}

/// Lines that belong together, such as those of one file.
#[derive(Default)]
pub(super) struct Block {
    heading: String,
    lines: Vec<Line>,
    bytes: usize,
    finds: u64,
}

struct Line {
    text: String,
    finds: u64,
}

/// What is shown of the finds.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    /// The lines, each with a line break.
    pub(super) text: String,
    /// How many finds are not among them.
    pub(super) left_out: u64,
}

impl Block {
    /// A block of one line, which stands for this many finds.
    pub(super) fn of(text: String, finds: u64) -> Self {
        let mut block = Self::default();
        block.push(finds, 1, || text);
        block
    }

    /// A block without lines yet, under a heading.
    pub(super) fn under(heading: &str) -> Self {
        Self {
            heading: heading.to_owned(),
            bytes: heading.len() + 2,
            ..Self::default()
        }
    }

    /// Adds a line, unless the block already has what any result shows of it: `line_limit` lines.
    pub(super) fn push(&mut self, finds: u64, line_limit: usize, text: impl FnOnce() -> String) {
        self.finds += finds;
        if self.lines.len() < line_limit && self.bytes < RESULT_LIMIT {
            let text = text();
            self.bytes += text.len() + 1;
            self.lines.push(Line { text, finds });
        }
    }

    /// How many finds there were.
    pub(super) fn finds(&self) -> u64 {
        self.finds
    }
}

impl<K: Ord> Kept<K> {
    /// Keeps at most `line_limit` lines.
    pub(super) fn new(line_limit: usize) -> Self {
        Self {
            blocks: BTreeMap::new(),
            line_limit,
            lines: 0,
            bytes: 0,
            finds: 0,
        }
    }

    /// How many finds there were, kept or not.
    pub(super) fn finds(&self) -> u64 {
        self.finds
    }

    /// Adds a block. Keys are unique.
    pub(super) fn add(&mut self, key: K, block: Block) {
        self.finds += block.finds;
        self.lines += block.lines.len();
        self.bytes += block.bytes;
        self.blocks.insert(key, block);
        while let Some(last) = self.blocks.last_entry() {
            let (lines, bytes) = (last.get().lines.len(), last.get().bytes);
            if self.lines - lines < self.line_limit && self.bytes - bytes < RESULT_LIMIT {
                break;
            }
            self.lines -= lines;
            self.bytes -= bytes;
            last.remove();
        }
    }

    /// The lines that fit, in order, the blocks with a heading set apart.
    pub(super) fn page(self) -> Page {
        let mut text = String::new();
        let mut shown = 0;
        let blocks = self.blocks.into_values();
        let lines = blocks.flat_map(|block| {
            let headings = std::iter::once(block.heading).chain(std::iter::repeat(String::new()));
            headings.zip(block.lines)
        });
        for (heading, line) in lines.take(self.line_limit) {
            if text.len() + heading.len() + line.text.len() + 3 > RESULT_LIMIT - NOTES {
                break;
            }
            if !heading.is_empty() {
                let gap = if text.is_empty() { "" } else { "\n" };
                text = text + gap + &heading + "\n";
            }
            text = text + &line.text + "\n";
            shown += line.finds;
        }
        Page {
            text,
            left_out: self.finds - shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_in_order_are_kept_and_the_rest_is_counted() {
        let mut kept = Kept::new(3);
        for key in [5, 1, 4, 2, 3] {
            kept.add(key, Block::of(format!("line {key}"), 1));
        }
        assert_eq!(kept.finds(), 5);
        assert_eq!(
            kept.page(),
            Page {
                text: String::from("line 1\nline 2\nline 3\n"),
                left_out: 2
            }
        );
    }

    #[test]
    fn little_more_is_kept_than_is_shown() {
        let mut kept = Kept::new(usize::MAX);
        for key in 0..10_000 {
            kept.add(key, Block::of("日".repeat(100), 1));
            assert!(kept.bytes < RESULT_LIMIT + 400);
        }
        let page = kept.page();
        assert!(page.text.len() < RESULT_LIMIT);
        assert_eq!(page.left_out, 10_000 - page.text.lines().count() as u64);

        let mut block = Block::default();
        for _ in 0..10_000 {
            block.push(1, usize::MAX, || "x".repeat(100));
        }
        assert!(block.bytes < RESULT_LIMIT + 200);
        assert_eq!(block.finds(), 10_000);
    }

    #[test]
    fn blocks_with_a_heading_are_set_apart() {
        let mut kept = Kept::new(3);
        for (key, heading) in ["a", "b", "c"].into_iter().enumerate() {
            let mut block = Block::under(heading);
            block.push(0, 3, || String::from("context"));
            block.push(1, 3, || String::from("match"));
            kept.add(key, block);
        }
        let page = kept.page();
        assert_eq!(page.text, "a\ncontext\nmatch\n\nb\ncontext\n");
        assert_eq!(page.left_out, 2);
    }

    proptest! {
        #[test]
        fn the_order_of_adding_makes_no_difference(
            blocks in proptest::collection::btree_map(0u8..50, proptest::collection::vec(any::<bool>(), 0..5), 0..20),
            limit in 1usize..20,
        ) {
            let page = |blocks: &mut dyn Iterator<Item = (&u8, &Vec<bool>)>| {
                let mut kept = Kept::new(limit);
                for (key, lines) in blocks {
                    let mut block = Block::default();
                    for (index, is_find) in lines.iter().enumerate() {
                        block.push(u64::from(*is_find), limit, || format!("{key}.{index}"));
                    }
                    kept.add(*key, block);
                }
                kept.page()
            };
            let forward = page(&mut blocks.iter());
            prop_assert_eq!(&forward, &page(&mut blocks.iter().rev()));
            let all: Vec<String> = blocks.iter()
                .flat_map(|(key, lines)| (0..lines.len()).map(move |index| format!("{key}.{index}")))
                .take(limit).collect();
            prop_assert_eq!(forward.text.lines().collect::<Vec<_>>(), all);
        }
    }
}
