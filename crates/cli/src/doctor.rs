//! `pod doctor`: checks what a run needs, a line a check, and says what to do about it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use llm::http::{RetryPolicy, Vendor};
use llm::provider::{Destination, Key, Providers};
use llm::{Capabilities, probe};

use crate::args::{DEFAULT_MODEL, DoctorOptions};
use crate::config::file::File;
use crate::tasks::terminal::{Style, Terminal, variable};
use crate::tasks::text::{pad, wrap};
use crate::{home, models, print_line, terminal};

/// How long a service may take to answer. Whoever waits longer knows without a doctor.
const PATIENCE: Duration = Duration::from_secs(3);

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grade {
    /// All is well.
    Fine,
    /// Worth knowing; a run does without.
    Note,
    /// A run needs it.
    Failed,
}

/// What was checked, and what came of it.
#[derive(Debug)]
struct Check {
    name: &'static str,
    grade: Grade,
    text: String,
}

impl Check {
    fn new(name: &'static str, grade: Grade, text: impl Into<String>) -> Self {
        Self {
            name,
            grade,
            text: text.into(),
        }
    }
}

/// Checks. The exit code is 1 if something failed that a run needs.
pub(crate) fn run(options: &DoctorOptions) -> anyhow::Result<ExitCode> {
    let root = home::root()?;
    let (file, configuration) = configuration(&root);
    let model = options.model.clone().or(file.model);
    let model = model.unwrap_or_else(|| DEFAULT_MODEL.to_owned());
    let mut checks = vec![configuration];
    checks.extend(model_checks(&model)?);
    checks.push(data_directory(&root));
    checks.push(screen(Terminal::of_stdout(), &variable));
    checks.push(git());
    checks.push(sandbox(
        std::fs::read_to_string("/sys/kernel/security/lsm").ok(),
        std::fs::read_to_string("/proc/sys/kernel/osrelease").ok(),
    ));
    print_line(&text(&checks, Terminal::of_stdout()))?;
    let failed = checks.iter().any(|check| check.grade == Grade::Failed);
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn text(checks: &[Check], terminal: Terminal) -> String {
    let mut lines = Vec::new();
    for check in checks {
        let (word, style) = match check.grade {
            Grade::Fine => ("ok", Style::Done),
            Grade::Note => ("note", Style::Working),
            Grade::Failed => ("FAIL", Style::Wrong),
        };
        let lead = format!("{}{}", pad(word, 6), pad(check.name, 15));
        let columns = terminal.width.unwrap_or(usize::MAX);
        let room = columns.saturating_sub(lead.len());
        let shown = terminal::clean(&check.text).replace('\n', "; ");
        for (index, line) in wrap(&shown, room).into_iter().enumerate() {
            lines.push(if index == 0 {
                format!("{}{line}", terminal.paint(style, &lead))
            } else {
                format!("{}{line}", " ".repeat(lead.len()))
            });
        }
    }
    lines.join("\n")
}

fn configuration(root: &Path) -> (File, Check) {
    const NAME: &str = "configuration";
    match File::load(root) {
        Ok(file) => {
            let text = match &file.path {
                Some(path) => format!("{} can be read; pod config shows it", path.display()),
                None => String::from("no file, everything as it is built in"),
            };
            (file, Check::new(NAME, Grade::Fine, text))
        }
        Err(error) => (
            File::default(),
            Check::new(NAME, Grade::Failed, format!("{error:#}")),
        ),
    }
}

/// The model, its key, and whether its service answers.
fn model_checks(model: &str) -> anyhow::Result<Vec<Check>> {
    if models::counts_answers(model) {
        let text = format!("{model} is a file and needs neither key nor network");
        return Ok(vec![Check::new("model", Grade::Fine, text)]);
    }
    let providers = Providers {
        variable: &|name| std::env::var(name).ok(),
        capabilities: &Capabilities::default(),
        retry: &RetryPolicy::never(),
    };
    let destination = match providers.destination(model) {
        Ok(destination) => destination,
        Err(error) => return Ok(vec![Check::new("model", Grade::Failed, error.to_string())]),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot start")?;
    Ok(vec![
        Check::new("model", Grade::Fine, model),
        key(&destination),
        runtime.block_on(endpoint(&destination)),
    ])
}

fn key(destination: &Destination) -> Check {
    match destination.key {
        Key::Set(variable) => Check::new("key", Grade::Fine, format!("{variable} is set")),
        Key::NotNeeded => Check::new("key", Grade::Fine, "none is needed at this address"),
        Key::Missing(variable) => Check::new(
            "key",
            Grade::Failed,
            format!(
                "{variable} is not set; set it, or use a model on this machine: --model ollama:NAME"
            ),
        ),
    }
}

async fn endpoint(destination: &Destination) -> Check {
    const NAME: &str = "endpoint";
    let address = &destination.base_url;
    if destination.vendor == Vendor::Ollama {
        return match probe::ollama_models(address, PATIENCE).await {
            Ok(models) => ollama(&destination.name, address, &models),
            Err(error) => Check::new(
                NAME,
                Grade::Failed,
                format!("{error}; start it with `ollama serve`, or set OLLAMA_HOST"),
            ),
        };
    }
    match probe::status(address, PATIENCE).await {
        Ok(_) => Check::new(NAME, Grade::Fine, format!("{address} answers")),
        Err(error) => Check::new(
            NAME,
            Grade::Failed,
            format!(
                "{error}; check the network, HTTPS_PROXY and {}",
                match destination.vendor {
                    Vendor::Anthropic => "ANTHROPIC_BASE_URL",
                    _ => "OPENAI_BASE_URL",
                }
            ),
        ),
    }
}

fn ollama(name: &str, address: &str, models: &[String]) -> Check {
    // Without a tag, the newest is meant.
    let tagged = format!("{name}:latest");
    if models.iter().any(|it| it == name || *it == tagged) {
        let text = format!("Ollama at {address} has {name}");
        return Check::new("endpoint", Grade::Fine, text);
    }
    let text = format!("Ollama at {address} has no {name}; get it with `ollama pull {name}`");
    Check::new("endpoint", Grade::Failed, text)
}

/// Whether sessions can be kept, and whether they are the owner's alone.
fn data_directory(root: &Path) -> Check {
    const NAME: &str = "data directory";
    let shown = root.display();
    let metadata = match std::fs::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // It is made with the first session, so what counts is what is above it.
            let above = root.ancestors().find(|it| it.is_dir());
            return match above.map(tempfile::tempfile_in) {
                Some(Ok(_)) => {
                    let text = format!("{shown} is made with the first session");
                    Check::new(NAME, Grade::Fine, text)
                }
                _ => Check::new(
                    NAME,
                    Grade::Failed,
                    format!("{shown} cannot be made; set POD_HOME to a directory of yours"),
                ),
            };
        }
        Err(error) => {
            let text = format!("{shown}: {error}; set POD_HOME to a directory of yours");
            return Check::new(NAME, Grade::Failed, text);
        }
    };
    if !metadata.is_dir() {
        let text = format!("{shown} is no directory; set POD_HOME to one");
        return Check::new(NAME, Grade::Failed, text);
    }
    if let Err(error) = tempfile::tempfile_in(root) {
        let text =
            format!("nothing can be written to {shown}: {error}; make it yours, or set POD_HOME");
        return Check::new(NAME, Grade::Failed, text);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let me = rustix::process::geteuid().as_raw();
        if metadata.uid() != me {
            let owner = metadata.uid();
            let text = format!(
                "{shown} belongs to user {owner}, who can read and change your sessions; set POD_HOME to a directory of yours"
            );
            return Check::new(NAME, Grade::Note, text);
        }
        let mode = metadata.mode() & 0o777;
        if mode & 0o022 != 0 {
            let text = format!(
                "others may write to {shown} (mode {mode:o}); close it with chmod go-w {shown}"
            );
            return Check::new(NAME, Grade::Note, text);
        }
    }
    Check::new(NAME, Grade::Fine, format!("{shown} can be written"))
}

fn screen(out: Terminal, variable: &dyn Fn(&str) -> Option<String>) -> Check {
    const NAME: &str = "terminal";
    // The first of these that is set decides, as in every C library.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_default();
    let folded = locale.to_ascii_lowercase();
    let is_utf8 = folded.contains("utf-8") || folded.contains("utf8");
    let (Some(width), Some(height)) = (out.width, out.height) else {
        return Check::new(
            NAME,
            Grade::Note,
            "standard output is no terminal; pod -p works all the same",
        );
    };
    let colour = if out.colour { "colour" } else { "no colour" };
    let size = format!("{width}x{height}, {colour}");
    if !is_utf8 {
        let text = format!(
            "{size}, the locale ({}) is not UTF-8: other letters than English ones may look wrong; set LANG=C.UTF-8",
            if locale.is_empty() { "none" } else { &locale }
        );
        return Check::new(NAME, Grade::Note, text);
    }
    if !out.interactive {
        let text = format!("{size}, the cursor cannot be moved (TERM=dumb); use pod -p");
        return Check::new(NAME, Grade::Note, text);
    }
    if width < 40 || height < 10 {
        let text = format!("{size}, UTF-8; below 40x10 there is little room");
        return Check::new(NAME, Grade::Note, text);
    }
    Check::new(NAME, Grade::Fine, format!("{size}, UTF-8"))
}

/// Git is no part of Pod; it is how a person takes back what a model did to files.
fn git() -> Check {
    let ran = std::process::Command::new("git")
        .args(["rev-parse", "--is-inside-work-tree"])
        .stdin(std::process::Stdio::null())
        .output();
    match ran {
        Err(_) => Check::new(
            "git",
            Grade::Note,
            "not found; without it nobody can take back what a model does to files",
        ),
        Ok(output) if output.stdout.starts_with(b"true") => {
            Check::new("git", Grade::Fine, "this directory is a work tree")
        }
        Ok(_) => Check::new(
            "git",
            Grade::Note,
            "this directory is no work tree; git init lets you take back what a model does",
        ),
    }
}

/// What the kernel has to confine commands with. Landlock came with Linux 5.13, and counts only if it
/// was turned on at boot (kernel documentation, userspace-api/landlock).
fn sandbox(modules: Option<String>, release: Option<String>) -> Check {
    const NAME: &str = "sandbox";
    let release = release.unwrap_or_default();
    let release = release.trim();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|it| it.parse::<u32>().ok());
    let version = (numbers.next(), numbers.next());
    match modules {
        Some(modules) if modules.trim().split(',').any(|it| it == "landlock") => {
            let text = format!("the kernel ({release}) has Landlock");
            Check::new(NAME, Grade::Fine, text)
        }
        Some(_) => Check::new(
            NAME,
            Grade::Note,
            format!(
                "the kernel ({release}) runs without Landlock; rules and questions are what confines commands"
            ),
        ),
        None if version >= (Some(5), Some(13)) => Check::new(
            NAME,
            Grade::Note,
            format!(
                "the kernel ({release}) may have Landlock; /sys/kernel/security/lsm, which would tell, cannot be read here"
            ),
        ),
        None => Check::new(
            NAME,
            Grade::Note,
            "no Landlock on this system; rules and questions are what confines commands",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(checks: &[Check]) -> String {
        text(checks, Terminal::default())
    }

    #[test]
    fn keys_are_told_of_and_never_shown() {
        let of = |key| Destination {
            vendor: Vendor::Anthropic,
            name: String::from("claude-x"),
            base_url: String::from("https://api"),
            key,
        };
        let checks = [
            Key::Set("ANTHROPIC_API_KEY"),
            Key::Missing("ANTHROPIC_API_KEY"),
            Key::NotNeeded,
        ]
        .map(|it| key(&of(it)));
        insta::assert_snapshot!(lines(&checks));
    }

    #[test]
    fn a_model_that_ollama_does_not_have_can_be_pulled() {
        let has = [String::from("qwen3:8b"), String::from("x:latest")];
        let checks = ["qwen3:8b", "x", "y\u{1b}[2J"].map(|name| ollama(name, "http://h", &has));
        assert_eq!(checks[0].grade, Grade::Fine);
        assert_eq!(checks[1].grade, Grade::Fine);
        assert_eq!(checks[2].grade, Grade::Failed);
        insta::assert_snapshot!(lines(&checks));
    }

    #[test]
    fn terminals() {
        let real = |columns| Terminal {
            width: Some(columns),
            height: Some(24),
            interactive: true,
            colour: true,
        };
        let utf8 = |name: &str| (name == "LANG").then(|| String::from("en_US.UTF-8"));
        let checks = [
            screen(real(80), &utf8),
            screen(real(30), &utf8),
            screen(
                Terminal {
                    interactive: false,
                    colour: false,
                    ..real(80)
                },
                &utf8,
            ),
            screen(real(80), &|_| None),
            screen(real(80), &|name| {
                (name == "LC_ALL").then(|| String::from("C"))
            }),
            screen(Terminal::default(), &utf8),
        ];
        insta::assert_snapshot!(lines(&checks));
    }

    #[test]
    fn sandboxes() {
        let text = |it: &str| Some(it.to_owned());
        let checks = [
            sandbox(text("capability,landlock,yama\n"), text("6.1.0-13-amd64\n")),
            sandbox(text("capability,yama"), text("5.10.0\n")),
            sandbox(None, text("6.1.0")),
            sandbox(None, text("4.19.0")),
            sandbox(None, None),
        ];
        insta::assert_snapshot!(lines(&checks));
    }

    #[test]
    fn the_data_directory() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(data_directory(root.path()).grade, Grade::Fine);
        let new = root.path().join("a/b");
        assert_eq!(data_directory(&new).grade, Grade::Fine);
        assert!(!new.exists(), "a check must not leave anything behind");
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(data_directory(&file).grade, Grade::Failed);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let open = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(root.path(), open).unwrap();
            assert_eq!(data_directory(root.path()).grade, Grade::Note);
        }
    }

    #[test]
    fn what_failed_stands_out_without_colour_and_fits() {
        let checks = [
            Check::new("key", Grade::Fine, "there"),
            Check::new(
                "git",
                Grade::Note,
                "not found; a long explanation of what that means",
            ),
            Check::new("endpoint", Grade::Failed, "refused\nsecond line"),
        ];
        let narrow = Terminal {
            width: Some(40),
            ..Terminal::default()
        };
        insta::assert_snapshot!(text(&checks, narrow));
    }
}
