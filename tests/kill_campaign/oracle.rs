//! The model of the campaign, and what it was told: the acknowledged truth.
//!
//! It answers as the provider would, decides by nothing but what it was told, and keeps a list of its
//! own, in a few lines that share nothing with the product. Whatever contradicts what it was told
//! before is noted.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::Sender;

use serde_json::{Value, json};
use testkit::server::{Block, Reply};

/// A task as the model knows it. The place in the list is its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) subject: String,
    pub(super) description: String,
    pub(super) status: &'static str,
}

/// What a call of the model means.
#[derive(Clone, Debug)]
enum Intent {
    Create(Known),
    /// A change of the task with this id.
    Update(usize, &'static str),
    List,
    /// Nothing that concerns the list.
    Other,
}

struct Made {
    intent: Intent,
    /// Whether it succeeded, once that was told.
    outcome: Option<bool>,
}

/// The model, what it was told, and what was wrong with that.
pub(super) struct Oracle {
    /// How many tasks it makes and finishes.
    goal: usize,
    dice: Dice,
    tasks: Vec<Known>,
    calls: HashMap<String, Made>,
    /// The calls of the last answer, in order.
    open: Vec<String>,
    /// What the last request of the agent said, block by block.
    said: Vec<Value>,
    /// Whether a worker was asked since.
    has_worked: bool,
    /// The lists that Pod showed by itself.
    shown: HashSet<String>,
    /// Who is told of the nth request from here.
    alarm: Option<(u32, Sender<()>)>,
    pub(super) faults: Vec<String>,
    pub(super) figures: Figures,
}

/// What the model saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) answers: u64,
    pub(super) changes: u64,
    pub(super) interrupted: u64,
    pub(super) summaries: u64,
}

impl Oracle {
    /// A model that makes and finishes so many tasks.
    pub(super) fn new(goal: usize, seed: u64) -> Self {
        Self {
            goal,
            dice: Dice(seed),
            tasks: Vec::new(),
            calls: HashMap::new(),
            open: Vec::new(),
            said: Vec::new(),
            has_worked: false,
            shown: HashSet::new(),
            alarm: None,
            faults: Vec::new(),
            figures: Figures::default(),
        }
    }

    /// Whether all that was to be done is done.
    pub(super) fn is_done(&self) -> bool {
        self.tasks.len() >= self.goal && self.tasks.iter().all(|task| is_over(task.status))
    }

    /// The list as it was acknowledged.
    pub(super) fn tasks(&self) -> &[Known] {
        &self.tasks
    }

    /// The lists that the log may hold: what was acknowledged, and with it one call after the other of
    /// those whose results were not told yet.
    pub(super) fn possible(&self) -> Vec<Vec<Known>> {
        let mut list = self.tasks.clone();
        let mut lists = vec![list.clone()];
        for id in &self.open {
            let made = &self.calls[id];
            if made.outcome.is_none() {
                apply(&mut list, &made.intent);
                lists.push(list.clone());
            }
        }
        lists
    }

    /// Tells when the nth request from here comes.
    pub(super) fn wake_at(&mut self, nth: u32, whom: Sender<()>) {
        self.alarm = Some((nth, whom));
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, request: &Value) -> Reply {
        if let Some((left, whom)) = &mut self.alarm {
            *left = left.saturating_sub(1);
            if *left == 0 {
                let _ = whom.send(());
                self.alarm = None;
            }
        }
        if request["tools"].to_string().contains("write_summary") {
            self.has_worked = true;
            self.figures.summaries += 1;
            let text = "Tasks are made and finished one after the other. All of them are pending.";
            let id = format!("w{}", self.figures.summaries);
            return Reply::turn([Block::call(&id, "write_summary", &json!({"text": text}))]);
        }
        self.hear(request);
        self.decide()
    }

    /// Takes in what a request tells.
    fn hear(&mut self, request: &Value) {
        let said = blocks(request);
        if !self.has_worked && !extends(&said, &self.said) {
            let mut pairs = self.said.iter().zip(&said);
            let old = pairs.find(|(old, new)| old != new);
            self.note(format!("the past was rewritten: {old:?}"));
        }
        self.has_worked = false;
        for block in &said {
            if let Some((id, is_error, text)) = result(block) {
                self.told(&id, is_error, &text);
            }
        }
        let present: HashSet<&str> = said.iter().filter_map(call_id).collect();
        for id in std::mem::take(&mut self.open) {
            // An answer that was cut off on its way is not in the request at all.
            if self.calls[&id].outcome.is_none() && present.contains(id.as_str()) {
                self.note(format!("call {id} has no result"));
            }
        }
        self.said = said;
    }

    /// A result was told: by a request, or by a line that the program printed.
    pub(super) fn told(&mut self, id: &str, is_error: bool, text: &str) {
        let Some(made) = self.calls.get_mut(id) else {
            // The list that Pod itself shows after a compaction.
            if id.starts_with("pod_") && self.shown.insert(id.to_owned()) && !is_error {
                self.catch_up(text);
            }
            return;
        };
        if let Some(before) = made.outcome {
            if before == is_error {
                self.note(format!("the outcome of {id} changed: {text}"));
            }
            return;
        }
        made.outcome = Some(!is_error);
        if is_error {
            self.figures.interrupted += u64::from(text.contains("outcome unknown"));
            return;
        }
        let intent = made.intent.clone();
        match &intent {
            Intent::Create(_) | Intent::Update(..) => {
                self.figures.changes += 1;
                apply(&mut self.tasks, &intent);
                let place = match intent {
                    Intent::Update(id, _) => id,
                    _ => self.tasks.len(),
                };
                let task = &self.tasks[place - 1];
                let begins = text.starts_with(&format!("#{place} ["));
                if !begins || !text.contains(&task.subject) {
                    self.note(format!("{id} told of another task than #{place}: {text}"));
                }
            }
            Intent::List => self.check_list(text),
            Intent::Other => {}
        }
    }

    /// A compaction may take results along before they were told. The list that is shown then has what
    /// they did.
    fn catch_up(&mut self, text: &str) {
        let waiting = self
            .open
            .iter()
            .filter(|id| self.calls[*id].outcome.is_none());
        let waiting: Vec<String> = waiting.cloned().collect();
        let lists = self.possible();
        let Some(place) = lists.iter().position(|list| is_shown(list, text)) else {
            return self.check_list(text);
        };
        self.tasks.clone_from(&lists[place]);
        for id in waiting.into_iter().take(place) {
            if let Some(made) = self.calls.get_mut(&id) {
                made.outcome = Some(true);
            }
        }
    }

    /// That a list that is shown has every task, as it is.
    fn check_list(&mut self, text: &str) {
        if !is_shown(&self.tasks, text) {
            let known = &self.tasks;
            let known = format!("{known:#?}\nwas shown as: {text}");
            self.note(known);
        }
    }

    /// The next answer.
    fn decide(&mut self) -> Reply {
        if self.is_done() {
            return Reply::text("All is done.");
        }
        self.figures.answers += 1;
        let mut list = self.tasks.clone();
        let mut blocks = vec![Block::text("Next.")];
        for _ in 0..self.dice.up_to(4) {
            let intent = next_change(&list, self.goal, &mut self.dice);
            let Some(intent) = intent else { break };
            let (name, arguments) = match &intent {
                Intent::Create(task) => (
                    "TaskCreate",
                    json!({"subject": task.subject, "description": task.description}),
                ),
                Intent::Update(id, status) => {
                    ("TaskUpdate", json!({"taskid": id, "status": status}))
                }
                Intent::List | Intent::Other => continue,
            };
            apply(&mut list, &intent);
            blocks.push(self.call(intent, name, &arguments));
        }
        let (name, arguments) = match self.dice.up_to(12) {
            1 | 9 => ("Bash", json!({"command": "sleep 0.02; echo done"})),
            2 => ("Read", json!({"file_path": "notes.txt"})),
            3 => ("Grep", json!({"pattern": "line 7"})),
            4 => ("TaskGet", json!({"taskid": 1})),
            5 => (
                "TaskUpdate",
                json!({"taskid": 99_999, "status": "completed"}),
            ),
            6 | 7 => ("TaskList", json!({})),
            8 => ("Write", json!({"file_path": "new.txt", "content": "x"})),
            _ => ("", json!({})),
        };
        if !name.is_empty() {
            let intent = if name == "TaskList" {
                Intent::List
            } else {
                Intent::Other
            };
            let place = self.dice.up_to(blocks.len());
            blocks.insert(place, self.call(intent, name, &arguments));
            self.open = blocks.iter().filter_map(id_of).collect();
        }
        let reply = Reply::turn(blocks).piece(self.dice.up_to(40));
        match self.dice.up_to(3) {
            1 => reply.interleaved().split_every(self.dice.up_to(200)),
            _ => reply,
        }
    }

    fn call(&mut self, intent: Intent, name: &str, arguments: &Value) -> Block {
        let id = format!("call_{}", self.calls.len() + 1);
        let outcome = None;
        self.calls.insert(id.clone(), Made { intent, outcome });
        self.open.push(id.clone());
        Block::call(&id, name, arguments)
    }

    fn note(&mut self, fault: String) {
        self.faults.push(fault);
    }
}

/// Whether a text shows every task of a list, as it is. In one dialect deleted ones are not shown.
fn is_shown(list: &[Known], text: &str) -> bool {
    // An old one that a compaction carried may be cut.
    if text.ends_with("[shortened when the conversation was compacted]") {
        return true;
    }
    let shows_deleted = text.contains("deleted");
    let all = (1..).zip(list);
    let due: Vec<(usize, &Known)> = all
        .filter(|(_, task)| shows_deleted || task.status != "deleted")
        .collect();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    let is_row = |(row, (place, task)): (&&str, &(usize, &Known))| {
        // `inprogress` or `in_progress`.
        let status = task.status.trim_start_matches("in");
        row.starts_with(&format!("#{place} ["))
            && row.contains(&format!("{status}]"))
            && row.contains(&task.subject)
    };
    rows.len() == due.len() && rows.iter().zip(&due).all(is_row)
}

fn id_of(block: &Block) -> Option<String> {
    match block {
        Block::Call(id, ..) => Some(id.clone()),
        _ => None,
    }
}

fn is_over(status: &str) -> bool {
    matches!(status, "completed" | "deleted")
}

/// What the model does next: it goes on with a task, or makes one.
fn next_change(list: &[Known], goal: usize, dice: &mut Dice) -> Option<Intent> {
    let open: Vec<usize> = (1..=list.len())
        .filter(|id| !is_over(list[id - 1].status))
        .collect();
    if list.len() < goal && (open.is_empty() || dice.up_to(3) == 1) {
        let number = list.len() + 1;
        return Some(Intent::Create(Known {
            subject: format!("job {number} — 仕事"),
            description: format!("What job {number} is about.\nAnd a second line."),
            status: "pending",
        }));
    }
    let id = *open.get(dice.up_to(open.len().max(1)) - 1)?;
    let status = match list[id - 1].status {
        "pending" if dice.up_to(20) == 1 => "deleted",
        "pending" => "inprogress",
        _ => "completed",
    };
    Some(Intent::Update(id, status))
}

fn apply(list: &mut Vec<Known>, intent: &Intent) {
    match intent {
        Intent::Create(task) => list.push(task.clone()),
        Intent::Update(id, status) => list[id - 1].status = status,
        Intent::List | Intent::Other => {}
    }
}

/// What a request says, block by block: however the protocol groups them.
fn blocks(request: &Value) -> Vec<Value> {
    let mut blocks = Vec::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        match message["content"].as_array() {
            Some(parts) if message["tool_calls"].is_null() => {
                for part in parts {
                    let mut part = part.clone();
                    if let Some(fields) = part.as_object_mut() {
                        fields.remove("cache_control");
                    }
                    blocks.push(json!([message["role"], part]));
                }
            }
            _ => blocks.push(message.clone()),
        }
    }
    blocks
}

/// Whether a request begins as the one before did. A protocol may have no two messages of a user in a
/// row: then the last one goes on.
fn extends(said: &[Value], before: &[Value]) -> bool {
    let Some((last, rest)) = before.split_last() else {
        return true;
    };
    let last = last.to_string();
    let begin = last.trim_end_matches(['"', '}', ']']);
    said.starts_with(rest)
        && said
            .get(rest.len())
            .is_some_and(|block| block.to_string().starts_with(begin))
}

/// A result that a block tells: the call, whether it failed, and the text.
fn result(block: &Value) -> Option<(String, bool, String)> {
    let text_of = |content: &Value| {
        let parts = content.as_array().into_iter().flatten();
        let texts = parts.filter_map(|part| part["text"].as_str());
        content
            .as_str()
            .map_or_else(|| texts.collect(), str::to_owned)
    };
    if block["role"] == "tool" {
        let text = text_of(&block["content"]);
        let is_error = text.trim_start().starts_with("Error:");
        return Some((block["tool_call_id"].as_str()?.to_owned(), is_error, text));
    }
    let part = block.get(1)?;
    (part["type"] == "tool_result").then(|| {
        let id = part["tool_use_id"].as_str().unwrap_or_default().to_owned();
        (id, part["is_error"] == true, text_of(&part["content"]))
    })
}

/// The id of a call that a block makes. Of several in one message the first is enough.
fn call_id(block: &Value) -> Option<&str> {
    let part = block.get(1).filter(|part| part["type"] == "tool_use");
    let call = part.unwrap_or(&block["tool_calls"][0]);
    call["id"].as_str()
}

/// Numbers that look like chance and are the same for a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number from 1 to the largest, which is at least 1.
    pub(super) fn up_to(&mut self, largest: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let largest = u64::try_from(largest).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % largest).unwrap() + 1
    }
}
