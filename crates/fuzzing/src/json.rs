//! JSON text of any shape: what a model may send as arguments, and what no model should.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Values that programs often get wrong.
const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "1.0",
    "1.5",
    "1e300",
    "1e-300",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "\"\"",
    "\" \"",
    "\"1\"",
    "\" 2 \"",
    "\"-1\"",
    "\"0x10\"",
    "\"true\"",
    "\"null\"",
    "\"a\"",
    "\"\\u0000\"",
    "\"a\\nb\"",
    "\"\\u001b[2J\"",
    "\"\u{202e}\"",
    "\"\u{1f469}\u{200d}\u{1f467}\"",
    "\"{}\"",
    "\"{\\\"subject\\\":\\\"x\\\",\\\"description\\\":\\\"y\\\"}\"",
    "[]",
    "{}",
    "[[]]",
    "[1]",
    "{\"a\":1}",
];

/// The text of one value: an object of the given fields and others, with values that are given, odd or
/// of any shape; now and then no object at all.
///
/// A field may stand twice, as it may in JSON.
pub fn object(
    fields: &'static [&'static str],
    values: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let name = prop_oneof![
        8 => select(fields).prop_map(str::to_owned),
        1 => matching("[a-zA-Z_]{0,12}"),
        1 => text(),
    ];
    let value = prop_oneof![
        6 => select(values).prop_map(str::to_owned),
        4 => odd(),
        2 => text().prop_map(|text| quoted(&text)),
        1 => nested(),
    ];
    let object = vec((name, value), 0..6).prop_map(|fields| {
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{}:{value}", quoted(name)))
            .collect();
        format!("{{{}}}", fields.join(","))
    });
    prop_oneof![12 => object.clone(), 1 => object.prop_map(|text| quoted(&text)), 1 => odd(), 1 => nested()]
}

/// A value that programs often get wrong.
pub fn odd() -> impl Strategy<Value = String> {
    select(VALUES).prop_map(str::to_owned)
}

/// Any text without control characters.
pub fn text() -> impl Strategy<Value = String> + Clone {
    matching("\\PC*")
}

/// Texts that match a pattern. It is understood once: a pattern that stands in a strategy by itself
/// is read again for each text, which takes longer than most targets do.
pub fn matching(pattern: &str) -> impl Strategy<Value = String> + Clone {
    let texts = proptest::string::string_regex(pattern);
    let texts = texts.unwrap_or_else(|error| panic!("{pattern}: {error}"));
    std::rc::Rc::new(texts)
}

/// A value of many levels, or of many parts.
fn nested() -> impl Strategy<Value = String> {
    (0_usize..140, odd(), any::<bool>()).prop_map(|(levels, value, is_deep)| {
        if is_deep {
            format!("{}{value}{}", "[".repeat(levels), "]".repeat(levels))
        } else {
            format!("[{}]", vec![value; levels].join(","))
        }
    })
}

/// The text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
