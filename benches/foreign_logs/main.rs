//! How fast `pod tasks` reads logs of other agents, beside tools that only look for a word.
//!
//! ```text
//! cargo bench --bench foreign_logs            # makes the logs anew each time, 1.3 GB in the temporary folder
//! cargo bench --bench foreign_logs -- 5       # the one large log with 5 GB
//! ```
//!
//! What is measured is also held to be right: the list has the tasks that were written into the log.
//!
//! Each line is the best of several runs: time, the ratio to `rg -c` on the same file in the same run, and
//! the most memory. `rg` is ripgrep; without it the ratio is left out.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a program for developers, which may end when something is wrong"
)]

mod generate;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often each is run.
const RUNS: usize = 5;

const GIGABYTE: u64 = 1_000_000_000;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pod = env!("CARGO_BIN_EXE_pod");

    let gigabytes = std::env::args().find_map(|argument| argument.parse::<u64>().ok());
    let large = folder.path().join("large.jsonl");
    let (bytes, tasks) = write(&large, gigabytes.unwrap_or(1) * GIGABYTE, 7);
    let large = large.display().to_string();
    println!(
        "one Claude Code log of {:.2} GB, best of {RUNS} runs",
        bytes as f64 / 1e9
    );
    let rg = measure(
        "rg -c '\"name\":\"Task'",
        "rg",
        &["-c", "\"name\":\"Task", &large],
        None,
    );
    measure("wc -l", "wc", &["-l", &large], rg);
    measure("pod tasks LOG", pod, &["tasks", &large], rg);
    assert_eq!(listed(pod, &large), tasks, "tasks in the list");
    let stdin = ["-c", "cat \"$1\" | \"$2\" tasks -", "sh", &large, pod];
    measure("cat LOG | pod tasks -", "sh", &stdin, rg);
    following(pod, Path::new(&large));

    // Sizes as in `real-logs.md` section 4: most are about a megabyte.
    let many = folder.path().join("many");
    fs::create_dir(&many).expect("a folder");
    let mut total = 0;
    for seed in 0..1_000 {
        let size = [60_000, 110_000, 150_000, 200_000, 690_000][seed as usize % 5];
        total += write(&many.join(format!("{seed}.jsonl")), size, seed).0;
    }
    let many = many.display().to_string();
    println!("\na folder of 1,000 logs, {:.2} GB", total as f64 / 1e9);
    let rg = measure(
        "rg -c, on all cores",
        "rg",
        &["-c", "\"name\":\"Task", &many],
        None,
    );
    measure("pod tasks FOLDER", pod, &["tasks", &many], rg);
    let one_core = ["-c", "taskset -c 0 \"$1\" tasks \"$2\"", "sh", pod, &many];
    measure("pod tasks FOLDER, on one core", "sh", &one_core, rg);
}

/// Writes a log of about so many bytes. Tells how many it has, and how many tasks are made in it.
fn write(path: &Path, bytes: u64, seed: u64) -> (u64, u64) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).expect("a file"));
    let written = generate::session(&mut out, bytes, seed).expect("a log");
    out.flush().expect("a log");
    written
}

/// How many tasks `pod` finds in the log.
fn listed(pod: &str, log: &str) -> u64 {
    let run = Command::new(pod).args(["tasks", "--json", log]).output();
    let json = run.expect("pod").stdout;
    let list: serde_json::Value = serde_json::from_slice(&json).expect("a list");
    list["tasks"].as_array().map_or(0, Vec::len) as u64
}

/// Runs a program several times and prints the best time; `None` if it is not there.
fn measure(
    name: &str,
    program: &str,
    arguments: &[&str],
    rg: Option<Duration>,
) -> Option<Duration> {
    let mut best: Option<Duration> = None;
    let mut memory = 0;
    for _ in 0..RUNS {
        let begin = Instant::now();
        // GNU time tells the most memory that a program had.
        let run = Command::new("/usr/bin/time")
            .args(["-f", "%M", program])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .output();
        let Ok(run) = run else {
            println!("{name:36} cannot be run");
            return None;
        };
        let took = begin.elapsed();
        best = Some(best.map_or(took, |best| best.min(took)));
        let told = String::from_utf8_lossy(&run.stderr);
        let kilobytes = told
            .lines()
            .last()
            .and_then(|line| line.trim().parse::<u64>().ok());
        memory = memory.max(kilobytes.unwrap_or(0));
    }
    let ratio = match (best, rg) {
        (Some(best), Some(rg)) => format!("{:5.2} x rg", best.as_secs_f64() / rg.as_secs_f64()),
        _ => String::from("        "),
    };
    let seconds = best?.as_secs_f64();
    println!(
        "{name:36} {seconds:7.3} s {ratio:12} {:8.1} MiB",
        memory as f64 / 1024.0
    );
    best
}

/// What it costs to see a line that was added to a log that is followed.
fn following(pod: &str, log: &Path) {
    let mut child = Command::new(pod)
        .args(["tasks", "--follow", "--json"])
        .arg(log)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("pod");
    let processor_time = |child: u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let fields: Vec<i64> = stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        // `utime` and `stime` in hundredths of a second, see proc(5); the state is no number.
        let field = |at: usize| fields.get(at).copied().unwrap_or(0);
        field(10) + field(11)
    };
    // Until it has read what is there.
    let mut before = -1;
    while processor_time(child.id()) != before {
        before = processor_time(child.id());
        std::thread::sleep(Duration::from_secs(1));
    }
    let mut file = File::options().append(true).open(log).expect("the log");
    for line in 0..20 {
        writeln!(
            file,
            "{{\"type\":\"user\",\"uuid\":\"added{line}\",\"sessionId\":\"s\"}}"
        )
        .expect("a line");
        std::thread::sleep(Duration::from_millis(300));
    }
    let after = processor_time(child.id());
    println!(
        "{:36} {:7.3} s of processor time in 6 s",
        "pod tasks --follow, 20 lines added",
        (after - before) as f64 / 100.0
    );
    let _ = child.kill();
    let _ = child.wait();
}
