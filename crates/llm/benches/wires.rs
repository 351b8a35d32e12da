//! What a wire costs at both ends: to build a request, by the length of the conversation, and to read
//! a response, by the byte.
//!
//! ```sh
//! cargo bench -p llm --bench wires
//! ```

#![expect(
    clippy::unwrap_used,
    reason = "a program that shows numbers, and has none to show if something fails"
)]

use std::fmt::Write as _;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::BytesCount;
use llm::anthropic::{self, Anthropic};
use llm::openai_chat::{self, OpenAiChat};
use llm::{
    Arguments, AssistantBlock, AssistantMessage, Conversation, Item, Request, ToolCall, ToolResult,
    UserMessage,
};
use serde_json::{Value, json};

/// Turns of a session.
const SIZES: [usize; 3] = [10, 1_000, 10_000];

/// As much as one read from a socket mostly brings.
const PIECE: usize = 8 * 1024;

fn main() {
    divan::main();
}

/// A turn more, and the request with it. Nothing of it may depend on the length.
mod a_turn_and_its_request {
    use super::{Bencher, SIZES, anthropic, conversation, openai, request, turn};

    #[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
    fn over_anthropic(bencher: Bencher<'_, '_>, turns: usize) {
        let model = anthropic();
        let mut conversation = conversation(turns);
        model.build_request(&request(&conversation)).unwrap();
        let mut number = turns;
        bencher.bench_local(|| {
            turn(&mut conversation, number);
            number += 1;
            model.build_request(&request(&conversation)).unwrap()
        });
    }

    #[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
    fn over_openai_chat(bencher: Bencher<'_, '_>, turns: usize) {
        let model = openai();
        let mut conversation = conversation(turns);
        model.build_request(&request(&conversation)).unwrap();
        let mut number = turns;
        bencher.bench_local(|| {
            turn(&mut conversation, number);
            number += 1;
            model.build_request(&request(&conversation)).unwrap()
        });
    }
}

/// The first request of a session that goes on: everything is written once.
#[divan::bench(args = SIZES, sample_count = 20)]
fn first_request_of_a_resume(bencher: Bencher<'_, '_>, turns: usize) {
    let conversation = conversation(turns);
    bencher
        .with_inputs(anthropic)
        .bench_local_values(|model| model.build_request(&request(&conversation)).unwrap());
}

mod a_response {
    use super::{Bencher, BytesCount, PIECE, anthropic, anthropic_stream, openai, openai_stream};

    #[divan::bench]
    fn over_anthropic(bencher: Bencher<'_, '_>) {
        let model = anthropic();
        let stream = anthropic_stream();
        bencher
            .counter(BytesCount::of_slice(stream.as_bytes()))
            .bench_local(|| {
                let pieces = stream.as_bytes().chunks(PIECE);
                model.read_response(pieces).unwrap()
            });
    }

    #[divan::bench]
    fn over_openai_chat(bencher: Bencher<'_, '_>) {
        let model = openai();
        let stream = openai_stream();
        bencher
            .counter(BytesCount::of_slice(stream.as_bytes()))
            .bench_local(|| {
                let pieces = stream.as_bytes().chunks(PIECE);
                model.read_response(pieces).unwrap()
            });
    }
}

fn anthropic() -> Anthropic {
    Anthropic::new(anthropic::Config {
        base_url: String::from("http://127.0.0.1:1"),
        ..anthropic::Config::new("claude-sonnet-4-5")
    })
    .unwrap()
}

fn openai() -> OpenAiChat {
    OpenAiChat::new(openai_chat::Config {
        base_url: String::from("http://127.0.0.1:1"),
        ..openai_chat::Config::new("gpt-5")
    })
    .unwrap()
}

fn request(conversation: &Conversation) -> Request<'_> {
    Request {
        system: "You work with tools.",
        tools: &[],
        conversation,
        max_output_tokens: None,
        reasoning_tokens: None,
    }
}

fn conversation(turns: usize) -> Conversation {
    let mut conversation =
        Conversation::new(vec![Arc::new(Item::User(UserMessage::text("Check it.")))]);
    for number in 0..turns {
        turn(&mut conversation, number);
    }
    conversation
}

fn turn(conversation: &mut Conversation, number: usize) {
    let id = format!("toolu_{number:08}");
    let arguments = json!({"taskid": number, "status": "completed"});
    let call = AssistantBlock::ToolCall(ToolCall {
        id: id.clone(),
        name: String::from("TaskUpdate"),
        arguments: Arguments::from(&arguments),
    });
    conversation.push(Arc::new(Item::Assistant(AssistantMessage {
        content: vec![call],
        ..AssistantMessage::default()
    })));
    let text = "#7 [pending -> completed] Check the figures of chapter 7 against the source";
    conversation.push(Arc::new(Item::ToolResult(ToolResult {
        is_error: false,
        ..ToolResult::error(id, text)
    })));
}

/// An answer of 1,000 deltas of a few words.
fn anthropic_stream() -> String {
    let mut stream = String::new();
    let mut event = |value: Value| {
        let name = value["type"].as_str().unwrap();
        write!(stream, "event: {name}\ndata: {value}\n\n").unwrap();
    };
    event(json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 10, "output_tokens": 1},
    }}));
    event(json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}}));
    for _ in 0..1_000 {
        event(json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": " and some more words"}}));
    }
    event(json!({"type": "content_block_stop", "index": 0}));
    event(json!({"type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"output_tokens": 4_000}}));
    event(json!({"type": "message_stop"}));
    stream
}

fn openai_stream() -> String {
    let mut stream = String::new();
    let mut chunk = |delta: Value, finish: Value| {
        let value = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-5",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        write!(stream, "data: {value}\n\n").unwrap();
    };
    chunk(json!({"role": "assistant", "content": ""}), Value::Null);
    for _ in 0..1_000 {
        chunk(json!({"content": " and some more words"}), Value::Null);
    }
    chunk(json!({}), json!("stop"));
    stream.push_str("data: [DONE]\n\n");
    stream
}
