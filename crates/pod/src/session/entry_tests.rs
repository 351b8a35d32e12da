use insta::assert_snapshot;
use llm::{Arguments, AssistantBlock, Image, JsonText, Reasoning, Sealed, ToolCall, UserPart};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn entry(item: Item) -> Entry {
    Entry {
        id: "019b76da-a800-7000-8000-000000000001".parse().unwrap(),
        at: "2026-01-01T00:00:00.007Z".parse().unwrap(),
        carried: false,
        item: Arc::new(item),
    }
}

/// The line of an item, without its end.
fn line(item: Item) -> String {
    let bytes = encode(&entry(item)).unwrap();
    String::from_utf8(bytes).unwrap().trim_end().to_owned()
}

/// What must hold for every entry.
#[track_caller]
fn check_round_trip(entry: &Entry) {
    let bytes = encode(entry).unwrap();
    let (end, text) = bytes.split_last().unwrap();
    assert_eq!(*end, b'\n');
    assert!(
        !text.contains(&b'\n') && !text.contains(&b'\r'),
        "a raw line break"
    );
    let decoded = decode(text).unwrap();
    assert_eq!(decoded.entry, *entry);
    assert_eq!(decoded.unknown_blocks, 0);
    assert_eq!(encode(&decoded.entry).unwrap(), bytes);
}

#[track_caller]
fn reason(line: &str) -> String {
    match decode(line.as_bytes()) {
        Err(Unreadable::Bad(reason)) => reason,
        other => panic!("{line} gives {other:?}"),
    }
}

fn assistant(content: Vec<AssistantBlock>) -> Item {
    Item::Assistant(AssistantMessage {
        content,
        model: String::from("claude-1"),
        response_id: Some(String::from("msg_1")),
        stop_reason: StopReason::ToolUse,
        usage: Usage {
            input: 1200,
            cache_read: 1000,
            cache_write: 0,
            output: 50,
            reasoning: 7,
        },
    })
}

fn call(arguments: Arguments) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: String::from("call_1"),
        name: String::from("TaskCreate"),
        arguments,
    })
}

#[test]
fn one_line_of_each_kind() {
    let user = Item::User(UserMessage {
        content: vec![
            UserPart::Text(String::from("Plan it.\nKurz, bitte: „ja“")),
            UserPart::Image(Image {
                media_type: String::from("image/png"),
                data: String::from("iVBORw0KGgo="),
            }),
        ],
    });
    assert_snapshot!(line(user), @r#"{"type":"user","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00.007Z","content":[{"type":"text","text":"Plan it.\nKurz, bitte: „ja“"},{"type":"image","media_type":"image/png","data":"iVBORw0KGgo="}]}"#);
    let message = assistant(vec![
        AssistantBlock::Reasoning(Reasoning {
            text: String::from("First the lexer."),
            signature: Some(String::from("c2ln")),
            ..Reasoning::default()
        }),
        AssistantBlock::Reasoning(Reasoning {
            redacted: Some(String::from("b3BhcXVl")),
            ..Reasoning::default()
        }),
        AssistantBlock::Reasoning(Reasoning {
            sealed: Some(Sealed {
                by: String::from("api.example.com"),
                item: json!({"type": "reasoning", "id": "rs_1"}).into(),
            }),
            ..Reasoning::default()
        }),
        AssistantBlock::Text(String::from("One step.")),
        call(Arguments::new(r#"{"subject":"lexer", "description":"x"}"#)),
        call(Arguments::new(r#"{"subject": "le"#)),
    ]);
    assert_snapshot!(line(message), @r#"{"type":"assistant","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00.007Z","content":[{"type":"reasoning","text":"First the lexer.","signature":"c2ln"},{"type":"reasoning","text":"","redacted":"b3BhcXVl"},{"type":"reasoning","text":"","sealed":{"by":"api.example.com","item":{"type":"reasoning","id":"rs_1"}}},{"type":"text","text":"One step."},{"type":"tool_call","id":"call_1","name":"TaskCreate","arguments":{"subject":"lexer", "description":"x"}},{"type":"tool_call","id":"call_1","name":"TaskCreate","arguments":"{\"subject\": \"le"}],"model":"claude-1","response_id":"msg_1","stop_reason":"tool_use","usage":{"input":1200,"cache_read":1000,"output":50,"reasoning":7}}"#);
    let result = Item::ToolResult(ToolResult {
        call_id: String::from("call_1"),
        is_error: false,
        summary: String::from("1 task: 1 pending"),
        content: Some(String::from("line 1\r\nline 2")),
        value: Some(json!({"task": {"id": 1}}).into()),
        changed_arguments: Some(Arguments::new(r#"{"subject":"Lexer"}"#)),
    });
    assert_snapshot!(line(result), @r#"{"type":"tool_result","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00.007Z","call_id":"call_1","summary":"1 task: 1 pending","content":"line 1\r\nline 2","value":{"task":{"id":1}},"changed_arguments":{"subject":"Lexer"}}"#);
    let error = Item::ToolResult(ToolResult::error("call_2", "task 9 does not exist"));
    assert_snapshot!(line(error), @r#"{"type":"tool_result","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00.007Z","call_id":"call_2","is_error":true,"summary":"task 9 does not exist"}"#);
    let system = Item::System(SystemMessage {
        origin: Origin::TaskSnapshot,
        text: String::from("1 task"),
        data: Some(json!({"tasks": []})),
    });
    assert_snapshot!(line(system.clone()), @r#"{"type":"system","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00.007Z","origin":"task_snapshot","text":"1 task","data":{"tasks":[]}}"#);
    let carried = Entry {
        carried: true,
        ..entry(system)
    };
    assert_snapshot!(String::from_utf8(encode(&carried).unwrap()).unwrap(), @r#"{"type":"system","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00.007Z","carried":true,"origin":"task_snapshot","text":"1 task","data":{"tasks":[]}}"#);
}

#[test]
fn br_106_line_breaks_and_control_characters_stay_what_they_are() {
    let text = "a\rb\nc\r\nd\u{2028}e\u{2029}f\0g\u{7f}h\u{85}i\u{1b}[2J\u{feff}\u{202e}";
    check_round_trip(&entry(Item::User(UserMessage::text(text))));
    check_round_trip(&entry(Item::ToolResult(ToolResult {
        content: Some(text.to_owned()),
        value: Some(json!({ text: text }).into()),
        ..ToolResult::error(text, text)
    })));
    for arguments in [text.to_owned(), json!({ text: text }).to_string()] {
        check_round_trip(&entry(assistant(vec![call(Arguments::new(arguments))])));
    }
}

#[test]
fn arguments_keep_every_byte() {
    for text in [
        r#"{"a":1}"#,
        r#" {"a":1} "#,
        "{\"a\":1}\n",
        "{\n  \"a\": 1\n}",
        "{\r\"a\":1}",
        "\t{}",
        r#"{"a":1.0,"a":1e2,"b":12345678901234567890123}"#,
        r#"{"a":"\u00e9\/"}"#,
        r#"{"a":"\ud83d"}"#,
        r#"{"a":"\ud83d\ude00"}"#,
        r#"{"a":"#,
        "[1, 2]",
        "17",
        "null",
        r#""{\"a\":1}""#,
        r#""half"#,
        "not json at all \\ \" \u{2028}",
        r#"{"a":1}{"b":2}"#,
    ] {
        let entry = entry(assistant(vec![call(Arguments::new(text))]));
        check_round_trip(&entry);
        let Item::Assistant(message) = &*decode(&encode(&entry).unwrap()).unwrap().entry.item
        else {
            panic!("{text}")
        };
        assert_eq!(message.calls().next().unwrap().arguments.text(), text);
    }
}

#[test]
fn deep_and_long_arguments_and_values_can_be_read_back() {
    let deep = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    for levels in [1, 100, 126, 127, 128, 5_000] {
        let arguments = Arguments::new(deep(levels));
        check_round_trip(&entry(assistant(vec![call(arguments)])));
    }
    // As deep as a value can be that was read from a text.
    let value: Value = serde_json::from_str(&deep(126)).unwrap();
    serde_json::from_str::<Value>(&deep(127)).unwrap_err();
    let result = |value| {
        entry(Item::ToolResult(ToolResult {
            value: Some(JsonText::from(&value)),
            ..ToolResult::error("call_1", "x")
        }))
    };
    check_round_trip(&result(value.clone()));
    // One that was made deeper by hand is refused now, rather than when the session is resumed.
    let error = encode(&result(json!([value]))).unwrap_err();
    assert_snapshot!(error, @"a value has more than 127 levels and could not be read back");

    // BR-118: 16 MB.
    let long = json!({"subject": "long", "description": "ä".repeat(8_000_000)});
    let long = entry(assistant(vec![call(Arguments::from(&long))]));
    let line = encode(&long).unwrap();
    assert!(decode(&line).unwrap().entry == long);
}

#[test]
fn a_line_that_could_not_be_read_back_is_refused() {
    let text = "x".repeat(LINE_LIMIT);
    let error = encode(&entry(Item::User(UserMessage::text(text)))).unwrap_err();
    assert_snapshot!(error, @"it has 67108994 bytes, the limit is 67108864");
}

#[test]
fn a_null_is_not_nothing() {
    for value in [None, Some(Value::Null)] {
        check_round_trip(&entry(Item::ToolResult(ToolResult {
            value: value.as_ref().map(JsonText::from),
            ..ToolResult::error("call_1", "x")
        })));
        check_round_trip(&entry(Item::System(SystemMessage {
            origin: Origin::TaskEdit,
            text: String::new(),
            data: value,
        })));
    }
}

#[test]
fn br_113_half_a_surrogate_pair_in_arguments_is_text_and_elsewhere_a_bad_line() {
    let line = line(assistant(vec![call(Arguments::new(r#"{"a":"?"}"#))]));
    let stored = line.replace('?', r"\ud83d");
    let decoded = decode(stored.as_bytes()).unwrap();
    let Item::Assistant(message) = &*decoded.entry.item else {
        panic!()
    };
    let arguments = &message.calls().next().unwrap().arguments;
    assert_eq!(arguments.text(), r#"{"a":"\ud83d"}"#);
    assert!(arguments.parse().is_err());
    check_round_trip(&decoded.entry);

    let line = self::line(Item::User(UserMessage::text("?")));
    let reason = reason(&line.replace('?', r"\ud83d"));
    assert_snapshot!(reason, @"unexpected end of hex escape at column 134");
}

#[test]
fn what_a_newer_version_adds_is_skipped() {
    let line = line(Item::User(UserMessage::text("hi")));
    let with_fields = line.replacen('{', r#"{"mood":{"type":"user"},"spans":[1,{"a":[]}],"#, 1);
    let decoded = decode(with_fields.as_bytes()).unwrap();
    assert_eq!(decoded.entry, entry(Item::User(UserMessage::text("hi"))));

    for line in [
        r#"{"type":"mark"}"#,
        r#"{"type":"mark","id":7,"at":{},"content":3,"carried":"no","usage":[]}"#,
        r#"{"at":"2026-01-01T00:00:00Z","type":"mark","value":null}"#,
    ] {
        assert_eq!(
            decode(line.as_bytes()),
            Err(Unreadable::UnknownType),
            "{line}"
        );
    }
}

#[test]
fn blocks_of_newer_kinds_are_skipped_and_counted() {
    let line = line(assistant(vec![AssistantBlock::Text(String::from("hi"))]));
    let line = line.replace(
        r#""content":["#,
        r#""content":[{"type":"citation","data":{"a":1},"id":3},{"type":"pause"},"#,
    );
    let decoded = decode(line.as_bytes()).unwrap();
    assert_eq!(decoded.unknown_blocks, 2);
    let expected = assistant(vec![AssistantBlock::Text(String::from("hi"))]);
    assert_eq!(*decoded.entry.item, expected);
}

#[test]
fn a_bad_line_says_what_is_wrong_with_it() {
    let id = r#""id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z""#;
    let reasons: Vec<String> = [
        String::new(),
        String::from("null"),
        String::from("[1]"),
        String::from(r#"{"id":"#),
        String::from("{}"),
        format!("{{{id}}}"),
        format!(r#"{{"type":"user",{id}}}"#),
        format!(r#"{{"type":"user",{id},"content":"text"}}"#),
        format!(r#"{{"type":"user",{id},"content":[{{"type":"text"}}]}}"#),
        format!(r#"{{"type":"user",{id},"content":[{{"type":"text","text":3}}]}}"#),
        format!(r#"{{"type":"user",{id},"content":[]}}{{"type":"user"}}"#),
        format!(
            r#"{{"type":"assistant",{id},"model":"m","stop_reason":"end_turn","content":[{{"type":"tool_call","id":"c","name":"n"}}]}}"#
        ),
        format!(r#"{{"type":"tool_result",{id},"summary":"s"}}"#),
        format!(r#"{{"type":"system",{id},"text":"s"}}"#),
        String::from(r#"{"type":"system","at":"2026-01-01T00:00:00Z"}"#),
        String::from(r#"{"type":"system","id":"019b76da-a800-7000-8000-000000000001"}"#),
        String::from(
            r#"{"type":"system","id":"019b76da-a800-7000-8000-000000000001","at":"yesterday"}"#,
        ),
        String::from(r#"{"type":"system","id":"7"}"#),
    ]
    .iter()
    .map(|line| format!("{line}\n    {}", reason(line)))
    .collect();
    assert_snapshot!(reasons.join("\n"), @r#"

        it is no JSON object
    null
        it is no JSON object
    [1]
        it is no JSON object
    {"id":
        EOF while parsing a value at column 6
    {}
        missing field `type` at column 2
    {"id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z"}
        missing field `type` at column 73
    {"type":"user","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z"}
        `content` is missing
    {"type":"user","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z","content":"text"}
        `content` is not a list
    {"type":"user","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z","content":[{"type":"text"}]}
        `text` is missing
    {"type":"user","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z","content":[{"type":"text","text":3}]}
        invalid type: integer `3`, expected a string at column 123
    {"type":"user","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z","content":[]}{"type":"user"}
        trailing characters at column 101
    {"type":"assistant","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z","model":"m","stop_reason":"end_turn","content":[{"type":"tool_call","id":"c","name":"n"}]}
        `arguments` is missing
    {"type":"tool_result","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z","summary":"s"}
        `call_id` is missing
    {"type":"system","id":"019b76da-a800-7000-8000-000000000001","at":"2026-01-01T00:00:00Z","text":"s"}
        `origin` is missing
    {"type":"system","at":"2026-01-01T00:00:00Z"}
        `id` is missing
    {"type":"system","id":"019b76da-a800-7000-8000-000000000001"}
        `at` is missing
    {"type":"system","id":"019b76da-a800-7000-8000-000000000001","at":"yesterday"}
        `at` is no time: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y
    {"type":"system","id":"7"}
        UUID parsing failed: invalid length: found 1 at column 25
    "#);
    assert_snapshot!(
        match decode(b"{\"type\":\"us\xe6\x97") {
            Err(Unreadable::Bad(reason)) => reason,
            other => panic!("{other:?}"),
        },
        @"incomplete utf-8 byte sequence from index 11"
    );
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[a-z]{1,8}",
        prop::sample::select(vec![
            "\r\n",
            "\n",
            "\r",
            "\u{2028}",
            "\u{2029}",
            "\0",
            "\u{7f}",
            "\\ud83d",
            "\\n",
            "\"",
            "\\",
            "日本",
            "👩‍👩‍👧",
            "{\"type\":\"user\"}",
            "</task_snapshot>",
        ])
        .prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_arguments() -> impl Strategy<Value = Arguments> {
    prop_oneof![
        any_text().prop_map(Arguments::new),
        any_value().prop_map(|value| Arguments::from(&value)),
        any_value().prop_map(|value| Arguments::new(format!("{value:#}"))),
        (any_value(), any::<prop::sample::Index>()).prop_map(|(value, index)| {
            // Cut anywhere between two characters.
            let text: Vec<char> = value.to_string().chars().collect();
            Arguments::new(
                text.iter()
                    .take(index.index(text.len() + 1))
                    .collect::<String>(),
            )
        }),
    ]
}

fn any_item() -> impl Strategy<Value = Item> {
    let optional_text = || prop::option::of(any_text());
    let part = prop_oneof![
        any_text().prop_map(UserPart::Text),
        (any_text(), any_text())
            .prop_map(|(media_type, data)| UserPart::Image(Image { media_type, data })),
    ];
    let user =
        prop::collection::vec(part, 0..4).prop_map(|content| Item::User(UserMessage { content }));
    let sealed = prop::option::of((any_text(), any_text()).prop_map(|(by, text)| Sealed {
        by,
        item: json!({ "encrypted_content": text }).into(),
    }));
    let block = prop_oneof![
        any_text().prop_map(AssistantBlock::Text),
        (any_text(), optional_text(), optional_text(), sealed).prop_map(
            |(text, signature, redacted, sealed)| {
                AssistantBlock::Reasoning(Reasoning {
                    text,
                    signature,
                    redacted,
                    sealed,
                })
            }
        ),
        (any_text(), any_text(), any_arguments()).prop_map(|(id, name, arguments)| {
            AssistantBlock::ToolCall(ToolCall {
                id,
                name,
                arguments,
            })
        }),
    ];
    let assistant = (
        prop::collection::vec(block, 0..4),
        any_text(),
        optional_text(),
        any_text(),
        any::<[u64; 5]>(),
    )
        .prop_map(|(content, model, response_id, stop, usage)| {
            let [input, cache_read, cache_write, output, reasoning] = usage;
            Item::Assistant(AssistantMessage {
                content,
                model,
                response_id,
                stop_reason: StopReason::from(stop.as_str()),
                usage: Usage {
                    input,
                    cache_read,
                    cache_write,
                    output,
                    reasoning,
                },
            })
        });
    let result = (
        any_text(),
        any::<bool>(),
        any_text(),
        optional_text(),
        prop::option::of(any_value()),
        prop::option::of(any_arguments()),
    )
        .prop_map(
            |(call_id, is_error, summary, content, value, changed_arguments)| {
                Item::ToolResult(ToolResult {
                    call_id,
                    is_error,
                    summary,
                    content,
                    value: value.map(JsonText::from),
                    changed_arguments,
                })
            },
        );
    let system =
        (any_text(), any_text(), prop::option::of(any_value())).prop_map(|(origin, text, data)| {
            Item::System(SystemMessage {
                origin: Origin::from(origin.as_str()),
                text,
                data,
            })
        });
    prop_oneof![user, assistant, result, system]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    (
        any::<u128>(),
        0..4_102_444_800_000_i64,
        any::<bool>(),
        any_item(),
    )
        .prop_map(|(id, at, carried, item)| Entry {
            id: Uuid::from_u128(id),
            at: Timestamp::from_millisecond(at).unwrap(),
            carried,
            item: Arc::new(item),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// BR-049, BR-106: whatever an item says, its line says the same, in the same bytes each time.
    #[test]
    fn br_049_every_entry_survives_its_line(entry in any_entry()) {
        check_round_trip(&entry);
    }

    /// No text is a reason to panic, and what is taken for an entry can be written again.
    #[test]
    fn no_line_is_too_strange(
        entry in any_entry(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut line = encode(&entry).unwrap();
        line.pop();
        let index = at.index(line.len());
        line[index] = byte;
        if let Ok(decoded) = decode(&line) {
            encode(&decoded.entry).unwrap();
        }
    }
}
