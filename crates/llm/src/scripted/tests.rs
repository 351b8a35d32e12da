use std::time::Duration;

use serde_json::json;

use super::*;
use crate::{Arguments, Conversation, ToolResult, ToolSpec, UserMessage};

/// Asks with the items so far, and returns the answer and the deltas.
async fn ask(
    model: &Scripted,
    conversation: &Conversation,
    tools: &[ToolSpec],
) -> (Result<AssistantMessage, ModelError>, Vec<Delta>) {
    let mut deltas = Vec::new();
    let request = Request {
        system: "You plan.",
        tools,
        conversation,
        max_output_tokens: None,
        reasoning_tokens: None,
    };
    let answer = model
        .respond(request, &mut |delta| deltas.push(delta))
        .await;
    (answer, deltas)
}

fn conversation(items: impl IntoIterator<Item = Item>) -> Conversation {
    Conversation::new(items.into_iter().map(Arc::new).collect())
}

fn user(text: &str) -> Item {
    Item::User(UserMessage::text(text))
}

fn result(call_id: &str, text: &str) -> Item {
    Item::ToolResult(ToolResult {
        is_error: false,
        ..ToolResult::error(call_id, text)
    })
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        schema: json!({}),
    }
}

/// All answers of a script without expectations, as an outline.
async fn play(script: &str) -> String {
    let model = Scripted::parse(script).unwrap();
    let mut conversation = conversation([user("go")]);
    for _ in 0..model.answers() {
        let message = ask(&model, &conversation, &[]).await.0.unwrap();
        conversation.push(Arc::new(Item::Assistant(message)));
    }
    outline(conversation.items())
}

fn problem(script: &str) -> String {
    Scripted::parse(script).unwrap_err().to_string()
}

#[tokio::test]
async fn blocks_come_in_the_order_of_the_script() {
    let answers = play(
        r#"
assistant: Two steps.

  Here they are:
    - indented

  > TaskCreate {"subject":"lexer"}
  Between.
  > TaskCreate #call_x {
      "subject": "parser",
      "description": "a | b"
    }
  > TaskList
  > TaskList #call_y
  > Broken! {"a":
  > Broken! #call_z not json
  > Surrogate {"a":"\ud83d"}
  \> no call
  \\ one backslash
assistant:
  thinking: first
  thinking: second | c2ln
  thinking: unsigned
assistant:
"#,
    )
    .await;
    insta::assert_snapshot!(answers, @r#"
    01 user: go
    02 assistant: Two steps.
       |
       | Here they are:
       |   - indented
    02   > TaskCreate#call_1 {"subject":"lexer"}
    02   text: Between.
    02   > TaskCreate#call_x { "subject": "parser", "description": "a | b" }
    02   > TaskList#call_2 {}
    02   > TaskList#call_y {}
    02   > Broken#call_3 {"a":
    02   > Broken#call_z not json
    02   > Surrogate#call_4 {"a":"\ud83d"}
    02   text: > no call
       | \ one backslash
    03 assistant:
    03   thinking (signed): first
       | second
    03   thinking: unsigned
    04 assistant:
    "#);
}

#[tokio::test]
async fn both_forms_say_the_same() {
    let text = play(
        "assistant:\n  thinking: hm | c2ln\n  Go.\n  > A {\"b\":1.0}\n  > C! oops\nusage: input=9 cached=8 output=7\nstop: max_tokens\nassistant: Done.\n",
    )
    .await;
    let json = play(
        r#"{"model": "m", "window": 9, "turns": [
            {"thinking": "hm", "signature": "c2ln", "text": "Go.",
             "calls": [["A", {"b": 1.0}], {"name": "C", "arguments": "oops"}],
             "usage": {"input": 9, "cached": 8, "output": 7}, "stop": "max_tokens"},
            {"text": "Done."}]}"#,
    )
    .await;
    assert_eq!(text, json);
}

#[tokio::test]
async fn headers_usage_and_stop_reason_are_kept() {
    let model = Scripted::parse(
        "model: demo-1\nwindow: 900\nassistant: a\nusage: input=9 cached=8 output=7\nstop: max_tokens\nassistant: b\n  > C",
    )
    .unwrap()
    .named("scripted:demo");
    assert_eq!(model.name(), "scripted:demo");
    assert_eq!(model.capability().context_window, 900);
    let asked = conversation([user("12345678")]);
    let first = ask(&model, &asked, &[]).await.0.unwrap();
    assert_eq!(first.model, "demo-1");
    assert_eq!(first.stop_reason.as_str(), "max_tokens");
    let usage = (
        first.usage.input,
        first.usage.cache_read,
        first.usage.output,
    );
    assert_eq!(usage, (9, 8, 7));
    let second = ask(&model, &asked, &[]).await.0.unwrap();
    assert_eq!(second.stop_reason.as_str(), "tool_use");
    // "You plan." and the user's text are 17 bytes; "b", "C" and "{}" are 4.
    assert_eq!((second.usage.input, second.usage.output), (5, 1));
}

#[tokio::test]
async fn an_expectation_that_fails_says_where_and_what_came_and_keeps_the_step() {
    let model = Scripted::parse("user: the parser\nexpect: 2 tasks\nassistant: Done.").unwrap();
    let wrong = conversation([user("plan the lexer")]);
    let error = ask(&model, &wrong, &[]).await.0.unwrap_err();
    insta::assert_snapshot!(error, @"script line 1: the step of line 3 expects the last user message to contain `the parser`, but it is `plan the lexer`");
    let no_result = conversation([user("plan the parser")]);
    let error = ask(&model, &no_result, &[]).await.0.unwrap_err();
    insta::assert_snapshot!(error, @"script line 2: the step of line 3 expects the newest results to contain `2 tasks`, but there is none");
    let right = conversation([
        user("plan the parser"),
        Item::Assistant(AssistantMessage::default()),
        result("a", "2 tasks: 2 pending"),
        result("b", "other"),
    ]);
    assert!(ask(&model, &right, &[]).await.0.is_ok());
    let error = ask(&model, &right, &[]).await.0.unwrap_err();
    insta::assert_snapshot!(error, @"the script has run out: all 1 steps of its lane `main` were taken; add a step for this request");
}

#[tokio::test]
async fn results_before_the_last_answer_do_not_count() {
    let model = Scripted::parse("expect: old\nassistant: Done.").unwrap();
    let items = [
        result("a", "old"),
        Item::Assistant(AssistantMessage::default()),
        result("b", "new"),
    ];
    assert!(ask(&model, &conversation(items), &[]).await.0.is_err());
}

#[tokio::test]
async fn each_fault_is_its_error() {
    let kinds = "overloaded 2,failed,cut,timeout,too long,network,auth,refused";
    let script = format!(
        "fault: {}\nassistant: Done.",
        kinds.replace(',', "\nfault: ")
    );
    let model = Scripted::parse(&script).unwrap();
    let asked = conversation([user("go")]);
    let mut errors = Vec::new();
    while let (Err(error), _) = ask(&model, &asked, &[]).await {
        errors.push(format!("{} (retryable: {})", error, error.is_retryable()));
    }
    insta::assert_snapshot!(errors.join("\n"), @"
    the provider is overloaded (HTTP 529): the script says so at line 1; try again later (retryable: true)
    the provider is overloaded (HTTP 529): the script says so at line 1; try again later (retryable: true)
    the provider failed (HTTP 500): the script says so at line 2 (retryable: true)
    the response was cut off: the script says so at line 3; try again (retryable: true)
    the provider sent nothing for 60 s; try again (retryable: true)
    the prompt is too long for the model: the script says so at line 5 (retryable: false)
    the network is away: the script says so at line 6 (retryable: true)
    the key is refused: the script says so at line 7 (retryable: false)
    the provider refused the request (HTTP 400): the script says so at line 8 (retryable: false)
    ");
}

#[tokio::test]
async fn a_cut_shows_the_beginning_of_the_answer_and_the_answer_follows() {
    let model = Scripted::parse("fault: cut\nassistant:\n  > A {\"b\":\"0123456789\"}\n").unwrap();
    let asked = conversation([user("go")]);
    let (error, cut) = ask(&model, &asked, &[]).await;
    assert!(matches!(error, Err(ModelError::Cut(_))));
    let (answer, whole) = ask(&model, &asked, &[]).await;
    assert_eq!(answer.unwrap().calls().next().unwrap().id, "call_1");
    assert!(cut.len() > 1 && cut.len() < whole.len());
    assert_eq!(cut[..], whole[..cut.len()]);
}

#[tokio::test]
async fn a_stall_never_answers_and_the_next_request_goes_on() {
    for word in ["stall", "wait"] {
        let model = Scripted::parse(&format!("fault: {word}\nassistant: Done.")).unwrap();
        let asked = conversation([user("go")]);
        let stalled =
            tokio::time::timeout(Duration::from_millis(20), ask(&model, &asked, &[])).await;
        assert!(stalled.is_err());
        assert!(ask(&model, &asked, &[]).await.0.is_ok());
    }
}

#[tokio::test]
async fn a_delay_is_before_each_delta() {
    let model = Scripted::parse("delay: 5ms\nassistant: 0123456789abcdef01").unwrap();
    let before = tokio::time::Instant::now();
    let (_, deltas) = ask(&model, &conversation([]), &[]).await;
    assert_eq!(deltas.len(), 3);
    assert!(before.elapsed() >= Duration::from_millis(15));
}

#[tokio::test]
async fn deltas_make_up_the_message() {
    let model = Scripted::from_answers([Answer::text("Zwölf Boxkämpfer jagen Viktor 🦀.")
        .reasoning("quer über den großen Sylter Deich", None)
        .call("TaskCreate", &json!({"subject": "ä".repeat(40)}))]);
    let (answer, deltas) = ask(&model, &conversation([]), &[]).await;
    let mut blocks: Vec<String> = Vec::new();
    assert!(matches!(deltas.first(), Some(Delta::Started { .. })));
    for delta in &deltas[1..] {
        let (at, added) = match delta {
            Delta::Text { index, text } | Delta::Reasoning { index, text } => {
                (*index, text.clone())
            }
            Delta::CallStarted { index, id, name } => (*index, format!("{name}#{id} ")),
            Delta::CallArguments { index, fragment } => (*index, fragment.clone()),
            other => panic!("{other:?}"),
        };
        if at == blocks.len() {
            blocks.push(String::new());
        }
        blocks[at].push_str(&added);
    }
    let answer = answer.unwrap();
    let call = answer.calls().next().unwrap();
    assert_eq!(
        blocks,
        [
            "Zwölf Boxkämpfer jagen Viktor 🦀.".to_owned(),
            "quer über den großen Sylter Deich".to_owned(),
            format!("TaskCreate#call_1 {}", call.arguments.text()),
        ]
    );
}

#[tokio::test]
async fn lanes_are_chosen_by_the_tools_on_offer() {
    let model = Scripted::parse(
        "assistant: main 1\nlane: write_summary\nassistant: worker 1\nlane: main\nassistant: main 2",
    )
    .unwrap();
    let asked = conversation([user("go")]);
    let worker = [tool("read_file"), tool("write_summary")];
    let mut texts = Vec::new();
    for tools in [&[][..], &worker[..], &[tool("Read")][..]] {
        texts.push(ask(&model, &asked, tools).await.0.unwrap().joined_text());
    }
    assert_eq!(texts, ["main 1", "worker 1", "main 2"]);
    let error = ask(&model, &asked, &worker).await.0.unwrap_err();
    assert!(error.to_string().contains("`write_summary`"), "{error}");
}

#[tokio::test]
async fn fresh_ids_differ_from_all_ids_of_the_conversation() {
    let other_script = Scripted::parse("assistant:\n  > A\n  > B\n  > C").unwrap();
    let mut asked = conversation([user("go")]);
    let message = ask(&other_script, &asked, &[]).await.0.unwrap();
    asked.push(Arc::new(Item::Assistant(message)));
    let model = Scripted::parse("assistant:\n  > A\n  > B").unwrap();
    let message = ask(&model, &asked, &[]).await.0.unwrap();
    let ids: Vec<&str> = message.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_4", "call_5"]);
}

#[tokio::test]
async fn a_huge_number_in_a_call_id_does_no_harm() {
    let huge = Answer::empty().raw_call(format!("call_{}", u64::MAX), "A", Arguments::new(""));
    let asked = conversation([Item::Assistant(huge.into())]);
    let model = Scripted::parse("assistant:\n  > A").unwrap();
    let message = ask(&model, &asked, &[]).await.0.unwrap();
    assert_eq!(message.calls().next().unwrap().id, "call_1");
}

#[tokio::test]
async fn a_resumed_session_goes_on_behind_its_answers() {
    const SCRIPT: &str = "assistant: 1\n  > A\n  > B #own\nfault: cut\nassistant: 2\nfault: network\nassistant: 3\n  > C";
    for (answered, expected) in [
        (0, "1"),
        (
            1,
            "the response was cut off: the script says so at line 4; try again",
        ),
        (2, "the network is away: the script says so at line 6"),
        (
            3,
            "the script has run out: all 5 steps of its lane `main` were taken; add a step for this request",
        ),
        (
            9,
            "the script has run out: all 5 steps of its lane `main` were taken; add a step for this request",
        ),
    ] {
        let model = Scripted::parse(SCRIPT).unwrap().start_at(answered);
        let (answer, _) = ask(&model, &conversation([]), &[]).await;
        let came = answer.map_or_else(|error| error.to_string(), |answer| answer.joined_text());
        assert_eq!(came, expected);
    }
    let model = Scripted::parse(SCRIPT).unwrap().start_at(2);
    let _ = ask(&model, &conversation([]), &[]).await;
    let third = ask(&model, &conversation([]), &[]).await.0.unwrap();
    assert_eq!(third.calls().next().unwrap().id, "call_2");
}

#[tokio::test]
async fn a_function_computes_from_the_conversation() {
    let model = Scripted::from_fn("counting", Capability::default(), |request| {
        let count = request.conversation.items().len();
        if count > 1 {
            return Err(ModelError::PromptTooLong(String::from("two items")));
        }
        Ok(Answer::text(format!("{count} items"))
            .call("A", &json!({}))
            .into())
    })
    .keep_requests();
    let mut asked = conversation([user("go")]);
    let (answer, deltas) = ask(&model, &asked, &[tool("A")]).await;
    let answer = answer.unwrap();
    assert_eq!(answer.joined_text(), "1 items");
    assert_eq!(answer.model, "counting");
    assert_eq!(answer.calls().next().unwrap().id, "call_1");
    assert!(answer.usage.input > 0);
    assert!(deltas.len() > 2);
    asked.push(Arc::new(user("more")));
    assert!(ask(&model, &asked, &[]).await.0.is_err());

    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].system, "You plan.");
    assert_eq!(requests[0].tools, ["A"]);
    assert_eq!(outline(&requests[1].items), "01 user: go\n02 user: more\n");
    assert!(Arc::ptr_eq(&requests[1].items[0], &asked.items()[0]));
}

#[tokio::test]
async fn requests_are_not_kept_unasked() {
    let model = Scripted::from_answers([Answer::text("a")]);
    let _ = ask(&model, &conversation([]), &[]).await;
    assert!(model.requests().is_empty());
}

#[test]
fn a_wrong_script_is_told_by_line_and_remedy() {
    let wrong = [
        "\n  > A {}",
        "assistent: hi",
        "hello",
        "assistant: a\n  > A {\"b\":\n  c",
        "assistant: a\n  > A {\"b\":",
        "assistant: a\n  > A {} rest",
        "assistant: a\n  > A {\"b\":\"two\n    lines\"}",
        "assistant: a\n  > ",
        "fault: cat",
        "fault: cut 1001",
        "user:",
        "user: a",
        "usage: input=1",
        "assistant: a\nusage: inputs=1",
        "assistant: a\nusage: input=-1",
        "delay: 5",
        "delay: 5h",
        "delay: s",
        "window: big",
        "[{\"txt\": \"a\"}]",
        "[{\"fault\": \"cut\", \"text\": \"a\"}]",
        "[{\"text\": \"a\", \"times\": 2}]",
        "[{\"calls\": [[\"A\"]]}]",
        "[{\"calls\": [{\"nam\": \"A\"}]}]",
        "{\"turns\": 1}",
        "[",
    ];
    insta::assert_snapshot!(wrong.map(problem).join("\n"), @r#"
    script line 2: an indented line belongs below an `assistant:` line
    script line 1: there is no `assistent:`; the words are: assistant, user, expect, fault, usage, stop, delay, lane, model, window
    script line 1: a line is `WORD: TEXT`; the words are: assistant, user, expect, fault, usage, stop, delay, lane, model, window
    script line 2: the arguments of this call are not JSON (expected value at line 2 column 1); for broken arguments write `> NAME! TEXT`
    script line 2: the JSON of this call has no end (EOF while parsing a value at line 1 column 5); for broken arguments write `> NAME! TEXT`
    script line 2: the arguments of this call are not JSON (trailing characters at line 1 column 4); for broken arguments write `> NAME! TEXT`
    script line 2: the arguments of this call are not JSON (control character (\u0000-\u001F) found while parsing a string at line 1 column 9); for broken arguments write `> NAME! TEXT`
    script line 2: a call is `> NAME JSON`
    script line 1: there is no fault `cat`; there are: overloaded, failed, cut, stall, wait, timeout, too long, network, auth, refused
    script line 1: a fault comes at most 1000 times in a row
    script line 1: `user:` needs a text
    script line 1: no step follows this expectation; add an `assistant:` or `fault:` line
    script line 1: `usage:` belongs right below an `assistant:` block
    script line 2: there is no usage `inputs`; there are: input, cached, written, output
    script line 2: `input=-1` is not `NAME=NUMBER`
    script line 1: `5` is no time such as `50ms` or `2s`
    script line 1: `5h` is no time such as `50ms` or `2s`
    script line 1: `s` is no time such as `50ms` or `2s`
    script line 1: `big` is no number of tokens
    the script cannot be read: unknown field `txt`, expected one of `lane`, `user`, `expect`, `delay_ms`, `fault`, `times`, `thinking`, `signature`, `text`, `calls`, `usage`, `stop` at line 1 column 7
    script turn 1: a turn is a fault or an answer, not both
    script turn 1: `times` belongs to a `fault`
    script turn 1: a call is `["NAME", {..}]` or `{"name", "id", "arguments"}`, but: invalid length 1, expected a tuple of size 2
    script turn 1: a call is `["NAME", {..}]` or `{"name", "id", "arguments"}`, but: unknown field `nam`, expected one of `name`, `id`, `arguments`
    the script cannot be read: invalid type: integer `1`, expected a sequence at line 1 column 11
    the script cannot be read: EOF while parsing a list at line 1 column 1
    "#);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "((assistant|user|fault|usage|delay|lane|stop): ?|  > ?|\\{|\\[|\"|#|!|\n| |[a-zä🦀0-9=|\\\\]){0,40}") {
        let _ = Scripted::parse(&text);
    }
}
