//! The task list at several places, side by side.

use std::fmt::Write as _;

use tools::task::Task;
use tools::task::render::{one_line, short};

/// The list at one place.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) tasks: Vec<Task>,
}

/// Whether the list is the same at all places, in every field.
pub(super) fn are_equal(columns: &[Column]) -> bool {
    columns.windows(2).all(|pair| match pair {
        [left, right] => left.tasks == right.tasks,
        _ => false,
    })
}

/// The status of each task at each place, and whether everything is equal.
pub(super) fn side_by_side(columns: &[Column]) -> String {
    let mut head = format!("{:<28}", "");
    for column in columns {
        let _ = write!(head, "{:<12}", column.name);
    }
    let mut lines = vec![head.trim_end().to_owned()];
    let rows = columns.iter().map(|it| it.tasks.len()).max().unwrap_or(0);
    for row in 0..rows {
        let task = columns.iter().find_map(|column| column.tasks.get(row));
        let subject = task.map(|task| format!("#{} {}", task.id, one_line(&task.subject)));
        let mut line = format!("{:<28}", short(&subject.unwrap_or_default(), 26));
        for column in columns {
            let status = column.tasks.get(row).map_or("-", |it| it.status.as_str());
            let _ = write!(line, "{status:<12}");
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.push(String::from(if are_equal(columns) {
        "equal: every task, in id, status, subject and description, at all five places"
    } else {
        "NOT EQUAL"
    }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use tools::task::Status;

    use super::*;

    fn column(name: &'static str, status: Status, description: &str) -> Column {
        Column {
            name,
            tasks: vec![
                serde_json::from_value(serde_json::json!({
                    "taskid": 1,
                    "status": status,
                    "subject": "lexer",
                    "description": description,
                }))
                .unwrap(),
            ],
        }
    }

    #[test]
    fn a_difference_in_any_field_counts() {
        let left = || column("left", Status::Pending, "a");
        assert!(are_equal(&[left(), column("right", Status::Pending, "a")]));
        assert!(!are_equal(&[
            left(),
            column("right", Status::Completed, "a")
        ]));
        assert!(!are_equal(&[left(), column("right", Status::Pending, "b")]));
        let columns = [left(), column("right", Status::Completed, "a")];
        insta::assert_snapshot!(side_by_side(&columns), @r"
                                    left        right
        #1 lexer                    pending     completed
        NOT EQUAL
        ");
    }
}
