//! What a line that begins with `/` asks for.

use tools::task::{Status, TaskId, TaskOperation};

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Its name, without the slash.
    pub(super) name: &'static str,
    /// What may follow.
    pub(super) arguments: &'static str,
    /// What it does.
    pub(super) help: &'static str,
}

/// All commands, in the order in which the help shows them.
pub(super) const WORDS: [Word; 12] = [
    word("help", "", "keys and commands"),
    word(
        "tasks",
        "[add|done|drop|reopen|edit]",
        "the whole list, or change it by hand",
    ),
    word("model", "[NAME]", "the model, or ask another one"),
    word("permissions", "[MODE]", "what may happen without asking"),
    word("compact", "", "put a summary in place of the history"),
    word("rewind", "", "go back to before one of your messages"),
    word("fork", "", "go on in a copy of the session"),
    word("resume", "", "go on with another session from here"),
    word("cost", "", "tokens and money of this session"),
    word("verify", "", "check the log against every rule"),
    word("export", "[FILE]", "write the session: Markdown, or .html"),
    word("quit", "", "leave; the session is kept"),
];

const fn word(name: &'static str, arguments: &'static str, help: &'static str) -> Word {
    Word {
        name,
        arguments,
        help,
    }
}

/// What a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    ShowTasks,
    EditTasks(Edit),
    Model(Option<String>),
    Permissions(Option<String>),
    Compact,
    Rewind,
    Fork,
    Resume,
    Cost,
    Verify,
    Export(Option<String>),
    Quit,
}

/// A change of the list by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Add {
        subject: String,
        description: String,
    },
    Set {
        ids: Vec<TaskId>,
        status: Status,
    },
    Describe {
        id: TaskId,
        subject: Option<String>,
        description: Option<String>,
    },
}

const TASKS_USAGE: &str = "write /tasks add SUBJECT, /tasks done 3 (or drop, reopen; several ids are fine), or /tasks edit 3 SUBJECT; a description stands behind \" :: \"";

/// What a line asks for. An error says what is accepted.
pub(super) fn parse(line: &str) -> Result<Command, String> {
    let line = line.trim().trim_start_matches('/');
    let (name, rest) = split(line);
    let given = || (!rest.is_empty()).then(|| rest.to_owned());
    let alone = |command: Command| {
        if rest.is_empty() {
            Ok(command)
        } else {
            Err(format!("/{name} takes nothing behind it"))
        }
    };
    match name {
        "help" | "?" => alone(Command::Help),
        "tasks" if rest.is_empty() => Ok(Command::ShowTasks),
        "tasks" => edit(rest).map(Command::EditTasks),
        "model" => Ok(Command::Model(given())),
        "permissions" => Ok(Command::Permissions(given())),
        "compact" => alone(Command::Compact),
        "rewind" => alone(Command::Rewind),
        "fork" => alone(Command::Fork),
        "resume" => alone(Command::Resume),
        "cost" => alone(Command::Cost),
        "verify" => alone(Command::Verify),
        "export" => Ok(Command::Export(given())),
        "quit" | "exit" => alone(Command::Quit),
        "" => Err(String::from("a command is missing; /help shows them")),
        other => Err(unknown(other)),
    }
}

fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(40).collect();
    match nearest(name) {
        Some(word) => format!("there is no /{shown}; did you mean /{word}? /help shows all"),
        None => format!("there is no /{shown}; /help shows all"),
    }
}

/// The command that was probably meant.
fn nearest(name: &str) -> Option<&'static str> {
    let distances = WORDS
        .iter()
        .map(|word| (distance(name, word.name), word.name));
    let (distance, word) = distances.min()?;
    (distance <= 2.max(word.len() / 3)).then_some(word)
}

/// How many characters must be changed, added, taken away or swapped to make one of the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, character) in left.chars().take(40).enumerate() {
        let mut diagonal = index;
        let mut next = vec![index + 1];
        for (other, above) in right.iter().zip(row.iter().skip(1)) {
            let change = diagonal + usize::from(*other != character);
            let beside = next.last().copied().unwrap_or_default() + 1;
            next.push(change.min(beside).min(above + 1));
            diagonal = *above;
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// The commands that a line may become; none once something stands behind the name.
pub(super) fn completions(line: &str) -> Vec<Word> {
    let Some(name) = line.strip_prefix('/') else {
        return Vec::new();
    };
    let words = WORDS.iter().filter(|word| word.name.starts_with(name));
    words.copied().collect()
}

fn edit(text: &str) -> Result<Edit, String> {
    let (verb, rest) = split(text);
    let status = match verb {
        "add" => {
            let (subject, description) = described(rest);
            let subject = subject.ok_or("what is the task about? write /tasks add SUBJECT")?;
            return Ok(Edit::Add {
                subject,
                description: description.unwrap_or_default(),
            });
        }
        "edit" => {
            let (id, rest) = split(rest);
            let id = task_id(id)?;
            let (subject, description) = described(rest);
            if subject.is_none() && description.is_none() {
                return Err(String::from(TASKS_USAGE));
            }
            return Ok(Edit::Describe {
                id,
                subject,
                description,
            });
        }
        "done" => Status::Completed,
        "drop" => Status::Deleted,
        "reopen" => Status::Pending,
        _ => return Err(String::from(TASKS_USAGE)),
    };
    let words = rest.split([' ', ',']).filter(|word| !word.is_empty());
    let ids = words.map(task_id).collect::<Result<Vec<_>, _>>()?;
    if ids.is_empty() {
        return Err(format!("which task? write /tasks {verb} 3"));
    }
    Ok(Edit::Set { ids, status })
}

fn task_id(text: &str) -> Result<TaskId, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    match digits.parse() {
        Ok(number) if number > 0 => Ok(TaskId::new(number)),
        _ => {
            let shown: String = text.chars().take(40).collect();
            Err(format!(
                "\"{shown}\" is no number of a task; the list shows them, such as 3 or #3"
            ))
        }
    }
}

/// The subject and the description of `SUBJECT :: DESCRIPTION`, either of which may be missing.
fn described(text: &str) -> (Option<String>, Option<String>) {
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    // A description may have lines of its own.
    match text.split_once("::").or_else(|| text.split_once('\n')) {
        Some((subject, description)) => (given(subject), given(description)),
        None => (given(text), None),
    }
}

impl Edit {
    /// The changes of the list.
    pub(super) fn operations(&self) -> Vec<TaskOperation> {
        match self {
            Self::Add {
                subject,
                description,
            } => vec![TaskOperation::Create {
                subject: subject.clone(),
                description: description.clone(),
                active_form: None,
            }],
            Self::Set { ids, status } => ids
                .iter()
                .map(|id| TaskOperation::Update {
                    id: *id,
                    status: Some(*status),
                    subject: None,
                    description: None,
                    active_form: None,
                })
                .collect(),
            Self::Describe {
                id,
                subject,
                description,
            } => vec![TaskOperation::Update {
                id: *id,
                status: None,
                subject: subject.clone(),
                description: description.clone(),
                active_form: None,
            }],
        }
    }
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_can_be_written() {
        for word in WORDS {
            parse(&format!("/{}", word.name)).unwrap();
        }
        assert_eq!(
            parse("/model  openai:gpt "),
            Ok(Command::Model(Some(String::from("openai:gpt"))))
        );
    }

    #[test]
    fn an_unknown_command_names_the_nearest() {
        let lines: Vec<String> = [
            "/compcat",
            "/reumse",
            "/task",
            "/xyzzy",
            "/",
            "/fork now",
            "/日本",
        ]
        .map(|line| parse(line).unwrap_err())
        .into();
        insta::assert_snapshot!(lines.join("\n"), @r"
        there is no /compcat; did you mean /compact? /help shows all
        there is no /reumse; did you mean /resume? /help shows all
        there is no /task; did you mean /tasks? /help shows all
        there is no /xyzzy; /help shows all
        a command is missing; /help shows them
        /fork takes nothing behind it
        there is no /日本; /help shows all
        ");
    }

    #[test]
    fn edits_of_the_list() {
        let edit = |line: &str| match parse(line) {
            Ok(Command::EditTasks(edit)) => Ok(edit),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        let id = TaskId::new;
        assert_eq!(
            edit("/tasks add Write the parser :: By hand"),
            Ok(Edit::Add {
                subject: String::from("Write the parser"),
                description: String::from("By hand")
            })
        );
        assert_eq!(
            edit("/tasks done #3, 4 5"),
            Ok(Edit::Set {
                ids: vec![id(3), id(4), id(5)],
                status: Status::Completed
            })
        );
        assert_eq!(
            edit("/tasks edit 2 :: only words"),
            Ok(Edit::Describe {
                id: id(2),
                subject: None,
                description: Some(String::from("only words"))
            })
        );
        let errors: Vec<String> = [
            "add", "done", "done x", "drop 0", "edit 1", "edit", "finish 3",
        ]
        .map(|words| edit(&format!("/tasks {words}")).unwrap_err())
        .into();
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn completions_are_offered_until_the_name_is_over() {
        let names = |line| {
            completions(line)
                .iter()
                .map(|word| word.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("/re"), ["rewind", "resume"]);
        assert_eq!(names("/").len(), WORDS.len());
        assert_eq!(names("/tasks "), [""; 0]);
        assert_eq!(names("re"), [""; 0]);
    }
}
