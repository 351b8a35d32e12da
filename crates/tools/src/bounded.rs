//! Texts cut to a limit, at a character boundary, with a note of what is missing.

/// The most bytes of text that one tool result may have. At four bytes a token this is about 12,000
/// tokens; escaped as JSON it stays below the 1 MiB that the Python Agent SDK reads as one line
/// (`agent-sdk.md` 1.3).
pub const RESULT_LIMIT: usize = 50_000;

/// The text, or its beginning and its end with a note between them if it has more than `limit`
/// bytes. The note says how many bytes were left out.
pub fn middle_out(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = head(text, limit - limit / 4);
    let tail = tail(text, limit / 4);
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[... {missing} bytes left out ...]\n{tail}")
}

/// The longest beginning of the text with at most `limit` bytes.
pub fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or("")
}

/// The longest end of the text with at most `limit` bytes.
pub fn tail(text: &str, limit: usize) -> &str {
    let start = text.len().saturating_sub(limit);
    text.get(text.ceil_char_boundary(start)..).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_kept() {
        assert_eq!(middle_out("añb", 4), "añb");
    }

    #[test]
    fn a_long_text_says_what_is_missing() {
        assert_eq!(
            middle_out("日本語のテキスト", 12),
            "日本語\n[... 12 bytes left out ...]\nト"
        );
    }

    #[test]
    fn every_limit_cuts_at_a_character() {
        let text = "a日👩‍👩‍👧é🇩🇪z";
        for limit in 0..=text.len() + 1 {
            let cut = middle_out(text, limit);
            assert!(cut == text || cut.contains("bytes left out"), "{limit}");
        }
    }
}
