use std::fs;

use serde_json::json;

use super::*;
use crate::bash::Bash;
use crate::fs::testing::{Space, call, read_by_model};

/// The tool with nothing but a path and a home in its environment; `None`, said, where the system has
/// no Landlock.
fn confined(space: &Space) -> Option<Bash> {
    if !is_available() {
        println!("skipped: this system has no Landlock");
        return None;
    }
    let home = space.outside("home");
    fs::create_dir_all(home.join(".cargo")).unwrap();
    let variables = [
        ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
        ("HOME".into(), home.into_os_string()),
        ("GOCACHE".into(), "relative".into()),
        ("CARGO_HOME".into(), "/".into()),
    ];
    Some(Bash::with_environment(space.scope.clone(), variables))
}

/// A space that is not in a temporary directory, where every command may write.
fn space() -> Space {
    Space::in_directory(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"))
}

async fn run(tool: &Bash, command: &str) -> String {
    read_by_model(call(tool, json!({"command": command})).await)
}

#[tokio::test]
async fn a_command_writes_in_the_scope_and_nowhere_else() {
    let space = space();
    let Some(tool) = confined(&space) else { return };
    fs::write(space.outside("file"), "old").unwrap();
    let outside = space.outside("").display().to_string();
    for command in [
        format!("echo new >{outside}/file"),
        format!("echo new >>{outside}/file"),
        format!("echo new >{outside}/other"),
        format!("rm {outside}/file"),
        format!("mv {outside}/file {outside}/moved"),
        format!("mv {outside}/file ."),
        format!("touch x; mv x {outside}/x"),
        format!("ln -s {outside}/file link; echo new >link"),
        format!("ln {outside}/file hard && echo new >hard"),
        format!("mkdir {outside}/directory"),
        format!("mkfifo {outside}/pipe"),
        format!("truncate -s 0 {outside}/file"),
        format!("bash -c 'bash -c \"echo new >{outside}/file\"'"),
        format!("(echo new >{outside}/file) & wait $!"),
        String::from("echo new >~/.profile"),
        String::from("mkdir ~/.ssh"),
    ] {
        let text = run(&tool, &command).await;
        assert!(text.starts_with("error: Exit code"), "{command}: {text}");
        assert!(text.contains("--add-dir"), "it says what to do: {text}");
    }
    assert_eq!(fs::read_to_string(space.outside("file")).unwrap(), "old");
    let mut left: Vec<_> = fs::read_dir(space.outside(""))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["file", "home"]);
}

#[tokio::test]
async fn what_a_toolchain_needs_is_there() {
    let space = space();
    let Some(tool) = confined(&space) else { return };
    fs::write(space.outside("file"), "to be read\n").unwrap();
    let outside = space.outside("").display().to_string();
    for (command, output) in [
        (format!("cat {outside}/file"), "to be read"),
        (
            String::from(
                "mkdir -p a/b && echo x >a/b/c && mv a/b/c d && ln d e && rm -r a && cat e",
            ),
            "x",
        ),
        (
            String::from("f=$(mktemp) && echo x >$f && cat $f && rm $f"),
            "x",
        ),
        (String::from("echo x >/dev/null; echo x >/dev/stderr"), "x"),
        (String::from("cat <(echo x)"), "x"),
        (String::from("cat <<<x"), "x"),
        (
            String::from("echo x >~/.cargo/registry && cat ~/.cargo/registry"),
            "x",
        ),
    ] {
        assert_eq!(run(&tool, &command).await, output, "{command}");
    }
}

#[tokio::test]
async fn it_can_be_turned_off() {
    let space = space();
    let Some(tool) = confined(&space) else { return };
    assert_eq!(tool.confinement(), Confinement::Landlock);
    let tool = tool.sandboxed(false);
    assert_eq!(tool.confinement(), Confinement::Off);
    let outside = space.outside("").display().to_string();
    let text = run(
        &tool,
        &format!("echo x >{outside}/file && cat {outside}/file"),
    )
    .await;
    assert_eq!(text, "x");
}

/// Only the thread that starts a command is restricted.
#[tokio::test]
async fn the_program_itself_is_not_held() {
    let space = space();
    let Some(tool) = confined(&space) else { return };
    assert_eq!(run(&tool, "echo x").await, "x");
    fs::write(space.outside("file"), "written by the program").unwrap();
    std::thread::spawn(move || fs::write(space.outside("other"), "and by its threads"))
        .join()
        .unwrap()
        .unwrap();
}

#[test]
fn a_repository_above_and_that_of_a_worktree_can_be_written() {
    let space = space();
    let git = |name: &str| space.path(name);
    space.file("above/.git/HEAD", "ref: refs/heads/main\n");
    space.file("above/part/file", "");
    assert_eq!(
        repository_of(&git("above/part")),
        Some(git("above/.git")),
        "of a part of a repository"
    );
    assert_eq!(repository_of(&git("above")), None, "it is in the scope");

    space.file("above/.git/worktrees/tree/commondir", "../..\n");
    let back = format!("{}\n", git("tree/.git").display());
    space.file("above/.git/worktrees/tree/gitdir", back);
    space.file("tree/.git", "gitdir: ../above/.git/worktrees/tree\n");
    assert_eq!(repository_of(&git("tree")), Some(git("above/.git")));

    // A file that a command has written, to get out.
    space.file("trap/.git", "gitdir: /etc\n");
    assert_eq!(repository_of(&git("trap")), None);
    space.file("other/.git", "gitdir: ../above/.git/worktrees/tree\n");
    assert_eq!(repository_of(&git("other")), None);
}
