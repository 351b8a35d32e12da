//! Lines that are not what they should be: what can still be read of them (R1).

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};

use crate::report::FaultKind;

/// The records of a line that could not be read as it stands, and what is wrong with it.
pub(crate) struct Salvaged {
    /// Each is a JSON object.
    pub(crate) records: Vec<String>,
    pub(crate) faults: Vec<FaultKind>,
}

/// Reads what can be read of a line.
pub(crate) fn records(line: &[u8]) -> Salvaged {
    let mut faults = Vec::new();
    let text = String::from_utf8_lossy(line);
    if matches!(text, Cow::Owned(_)) {
        faults.push(FaultKind::InvalidText);
    }
    let mended = without_lone_surrogates(&text);
    if matches!(mended, Cow::Owned(_)) {
        faults.push(FaultKind::LoneSurrogate);
    }
    let text = mended.trim();
    let records = if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        if text.starts_with('{') {
            vec![text.to_owned()]
        } else {
            faults.push(FaultKind::NotARecord);
            Vec::new()
        }
    } else {
        let (records, broken) = several(text);
        faults.push(if broken {
            FaultKind::Malformed
        } else {
            FaultKind::Glued
        });
        records
    };
    Salvaged { records, faults }
}

/// Whether a record may have half of a surrogate pair in it, so that it must be mended before its text
/// can be read.
pub(crate) fn needs_mending(record: &[u8]) -> bool {
    static ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("\\u"));
    ESCAPE.find(record).is_some()
        && matches!(
            without_lone_surrogates(&String::from_utf8_lossy(record)),
            Cow::Owned(_)
        )
}

/// A record with each field once, the last one, as most readers of JSON take it.
pub(crate) fn normal(record: &str) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_str(record).ok()?;
    serde_json::to_string(&fields).ok()
}

/// The whole objects in a line that is not one JSON value, and whether anything else is in it: a line
/// end that got lost (`{..}{..}`), or a record that was cut off and the next one behind it.
fn several(text: &str) -> (Vec<String>, bool) {
    let mut records = Vec::new();
    let mut broken = false;
    // Behind a cut, each attempt may read on in vain, to the end at worst; together they may read the
    // line a few times and no more.
    let mut budget = text.len().saturating_mul(8).saturating_add(1 << 20);
    let mut rest = text;
    while !rest.is_empty() {
        let mut values = Deserializer::from_str(rest).into_iter::<&RawValue>();
        let read = match values.next() {
            Some(Ok(value)) => {
                let value = value.get();
                if value.starts_with('{') && (!broken || is_whole(value)) {
                    records.push(value.to_owned());
                }
                values.byte_offset()
            }
            failed => {
                broken = true;
                let in_vain = match failed {
                    // A line has no line end in it, so the column is how far it was read.
                    Some(Err(error)) if error.line() == 1 => error.column().min(rest.len()),
                    _ => rest.len(),
                };
                let (Some(left), Some(next)) = (budget.checked_sub(in_vain), record_begin(rest))
                else {
                    break;
                };
                budget = left;
                next
            }
        };
        rest = rest.get(read..).unwrap_or("").trim_start();
    }
    (records, broken)
}

/// Where a record may begin behind the first character of the text.
fn record_begin(text: &str) -> Option<usize> {
    const BEGINNINGS: [&str; 5] = [
        "parentUuid\":",
        "type\":",
        "sessionId\":",
        "timestamp\":",
        "v\":",
    ];
    memmem::find_iter(text.as_bytes(), b"{\"").find(|&at| {
        at > 0
            && text.get(at + 2..).is_some_and(|behind| {
                BEGINNINGS
                    .iter()
                    .any(|beginning| behind.starts_with(beginning))
            })
    })
}

/// Whether an object behind a cut is a record of its own and not a part of the one that was cut: only
/// a record names its session, its time or its payload.
fn is_whole(object: &str) -> bool {
    const FIELDS: [&str; 7] = [
        "sessionId",
        "session_id",
        "leafUuid",
        "payload",
        "v",
        "at",
        "item",
    ];
    serde_json::from_str::<Map<String, Value>>(object)
        .is_ok_and(|fields| FIELDS.iter().any(|field| fields.contains_key(*field)))
}

/// The JSON text with each escape of half a surrogate pair replaced by that of U+FFFD.
pub(crate) fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut taken = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', text.as_bytes().get(at..).unwrap_or(&[])) {
        let escape = at + found;
        at = escape + 2;
        let Some(unit) = unit(text, escape) else {
            continue;
        };
        at = escape + 6;
        if (0xd800..0xdc00).contains(&unit)
            && unit_at(text, at).is_some_and(|next| (0xdc00..0xe000).contains(&next))
        {
            at += 6;
        } else if (0xd800..0xe000).contains(&unit) {
            mended.push_str(text.get(taken..escape).unwrap_or(""));
            mended.push_str("\\ufffd");
            taken = at;
        }
    }
    if taken == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(text.get(taken..).unwrap_or(""));
    Cow::Owned(mended)
}

/// The code unit of the `\uXXXX` that begins here, if one does.
fn unit_at(text: &str, at: usize) -> Option<u32> {
    (text.as_bytes().get(at) == Some(&b'\\'))
        .then(|| unit(text, at))
        .flatten()
}

fn unit(text: &str, escape: usize) -> Option<u32> {
    let digits = text.get(escape..escape + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
#[path = "salvage_tests.rs"]
mod tests;
