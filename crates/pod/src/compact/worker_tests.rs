use std::collections::VecDeque;

use llm::scripted::{Scripted, outline};
use llm::{AssistantBlock, Capability, Reasoning};

use super::super::testing::*;
use super::*;

type Answer = Result<AssistantMessage, ModelError>;

/// Has a worker give these answers. Gives what came of it and the requests.
async fn give(answers: Vec<Answer>) -> (Result<Work, WorkError>, Vec<String>, Usage) {
    let mut answers = VecDeque::from(answers);
    let (told, asked) = std::sync::mpsc::channel();
    let model = Scripted::from_fn("m", Capability::default(), move |request| {
        llm::rules::check(request.conversation.items()).unwrap();
        told.send(outline(request.conversation.items())).unwrap();
        answers.pop_front().expect("one more answer")
    });
    let history = [user("plan it"), says("planned")];
    let assignment = Assignment {
        history: &history,
        tasks: Some("1 task: 1 pending\n#1 [pending] lexer"),
        recent_files: &[],
        reader: None,
        briefing_limit: 4_000,
        files_limit: 0,
        summary_limit: 100,
    };
    let mut usage = Usage::default();
    let work = work(&model, assignment, &mut usage, &mut |_| {}).await;
    (work, asked.try_iter().collect(), usage)
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "what a model gives may be an error"
)]
fn answer(text: &str, calls: &[(&str, &str, &str)]) -> Answer {
    Ok(message(text, calls))
}

fn writes(text: &str) -> Answer {
    let arguments = serde_json::json!({ "text": text }).to_string();
    answer("", &[("c", "write_summary", &arguments)])
}

fn too_long() -> Answer {
    Err(ModelError::PromptTooLong(String::from("too long")))
}

#[track_caller]
fn is_failure(result: &Result<Work, WorkError>, expect: &WorkError) {
    assert_eq!(result.as_ref().err(), Some(expect));
}

#[tokio::test]
async fn the_worker_is_told_all_it_needs_and_its_summary_is_taken() {
    let (work, asked, usage) = give(vec![writes(" It is planned. ")]).await;
    assert_eq!(work.unwrap().summary, "It is planned.");
    assert!(usage.input > 0);
    insta::assert_snapshot!(asked.join("---\n"));
}

#[tokio::test]
async fn a_weak_model_that_answers_with_the_text_itself_is_understood() {
    for text in ["It is planned.", "<think>hm</think>\nIt is planned."] {
        let (work, _, _) = give(vec![answer(text, &[])]).await;
        assert_eq!(work.unwrap().summary, "It is planned.");
    }
}

#[tokio::test]
async fn br_124_an_empty_summary_is_a_failure() {
    let thoughts = AssistantMessage {
        content: vec![AssistantBlock::Reasoning(Reasoning {
            text: String::from("The summary would be this."),
            ..Reasoning::default()
        })],
        ..message("", &[])
    };
    for blank in [
        answer("", &[]),
        answer(" \n\u{a0}", &[]),
        answer("<think>nothing but thoughts", &[]),
        Ok(thoughts),
    ] {
        is_failure(&give(vec![blank]).await.0, &WorkError::Empty);
    }
}

#[tokio::test]
async fn br_131_a_call_written_as_text_is_no_summary() {
    for text in [
        r#"{"name":"write_summary","arguments":{"text":"x"}}"#,
        "```json\n{\"tool\":\"TaskUpdate\",\"taskid\":1}\n```",
        "<tool_call>{}</tool_call>",
        "<invoke name=\"write_summary\">",
        "[TOOL_CALLS][{\"name\":\"x\"}]",
        "[{\"function\":{\"name\":\"x\"}}]",
    ] {
        is_failure(&give(vec![answer(text, &[])]).await.0, &WorkError::Protocol);
    }
    for text in ["{ braces } open it", "[12] the user: said", "`code` first"] {
        assert_eq!(give(vec![answer(text, &[])]).await.0.unwrap().summary, text);
    }
}

#[tokio::test]
async fn br_131_a_call_of_a_tool_that_it_does_not_have_is_told_so() {
    let deletes = answer(
        "",
        &[("c", "TaskUpdate", r#"{"taskid":1,"status":"deleted"}"#)],
    );
    let (work, asked, _) = give(vec![deletes, writes("done")]).await;
    assert_eq!(work.unwrap().summary, "done");
    assert!(
        asked[1].contains("error c: there is no tool TaskUpdate; there are write_summary"),
        "{}",
        asked[1]
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_told_and_it_can_be_made_again() {
    let (work, asked, _) = give(vec![
        answer("", &[("c", "write_summary", "{\"text\": \"cut")]),
        answer(
            "",
            &[
                ("c", "write_summary", "{}"),
                ("c", "write_summary", "{\"text\":7}"),
            ],
        ),
        writes(""),
        writes(&"long ".repeat(200)),
        writes("short"),
    ])
    .await;
    assert_eq!(work.unwrap().summary, "short");
    insta::assert_snapshot!(asked[4].split_once("02 ").unwrap().1);
}

#[tokio::test]
async fn refused_cut_off_too_long_and_without_end_are_failures() {
    let stopped = |reason| {
        Ok(AssistantMessage {
            stop_reason: reason,
            ..message("No.", &[])
        })
    };
    is_failure(
        &give(vec![stopped(StopReason::Refusal)]).await.0,
        &WorkError::Refused,
    );
    is_failure(
        &give(vec![stopped(StopReason::MaxTokens)]).await.0,
        &WorkError::Cut,
    );
    let long = "long ".repeat(200);
    is_failure(
        &give(vec![answer(&long, &[])]).await.0,
        &WorkError::TooLong(250, 100),
    );
    let lost = (0..TURNS)
        .map(|_| answer("", &[("c", "look", "{}")]))
        .collect();
    is_failure(&give(lost).await.0, &WorkError::NoEnd);
    let broken = ModelError::Network(String::from("gone"));
    is_failure(
        &give(vec![Err(broken.clone())]).await.0,
        &WorkError::Model(broken),
    );
}

#[tokio::test]
async fn br_098_a_briefing_that_is_too_long_is_made_smaller_a_few_times() {
    let (work, asked, _) = give(vec![too_long(), too_long(), writes("done")]).await;
    assert_eq!(work.unwrap().summary, "done");
    assert_eq!(asked.len(), 3);

    let (work, asked, _) = give(vec![too_long(), too_long(), too_long(), too_long()]).await;
    let reason = ModelError::PromptTooLong(String::from("too long"));
    is_failure(&work, &WorkError::Model(reason));
    assert_eq!(asked.len(), 4);
}

#[tokio::test]
async fn ids_that_a_model_repeats_are_made_unique() {
    let same = answer(
        "",
        &[
            ("c", "look", "{}"),
            ("c", "look", "{}"),
            ("", "look", "{}"),
            ("pod_2", "look", "{}"),
        ],
    );
    // The requests are checked by the rules on their way.
    let (work, _, _) = give(vec![
        same,
        answer("", &[("c", "look", "{}")]),
        writes("done"),
    ])
    .await;
    assert_eq!(work.unwrap().summary, "done");
}
