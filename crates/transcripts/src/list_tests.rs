use proptest::prelude::*;

use super::*;
use crate::event::Place;

fn event(line: u64, what: What) -> Event {
    Event {
        place: Place { source: 0, line },
        time: None,
        chain: Chain::Main,
        call: None,
        what,
    }
}

fn row(id: &str, status: &str) -> Row {
    Row {
        id: id.to_owned(),
        status: Some(status.to_owned()),
        subject: Some(format!("Task {id}")),
        ..Row::default()
    }
}

#[test]
fn a_whole_list_that_is_restored_takes_the_place_of_all_that_was_before() {
    let mut list = TaskList::new();
    let rows = |ids: &[&str]| What::Restore(ids.iter().map(|id| row(id, "pending")).collect());
    list.apply(&event(1, rows(&["1", "2", "3"])));
    let changes = list.apply(&event(2, rows(&["1", "3"])));
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (changes[0].id.as_str(), &changes[0].kind),
        ("2", &ChangeKind::Removed(Some(String::from("pending"))))
    );
    let ids: Vec<&str> = list.tasks().iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["1", "3"]);
    // What stayed as it was keeps where it came from.
    assert_eq!(list.task("1").unwrap().updated.place.line, 1);
    // A new task is counted on from what is there now.
    list.apply(&event(3, What::Create(Create::default())));
    assert_eq!(list.tasks()[2].id, "4");
}

#[test]
fn an_entry_of_a_todo_list_is_the_same_one_wherever_it_stands() {
    let item = |id: usize, subject: &str, status: &str| Item {
        id: id.to_string(),
        status: Some(status.to_owned()),
        subject: Some(subject.to_owned()),
        ..Item::default()
    };
    let mut list = TaskList::new();
    list.apply(&event(
        1,
        What::Replace(vec![item(1, "A", "pending"), item(2, "B", "pending")]),
    ));
    let changes = list.apply(&event(
        2,
        What::Replace(vec![item(1, "C", "pending"), item(2, "A", "completed")]),
    ));
    let told: Vec<_> = changes
        .iter()
        .map(|it| (it.subject.as_deref().unwrap(), &it.kind))
        .collect();
    assert_eq!(told.len(), 3);
    assert_eq!(
        told[0],
        ("C", &ChangeKind::Added(Some(String::from("pending"))))
    );
    assert!(matches!(
        told[1],
        ("A", ChangeKind::Field { name: "status", .. })
    ));
    assert_eq!(
        told[2],
        ("B", &ChangeKind::Removed(Some(String::from("pending"))))
    );
    let todos = list.todos(&Chain::Main);
    assert_eq!(todos[1].created.place.line, 1);
    assert_eq!(todos[1].updated.place.line, 2);
}

#[test]
fn ids_are_in_the_order_of_their_numbers_however_long() {
    let mut ids = vec![
        "b",
        "100000000000000000000001",
        "10",
        "9",
        "a",
        "007",
        "100000000000000000000000",
        "-1",
    ];
    ids.sort_by(|one, other| id_order(one).cmp(&id_order(other)));
    let want = [
        "007",
        "9",
        "10",
        "100000000000000000000000",
        "100000000000000000000001",
        "-1",
        "a",
        "b",
    ];
    assert_eq!(ids, want);
}

/// Any event, of few ids, so that they meet.
fn events() -> impl Strategy<Value = Event> {
    let id = || prop::sample::select(vec!["1", "2", "3", "x"]).prop_map(String::from);
    let status = || {
        prop::sample::select(vec![
            "pending",
            "in_progress",
            "completed",
            "deleted",
            "odd",
        ])
    };
    let rows = || {
        prop::collection::vec((id(), status()), 0..4).prop_map(|rows| {
            rows.into_iter()
                .map(|(id, status)| row(&id, status))
                .collect::<Vec<_>>()
        })
    };
    let what = prop_oneof![
        prop::option::of(id()).prop_map(|id| What::Create(Create {
            id,
            subject: Some(String::from("s")),
            ..Create::default()
        })),
        (id(), prop::option::of(status()), id()).prop_map(|(id, status, other)| {
            What::Update(Update {
                id,
                status: status.map(String::from),
                add_blocks: vec![other],
                ..Update::default()
            })
        }),
        (rows(), any::<bool>(), any::<bool>()).prop_map(|(rows, whole, reminder)| {
            What::Observe(Observation {
                rows,
                whole,
                full: reminder,
                reminder,
            })
        }),
        rows().prop_map(What::Restore),
    ];
    what.prop_map(|what| event(1, what))
}

proptest! {
    /// What a viewer gets told of changes is enough to keep the list itself.
    #[test]
    fn the_changes_tell_all_that_happens_to_a_status(events in prop::collection::vec(events(), 0..30)) {
        let mut list = TaskList::new();
        let mut kept: BTreeMap<String, Option<String>> = BTreeMap::new();
        for event in &events {
            for change in list.apply(event) {
                match change.kind {
                    ChangeKind::Added(status) => drop(kept.insert(change.id, status)),
                    ChangeKind::Removed(_) => drop(kept.remove(&change.id)),
                    ChangeKind::Field { name: "status", from, to } => {
                        prop_assert_eq!(kept.get(&change.id).cloned().flatten(), from);
                        kept.insert(change.id, to);
                    }
                    _ => {}
                }
            }
            let now: BTreeMap<String, Option<String>> = list
                .tasks()
                .iter()
                .map(|task| (task.id.clone(), task.status.clone()))
                .collect();
            prop_assert_eq!(&kept, &now);
            let is = |status: &str| now.values().filter(|it| it.as_deref() == Some(status)).count();
            prop_assert_eq!(list.kept, now.len() - is("deleted"));
            prop_assert_eq!(list.completed, is("completed"));
            let present = list.present.iter().filter(|&&place| list.tasks[place].absent).count();
            prop_assert_eq!(present, 0);
            let absent = list.tasks.iter().filter(|task| task.absent).count();
            prop_assert_eq!(list.present.len() + absent, list.tasks.len());
        }
    }
}
