//! What a change of the task list costs, by the number of tasks that are there already.
//!
//! ```sh
//! cargo bench -p tools --bench task_store
//! ```
//!
//! Measured is the whole road of a change through this crate: the tool reads the arguments, plans
//! the change and reports it, then the result enters the history and the fold applies it. After the
//! table of divan, the last lines give the ratio of 100,000 tasks to 10.
//!
//! `task_instructions.sh` beside this file shows the same without a clock. It starts this program as
//! `task_store count KIND EXISTING CHANGES`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that shows numbers, and has none to show if something fails"
)]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use serde_json::{Value, json};
use tools::task::{self, TaskFold, TaskOperation, TaskStore};
use tools::{Call, ToolOutput};

const SIZES: [u32; 4] = [10, 1_000, 10_000, 100_000];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, kind, existing, changes] = &arguments[..]
        && command == "count"
    {
        let mut session = Session::new(existing.parse().unwrap());
        for _ in 0..changes.parse().unwrap() {
            session.change(kind);
        }
        return;
    }
    divan::main();
    if arguments.iter().any(|argument| argument == "--bench") {
        ratios();
    }
}

// One change a sample and few samples, so that a list of 10 stays a short list.
#[divan::bench(args = SIZES, sample_count = 100, sample_size = 1)]
fn create(bencher: Bencher<'_, '_>, existing: u32) {
    let mut session = Session::new(existing);
    bencher.bench_local(|| session.change("create"));
}

#[divan::bench(args = SIZES, sample_count = 1_000, sample_size = 10)]
fn update(bencher: Bencher<'_, '_>, existing: u32) {
    let mut session = Session::new(existing);
    bencher.bench_local(|| session.change("update"));
}

#[divan::bench(args = SIZES)]
fn get(bencher: Bencher<'_, '_>, existing: u32) {
    let session = Session::new(existing);
    let arguments = json!({"taskid": existing / 2});
    bencher.bench_local(|| session.call("TaskGet", &arguments));
}

/// The only one that may grow with the list, up to the limit of a result.
#[divan::bench(args = SIZES, sample_count = 20)]
fn list(bencher: Bencher<'_, '_>, existing: u32) {
    let session = Session::new(existing);
    bencher.bench_local(|| session.call("TaskList", &json!({})));
}

/// So many calls folded again, as a resume does.
#[divan::bench(args = [10, 1_000, 10_000], sample_count = 20)]
fn replay(bencher: Bencher<'_, '_>, calls: u32) {
    let arguments: Vec<(String, Value)> = (0..calls)
        .map(|number| {
            let arguments = json!({
                "subject": format!("Write part {number} of the program"),
                "description": "All about it.",
            });
            (format!("call_{number}"), arguments)
        })
        .collect();
    bencher
        .counter(ItemsCount::new(calls))
        .with_inputs(|| TaskFold::new(TaskStore::new()))
        .bench_local_values(|mut fold| {
            for (id, arguments) in &arguments {
                fold.call(id, "TaskCreate", arguments);
                fold.result(id, false, None).unwrap();
            }
            fold
        });
}

/// The whole list as a person sees it.
#[divan::bench(args = SIZES, sample_count = 20)]
fn render(bencher: Bencher<'_, '_>, existing: u32) {
    let tasks = Session::new(existing).fold.store().snapshot();
    bencher.bench_local(|| task::render::list(&tasks, usize::MAX));
}

/// The whole list as a compaction writes it.
#[divan::bench(args = SIZES, sample_count = 20)]
fn snapshot(bencher: Bencher<'_, '_>, existing: u32) {
    let session = Session::new(existing);
    bencher.bench_local(|| serde_json::to_string(session.fold.store()).unwrap());
}

/// A task list and the history that changes it.
struct Session {
    fold: TaskFold,
    calls: u32,
}

impl Session {
    fn new(existing: u32) -> Self {
        let store = TaskStore::new();
        for number in 0..existing {
            let operation = TaskOperation::Create {
                subject: format!("Write part {number} of the program"),
                description: "What is to be known about it. ".repeat(4),
                active_form: None,
            };
            store.apply(&operation).unwrap();
        }
        Self {
            fold: TaskFold::new(store),
            calls: 0,
        }
    }

    fn call(&self, name: &str, arguments: &Value) -> ToolOutput {
        let tools = task::all(self.fold.store());
        let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
        let mut future = pin!(tool.call(Call {
            id: "call",
            arguments
        }));
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(result) => result.unwrap(),
            Poll::Pending => unreachable!("task tools never wait"),
        }
    }

    fn change(&mut self, kind: &str) {
        self.calls += 1;
        let total = self.fold.store().counts().total();
        let (name, arguments) = if kind == "create" {
            let subject = format!("Write part {total} of the program");
            (
                "TaskCreate",
                json!({"subject": subject, "description": "All about it."}),
            )
        } else {
            let id = self.calls.wrapping_mul(7_919) % total + 1;
            let status = if self.calls.is_multiple_of(2) {
                "pending"
            } else {
                "completed"
            };
            ("TaskUpdate", json!({"taskid": id, "status": status}))
        };
        let id = format!("call_{}", self.calls);
        black_box(self.call(name, &arguments));
        self.fold.call(&id, name, &arguments);
        black_box(self.fold.result(&id, false, None).unwrap());
    }
}

/// The middle of the times of single changes, at the smallest and the largest size.
fn ratios() {
    for kind in ["create", "update"] {
        let [small, large] = [SIZES[0], SIZES[3]].map(|existing| {
            let mut session = Session::new(existing);
            let mut times: Vec<Duration> = (0..200)
                .map(|_| {
                    let begin = Instant::now();
                    session.change(kind);
                    begin.elapsed()
                })
                .collect();
            times.sort();
            times[times.len() / 2]
        });
        println!(
            "{kind}: {small:?} at {} tasks, {large:?} at {} tasks, ratio {:.2}",
            SIZES[0],
            SIZES[3],
            large.as_secs_f64() / small.as_secs_f64()
        );
    }
}
