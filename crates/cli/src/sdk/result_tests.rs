use std::time::Duration;

use llm::{Arguments, ModelError, Usage};

use super::*;

fn outcome(status: Status) -> Outcome {
    Outcome {
        status,
        text: String::from("Done."),
        stop_reason: Some(StopReason::EndTurn),
        turns: 3,
        usage: Usage {
            input: 100,
            output: 10,
            ..Usage::default()
        },
        denials: vec![ToolCall {
            id: String::from("a"),
            name: String::from("Bash"),
            arguments: Arguments::new(r#"{"command":"id"}"#),
        }],
        duration: Duration::from_millis(1500),
        model_duration: Duration::from_millis(1200),
    }
}

fn told(status: Status, change: impl Fn(&mut Circumstances<'_>)) -> String {
    let ledger = Ledger::default();
    let mut circumstances = Circumstances {
        session: Uuid::nil(),
        ledger: &ledger,
        max_turns: Some(3),
        budget: None,
        stopped: None,
        in_tools: false,
    };
    change(&mut circumstances);
    let (mut line, is_error) = result(&outcome(status), &circumstances);
    assert_eq!(line["is_error"], json!(is_error));
    assert!(line["errors"].is_array(), "the TypeScript SDK needs it");
    for field in [
        "uuid",
        "usage",
        "modelUsage",
        "permission_denials",
        "session_id",
    ] {
        assert!(
            line.as_object_mut().unwrap().remove(field).is_some(),
            "{field}"
        );
    }
    line.to_string()
}

#[test]
fn each_end_has_its_own_words() {
    let overloaded = ModelError::Overloaded {
        status: 529,
        message: String::from("busy"),
        retry_after: None,
    };
    let same = |_: &mut Circumstances<'_>| {};
    let lines = [
        told(Status::Completed, same),
        told(Status::MaxTurns, same),
        told(Status::Interrupted, same),
        told(Status::Interrupted, |it| it.in_tools = true),
        told(Status::Interrupted, |it| it.stopped = Some("Enough.")),
        told(Status::Interrupted, |it| it.budget = Some(0.5)),
        told(
            Status::Failed(PodError::PromptDenied(String::from("No."))),
            same,
        ),
        told(Status::Failed(overloaded.into()), same),
        told(
            Status::Failed(ModelError::PromptTooLong(String::from("x")).into()),
            same,
        ),
        told(Status::Failed(PodError::EmptyPrompt), same),
    ];
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn denials_show_what_was_sent() {
    let ledger = Ledger::default();
    let circumstances = Circumstances {
        session: Uuid::nil(),
        ledger: &ledger,
        max_turns: None,
        budget: None,
        stopped: None,
        in_tools: false,
    };
    let (line, _) = result(&outcome(Status::Completed), &circumstances);
    assert_eq!(
        line["permission_denials"],
        json!([{"tool_name": "Bash", "tool_use_id": "a", "tool_input": {"command": "id"}}])
    );
}

#[test]
fn a_session_that_could_not_begin_has_a_whole_result() {
    let mut line = not_begun(Uuid::nil(), "there is no such session");
    line["uuid"] = json!(null);
    insta::assert_json_snapshot!(line);
}
