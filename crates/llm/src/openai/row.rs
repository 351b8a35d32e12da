//! A conversation as a growing array of JSON.
//!
//! What the user and the runtime say one after the other is one user message, since the templates of
//! many local models refuse two. Such a message stays open (its `"}` is not written) until something
//! else follows.

use serde_json::Value;

use crate::http::body::{Body, Growing};
use crate::http::outgoing::{self, is_blank};
use crate::{SystemMessage, UserMessage, UserPart};

/// The array, without its opening bracket.
#[derive(Debug, Default)]
pub(crate) struct Row {
    json: Growing,
    end: End,
}

/// How the text ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// There is no entry.
    #[default]
    Empty,
    /// Within the text of a user message.
    OpenUser,
    /// Behind a whole entry.
    Closed,
}

/// How the parts of a message with pictures are written.
pub(crate) struct Parts {
    pub(crate) text: fn(&str) -> Value,
    /// A picture, by its `data:` address.
    pub(crate) image: fn(&str) -> Value,
}

impl Row {
    pub(crate) fn is_empty(&self) -> bool {
        self.end == End::Empty
    }

    /// Appends the array to a body, and its closing bracket.
    pub(crate) fn write(&mut self, body: &mut Body) {
        body.extend(self.json.freeze());
        body.push(match self.end {
            End::OpenUser => r#""}]"#,
            End::Empty | End::Closed => "]",
        });
    }

    /// Makes room for a whole entry.
    pub(crate) fn entry(&mut self) -> &mut Growing {
        match self.end {
            End::Empty => &mut self.json,
            End::OpenUser => self.json.raw(r#""},"#),
            End::Closed => self.json.raw(","),
        };
        self.end = End::Closed;
        &mut self.json
    }

    /// What the user says.
    pub(crate) fn user(&mut self, message: &UserMessage, parts: &Parts) {
        let is_image = |part: &UserPart| matches!(part, UserPart::Image(_));
        if message.content.iter().any(is_image) {
            return self.user_parts(message, parts);
        }
        let texts = message.content.iter().filter_map(|part| match part {
            UserPart::Text(text) if !is_blank(text) => Some(text),
            UserPart::Text(_) | UserPart::Image(_) => None,
        });
        let mut is_empty = true;
        for text in texts {
            self.user_text(text);
            is_empty = false;
        }
        if is_empty {
            self.user_text(outgoing::EMPTY_MESSAGE);
        }
    }

    /// A message with pictures stands alone.
    fn user_parts(&mut self, message: &UserMessage, parts: &Parts) {
        let content = message.content.iter().filter_map(|part| match part {
            UserPart::Text(text) if is_blank(text) => None,
            UserPart::Text(text) => Some((parts.text)(text)),
            UserPart::Image(image) => {
                let url = format!("data:{};base64,{}", image.media_type, image.data);
                Some((parts.image)(&url))
            }
        });
        let content: Vec<_> = content.collect();
        self.entry()
            .raw(r#"{"role":"user","content":"#)
            .value(&content)
            .raw("}");
    }

    fn user_text(&mut self, text: &str) {
        if self.end == End::OpenUser {
            self.json.raw(r"\n\n").characters(text);
            return;
        }
        self.entry()
            .raw(r#"{"role":"user","content":""#)
            .characters(text);
        self.end = End::OpenUser;
    }

    /// What the runtime says: a message of its own where the model takes such ones anywhere
    /// (`in_conversation`), and otherwise a marked part of the user's.
    pub(crate) fn system(&mut self, message: &SystemMessage, in_conversation: bool) {
        if in_conversation && !is_blank(&message.text) {
            self.entry()
                .raw(r#"{"role":"system","content":"#)
                .value(&message.text)
                .raw("}");
        } else {
            self.user_text(&outgoing::note(message));
        }
    }
}
