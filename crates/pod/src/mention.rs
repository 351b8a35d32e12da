//! Files that a prompt names as `@path`: they are brought in behind it.
//!
//! A program decides which text is looked through ([`Mention::all_in`]) and gives what was found to
//! [`Pod::run_with`](crate::Pod::run_with). The prompt stays as it was written. Each file is read as
//! the agent itself would read it: inside the scope, by the permission rules, with the say of the
//! hooks, bounded, and noted in the tracker, so that Edit works on it.

use std::collections::HashSet;
use std::path::PathBuf;

use llm::Origin;
use serde_json::json;
use tools::bounded::{RESULT_LIMIT, head};

use crate::PodError;
use crate::compact::FileReader;
use crate::event::{Event, Queue};
use crate::history::History;
use crate::pod::Parts;
use crate::turn::append_note;

/// The most bytes that the files of one prompt have together.
pub const MENTIONS_LIMIT: usize = 4 * RESULT_LIMIT;

/// The most bytes of a path that is looked for.
const PATH_LIMIT: usize = 1_000;

/// What may be a file that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// What stands behind the `@`.
    text: String,
    /// Whether it stood in quotes, and is a path as it is.
    is_quoted: bool,
}

impl Mention {
    /// All that a text may name as files, in its order: what begins with `@` at the beginning of a word,
    /// as in `@src/main.rs` or `@"a name with spaces"`. Whether there is such a file is found out
    /// later: `@scope/package` looks the same. An address like `me@example.org` is no mention.
    pub fn all_in(text: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let mut before = None;
        for (index, character) in text.char_indices() {
            let begins_word = before.is_none_or(|it: char| {
                it.is_whitespace() || matches!(it, '(' | '[' | '{' | '<' | '"' | '\'' | '“' | '「')
            });
            before = Some(character);
            if character == '@' && begins_word {
                let rest = text.get(index + 1..).unwrap_or_default();
                found.extend(Self::at(rest));
            }
        }
        found
    }

    /// The mention that stands at the beginning of the text.
    fn at(rest: &str) -> Option<Self> {
        let line = rest.lines().next().unwrap_or_default();
        let quoted = line.strip_prefix('"').and_then(|it| it.split_once('"'));
        let text = match quoted {
            Some((text, _)) => text,
            None => line.split(char::is_whitespace).next().unwrap_or_default(),
        };
        (!text.is_empty() && text.len() <= PATH_LIMIT).then(|| Self {
            text: text.to_owned(),
            is_quoted: quoted.is_some(),
        })
    }

    /// The paths that may be meant, the longest first: behind a path there may be the punctuation of a
    /// sentence, or, in scripts without spaces, the sentence itself.
    fn candidates(&self) -> Vec<&str> {
        let mut candidates = vec![self.text.as_str()];
        if !self.is_quoted {
            for (end, character) in self.text.char_indices().rev() {
                let (path, rest) = self.text.split_at(end);
                if !character.is_ascii() || rest.chars().all(is_punctuation) {
                    candidates.push(path);
                }
            }
            candidates.retain(|it| !it.is_empty());
        }
        candidates
    }

    /// Whether it must be a path, so that one that leads nowhere is an error of the person: it says so,
    /// or it has the ending of a file. Of a package, a decorator or a person it is not told.
    fn is_surely_path(&self) -> bool {
        let text = self.plain();
        let last = text.rsplit('/').next().unwrap_or_default();
        let has_ending = last.rsplit_once('.').is_some_and(|(_, ending)| {
            !ending.is_empty() && ending.chars().all(|it| it.is_ascii_alphanumeric())
        });
        let is_marked = ["/", "./", "../", "~/"]
            .iter()
            .any(|it| text.starts_with(it));
        self.is_quoted || is_marked || (has_ending && !last.contains('@'))
    }

    /// The text without what most likely stands behind the path.
    fn plain(&self) -> &str {
        if self.is_quoted {
            return &self.text;
        }
        let text = self.text.trim_end_matches(is_punctuation);
        // Behind an ending, letters of another script are the next word.
        let next_word = text.rfind('.').and_then(|dot| {
            let ending = text.get(dot..)?;
            Some(dot + ending.find(|it: char| !it.is_ascii())?)
        });
        next_word.and_then(|end| text.get(..end)).unwrap_or(text)
    }
}

/// Whether a character behind a path need not belong to it.
fn is_punctuation(character: char) -> bool {
    !character.is_alphanumeric() && character != '/'
}

/// Brings in the files that are named, once each. What cannot be brought in is told as a warning.
pub(crate) async fn bring_in(
    parts: &Parts,
    history: &mut History,
    mentions: &[Mention],
    events: &Queue,
) -> Result<(), PodError> {
    let mut seen = HashSet::new();
    let mut room = MENTIONS_LIMIT;
    for mention in mentions {
        match read(parts, mention, &mut seen, room).await {
            Ok(None) => {}
            Ok(Some(text)) => {
                room = room.saturating_sub(text.len());
                append_note(history, Origin::Attachment, &text, events)?;
            }
            Err(reason) => events.push(Event::Warning(format!(
                "@{} was not brought in: {reason}",
                head(mention.plain(), 200)
            ))),
        }
    }
    Ok(())
}

/// The file that is named, as the model reads it; `None` if none is meant, or if it was read before.
async fn read(
    parts: &Parts,
    mention: &Mention,
    seen: &mut HashSet<PathBuf>,
    room: usize,
) -> Result<Option<String>, String> {
    let scope = &parts.files.scope;
    let is_there = |path: &&str| {
        let path = scope.working_directory().join(path);
        path.symlink_metadata().is_ok()
    };
    let candidates = mention.candidates();
    let path = match candidates.into_iter().find(is_there) {
        Some(path) => path,
        None if mention.is_surely_path() => mention.plain(),
        None => return Ok(None),
    };
    let resolved = scope.resolve(path).map_err(|error| error.message)?;
    if !seen.insert(resolved.clone()) {
        return Ok(None);
    }
    if resolved.is_dir() {
        return Err(String::from("it is a directory; name a file in it"));
    }
    let reader = FileReader::for_person(parts);
    let arguments = json!({"file_path": path});
    let content = reader.read(&arguments, &parts.files.tracker).await?;
    let shown = scope.display(&resolved);
    let text = format!("The user named the file {shown}. Its content at this moment:\n\n{content}");
    if text.len() > room {
        return Err(format!(
            "the files of one prompt have at most {MENTIONS_LIMIT} bytes together; ask for it in words"
        ));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What may be files in the text, each with the paths that may be meant.
    fn found(text: &str) -> Vec<Vec<String>> {
        let mentions = Mention::all_in(text);
        mentions
            .iter()
            .map(|it| it.candidates().into_iter().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn a_mention_begins_a_word() {
        for text in [
            "",
            "@",
            "@ a",
            "me@example.org",
            "mailto:me@example.org",
            "a@b",
            "`@a`",
            "@\"\"",
            "ä@b.rs",
        ] {
            assert_eq!(found(text), [[""; 0]; 0], "{text}");
        }
        assert_eq!(found("@a"), [["a"]]);
        assert_eq!(
            found("see (@a) and\n@b\t\u{3000}@c"),
            [vec!["a)", "a"], vec!["b"], vec!["c"]]
        );
        assert_eq!(
            found("@\"my notes.md\", @\"half"),
            [vec!["my notes.md"], vec!["\"half"]]
        );
        assert!(Mention::all_in(&format!("@{}", "x".repeat(5_000))).is_empty());
    }

    #[test]
    fn punctuation_and_the_rest_of_a_sentence_may_stand_behind_a_path() {
        let candidates = &found("@src/main.rsを直して。")[0];
        assert!(
            candidates.contains(&String::from("src/main.rs")),
            "{candidates:?}"
        );
        assert_eq!(found("@a-b.rs?!")[0], ["a-b.rs?!", "a-b.rs?", "a-b.rs"]);
        assert_eq!(found("@é/日.txt")[0], ["é/日.txt", "é/"]);
    }

    #[test]
    fn what_is_surely_a_path_is_told_from_names() {
        let is_sure = |text: &str| Mention::all_in(text)[0].is_surely_path();
        for text in [
            "@a.rs",
            "@./a",
            "@../a",
            "@/etc/x",
            "@~/x",
            "@d/a.txt.",
            "@\"a b\"",
            "@.env",
            "@src/main.rsを直して。",
        ] {
            assert!(is_sure(text), "{text}");
        }
        for text in [
            "@ada",
            "@scope/package",
            "@types/node,",
            "@param",
            "@scope/pkg@1.2.3",
            "@end.",
        ] {
            assert!(!is_sure(text), "{text}");
        }
    }
}
