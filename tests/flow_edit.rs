//! A person changes the task list by hand: between runs, during a run, around compactions, rewinds and
//! forks.

use testkit::flow::play;

#[test]
fn a_change_by_hand_is_told_to_the_model_with_the_next_request() {
    insta::assert_snapshot!(play(
        r#"
user: plan
assistant:
  > TaskCreate {"subject":"lexer","description":"Tokens."}
assistant: Planned.
[edit {"create":{"subject":"parser","description":"Recursive descent.\nNo tables."}}]
[edit {"update":{"taskid":1,"status":"completed","subject":"the lexer"}}]
[edit {"update":{"taskid":7,"status":"completed"}}]
user: go on
assistant:
  > TaskUpdate {"taskid":2,"status":"inprogress"}
  > TaskCreate {"subject":"tests","description":""}
assistant: On it.
[log]
"#
    ));
}

#[test]
fn during_a_run_it_stands_behind_the_results_and_before_the_next_request() {
    insta::assert_snapshot!(play(
        r#"
[edit {"update":{"taskid":1,"status":"deleted"}} after TaskCreate]
[edit {"update":{"taskid":9,"status":"deleted"}} after TaskUpdate]
user: plan
assistant:
  > TaskCreate {"subject":"lexer","description":"Tokens."}
  > TaskCreate {"subject":"parser","description":"Tree."}
  > TaskUpdate {"taskid":1,"status":"inprogress"}
assistant:
  > TaskUpdate {"taskid":2,"status":"completed"}
assistant: Done.
"#
    ));
}

#[test]
fn it_stays_when_the_run_is_interrupted() {
    insta::assert_snapshot!(play(
        r#"
assistant:
  > TaskCreate {"subject":"lexer","description":"Tokens."}
[edit {"create":{"subject":"by hand","description":""}} after TaskCreate]
assistant:
  > Look {"text":"a","wait":100}
[before Look interrupt]
user: plan
[resume]
"#
    ));
}

#[test]
fn a_disk_that_is_full_changes_nothing() {
    insta::assert_snapshot!(play(
        r#"
user: plan
assistant:
  > TaskCreate {"subject":"lexer","description":"Tokens."}
assistant: Planned.
[room 0]
[edit {"update":{"taskid":1,"status":"deleted"}}]
[tasks]
[room]
[edit {"update":{"taskid":1,"status":"completed"}}]
"#
    ));
}

#[test]
fn it_survives_a_compaction_a_fork_and_a_rewind() {
    insta::assert_snapshot!(play(
        r#"
window: 20000
user: plan
assistant:
  > TaskCreate {"subject":"lexer","description":"Tokens."}
  > Look {"text":"words ","times":2000}
assistant: Planned.
[edit {"create":{"subject":"by hand","description":"mine"}}]
[edit {"update":{"taskid":1,"status":"completed"}}]
lane: write_summary
assistant:
  > write_summary {"text":"Two tasks; the user finished one of them."}
lane: main
[compact]
[edit {"update":{"taskid":2,"status":"inprogress"}}]
user: go on
assistant: Going on.
[resume]
[tasks]
[rewind 2]
[tasks]
[fork]
[edit {"update":{"taskid":2,"status":"deleted"}}]
"#
    ));
}
