//! Who may run what: hooks, rules, modes, and a person who is asked. What was not allowed changed
//! nothing, live and replayed.

use testkit::flow::play;

/// BR-037: what the user refused is not there after a resume, and takes no id.
#[test]
fn br_037_denied_creates_are_not_there_after_a_resume() {
    insta::assert_snapshot!(play(r#"
[before TaskCreate allow]
[before TaskCreate deny not this one]
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":"b","description":""}
  > TaskCreate {"subject":"c","description":""}
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > TaskCreate#call_2 {"subject":"b","description":""}
02   > TaskCreate#call_3 {"subject":"c","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
04 error call_2: not this one
05 result call_3: #2 [pending] c
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] c
-> the model is asked with 1 to 5
06 assistant: Done.
== completed, turns: 2: "Done."
   denied: TaskCreate#call_2
== resumed: 1 to 6
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] c
"#);
}

/// BR-038: every second create is blocked by a hook, before or after it ran; the ids that the model
/// was told are those that a resume gives.
#[test]
fn br_038_creates_blocked_by_hooks_shift_no_id() {
    insta::assert_snapshot!(play(r#"
[before TaskCreate allow]
[before TaskCreate deny no]
[before TaskCreate allow]
[before TaskCreate deny ]
[after TaskCreate fail not well said]
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":"b","description":""}
  > TaskCreate {"subject":"c","description":""}
  > TaskCreate {"subject":"d","description":""}
  > TaskCreate {"subject":"e","description":""}
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > TaskCreate#call_2 {"subject":"b","description":""}
02   > TaskCreate#call_3 {"subject":"c","description":""}
02   > TaskCreate#call_4 {"subject":"d","description":""}
02   > TaskCreate#call_5 {"subject":"e","description":""}
03 error call_1: not well said
04 error call_2: no
05 result call_3: #1 [pending] c
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] c
06 error call_4: refused by the hook script, which gave no reason
07 result call_5: #2 [pending] e
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] e
-> the model is asked with 1 to 7
08 assistant: Done.
== completed, turns: 2: "Done."
   denied: TaskCreate#call_2
   denied: TaskCreate#call_4
== resumed: 1 to 8
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] c
#2 [pending] e
"#);
}

/// What a hook or a person changed is what runs, what the log says, and what a replay folds.
#[test]
fn changed_arguments_are_what_runs_and_what_is_replayed() {
    insta::assert_snapshot!(play(r#"
[before TaskCreate change {"subject":"A","description":"changed"}]
[before Change allow {"text":"other.rs"}]
[answer allow {"text":"ls -l"}]
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > Change {"text":"some.rs"}
  > Act {"text":"ls"}
assistant: Done.
[resume]
[log]
"#), @r##"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > Change#call_2 {"text":"some.rs"}
02   > Act#call_3 {"text":"ls"}
03 result call_1: #1 [pending] A
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] A
   ~ Change call_2 begins
   ~ Change call_2 ends
04 result call_2: other.rs
   ? Act ls
   ~ Act call_3 begins
   ~ Act call_3 ends
05 result call_3: ls -l
-> the model is asked with 1 to 5
06 assistant: Done.
== completed, turns: 2: "Done."
== resumed: 1 to 6
log:
{"type":"session","version":1,"session":"00000000-0000-7000-8000-000000000001","segment":1,"created":"2026-01-01T00:00:00Z","directory":"WORK","reason":"start"}
{"type":"user","id":"00000000-0000-7000-8000-000000000003","at":"2026-01-01T00:00:00.001Z","content":[{"type":"text","text":"go"}]}
{"type":"assistant","id":"00000000-0000-7000-8000-000000000004","at":"2026-01-01T00:00:00.002Z","content":[{"type":"tool_call","id":"call_1","name":"TaskCreate","arguments":{"subject":"a","description":""}},{"type":"tool_call","id":"call_2","name":"Change","arguments":{"text":"some.rs"}},{"type":"tool_call","id":"call_3","name":"Act","arguments":{"text":"ls"}}],"model":"scripted","stop_reason":"tool_use","usage":{"input":732,"output":21}}
{"type":"tool_result","id":"00000000-0000-7000-8000-000000000005","at":"2026-01-01T00:00:00.003Z","call_id":"call_1","summary":"#1 [pending] A\n1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted","value":{"task":{"taskid":1,"status":"pending","subject":"A","description":"changed"},"counts":{"pending":1,"inprogress":0,"completed":0,"deleted":0}},"changed_arguments":{"subject":"A","description":"changed"}}
{"type":"tool_result","id":"00000000-0000-7000-8000-000000000006","at":"2026-01-01T00:00:00.004Z","call_id":"call_2","summary":"other.rs","changed_arguments":{"text":"other.rs"}}
{"type":"tool_result","id":"00000000-0000-7000-8000-000000000007","at":"2026-01-01T00:00:00.005Z","call_id":"call_3","summary":"ls -l","changed_arguments":{"text":"ls -l"}}
{"type":"assistant","id":"00000000-0000-7000-8000-000000000008","at":"2026-01-01T00:00:00.006Z","content":[{"type":"text","text":"Done."}],"model":"scripted","stop_reason":"end_turn","usage":{"input":774,"output":2}}
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] A
    changed
"##);
}

/// What forbids wins over whoever allows, also when the arguments become forbidden on the way.
#[test]
fn what_forbids_wins_over_a_hook_and_over_a_person() {
    insta::assert_snapshot!(play(r#"
[forbid Act(rm:*)]
[before Act allow]
[before Act allow {"text":"rm b"}]
[before Act change {"text":"rm c"}]
[answer allow {"text":"rm d"}]
user: go
assistant:
  > Act {"text":"rm a"}
  > Act {"text":"ls b"}
  > Act {"text":"ls c"}
  > Act {"text":"ls d"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Act#call_1 {"text":"rm a"}
02   > Act#call_2 {"text":"ls b"}
02   > Act#call_3 {"text":"ls c"}
02   > Act#call_4 {"text":"ls d"}
03 error call_1: permission denied: the rule Act(rm:*) forbids it. Do not repeat the call
04 error call_2: permission denied: the rule Act(rm:*) forbids it. Do not repeat the call
05 error call_3: permission denied: the rule Act(rm:*) forbids it. Do not repeat the call
   ? Act ls d
06 error call_4: permission denied: the rule Act(rm:*) forbids it
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 2: "Done."
   denied: Act#call_1
   denied: Act#call_2
   denied: Act#call_3
   denied: Act#call_4
tasks: There are no tasks.
"#);
}

#[test]
fn a_person_is_asked_and_allows_denies_or_ends() {
    insta::assert_snapshot!(play(r#"
[answer allow]
[answer deny not now]
[answer deny ]
[answer end stop all of this]
user: go
assistant:
  > Change {"text":"a"}
  > Act {"text":"b"}
  > Act {"text":"c"}
  > TaskCreate {"subject":"before the end","description":""}
  > Act {"text":"d"}
  > TaskCreate {"subject":"after the end","description":""}
  > Look {"text":"e"}
user: go on
assistant: Back again.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Change#call_1 {"text":"a"}
02   > Act#call_2 {"text":"b"}
02   > Act#call_3 {"text":"c"}
02   > TaskCreate#call_4 {"subject":"before the end","description":""}
02   > Act#call_5 {"text":"d"}
02   > TaskCreate#call_6 {"subject":"after the end","description":""}
02   > Look#call_7 {"text":"e"}
   ? Change a
   ~ Change call_1 begins
   ~ Change call_1 ends
03 result call_1: a
   ? Act b
04 error call_2: permission denied: not now
   ? Act c
05 error call_3: permission denied: the user gave no reason
06 result call_4: #1 [pending] before the end
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] before the end
   ? Act d
07 error call_5: permission denied: stop all of this
08 error call_6: not run: the user ended the run before this call
09 error call_7: not run: the user ended the run before this call
10 system(interruption): The user interrupted the work here.
== interrupted, turns: 1
   denied: Act#call_2
   denied: Act#call_3
   denied: Act#call_5
== user: go on
11 user: go on
-> the model is asked with 1 to 11
12 assistant: Back again.
== completed, turns: 1: "Back again."
== resumed: 1 to 12
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] before the end
"#);
}

#[test]
fn with_nobody_to_ask_the_model_is_told_so() {
    insta::assert_snapshot!(play(r#"
[allow Act(ls:*)]
user: go
assistant:
  > Act {"text":"ls -l"}
  > Act {"text":"make"}
  > Change {"text":"a"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Act#call_1 {"text":"ls -l"}
02   > Act#call_2 {"text":"make"}
02   > Change#call_3 {"text":"a"}
   ~ Act call_1 begins
   ~ Act call_1 ends
03 result call_1: ls -l
04 error call_2: permission denied: Act needs permission and nobody is there to give it. The user can allow it with --allowedTools or --permission-mode
05 error call_3: permission denied: Change needs permission and nobody is there to give it. The user can allow it with --allowedTools or --permission-mode
-> the model is asked with 1 to 5
06 assistant: Done.
== completed, turns: 2: "Done."
   denied: Act#call_2
   denied: Change#call_3
tasks: There are no tasks.
"#);
}

/// A mode that is set while a run goes on holds for the calls behind, also of the same message.
#[test]
fn a_mode_set_during_a_run_holds_for_the_calls_behind() {
    insta::assert_snapshot!(play(r#"
[mode acceptEdits]
[mode plan after Change]
user: go
assistant:
  > Change {"text":"a"}
  > Change {"text":"b"}
  > Look {"text":"c"}
assistant: Done.
[mode bypassPermissions]
user: go on
assistant:
  > Act {"text":"d"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Change#call_1 {"text":"a"}
02   > Change#call_2 {"text":"b"}
02   > Look#call_3 {"text":"c"}
   ~ Change call_1 begins
   ~ Change call_1 ends
03 result call_1: a
04 error call_2: permission denied: in plan mode only reading is allowed. Do not repeat the call
   ~ Look call_3 begins
   ~ Look call_3 ends
05 result call_3: c
-> the model is asked with 1 to 5
06 assistant: Done.
== completed, turns: 2: "Done."
   denied: Change#call_2
== user: go on
07 user: go on
-> the model is asked with 1 to 7
08 assistant:
08   > Act#call_4 {"text":"d"}
   ~ Act call_4 begins
   ~ Act call_4 ends
09 result call_4: d
-> the model is asked with 1 to 9
10 assistant: Done.
== completed, turns: 2: "Done."
tasks: There are no tasks.
"#);
}

/// A hook that allows spares the question where nobody may be asked, but not what the mode forbids.
#[test]
fn a_hook_that_allows_stands_in_for_a_person() {
    insta::assert_snapshot!(play(r#"
[mode dontAsk]
[before Act allow]
user: go
assistant:
  > Act {"text":"a"}
  > Act {"text":"b"}
assistant: Done.
[mode plan]
[before Act allow]
user: go on
assistant:
  > Act {"text":"c"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Act#call_1 {"text":"a"}
02   > Act#call_2 {"text":"b"}
   ~ Act call_1 begins
   ~ Act call_1 ends
03 result call_1: a
04 error call_2: permission denied: no rule allows it and nobody is to be asked. Do not repeat the call
-> the model is asked with 1 to 4
05 assistant: Done.
== completed, turns: 2: "Done."
   denied: Act#call_2
== user: go on
06 user: go on
-> the model is asked with 1 to 6
07 assistant:
07   > Act#call_3 {"text":"c"}
08 error call_3: permission denied: in plan mode only reading is allowed. Do not repeat the call
-> the model is asked with 1 to 8
09 assistant: Done.
== completed, turns: 2: "Done."
   denied: Act#call_3
tasks: There are no tasks.
"#);
}

/// Task tools need no permission in any mode, and a rule can take one away whole.
#[test]
fn task_tools_need_no_permission() {
    for mode in pod::PermissionMode::ALL {
        let played = play(&format!(
            r#"
[mode {mode}]
user: go
assistant:
  > TaskCreate {{"subject":"a","description":""}}
assistant: Done.
"#
        ));
        assert!(played.ends_with("\n#1 [pending] a\n"), "{mode}: {played}");
    }
}

#[test]
fn a_tool_that_is_forbidden_whole_is_not_offered() {
    insta::assert_snapshot!(play(r#"
[offer TaskCreate TaskUpdate Look]
[forbid TaskUpdate,Look(secret)]
user: go
assistant:
  > TaskUpdate {"taskid":1,"status":"deleted"}
  > Look {"text":"secret"}
  > Look {}
  > Look {"text":"open"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskUpdate#call_1 {"taskid":1,"status":"deleted"}
02   > Look#call_2 {"text":"secret"}
02   > Look#call_3 {}
02   > Look#call_4 {"text":"open"}
03 error call_1: there is no tool `TaskUpdate`; the tools are: TaskCreate, Look
04 error call_2: permission denied: the rule Look(secret) forbids it. Do not repeat the call
05 error call_3: permission denied: the rule Look(secret) may forbid it, since the call does not say what it is about. Do not repeat the call
   ~ Look call_4 begins
   ~ Look call_4 ends
06 result call_4: open
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 2: "Done."
   denied: Look#call_2
   denied: Look#call_3
tasks: There are no tasks.
"#);
}
