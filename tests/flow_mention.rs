//! Files that a prompt names as `@path`, and the instructions of a project, through the library.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use llm::scripted::{Answer, Scripted, outline};
use llm::{Capability, Model};
use pod::mention::Mention;
use pod::session::MemoryDisk;
use pod::{Builder, Event, Pod, Rule, SessionInfo, SessionStore, Status};
use serde_json::json;
use tempfile::TempDir;
use testkit::laws::{Witness, check_session, session_info};

/// A directory to work in, and a model that does one thing and says that it is done.
struct Project {
    directory: TempDir,
    store: SessionStore,
    /// The system prompts that the model was asked with.
    prompts: Arc<Mutex<Vec<String>>>,
    first: Arc<Mutex<Option<Answer>>>,
}

impl Project {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            store: SessionStore::new("/pod").with_disk(Arc::new(MemoryDisk::new())),
            prompts: Arc::default(),
            first: Arc::default(),
        }
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn builder(&self) -> Builder {
        let (prompts, first) = (Arc::clone(&self.prompts), Arc::clone(&self.first));
        let model = Scripted::from_fn("reader", Capability::default(), move |request| {
            prompts.lock().unwrap().push(request.system.to_owned());
            let answer = first.lock().unwrap().take();
            Ok(answer.unwrap_or_else(|| Answer::text("Done.")).into())
        });
        let model: Arc<dyn Model> = Arc::new(Witness::new(Arc::new(model)));
        Pod::builder(model).directory(self.directory.path())
    }

    fn start(&self) -> Pod {
        self.builder().start(&self.store, None).unwrap()
    }

    fn leave(&self, pod: Pod) -> SessionInfo {
        let info = session_info(&pod, &self.store);
        drop(pod);
        info
    }

    /// Runs a prompt with the files that it names. Gives the history and the warnings.
    async fn run(&self, pod: &mut Pod, prompt: &str) -> String {
        let mut warnings = String::new();
        let mut run = pod.run_with(prompt, Mention::all_in(prompt));
        while let Some(event) = run.next().await {
            match event {
                Event::Warning(text) => warnings.push_str(&["! ", &text, "\n"].concat()),
                Event::Finished(outcome) => {
                    assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
                }
                _ => {}
            }
        }
        drop(run);
        check_session(pod, &self.store);
        let items: Vec<_> = pod
            .entries()
            .iter()
            .map(|it| Arc::clone(&it.item))
            .collect();
        let directory = self.directory.path().canonicalize().unwrap();
        (outline(&items) + &warnings).replace(&directory.display().to_string(), "WORK")
    }

    fn last_prompt(&self) -> String {
        self.prompts.lock().unwrap().last().unwrap().clone()
    }
}

#[tokio::test]
async fn a_file_that_a_prompt_names_is_brought_in_once_and_can_be_edited() {
    let project = Project::new();
    project.file("src/main.rs", "fn main() {}\n");
    project.file("notes/my file.txt", "日本 👩‍👩‍👧");
    std::os::unix::fs::symlink("src/main.rs", project.directory.path().join("main")).unwrap();
    *project.first.lock().unwrap() = Some(Answer::empty().call(
        "Edit",
        &json!({"file_path": "src/main.rs", "old_string": "{}", "new_string": "{ run() }"}),
    ));
    let builder = project
        .builder()
        .permission_mode(pod::PermissionMode::AcceptEdits);
    let mut pod = builder.start(&project.store, None).unwrap();
    let prompt = "Mend @src/main.rs, as (@\"notes/my file.txt\") says. @main is @src/main.rs too.";
    insta::assert_snapshot!(project.run(&mut pod, prompt).await, @r#"
    01 user: Mend @src/main.rs, as (@"notes/my file.txt") says. @main is @src/main.rs too.
    02 system(attachment): The user named the file src/main.rs. Its content at this moment:
       |
       | 1\tfn main() {}
       |
    03 system(attachment): The user named the file notes/my file.txt. Its content at this moment:
       |
       | 1\t日本 👩‍👩‍👧
       |
    04 assistant:
    04   > Edit#call_1 {"file_path":"src/main.rs","old_string":"{}","new_string":"{ run() }"}
    05 result call_1: Edited src/main.rs: 1 replacement
       | @@ -1 +1 @@
       | -fn main() {}
       | +fn main() { run() }
       |
    06 assistant: Done.
    "#);
}

#[tokio::test]
async fn what_names_no_file_is_left_alone_and_a_path_that_leads_nowhere_is_said() {
    let project = Project::new();
    project.file("src/main.rs", "fn main() {}\n");
    project.file(".env", "KEY=1");
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "key").unwrap();
    let link = project.directory.path().join("link");
    std::os::unix::fs::symlink(outside.path().join("secret"), link).unwrap();
    let builder = project
        .builder()
        .deny(Rule::parse_list("Read(.env)").unwrap());
    let mut pod = builder.start(&project.store, None).unwrap();
    let prompt = "Ask ada@example.org or @ada about @scope/package and @types/node: @src/mian.rs, @src, @.env, @link, @/etc/passwd and @../x.";
    insta::assert_snapshot!(project.run(&mut pod, prompt).await, @r#"
    01 user: Ask ada@example.org or @ada about @scope/package and @types/node: @src/mian.rs, @src, @.env, @link, @/etc/passwd and @../x.
    02 assistant: Done.
    ! @src/mian.rs was not brought in: src/mian.rs does not exist
    ! @src was not brought in: it is a directory; name a file in it
    ! @.env was not brought in: permission denied: the rule Read(.env) forbids it
    ! @link was not brought in: link is outside the allowed directories: WORK
    ! @/etc/passwd was not brought in: /etc/passwd is outside the allowed directories: WORK
    ! @../x was not brought in: ../x is outside the allowed directories: WORK
    "#);
}

#[tokio::test]
async fn the_files_of_one_prompt_are_bounded() {
    let project = Project::new();
    let mut prompt = String::from("Read");
    for number in 0..8 {
        project.file(&format!("{number}.txt"), &"long line\n".repeat(100_000));
        let _ = write!(prompt, " @{number}.txt");
    }
    let mut pod = project.start();
    let told = project.run(&mut pod, &prompt).await;
    let bytes: usize = pod
        .entries()
        .iter()
        .map(|entry| format!("{:?}", entry.item).len())
        .sum();
    assert!(bytes < pod::mention::MENTIONS_LIMIT + 20_000, "{bytes}");
    let warnings: Vec<&str> = told.lines().filter(|line| line.starts_with("! ")).collect();
    assert!(
        !warnings.is_empty() || bytes < 8 * 30_000,
        "{bytes}: {warnings:?}"
    );
}

/// A run without mentions reads nothing, whatever the prompt says: so it is for programs.
#[tokio::test]
async fn only_who_asks_for_it_has_files_brought_in() {
    let project = Project::new();
    project.file("a.txt", "text");
    let mut pod = project.start();
    pod.run("Read @a.txt").outcome().await;
    assert_eq!(pod.entries().len(), 2);
}

/// Law 10: what the files say later changes nothing for the session, and is told.
#[tokio::test]
async fn a_session_keeps_the_instructions_that_it_was_begun_with() {
    let project = Project::new();
    project.file("AGENTS.md", "Use tabs.");
    let mut pod = project.start();
    assert_eq!(pod.notices(), [""; 0]);
    project.run(&mut pod, "go").await;
    let first = project.last_prompt();
    assert!(first.contains("\nUse tabs.\n"), "{first}");

    project.file("AGENTS.md", "Use spaces.");
    project.file("CLAUDE.md", "Be brief.");
    let info = project.leave(pod);
    let mut pod = project
        .builder()
        .resume(&project.store, &info, false)
        .unwrap();
    insta::assert_snapshot!(pod.notices().join("\n"), @r#"
    AGENTS.md and CLAUDE.md do not say what they said when the session began, and it goes on with what they said then; a fork (--fork-session) or a new session reads them anew
    "#);
    project.run(&mut pod, "go on").await;
    assert_eq!(project.last_prompt(), first);

    // Every segment has them.
    let entry = pod.entries()[0].id;
    pod.rewind(entry).unwrap();
    let info = project.leave(pod);
    let mut pod = project
        .builder()
        .resume(&project.store, &info, false)
        .unwrap();
    project.run(&mut pod, "go on").await;
    assert_eq!(project.last_prompt(), first);

    let info = project.leave(pod);
    let fork = project.builder().fork(&project.store, &info, None, None);
    let mut fork = fork.unwrap();
    assert_eq!(fork.notices(), [""; 0]);
    project.run(&mut fork, "go on").await;
    let anew = project.last_prompt();
    assert!(
        anew.contains("\nUse spaces.\n") && anew.contains("\nBe brief.\n"),
        "{anew}"
    );
    drop(fork);

    let builder = project.builder().project_instructions(false);
    let mut bare = builder.resume(&project.store, &info, false).unwrap();
    assert_eq!(bare.notices(), [""; 0]);
    project.run(&mut bare, "go on").await;
    assert!(
        !project.last_prompt().contains("Use"),
        "{}",
        project.last_prompt()
    );
}
