//! Conversations in few words, and what a model makes of them.

use std::sync::Arc;

use llm::http::RetryPolicy;
use llm::provider::Providers;
use llm::{
    Arguments, AssistantBlock, AssistantMessage, Capabilities, Conversation, Delta, Item, Model,
    ModelError, Origin, Reasoning, Request, SystemMessage, ToolCall, ToolResult, ToolSpec,
    UserMessage,
};
use serde_json::json;

/// What came of a request.
#[derive(Debug)]
pub struct Answer {
    /// What was told on the way.
    pub deltas: Vec<Delta>,
    /// The response.
    pub result: Result<AssistantMessage, ModelError>,
}

impl Answer {
    /// The response of a request that must not fail.
    pub fn message(self) -> AssistantMessage {
        self.result
            .unwrap_or_else(|error| panic!("the request failed: {error}"))
    }

    /// The error of a request that must fail.
    pub fn error(self) -> ModelError {
        match self.result {
            Ok(message) => panic!("the request succeeded: {message:?}"),
            Err(error) => error,
        }
    }

    /// The errors that were waited for.
    pub fn retries(&self) -> Vec<&ModelError> {
        let retries = self.deltas.iter().filter_map(|delta| match delta {
            Delta::Retry { error, .. } => Some(error),
            _ => None,
        });
        retries.collect()
    }
}

/// The model that a name stands for, at an address of the test's, asked once.
pub fn model(spec: &str, url: &str) -> Arc<dyn Model> {
    let variable = |name: &str| name.ends_with("_BASE_URL").then(|| url.to_owned());
    let providers = Providers {
        variable: &variable,
        capabilities: &Capabilities::default(),
        retry: &RetryPolicy::never(),
    };
    providers.model(spec).expect("a name of a known form")
}

/// A request with a system prompt and one tool.
pub fn request<'a>(conversation: &'a Conversation, tools: &'a [ToolSpec]) -> Request<'a> {
    Request {
        system: "You are Pod.",
        tools,
        conversation,
        max_output_tokens: None,
        reasoning_tokens: None,
    }
}

/// Asks a model about a conversation, with the tool `TaskCreate`.
pub async fn ask(model: &dyn Model, conversation: &Conversation) -> Answer {
    let tools = [tool("TaskCreate")];
    ask_with(model, request(conversation, &tools)).await
}

/// Asks a model.
pub async fn ask_with(model: &dyn Model, request: Request<'_>) -> Answer {
    let mut deltas = Vec::new();
    let result = model
        .respond(request, &mut |delta| deltas.push(delta))
        .await;
    Answer { deltas, result }
}

/// A tool that takes any object.
pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        schema: json!({ "type": "object" }),
    }
}

/// A conversation of some items.
pub fn conversation(items: impl IntoIterator<Item = Item>) -> Conversation {
    Conversation::new(items.into_iter().map(Arc::new).collect())
}

/// Something that the user says.
pub fn user(text: &str) -> Item {
    Item::User(UserMessage::text(text))
}

/// Something that the runtime says.
pub fn system(origin: Origin, text: &str) -> Item {
    Item::System(SystemMessage {
        origin,
        text: text.to_owned(),
        data: None,
    })
}

/// Something that the model said.
pub fn assistant(content: impl IntoIterator<Item = AssistantBlock>) -> Item {
    Item::Assistant(AssistantMessage {
        content: content.into_iter().collect(),
        ..AssistantMessage::default()
    })
}

/// A text of the model.
pub fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text(text.to_owned())
}

/// Signed reasoning of the model.
pub fn reasoning(text: &str, signature: &str) -> AssistantBlock {
    AssistantBlock::Reasoning(Reasoning {
        text: text.to_owned(),
        signature: Some(signature.to_owned()),
        ..Reasoning::default()
    })
}

/// A call of `TaskCreate`.
pub fn call(id: &str, arguments: &str) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "TaskCreate".to_owned(),
        arguments: Arguments::new(arguments),
    })
}

/// A result of a call.
pub fn result(id: &str, text: &str) -> Item {
    Item::ToolResult(ToolResult {
        is_error: false,
        ..ToolResult::error(id, text)
    })
}

/// A failed result of a call.
pub fn failure(id: &str, text: &str) -> Item {
    Item::ToolResult(ToolResult::error(id, text))
}
