//! Messages of the user, on their way to their turn.

use llm::{Image, UserMessage, UserPart};
use serde_json::{Value, json};

use crate::terminal;

/// A message that waits for its turn.
pub(super) struct Waiting {
    pub(super) message: UserMessage,
    /// The name that the program gave it.
    pub(super) uuid: Value,
    /// As it came, for `--replay-user-messages`.
    pub(super) original: Value,
    pub(super) is_command: bool,
}

impl Waiting {
    /// A prompt of the command line.
    pub(super) fn prompt(text: String) -> Self {
        Self {
            message: UserMessage::text(text),
            uuid: Value::Null,
            original: Value::Null,
            is_command: false,
        }
    }

    /// A line of the program.
    pub(super) fn new(original: Value) -> Self {
        let message = user_message(&original["message"]["content"]);
        let text = message.joined_text();
        let is_text = message.content.len() == 1;
        let command = text.split_whitespace().next().unwrap_or_default();
        Self {
            is_command: is_text
                && command == "/compact"
                && original["client_composed"] != json!(true),
            uuid: original["uuid"].clone(),
            message,
            original,
        }
    }
}

/// A message of the user: a text, or blocks of text and pictures. Other blocks are named in their
/// place, so that the model knows that something is missing.
fn user_message(content: &Value) -> UserMessage {
    if let Some(text) = content.as_str() {
        return UserMessage::text(text);
    }
    let blocks = content.as_array().into_iter().flatten();
    UserMessage {
        content: blocks.map(user_part).collect(),
    }
}

fn user_part(block: &Value) -> UserPart {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let source = &block["source"];
    let kind = block["type"].as_str().unwrap_or("unknown");
    match kind {
        "text" => {
            if let Some(text) = text(&block["text"]) {
                return UserPart::Text(text);
            }
        }
        "image" if source["type"] == "base64" => {
            if let (Some(media_type), Some(data)) =
                (text(&source["media_type"]), text(&source["data"]))
            {
                return UserPart::Image(Image { media_type, data });
            }
        }
        _ => {}
    }
    terminal::notice(&format!(
        "a block of type {kind} in a message is not supported"
    ));
    UserPart::Text(format!(
        "[a block of type {kind} is left out here: Pod cannot read it]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(content: &Value, more: &Value) -> Waiting {
        let mut line = json!({"type": "user", "message": {"role": "user", "content": content}});
        for (key, value) in more.as_object().unwrap() {
            line[key] = value.clone();
        }
        Waiting::new(line)
    }

    #[test]
    fn texts_pictures_and_what_is_neither() {
        let text = |text: &str| UserPart::Text(text.to_owned());
        let parts = |content: &Value| waiting(content, &json!({})).message.content;
        assert_eq!(parts(&json!("hi")), [text("hi")]);
        assert_eq!(parts(&json!([])), []);
        assert_eq!(parts(&json!(null)), []);
        let blocks = json!([
            {"type": "text", "text": "see"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
            {"type": "image", "source": {"type": "url", "url": "http://x"}},
            {"type": "text"},
            7,
        ]);
        let left_out = |kind| {
            text(&format!(
                "[a block of type {kind} is left out here: Pod cannot read it]"
            ))
        };
        assert_eq!(
            parts(&blocks),
            [
                text("see"),
                UserPart::Image(Image {
                    media_type: String::from("image/png"),
                    data: String::from("AA=="),
                }),
                left_out("image"),
                left_out("text"),
                left_out("unknown"),
            ]
        );
    }

    #[test]
    fn a_command_is_a_text_that_a_person_typed() {
        let is_command = |content: Value, more: Value| waiting(&content, &more).is_command;
        assert!(is_command(json!("/compact"), json!({})));
        assert!(is_command(
            json!([{"type": "text", "text": " /compact now"}]),
            json!({})
        ));
        assert!(!is_command(json!("/compactor"), json!({})));
        assert!(!is_command(json!("run /compact"), json!({})));
        assert!(!is_command(
            json!("/compact"),
            json!({"client_composed": true})
        ));
    }
}
