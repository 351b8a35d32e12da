//! opencode: a part of a message of type `tool`, tool `todowrite`, with its input and its outcome.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::effect::{self, Outcome};
use crate::event::{Call, Chain, Event, Place, Tool, What};
use crate::json::{Maybe, Text, object};
use crate::tree::Tree;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    tool: Text<'a>,
    #[serde(rename = "callID")]
    call_id: Text<'a>,
    state: Maybe<State<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    input: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    time: Maybe<Times<'a>>,
}

/// Milliseconds since 1970.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Times<'a> {
    #[serde(borrow)]
    start: Text<'a>,
    end: Text<'a>,
}

object!(Part State Times);

/// What a part of a message tells.
pub(crate) fn event(part: &Part<'_>, message: u64) -> Option<Event> {
    if !part.kind.is("tool") {
        return None;
    }
    let tool = match Tool::named(part.tool.as_str()?)? {
        Tool::TaskCreate | Tool::TaskUpdate | Tool::TaskList | Tool::TaskGet => return None,
        tool => tool,
    };
    let state = part.state.0.as_ref()?;
    let input = parsed(state.input).unwrap_or(Tree::Null);
    let times = state.time.0.as_ref();
    let is_error = state.status.is("error");
    let (what, time) = if is_error || state.status.is("completed") {
        let text = |raw| match parsed(raw) {
            Some(Tree::Text(text)) => Some(text),
            _ => None,
        };
        let outcome = Outcome {
            is_error,
            value: None,
            text: text(state.output).or_else(|| text(state.error)),
        };
        let time = times.and_then(|times| milliseconds(&times.end));
        (effect::of(tool, &input, &outcome), time)
    } else {
        let time = times.and_then(|times| milliseconds(&times.start));
        let input = input.to_value();
        (What::Pending { input, lost: false }, time)
    };
    Some(Event {
        place: Place {
            source: 0,
            line: message,
        },
        time,
        chain: Chain::Main,
        call: Some(Call {
            id: part.call_id.as_str().unwrap_or("").to_owned(),
            tool,
        }),
        what,
    })
}

fn milliseconds(text: &Text<'_>) -> Option<Timestamp> {
    let whole = text.as_str()?.split('.').next()?;
    Timestamp::from_millisecond(whole.parse().ok()?).ok()
}

fn parsed(raw: Option<&RawValue>) -> Option<Tree<'_>> {
    raw.and_then(|raw| Tree::read(raw.get()))
}
