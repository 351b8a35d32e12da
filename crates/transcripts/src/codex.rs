//! Codex rollouts, `~/.codex/sessions/**/rollout-*.jsonl`: the plan is the argument of `update_plan`.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calls::{Calls, Closed, Open, finished};
use crate::effect::Outcome;
use crate::event::{Chain, Event, Place, Tool, What};
use crate::format::{Decode, Needles, Output, time};
use crate::json::{Maybe, Text, object, parse, text_of};
use crate::report::FaultKind;
use crate::salvage;
use crate::tree::Tree;

const ALWAYS: [&str; 2] = ["\"update_plan\"", "\"compacted\""];

static IDLE: LazyLock<Needles> = LazyLock::new(|| Needles::new(ALWAYS));

static OPEN: LazyLock<Needles> =
    LazyLock::new(|| Needles::new(ALWAYS.into_iter().chain(["\"function_call_output\""])));

static WAITING: LazyLock<Needles> = LazyLock::new(|| {
    Needles::new(
        ALWAYS
            .into_iter()
            .chain(["\"response_item\"", "\"function_call_output\""]),
    )
});

/// Reads rollouts.
#[derive(Default)]
pub(crate) struct Decoder {
    calls: Calls,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    timestamp: Text<'a>,
    payload: Maybe<Payload<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    name: Text<'a>,
    call_id: Text<'a>,
    arguments: Text<'a>,
    output: Option<&'a RawValue>,
}

object!(Payload);

impl Decode for Decoder {
    fn wanted(&self) -> &'static Needles {
        if self.calls.is_waiting() {
            &WAITING
        } else if self.calls.is_open() {
            &OPEN
        } else {
            &IDLE
        }
    }

    fn wanted_at_most(&self) -> &'static Needles {
        &WAITING
    }

    fn record(
        &mut self,
        line: u64,
        json: &[u8],
        out: &mut Output,
    ) -> Result<(), serde_json::Error> {
        let record: Record<'_> = parse(json)?;
        let time = time(&record.timestamp);
        out.report.time(time);
        if record.kind.is("compacted") {
            out.events.push_back(Event {
                place: Place { source: 0, line },
                time,
                chain: Chain::Main,
                call: None,
                what: What::Compaction,
            });
        }
        let Some(payload) = record.payload.0.filter(|_| record.kind.is("response_item")) else {
            return Ok(());
        };
        let id = payload.call_id.as_str().unwrap_or("");
        match payload.kind.as_str() {
            Some("function_call") if payload.name.is("update_plan") => {
                // The arguments are JSON inside of JSON, so what is mended in the record is not in them.
                let arguments = payload.arguments.as_str().unwrap_or("null");
                let mended = salvage::without_lone_surrogates(arguments);
                if matches!(mended, Cow::Owned(_)) {
                    out.report.fault(FaultKind::LoneSurrogate, line, "");
                }
                let call = Open {
                    line,
                    time,
                    chain: Chain::Main,
                    tool: Tool::UpdatePlan,
                    input: mended.into_owned(),
                    message: String::new(),
                    lost: false,
                };
                if !self.calls.open(id, call) {
                    out.report.count("duplicate_calls");
                }
            }
            Some("function_call_output") => {
                if let Closed::Call(call) = self.calls.close(id) {
                    let outcome = outcome(payload.output);
                    out.events
                        .push_back(finished(id, &call, line, time, &outcome));
                }
            }
            // Calls of one response stand side by side; anything else means that it went on.
            Some("message" | "reasoning") => self.calls.went_on(&Chain::Main, "later"),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Output) {
        out.events.extend(self.calls.pending());
    }
}

/// A refused plan is told in the text only.
fn outcome(output: Option<&RawValue>) -> Outcome<'_> {
    let output = output.and_then(|raw| Tree::read(raw.get()));
    let text = output.as_ref().and_then(text_of);
    let is_error = text.as_deref().is_some_and(|text| {
        let head: String = text.chars().take(40).collect();
        !text.starts_with("Plan updated")
            && (text.starts_with("failed") || head.to_lowercase().contains("error"))
    });
    Outcome {
        is_error,
        value: None,
        text,
    }
}
