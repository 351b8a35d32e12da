//! Running a command in a process group that ends with it.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::group::{self, Group};
use super::output::Output;
use super::sandbox::Sandbox;

/// How long output is still taken after the shell has ended, while something in the background holds
/// the pipe open.
const GRACE: Duration = Duration::from_millis(500);

/// How long what is already in the pipe may take after everything was killed.
const REST: Duration = Duration::from_millis(100);

/// What became of a command.
#[derive(Debug)]
pub(super) struct Finished {
    /// How the shell ended, or `None` if it was killed at the time limit.
    pub(super) status: Option<ExitStatus>,
    pub(super) output: Output,
    pub(super) left_behind: LeftBehind,
    pub(super) time: Duration,
}

/// What still ran when the shell had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftBehind {
    Nothing,
    /// Processes of the group. They were killed.
    Killed,
    /// A process that has left the group. It goes on.
    Escaped,
}

/// Runs a shell command until it ends or its time is over. Standard output and standard error are
/// one pipe, so that their lines come in the order in which they were written.
///
/// When this returns, and also when its future is dropped, every process of the group is killed. One
/// that has made a group of its own (`setsid`) is not.
pub(super) async fn run(
    command: &str,
    directory: &Path,
    environment: &[(OsString, OsString)],
    sandbox: Option<&Sandbox>,
    limit: Duration,
) -> io::Result<Finished> {
    let start = Instant::now();
    let (reader, writer) = io::pipe()?;
    let mut reader = Receiver::from_owned_fd(reader.into())?;
    let mark = mark();
    let start_it = || spawn(command, directory, environment, &mark, &writer);
    let (mut child, mut group) = match sandbox {
        None => start_it()?,
        Some(sandbox) => {
            // The thread is none of the runtime's, which has to know of the process all the same.
            let runtime = Handle::current();
            sandbox.within(|| {
                let _entered = runtime.enter();
                start_it()
            })?
        }
    };
    // Else the pipe would never end.
    drop(writer);
    let group_id = group.id();

    let mut output = Output::default();
    let ended = timeout(limit, async {
        tokio::select! {
            status = child.wait() => status,
            result = take(&mut reader, &mut output) => {
                result?;
                child.wait().await
            }
        }
    });
    let status = if let Ok(status) = ended.await {
        Some(status?)
    } else {
        group.kill();
        // A process that is stuck in the kernel is left to the runtime to reap.
        let _ = timeout(GRACE, child.wait()).await;
        None
    };
    let is_complete = timeout(GRACE, take(&mut reader, &mut output)).await.is_ok();
    let has_others = group.has_others(REST).await;
    group.kill();
    if !is_complete {
        let _ = timeout(REST, take(&mut reader, &mut output)).await;
    }
    let left_behind = match (status, has_others, is_complete) {
        (Some(_), true, _) => LeftBehind::Killed,
        (_, false, false) => LeftBehind::Escaped,
        _ if group::has_left(&mark, group_id) => LeftBehind::Escaped,
        _ => LeftBehind::Nothing,
    };
    Ok(Finished {
        status,
        output,
        left_behind,
        time: start.elapsed(),
    })
}

/// What tells this command, and all that it starts, from any other.
fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = since.map_or(0, |it| it.as_nanos());
    format!("{}-{time}-{count}", std::process::id())
}

/// Starts the command with bash, or with sh where there is none.
fn spawn(
    command: &str,
    directory: &Path,
    environment: &[(OsString, OsString)],
    mark: &str,
    output: &io::PipeWriter,
) -> io::Result<(Child, Group)> {
    let start = |shell: &str| -> io::Result<(Child, Group)> {
        let child = Command::new(shell)
            .arg("-c")
            .arg(command)
            .current_dir(directory)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env(group::MARK, mark)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = Group::of(&child);
        Ok((child, group))
    };
    match start("bash") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => start("sh"),
        result => result,
    }
}

/// Takes output until there is no more, because all writing ends of the pipe are closed.
async fn take(reader: &mut Receiver, output: &mut Output) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut piece).await? {
            0 => return Ok(()),
            length => output.push(piece.get(..length).unwrap_or_default()),
        }
    }
}
