use rustix::process::{Pid, test_kill_process};

use super::*;
use crate::bounded::RESULT_LIMIT;
use crate::fs::testing::{Space, as_seen, call, read_by_model, said, whole};

fn tool(space: &Space) -> Bash {
    Bash::new(space.scope.clone())
}

async fn run(space: &Space, command: &str) -> Result<ToolOutput, ToolError> {
    call(&tool(space), json!({"command": command})).await
}

/// Waits until the process whose id is in the file is gone, or a zombie that nobody reaps.
async fn wait_until_gone(space: &Space, file: &str) {
    let id: i32 = space.content(file).trim().parse().unwrap();
    let is_gone = || {
        let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        state.contains(") Z ") || test_kill_process(Pid::from_raw(id).unwrap()).is_err()
    };
    for _ in 0..200 {
        if is_gone() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {id} is still there");
}

async fn wait_for_file(space: &Space, file: &str) {
    for _ in 0..500 {
        if std::fs::read_to_string(space.path(file)).is_ok_and(|it| it.ends_with('\n')) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{file} was not written");
}

#[test]
fn as_the_model_sees_it() {
    let space = Space::new();
    insta::assert_json_snapshot!(as_seen(&tool(&space)));
    let target = tool(&space).target(&json!({"command": "ls -l", "timeout": "5"}));
    assert_eq!(target.as_deref(), Some("ls -l"));
}

#[tokio::test]
async fn results() {
    let space = Space::new();
    let mut text = String::new();
    for command in [
        "echo hello",
        "true",
        "pwd; cd /; pwd",
        "echo out; echo error >&2; echo out again",
        "printf 'a\\n\\n'",
        "echo 日本語; printf '\\xff\\0x'",
        "cat",
        "false",
        "echo before; echo wrong >&2; exit 3",
        "kill -9 $$",
        "[[ a == a ]] && echo this is bash",
        "echo $TERM $PAGER $GIT_PAGER",
    ] {
        let result = run(&space, command).await;
        text = format!("{text}> {command}\n{}\n\n", space.clean(&whole(result)));
    }
    insta::with_settings!({filters => vec![
        (r"after \d+\.\d s", "after [time] s"),
        (r#""duration_ms":\d+"#, r#""duration_ms":0"#),
    ]}, {
        insta::assert_snapshot!(text);
    });
}

#[tokio::test]
async fn what_the_shell_says_is_output() {
    let space = Space::new();
    for (command, code, words) in [
        ("(", "Exit code 2\n", "syntax error"),
        ("no-such-command", "Exit code 127\n", "no-such-command"),
    ] {
        let message = run(&space, command).await.unwrap_err().message;
        assert!(message.starts_with(code), "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn errors() {
    let space = Space::new();
    let mut text = String::new();
    for arguments in [
        json!({}),
        json!({"command": ""}),
        json!({"command": "a\0b"}),
        json!({"command": "true", "timeout": 0}),
        json!({"command": "true", "timeout": 600_001}),
        json!({"command": "true", "run_in_background": true}),
    ] {
        text += &said(call(&tool(&space), arguments).await);
    }
    text += &said(run(&space, &"x".repeat(5_000_000)).await);
    let work = space.path("").to_string_lossy().into_owned();
    std::fs::remove_dir_all(space.path("")).unwrap();
    text += &said(run(&space, "true").await).replace(&work, "[work]");
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn keys_do_not_reach_the_command() {
    let space = Space::new();
    let variables = [
        ("ANTHROPIC_API_KEY", "secret-1"),
        ("OTHER_API_KEY", "secret-2"),
        ("NAME", "x"),
    ];
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let tool = Bash::with_environment(space.scope.clone(), variables.into_iter().chain(path));
    let text = read_by_model(call(&tool, json!({"command": "env"})).await);
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("NAME=x"), "{text}");
}

#[tokio::test]
async fn output_without_end_is_stopped_and_bounded() {
    let space = Space::new();
    let arguments = json!({"command": "echo first; yes 日本語", "timeout": 500});
    let result = call(&tool(&space), arguments).await.unwrap_err();
    assert!(result.message.len() <= RESULT_LIMIT);
    assert!(
        result
            .message
            .starts_with("Timed out after 500 ms and was killed"),
        "{result}"
    );
    assert!(result.message.contains("\nfirst\n日本語\n"));
    assert!(result.message.contains("bytes left out"));
    let value = result.value.unwrap();
    assert_eq!(value["timed_out"], true);
    assert!(value["output_bytes"].as_u64().unwrap() > 1_000_000);
}

#[tokio::test]
async fn the_group_dies_at_the_time_limit() {
    let space = Space::new();
    let command = "sleep 1000 & echo $! >child; (sleep 1000 & echo $! >grandchild); wait";
    let arguments = json!({"command": command, "timeout": 300});
    let message = call(&tool(&space), arguments).await.unwrap_err().message;
    assert!(message.contains("(no output)"), "{message}");
    wait_until_gone(&space, "child").await;
    wait_until_gone(&space, "grandchild").await;
}

#[tokio::test]
async fn the_group_dies_when_the_call_is_dropped() {
    let space = Space::new();
    let command = "sleep 1000 & echo $! >child; echo $$ >shell; wait";
    tokio::select! {
        result = run(&space, command) => panic!("ended: {result:?}"),
        () = async {
            wait_for_file(&space, "shell").await;
        } => {}
    }
    wait_until_gone(&space, "child").await;
    // The shell is ours to reap: it must not stay as a zombie.
    let shell: i32 = space.content("shell").trim().parse().unwrap();
    let shell = Pid::from_raw(shell).unwrap();
    for _ in 0..200 {
        if test_kill_process(shell).is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the shell was not reaped");
}

#[tokio::test]
async fn what_holds_the_output_open_does_not_hold_up_the_call() {
    let space = Space::new();
    let many = "for i in $(seq 30); do sleep 1000 & done; echo $! >child; echo started";
    let text = read_by_model(run(&space, many).await);
    // Had it waited for them, there would have been nothing left to kill.
    assert_eq!(
        text,
        "started\n[what still ran in the background was killed]"
    );
    wait_until_gone(&space, "child").await;
}

#[tokio::test]
async fn what_runs_silently_in_the_background_is_killed_and_said() {
    let space = Space::new();
    let command = "sleep 1000 >/dev/null 2>&1 & echo $! >child";
    let text = read_by_model(run(&space, command).await);
    assert_eq!(text, "[what still ran in the background was killed]");
    wait_until_gone(&space, "child").await;
}

#[tokio::test]
async fn late_output_is_still_taken() {
    let space = Space::new();
    let text = read_by_model(run(&space, "(sleep 0.1; echo late) & echo early").await);
    assert_eq!(text, "early\nlate");
}

#[tokio::test]
async fn a_process_that_left_the_group_is_said() {
    let space = Space::new();
    let command =
        "command -v setsid >/dev/null || exit 9; setsid sleep 3 & echo started; sleep 0.2";
    let text = read_by_model(run(&space, command).await);
    if text.starts_with("error: Exit code 9") {
        println!("skipped: there is no setsid");
        return;
    }
    assert_eq!(
        text,
        "started\n[a process that has left the process group still runs]"
    );
}

/// It holds nothing open, so only what it carries tells of it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_silent_process_that_left_the_group_is_said() {
    let space = Space::new();
    let command =
        "command -v setsid >/dev/null || exit 9; setsid sleep 3 >/dev/null 2>&1 & sleep 0.2";
    let text = read_by_model(run(&space, command).await);
    if text.starts_with("error: Exit code 9") {
        println!("skipped: there is no setsid");
        return;
    }
    assert_eq!(
        text,
        "[a process that has left the process group still runs]"
    );
    let text = read_by_model(run(&space, "echo that of another call is not ours").await);
    assert_eq!(text, "that of another call is not ours");
}

#[tokio::test]
async fn calls_side_by_side_do_not_mix() {
    let space = Space::new();
    let calls = (0..8).map(|number| {
        let scope = space.scope.clone();
        tokio::spawn(async move {
            let command = format!("for i in 1 2 3; do echo {number}; done");
            read_by_model(call(&Bash::new(scope), json!({"command": command})).await)
        })
    });
    for (number, result) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(
            result.await.unwrap(),
            format!("{number}\n{number}\n{number}")
        );
    }
}
