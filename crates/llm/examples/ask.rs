//! Asks a model twice and shows what arrives: `cargo run -p llm --example ask -- MODEL PROMPT`.
//!
//! Keys and addresses come from the usual variables. It fails if no text comes back or no tokens are
//! counted, so it is also the check that `tests/real_server/run.sh` makes against a real server.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to a person"
)]

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use llm::http::RetryPolicy;
use llm::provider::Providers;
use llm::{Capabilities, Conversation, Delta, Item, Model, ModelError, Request, UserMessage};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [spec, prompt] = arguments.as_slice() else {
        eprintln!("usage: ask MODEL PROMPT, such as: ask openai:gpt-4o \"Hello\"");
        return ExitCode::from(2);
    };
    match talk(spec, prompt).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn talk(spec: &str, prompt: &str) -> Result<(), Box<dyn std::error::Error>> {
    let model = Providers {
        variable: &|name| std::env::var(name).ok(),
        capabilities: &Capabilities::default(),
        retry: &RetryPolicy::default(),
    }
    .model(spec)?;
    let mut conversation = Conversation::new(Vec::new());
    for said in [prompt, "Please say that again in other words."] {
        conversation.push(Arc::new(Item::User(UserMessage::text(said))));
        let answer = ask(&*model, &conversation).await?;
        let usage = answer.usage;
        println!(
            "\n[{}, {}] {usage:?}",
            answer.model,
            answer.stop_reason.as_str()
        );
        if answer.joined_text().trim().is_empty() {
            return Err("no text came back".into());
        }
        if usage.input == 0 || usage.output == 0 {
            return Err("no tokens were counted".into());
        }
        conversation.push(Arc::new(Item::Assistant(answer)));
    }
    Ok(())
}

async fn ask(
    model: &dyn Model,
    conversation: &Conversation,
) -> Result<llm::AssistantMessage, ModelError> {
    let request = Request {
        system: "Answer in one or two sentences.",
        tools: &[],
        conversation,
        max_output_tokens: Some(60),
        reasoning_tokens: None,
    };
    let show = &mut |delta: Delta| match delta {
        Delta::Text { text, .. } => {
            print!("{text}");
            // What cannot be shown is not worth ending the request for.
            let _ = std::io::stdout().flush();
        }
        Delta::Retry { error, wait, .. } => eprintln!("{error}; waiting {wait:?}"),
        _ => {}
    };
    model.respond(request, show).await
}
