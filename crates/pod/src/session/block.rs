//! The parts of a line: the blocks of a message, argument texts, JSON of any shape.

use std::borrow::Cow;
use std::fmt;

use llm::{Arguments, AssistantBlock, Image, JsonText, Reasoning, Sealed, ToolCall, UserPart};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::entry::{Unreadable, needed};

/// What an entry says: blocks, or one text.
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Blocks(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    /// By hand, since serde's untagged enums copy what they look at and cannot hold raw JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("text or a list of blocks")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element::<&'de RawValue>()? {
                    let block = Block::parse(block.get());
                    blocks.push(block.map_err(|error| serde::de::Error::custom(told(&error)))?);
                }
                Ok(Content::Blocks(blocks))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

/// The type of a line or a block, whatever else it has.
#[derive(Deserialize)]
pub(super) struct Kind<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
}

/// A block of a message, with the fields of all kinds.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    // Of `reasoning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    sealed: Option<Seal<'a>>,
    // Of `tool_call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    arguments: Option<Raw<'a>>,
    // Of `image`.
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Cow<'a, str>>,
}

/// Reasoning that only one server can read.
#[derive(Serialize, Deserialize)]
struct Seal<'a> {
    #[serde(borrow)]
    by: Cow<'a, str>,
    #[serde(borrow)]
    item: Text<'a>,
}

/// The kinds of blocks that this version knows.
const KINDS: [&str; 4] = ["text", "image", "reasoning", "tool_call"];

impl<'a> Block<'a> {
    fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).or_else(|error| {
            // A kind of a newer version may use our names for fields of another shape.
            match serde_json::from_str::<Kind<'_>>(text) {
                Ok(Kind { kind }) if !KINDS.contains(&&*kind) => Ok(Self {
                    kind,
                    ..Self::default()
                }),
                _ => Err(error),
            }
        })
    }

    pub(super) fn from_user_part(part: &'a UserPart) -> Self {
        match part {
            UserPart::Text(text) => Self {
                kind: "text".into(),
                text: Some(text.into()),
                ..Self::default()
            },
            UserPart::Image(image) => Self {
                kind: "image".into(),
                media_type: Some(Cow::from(&image.media_type)),
                data: Some(Cow::from(&image.data)),
                ..Self::default()
            },
        }
    }

    /// The part, or nothing if it is of a kind that this version does not know.
    pub(super) fn into_user_part(self) -> Result<Option<UserPart>, Unreadable> {
        Ok(match &*self.kind {
            "text" => Some(UserPart::Text(needed(self.text, "text")?.into_owned())),
            "image" => Some(UserPart::Image(Image {
                media_type: needed(self.media_type, "media_type")?.into_owned(),
                data: needed(self.data, "data")?.into_owned(),
            })),
            _ => None,
        })
    }

    pub(super) fn from_assistant_block(block: &'a AssistantBlock) -> Self {
        match block {
            AssistantBlock::Text(text) => Self {
                kind: "text".into(),
                text: Some(text.into()),
                ..Self::default()
            },
            AssistantBlock::Reasoning(reasoning) => Self {
                kind: "reasoning".into(),
                text: Some(Cow::from(&reasoning.text)),
                signature: reasoning.signature.as_ref().map(Cow::from),
                redacted: reasoning.redacted.as_ref().map(Cow::from),
                sealed: reasoning.sealed.as_ref().map(|sealed| Seal {
                    by: Cow::from(&sealed.by),
                    item: Text::from(&sealed.item),
                }),
                ..Self::default()
            },
            AssistantBlock::ToolCall(call) => Self {
                kind: "tool_call".into(),
                id: Some(Cow::from(&call.id)),
                name: Some(Cow::from(&call.name)),
                arguments: Some(Raw::from(&call.arguments)),
                ..Self::default()
            },
        }
    }

    /// The block, or nothing if it is of a kind that this version does not know.
    pub(super) fn into_assistant_block(self) -> Result<Option<AssistantBlock>, Unreadable> {
        Ok(match &*self.kind {
            "text" => Some(AssistantBlock::Text(
                needed(self.text, "text")?.into_owned(),
            )),
            "reasoning" => Some(AssistantBlock::Reasoning(Reasoning {
                text: needed(self.text, "text")?.into_owned(),
                signature: self.signature.map(Cow::into_owned),
                redacted: self.redacted.map(Cow::into_owned),
                sealed: self.sealed.map(|seal| Sealed {
                    by: seal.by.into_owned(),
                    item: seal.item.into_text(),
                }),
            })),
            "tool_call" => Some(AssistantBlock::ToolCall(ToolCall {
                id: needed(self.id, "id")?.into_owned(),
                name: needed(self.name, "name")?.into_owned(),
                arguments: needed(self.arguments, "arguments")?.into_arguments(),
            })),
            _ => None,
        })
    }
}

/// Argument text: the object itself where it is one, so that people and programs can read it in the
/// log, and otherwise the text as a JSON string. Both keep every byte.
pub(super) struct Raw<'a>(Cow<'a, Arguments>);

impl<'a> From<&'a Arguments> for Raw<'a> {
    fn from(arguments: &'a Arguments) -> Self {
        Self(Cow::Borrowed(arguments))
    }
}

impl Raw<'_> {
    pub(super) fn into_arguments(self) -> Arguments {
        self.0.into_owned()
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_object() {
            // Raw JSON is read back without the white space around it, so a text with some is a string.
            Some(object) if object.get() == self.0.text() => object.serialize(serializer),
            _ => serializer.serialize_str(self.0.text()),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let arguments = if raw.get().starts_with('"') {
            Arguments::new(
                serde_json::from_str::<String>(raw.get()).map_err(serde::de::Error::custom)?,
            )
        } else {
            Arguments::new(raw.get())
        };
        Ok(Self(Cow::Owned(arguments)))
    }
}

/// JSON of any shape.
///
/// It is read as a text of its own, so that whatever could be parsed by itself (`serde_json` allows
/// 127 levels) can also be read back from within a line.
pub(super) struct Json<'a>(Cow<'a, Value>);

/// The most levels of a value that can be read back.
const MAX_DEPTH: usize = 127;

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        Self(Cow::Borrowed(value))
    }
}

impl Json<'_> {
    pub(super) fn into_value(self) -> Value {
        self.0.into_owned()
    }
}

/// JSON of any shape that stays text.
pub(super) struct Text<'a>(Cow<'a, JsonText>);

impl<'a> From<&'a JsonText> for Text<'a> {
    fn from(text: &'a JsonText) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl Text<'_> {
    pub(super) fn into_text(self) -> JsonText {
        self.0.into_owned()
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = self.0.as_raw().map_err(|_| too_deep())?;
        raw.serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let text = JsonText::parse(raw.get()).map_err(serde::de::Error::custom)?;
        Ok(Self(Cow::Owned(text)))
    }
}

fn too_deep<E: serde::ser::Error>() -> E {
    E::custom(format!(
        "a value has more than {MAX_DEPTH} levels and could not be read back"
    ))
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if is_deeper(&self.0, MAX_DEPTH) {
            return Err(too_deep());
        }
        self.0.serialize(serializer)
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(values) => levels == 0 || values.iter().any(|it| is_deeper(it, levels - 1)),
        Value::Object(fields) => levels == 0 || fields.values().any(|it| is_deeper(it, levels - 1)),
        _ => false,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let value = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        Ok(Self(Cow::Owned(value)))
    }
}

/// A field that is there, even if it is `null`: serde alone takes that for a field that is missing.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// What is wrong with a text, without the place, which counts from the beginning of that text.
pub(super) fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(told) => told.to_owned(),
        None => text,
    }
}
