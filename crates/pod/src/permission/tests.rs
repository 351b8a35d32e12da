use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use tools::{Call, ToolError, ToolOutput};

use super::*;

/// A tool of any kind, whose calls are about their argument `about`.
struct Any(&'static str, Effect);

#[async_trait]
impl Tool for Any {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> Value {
        json!({})
    }

    fn effect(&self) -> Effect {
        self.1
    }

    fn target(&self, arguments: &Value) -> Option<String> {
        Some(arguments.get("about")?.as_str()?.to_owned())
    }

    async fn call(&self, _: Call<'_>) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

const READ: Any = Any("Read", Effect::Read);
const EDIT: Any = Any("Edit", Effect::Edit);
const BASH: Any = Any("Bash", Effect::Execute);

/// Judges a call in a directory. The rules are those that allow, and after a `!` those that forbid.
fn judge(directory: &Path, mode: PermissionMode, rules: &str, tool: &Any, about: &str) -> Verdict {
    let (allow, deny) = rules.split_once('!').unwrap_or((rules, ""));
    let permissions = Permissions {
        mode,
        allow: Rule::parse_list(allow).unwrap(),
        deny: Rule::parse_list(deny).unwrap(),
        directory: directory.to_owned(),
        scope: None,
        home: Some(PathBuf::from("/home/ada")),
    };
    permissions.judge(tool, &json!({"about": about}))
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny(_) => "deny",
        Verdict::Ask(None) => "ask",
        Verdict::Ask(Some(_)) => "allowed by hooks only",
    }
}

#[track_caller]
fn check(rules: &str, tool: &Any, about: &str, expect: &str) {
    let verdict = judge(
        Path::new("/work/project"),
        PermissionMode::Default,
        rules,
        tool,
        about,
    );
    assert_eq!(word(&verdict), expect, "{rules} {about}");
}

/// Without a rule, with one that allows, with one that forbids too.
#[test]
fn modes_and_effects() {
    let mut table = String::new();
    for mode in PermissionMode::ALL {
        for (effect, name) in [
            (Effect::Read, "read"),
            (Effect::Task, "task"),
            (Effect::Edit, "edit"),
            (Effect::Execute, "execute"),
        ] {
            let verdicts = ["", "Tool", "Tool!Tool"].map(|rules| {
                let tool = Any("Tool", effect);
                word(&judge(Path::new("/"), mode, rules, &tool, "x"))
            });
            let _ = writeln!(table, "{mode} {name}: {}", verdicts.join(", "));
        }
    }
    insta::assert_snapshot!(table, @r"
    default read: allow, allow, deny
    default task: allow, allow, deny
    default edit: ask, allow, deny
    default execute: ask, allow, deny
    acceptEdits read: allow, allow, deny
    acceptEdits task: allow, allow, deny
    acceptEdits edit: allow, allow, deny
    acceptEdits execute: ask, allow, deny
    plan read: allow, allow, deny
    plan task: allow, allow, deny
    plan edit: deny, deny, deny
    plan execute: deny, deny, deny
    dontAsk read: allow, allow, deny
    dontAsk task: allow, allow, deny
    dontAsk edit: allowed by hooks only, allow, deny
    dontAsk execute: allowed by hooks only, allow, deny
    bypassPermissions read: allow, allow, deny
    bypassPermissions task: allow, allow, deny
    bypassPermissions edit: allow, allow, deny
    bypassPermissions execute: allow, allow, deny
    ");
}

#[test]
fn a_prefix_allows_a_command_with_arguments_and_nothing_else() {
    for rule in ["Bash(ls:*)", "Bash(ls *)"] {
        for command in ["ls", "ls -l", "ls\t-l", "  ls -l  ", "ls -l\n", "ls *.rs"] {
            check(rule, &BASH, command, "allow");
        }
        for command in [
            "",
            "lsof",
            "ls\u{a0}-l",
            "ls;rm x",
            "ls -l; rm x",
            "ls && rm x",
            "ls || rm x",
            "ls & rm x",
            "ls | sh",
            "ls\nrm x",
            "ls\rrm x",
            "ls `rm x`",
            "ls $(rm x)",
            "ls $X",
            "ls > x",
            "ls < x",
            "(ls)",
            "{ ls; }",
            "! ls",
            "X=1 ls",
            "sudo ls",
            "\"ls\"",
            "/bin/ls",
            "./ls",
            "LS",
        ] {
            check(rule, &BASH, command, "ask");
        }
    }
}

#[test]
fn a_whole_command_is_allowed_by_its_exact_text() {
    check("Bash(make test)", &BASH, "make test", "allow");
    check("Bash(make test)", &BASH, " make test\n", "allow");
    check("Bash(make test)", &BASH, "make test2", "ask");
    check("Bash(make test)", &BASH, "make  test", "ask");
    check("Bash(a && b)", &BASH, "a && b", "allow");
    check("Bash(a && b)", &BASH, "a && b && c", "ask");
}

#[test]
fn a_star_stands_for_any_text() {
    check(
        "Bash(npm run * --fix)",
        &BASH,
        "npm run lint --fix",
        "allow",
    );
    check("Bash(npm run * --fix)", &BASH, "npm run lint", "ask");
    check("Bash(git * main)", &BASH, "git push origin main", "allow");
    check(
        "Bash(git * main)",
        &BASH,
        "git push origin main; rm x",
        "ask",
    );
    check("Bash(*)", &BASH, "anything; at all", "allow");
    check("Bash(:*)", &BASH, "anything; at all", "allow");
    check("Bash(* --help)", &BASH, "git --help", "allow");
    check(
        "Bash(git * --stat:*)",
        &BASH,
        "git diff --stat HEAD",
        "allow",
    );
    check("Bash(git * --stat:*)", &BASH, "git diff --status", "ask");
    check("Bash(a*a)", &BASH, "a", "ask");
}

#[test]
fn a_forbidding_rule_sees_each_command_of_a_line() {
    let rules = "Bash!Bash(rm:*),Bash(git push:*)";
    for command in [
        "rm x",
        "rm",
        " rm x",
        "\trm x",
        "ls; rm x",
        "ls&&rm x",
        "ls || rm x",
        "ls | rm x",
        "ls & rm x",
        "ls\nrm x",
        "ls\r\nrm x",
        "$(rm x)",
        "echo `rm x`",
        "echo \"$(rm x)\"",
        "(rm x)",
        "{ rm x; }",
        "rm$IFS-rf$IFS/",
        "rm>x",
        "'rm' x",
        "\"rm\" x",
        "r'm' x",
        "r\\m x",
        "\\rm x",
        "r\\\nm x",
        "/bin/rm x",
        "../../bin/rm x",
        "X=1 rm x",
        "X=1 Y=2 rm x",
        "sudo rm x",
        "sudo -u root rm x",
        "env X=1 rm x",
        "command rm x",
        "exec rm x",
        "nohup rm x &",
        "time rm x",
        "timeout 5 rm x",
        "find . | xargs rm",
        "find . | xargs -n 1 rm",
        "sh -c 'rm x'",
        "/bin/bash -c \"rm x\"",
        "if true; then rm x; fi",
        "while true; do rm x; done",
        "! rm x",
        "eval rm x",
        "git push",
        "git push origin",
        "git  push",
        "git\tpush",
        "cd x && git push --force",
    ] {
        check(rules, &BASH, command, "deny");
    }
    for command in [
        "ls rm",
        "echo rm x",
        "rmdir x",
        "npm rm",
        "grep rm x",
        "git pull",
        "git commit -m push",
        "confirm x",
    ] {
        check(rules, &BASH, command, "allow");
    }
}

#[test]
fn a_path_is_allowed_by_where_it_leads() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::create_dir_all(root.join("app/[id]")).unwrap();
    fs::write(root.join("secret"), "").unwrap();
    fs::write(root.join("src/a.rs"), "").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("src/link")).unwrap();
    std::os::unix::fs::symlink("../nowhere", root.join("src/dangling")).unwrap();
    std::os::unix::fs::symlink("src", root.join("alias")).unwrap();

    let absolute = |path: &str| root.join(path).display().to_string();
    let check = |rules: &str, tool: &Any, about: &str, expect: &str| {
        let rules = rules.replace("ROOT", &root.display().to_string());
        let verdict = judge(&root, PermissionMode::Default, &rules, tool, about);
        assert_eq!(word(&verdict), expect, "{rules} {about}");
    };
    for rule in [
        "Edit(src/**)",
        "Edit(./src/**)",
        "Edit(src)",
        "Edit(src/)",
        "Edit(ROOT/src/**)",
        "Edit(/ROOT/src)",
    ] {
        check(rule, &EDIT, "src/a.rs", "allow");
        check(rule, &EDIT, "./src/./a.rs", "allow");
        check(rule, &EDIT, "src/new/file.rs", "allow");
        check(rule, &EDIT, "src/deep/../a.rs", "allow");
        check(rule, &EDIT, "alias/a.rs", "allow");
        check(rule, &EDIT, &absolute("src/a.rs"), "allow");
        check(rule, &EDIT, "src/../secret", "ask");
        check(rule, &EDIT, "src/link", "ask");
        check(rule, &EDIT, "src/dangling", "ask");
        check(rule, &EDIT, "src/missing/../../secret", "ask");
        check(rule, &EDIT, "srcs/a.rs", "ask");
        check(rule, &EDIT, "../src/a.rs", "ask");
        check(rule, &EDIT, "", "ask");
    }
    for about in [
        "secret",
        "./secret",
        "src/../secret",
        "src/link",
        "x/../secret",
    ] {
        check("Edit!Edit(secret)", &EDIT, about, "deny");
        check("Edit!Edit(ROOT/secret)", &EDIT, about, "deny");
        check("!Read(secret)", &READ, about, "deny");
    }
    check("Edit!Edit(src/**)", &EDIT, "alias/a.rs", "deny");
    check("Edit!Edit(src/**)", &EDIT, "secret", "allow");

    // A pattern without a slash is about names.
    check("!Read(.env)", &READ, "deep/er/.env", "deny");
    check("!Read(*.pem)", &READ, "keys/a.pem", "deny");
    check("!Read(*.pem)", &READ, "keys/a.pem/b", "deny");
    check("!Read(*.pem)", &READ, "a.pem.txt", "allow");
    check("!Read(src/*.rs)", &READ, "src/deep/a.rs", "allow");

    // `~` is the home directory, and only in front of a slash.
    check("Edit(~/notes/**)", &EDIT, "/home/ada/notes/a.md", "allow");
    check("Edit(~/notes)", &EDIT, "/home/ada/notes/../b.md", "ask");
    check("!Read(~/.ssh/**)", &READ, "/home/ada/.ssh/id", "deny");
    check("!Read(~)", &READ, "/home/ada/x", "deny");
    check("!Read(~bob/x)", &READ, "/home/ada/x", "allow");

    // Brackets may be meant as they stand.
    check(
        "!Edit(app/[id]/page.tsx)",
        &EDIT,
        "app/[id]/page.tsx",
        "deny",
    );
    check("Edit(app/[id])", &EDIT, "app/[id]/page.tsx", "allow");

    // Nobody knows what a broken pattern means.
    check("!Edit(a[)", &EDIT, "b", "deny");
    check("Edit(a[)", &EDIT, "b", "ask");
    check("!Edit(../other/**)", &EDIT, "../other/x", "deny");
}

#[test]
fn a_rule_that_forbids_wins() {
    for mode in PermissionMode::ALL {
        let verdict = judge(
            Path::new("/"),
            mode,
            "Bash(rm:*),Bash!Bash(rm:*)",
            &BASH,
            "rm x",
        );
        assert_eq!(
            verdict,
            Verdict::Deny(String::from("the rule Bash(rm:*) forbids it")),
            "{mode}"
        );
    }
}

#[test]
fn a_call_that_says_nothing_is_not_allowed_by_a_pattern() {
    let permissions = Permissions {
        allow: Rule::parse_list("Bash(ls:*)").unwrap(),
        ..Permissions::default()
    };
    assert_eq!(permissions.judge(&BASH, &json!({})), Verdict::Ask(None));
    assert_eq!(permissions.judge(&BASH, &json!("ls")), Verdict::Ask(None));
}

#[test]
fn lists_of_rules_as_the_sdks_write_them() {
    let mut read = String::new();
    for text in [
        "",
        " , ",
        "Bash",
        "Bash(ls:*),Edit",
        "Bash(ls:*) Edit",
        "Bash(git log:*), Bash(git diff:*) ,Read",
        "Bash(a, b)",
        "Bash(echo $(date))",
        "Bash( ls )",
        "Bash(*)",
        "Bash(:*)",
        "mcp__files__read",
        "mcp__files",
        "Bash()",
        "Bash( )",
        "Bash(ls",
        "Bash(ls)x",
        "Bash)",
        "(ls)",
        "Bash (ls)",
        "Ba,sh(ls)",
    ] {
        let rules = match Rule::parse_list(text) {
            Ok(rules) => {
                let rules: Vec<String> = rules.iter().map(Rule::to_string).collect();
                format!("{rules:?}")
            }
            Err(error) => format!("error: {error}"),
        };
        let _ = writeln!(read, "{text:?} => {rules}");
    }
    insta::assert_snapshot!(read, @r#"
    "" => []
    " , " => []
    "Bash" => ["Bash"]
    "Bash(ls:*),Edit" => ["Bash(ls:*)", "Edit"]
    "Bash(ls:*) Edit" => ["Bash(ls:*)", "Edit"]
    "Bash(git log:*), Bash(git diff:*) ,Read" => ["Bash(git log:*)", "Bash(git diff:*)", "Read"]
    "Bash(a, b)" => ["Bash(a, b)"]
    "Bash(echo $(date))" => ["Bash(echo $(date))"]
    "Bash( ls )" => ["Bash(ls)"]
    "Bash(*)" => ["Bash"]
    "Bash(:*)" => ["Bash"]
    "mcp__files__read" => ["mcp__files__read"]
    "mcp__files" => ["mcp__files"]
    "Bash()" => error: `Bash()` has an empty pattern; write `Bash` for every call of the tool
    "Bash( )" => error: `Bash( )` has an empty pattern; write `Bash` for every call of the tool
    "Bash(ls" => error: `Bash(ls` is no permission rule; write `Tool` or `Tool(pattern)`
    "Bash(ls)x" => error: `Bash(ls)x` is no permission rule; write `Tool` or `Tool(pattern)`
    "Bash)" => error: `Bash)` is no permission rule; write `Tool` or `Tool(pattern)`
    "(ls)" => error: `(ls)` is no permission rule; write `Tool` or `Tool(pattern)`
    "Bash (ls)" => error: `(ls)` is no permission rule; write `Tool` or `Tool(pattern)`
    "Ba,sh(ls)" => ["Ba", "sh(ls)"]
    "#);
}

#[test]
fn reasons_are_told() {
    let mut told = String::new();
    for (mode, rules, about) in [
        (PermissionMode::Plan, "", json!({"about": "ls"})),
        (PermissionMode::DontAsk, "", json!({"about": "ls"})),
        (PermissionMode::Default, "Bash", json!({"about": "ls"})),
        (
            PermissionMode::Default,
            "Bash(ls:*)",
            json!({"about": "x; ls"}),
        ),
        (PermissionMode::Default, "Bash(ls:*)", json!({})),
    ] {
        let permissions = Permissions {
            mode,
            deny: Rule::parse_list(rules).unwrap(),
            ..Permissions::default()
        };
        let _ = writeln!(told, "{:?}", permissions.judge(&BASH, &about));
    }
    insta::assert_snapshot!(told, @r#"
    Deny("in plan mode only reading is allowed")
    Ask(Some("no rule allows it and nobody is to be asked"))
    Deny("the rule Bash forbids it")
    Deny("the rule Bash(ls:*) forbids it")
    Deny("the rule Bash(ls:*) may forbid it, since the call does not say what it is about")
    "#);
    insta::assert_snapshot!("yolo".parse::<PermissionMode>().unwrap_err(), @"there is no permission mode `yolo`; there are default, acceptEdits, plan, dontAsk, bypassPermissions");
}

#[test]
fn an_edit_outside_the_scope_is_denied_in_every_mode() {
    let home = tempfile::tempdir().unwrap();
    let scope = Scope::new(home.path(), Vec::<std::path::PathBuf>::new()).unwrap();
    for mode in PermissionMode::ALL {
        let permissions = Permissions {
            mode,
            allow: Rule::parse_list("Edit,Bash").unwrap(),
            scope: Some(scope.clone()),
            ..Permissions::default()
        };
        let judge = |tool, about| permissions.judge(tool, &json!({"about": about}));
        let outside = judge(&EDIT, "/etc/passwd");
        assert!(
            matches!(&outside, Verdict::Deny(why) if why.contains("outside")),
            "{mode}"
        );
        // A command says nothing of where it works.
        let bash = judge(&BASH, "/etc/passwd");
        assert!(
            !matches!(&bash, Verdict::Deny(why) if why.contains("outside")),
            "{mode}"
        );
    }
    let permissions = Permissions {
        mode: PermissionMode::AcceptEdits,
        scope: Some(scope),
        ..Permissions::default()
    };
    assert_eq!(
        permissions.judge(&EDIT, &json!({"about": "a/b"})),
        Verdict::Allow
    );
}
