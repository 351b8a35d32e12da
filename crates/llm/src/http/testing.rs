//! What the tests of the wires share: responses to read, and random conversations to write.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::Vendor;
use super::endpoint::Decoder;
use super::failure::Service;
use super::sse;
use crate::{
    Arguments, AssistantBlock, AssistantMessage, Conversation, Delta, Image, Item, ModelError,
    Origin, Reasoning, Request, Sealed, SystemMessage, ToolCall, ToolResult, UserMessage, UserPart,
    rules,
};

/// Reads a whole event stream.
pub(crate) fn read(
    decoder: impl Decoder,
    stream: &str,
) -> (Vec<Delta>, Result<AssistantMessage, ModelError>) {
    read_pieces(decoder, std::iter::once(stream.as_bytes()))
}

fn service() -> Service {
    Service {
        vendor: Vendor::OpenAi,
        address: "host".to_owned(),
        url: "http://host/".to_owned(),
        model: "m".to_owned(),
        secrets: Vec::new(),
        key_variable: "OPENAI_API_KEY",
    }
}

/// A stream of unnamed events.
pub(crate) fn stream(data: &[&str]) -> String {
    let events: Vec<String> = data
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    events.concat()
}

/// A request about a conversation and nothing else.
pub(crate) fn request(conversation: &Conversation) -> Request<'_> {
    Request {
        system: "",
        tools: &[],
        conversation,
        max_output_tokens: None,
        reasoning_tokens: None,
    }
}

pub(crate) fn user(text: &str) -> Item {
    Item::User(UserMessage::text(text))
}

pub(crate) fn system(origin: Origin, text: &str) -> Item {
    Item::System(SystemMessage {
        origin,
        text: text.to_owned(),
        data: None,
    })
}

pub(crate) fn assistant(content: Vec<AssistantBlock>) -> Item {
    Item::Assistant(AssistantMessage {
        content,
        ..AssistantMessage::default()
    })
}

pub(crate) fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text(text.to_owned())
}

pub(crate) fn reasoning(text: &str, signature: Option<&str>) -> AssistantBlock {
    AssistantBlock::Reasoning(Reasoning {
        text: text.to_owned(),
        signature: signature.map(str::to_owned),
        ..Reasoning::default()
    })
}

/// Reasoning that the server at an address sealed.
pub(crate) fn sealed(by: &str, data: &str) -> AssistantBlock {
    let item =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": data });
    AssistantBlock::Reasoning(Reasoning {
        sealed: Some(Sealed {
            by: by.to_owned(),
            item: item.into(),
        }),
        ..Reasoning::default()
    })
}

pub(crate) fn call(id: &str, arguments: &str) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "TaskCreate".to_owned(),
        arguments: Arguments::new(arguments),
    })
}

pub(crate) fn result(id: &str, text: &str) -> Item {
    Item::ToolResult(ToolResult {
        is_error: false,
        ..ToolResult::error(id, text)
    })
}

pub(crate) fn failure(id: &str, text: &str) -> Item {
    Item::ToolResult(ToolResult::error(id, text))
}

pub(crate) fn conversation(items: Vec<Item>) -> Conversation {
    Conversation::new(items.into_iter().map(Arc::new).collect())
}

/// What a server would refuse as it is: blank texts, answers in a row, arguments that are none.
pub(crate) fn awkward() -> Vec<Item> {
    vec![
        user("a"),
        user("  "),
        assistant(vec![reasoning("hm", None), text("\n")]),
        user("b"),
        Item::User(UserMessage {
            content: vec![
                UserPart::Text("look".to_owned()),
                UserPart::Image(Image {
                    media_type: "image/png".to_owned(),
                    data: "AAAA".to_owned(),
                }),
            ],
        }),
        assistant(vec![text("one"), text("two")]),
        assistant(vec![text("three"), call("c1", "{\"a\":")]),
        failure("c1", "Error: no"),
        assistant(vec![call("c2", "{}")]),
        result("c2", ""),
    ]
}

/// What the runtime says, at the begin, behind an answer and at the end.
pub(crate) fn noted() -> Vec<Item> {
    vec![
        system(Origin::Summary, "So far ..."),
        system(Origin::TaskSnapshot, "1. lexer"),
        user("go on"),
        assistant(vec![text("ok")]),
        user("b"),
        system(Origin::Reminder, "tasks are open"),
    ]
}

/// Random items that keep the rules, but for the end.
pub(crate) fn items() -> impl Strategy<Value = Vec<Arc<Item>>> {
    let text = prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        "[a-z\"\\\\é😀\n]{1,9}"
    ];
    let signature = prop_oneof![Just(None), Just(Some("sig".to_owned()))];
    let call = (
        prop_oneof![Just("{\"a\":1}"), Just(""), Just("{\"a\":"), Just("{\n}")],
        text.clone(),
        any::<bool>(),
    );
    let step = prop_oneof![
        3 => text.clone().prop_map(|text| vec![user(&text)]),
        3 => text.clone().prop_map(|text| vec![system(Origin::Reminder, &text)]),
        4 => (text.clone(), text, signature, proptest::collection::vec(call, 0..3)).prop_map(
            |(said, thought, signature, calls)| {
                let mut blocks = vec![
                    reasoning(&thought, signature.as_deref()),
                    sealed("127.0.0.1:1", &thought),
                    AssistantBlock::Text(said),
                ];
                let mut results = Vec::new();
                for (arguments, text, is_error) in calls {
                    blocks.push(self::call("", arguments));
                    results.push(if is_error { failure("", &text) } else { result("", &text) });
                }
                let mut items = vec![assistant(blocks)];
                items.extend(results);
                items
            }
        ),
    ];
    proptest::collection::vec(step, 1..12).prop_map(|steps| {
        let mut items = vec![user("begin")];
        items.extend(steps.into_iter().flatten());
        number_calls(&mut items);
        items.into_iter().map(Arc::new).collect()
    })
}

/// Gives each call and its result an id.
fn number_calls(items: &mut [Item]) {
    let mut calls = 0;
    let mut results = 0;
    for item in items {
        match item {
            Item::Assistant(message) => {
                for block in &mut message.content {
                    if let AssistantBlock::ToolCall(call) = block {
                        call.id = format!("c{calls}");
                        calls += 1;
                    }
                }
            }
            Item::ToolResult(result) => {
                result.call_id = format!("c{results}");
                results += 1;
            }
            Item::User(_) | Item::System(_) => {}
        }
    }
}

/// Grows a conversation item by item, asks for the body wherever a request is possible, and gives
/// these bodies with the number of items that each is about.
pub(crate) fn grow<B>(
    items: &[Arc<Item>],
    mut body: impl FnMut(&Conversation) -> B,
) -> Vec<(usize, B)> {
    let mut conversation = Conversation::new(Vec::new());
    let mut bodies = Vec::new();
    for item in items {
        conversation.push(Arc::clone(item));
        let length = conversation.items().len();
        if rules::check(conversation.items()).is_ok() {
            bodies.push((length, body(&conversation)));
        }
    }
    bodies
}

/// Checks the requests of a conversation that grows: what was written for an earlier one makes no
/// difference to a later one, and each extends the one before. `past` gives the text of a request as
/// far as no later one may change it.
pub(crate) fn grows(
    items: &[Arc<Item>],
    body: impl Fn(&Conversation) -> String,
    past: impl Fn(&str) -> String,
) -> Result<(), TestCaseError> {
    let bodies = grow(items, &body);
    for (length, grown) in &bodies {
        let fresh = Conversation::new(items.iter().take(*length).cloned().collect());
        prop_assert_eq!(grown, &body(&fresh));
        prop_assert!(
            serde_json::from_str::<serde_json::Value>(grown).is_ok(),
            "{}",
            grown
        );
    }
    for pair in bodies.windows(2) {
        let [(_, earlier), (_, later)] = pair else {
            continue;
        };
        let (earlier, later) = (past(earlier), past(later));
        prop_assert!(later.starts_with(&earlier), "{}\n{}", earlier, later);
    }
    Ok(())
}

/// The text of a request as far as no later one may change it, where the conversation is the field
/// `array` at its end.
pub(crate) fn past(body: &str, array: &str) -> String {
    let start = format!(r#""{array}":["#);
    let items = body.split_once(&start).map_or("", |(_, items)| items);
    let open = items.strip_suffix(r#""}]}"#);
    let closed = items.strip_suffix("]}");
    open.or(closed).expect("the end of a request").to_owned()
}

/// Reads an event stream that comes in pieces.
fn read_pieces<'a>(
    mut decoder: impl Decoder,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Delta>, Result<AssistantMessage, ModelError>) {
    let service = service();
    let mut deltas = Vec::new();
    let mut events = sse::Decoder::default();
    for piece in pieces {
        let read = events.push(piece, &mut |event| {
            decoder.event(event, &service, &mut |delta| deltas.push(delta))
        });
        if let Err(error) = read {
            return (deltas, Err(error));
        }
    }
    (deltas, decoder.finish())
}

/// Feeds a decoder with streams made out of good ones.
///
/// However a stream is cut, it says the same. A message comes of it only if it has the `end` of the
/// protocol, and then it is what was told on the way: no text and no call more, and none less but
/// calls that the end of the answer cut.
pub(crate) fn fuzz<D: Decoder>(
    name: &str,
    good: &[String],
    words: &'static [&'static str],
    end: &[u8],
    new: impl Fn() -> D,
) {
    for stream in good {
        let (_, message) = read(new(), stream);
        assert!(message.is_ok(), "{message:?} of {stream}");
    }
    let good = good.iter().map(|it| it.clone().into_bytes()).collect();
    let input = (fuzzing::mutate::bytes(good, words), fuzzing::mutate::cuts());
    fuzzing::target(name, input, |(bytes, cuts)| {
        let bytes = bytes.0;
        let (deltas, result) = read_pieces(new(), std::iter::once(bytes.as_slice()));
        let (again, result_again) = read_pieces(new(), fuzzing::mutate::pieces(&bytes, &cuts));
        prop_assert_eq!(format!("{:?}", &result), format!("{result_again:?}"));
        prop_assert_eq!(format!("{:?}", &deltas), format!("{again:?}"));
        if let Ok(message) = result {
            prop_assert!(memmem(&bytes, end), "it has no end, and is taken for whole");
            same_as_told(&message, &deltas)?;
        }
        Ok(())
    });
}

fn memmem(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// What was told of each block, in the order of the blocks.
fn told(deltas: &[Delta], of: impl Fn(&Delta) -> Option<(usize, &str)>) -> Vec<String> {
    let mut blocks: std::collections::BTreeMap<usize, String> = std::collections::BTreeMap::new();
    for (index, text) in deltas.iter().filter_map(of) {
        blocks.entry(index).or_default().push_str(text);
    }
    blocks
        .into_values()
        .filter(|text| !text.is_empty())
        .collect()
}

fn same_as_told(message: &AssistantMessage, deltas: &[Delta]) -> Result<(), TestCaseError> {
    let said = |of: &dyn Fn(&AssistantBlock) -> Option<&str>| -> Vec<String> {
        let texts = message.content.iter().filter_map(of);
        texts
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let texts = said(&|block| match block {
        AssistantBlock::Text(text) => Some(text),
        _ => None,
    });
    let told_texts = told(deltas, |delta| match delta {
        Delta::Text { index, text } => Some((*index, text)),
        _ => None,
    });
    prop_assert_eq!(texts, told_texts);
    let thoughts = said(&|block| match block {
        AssistantBlock::Reasoning(reasoning) => Some(&reasoning.text),
        _ => None,
    });
    let told_thoughts = told(deltas, |delta| match delta {
        Delta::Reasoning { index, text } => Some((*index, text)),
        _ => None,
    });
    prop_assert_eq!(thoughts, told_thoughts);
    let told_calls = told(deltas, |delta| match delta {
        Delta::CallArguments { index, fragment } => Some((*index, fragment)),
        _ => None,
    });
    let mut told_calls = told_calls.iter();
    for call in message.calls() {
        let text = call.arguments.text();
        let is_told = text == "{}" || told_calls.any(|told| told == text);
        prop_assert!(is_told, "nothing was told of {call:?}");
    }
    Ok(())
}
