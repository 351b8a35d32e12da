use std::sync::Arc;

use llm::{Reasoning, Sealed, StopReason, ToolCall};

use super::*;

fn entry(item: Item) -> Entry {
    Entry {
        id: "01900000-0000-7000-8000-000000000000".parse().unwrap(),
        at: "2026-01-02T03:04:05Z".parse().unwrap(),
        carried: false,
        item: Arc::new(item),
    }
}

fn call(id: &str, arguments: &str) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: id.to_owned(),
        name: String::from("TaskUpdate"),
        arguments: Arguments::new(arguments),
    })
}

fn answer(content: Vec<AssistantBlock>) -> Entry {
    entry(Item::Assistant(AssistantMessage {
        content,
        model: String::from("m"),
        response_id: Some(String::from("msg_1")),
        stop_reason: StopReason::ToolUse,
        usage: Usage {
            input: 100,
            cache_read: 60,
            cache_write: 30,
            output: 5,
            reasoning: 1,
        },
    }))
}

#[test]
fn an_answer_is_a_line_a_block() {
    let entry = answer(vec![
        AssistantBlock::Reasoning(Reasoning {
            text: String::from("Hm."),
            ..Reasoning::default()
        }),
        AssistantBlock::Reasoning(Reasoning {
            redacted: Some(String::from("b3BhcXVl")),
            ..Reasoning::default()
        }),
        AssistantBlock::Reasoning(Reasoning {
            sealed: Some(Sealed {
                by: String::from("api.example.com"),
                item: json!({"type": "reasoning"}).into(),
            }),
            ..Reasoning::default()
        }),
        AssistantBlock::Text(String::new()),
        AssistantBlock::Text(String::from("日本語")),
        call("a", r#"{"id":"1","active_form":"x"}"#),
        call("b", "{broken"),
    ]);
    let lines = of_entry(Uuid::nil(), &entry);
    insta::assert_json_snapshot!(lines);
    for line in &lines {
        let id = line["uuid"].as_str().unwrap().parse().unwrap();
        assert!(is_line_of(&entry, id), "{id} leads back");
    }
    assert_eq!(lines.last().unwrap()["uuid"], json!(entry.id));
}

#[test]
fn ids_lead_back_to_their_own_entry_only() {
    let one = answer(vec![call("a", "{}")]);
    let other: Uuid = "01900000-0000-7000-8000-000000000001".parse().unwrap();
    assert!(is_line_of(&one, one.id));
    assert!(!is_line_of(&one, other));
    let two = answer(vec![call("a", "{}"), call("b", "{}")]);
    assert!(is_line_of(&two, other));
    assert!(!is_line_of(&two, Uuid::max()));
    assert!(!is_line_of(&entry(Item::User("x".into())), other));
}

#[test]
fn a_result_has_its_data_beside_it() {
    let result = |is_error, value| ToolResult {
        call_id: String::from("a"),
        is_error,
        summary: String::from("short"),
        content: Some(String::from("long")),
        value,
        changed_arguments: None,
    };
    let lines: Vec<Value> = [
        result(false, Some(json!({"task": {"id": "1"}}).into())),
        result(false, None),
        // On an error the data is a text, as programs expect.
        result(true, Some(json!({"code": 7}).into())),
    ]
    .into_iter()
    .flat_map(|result| of_entry(Uuid::nil(), &entry(Item::ToolResult(result))))
    .collect();
    insta::assert_json_snapshot!(lines);
}

#[test]
fn what_the_runtime_tells_the_model_is_no_line() {
    assert!(of_entry(Uuid::nil(), &entry(Item::User("x".into()))).is_empty());
    let note = llm::SystemMessage {
        origin: llm::Origin::Hook,
        text: String::from("x"),
        data: None,
    };
    assert!(of_entry(Uuid::nil(), &entry(Item::System(note))).is_empty());
}

#[test]
fn tokens_of_the_cache_stand_beside_the_others() {
    let usage = Usage {
        input: 100,
        cache_read: 60,
        cache_write: 30,
        output: 5,
        reasoning: 1,
    };
    assert_eq!(
        usage_fields(&usage),
        json!({
            "input_tokens": 10,
            "cache_creation_input_tokens": 30,
            "cache_read_input_tokens": 60,
            "output_tokens": 5,
        })
    );
}
