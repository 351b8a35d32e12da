use llm::{AssistantMessage, Image, rules};
use proptest::prelude::*;
use uuid::Uuid;

use super::super::testing::*;
use super::*;

#[track_caller]
fn check(entries: &[Entry], budget: u64, expect: &str) {
    let cut = cut(entries, budget);
    assert!(cut.tail.iter().all(|entry| entry.carried));
    assert_eq!(shown(&cut.tail), expect);
}

const HUGE: u64 = 1_000_000;

#[test]
fn everything_fits() {
    let entries = [user("a"), calls(&["c1"]), result("c1", "x"), says("done")];
    check(
        &entries,
        HUGE,
        "01 user: a\n02 assistant:\n02   > Look#c1 {}\n03 result c1: x\n04 assistant: done\n",
    );
}

#[test]
fn nothing_fits_and_nothing_waits() {
    // BR-010: an answered request is not issued again.
    check(&[user("a"), says("done")], 0, "");
}

#[test]
fn br_010_the_request_that_waits_is_kept_once_and_in_front() {
    let entries = [
        user("old"),
        says("done"),
        user("do it"),
        calls(&["c1", "c2"]),
        result("c1", "x"),
        result("c2", "y"),
    ];
    check(&entries, 0, "01 user: do it\n");
    check(
        &entries,
        60,
        "01 user: do it\n02 assistant:\n02   > Look#c1 {}\n02   > Look#c2 {}\n03 result c1: x\n04 result c2: y\n",
    );
    let whole = cut(&entries, HUGE);
    let requests = whole.tail.iter().filter(|it| it.id == entries[2].id);
    assert_eq!(requests.count(), 1);
}

#[test]
fn what_a_hook_added_to_the_request_that_waits_is_kept_with_it() {
    let entries = [
        user("do it"),
        system(Origin::Hook, "in French"),
        calls(&["c1"]),
        result("c1", "x"),
    ];
    check(&entries, 0, "01 user: do it\n02 system(hook): in French\n");
    assert_eq!(cut(&entries, HUGE).tail.len(), 4);
}

#[test]
fn requests_that_wait_together_are_kept_in_order_as_far_as_they_fit() {
    let entries = [
        user("answered"),
        says("done"),
        user("first"),
        user("second"),
        calls(&["c"]),
        result("c", &"x".repeat(4_000)),
        user("third"),
    ];
    check(
        &entries,
        60,
        "01 user: first\n02 user: second\n03 user: third\n",
    );
    check(&entries, 25, "01 user: second\n02 user: third\n");
    check(&entries, 0, "01 user: third\n");
}

#[test]
fn a_request_that_was_interrupted_and_followed_by_another_one_does_not_wait() {
    let entries = [
        user("wrong"),
        calls(&["c"]),
        result("c", "x"),
        system(Origin::Interruption, "The user interrupted the work here."),
        user("right"),
    ];
    check(&entries, 0, "01 user: right\n");
}

#[test]
fn an_answer_that_the_output_limit_cut_is_none() {
    let cut_off = entry(Item::Assistant(AssistantMessage {
        stop_reason: StopReason::MaxTokens,
        ..message("half an ans", &[])
    }));
    let entries = [
        user("tell all"),
        cut_off,
        system(Origin::Interruption, "Go on from there."),
    ];
    check(&entries, 0, "01 user: tell all\n");
}

#[test]
fn what_a_compaction_made_is_not_kept() {
    let [call, shown_list] = forced_pair("pod_1");
    let entries = [
        system(Origin::Summary, "s"),
        system(Origin::TaskSnapshot, "t"),
        system(Origin::AutoRead, "f"),
        system(Origin::References, "r"),
        user("a"),
        call,
        shown_list,
        says("done"),
    ];
    check(&entries, HUGE, "01 user: a\n02 assistant: done\n");
}

#[test]
fn br_128_a_result_of_most_of_the_window_is_shortened_and_its_data_dropped() {
    let mut big = result("c1", &"x".repeat(100_000));
    if let Item::ToolResult(result) = Arc::make_mut(&mut big.item) {
        result.value = Some(serde_json::json!({"big": "x"}).into());
    }
    let entries = [user("a"), calls(&["c1"]), big];
    let tail = cut(&entries, 1_000).tail;
    assert_eq!(tail.len(), 3);
    let Item::ToolResult(short) = &*tail[2].item else {
        panic!("a result");
    };
    assert!(short.text().len() <= 1_000, "{}", short.text().len());
    assert!(short.text().ends_with(SHORTENED));
    assert_eq!(short.value, None);
    // The next compaction finds it as it is to be.
    assert_eq!(cut(&tail, 1_000).tail, tail);
}

#[test]
fn many_large_results_of_one_message_are_shortened_so_that_they_fit_together() {
    let ids: Vec<String> = (0..10).map(|number| format!("c{number}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut entries = vec![user("a"), calls(&names)];
    entries.extend(names.iter().map(|id| result(id, &"x".repeat(50_000))));
    assert_eq!(cut(&entries, 10_000).tail.len(), 12);
}

#[test]
fn a_picture_is_named_unless_its_request_waits() {
    let picture = entry(Item::User(UserMessage {
        content: vec![
            UserPart::Text(String::from("look")),
            UserPart::Image(Image {
                media_type: String::from("image/png"),
                data: String::from("AAAA"),
            }),
        ],
    }));
    let waiting = cut(std::slice::from_ref(&picture), HUGE).tail;
    assert_eq!(waiting[0].item, picture.item);
    check(
        &[picture, says("seen")],
        HUGE,
        "01 user: look\n01   and: [a picture (image/png, 4 bytes in base64), left out when the conversation was compacted]\n02 assistant: seen\n",
    );
}

/// A history as the loop makes one: each message with calls is followed by their results.
fn any_history() -> impl Strategy<Value = Vec<Entry>> {
    let step = prop_oneof![
        "[a-z]{0,30}".prop_map(|text| vec![user(&text)]),
        "[a-z]{1,30}".prop_map(|text| vec![says(&text)]),
        (1..4_usize, 0..3_000_usize).prop_map(|(count, size)| {
            let ids: Vec<String> = (0..count)
                .map(|_| Uuid::now_v7().simple().to_string())
                .collect();
            let names: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut exchange = vec![calls(&names)];
            exchange.extend(names.iter().map(|id| result(id, &"x".repeat(size))));
            exchange
        }),
        Just(vec![system(Origin::Interruption, "stopped")]),
        Just(vec![
            system(Origin::Summary, "s"),
            system(Origin::TaskSnapshot, "t")
        ]),
        Just(()).prop_map(|()| forced_pair(&Uuid::now_v7().simple().to_string()).to_vec()),
    ];
    prop::collection::vec(step, 0..12).prop_map(|steps| {
        let mut entries = steps.concat();
        for entry in &mut entries {
            entry.id = Uuid::now_v7();
        }
        entries
    })
}

proptest! {
    // BR-095, BR-097, BR-098: whatever the budget, no pair is split.
    #[test]
    fn no_cut_splits_a_pair_or_keeps_too_much(entries in any_history(), budget in 0..2_000_u64) {
        let cut = cut(&entries, budget);
        let items: Vec<_> = cut.tail.iter().map(|it| Arc::clone(&it.item)).collect();
        let checked = rules::check(&items);
        prop_assert!(matches!(checked, Ok(()) | Err(rules::Violation::NothingToAnswer)), "{checked:?}");

        let pending = pending_requests(&entries, budget / 2);
        let waits = |entry: &Entry| pending.iter().any(|index| entries[*index].id == entry.id);
        let size: u64 = cut.tail.iter().filter(|entry| !waits(entry)).map(size_of).sum();
        prop_assert!(size <= budget, "{size}");
        for index in &pending {
            let kept = cut.tail.iter().filter(|kept| kept.id == entries[*index].id);
            prop_assert_eq!(kept.map(|kept| &kept.item).collect::<Vec<_>>(), [&entries[*index].item]);
        }
        // The order of the history, and nothing that a compaction made.
        let places: Vec<_> = cut.tail.iter().map(|kept| entries.iter().position(|it| it.id == kept.id)).collect();
        prop_assert!(places.is_sorted());
        prop_assert!(!cut.tail.iter().any(|kept| matches!(&*kept.item, Item::System(it) if it.origin != Origin::Interruption)));
    }
}
