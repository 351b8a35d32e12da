//! Each line of a log is lost, doubled, or changes places with the next. A log like that is refused, with
//! its place and the flag that helps, or what is asked of the model next is what a provider takes and
//! the task list is what the log gives.
//!
//! A debug build holds its own requests against the rules; here a server does, with rules of its own,
//! so the test says the same of a release build.

use std::collections::HashSet;
use std::path::PathBuf;

use pod::SessionStore;
use pod::session::RealDisk;
use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server};
use tools::task::Task;

use crate::program::{Ran, World};

const MODELS: [&str; 2] = ["claude-sonnet-4-5", "openai:gpt-4o"];

/// What is done to a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    Lost,
    Doubled,
    /// As an old writer does that comes late: the copy stands at the end.
    DoubledAtTheEnd,
    Swapped,
}

const HARMS: [Harm; 4] = [
    Harm::Lost,
    Harm::Doubled,
    Harm::DoubledAtTheEnd,
    Harm::Swapped,
];

impl Harm {
    /// The lines after it; `None` if it would change nothing.
    fn done(self, lines: &[Vec<u8>], at: usize) -> Option<Vec<Vec<u8>>> {
        let mut lines = lines.to_vec();
        match self {
            Self::Lost => drop(lines.remove(at)),
            Self::Doubled => lines.insert(at, lines[at].clone()),
            Self::DoubledAtTheEnd if at + 1 < lines.len() => lines.push(lines[at].clone()),
            Self::Swapped if at + 1 < lines.len() => lines.swap(at, at + 1),
            Self::DoubledAtTheEnd | Self::Swapped => return None,
        }
        Some(lines)
    }
}

fn call(id: &str, tool: &str, arguments: Value) -> Block {
    Block::call(id, tool, &arguments)
}

/// A model that plans, works and ends, and then only says that it goes on.
fn server() -> Server {
    let create = |id, subject: &str| {
        let arguments = json!({"subject": subject, "description": "All of it."});
        call(id, "TaskCreate", arguments)
    };
    let mut turns = vec![
        Reply::turn([
            Block::thinking("three steps", "c2ln"),
            Block::text("I plan."),
            create("c1", "lexer"),
            create("c2", "parser"),
            create("c3", ""),
        ]),
        Reply::turn([
            call(
                "c4",
                "TaskUpdate",
                json!({"taskid": 1, "status": "completed"}),
            ),
            call("c5", "TaskList", json!({})),
        ]),
        // Enough to make a compaction worth it.
        Reply::text(&"The lexer stands. ".repeat(6_000)),
        Reply::turn([call(
            "c6",
            "TaskUpdate",
            json!({"taskid": 2, "status": "inprogress"}),
        )]),
        Reply::text("The parser is under way."),
    ]
    .into_iter();
    Server::respond(move |request| {
        let tools = request.get("tools").map(Value::to_string);
        if tools.is_some_and(|it| it.contains("write_summary")) {
            let summary = json!({"text": "The lexer stands, the parser comes next."});
            return Reply::turn([Block::call("w1", "write_summary", &summary)]);
        }
        turns.next().unwrap_or_else(|| Reply::text("Went on."))
    })
}

struct Patient {
    world: World,
    server: Server,
    model: &'static str,
}

impl Patient {
    fn new(model: &'static str) -> Self {
        let (world, server) = (World::new(), server());
        Self {
            world,
            server,
            model,
        }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let url = self.server.url();
        let mut command = self.world.command(arguments);
        command
            .args(["--model", self.model])
            .env("ANTHROPIC_BASE_URL", &url)
            .env("ANTHROPIC_API_KEY", "sk-secret")
            .env("OPENAI_BASE_URL", &url)
            .env("OPENAI_API_KEY", "sk-secret");
        World::finish(&mut command)
    }

    /// The files of the session, but for the lock, and what is in them.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(self.world.session()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths
            .filter(|path| !path.ends_with("lock"))
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn put(&self, files: &[(PathBuf, Vec<u8>)]) {
        for (path, _) in self.files() {
            std::fs::remove_file(path).unwrap();
        }
        for (path, bytes) in files {
            std::fs::write(path, bytes).unwrap();
        }
    }

    /// The list that the newest log gives, line for line.
    fn replayed(&self) -> Vec<Task> {
        let store = SessionStore::new(self.world.home());
        let info = store.list_all().unwrap().remove(0);
        let mut report = pod::verify::verify(&RealDisk, &info).unwrap();
        report.segments.pop().unwrap().tasks
    }

    /// The list as the program shows it, which reads the log by another road.
    fn shown(&self) -> Vec<(String, String)> {
        let ran = self.world.pod(&["tasks", "--json"]);
        // 3 and 4 tell of gaps, and of no list at all.
        assert!(matches!(ran.code, Some(0 | 3 | 4)), "{}", ran.stderr);
        let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
        let text = |task: &Value, field: &str| task[field].as_str().unwrap().to_owned();
        let tasks = listed["tasks"].as_array().unwrap().iter();
        tasks
            .map(|task| (text(task, "subject"), text(task, "status")))
            .collect()
    }

    /// Harms each line of the newest segment in each way. Gives how many logs were refused, and how
    /// many gone on with.
    fn harm_each_line(&self) -> (u32, u32) {
        let whole = self.files();
        let (path, bytes) = whole.last().unwrap().clone();
        let lines: Vec<Vec<u8>> = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let (mut refused, mut accepted) = (0, 0);
        for at in 0..lines.len() {
            for harm in HARMS {
                let Some(harmed) = harm.done(&lines, at) else {
                    continue;
                };
                let name = format!("{}, line {} {harm:?}", self.model, at + 1);
                self.put(&whole);
                std::fs::write(&path, harmed.concat()).unwrap();
                let damaged = self.files();
                let asked = self.server.request_count();
                let go_on = ["--continue", "-p", "go on"];
                let ran = self.run(&go_on);
                if ran.code == Some(1) {
                    refused += 1;
                    assert_eq!(self.server.request_count(), asked, "{name}");
                    assert_eq!(self.files(), damaged, "{name}");
                    assert_eq!(ran.stderr.lines().count(), 1, "{name}: {}", ran.stderr);
                    // What does not begin as a log does has no line to be named.
                    let place = if at == 0 {
                        "not a session log"
                    } else {
                        ": line "
                    };
                    assert!(ran.stderr.contains(place), "{name}: {}", ran.stderr);
                    assert!(ran.stderr.contains("--salvage"), "{name}: {}", ran.stderr);
                    assert_eq!(self.world.pod(&["verify"]).code, Some(1), "{name}");
                    if path.ends_with("0001.jsonl") && ran.stderr.contains("not a session log") {
                        // Without its header nothing says what the only segment is.
                        continue;
                    }
                    let _ = self.run(&[&go_on[..], &["--salvage"]].concat()).success();
                    let after = self.files();
                    assert!(damaged.iter().all(|it| after.contains(it)), "{name}");
                } else {
                    accepted += 1;
                    let _ = ran.success();
                }
                let violations = self.server.take_violations();
                assert!(violations.is_empty(), "{name}: {}", violations.join("\n"));
                assert_eq!(self.server.request_count(), asked + 1, "{name}");
                self.check_list(&name);
            }
        }
        self.put(&whole);
        (refused, accepted)
    }

    fn check_list(&self, name: &str) {
        let replayed = self.replayed();
        let subjects: HashSet<&str> = replayed.iter().map(|task| task.subject.as_str()).collect();
        assert_eq!(subjects.len(), replayed.len(), "{name}: {replayed:?}");
        let replayed: Vec<(String, String)> = replayed
            .into_iter()
            .map(|task| (task.subject, task.status.to_string()))
            .collect();
        assert_eq!(self.shown(), replayed, "{name}");
    }
}

#[test]
fn br_065_br_102_no_line_that_is_lost_doubled_or_moved_leads_to_a_wrong_request() {
    for model in MODELS {
        let patient = Patient::new(model);
        let _ = patient.run(&["-p", "plan"]).success();
        let _ = patient.run(&["--continue", "-p", "go on"]).success();
        let (refused, accepted) = patient.harm_each_line();
        println!("{model}: {refused} logs refused, {accepted} gone on with");
        assert!(refused > 20 && accepted > 5, "{refused} {accepted}");

        let _ = patient.run(&["compact"]).success();
        let _ = patient.run(&["--continue", "-p", "go on"]).success();
        assert_eq!(patient.files().len(), 2);
        let (refused, accepted) = patient.harm_each_line();
        println!("{model}, compacted: {refused} logs refused, {accepted} gone on with");
        assert!(refused > 10 && accepted > 5, "{refused} {accepted}");
        patient.server.finish();
    }
}
