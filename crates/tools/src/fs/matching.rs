//! Finding a text in the content of a file and putting another in its place.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;

/// A content with every place replaced.
#[derive(Debug, PartialEq)]
pub(super) struct Replaced {
    pub(super) content: Vec<u8>,
    /// How many places there were.
    pub(super) count: usize,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq)]
pub(super) enum Mismatch {
    /// The text is not there. The hint says what is nearly there, if anything.
    Missing { hint: Option<String> },
    /// The text is there more than once, on these lines (the first few).
    Ambiguous { count: usize, lines: Vec<usize> },
}

/// Puts `new` in the place of `old`, which must be there once, or at least once with `all`.
///
/// The content is bytes, as a file may hold some that are not text; all but the replaced places
/// stays as it is. Read shows no carriage returns, so an `old` without any matches both kinds of line
/// breaks, and the line breaks of `new` become those of the place that it takes (or of the file,
/// where the place has none). An `old` with carriage returns is taken literally.
pub(super) fn replace(
    content: &[u8],
    old: &str,
    new: &str,
    all: bool,
) -> Result<Replaced, Mismatch> {
    let view = View::new(content, !old.contains('\r'));
    let places: Vec<usize> = Finder::new(old).find_iter(&view.text).collect();
    let Some(first) = places.first() else {
        let hint = super::hint::nearest(&view.text, old);
        return Err(Mismatch::Missing { hint });
    };
    if !all {
        // Also places that overlap the first one leave open which is meant.
        let after = view.text.get(first + 1..).unwrap_or_default();
        let overlap = Finder::new(old).find(after).map(|at| first + 1 + at);
        if let Some(second) = overlap {
            let count = places.len().max(2);
            let ambiguous = if places.len() > 1 {
                places
            } else {
                vec![*first, second]
            };
            let lines = line_numbers(&view.text, ambiguous.iter().take(5));
            return Err(Mismatch::Ambiguous { count, lines });
        }
    }
    let file_break = LineBreak::of(content);
    let mut replaced = Vec::with_capacity(content.len() + new.len());
    let mut end = 0;
    for place in &places {
        let range = view.original(*place..place + old.len());
        replaced.extend_from_slice(content.get(end..range.start).unwrap_or_default());
        let place = content.get(range.clone()).unwrap_or_default();
        let line_break = LineBreak::of(place).or(file_break);
        let new = match line_break {
            Some(line_break) if view.is_lenient => line_break.applied_to(new),
            _ => Cow::Borrowed(new),
        };
        replaced.extend_from_slice(new.as_bytes());
        end = range.end;
    }
    replaced.extend_from_slice(content.get(end..).unwrap_or_default());
    Ok(Replaced {
        content: replaced,
        count: places.len(),
    })
}

/// A content as Read shows it, without the carriage returns before line feeds.
struct View<'a> {
    text: Cow<'a, [u8]>,
    is_lenient: bool,
    /// Where in the text the line feeds are that had a carriage return.
    shortened: Vec<usize>,
}

impl<'a> View<'a> {
    fn new(content: &'a [u8], is_lenient: bool) -> Self {
        let mut view = Self {
            text: Cow::Borrowed(content),
            is_lenient,
            shortened: Vec::new(),
        };
        let finder = Finder::new(b"\r\n");
        if is_lenient && finder.find(content).is_some() {
            let mut text = Vec::with_capacity(content.len());
            let mut start = 0;
            for at in finder.find_iter(content) {
                text.extend_from_slice(content.get(start..at).unwrap_or_default());
                view.shortened.push(text.len());
                start = at + 1;
            }
            text.extend_from_slice(content.get(start..).unwrap_or_default());
            view.text = Cow::Owned(text);
        }
        view
    }

    /// The range of the content that a range of the text stands for. A line break is never split.
    fn original(&self, range: Range<usize>) -> Range<usize> {
        let original = |at: usize| at + self.shortened.partition_point(|it| *it < at);
        original(range.start)..original(range.end)
    }
}

#[derive(Clone, Copy)]
enum LineBreak {
    LineFeed,
    CarriageReturnLineFeed,
}

impl LineBreak {
    /// The kind that most of the line breaks are, or `None` if there are none.
    fn of(content: &[u8]) -> Option<Self> {
        let all = memchr::memchr_iter(b'\n', content).count();
        let long = Finder::new(b"\r\n").find_iter(content).count();
        match all {
            0 => None,
            _ if long * 2 > all => Some(Self::CarriageReturnLineFeed),
            _ => Some(Self::LineFeed),
        }
    }

    fn applied_to(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::CarriageReturnLineFeed if text.contains('\n') => {
                Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
            }
            _ => Cow::Borrowed(text),
        }
    }
}

/// The numbers of the lines that these places are on, from 1.
fn line_numbers<'a>(text: &[u8], places: impl Iterator<Item = &'a usize>) -> Vec<usize> {
    places
        .map(|at| 1 + memchr::memchr_iter(b'\n', text.get(..*at).unwrap_or_default()).count())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(content: &str, old: &str, new: &str) -> Result<String, Mismatch> {
        edited(content, old, new, false)
    }

    fn edited(content: &str, old: &str, new: &str, all: bool) -> Result<String, Mismatch> {
        let replaced = replace(content.as_bytes(), old, new, all)?;
        Ok(String::from_utf8(replaced.content).unwrap())
    }

    #[test]
    fn one_place_is_replaced() {
        assert_eq!(one("a b c", "b", "日本").as_deref(), Ok("a 日本 c"));
        assert_eq!(one("a b c", " b", "").as_deref(), Ok("a c"));
        assert_eq!(one("a\nb\nc", "\nb\n", "-").as_deref(), Ok("a-c"));
        assert_eq!(one("\u{FEFF}a", "a", "b").as_deref(), Ok("\u{FEFF}b"));
    }

    #[test]
    fn several_places_need_to_be_asked_for() {
        let ambiguous = |count, lines| Err(Mismatch::Ambiguous { count, lines });
        assert_eq!(one("a\nb a\n", "a", "c"), ambiguous(2, vec![1, 2]));
        assert_eq!(
            one("a\n".repeat(9).as_str(), "a", "c"),
            ambiguous(9, vec![1, 2, 3, 4, 5])
        );
        assert_eq!(one("aaa", "aa", "c"), ambiguous(2, vec![1, 1]));
        assert_eq!(
            edited("a\nb a\n", "a", "c", true).as_deref(),
            Ok("c\nb c\n")
        );
        assert_eq!(edited("aaa", "aa", "c", true).as_deref(), Ok("ca"));
        assert_eq!(edited("aXaX", "X", "XX", true).as_deref(), Ok("aXXaXX"));
    }

    #[test]
    fn line_breaks_match_leniently_and_stay() {
        for (content, old, new, expected) in [
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
            ("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"),
            ("a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"),
            ("a\r\nb\r\nc\r\n", "\nb", "", "a\r\nc\r\n"),
            ("a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", "x\ny\r\nc\r\n"),
            ("a\r\nb\r\nc\r\n", "b", "x\r\ny", "a\r\nx\r\ny\r\nc\r\n"),
            ("a\nb\nc\n", "b", "x\r\ny", "a\nx\r\ny\nc\n"),
            ("a\r\nb\nc\r\nd\r\n", "a\nb\nc", "x\ny", "x\ny\r\nd\r\n"),
            ("a\nb\r\nc\nd\n", "b\nc", "x\ny", "a\nx\r\ny\nd\n"),
            ("a\rb\r\n", "b\n", "c\n", "a\rc\r\n"),
        ] {
            assert_eq!(
                one(content, old, new).as_deref(),
                Ok(expected),
                "{content:?} {old:?}"
            );
        }
        let both = edited("a\r\nb\na\nb\n", "a\nb", "x\ny", true);
        assert_eq!(both.as_deref(), Ok("x\r\ny\nx\ny\n"));
    }

    #[test]
    fn bytes_that_are_not_text_stay() {
        let replaced = replace(b"caf\xE9 one\r\n\xFF", "one\n", "two\n", false).unwrap();
        assert_eq!(replaced.content, b"caf\xE9 two\r\n\xFF");
    }

    proptest! {
        /// Read shows text with line feeds only; editing what it shows is editing the file.
        #[test]
        fn the_kind_of_line_break_makes_no_difference(
            text in "[ab\n]{0,30}", old in "[ab\n]{1,4}", new in "[xy\n]{0,4}", all: bool
        ) {
            let plain = edited(&text, &old, &new, all);
            let long = edited(&text.replace('\n', "\r\n"), &old, &new, all);
            let breaks = text.contains('\n');
            match (plain, long) {
                (Ok(plain), Ok(long)) if breaks => {
                    prop_assert_eq!(plain.replace('\n', "\r\n"), long);
                }
                (plain, long) => prop_assert_eq!(plain, long),
            }
        }

        #[test]
        fn any_bytes_can_be_edited(content: Vec<u8>, old in "[\r\n]{1,2}|[a-c]", new: String, all: bool) {
            let _ = replace(&content, &old, &new, all);
        }
    }
}
