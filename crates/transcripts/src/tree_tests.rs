use fuzzing::json;
use proptest::prelude::*;

use super::*;

#[test]
fn text_without_escapes_is_borrowed() {
    let tree = Tree::read(r#"{"id":"1","more":["a\n",null,-1,2.5,true]}"#).unwrap();
    assert!(matches!(
        tree.get("id"),
        Some(Tree::Text(Cow::Borrowed("1")))
    ));
    let more = tree.get("more").and_then(Tree::as_array).unwrap();
    assert_eq!(more[0].as_str(), Some("a\n"));
    assert_eq!(
        tree.as_object().unwrap().names().collect::<Vec<_>>(),
        ["id", "more"]
    );
}

#[test]
fn of_a_field_that_is_there_twice_the_last_counts() {
    let json = r#"{"a":1,"b":2,"a":3}"#;
    let tree = Tree::read(json).unwrap();
    assert_eq!(tree.get("a"), Some(&Tree::Number(3.into())));
    assert_eq!(
        tree.to_value(),
        serde_json::from_str::<Value>(json).unwrap()
    );
}

#[test]
fn what_is_too_deep_is_no_value() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    assert_eq!(Tree::read(&deep), None);
    assert_eq!(Tree::read("{"), None);
}

proptest! {
    #[test]
    fn it_is_the_value_that_anybody_else_reads(text in json::object(&["id", "status"], &["7"])) {
        let value = serde_json::from_str(&text).ok();
        prop_assert_eq!(Tree::read(&text).map(|tree| tree.to_value()), value);
    }
}
