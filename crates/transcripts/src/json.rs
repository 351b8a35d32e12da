//! JSON as logs have it: a field may be missing, `null`, or of a type that nobody expects, and none of
//! that may cost the rest of the record.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::tree::Tree;

/// Reads one value. Bytes that are text are checked once and not string by string.
pub(crate) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, serde_json::Error> {
    match std::str::from_utf8(json) {
        Ok(text) => serde_json::from_str(text),
        // What stands in a field that nobody asks for does no harm.
        Err(_) => serde_json::from_slice(json),
    }
}

/// Text, or a number as text, or nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Whether it is exactly this text.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.as_str() == Some(text)
    }

    /// The text if it has at least one character.
    pub(crate) fn filled(&self) -> Option<&str> {
        self.as_str().filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Owned(text))))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Owned(number.to_string()))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Owned(number.to_string()))))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Owned(Value::from(number).to_string()))))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Text(None))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
}

/// Whether a value is `true` and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flag(pub(crate) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FlagVisitor).map(Self)
    }
}

struct FlagVisitor;

impl<'de> Visitor<'de> for FlagVisitor {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<bool, E> {
        Ok(flag)
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(false)
    }
}

/// An object, an array, or nothing, whichever of them `T` is made of.
#[derive(Clone, Debug)]
pub(crate) struct Maybe<T>(pub(crate) Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: FromJson<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(MaybeVisitor(PhantomData))
            .map(Self)
    }
}

/// What can stand in a [`Maybe`].
pub(crate) trait FromJson<'de>: Sized {
    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn array<A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Arrays: elements of a wrong type are left out.
impl<'de, T: FromJson<'de>> FromJson<'de> for Vec<T> {
    fn array<A: SeqAccess<'de>>(seq: A) -> Result<Option<Self>, A::Error> {
        let elements = Vec::<Maybe<T>>::deserialize(SeqAccessDeserializer::new(seq))?;
        Ok(Some(elements.into_iter().filter_map(|it| it.0).collect()))
    }
}

/// Makes a [`FromJson`] of a struct that derives `Deserialize`.
macro_rules! object {
    ($($name:ident)+) => {$(
        impl<'de: 'a, 'a> $crate::json::FromJson<'de> for $name<'a> {
            fn object<A: serde::de::MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
                $crate::json::from_map(map).map(Some)
            }
        }
    )+};
}
pub(crate) use object;

pub(crate) fn from_map<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}

struct MaybeVisitor<T>(PhantomData<T>);

impl<'de, T: FromJson<'de>> Visitor<'de> for MaybeVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::array(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::object(map)
    }
}

/// The text of a message or result: a string, or the texts of an array of blocks, one a line.
pub(crate) fn text_of<'a>(content: &Tree<'a>) -> Option<Cow<'a, str>> {
    match content {
        Tree::Text(text) => Some(text.clone()),
        Tree::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(Tree::as_object)
                .map(|block| block.get("text").and_then(Tree::as_str).unwrap_or(""))
                .collect();
            Some(texts.join("\n").into())
        }
        _ => None,
    }
}

/// A value as text: strings as they are, `null` as nothing, anything else as JSON.
pub(crate) fn scalar(value: Option<&Tree<'_>>) -> Option<String> {
    match value? {
        Tree::Null => None,
        Tree::Text(text) => Some(text.clone().into_owned()),
        other => Some(other.to_value().to_string()),
    }
}

/// Ids in a list; a single one stands for a list of one.
pub(crate) fn ids(value: Option<&Tree<'_>>) -> Vec<String> {
    match value {
        None | Some(Tree::Null) => Vec::new(),
        Some(Tree::Array(ids)) => ids.iter().filter_map(|id| scalar(Some(id))).collect(),
        Some(other) => scalar(Some(other)).into_iter().collect(),
    }
}
