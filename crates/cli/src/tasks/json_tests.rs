use serde::Serialize;

use super::*;

#[test]
fn what_could_drive_a_terminal_is_escaped_and_comes_back_the_same() {
    let text = "\u{1b}[31m \u{7f} \u{9b}1m \u{202e}x\u{2028} 任務 \u{1f600} \"quoted\" \\";
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Harmless);
    text.serialize(&mut serializer).unwrap();
    let json = String::from_utf8(bytes).unwrap();
    insta::assert_snapshot!(json, @r#""\u001b[31m \u007f \u009b1m \u202ex\u2028 任務 😀 \"quoted\" \\""#);
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
}
