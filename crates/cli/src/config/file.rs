//! `config.toml`: read once, each mistake told with its line and column.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pod::{PermissionMode, Rule, Threshold};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::KEYS;
use crate::Usage;

/// The name of the file in the directory of Pod.
pub(crate) const NAME: &str = "config.toml";

/// What the file says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct File {
    /// Where it is, if it is there.
    pub(crate) path: Option<PathBuf>,
    pub(crate) model: Option<String>,
    pub(crate) compact_threshold: Option<Threshold>,
    pub(crate) compact_request_threshold: Option<Threshold>,
    pub(crate) remind_after: Option<u32>,
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
}

impl File {
    /// Reads the file in the directory of Pod. It is no error if there is none.
    pub(crate) fn load(root: &Path) -> anyhow::Result<Self> {
        let path = root.join(NAME);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                let what = format!("{} cannot be read; mend or remove it", path.display());
                return Err(error).context(what);
            }
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            Usage(format!(
                "{} is not UTF-8 text; save it as such",
                path.display()
            ))
        })?;
        let mut file = Self::parse(&text).map_err(|mistakes| {
            let lines: Vec<String> = mistakes
                .iter()
                .map(|mistake| format!("{}:{mistake}", path.display()))
                .collect();
            Usage(lines.join("\n"))
        })?;
        file.path = Some(path);
        Ok(file)
    }

    /// What the text says, or all mistakes in it, each as `LINE:COLUMN: what is wrong`.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<String>> {
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let place = place(text, at);
                return Err(vec![format!("{place}: {}", error.message())]);
            }
        };
        let mut reader = Reader {
            text,
            file: Self::default(),
            mistakes: Vec::new(),
        };
        for (key, value) in in_order(table.get_ref()) {
            reader.key("", key, value);
        }
        if reader.mistakes.is_empty() {
            Ok(reader.file)
        } else {
            Err(reader.mistakes)
        }
    }
}

type Entry<'a, 't> = (
    &'a Spanned<std::borrow::Cow<'t, str>>,
    &'a Spanned<DeValue<'t>>,
);

/// The entries as they stand in the text.
fn in_order<'a, 't>(table: &'a DeTable<'t>) -> Vec<Entry<'a, 't>> {
    let mut entries: Vec<Entry<'a, 't>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

struct Reader<'t> {
    text: &'t str,
    file: File,
    mistakes: Vec<String>,
}

impl Reader<'_> {
    fn key(
        &mut self,
        table: &str,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let name = format!("{table}{}", key.get_ref());
        let at = value.span().start;
        match name.as_str() {
            "model" => {
                self.file.model = self
                    .text_of(&name, value)
                    .filter(|it| !it.trim().is_empty());
                if self.file.model.is_none() && value.get_ref().is_str() {
                    self.mistake(at, "`model` is empty; name a model, or leave the key out");
                }
            }
            "compact_threshold" => self.file.compact_threshold = self.size(&name, value),
            "compact_request_threshold" => {
                self.file.compact_request_threshold = self.size(&name, value);
            }
            "remind_after" => self.file.remind_after = self.number(&name, value),
            "permissions" => match value.get_ref() {
                DeValue::Table(inner) => {
                    for (key, value) in in_order(inner) {
                        self.key("permissions.", key, value);
                    }
                }
                other => self.wrong(&name, "a table", other, at),
            },
            "permissions.mode" => {
                if let Some(text) = self.text_of(&name, value) {
                    match text.parse() {
                        Ok(mode) => self.file.mode = Some(mode),
                        Err(error) => self.mistake(at, &error),
                    }
                }
            }
            "permissions.allow" => self.file.allow = self.rules(&name, value),
            "permissions.deny" => self.file.deny = self.rules(&name, value),
            _ => self.unknown(&name, key.span().start),
        }
    }

    fn text_of(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.clone().into_owned());
        }
        self.wrong(name, "a text", value.get_ref(), value.span().start);
        None
    }

    fn size(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<Threshold> {
        let at = value.span().start;
        let text = match value.get_ref() {
            DeValue::String(text) => text.clone().into_owned(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            other => {
                self.wrong(name, "a size such as 0.7 or \"140k\"", other, at);
                return None;
            }
        };
        match text.parse() {
            Ok(size) => Some(size),
            Err(error) => {
                self.mistake(at, &error);
                None
            }
        }
    }

    fn number(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        let at = value.span().start;
        let wanted = "a whole number such as 20, or 0 for never";
        let text = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            other => {
                self.wrong(name, wanted, other, at);
                return None;
            }
        };
        let number = text.parse().ok();
        if number.is_none() {
            self.mistake(at, &format!("`{name}` must be {wanted}, not {text}"));
        }
        number
    }

    fn rules(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let DeValue::Array(values) = value.get_ref() else {
            let wanted = "a list of rules such as [\"Edit\", \"Bash(git log:*)\"]";
            self.wrong(name, wanted, value.get_ref(), value.span().start);
            return Vec::new();
        };
        let mut rules = Vec::new();
        for value in values {
            let Some(text) = self.text_of(name, value) else {
                continue;
            };
            match Rule::parse_list(&text) {
                Ok(_) => rules.push(text),
                Err(error) => self.mistake(value.span().start, &error),
            }
        }
        rules
    }

    fn wrong(&mut self, name: &str, wanted: &str, found: &DeValue<'_>, at: usize) {
        let found = match found {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.mistake(at, &format!("`{name}` must be {wanted}, not {found}"));
    }

    fn unknown(&mut self, name: &str, at: usize) {
        // A key may stand in the wrong table, so its last part counts too.
        let distance = |known: &str| {
            let last = known.rsplit('.').next().unwrap_or(known);
            strsim::damerau_levenshtein(name, known).min(strsim::damerau_levenshtein(name, last))
        };
        let nearest = KEYS
            .iter()
            .map(|key| (distance(key.name), key.name))
            .min_by_key(|(distance, _)| *distance);
        let hint = match nearest {
            // As clap does: close enough that it is likely what was meant.
            Some((distance, known)) if distance <= name.len().div_ceil(3) => {
                format!("did you mean `{known}`?")
            }
            _ => {
                let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
                format!("there are {}", names.join(", "))
            }
        };
        self.mistake(at, &format!("there is no key `{name}`; {hint}"));
    }

    fn mistake(&mut self, at: usize, what: &str) {
        let place = place(self.text, at);
        self.mistakes.push(format!("{place}: {what}"));
    }
}

/// The line and the column of a byte, from 1. Columns are characters.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before.get(begin..).unwrap_or("").chars().count() + 1;
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_can_be_said() {
        let file = File::parse(
            "model = \"ollama:qwen3\"\ncompact_threshold = 0.6\ncompact_request_threshold = \"140k\"\nremind_after = 5\n\
             [permissions]\nmode = \"acceptEdits\"\nallow = [\"Bash(cargo test:*)\"]\ndeny = [\"Read(.env)\"]\n",
        )
        .unwrap();
        assert_eq!(file.model.as_deref(), Some("ollama:qwen3"));
        assert_eq!(file.compact_threshold, Some(Threshold::Share(0.6)));
        assert_eq!(
            file.compact_request_threshold,
            Some(Threshold::Tokens(140_000))
        );
        assert_eq!(file.remind_after, Some(5));
        assert_eq!(file.mode, Some(PermissionMode::AcceptEdits));
        assert_eq!(file.allow, ["Bash(cargo test:*)"]);
        assert_eq!(file.deny, ["Read(.env)"]);
        let whole = File::parse("compact_threshold = 140_000").unwrap();
        assert_eq!(whole.compact_threshold, Some(Threshold::Tokens(140_000)));
        assert_eq!(File::parse("").unwrap(), File::default());
        let dotted = File::parse("permissions.mode = \"plan\"").unwrap();
        assert_eq!(dotted.mode, Some(PermissionMode::Plan));
    }

    #[test]
    fn mistakes_have_a_place_and_a_way_out() {
        let texts = [
            "modle = \"x\"",
            "# ä comment\n\ncolour = \"x\"",
            "model = 3",
            "model = \" \"",
            "model = ",
            "model = \"a\"\nmodel = \"b\"",
            "compact_threshold = true",
            "compact_threshold = \"huge\"",
            "compact_threshold = -1",
            "remind_after = \"often\"",
            "remind_after = -3",
            "remind_after = 2.5",
            "compact_threshold = 0x10",
            "permissions = \"plan\"",
            "[permissions]\nmod = \"plan\"",
            "[permissions]\nmode = \"yolo\"",
            "[permissions]\ndenny = [\"Write\"]",
            "[permissions]\nallow = \"Edit\"",
            "[permissions]\nallow = [\"Edit\", 4, \"Bash(ls\"]",
            "permission.mode = \"plan\"",
            "mode = \"plan\"",
            "[model]\nname = 1\n[permissions]\nx = 2000-01-01",
        ];
        let mut told = Vec::new();
        for text in texts {
            let mistakes = File::parse(text).unwrap_err();
            told.push(format!("{text}\n    {}", mistakes.join("\n    ")));
        }
        insta::assert_snapshot!(told.join("\n\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(model|permissions|\\[|\\]|=|\"|[ \\n.a-z0-9äx{},'-]){0,60}") {
            let _ = File::parse(&text);
        }
    }
}
