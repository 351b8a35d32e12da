//! The stream of `codex exec --json`: a `todo_list` item is the whole plan, each time that it changes.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::event::{Call, Chain, Event, Item, Place, Tool, What};
use crate::format::{Decode, Needles, Output, time};
use crate::json::{Flag, Maybe, Text, object, parse};

static WANTED: LazyLock<Needles> = LazyLock::new(|| Needles::new(["\"todo_list\""]));

/// Reads the stream.
#[derive(Default)]
pub(crate) struct Decoder;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    timestamp: Text<'a>,
    item: Maybe<Listed<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Listed<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    item_type: Text<'a>,
    items: Maybe<Vec<Step<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Step<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    completed: Flag,
}

object!(Listed Step);

impl Decode for Decoder {
    fn wanted(&self) -> &'static Needles {
        &WANTED
    }

    fn wanted_at_most(&self) -> &'static Needles {
        &WANTED
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
        let told = matches!(
            record.kind.as_str(),
            Some("item.started" | "item.updated" | "item.completed")
        );
        // Older versions call the field `item_type`.
        let Some(list) = record
            .item
            .0
            .filter(|item| told && (item.kind.is("todo_list") || item.item_type.is("todo_list")))
        else {
            return Ok(());
        };
        let what = match list.items.0 {
            Some(steps) => What::Replace(steps.iter().enumerate().map(item).collect()),
            None => What::Unreadable {
                reason: "todo_list_malformed",
            },
        };
        out.events.push_back(Event {
            place: Place { source: 0, line },
            time,
            chain: Chain::Main,
            call: Some(Call {
                id: list.id.as_str().unwrap_or("").to_owned(),
                tool: Tool::TodoList,
            }),
            what,
        });
        Ok(())
    }

    fn end(&mut self, _: &mut Output) {}
}

fn item((index, step): (usize, &Step<'_>)) -> Item {
    let status = if step.completed.0 {
        "completed"
    } else {
        "pending"
    };
    Item {
        id: (index + 1).to_string(),
        status: Some(String::from(status)),
        subject: step.text.as_str().map(str::to_owned),
        ..Item::default()
    }
}
