use super::*;
use crate::scripted::outline;
use crate::{Conversation, Item, ToolSpec, UserMessage};

fn recorded(log: &str) -> Recorded {
    Recorded::from_log(log.as_bytes(), "log").unwrap()
}

/// Plays a recording to its end as one who drives it does, and shows the prompts and the turns.
async fn play(recorded: &Recorded) -> String {
    let names = recorded.tool_names().iter();
    let tools: Vec<ToolSpec> = names.map(|name| tool(name)).collect();
    let mut conversation = Conversation::new(Vec::new());
    while let Some(prompt) = recorded.next_prompt() {
        conversation.push(Arc::new(Item::User(UserMessage::text(prompt))));
        loop {
            let turn = ask(recorded, &conversation, &tools).await.unwrap();
            let ends = turn.calls().next().is_none();
            conversation.push(Arc::new(Item::Assistant(turn)));
            if ends {
                break;
            }
        }
    }
    outline(conversation.items())
}

async fn ask(
    recorded: &Recorded,
    conversation: &Conversation,
    tools: &[ToolSpec],
) -> Result<AssistantMessage, ModelError> {
    let request = Request {
        system: "",
        tools,
        conversation,
        max_output_tokens: None,
        reasoning_tokens: None,
    };
    recorded.respond(request, &mut |_| ()).await
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        schema: serde_json::json!({}),
    }
}

/// A record of a transcript: its type, its uuid, its message and further fields.
fn line(kind: &str, uuid: &str, message: &str, more: &str) -> String {
    format!(
        r#"{{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"{kind}","uuid":"{uuid}","message":{message}{more}}}"#
    )
}

fn prompt(uuid: &str, text: &str) -> String {
    let text = serde_json::json!({"role": "user", "content": text});
    line("user", uuid, &text.to_string(), "")
}

fn block(uuid: &str, message_id: &str, block: &str) -> String {
    let message = format!(
        r#"{{"id":"{message_id}","model":"claude","role":"assistant","content":[{block}],"stop_reason":null,"usage":{{"input_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":4}}}}"#
    );
    line("assistant", uuid, &message, "")
}

fn text(uuid: &str, message_id: &str, text: &str) -> String {
    block(
        uuid,
        message_id,
        &format!(r#"{{"type":"text","text":"{text}"}}"#),
    )
}

fn call(uuid: &str, message_id: &str, id: &str) -> String {
    let call = format!(
        r#"{{"type":"tool_use","id":"{id}","name":"TaskCreate","input":{{"subject": "{id}"}}}}"#
    );
    block(uuid, message_id, &call)
}

fn result(uuid: &str, id: &str, content: &str, more: &str) -> String {
    let result = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":{content}}}]}}"#
    );
    line("user", uuid, &result, more)
}

#[tokio::test]
async fn a_transcript_is_played_message_by_message() {
    let thinking = r#"{"type":"thinking","thinking":"Two.","signature":"c2ln"}"#;
    let log = [
        r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{}}"#.to_owned(),
        prompt("1", "plan the parser"),
        block("2", "m1", thinking),
        text("3", "m1", "Two steps."),
        call("4", "m1", "a"),
        result("5", "a", r#""Task #1 created""#, ""),
        call("6", "m1", "b"),
        result(
            "7",
            "b",
            r#"[{"type":"text","text":"Task #2"},{"type":"image"}]"#,
            "",
        ),
        text("8", "m2", "Done."),
        prompt("9", "now the lexer"),
        call("10", "m3", "c"),
        text("11", "m4", "Done too."),
    ];
    let recorded = recorded(&log.join("\n"));
    insta::assert_snapshot!(play(&recorded).await, @r#"
    01 user: plan the parser
    02 assistant:
    02   thinking (signed): Two.
    02   text: Two steps.
    02   > TaskCreate#a {"subject": "a"}
    02   > TaskCreate#b {"subject": "b"}
    03 assistant: Done.
    04 user: now the lexer
    05 assistant:
    05   > TaskCreate#c {"subject": "c"}
    06 assistant: Done too.
    "#);
    assert_eq!(recorded.warnings(), [""; 0]);
    assert_eq!(recorded.result_of("a").unwrap().text, "Task #1 created");
    assert_eq!(recorded.result_of("b").unwrap().text, "Task #2\n[image]");
    assert_eq!(recorded.result_of("c"), None);
    let prompts: Vec<&str> = recorded.prompts().collect();
    assert_eq!(prompts, ["plan the parser", "now the lexer"]);

    let first = &recorded.turns()[0];
    assert_eq!(first.response_id.as_deref(), Some("m1"));
    assert_eq!(first.model, "claude");
    assert_eq!(first.stop_reason.as_str(), "tool_use");
    assert_eq!((first.usage.input, first.usage.output), (321, 4));
    // The arguments are kept byte for byte.
    assert_eq!(
        first.calls().next().unwrap().arguments.text(),
        r#"{"subject": "a"}"#
    );
}

#[tokio::test]
async fn what_is_no_turn_of_the_main_model_is_left_out() {
    let side = call("3", "m2", "side").replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let stream = call("4", "m3", "agent").replace(
        r#""uuid":"4""#,
        r#""uuid":"4","parent_tool_use_id":"toolu_1""#,
    );
    let forwarded = format!(
        r#"{{"type":"progress","sessionId":"s","uuid":"5","data":{{"type":"agent_progress","message":{}}}}}"#,
        call("6", "m4", "forwarded")
    );
    let partial = r#"{"type":"stream_event","session_id":"s","event":{"type":"content_block_start","content_block":{"type":"tool_use","id":"a","name":"TaskCreate","input":{}}}}"#;
    let synthetic = text("7", "m5", "API Error: 529").replace(r#""claude""#, r#""<synthetic>""#);
    let meta = prompt("8", "a skill").replace(r#""type":"user""#, r#""isMeta":true,"type":"user""#);
    let summary = prompt("9", "a summary").replace(
        r#""type":"user""#,
        r#""isCompactSummary":true,"type":"user""#,
    );
    let log = [
        prompt("1", "plan"),
        partial.to_owned(),
        call("2", "m1", "a"),
        call("2", "m1", "a"),
        call("2b", "m1", "a"),
        side,
        stream,
        forwarded,
        synthetic,
        meta,
        summary,
        prompt("10", "<local-command-stdout>Bye!</local-command-stdout>"),
        prompt("11", "[Request interrupted by user for tool use]"),
        text("12", "m6", ""),
        text("13", "m7", "Done."),
    ];
    let recorded = recorded(&log.join("\n"));
    insta::assert_snapshot!(play(&recorded).await, @r#"
    01 user: plan
    02 assistant:
    02   > TaskCreate#a {"subject": "a"}
    03 assistant: Done.
    "#);
}

#[tokio::test]
async fn every_run_ends_and_every_turn_is_reached() {
    let log = [
        text("1", "m1", "No prompt before."),
        text("2", "m2", "Nor here."),
        prompt("3", "/clear"),
        prompt(
            "4",
            "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n<command-args>the parser</command-args>",
        ),
        call("5", "m3", "a"),
        prompt("6", "stop, do the lexer"),
        call("7", "m4", "b"),
    ];
    let recorded = recorded(&log.join("\n"));
    insta::assert_snapshot!(play(&recorded).await, @r#"
    01 user: Go on.
    02 assistant: No prompt before.
    03 user: Go on.
    04 assistant: Nor here.
    05 user: /clear
       |
       | /plan the parser
    06 assistant:
    06   > TaskCreate#a {"subject": "a"}
    07 assistant: (The recording breaks off here.)
    08 user: stop, do the lexer
    09 assistant:
    09   > TaskCreate#b {"subject": "b"}
    10 assistant: (The recording breaks off here.)
    "#);
    let ended = ask(
        &recorded,
        &Conversation::new(Vec::new()),
        &[tool("TaskCreate")],
    )
    .await;
    insta::assert_snapshot!(ended.unwrap_err(), @"the recording log has ended: all 6 turns were played");
    assert_eq!(recorded.next_prompt(), None);
}

#[test]
fn failures_are_known_however_they_are_said() {
    let log = [
        call("1", "m1", "a"),
        result(
            "2",
            "ok",
            r#""Error handling is described below""#,
            r#","toolUseResult":{"success":true}"#,
        ),
        result(
            "3",
            "success",
            r#""Task not found""#,
            r#","toolUseResult":{"success":false}"#,
        ),
        result(
            "4",
            "text",
            r#""<tool_use_error>no</tool_use_error>""#,
            r#","toolUseResult":"Error: no""#,
        ),
        result("5", "flag", r#""no","is_error":true"#, ""),
        result(
            "6",
            "stream",
            r#""no""#,
            r#","tool_use_result":{"success":false}"#,
        ),
    ];
    let recorded = recorded(&log.join("\n"));
    for (id, is_error) in [
        ("ok", false),
        ("success", true),
        ("text", true),
        ("flag", true),
        ("stream", true),
    ] {
        assert_eq!(recorded.result_of(id).unwrap().is_error, is_error, "{id}");
    }
}

#[tokio::test]
async fn damaged_lines_are_told_and_whole_records_in_them_are_read() {
    let glued = format!("{}{}", call("1", "m1", "a"), text("2", "m2", "Glued."));
    let cut = format!(
        r#"{{"type":"user","message":{{"content":"never en{}"#,
        call("3", "m3", "b")
    );
    let part = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Part."}],"#;
    let log = [
        glued.as_str(),
        cut.as_str(),
        part,
        "17",
        r#"{"type":"user","sessionId":"s","uuid":7}"#,
        &text("4", "m4", r"half a pair \ud83d"),
        &text("5", "m5", "last"),
        r#"{"type":"assis"#,
    ];
    let mut bytes = log.join("\n").into_bytes();
    let last = bytes
        .windows(4)
        .rposition(|window| window == b"last")
        .unwrap();
    bytes[last] = 0xff;
    let recorded = Recorded::from_log(&bytes[..], "log").unwrap();
    insta::assert_snapshot!(play(&recorded).await, @r#"
    01 user: Go on.
    02 assistant:
    02   > TaskCreate#a {"subject": "a"}
    03 assistant: Glued.
    04 user: Go on.
    05 assistant:
    05   > TaskCreate#b {"subject": "b"}
    06 assistant: half a pair ���
    07 user: Go on.
    08 assistant: �ast
    "#);
    insta::assert_snapshot!(recorded.warnings().join("\n"), @"
    line 2 cannot be read: expected `,` or `}` at line 1 column 48
    line 3 cannot be read: EOF while parsing an object at line 1 column 74
    line 4 cannot be read: invalid type: integer `17`, expected an object at line 1 column 2
    line 5 cannot be read: invalid type: integer `7`, expected a string at line 1 column 39
    line 7 has bytes that are not UTF-8; they were replaced
    line 8 cannot be read: EOF while parsing a string at line 1 column 14
    ");
}

#[test]
fn the_number_of_warnings_is_bounded() {
    let log = format!("{}\n{}", text("1", "m1", "Hi."), "{\n".repeat(100));
    let recorded = recorded(&log);
    assert_eq!(recorded.warnings().len(), 21);
    assert_eq!(recorded.warnings().last().unwrap(), "80 more warnings");
}

const POD: &str = r#"{"type":"session","version":1,"id":"0199"}
{"type":"system","origin":"task_snapshot","text":"1 task"}
{"type":"user","content":[{"type":"text","text":"an old prompt"}],"carried":true}
{"type":"assistant","content":[{"type":"tool_call","id":"old","name":"TaskCreate","arguments":{}}],"carried":true}
{"type":"tool_result","call_id":"old","summary":"created","carried":true}
{"type":"user","content":[{"type":"text","text":"plan the parser"},{"type":"image","media_type":"image/png","data":""}]}
{"type":"assistant","model":"demo","stop_reason":"tool_use","usage":{"input":9,"output":7},"content":[{"type":"reasoning","text":"hm","signature":"c2ln"},{"type":"text","text":"Two."},{"type":"tool_call","id":"a","name":"TaskCreate","arguments":{"subject":"x", "n":1.0}},{"type":"tool_call","id":"b","name":"TaskCreate","arguments":"{\"subject\":"}]}
{"type":"tool_result","call_id":"a","summary":"created task 1","content":"the whole task","value":{"taskid":1}}
{"type":"tool_result","call_id":"b","is_error":true,"summary":"not JSON"}
{"type":"a newer thing","content":17}
{"type":"assistant","model":"demo","content":[{"type":"text","text":"Done."}]}
"#;

#[tokio::test]
async fn a_session_of_pod_is_played_without_what_it_carried() {
    let recorded = recorded(POD);
    insta::assert_snapshot!(play(&recorded).await, @r#"
    01 user: plan the parser
    02 assistant:
    02   thinking (signed): hm
    02   text: Two.
    02   > TaskCreate#a {"subject":"x", "n":1.0}
    02   > TaskCreate#b {"subject":
    03 assistant: Done.
    "#);
    assert_eq!(recorded.warnings(), [""; 0]);
    let first = &recorded.turns()[0];
    assert_eq!((first.usage.input, first.model.as_str()), (9, "demo"));
    let [a, b] = ["a", "b"].map(|id| recorded.result_of(id).unwrap().clone());
    assert_eq!((a.text.as_str(), a.is_error), ("the whole task", false));
    assert_eq!((b.text.as_str(), b.is_error), ("not JSON", true));
    assert_eq!(recorded.result_of("old"), None);
}

#[tokio::test]
async fn a_resumed_session_goes_on_behind_its_turns() {
    for (answered, prompt) in [
        (0, Some("plan the parser")),
        (1, Some(GO_ON)),
        (2, None),
        (9, None),
    ] {
        let recorded = recorded(POD).start_at(answered);
        assert_eq!(recorded.next_prompt(), prompt, "{answered}");
    }
    let recorded = recorded(POD).start_at(1);
    let turn = ask(
        &recorded,
        &Conversation::new(Vec::new()),
        &[tool("TaskCreate")],
    )
    .await;
    assert_eq!(turn.unwrap().joined_text(), "Done.");
}

#[tokio::test]
async fn a_request_with_other_tools_takes_no_turn() {
    let recorded = recorded(POD);
    let nothing = Conversation::new(Vec::new());
    for tools in [&[][..], &[tool("write_summary")][..]] {
        let refused = ask(&recorded, &nothing, tools).await.unwrap_err();
        assert!(
            refused.to_string().contains("none of its tools"),
            "{refused}"
        );
    }
    let turn = ask(&recorded, &nothing, &[tool("Read"), tool("TaskCreate")]).await;
    assert_eq!(turn.unwrap().joined_text(), "Two.");
}

#[test]
fn a_log_that_is_none_is_refused() {
    let problems = [
        "",
        "hello\n",
        r#"{"v":1,"agent":"x","type":"assistant"}"#,
        &prompt("1", "plan"),
    ]
    .map(|log| {
        Recorded::from_log(log.as_bytes(), "log")
            .unwrap_err()
            .to_string()
    });
    insta::assert_snapshot!(problems.join("\n"), @"
    log is neither a transcript of Claude Code nor a session of Pod
    log is neither a transcript of Claude Code nor a session of Pod
    log is neither a transcript of Claude Code nor a session of Pod
    log: there is no answer of a model to play back
    ");
}

proptest::proptest! {
    #[test]
    fn no_damage_makes_the_reader_panic(at in 0..2_000_usize, byte: u8, cut: bool) {
        let log = [prompt("1", "plan"), call("2", "m1", "a"), result("3", "a", r#""ok""#, ""), text("4", "m2", "Done.")];
        for log in [log.join("\n"), POD.to_owned()] {
            let mut bytes = log.into_bytes();
            let at = at % bytes.len();
            if cut {
                bytes.remove(at);
            } else {
                bytes[at] = byte;
            }
            let _ = Recorded::from_log(&bytes[..], "log");
        }
    }
}
