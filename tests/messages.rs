//! Every message that a person can meet stands in `docs/messages.md`.
//!
//! The texts are found where the code makes them: as the first text literal of an error's attribute, of
//! a notice, of a context. What is filled in is `…` in the list. So a message that is new or changed
//! fails this test until the list has it, and a line of the list that no code has fails it too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// What a message of the program stands behind.
const OF_THE_PROGRAM: &str =
    r"Usage\(|notice\(|bail!\(|context\(|ensure!\(|anyhow!\(|ModelError::\w+\(|mistake\(";

/// What a message of a library stands behind.
const OF_A_LIBRARY: &str = r"#\[error\(|ModelError::\w+\(";

/// The first text literal behind one of these.
fn literal_behind(makers: &str) -> Regex {
    let literal = r#"(?s)(?:MAKERS)[^";]{0,160}?"((?:[^"\\]|\\.)*)""#;
    Regex::new(&literal.replace("MAKERS", makers)).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            // Scripts and recordings are for tests and demonstrations.
            if !matches!(name.as_str(), "scripted" | "recorded" | "testing") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|it| it == "rs")
            && !name.contains("tests")
            && name != "testing.rs"
        {
            found.push(path);
        }
    }
}

/// The text of a literal, with `…` for what is filled in.
fn normal(literal: &str) -> String {
    static CONTINUED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\\\n\s*").unwrap());
    static FILLED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{[^{}]*\}").unwrap());
    let joined = CONTINUED.replace_all(literal, "");
    let plain = joined.replace("\\\"", "\"").replace("\\n", " ");
    FILLED.replace_all(&plain, "…").replace('|', "/")
}

fn in_the_code() -> BTreeSet<String> {
    let mut messages = BTreeSet::new();
    for (name, makers) in [
        ("cli", OF_THE_PROGRAM),
        ("pod", OF_A_LIBRARY),
        ("llm", OF_A_LIBRARY),
    ] {
        let makers = literal_behind(makers);
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            for found in makers.captures_iter(product) {
                let message = normal(&found[1]);
                // One word, or a place to fill in, is no message but a part of one.
                if message.trim_matches(['…', ' ', ':', ';']).contains(' ') {
                    messages.insert(message);
                }
            }
        }
    }
    messages
}

/// The first cells of the tables.
fn in_the_list() -> BTreeSet<String> {
    let list = std::fs::read_to_string(root().join("docs/messages.md")).unwrap();
    let rows = list.lines().filter_map(|line| line.strip_prefix("| "));
    let first = rows.filter_map(|row| row.split(" | ").next());
    // The cell may use any number of ticks around a text with ticks in it.
    let cells = first.filter(|cell| cell.starts_with('`') && cell.ends_with('`'));
    cells
        .map(|cell| {
            let ticks = cell.len() - cell.trim_start_matches('`').len();
            let inner = &cell[ticks..cell.len() - ticks];
            if ticks > 1 { inner.trim() } else { inner }.to_owned()
        })
        .collect()
}

#[test]
fn the_list_and_the_code_have_the_same_messages() {
    let code = in_the_code();
    let list = in_the_list();
    assert!(
        code.len() > 100,
        "the messages are no longer found: {code:?}"
    );
    let missing: Vec<&String> = code.difference(&list).collect();
    assert!(missing.is_empty(), "docs/messages.md lacks {missing:#?}");
    let gone: Vec<&String> = list.difference(&code).collect();
    assert!(
        gone.is_empty(),
        "docs/messages.md has what no code says: {gone:#?}"
    );
}
