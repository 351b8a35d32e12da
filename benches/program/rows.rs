//! The rows of the table, one for each goal of the program.

use std::time::Duration;

use crate::fixture;
use crate::measure::{Bench, Who, bytes_below, children_time, gaps, median};
use crate::server::Exchange;

/// A row, and the word by which it is asked for.
pub(crate) const ALL: [(&str, fn()); 7] = [
    ("start", start),
    ("processor", processor),
    ("session", session),
    ("growth", growth),
    ("resume", resume),
    ("binary", binary),
    ("table", table),
];

const STARTS: usize = 41;
const SESSIONS: u32 = 60;

fn line(name: &str, pod: &str, floor: &str, ratio: Option<f64>, goal: &str) {
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    println!("{name:44} {pod:>11} {floor:>11} {ratio:>8}   {goal}");
}

fn times(name: &str, pod: Duration, floor: Duration, goal: &str) {
    let show = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let ratio = pod.as_secs_f64() / floor.as_secs_f64();
    line(name, &show(pod), &show(floor), Some(ratio), goal);
}

/// From the start of the program to the first request, complete. There are sessions already: the very
/// first one also makes three directories, and waits for the disk for each.
fn start() {
    let bench = Bench::new();
    bench.run(Who::Pod, false, fixture::turns::<0>);
    let mut taken = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (taken, who) in taken
            .iter_mut()
            .zip([Who::Pod, Who::Floor, Who::FloorWithSync])
        {
            let run = bench.run(who, false, fixture::turns::<0>);
            taken.push(run.exchanges[0].read - run.start);
        }
    }
    let [pod, floor, with_sync] = taken.map(median);
    times("start to first request", pod, floor, "3");
    times("  beside the floor with sync", pod, with_sync, "");
}

/// Processor time of a session of one turn.
fn processor() {
    let bench = Bench::new();
    let taken = [Who::Pod, Who::Floor].map(|who| {
        let before = children_time();
        for _ in 0..SESSIONS {
            bench.clear();
            bench.run(who, false, fixture::turns::<0>);
        }
        children_time().saturating_sub(before) / SESSIONS
    });
    times("processor time, one turn", taken[0], taken[1], "8 ms");
}

/// 200 turns with 100 tasks that are made and completed.
fn session() {
    let bench = Bench::new();
    let run = |who| {
        bench.clear();
        bench.run(who, false, fixture::turns::<200>)
    };
    let examine = |who| {
        bench.clear();
        bench.examine(who, false, fixture::turns::<200>)
    };
    let with_sync = run(Who::FloorWithSync);
    let pod = run(Who::Pod);
    let between = |exchanges| median(gaps(exchanges));
    times(
        "answer to next request, of 200 turns",
        between(&pod.exchanges),
        between(&with_sync.exchanges),
        "3, floor with sync",
    );
    let floor = examine(Who::Floor);
    let log = bytes_below(&bench.floor_log());
    let pod = examine(Who::Pod);
    memory("peak memory, 200 turns", pod.memory, floor.memory, "16 MiB");
    let own = bytes_below(&bench.home());
    count("log on disk, 200 turns, bytes", own, log, "200 KB");
    let first = |exchanges: &[Exchange]| exchanges[0].body.len() as u64 / 4;
    count(
        "tokens of the first request (bytes/4)",
        first(&pod.exchanges),
        first(&floor.exchanges),
        "2,500",
    );
    let all =
        |exchanges: &[Exchange]| exchanges.iter().map(|it| it.body.len() as u64).sum::<u64>() / 4;
    count(
        "tokens sent in 200 turns (bytes/4)",
        all(&pod.exchanges),
        all(&floor.exchanges),
        "2.7 M",
    );
    let kept = pod
        .exchanges
        .windows(2)
        .filter(|pair| extends(&pair[0].body, &pair[1].body));
    let share = 100 * kept.count() / (pod.exchanges.len() - 1);
    line(
        "requests that extend the one before",
        &format!("{share} %"),
        "",
        None,
        "100 %",
    );
}

/// Whether a request begins with all that the one before had, but for its end and the cache marks.
fn extends(before: &[u8], after: &[u8]) -> bool {
    let plain = |body: &[u8]| {
        let text = String::from_utf8_lossy(body);
        text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
    };
    let (before, after) = (plain(before), plain(after));
    // `]}` closes the list of messages and the request.
    let open = before.trim_end_matches('}').trim_end_matches(']');
    after.starts_with(open)
}

/// The time between turns does not grow with the history, but for the bytes that must be sent.
fn growth() {
    let bench = Bench::new();
    for turns in [50, 5_000] {
        bench.clear();
        fixture::session(&bench.home(), &bench.work(), turns, false);
        fixture::floor_log(&bench.floor_log(), turns);
        let pod = bench.run(Who::Pod, true, fixture::updates::<40>);
        let floor = bench.run(Who::FloorWithSync, true, fixture::updates::<40>);
        times(
            &format!("answer to next request, at turn {turns}"),
            median(gaps(&pod.exchanges)),
            median(gaps(&floor.exchanges)),
            "50 to 5,000: 1.5",
        );
        let whole = |exchanges: &[Exchange]| {
            let sent = exchanges
                .windows(2)
                .map(|pair| pair[1].read - pair[0].answered);
            median(sent.collect())
        };
        times(
            "  with all of the request sent",
            whole(&pod.exchanges),
            whole(&floor.exchanges),
            "",
        );
    }
}

/// A session of 10,000 turns goes on.
fn resume() {
    let bench = Bench::new();
    let runs = |who, compacted, turns: usize| {
        bench.clear();
        fixture::session(&bench.home(), &bench.work(), turns, compacted);
        fixture::floor_log(&bench.floor_log(), turns);
        let taken = (0..11).map(|_| {
            let run = bench.run(who, true, fixture::turns::<0>);
            run.exchanges[0].read - run.start
        });
        let taken = median(taken.collect());
        let examined = bench.examine(who, true, fixture::turns::<0>);
        (taken, examined.memory)
    };
    let (floor, floor_memory) = runs(Who::Floor, false, 10_000);
    let (pod, pod_memory) = runs(Who::Pod, false, 10_000);
    times("resume of 10,000 turns to first request", pod, floor, "3");
    memory("peak memory of that", pod_memory, floor_memory, "32 MiB");
    let (short, _) = runs(Who::Pod, true, 1_000);
    let (long, _) = runs(Who::Pod, true, 10_000);
    times(
        "  compacted (floor: compacted, 1,000 turns)",
        long,
        short,
        "1.5",
    );
    let (uncompacted, _) = runs(Who::Pod, false, 200);
    times("  compacted (floor: 200 turns)", long, uncompacted, "");
}

/// What a change costs, by how long the session is and by how many tasks it has.
fn table() {
    println!(
        "\n{:>14} {:>14} {:>14} {:>12} {:>14} {:>14}",
        "", "next request", "resume", "peak memory", "log a change", "tokens a change"
    );
    for turns in [10, 100, 1_000, 10_000] {
        table_line(&format!("{turns} turns"), |bench| {
            fixture::session(&bench.home(), &bench.work(), turns, false);
        });
    }
    for tasks in [10, 100, 1_000, 10_000] {
        table_line(&format!("{tasks} tasks"), |bench| {
            fixture::session_with_tasks(&bench.home(), &bench.work(), tasks);
        });
    }
}

fn table_line(name: &str, make: impl FnOnce(&Bench)) {
    const CHANGES: usize = 40;
    let bench = Bench::new();
    make(&bench);
    let resumed = bench.run(Who::Pod, true, fixture::turns::<0>);
    let before = bytes_below(&bench.home());
    let run = bench.examine(Who::Pod, true, fixture::updates::<CHANGES>);
    let log = (bytes_below(&bench.home()) - before) / CHANGES as u64;
    let body = |at: usize| run.exchanges[at].body.len();
    println!(
        "{name:>14} {:>11.2} ms {:>11.2} ms {:>8.1} MiB {:>8} bytes {:>14}",
        median(gaps(&run.exchanges)).as_secs_f64() * 1e3,
        (resumed.exchanges[0].read - resumed.start).as_secs_f64() * 1e3,
        run.memory as f64 / 1024.0,
        log,
        (body(CHANGES) - body(0)) / CHANGES / 4,
    );
}

/// The size of the program.
fn binary() {
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_pod"))
        .expect("the program")
        .len();
    line(
        "binary",
        &format!("{:.1} MB", size as f64 / 1e6),
        "",
        None,
        "8 MB",
    );
}

fn memory(name: &str, pod: u64, floor: u64, goal: &str) {
    let show = |kilobytes: u64| format!("{:.1} MiB", kilobytes as f64 / 1024.0);
    line(
        name,
        &show(pod),
        &show(floor),
        Some(pod as f64 / floor as f64),
        goal,
    );
}

fn count(name: &str, pod: u64, floor: u64, goal: &str) {
    line(
        name,
        &pod.to_string(),
        &floor.to_string(),
        Some(pod as f64 / floor as f64),
        goal,
    );
}
