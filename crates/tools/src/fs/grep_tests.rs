use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::bounded::RESULT_LIMIT;
use crate::fs::testing::{Space, as_seen, call, read_by_model, said};

async fn grep(space: &Space, arguments: Value) -> String {
    let result = call(&Grep::new(space.scope.clone()), arguments).await;
    space.clean(&read_by_model(result))
}

fn project() -> Space {
    let space = Space::new();
    fs::create_dir(space.path(".git")).unwrap();
    space.file(".git/config", "needle");
    space.file(".gitignore", "target/\n");
    space.file("target/out.rs", "needle");
    space.file(
        "a.rs",
        "fn one() {}\n// needle 1\nfn two() {}\n\n\n\n// Needle 2\n",
    );
    space.file("b/c.rs", "needle needle\r\nend needle\r\n");
    space.file("b/日本.md", "針 needle 針\n");
    space.file("b/latin.txt", b"caf\xE9 needle\n");
    space.file("image.png", b"\x89PNG\0needle\n");
    space.file(".hidden", "needle\n");
    symlink("a.rs", space.path("link.rs")).unwrap();
    space
}

#[test]
fn as_the_model_sees_it() {
    let tool = Grep::new(Space::new().scope);
    insta::assert_json_snapshot!(as_seen(&tool));
    let target = |arguments| tool.target(&arguments);
    assert_eq!(
        target(json!({"pattern": "a", "path": "b"})).as_deref(),
        Some("b")
    );
    assert_eq!(target(json!({"pattern": "a"})).as_deref(), Some("."));
}

#[tokio::test]
async fn results() {
    let space = project();
    let mut text = String::new();
    for arguments in [
        json!({"pattern": "needle"}),
        json!({"pattern": "needle", "-i": true, "output_mode": "content"}),
        json!({"pattern": "needle", "output_mode": "content", "-n": "false", "glob": "*.rs"}),
        json!({"pattern": "needle", "output_mode": "count", "path": "b"}),
        json!({"pattern": "(?i)needle", "output_mode": "content", "path": "a.rs", "-C": 1}),
        json!({"pattern": "two", "output_mode": "content", "path": "a.rs", "-A": "1", "-B": 2}),
        json!({"pattern": "needle$", "output_mode": "content", "path": "b"}),
        json!({"pattern": r"one.*\n.*needle", "output_mode": "content", "multiline": true}),
        json!({"pattern": "needle", "glob": "!*.rs"}),
        json!({"pattern": "needle", "glob": "b/*.{md,txt}"}),
        json!({"pattern": "needle", "glob": "/*.rs"}),
        json!({"pattern": "needle", "path": "target"}),
        json!({"pattern": "needle", "path": "link.rs"}),
        json!({"pattern": "needle", "head_limit": 2}),
        json!({"pattern": "needle", "output_mode": "content", "head_limit": 3, "path": "b"}),
        json!({"pattern": "needle", "output_mode": "count", "head_limit": 1, "path": "b"}),
        json!({"pattern": "nothing"}),
        json!({"pattern": "needle", "path": "image.png"}),
        json!({"pattern": "needle", "glob": "*.py"}),
        json!({"pattern": "", "glob": "*.md", "output_mode": "content"}),
    ] {
        text = format!(
            "{text}> {arguments}\n{}\n",
            grep(&space, arguments.clone()).await
        );
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn errors() {
    let space = project();
    symlink(space.outside(""), space.path("escape")).unwrap();
    space.pipe("pipe");
    let mut text = String::new();
    for arguments in [
        json!({"pattern": "(a"}),
        json!({"pattern": "a{"}),
        json!({"pattern": "(?=a)"}),
        json!({"pattern": "a\nb"}),
        json!({"pattern": r"a\nb"}),
        json!({"pattern": format!("{}(", "長".repeat(1000))}),
        json!({"pattern": r"(\w{500}){500}"}),
        json!({"pattern": "a", "glob": "[a"}),
        json!({"pattern": "a", "path": "no"}),
        json!({"pattern": "a", "path": "pipe"}),
        json!({"pattern": "a", "path": "escape"}),
        json!({"pattern": "a", "output_mode": "lines"}),
        json!({"pattern": "a", "type": "rust"}),
        json!({"pattern": "a", "-A": -1}),
        json!({}),
    ] {
        let result = call(&Grep::new(space.scope.clone()), arguments).await;
        text += &space.clean(&said(result));
    }
    insta::assert_snapshot!(text);
    assert!(text.lines().all(|line| line.len() < 300));
}

#[tokio::test]
async fn special_files_and_links_to_the_outside_are_passed_by() {
    let space = Space::new();
    fs::write(space.outside("secret"), "needle").unwrap();
    symlink(space.outside("secret"), space.path("file")).unwrap();
    symlink(space.outside(""), space.path("directory")).unwrap();
    space.pipe("pipe");
    assert_eq!(
        grep(&space, json!({"pattern": "needle"})).await,
        "No matches in 0 files"
    );
}

#[tokio::test]
async fn a_result_is_bounded_and_counted() {
    let space = Space::new();
    for name in 0..40 {
        space.file(
            &format!("{name:02}"),
            format!("{} needle\n", "長".repeat(100)).repeat(100),
        );
    }
    let arguments = json!({"pattern": "needle", "output_mode": "content", "head_limit": 0});
    let text = grep(&space, arguments).await;
    assert!(text.len() <= RESULT_LIMIT, "{}", text.len());
    assert!(text.starts_with("Found 4000 matching lines in 40 files\n00\n1:長"));
    let shown = text.matches("needle").count();
    let note = format!("[{} matching lines left out;", 4000 - shown);
    assert!(text.contains(&note), "{note}");
    assert!(shown > 100);
}

#[tokio::test]
async fn a_long_line_is_shown_in_part() {
    let space = Space::new();
    let long = "x".repeat(10_000_000);
    space.file("wide", format!("{long}needle{long}\n"));
    let text = grep(
        &space,
        json!({"pattern": "needle", "output_mode": "content"}),
    )
    .await;
    assert!(text.len() < 700);
    assert!(text.contains("xneedlex"));
}

#[tokio::test]
async fn what_is_too_large_is_said() {
    let space = Space::new();
    let file = fs::File::create(space.path("huge")).unwrap();
    fs::write(space.path("small"), "needle").unwrap();
    // A hole of no text: without the check for it the line would be too long.
    file.set_len(100 * 1024 * 1024).unwrap();
    let text = grep(&space, json!({"pattern": r"needle\s?", "multiline": true})).await;
    insta::assert_snapshot!(text);
}

#[test]
fn a_stopped_search_ends_early() {
    let space = Space::new();
    for name in 0..50 {
        space.file(&format!("{name}"), "needle\n".repeat(10));
    }
    let tool = Grep::new(space.scope.clone());
    let wanted = Wanted::new(&json!({"pattern": "needle"})).unwrap();
    let error = tool.search(&wanted, &Stop::set()).unwrap_err();
    assert_eq!(error.message, "the call was stopped");
}
