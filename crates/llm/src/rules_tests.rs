use proptest::prelude::*;

use super::*;
use crate::{
    Arguments, AssistantBlock, AssistantMessage, Origin, SystemMessage, ToolCall, ToolResult,
    UserMessage,
};

fn user() -> Item {
    Item::User(UserMessage::text("go"))
}

fn system() -> Item {
    Item::System(SystemMessage {
        origin: Origin::Reminder,
        text: String::from("note"),
        data: None,
    })
}

/// A message of the model: a text, and a call for each id.
fn assistant(ids: &[&str]) -> Item {
    let calls = ids.iter().map(|id| {
        AssistantBlock::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: String::from("TaskList"),
            arguments: Arguments::new("{}"),
        })
    });
    let text = AssistantBlock::Text(String::from("Well."));
    Item::Assistant(AssistantMessage {
        content: std::iter::once(text).chain(calls).collect(),
        ..AssistantMessage::default()
    })
}

fn empty_assistant() -> Item {
    Item::Assistant(AssistantMessage::default())
}

fn result(id: &str) -> Item {
    Item::ToolResult(ToolResult::error(id, "no"))
}

fn checked(items: impl IntoIterator<Item = Item>) -> Result<(), Violation> {
    let items: Vec<Arc<Item>> = items.into_iter().map(Arc::new).collect();
    check(&items)
}

#[test]
fn well_formed_rows_pass() {
    let rows = [
        vec![user()],
        vec![system()],
        vec![user(), assistant(&[]), user()],
        vec![user(), assistant(&["a"]), result("a")],
        vec![
            user(),
            assistant(&["a", "b"]),
            result("a"),
            result("b"),
            system(),
        ],
        vec![
            user(),
            assistant(&["a"]),
            result("a"),
            assistant(&["b"]),
            result("b"),
        ],
        // A snapshot after a compaction: the call is the runtime's own.
        vec![system(), assistant(&["a"]), result("a")],
        // An empty message is left out by every encoder.
        vec![user(), empty_assistant()],
    ];
    for row in rows {
        assert_eq!(checked(row.clone()), Ok(()), "{row:?}");
    }
}

#[test]
fn each_rule_is_broken_by_its_smallest_row() {
    let id = String::from;
    let rows = [
        (
            vec![assistant(&["a", "a"])],
            Violation::RepeatedCallId(0, id("a")),
        ),
        (
            vec![assistant(&["a"]), result("a"), assistant(&["a"])],
            Violation::RepeatedCallId(2, id("a")),
        ),
        (
            vec![assistant(&["a b"])],
            Violation::BadCallId(0, id("a b")),
        ),
        (vec![result("a")], Violation::OrphanResult(0, id("a"))),
        (
            vec![assistant(&["a"]), result("a"), result("a")],
            Violation::OrphanResult(2, id("a")),
        ),
        (
            vec![assistant(&["a"]), result("b")],
            Violation::OrphanResult(1, id("b")),
        ),
        (
            vec![assistant(&["a"]), user(), result("a")],
            Violation::OpenCall(1, id("a")),
        ),
        (
            vec![assistant(&["a", "b"]), result("a"), system()],
            Violation::OpenCall(2, id("b")),
        ),
        (
            vec![assistant(&["a"]), assistant(&[])],
            Violation::OpenCall(1, id("a")),
        ),
        (
            vec![assistant(&["a"]), empty_assistant()],
            Violation::OpenCall(1, id("a")),
        ),
        (vec![assistant(&["a"])], Violation::OpenCall(1, id("a"))),
        (
            vec![assistant(&["a", "b"]), result("b"), result("a")],
            Violation::ResultOrder(1, id("b"), id("a")),
        ),
        (vec![], Violation::NothingToAnswer),
        (vec![empty_assistant()], Violation::NothingToAnswer),
        (vec![user(), assistant(&[])], Violation::NothingToAnswer),
        (
            vec![user(), assistant(&[]), empty_assistant()],
            Violation::NothingToAnswer,
        ),
    ];
    for (row, violation) in rows {
        assert_eq!(checked(row.clone()), Err(violation), "{row:?}");
    }
}

#[test]
fn call_ids_are_what_every_provider_accepts() {
    let longest = "x".repeat(64);
    for id in ["a", "call_1", "toolu_01-Z", "-", longest.as_str()] {
        assert!(is_call_id(id), "{id}");
    }
    let too_long = "x".repeat(65);
    for id in ["", " ", "a b", "a.b", "a:b", "ä", "a\n", too_long.as_str()] {
        assert!(!is_call_id(id), "{id}");
    }
}

/// One exchange: its calls, and whether the user or the system speaks before it.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    calls: usize,
    by_user: bool,
    silent: bool,
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let exchange = (0..4_usize, any::<bool>(), any::<bool>());
    let exchange = exchange.prop_map(|(calls, by_user, silent)| Exchange {
        calls,
        by_user,
        silent,
    });
    prop::collection::vec(exchange, 0..6)
}

/// A well-formed row of these exchanges.
fn row(exchanges: &[Exchange]) -> Vec<Item> {
    let mut items = vec![user()];
    for (number, exchange) in exchanges.iter().enumerate() {
        let ids: Vec<String> = (0..exchange.calls)
            .map(|call| format!("call_{number}_{call}"))
            .collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        if exchange.silent && ids.is_empty() {
            items.push(empty_assistant());
        } else {
            items.push(assistant(&ids));
        }
        items.extend(ids.iter().map(|id| result(id)));
        // Results are something to answer; where there are none, somebody speaks.
        if ids.is_empty() || exchange.by_user {
            items.push(if exchange.by_user { user() } else { system() });
        }
    }
    items
}

/// The places of the items of which `is_it` is true.
fn places(items: &[Item], is_it: impl Fn(&Item) -> bool) -> Vec<usize> {
    (0..items.len()).filter(|at| is_it(&items[*at])).collect()
}

fn is_result(item: &Item) -> bool {
    matches!(item, Item::ToolResult(_))
}

fn calls_something(item: &Item) -> bool {
    matches!(item, Item::Assistant(message) if message.calls().next().is_some())
}

/// Puts another id into the first call of a message.
fn rename_first_call(item: &mut Item, id: &str) {
    let Item::Assistant(message) = item else {
        return;
    };
    for block in &mut message.content {
        if let AssistantBlock::ToolCall(call) = block {
            id.clone_into(&mut call.id);
            return;
        }
    }
}

proptest! {
    #[test]
    fn random_well_formed_rows_pass(exchanges in exchanges()) {
        prop_assert_eq!(checked(row(&exchanges)), Ok(()));
    }

    #[test]
    fn a_lost_result_is_found(exchanges in exchanges(), choice: prop::sample::Index) {
        let mut items = row(&exchanges);
        let results = places(&items, is_result);
        prop_assume!(!results.is_empty());
        items.remove(*choice.get(&results));
        prop_assert!(checked(items).is_err());
    }

    #[test]
    fn a_doubled_result_is_found(exchanges in exchanges(), choice: prop::sample::Index) {
        let mut items = row(&exchanges);
        let results = places(&items, is_result);
        prop_assume!(!results.is_empty());
        let at = *choice.get(&results);
        items.insert(at, items[at].clone());
        prop_assert!(matches!(
            checked(items),
            Err(Violation::OrphanResult(..) | Violation::ResultOrder(..))
        ));
    }

    #[test]
    fn swapped_results_are_found(exchanges in exchanges(), choice: prop::sample::Index) {
        let mut items = row(&exchanges);
        let pairs: Vec<usize> = places(&items, is_result)
            .into_iter()
            .filter(|at| items.get(at + 1).is_some_and(is_result))
            .collect();
        prop_assume!(!pairs.is_empty());
        let at = *choice.get(&pairs);
        items.swap(at, at + 1);
        prop_assert!(matches!(checked(items), Err(Violation::ResultOrder(found, ..)) if found == at));
    }

    #[test]
    fn an_item_before_a_result_is_found(
        exchanges in exchanges(),
        choice: prop::sample::Index,
        kind in 0..3_usize,
    ) {
        let mut items = row(&exchanges);
        let results = places(&items, is_result);
        prop_assume!(!results.is_empty());
        let at = *choice.get(&results);
        let strangers = [user(), system(), assistant(&[])];
        items.insert(at, strangers[kind].clone());
        prop_assert!(matches!(checked(items), Err(Violation::OpenCall(found, _)) if found == at));
    }

    #[test]
    fn a_lost_message_with_calls_is_found(exchanges in exchanges(), choice: prop::sample::Index) {
        let mut items = row(&exchanges);
        let messages = places(&items, calls_something);
        prop_assume!(!messages.is_empty());
        let at = *choice.get(&messages);
        items.remove(at);
        prop_assert!(matches!(checked(items), Err(Violation::OrphanResult(found, _)) if found == at));
    }

    #[test]
    fn a_call_id_that_comes_again_is_found(exchanges in exchanges(), choice: prop::sample::Index) {
        let mut items = row(&exchanges);
        let messages = places(&items, calls_something);
        prop_assume!(!messages.is_empty());
        let at = *choice.get(&messages);
        // The message and its results once more, at the end.
        let results = items[at + 1..].iter().take_while(|item| is_result(item));
        let again: Vec<Item> = std::iter::once(&items[at]).chain(results).cloned().collect();
        let end = items.len();
        items.extend(again);
        prop_assert!(matches!(checked(items), Err(Violation::RepeatedCallId(found, _)) if found == end));
    }

    #[test]
    fn a_bad_call_id_is_found(
        exchanges in exchanges(),
        choice: prop::sample::Index,
        id in "[a-z]{0,3}[^a-zA-Z0-9_-][a-z]{0,3}|",
    ) {
        let mut items = row(&exchanges);
        let messages = places(&items, calls_something);
        prop_assume!(!messages.is_empty());
        let at = *choice.get(&messages);
        rename_first_call(&mut items[at], &id);
        prop_assert_eq!(checked(items), Err(Violation::BadCallId(at, id)));
    }

    #[test]
    fn a_last_word_of_the_model_is_found(exchanges in exchanges()) {
        let mut items = row(&exchanges);
        items.push(assistant(&[]));
        prop_assert_eq!(checked(items), Err(Violation::NothingToAnswer));
    }

    #[test]
    fn a_row_that_ends_early_passes_only_where_it_is_whole(
        exchanges in exchanges(),
        choice: prop::sample::Index,
    ) {
        let mut items = row(&exchanges);
        items.truncate(choice.index(items.len()));
        let open = items.iter().fold(0, |open, item| match item {
            Item::Assistant(message) => open + message.calls().count(),
            Item::ToolResult(_) => open - 1,
            Item::User(_) | Item::System(_) => open,
        });
        let spoken = |item: &&Item| !matches!(item, Item::Assistant(message) if message.content.is_empty());
        let last = items.iter().rfind(spoken);
        let is_whole = open == 0 && last.is_some_and(|item| !matches!(item, Item::Assistant(_)));
        prop_assert_eq!(checked(items).is_ok(), is_whole);
    }
}
