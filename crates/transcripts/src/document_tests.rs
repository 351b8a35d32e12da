//! Whether a log is one document, and what it costs to see it.

use super::*;

#[test]
fn a_beginning_tells_whether_it_is_a_document() {
    use Verdict::{IfAlone, No, Unsure, Yes};

    for (head, wanted) in [
        ("", Unsure),
        (" \n\t", Unsure),
        ("\u{feff}", Unsure),
        ("{", Unsure),
        ("{\"messages\":", Unsure),
        ("{\"messages\":[", IfAlone),
        ("{\"messages\":[\n", Yes),
        ("{\n\"messages\":[", Yes),
        ("\u{feff} {\n\"a\":[{\"b\":\"}\"}],\"loglines\":[", Yes),
        ("{\"m\\u0065ssages\":[", IfAlone),
        ("{\"a\":\"messages\"", Unsure),
        ("{\"a\":\"messages\",\"b\":{\"messages\":[", Unsure),
        ("{\"a\":\"messages\",\"b\":{\"messages\":[]}}", No),
        ("{\"messages\":{", No),
        ("{\"messages\":[]}\n", IfAlone),
        ("{\"messages\":[]}\n{\"a\":1}", No),
        ("{\"messages\":[]}\n{\"messages\":[]}", Yes),
        ("{\"type\":\"x\",\"messages\":[]}\n{\"messages\":[]}", No),
        ("{}", No),
        ("[", No),
        ("x", No),
        ("{,", No),
        ("{\"a\" 1", No),
        ("{\"a\":tru,\"messages\"", No),
        ("{\"a\":[},\"messages\"", No),
    ] {
        assert_eq!(verdict(head.as_bytes()), wanted, "{head}");
    }
}
