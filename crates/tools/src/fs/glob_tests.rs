use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::*;
use crate::bounded::RESULT_LIMIT;
use crate::fs::testing::{Space, as_seen, call, read_by_model, said};

async fn glob(space: &Space, arguments: Value) -> String {
    let result = call(&Glob::new(space.scope.clone()), arguments).await;
    space.clean(&read_by_model(result))
}

/// Writes files, each a second younger than the one before.
fn files(space: &Space, names: &[&str]) {
    for (age, name) in names.iter().enumerate() {
        let path = space.file(name, "");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + age as u64);
        File::open(path).unwrap().set_modified(time).unwrap();
    }
}

#[test]
fn as_the_model_sees_it() {
    let tool = Glob::new(Space::new().scope);
    insta::assert_json_snapshot!(as_seen(&tool));
}

#[test]
fn the_plain_parts_of_a_pattern_are_the_directory() {
    for (path, pattern, directory, rest) in [
        ("", "*.rs", ".", "*.rs"),
        ("src", "*.rs", "src", "*.rs"),
        ("", "src/a/**/*.rs", "src/a", "**/*.rs"),
        ("src", "a/b.rs", "src/a", "b.rs"),
        ("src", "/work/**", "/work", "**"),
        ("", "/**", "/", "**"),
        ("", "../x/*", "../x", "*"),
        ("", "a//b/*", "a/b", "*"),
        ("", "{a,b}/c", ".", "{a,b}/c"),
        ("", "a/[bc]/d", "a", "[bc]/d"),
    ] {
        let wanted = Wanted::new(&json!({"path": path, "pattern": pattern}));
        let expected = Wanted {
            directory: directory.to_owned(),
            pattern: rest.to_owned(),
        };
        assert_eq!(wanted, Ok(expected));
    }
    let target = Glob::new(Space::new().scope).target(&json!({"pattern": "../x/*"}));
    assert_eq!(target.as_deref(), Some("../x"));
}

#[tokio::test]
async fn results() {
    let space = Space::new();
    files(
        &space,
        &[
            "src/main.rs",
            "src/deep/er/lib.rs",
            "README.md",
            ".github/workflows/ci.yml",
            ".env",
            "名/日本 語.md",
            "new\nline.md",
            "target/debug/main.rs",
            ".git/config",
            "sub/.git/HEAD",
        ],
    );
    space.file(".gitignore", "target/\n");
    symlink("main.rs", space.path("src/link.rs")).unwrap();
    symlink("no", space.path("src/broken.rs")).unwrap();
    symlink("deep", space.path("src/dir.rs")).unwrap();
    let mut text = String::new();
    for arguments in [
        json!({"pattern": "*"}),
        json!({"pattern": "**/*.rs"}),
        json!({"pattern": "src/*.rs"}),
        json!({"pattern": "*.rs", "path": "src"}),
        json!({"pattern": "**/*.{md,yml}"}),
        json!({"pattern": "README.md"}),
        json!({"pattern": "target/**/*.rs"}),
        json!({"pattern": "*.py"}),
        json!({"pattern": "**/*.py", "path": "src"}),
        json!({"pattern": space.path("src/deep/**").to_str().unwrap()}),
    ] {
        let shown = space.clean(&arguments.to_string());
        text = format!("{text}> {shown}\n{}\n", glob(&space, arguments).await);
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn errors() {
    let space = Space::new();
    space.file("file", "");
    symlink(space.outside(""), space.path("escape")).unwrap();
    let mut text = String::new();
    for arguments in [
        json!({"pattern": "[a"}),
        json!({"pattern": "{a"}),
        json!({"pattern": ""}),
        json!({"pattern": "src/"}),
        json!({"pattern": ".."}),
        json!({"pattern": "*", "path": "no"}),
        json!({"pattern": "*", "path": "file"}),
        json!({"pattern": "../outside/*"}),
        json!({"pattern": "/etc/*"}),
        json!({"pattern": "escape/*"}),
        json!({"path": "."}),
    ] {
        let result = call(&Glob::new(space.scope.clone()), arguments).await;
        text += &space.clean(&said(result));
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn what_a_link_leads_to_outside_is_not_found() {
    let space = Space::new();
    fs::write(space.outside("secret.txt"), "").unwrap();
    symlink(space.outside(""), space.path("escape")).unwrap();
    let text = glob(&space, json!({"pattern": "**/*.txt"})).await;
    assert!(text.starts_with("No file"), "{text}");
}

#[tokio::test]
async fn many_files_are_bounded_and_counted() {
    let space = Space::new();
    let names: Vec<String> = (0..450)
        .map(|it| format!("{}/{it:03}", "長".repeat(50)))
        .collect();
    files(
        &space,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let text = glob(&space, json!({"pattern": "**"})).await;
    assert!(text.len() <= RESULT_LIMIT);
    assert!(text.starts_with("Found 450 files\n長"));
    assert_eq!(text.lines().count(), 202);
    assert!(text.lines().nth(1).unwrap().ends_with("/449"));
    assert!(text.ends_with("[250 older files left out; a narrower pattern shows them]\n"));
}

#[test]
fn a_stopped_search_ends_early() {
    let space = Space::new();
    files(&space, &["a", "b"]);
    let wanted = Wanted::new(&json!({"pattern": "*"})).unwrap();
    let error = Glob::new(space.scope)
        .find(&wanted, &Stop::set())
        .unwrap_err();
    assert_eq!(error.message, "the call was stopped");
}
