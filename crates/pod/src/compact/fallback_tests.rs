use super::super::testing::*;
use super::*;

fn files() -> Vec<String> {
    vec![String::from("src/a.rs")]
}

#[test]
fn what_the_log_tells_is_told() {
    let [call, list] = forced_pair("pod_1");
    let before = carry::summary("The parser was planned.").text;
    let entries = [
        system(Origin::Summary, &before),
        call,
        list,
        user("write\nthe lexer"),
        says("The lexer stands."),
        user("now the parser"),
        calls(&["c"]),
        result("c", "x"),
    ];
    insta::assert_snapshot!(summary(&entries, &files(), 1_000), @r"
    (No model could summarise this part. This is what the log itself tells.)

    From an earlier summary:
    The parser was planned.

    What the user asked for, in order:
    - write the lexer
    - now the parser

    The agent's last words:
    The lexer stands.

    Files touched:
    src/a.rs
    ");
}

#[test]
fn it_keeps_its_limit_and_says_what_is_missing() {
    let mut entries = vec![system(Origin::Summary, &"s".repeat(10_000))];
    entries.extend((0..500).map(|number| user(&format!("request {number} {}", "x".repeat(900)))));
    let files: Vec<String> = (0..20)
        .map(|number| format!("{number}{}", "f".repeat(4_000)))
        .collect();
    for budget in [0, 50, 200, 1_000, 5_000] {
        let text = summary(&entries, &files, budget);
        assert!(tokens::of_text(&text) <= budget.max(30), "{budget}: {text}");
    }
    let text = summary(&entries, &files, 2_000);
    assert!(text.contains("request 499"), "{text}");
    assert!(text.contains("older requests are not shown"), "{text}");
}

#[test]
fn br_126_made_again_and_again_it_does_not_grow() {
    let mut text = String::new();
    let mut sizes = Vec::new();
    for _ in 0..20 {
        let entries = [
            system(Origin::Summary, &carry::summary(&text).text),
            user("go on"),
            says(&"words ".repeat(400)),
        ];
        text = summary(&entries, &files(), 1_500);
        sizes.push(text.len());
    }
    assert!(sizes.iter().all(|size| *size <= 6_000), "{sizes:?}");
    assert_eq!(sizes[10], sizes[19], "{sizes:?}");
}
