//! A shop keeps its shelves full: Pod inside of another program, whole. No key, no network.
//!
//! The program brings a tool of its own, a model of its own, somebody who is asked for permission, and
//! a hook with a rule of the house; it listens to events, leaves the session, and comes back to it.
//!
//! ```console
//! $ cargo run --locked -p pod --example embed
//! ```
//!
//! `docs/library.md` goes through it. The suite runs it and knows every line that it prints.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use pod::hook::{Before, HookCall};
use pod::llm::{
    Arguments, AssistantBlock, AssistantMessage, Capability, Delta, Item, Model, ModelError,
    Request, StopReason, ToolCall,
};
use pod::tools::{Call, Effect, Tool, ToolError, ToolOutput};
use pod::{Answer, Approver, Builder, Event, Hook, Pod, Question, SessionStore, Status};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    run(scratch.path(), &mut std::io::stdout()).await
}

/// The whole program, in a directory that is its own.
pub(crate) async fn run(home: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let store = SessionStore::new(home.join("sessions"));

    let mut pod = shop(home).start(&store, None)?;
    let session = pod.session().id();
    work(&mut pod, "Order what is running out.", out).await?;
    // The program ends here, or is killed: all that was told is in the log.
    drop(pod);

    let info = store.find(&session.to_string())?;
    let mut pod = shop(home).resume(&store, &info, false)?;
    writeln!(
        out,
        "\n== back again, with {} tasks",
        pod.tasks().counts().total()
    )?;
    work(&mut pod, "The tea has come.", out).await?;

    for task in pod.tasks().snapshot() {
        writeln!(out, "#{} [{}] {}", task.id, task.status, task.subject)?;
    }
    Ok(())
}

/// How the Pod of this program is set up: the same for a new session and for one that goes on.
fn shop(directory: &Path) -> Builder {
    Pod::builder(Arc::new(Shopkeeper::default()))
        .directory(directory)
        .system_prompt("You keep the shelves of a shop full.")
        .tool(Arc::new(Order))
        // Of the built-in tools only those for the task list.
        .offer(|name| name.starts_with("Task") || name == "Order")
        .approver(Arc::new(Owner))
        .hook(Arc::new(Budget))
        .max_turns(20)
}

/// Gives the model a prompt and tells what happens.
async fn work(pod: &mut Pod, prompt: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "\n> {prompt}")?;
    let mut run = pod.run(prompt);
    while let Some(event) = run.next().await {
        match event {
            // An entry is told when it is in the log, so it is never told and then lost.
            Event::Entry(entry) => match &*entry.item {
                Item::ToolResult(result) if result.is_error => {
                    writeln!(out, "  refused: {}", result.text())?;
                }
                Item::Assistant(message) => {
                    for call in message.calls().filter(|call| call.name == "Order") {
                        writeln!(out, "  {} {}", call.name, call.arguments.text())?;
                    }
                }
                _ => {}
            },
            Event::Task(change) => {
                let task = &change.task;
                writeln!(out, "  #{} is {}: {}", task.id, task.status, task.subject)?;
            }
            Event::Warning(text) => writeln!(out, "  warning: {text}")?,
            Event::Finished(outcome) => match &outcome.status {
                Status::Completed => writeln!(out, "{}", outcome.text)?,
                other => writeln!(out, "ended: {other:?}")?,
            },
            // Previews while an answer arrives, and compactions.
            _ => {}
        }
    }
    Ok(())
}

/// A tool: orders goods. It does something outside of the program, so it needs permission.
struct Order;

#[async_trait]
impl Tool for Order {
    fn name(&self) -> &'static str {
        "Order"
    }

    fn description(&self) -> &'static str {
        "Orders an item from the wholesaler."
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"item": {"type": "string"}, "pieces": {"type": "integer"}},
            "required": ["item", "pieces"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Execute
    }

    /// What a permission rule such as `Order(tea)` is held against.
    fn target(&self, arguments: &Value) -> Option<String> {
        Some(arguments.get("item")?.as_str()?.to_owned())
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        // A model may send anything. What is wrong is said in words that help it on.
        let item = call.arguments.get("item").and_then(Value::as_str);
        let pieces = call.arguments.get("pieces").and_then(Value::as_u64);
        match (item, pieces) {
            (Some(item), Some(pieces)) => {
                Ok(ToolOutput::summary(format!("{pieces} {item} ordered"))
                    .with_value(json!({"item": item, "pieces": pieces})))
            }
            _ => Err(ToolError::new(
                "give `item`, a text, and `pieces`, a whole number",
            )),
        }
    }
}

/// Somebody who is asked for permission. A real one would show a dialog, and wait.
struct Owner;

#[async_trait]
impl Approver for Owner {
    async fn ask(&self, question: Question<'_>) -> Answer {
        match question.target {
            Some("tea") => Answer::Allow {
                changed_arguments: None,
            },
            _ => Answer::Deny {
                reason: String::from("we sell tea only"),
                interrupt: false,
            },
        }
    }
}

/// A rule of the house, which nobody is asked about.
struct Budget;

#[async_trait]
impl Hook for Budget {
    fn name(&self) -> &'static str {
        "budget"
    }

    async fn before_tool(&self, call: HookCall<'_>) -> Before {
        let pieces = call.arguments.get("pieces").and_then(Value::as_u64);
        if call.name == "Order" && pieces.is_some_and(|pieces| pieces > 100) {
            return Before::Deny(String::from("at most 100 pieces at a time"));
        }
        Before::Continue
    }
}

/// A model: one that needs no network, since it always does the same. `llm::provider` makes real
/// ones from a name.
#[derive(Default)]
struct Shopkeeper {
    capability: Capability,
}

#[async_trait]
impl Model for Shopkeeper {
    fn name(&self) -> &'static str {
        "shopkeeper-1"
    }

    fn capability(&self) -> &Capability {
        &self.capability
    }

    async fn respond(
        &self,
        request: Request<'_>,
        _watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<AssistantMessage, ModelError> {
        // A model is asked with the whole conversation each time and keeps nothing itself.
        let items = request.conversation.items().iter();
        let answers = items
            .filter(|item| matches!(&***item, Item::Assistant(_)))
            .count();
        let task = |subject: &str| {
            let arguments = json!({"subject": subject, "description": "For the shop."});
            ("TaskCreate", arguments)
        };
        let set = |id: u32, status: &str| ("TaskUpdate", json!({"taskid": id, "status": status}));
        let order = |item: &str, pieces: u64| ("Order", json!({"item": item, "pieces": pieces}));
        let (text, calls) = match answers {
            0 => ("", vec![task("Order tea"), task("Put it on the shelf")]),
            1 => (
                "",
                vec![set(1, "inprogress"), order("tea", 500), order("coffee", 5)],
            ),
            2 => ("", vec![order("tea", 50), set(1, "completed")]),
            3 => ("50 tea are on their way.", vec![]),
            4 => ("", vec![set(2, "completed")]),
            _ => ("The shelf is full.", vec![]),
        };
        let text = (!text.is_empty()).then(|| AssistantBlock::Text(text.to_owned()));
        let calls = calls
            .into_iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                AssistantBlock::ToolCall(ToolCall {
                    id: format!("call_{answers}_{index}"),
                    name: name.to_owned(),
                    arguments: Arguments::from(&arguments),
                })
            });
        Ok(AssistantMessage {
            content: text.into_iter().chain(calls).collect(),
            model: self.name().to_owned(),
            stop_reason: StopReason::EndTurn,
            ..AssistantMessage::default()
        })
    }
}
