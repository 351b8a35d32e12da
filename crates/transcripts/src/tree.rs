//! A JSON value that borrows its text from the record it stands in.
//!
//! What a call was given and what came back is read once and mostly thrown away, so it is not worth a
//! map that can be searched in constant time, and its text is not worth a copy.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    Array(Vec<Tree<'a>>),
    Object(Fields<'a>),
}

/// The fields of an object, as they stand. Of a name that is there twice the last value counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, Tree<'a>)>);

impl<'a> Fields<'a> {
    /// The value of a field. Such objects have a handful of fields.
    pub(crate) fn get(&self, name: &str) -> Option<&Tree<'a>> {
        let fields = self.0.iter().rev();
        fields
            .filter(|(given, _)| given == name)
            .map(|(_, value)| value)
            .next()
    }

    /// The names, as they stand.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    /// The same as a map that can be kept.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        let fields = self.0.iter();
        fields
            .map(|(name, value)| (name.clone().into_owned(), value.to_value()))
            .collect()
    }
}

impl<'a> Tree<'a> {
    /// Reads the value that this text is; `None` if it is no JSON.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(crate) fn as_object(&self) -> Option<&Fields<'a>> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a field, if this is an object that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// The same as a value that can be kept.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone().into_owned()),
            Self::Array(values) => Value::Array(values.iter().map(Self::to_value).collect()),
            Self::Object(fields) => Value::Object(fields.to_map()),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Tree<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Tree::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Tree::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            fields.push((name, map.next_value()?));
        }
        Ok(Tree::Object(Fields(fields)))
    }
}

/// The name of a field. (The `Deserialize` of `Cow` always copies.)
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor).map(Self)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
