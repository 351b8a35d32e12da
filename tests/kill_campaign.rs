//! The program is killed, again and again, and resumed: at random moments, and around each change that
//! it makes to its log.
//!
//! A model behind a server that checks every request works through a list of tasks, for about 200
//! answers, with compactions on the way. What it was told is the truth that nothing may contradict:
//! after each kill the log must hold every change that a request or a printed line acknowledged, each
//! once, and the resumed session must go on so that no request breaks a rule.
//!
//! `POD_KILLS=500` makes the long campaign of it; see `docs/reliability.md`.

#[path = "kill_campaign/oracle.rs"]
mod oracle;

use std::collections::HashSet;
use std::fs::File;
use std::process::Child;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pod::replay::fold_entry;
use pod::session::{RealDisk, segment};
use pod::{SessionInfo, SessionStore};
use serde_json::Value;
use testkit::server::Server;
use tools::task::TaskFold;

use crate::program::World;
use oracle::{Dice, Figures, Known, Oracle};

/// How long a life may last. Only a program that hangs lasts so long.
const PATIENCE: Duration = Duration::from_mins(10);

/// When a life of the program ends.
#[derive(Clone, Debug)]
enum Death {
    /// By SIGKILL, so long after it began.
    AfterStart(Duration),
    /// By SIGKILL, so long after it sent its nth request.
    AfterRequest(u32, Duration),
    /// By its own hand around a change of the log, such as `12:half`.
    AtChange(String),
    /// When its work is done.
    Natural,
}

/// What came of all lives.
#[derive(Debug, Default)]
struct Score {
    sessions: u64,
    kills: u64,
    /// Lives that were over before they could be killed.
    escaped: u64,
    torn: u64,
    compactions: u64,
    missing: u64,
    twice: u64,
    refused: u64,
    unclean: u64,
    other: u64,
    seen: Figures,
    notes: Vec<String>,
}

impl Score {
    fn is_perfect(&self) -> bool {
        self.notes.is_empty()
    }
}

/// A session of the campaign.
struct Patient {
    world: World,
    server: Server,
    oracle: Arc<Mutex<Oracle>>,
    model: &'static str,
    /// Above which size the history is compacted, in tokens.
    threshold: &'static str,
    dice: Dice,
    lives: u64,
}

impl Patient {
    fn new(goal: usize, threshold: &'static str, model: &'static str, seed: u64) -> Self {
        let oracle = Arc::new(Mutex::new(Oracle::new(goal, seed)));
        let asked = Arc::clone(&oracle);
        let server = Server::respond(move |request| lock(&asked).answer(request)).keep(1);
        let world = World::new();
        let lines: Vec<String> = (0..50).map(|number| format!("line {number}")).collect();
        world.write("notes.txt", &lines.join("\n"));
        Self {
            world,
            server,
            oracle,
            model,
            threshold,
            dice: Dice(!seed),
            lives: 0,
        }
    }

    fn info(&self) -> Option<SessionInfo> {
        let store = SessionStore::new(self.world.home());
        store.list(&self.world.work()).unwrap().pop()
    }

    fn start(&mut self, death: &Death, stdout: File) -> Child {
        let mut arguments = vec![
            "--permission-mode",
            "bypassPermissions",
            "--model",
            self.model,
        ];
        // Every other life is one behind the protocol, which speaks another dialect of the tools.
        let format = if self.lives % 2 == 1 {
            "stream-json"
        } else {
            "json"
        };
        arguments.extend(["--output-format", format]);
        // A session that was killed before it was there is begun.
        if self.info().is_some() {
            arguments.extend(["--continue", "-p", "Go on."]);
        } else {
            arguments.extend(["-p", "Work through the jobs."]);
        }
        self.lives += 1;
        let mut command = self.world.command(&arguments);
        command
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("ANTHROPIC_API_KEY", "sk-test")
            .env("OPENAI_BASE_URL", self.server.url())
            .env("OPENAI_API_KEY", "sk-test")
            .env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")
            .env("POD_COMPACT_REQUEST_THRESHOLD", self.threshold)
            .stdout(stdout)
            .stderr(File::create(self.world.home().with_extension("stderr")).unwrap());
        if let Death::AtChange(fault) = death {
            command.env("POD_FAULT_AT", fault);
        }
        command.spawn().unwrap()
    }

    /// Lets the program live until it dies, and examines what it left. Gives whether it was killed.
    fn live(&mut self, death: &Death, score: &mut Score) -> bool {
        let printed = self.world.home().with_extension("stdout");
        let (sender, alarm) = channel();
        if let Death::AfterRequest(nth, _) = death {
            lock(&self.oracle).wake_at(*nth, sender);
        }
        let mut child = self.start(death, File::create(&printed).unwrap());
        match death {
            Death::AfterStart(time) => {
                std::thread::sleep(*time);
                let _ = child.kill();
            }
            Death::AfterRequest(_, time) => {
                // A life that ends before is noticed by the poll.
                let begin = Instant::now();
                while alarm.recv_timeout(Duration::from_millis(20)).is_err()
                    && child.try_wait().unwrap().is_none()
                    && begin.elapsed() < PATIENCE
                {}
                std::thread::sleep(*time);
                let _ = child.kill();
            }
            Death::AtChange(_) | Death::Natural => {}
        }
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begin.elapsed() > PATIENCE {
                let _ = child.kill();
                score.other += 1;
                score.notes.push(String::from("the program hangs"));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let was_killed = status.code().is_none();
        if was_killed {
            score.kills += 1;
        } else if !matches!(death, Death::Natural) {
            score.escaped += 1;
        }
        if status.code().is_some_and(|code| code != 0) {
            score.other += 1;
            let stderr = std::fs::read_to_string(self.world.home().with_extension("stderr"));
            score.notes.push(format!("it failed: {}", stderr.unwrap()));
        }
        self.hear(&std::fs::read_to_string(printed).unwrap_or_default());
        self.examine(death, score);
        was_killed
    }

    /// What was printed is acknowledged too.
    fn hear(&self, printed: &str) {
        let whole = printed
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        for line in whole {
            let line: Value = serde_json::from_str(line).unwrap();
            let blocks = line["message"]["content"].as_array();
            for block in blocks.into_iter().flatten() {
                if block["type"] == "tool_result" {
                    let id = block["tool_use_id"].as_str().unwrap();
                    let text = block["content"].as_str().unwrap_or_default();
                    lock(&self.oracle).told(id, block["is_error"] == true, text);
                }
            }
        }
    }

    /// Holds the log against what was acknowledged.
    fn examine(&self, death: &Death, score: &mut Score) {
        let refused = self.server.take_violations();
        score.refused += refused.len() as u64;
        score.notes.extend(refused);
        let mut oracle = lock(&self.oracle);
        let faults = std::mem::take(&mut oracle.faults);
        score.other += faults.len() as u64;
        score
            .notes
            .extend(faults.into_iter().map(|it| format!("{death:?}: {it}")));
        let Some(info) = self.info() else {
            if !oracle.tasks().is_empty() {
                score.missing += oracle.tasks().len() as u64;
                score.notes.push(format!("{death:?}: the session is gone"));
            }
            return;
        };
        let report = pod::verify::verify(&RealDisk, &info).unwrap();
        if !report.is_clean() {
            score.unclean += 1;
            score.notes.push(format!("{death:?}: {report:#?}"));
        }
        let newest = segment::read(&RealDisk, &info.newest_segment(), true).unwrap();
        score.torn += u64::from(newest.torn.is_some());
        let mut fold = TaskFold::default();
        for located in &newest.entries {
            let _ = fold_entry(&mut fold, &located.entry);
        }
        let logged: Vec<Known> = fold
            .store()
            .snapshot()
            .into_iter()
            .map(|task| Known {
                subject: task.subject,
                description: task.description,
                status: task.status.as_str(),
            })
            .collect();
        let subjects: HashSet<&str> = logged.iter().map(|task| task.subject.as_str()).collect();
        let twice = logged.len() - subjects.len();
        if twice > 0 {
            score.twice += twice as u64;
            score
                .notes
                .push(format!("{death:?}: a task twice: {logged:?}"));
        }
        if !oracle.possible().contains(&logged) {
            let lost = |(place, task): (usize, &Known)| logged.get(place) != Some(task);
            let missing = oracle.tasks().iter().enumerate().filter(|it| lost(*it));
            score.missing += (missing.count() as u64).max(1);
            let told = oracle.tasks();
            score
                .notes
                .push(format!("{death:?}: told {told:?}\nlogged {logged:?}"));
        }
    }

    /// The session is over: what the program says of it is what was acknowledged.
    fn conclude(self, score: &mut Score) {
        let info = self.info().unwrap();
        score.sessions += 1;
        score.compactions += u64::from(info.segment) - 1;
        assert!(lock(&self.oracle).is_done());
        let ran = self.world.pod(&["verify"]);
        if ran.code != Some(0) {
            score.unclean += 1;
            score.notes.push(ran.stdout);
        }
        let shown = self.world.pod(&["tasks", "--json"]).success();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let oracle = lock(&self.oracle);
        for (place, task) in oracle.tasks().iter().enumerate() {
            let it = &shown["tasks"][place];
            if it["subject"] != task.subject || it["status"] != task.status {
                score.missing += 1;
                score.notes.push(format!("{task:?} is shown as {it}"));
            }
        }
        let seen = &mut score.seen;
        seen.answers += oracle.figures.answers;
        seen.changes += oracle.figures.changes;
        seen.interrupted += oracle.figures.interrupted;
        seen.summaries += oracle.figures.summaries;
    }
}

fn lock(oracle: &Mutex<Oracle>) -> MutexGuard<'_, Oracle> {
    oracle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often to kill: `POD_KILLS`, or a few times.
fn kills(default: u64) -> u64 {
    match std::env::var("POD_KILLS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => default,
    }
}

/// The seed of what the model does and of the moments; `POD_SEED` for another one.
fn seed() -> u64 {
    let seed = std::env::var("POD_SEED");
    seed.map_or(1, |text| text.parse().unwrap())
}

fn report(what: &str, score: &Score, begin: Instant) {
    println!("{what}: {:.0} s", begin.elapsed().as_secs_f64());
    println!(
        "  {} sessions, {} kills, {} lives ended before theirs",
        score.sessions, score.kills, score.escaped
    );
    println!(
        "  {} answers of the model, {} changes acknowledged, {} calls interrupted, {} torn lines, {} compactions",
        score.seen.answers,
        score.seen.changes,
        score.seen.interrupted,
        score.torn,
        score.compactions
    );
    println!(
        "  changes missing {}, tasks twice {}, requests refused {}, logs not clean {}, other {}",
        score.missing, score.twice, score.refused, score.unclean, score.other
    );
    assert!(score.is_perfect(), "{}", score.notes.join("\n"));
}

const MODELS: [&str; 2] = ["claude-sonnet-4-5", "openai:gpt-4o"];

#[test]
fn br_021_br_061_killed_at_random_moments_nothing_acknowledged_is_lost() {
    let begin = Instant::now();
    let goal_of_kills = kills(12);
    let is_long = goal_of_kills > 12;
    // About 200 answers of the model, or a few.
    let goal = if is_long { 165 } else { 25 };
    let mut score = Score::default();
    let mut seed = seed();
    while score.kills < goal_of_kills && score.is_perfect() {
        seed += 1;
        let model = MODELS[usize::from(seed.is_multiple_of(2))];
        let threshold = if is_long { "12k" } else { "6k" };
        let mut patient = Patient::new(goal, threshold, model, seed);
        let longest = if is_long { 20 } else { 6 };
        while !lock(&patient.oracle).is_done() && score.is_perfect() {
            let dice = &mut patient.dice;
            let micros = |most: usize, dice: &mut Dice| {
                Duration::from_micros(u64::try_from(dice.up_to(most)).unwrap())
            };
            let death = if dice.up_to(10) == 1 {
                // While it starts, reads the log and closes what is open.
                Death::AfterStart(micros(200_000, dice))
            } else {
                // While it works.
                let nth = u32::try_from(dice.up_to(longest)).unwrap();
                Death::AfterRequest(nth, micros(25_000, dice))
            };
            let death = if score.kills < goal_of_kills {
                death
            } else {
                Death::Natural
            };
            patient.live(&death, &mut score);
        }
        if score.is_perfect() {
            // A last life, which has nothing left to do.
            patient.live(&Death::Natural, &mut score);
            patient.conclude(&mut score);
        }
        if is_long {
            println!("  {} kills in {} sessions", score.kills, score.sessions);
        }
    }
    report("killed at random moments", &score, begin);
    assert!(score.kills >= goal_of_kills);
}

/// Around each change of the file system, in the first life and in the one that resumes.
#[test]
fn killed_around_each_change_of_the_log_nothing_acknowledged_is_lost() {
    let begin = Instant::now();
    let is_long = kills(0) > 0;
    let step = if is_long { 1 } else { 19 };
    let sides = ["before", "half", "after"];
    let mut score = Score::default();
    let mut changes = 0;
    'changes: for nth in (1..).step_by(step) {
        // All three ways, or one after the other.
        let ways = if is_long {
            &sides[..]
        } else {
            &sides[nth % 3..][..1]
        };
        for side in ways {
            // The same session each time: it is the moment that differs.
            let mut patient = Patient::new(13, "5k", MODELS[0], 7);
            let was_killed = patient.live(&Death::AtChange(format!("{nth}:{side}")), &mut score);
            if was_killed {
                // Once more, while it comes back.
                let again = patient.dice.up_to(12) + nth % 7;
                patient.live(&Death::AtChange(format!("{again}:{side}")), &mut score);
            }
            patient.live(&Death::Natural, &mut score);
            if was_killed {
                patient.conclude(&mut score);
            }
            if !was_killed || !score.is_perfect() {
                break 'changes;
            }
        }
        changes = nth;
        if is_long && nth.is_multiple_of(10) {
            println!("  {nth} changes, {} kills", score.kills);
        }
    }
    report("killed around each change of the log", &score, begin);
    println!("  {changes} changes");
    assert!(changes > 50, "{changes}");
    assert!(score.compactions > 0);
}

/// What the campaign looks for, it finds: a change that is gone, and one that was made twice.
#[test]
fn the_campaign_notices_a_change_that_is_lost_or_made_again() {
    for is_lost in [true, false] {
        let mut score = Score::default();
        let mut patient = Patient::new(25, "90%", MODELS[0], 3);
        patient.live(&Death::AfterRequest(8, Duration::ZERO), &mut score);
        assert!(score.is_perfect(), "{}", score.notes.join("\n"));
        let path = patient.info().unwrap().newest_segment();
        let log = std::fs::read_to_string(&path).unwrap();
        let is_create = |line: &&str| line.contains("[pending] job 1 ");
        let again = |line: &str| line.contains("\"TaskCreate\"") && line.contains("job 1 ");
        let times = |line: &&str| match (is_lost, is_create(line)) {
            (true, is_create) => usize::from(!is_create),
            (false, is_create) => 1 + usize::from(is_create || again(line)),
        };
        let changed: Vec<&str> = log
            .lines()
            .flat_map(|line| std::iter::repeat_n(line, times(&line)))
            .collect();
        std::fs::write(&path, changed.join("\n") + "\n").unwrap();
        patient.examine(&Death::Natural, &mut score);
        assert_eq!(score.unclean, 1, "{score:?}");
        // Either tears calls and results apart, so nothing behind it is taken for the history.
        assert!(score.missing > 0, "{score:?}");
        let told = if is_lost {
            "missing, moved or doubled"
        } else {
            "stands at line"
        };
        assert!(score.notes.join("\n").contains(told), "{score:?}");
    }
}
