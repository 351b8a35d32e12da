//! Tools that live in the program: MCP servers "of type sdk", spoken to by messages of the protocol.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use tools::bounded::{RESULT_LIMIT, middle_out};
use tools::{Call, Effect, Tool, ToolError, ToolOutput};

use super::questions::Questions;

/// The version of MCP that is spoken.
const PROTOCOL: &str = "2025-06-18";

/// The longest name of a tool that providers accept.
const LONGEST_NAME: usize = 64;

/// How many pages of tools one server may have.
const MOST_PAGES: usize = 100;

/// A tool server and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Server {
    pub(super) name: String,
    /// Why it cannot be used, if it cannot.
    pub(super) error: Option<String>,
    /// The names of its tools as the model sees them.
    pub(super) tools: Vec<String>,
    /// What it says of itself.
    pub(super) info: Value,
}

impl Server {
    /// A server that cannot be used.
    pub(super) fn failed(name: impl Into<String>, error: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            error: Some(error.into()),
            tools: Vec::new(),
            info: Value::Null,
        }
    }

    /// The word of the protocol for its state.
    pub(super) fn status(&self) -> &'static str {
        if self.error.is_some() {
            "failed"
        } else {
            "connected"
        }
    }
}

/// Makes the acquaintance of a server in the program and gives its tools. One that fails has none.
pub(super) async fn connect(name: &str, questions: &Questions) -> (Server, Vec<Arc<dyn Tool>>) {
    let wire = Arc::new(Wire {
        server: name.to_owned(),
        questions: questions.clone(),
        next_id: AtomicU64::new(1),
    });
    match wire.tools().await {
        Err(error) => (Server::failed(name, error), Vec::new()),
        Ok((info, tools)) => {
            let server = Server {
                name: name.to_owned(),
                error: None,
                tools: tools.iter().map(|tool| tool.name.clone()).collect(),
                info,
            };
            let tools = tools
                .into_iter()
                .map(|tool| Arc::new(tool) as Arc<dyn Tool>);
            (server, tools.collect())
        }
    }
}

/// The way to one server.
struct Wire {
    server: String,
    questions: Questions,
    next_id: AtomicU64,
}

impl Wire {
    /// Sends a request and gives its result.
    async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut response = self.send(message).await?;
        let error = &response["error"];
        if error.is_null() {
            Ok(response["result"].take())
        } else {
            let text = error["message"].as_str().unwrap_or("it gave no reason");
            Err(format!("{method} failed: {text}"))
        }
    }

    async fn send(&self, message: Value) -> Result<Value, String> {
        let question = json!({
            "subtype": "mcp_message",
            "server_name": self.server,
            "message": message,
        });
        let mut answer = self.questions.ask(question).await?;
        Ok(answer["mcp_response"].take())
    }

    /// The handshake, and what the server offers.
    async fn tools(self: &Arc<Self>) -> Result<(Value, Vec<McpTool>), String> {
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "pod", "version": env!("CARGO_PKG_VERSION")},
        });
        let mut welcome = self.request("initialize", hello).await?;
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await?;
        let mut tools = Vec::new();
        let mut names = HashSet::new();
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let page = self.request("tools/list", params).await?;
            for tool in page["tools"].as_array().into_iter().flatten() {
                let tool = McpTool::new(Arc::clone(self), tool)?;
                if !names.insert(tool.name.clone()) {
                    return Err(format!("two of its tools are called {}", tool.name));
                }
                tools.push(tool);
            }
            match &page["nextCursor"] {
                Value::String(cursor) => params = json!({"cursor": cursor}),
                _ => break,
            }
        }
        Ok((welcome["serverInfo"].take(), tools))
    }
}

/// A tool of a server.
struct McpTool {
    wire: Arc<Wire>,
    /// As the model sees it.
    name: String,
    /// As the server knows it.
    own_name: String,
    description: String,
    schema: Value,
}

impl McpTool {
    fn new(wire: Arc<Wire>, tool: &Value) -> Result<Self, String> {
        let own_name = tool["name"]
            .as_str()
            .ok_or("one of its tools has no name")?;
        let mut schema = tool["inputSchema"].clone();
        if !schema.is_object() {
            schema = json!({"type": "object"});
        }
        Ok(Self {
            name: tool_name(&wire.server, own_name),
            own_name: own_name.to_owned(),
            description: tool["description"].as_str().unwrap_or_default().to_owned(),
            schema,
            wire,
        })
    }
}

/// The name that the model calls a tool of a server by.
pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{server}__{tool}");
    let fit = |character: char| {
        let fits = character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if fits { character } else { '_' }
    };
    name.chars().map(fit).take(LONGEST_NAME).collect()
}

#[async_trait]
impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    fn effect(&self) -> Effect {
        // What a server says of its tools is a hint, and permission must not rest on hints.
        Effect::Execute
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let params = json!({"name": self.own_name, "arguments": call.arguments});
        let result = self.wire.request("tools/call", params).await;
        let result = result.map_err(ToolError::new)?;
        let text = middle_out(&text_of(&result["content"]), RESULT_LIMIT);
        if result["isError"] == json!(true) {
            return Err(ToolError::new(if text.is_empty() {
                String::from("the tool failed and gave no reason")
            } else {
                text
            }));
        }
        let mut output = ToolOutput::summary(if text.is_empty() {
            String::from("(no output)")
        } else {
            text
        });
        let structured = &result["structuredContent"];
        if !structured.is_null() && structured.to_string().len() <= RESULT_LIMIT {
            output = output.with_value(structured.clone());
        }
        Ok(output)
    }
}

/// The text of a result. What is no text is named.
fn text_of(content: &Value) -> String {
    let mut texts = Vec::new();
    for block in content.as_array().into_iter().flatten() {
        let kind = block["type"].as_str().unwrap_or("unknown");
        texts.push(match (kind, block["text"].as_str()) {
            ("text", Some(text)) => text.to_owned(),
            ("resource", _) if block["resource"]["text"].is_string() => block["resource"]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            ("resource_link", _) => block["uri"].as_str().unwrap_or_default().to_owned(),
            _ => format!("[a block of type {kind} is left out]"),
        });
    }
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_what_providers_accept() {
        assert_eq!(tool_name("calc", "add"), "mcp__calc__add");
        assert_eq!(tool_name("my calc", "add.two"), "mcp__my_calc__add_two");
        assert_eq!(tool_name("日本", &"x".repeat(100)).len(), LONGEST_NAME);
    }

    #[test]
    fn results_are_text() {
        let content = json!([
            {"type": "text", "text": "one"},
            {"type": "image", "data": "...", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource_link", "uri": "file:///b"},
            {},
        ]);
        insta::assert_snapshot!(text_of(&content));
        assert_eq!(text_of(&Value::Null), "");
    }
}
