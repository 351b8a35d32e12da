//! The compact transcripts of the tool Entire, `{"v":1,"agent":...}`. A call carries its own result, and
//! results of parallel calls are often lost: such a call counts as done once the session went on.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calls::{Open, finished};
use crate::effect::Outcome;
use crate::event::{Call, Chain, Event, Place, Tool, What};
use crate::format::{Decode, Needles, Output, TOOL_NAMES, time};
use crate::json::{Maybe, Text, object, parse};

static IDLE: LazyLock<Needles> = LazyLock::new(|| Needles::new(TOOL_NAMES));

/// Calls are held back: whether the session goes on matters too.
static HOLDING: LazyLock<Needles> =
    LazyLock::new(|| Needles::new(TOOL_NAMES.into_iter().chain(["\"assistant\""])));

/// Reads Entire's format.
#[derive(Default)]
pub(crate) struct Decoder {
    seen: HashSet<String>,
    /// The calls since one whose result is missing, in order. They wait for a later message.
    held: Vec<(String, Open, Option<Outcome<'static>>)>,
    /// Whether one of them has no result.
    holding: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    ts: Text<'a>,
    content: Maybe<Vec<Block<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    input: Option<&'a RawValue>,
    result: Maybe<CallResult<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CallResult<'a> {
    #[serde(borrow)]
    output: Text<'a>,
    status: Text<'a>,
}

object!(Block CallResult);

impl Decode for Decoder {
    fn wanted(&self) -> &'static Needles {
        if self.holding { &HOLDING } else { &IDLE }
    }

    fn wanted_at_most(&self) -> &'static Needles {
        &HOLDING
    }

    fn record(
        &mut self,
        line: u64,
        json: &[u8],
        out: &mut Output,
    ) -> Result<(), serde_json::Error> {
        let record: Record<'_> = parse(json)?;
        let time = time(&record.ts);
        out.report.time(time);
        let goes_on = self
            .held
            .first()
            .is_some_and(|(_, call, _)| call.line < line);
        if record.kind.is("assistant") && goes_on {
            self.release(out);
        }
        for block in record.content.0.unwrap_or_default() {
            let Some(tool) = block.name.as_str().and_then(Tool::named) else {
                continue;
            };
            if !block.kind.is("tool_use") {
                continue;
            }
            let id = block.id.as_str().unwrap_or("");
            if !self.seen.insert(id.to_owned()) {
                out.report.count("duplicate_calls");
                continue;
            }
            let call = Open {
                line,
                time,
                chain: Chain::Main,
                tool,
                input: block.input.map_or("null", RawValue::get).to_owned(),
                message: String::new(),
                lost: false,
            };
            let outcome = block.result.0.map(|result| Outcome {
                is_error: result.status.is("error"),
                value: None,
                text: result.output.as_str().map(|text| text.to_owned().into()),
            });
            match outcome {
                Some(outcome) if !self.holding => {
                    out.events
                        .push_back(finished(id, &call, line, time, &outcome));
                }
                outcome => {
                    self.holding = true;
                    self.held.push((id.to_owned(), call, outcome));
                }
            }
        }
        Ok(())
    }

    /// What has no result stays pending; what has one took effect.
    fn end(&mut self, out: &mut Output) {
        for (id, call, outcome) in &self.held {
            let event = match outcome {
                Some(outcome) => finished(id, call, call.line, call.time, outcome),
                None => Event {
                    place: Place {
                        source: 0,
                        line: call.line,
                    },
                    time: call.time,
                    chain: Chain::Main,
                    call: Some(Call {
                        id: id.clone(),
                        tool: call.tool,
                    }),
                    what: What::Pending {
                        input: serde_json::from_str(&call.input).unwrap_or_default(),
                        lost: false,
                    },
                },
            };
            out.events.push_back(event);
        }
    }
}

impl Decoder {
    /// The session went on, so the calls that were held back are done.
    fn release(&mut self, out: &mut Output) {
        self.holding = false;
        for (id, call, outcome) in self.held.drain(..) {
            if outcome.is_none() {
                out.report.count("results_lost");
            }
            let outcome = outcome.unwrap_or_default();
            let event = finished(&id, &call, call.line, call.time, &outcome);
            out.events.push_back(event);
        }
    }
}
