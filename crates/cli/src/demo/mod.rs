//! `pod demo`: Pod's promise, shown on this machine in a few seconds, without a key or a network.
//!
//! A scripted model works with the real tools in a scratch folder. Its history is compacted, the
//! process is killed with SIGKILL in the middle of a tool call, and another one resumes the session.
//! The task list is compared at five places and must be the same at all of them.

mod follow;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use llm::{Item, JsonText, Origin};
use pod::SessionStore;
use pod::session::Entry;
use tools::task::Task;

use crate::args::DemoOptions;
use crate::print_line;
use follow::Follower;
use table::Column;

/// How long a step may take. A loaded machine needs a multiple of the usual second.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the first process is asked.
const PROMPT: &str = "Write a word counter in shell, with a sample text, a test and a README.";

/// Shows it.
pub(crate) fn run(options: &DemoOptions) -> anyhow::Result<ExitCode> {
    let scratch = tempfile::Builder::new()
        .prefix("pod-demo-")
        .tempdir()
        .context("no scratch folder can be made")?;
    let result = show(scratch.path());
    if options.keep {
        let path = scratch.keep();
        print_line(&format!("\nEverything is kept in {}", path.display()))?;
    }
    result
}

fn show(scratch: &Path) -> anyhow::Result<ExitCode> {
    let stage = Stage::set(scratch)?;
    print_line("A scripted model, real tools, a scratch folder. No key, no network.\n")?;
    print_line(&format!("> {PROMPT}"))?;

    let mut first = stage.start(&["-p", PROMPT])?;
    let mut follower = Follower::new(stage.store());
    follow_until(&mut follower, &mut first, |follower| {
        follower.waits_for("Bash") && follower.segment() == 2
    })?;
    first.kill().context("the process cannot be killed")?;
    let _ = first.wait();
    print_line("\n*** SIGKILL in the middle of the call above: no goodbye, no clean-up ***\n")?;

    let after_kill = follower.tasks()?;
    let session = follower.session()?.to_string();
    print_line(&format!("> pod --resume {session} -p \"Go on\""))?;
    let mut second = stage.start(&["--resume", &session, "-p", "Go on"])?;
    follow_until(&mut follower, &mut second, |_| false)?;

    let columns = columns(&follower, after_kill)?;
    print_line("")?;
    print_line(&table::side_by_side(&columns))?;
    print_line("\nThe list at the end, from the log alone:")?;
    for task in follower.tasks()? {
        print_line(&format!("  {}", tools::task::render::row(&task)))?;
    }
    print_line("The files:")?;
    for name in ["words.sh", "sample.txt", "README"] {
        let size = std::fs::metadata(stage.work.join(name))
            .with_context(|| format!("{name} was not written"))?
            .len();
        print_line(&format!("  {name}, {size} bytes"))?;
    }
    let report = pod::verify::verify(stage.store().disk(), follower.info()?)?;
    ensure!(report.is_clean(), "the log breaks a law: {report:?}");
    print_line("pod verify: every law holds")?;
    ensure!(
        table::are_equal(&columns),
        "the lists differ; this is a fault of Pod, please report it with the output of pod demo --keep"
    );
    Ok(ExitCode::SUCCESS)
}

/// The folder, the script and the program.
struct Stage {
    work: PathBuf,
    home: PathBuf,
    script: PathBuf,
    program: PathBuf,
}

impl Stage {
    fn set(scratch: &Path) -> anyhow::Result<Self> {
        let stage = Self {
            work: scratch.join("work"),
            home: scratch.join("home"),
            script: scratch.join("script.txt"),
            program: std::env::current_exe().context("this program does not know its own path")?,
        };
        std::fs::create_dir(&stage.work)?;
        std::fs::write(&stage.script, include_str!("script.txt"))?;
        Ok(stage)
    }

    fn store(&self) -> SessionStore {
        SessionStore::new(&self.home)
    }

    /// Starts the program as a person would.
    fn start(&self, arguments: &[&str]) -> anyhow::Result<Child> {
        Command::new(&self.program)
            .args(arguments)
            .arg("--model")
            .arg(format!("scripted:{}", self.script.display()))
            .args(["--allowedTools", "Write,Bash"])
            .args(["--compact-request-threshold", "5000"])
            .current_dir(&self.work)
            .env("POD_HOME", &self.home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("this program cannot start itself")
    }
}

/// Prints what enters the log until the condition holds or the process ends.
fn follow_until(
    follower: &mut Follower,
    child: &mut Child,
    mut done: impl FnMut(&Follower) -> bool,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    loop {
        // Asked before the log is read, so that nothing of a process that ended is missed.
        let ended = child.try_wait()?;
        for line in follower.news()? {
            print_line(&line)?;
        }
        if done(follower) {
            return Ok(());
        }
        if let Some(status) = ended {
            if status.success() {
                return Ok(());
            }
            let mut said = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                let _ = std::io::Read::read_to_string(&mut stderr, &mut said);
            }
            bail!("the program ended with {status}: {said}");
        }
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            bail!("nothing happened for {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The list at the five places.
fn columns(follower: &Follower, after_kill: Vec<Task>) -> anyhow::Result<Vec<Column>> {
    let entries = follower.entries(2)?;
    let snapshot = entries.iter().find_map(|entry| match &*entry.item {
        Item::System(message) if message.origin == Origin::TaskSnapshot => message.data.as_ref(),
        _ => None,
    });
    let lists = results_of_task_list(&entries);
    let (Some(snapshot), [forced, resumed]) = (snapshot, lists.as_slice()) else {
        bail!("the log has no snapshot, or not two results of TaskList");
    };
    let column = |name, data: &serde_json::Value| -> anyhow::Result<Column> {
        let tasks = serde_json::from_value(data.get("tasks").cloned().unwrap_or_default())?;
        Ok(Column { name, tasks })
    };
    Ok(vec![
        Column {
            name: "before",
            tasks: follow::tasks_of(&follower.entries(1)?),
        },
        column("snapshot", snapshot)?,
        column("TaskList", forced)?,
        Column {
            name: "after kill",
            tasks: after_kill,
        },
        column("resumed", resumed)?,
    ])
}

/// What the calls of `TaskList` told the model, as data.
fn results_of_task_list(entries: &[Entry]) -> Vec<serde_json::Value> {
    entries
        .iter()
        .filter_map(|entry| match &*entry.item {
            Item::ToolResult(result) => result.value.as_ref().map(JsonText::to_value),
            _ => None,
        })
        .filter(|value| value.get("tasks").is_some())
        .collect()
}
