//! The JSON form of a script.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::script::{Expectation, ExpectedIn, Script};
use super::text::MAX_FAULTS;
use super::{Answer, Fault};
use crate::{Arguments, ModelError, StopReason, Usage};

/// Reads a script in the JSON form.
pub(super) fn parse(text: &str) -> Result<Script, ModelError> {
    let document = if text.trim_start().starts_with('[') {
        Document {
            turns: read(text)?,
            ..Document::default()
        }
    } else {
        read(text)?
    };
    let mut script = Script::default();
    script.model = document.model;
    script.window = document.window;
    for (index, turn) in document.turns.into_iter().enumerate() {
        let place = format!("turn {}", index + 1);
        add_turn(&mut script, &place, turn)
            .map_err(|what| ModelError::Script(format!("script {place}: {what}")))?;
    }
    script.finish()
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(text)
        .map_err(|error| ModelError::Script(format!("the script cannot be read: {error}")))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    model: Option<String>,
    window: Option<u32>,
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    lane: Option<String>,
    user: Option<String>,
    expect: Option<String>,
    delay_ms: Option<u64>,
    fault: Option<String>,
    times: Option<u32>,
    thinking: Option<String>,
    signature: Option<String>,
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Value>,
    usage: Option<TurnUsage>,
    stop: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TurnUsage {
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
}

fn add_turn(script: &mut Script, place: &str, turn: Turn) -> Result<(), String> {
    script.switch_lane(turn.lane.as_deref().unwrap_or(super::script::MAIN_LANE));
    for (source, text) in [
        (ExpectedIn::LastUserMessage, turn.user),
        (ExpectedIn::NewestResults, turn.expect),
    ] {
        if let Some(text) = text {
            script.expect(Expectation {
                place: place.to_owned(),
                source,
                text,
            });
        }
    }
    script.pause = Duration::from_millis(turn.delay_ms.unwrap_or(0));
    if let Some(name) = turn.fault {
        if turn.text.is_some() || turn.thinking.is_some() || !turn.calls.is_empty() {
            return Err(String::from("a turn is a fault or an answer, not both"));
        }
        let times = turn.times.unwrap_or(1);
        if times > MAX_FAULTS {
            return Err(format!("`times` is at most {MAX_FAULTS}"));
        }
        script.push_faults(place, Fault::from_name(&name)?, times);
        return Ok(());
    }
    if turn.times.is_some() {
        return Err(String::from("`times` belongs to a `fault`"));
    }
    let mut answer = Answer::empty();
    if let Some(thinking) = turn.thinking {
        answer = answer.reasoning(thinking, turn.signature);
    }
    if let Some(text) = turn.text {
        answer = answer.and_text(text);
    }
    for call in turn.calls {
        answer = add_call(answer, call)?;
    }
    if let Some(usage) = turn.usage {
        answer = answer.usage(Usage {
            input: usage.input,
            cache_read: usage.cached,
            cache_write: usage.written,
            output: usage.output,
            ..Usage::default()
        });
    }
    if let Some(stop) = turn.stop {
        answer = answer.stop(StopReason::from(stop.as_str()));
    }
    script.push_answer(place.to_owned(), answer);
    Ok(())
}

/// Adds a call, `["NAME", {..}]` or `{"name", "id", "arguments"}`.
fn add_call(answer: Answer, call: Value) -> Result<Answer, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Call {
        name: String,
        #[serde(default)]
        id: String,
        #[serde(default)]
        arguments: Value,
    }
    let call = if call.is_array() {
        serde_json::from_value(call).map(|(name, arguments)| Call {
            name,
            id: String::new(),
            arguments,
        })
    } else {
        serde_json::from_value(call)
    };
    let call = call.map_err(|error| {
        format!(
            "a call is `[\"NAME\", {{..}}]` or `{{\"name\", \"id\", \"arguments\"}}`, but: {error}"
        )
    })?;
    let arguments = match call.arguments {
        Value::Null => Arguments::new(""),
        Value::String(text) => Arguments::new(text),
        value => Arguments::from(&value),
    };
    Ok(answer.raw_call(call.id, call.name, arguments))
}
