//! The lines of a script.

use pod::{CompactLimits, PermissionMode, Rule, Threshold};
use serde_json::Value;
use tools::task::{TaskOperation, arguments};

/// A step of a script.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A prompt.
    User(String),
    /// A stage direction.
    Direction(Direction),
}

/// A stage direction: a line in brackets.
///
/// How a Pod is set up, before the first prompt or before the next time that it is opened:
/// `[mode plan]` (also while it stands), `[allow RULES]`, `[forbid RULES]`, `[offer TOOL TOOL]`,
/// `[max turns N]`, `[remind after N]`.
///
/// What happens in the runs to come, each once:
/// - `[answer allow]`, `[answer allow JSON]`, `[answer deny REASON]`, `[answer end REASON]`: what the
///   person says who is asked for permission. With no such line in the script nobody is there to be
///   asked.
/// - `[before TOOL DEED]` with the deed `deny REASON`, `change JSON`, `allow`, `allow JSON` or
///   `interrupt`; `[after TOOL DEED]` with `fail REASON` or `interrupt`: what a hook does.
/// - `[interrupt at start]`, `[interrupt when still]`: before the run is polled, or once nothing moves
///   any more.
/// - `[drop after N]`: the run is dropped when it was polled N times.
/// - `[model NAME after TOOL]`, `[mode MODE after TOOL]`: what somebody sets while a run goes on.
/// - `[room N]`: the disk has room for N lines more; `[room]`: for any number.
///
/// `[limits WHAT=SIZE ...]` sets when the history is compacted and what is kept (`after`, `between`,
/// `tail`, `files`, `summary`, and `seconds`), also how a Pod is set up. `[file NAME TEXT]` writes a
/// file.
///
/// What is done to the session: `[compact]`, `[plan]` (shows what a compaction would do), `[resume]`, `[fork]`, `[fork N]`, `[rewind N]` (N is the number of an
/// entry), `[edit JSON]` (changes the task list by hand, with the data of such an entry; `[edit JSON after TOOL]`
/// does it while a run goes on), `[tasks]`, `[log]` (shows it).
#[derive(Clone, Debug)]
pub enum Direction {
    /// See above.
    Mode(PermissionMode),
    /// See above.
    Allow(Vec<Rule>),
    /// See above.
    Forbid(Vec<Rule>),
    /// See above.
    Offer(Vec<String>),
    /// See above.
    MaxTurns(u32),
    /// See above.
    RemindAfter(u32),
    /// See above.
    Limits(CompactLimits),
    /// See above.
    File(String, String),
    /// See above.
    Compact,
    /// See above.
    Plan,
    /// See above.
    Answer(Deed),
    /// See above.
    Before(String, Deed),
    /// See above.
    After(String, Deed),
    /// See above.
    InterruptAtStart,
    /// See above.
    InterruptWhenStill,
    /// See above.
    DropAfter(usize),
    /// See above.
    Room(u64),
    /// See above.
    Resume,
    /// See above.
    Fork(Option<usize>),
    /// See above.
    Rewind(usize),
    /// See above.
    Edit(TaskOperation),
    /// See above.
    Tasks,
    /// See above.
    Log,
}

/// What a hook or a person does about a call.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Lets it run, with these arguments if any.
    Allow(Option<Value>),
    /// Gives it other arguments.
    Change(Value),
    /// Denies it.
    Deny(String),
    /// Denies it and ends the run.
    End(String),
    /// Makes its result an error.
    Fail(String),
    /// Interrupts the run.
    Interrupt,
    /// Sets the permission mode.
    Mode(PermissionMode),
    /// Sets the model.
    Model(String),
    /// Changes the task list by hand.
    Edit(TaskOperation),
}

/// The lines for the model, and the steps.
pub(super) fn split(script: &str) -> (String, Vec<Step>) {
    let mut lines = String::new();
    let mut steps = Vec::new();
    for line in script.lines() {
        if let Some(text) = line.strip_prefix("user:") {
            steps.push(Step::User(text.trim().to_owned()));
        } else if let Some(text) = line.strip_prefix('[') {
            let text = text.strip_suffix(']').expect("a direction ends with `]`");
            steps.push(Step::Direction(
                read(text).unwrap_or_else(|| panic!("there is no direction `[{text}]`")),
            ));
        } else {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    (lines, steps)
}

fn read(text: &str) -> Option<Direction> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    Some(match word {
        "mode" => match rest.split_once(" after ") {
            None => Direction::Mode(rest.parse().unwrap()),
            Some((mode, tool)) => {
                Direction::After(tool.to_owned(), Deed::Mode(mode.parse().unwrap()))
            }
        },
        "model" => {
            let (name, tool) = rest.split_once(" after ")?;
            Direction::After(tool.to_owned(), Deed::Model(name.to_owned()))
        }
        "allow" => Direction::Allow(Rule::parse_list(rest).unwrap()),
        "forbid" => Direction::Forbid(Rule::parse_list(rest).unwrap()),
        "offer" => Direction::Offer(rest.split_whitespace().map(str::to_owned).collect()),
        "max" => Direction::MaxTurns(rest.strip_prefix("turns ")?.parse().ok()?),
        "remind" => Direction::RemindAfter(rest.strip_prefix("after ")?.parse().ok()?),
        "limits" => Direction::Limits(limits(rest)?),
        "file" => {
            let (name, text) = rest.split_once(' ')?;
            Direction::File(name.to_owned(), text.replace("\\n", "\n"))
        }
        "compact" => Direction::Compact,
        "plan" => Direction::Plan,
        "answer" => Direction::Answer(deed(rest)?),
        "before" | "after" => {
            let (tool, rest) = rest.split_once(' ')?;
            let (tool, deed) = (tool.to_owned(), deed(rest)?);
            if word == "before" {
                Direction::Before(tool, deed)
            } else {
                Direction::After(tool, deed)
            }
        }
        "interrupt" if rest == "at start" => Direction::InterruptAtStart,
        "interrupt" if rest == "when still" => Direction::InterruptWhenStill,
        "drop" => Direction::DropAfter(rest.strip_prefix("after ")?.parse().ok()?),
        "room" if rest.is_empty() => Direction::Room(u64::MAX),
        "room" => Direction::Room(rest.parse().ok()?),
        "resume" => Direction::Resume,
        "fork" if rest.is_empty() => Direction::Fork(None),
        "fork" => Direction::Fork(Some(rest.parse().ok()?)),
        "rewind" => Direction::Rewind(rest.parse().ok()?),
        "edit" => match rest.split_once(" after ") {
            None => Direction::Edit(edit(rest)),
            Some((data, tool)) => Direction::After(tool.to_owned(), Deed::Edit(edit(data))),
        },
        "tasks" => Direction::Tasks,
        "log" => Direction::Log,
        _ => return None,
    })
}

fn limits(text: &str) -> Option<CompactLimits> {
    let mut limits = CompactLimits::default();
    for setting in text.split_whitespace() {
        let (name, size) = setting.split_once('=')?;
        if name == "seconds" {
            limits.seconds = size.parse().ok()?;
            continue;
        }
        let size: Threshold = size.parse().ok()?;
        match name {
            "after" => limits.after_run = size,
            "between" => limits.between_requests = size,
            "tail" => limits.tail = size,
            "files" => limits.files = size,
            "summary" => limits.summary = size,
            _ => return None,
        }
    }
    Some(limits)
}

fn edit(text: &str) -> TaskOperation {
    let data: Value = serde_json::from_str(text).unwrap();
    match data.get("create") {
        Some(fields) => arguments::create(fields).unwrap(),
        None => arguments::update(&data["update"]).unwrap(),
    }
}

fn deed(text: &str) -> Option<Deed> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let json = || serde_json::from_str(rest).unwrap();
    Some(match word {
        "allow" => Deed::Allow((!rest.is_empty()).then(json)),
        "change" => Deed::Change(json()),
        "deny" => Deed::Deny(rest.to_owned()),
        "end" => Deed::End(rest.to_owned()),
        "fail" => Deed::Fail(rest.to_owned()),
        "interrupt" => Deed::Interrupt,
        _ => return None,
    })
}
