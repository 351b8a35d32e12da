//! Every public bug report that the project knows of is named in a test, or in `docs/reliability.md`
//! with the reason why it needs none.

use std::path::Path;

use crate::recorded_sessions::shared;

/// Adds the text of the Rust sources below a directory.
fn read_sources(directory: &Path, texts: &mut String) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, texts);
        } else if path.extension().is_some_and(|it| it == "rs") {
            texts.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_bug_report_is_named() {
    let Some(shared) = shared() else { return };
    let reports = std::fs::read_to_string(shared.join("bug-reports.md")).unwrap();
    let numbers: Vec<&str> = reports
        .lines()
        .filter_map(|line| line.strip_prefix("### BR-"))
        .collect();
    assert!(numbers.len() > 90, "{}", numbers.len());

    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(here.join("docs/reliability.md")).unwrap();
    let mut sources = String::new();
    for directory in ["tests", "crates"] {
        read_sources(&here.join(directory), &mut sources);
    }
    let is_tested = |number: &str| {
        [format!("BR-{number}"), format!("br_{number}")]
            .iter()
            .any(|name| sources.contains(name))
    };
    let unnamed: Vec<&str> = numbers
        .iter()
        .copied()
        .filter(|number| !is_tested(number) && !page.contains(&format!("BR-{number}")))
        .collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
    let tested = numbers.iter().filter(|number| is_tested(number)).count();
    println!("{} reports, {tested} named by tests", numbers.len());
}
