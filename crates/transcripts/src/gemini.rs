//! Gemini CLI: a message carries its tool calls, each with its arguments and its outcome.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::effect::{self, Outcome};
use crate::event::{Call, Chain, Event, Place, Tool, What};
use crate::format::time;
use crate::json::{Text, object};
use crate::tree::Tree;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ToolCall<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    name: Text<'a>,
    args: Option<&'a RawValue>,
    status: Text<'a>,
    timestamp: Text<'a>,
}

object!(ToolCall);

/// What a call tells.
pub(crate) fn event(call: &ToolCall<'_>, message: u64) -> Option<Event> {
    let tool = match Tool::named(call.name.as_str()?)? {
        Tool::TaskCreate | Tool::TaskUpdate | Tool::TaskList | Tool::TaskGet => return None,
        tool => tool,
    };
    let input = call
        .args
        .and_then(|raw| Tree::read(raw.get()))
        .unwrap_or(Tree::Null);
    let what = match call.status.as_str() {
        None | Some("success") => effect::of(tool, &input, &Outcome::default()),
        Some("error" | "cancelled") => What::Failed {
            reason: call.status.as_str().unwrap_or("").to_owned(),
        },
        Some(_) => What::Pending {
            input: input.to_value(),
            lost: false,
        },
    };
    Some(Event {
        place: Place {
            source: 0,
            line: message,
        },
        time: time(&call.timestamp),
        chain: Chain::Main,
        call: Some(Call {
            id: call.id.as_str().unwrap_or("").to_owned(),
            tool,
        }),
        what,
    })
}
