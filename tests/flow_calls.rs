//! The calls of one message: their order, what runs side by side, and what a model may send.

use testkit::flow::play;

#[test]
fn tasks_are_created_and_move_across_turns() {
    insta::assert_snapshot!(play(r#"
user: plan the parser
assistant: Two steps.
  > TaskCreate {"subject":"lexer","description":"Tokens with positions."}
  > TaskCreate {"subject":"parser","description":"Recursive descent."}
assistant:
  > TaskUpdate {"taskid":1,"status":"in_progress"}
assistant: The lexer is under way.
user: and now?
assistant:
  > TaskUpdate {"taskid":"1","status":"completed"}
  > TaskUpdate {"id":2,"status":"inprogress"}
  > TaskList
assistant: One done, one to go.
"#), @r#"
== user: plan the parser
01 user: plan the parser
-> the model is asked with 1 to 1
02 assistant: Two steps.
02   > TaskCreate#call_1 {"subject":"lexer","description":"Tokens with positions."}
02   > TaskCreate#call_2 {"subject":"parser","description":"Recursive descent."}
03 result call_1: #1 [pending] lexer
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] lexer
04 result call_2: #2 [pending] parser
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] parser
-> the model is asked with 1 to 4
05 assistant:
05   > TaskUpdate#call_3 {"taskid":1,"status":"in_progress"}
06 result call_3: #1 [pending -> inprogress] lexer
   | 2 tasks: 1 pending, 1 inprogress, 0 completed, 0 deleted
   * #1 [pending -> inprogress] lexer
-> the model is asked with 1 to 6
07 assistant: The lexer is under way.
== completed, turns: 3: "The lexer is under way."
== user: and now?
08 user: and now?
-> the model is asked with 1 to 8
09 assistant:
09   > TaskUpdate#call_4 {"taskid":"1","status":"completed"}
09   > TaskUpdate#call_5 {"id":2,"status":"inprogress"}
09   > TaskList#call_6 {}
10 result call_4: #1 [inprogress -> completed] lexer
   | 2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
   * #1 [inprogress -> completed] lexer
11 result call_5: #2 [pending -> inprogress] parser
   | 2 tasks: 0 pending, 1 inprogress, 1 completed, 0 deleted
   * #2 [pending -> inprogress] parser
12 result call_6: 2 tasks: 0 pending, 1 inprogress, 1 completed, 0 deleted
   | #1 [completed] lexer
   |     Tokens with positions.
   | #2 [inprogress] parser
   |     Recursive descent.
-> the model is asked with 1 to 12
13 assistant: One done, one to go.
== completed, turns: 2: "One done, one to go."
tasks: 2 tasks: 0 pending, 1 inprogress, 1 completed, 0 deleted
#1 [completed] lexer
    Tokens with positions.
#2 [inprogress] parser
    Recursive descent.
"#);
}

/// Law 3: a read sees the writes before it in the same message, and none behind it.
#[test]
fn a_read_sees_the_writes_before_it_in_the_same_message() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskList
  > TaskCreate {"subject":"a","description":""}
  > TaskGet {"taskid":1}
  > TaskUpdate {"taskid":1,"status":"completed"}
  > TaskGet {"taskid":1}
  > TaskGet {"taskid":2}
  > TaskCreate {"subject":"b","description":""}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskList#call_1 {}
02   > TaskCreate#call_2 {"subject":"a","description":""}
02   > TaskGet#call_3 {"taskid":1}
02   > TaskUpdate#call_4 {"taskid":1,"status":"completed"}
02   > TaskGet#call_5 {"taskid":1}
02   > TaskGet#call_6 {"taskid":2}
02   > TaskCreate#call_7 {"subject":"b","description":""}
03 result call_1: There are no tasks.
04 result call_2: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
05 result call_3: #1 [pending] a
06 result call_4: #1 [pending -> completed] a
   | 1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
   * #1 [pending -> completed] a
07 result call_5: #1 [completed] a
08 error call_6: task 2 does not exist; the only task is 1
09 result call_7: #2 [pending] b
   | 2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
   * #2 [pending] b
-> the model is asked with 1 to 9
10 assistant: Done.
== completed, turns: 2: "Done."
tasks: 2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
#1 [completed] a
#2 [pending] b
"#);
}

#[test]
fn br_059_two_updates_of_one_task_in_a_message_count_in_call_order() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
  > TaskUpdate {"taskid":1,"status":"inprogress"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 3
04 assistant:
04   > TaskUpdate#call_2 {"taskid":1,"status":"completed"}
04   > TaskUpdate#call_3 {"taskid":1,"status":"inprogress"}
05 result call_2: #1 [pending -> completed] a
   | 1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
   * #1 [pending -> completed] a
06 result call_3: #1 [completed -> inprogress] a
   | 1 task: 0 pending, 1 inprogress, 0 completed, 0 deleted
   * #1 [completed -> inprogress] a
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 3: "Done."
tasks: 1 task: 0 pending, 1 inprogress, 0 completed, 0 deleted
#1 [inprogress] a
"#);
}

/// Reads run side by side, the slow ones and the quick ones, and while task calls have their turn;
/// the results stand in call order.
#[test]
fn reads_run_beside_task_calls_and_each_other() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > Look #slow {"text":"slow","wait":9}
  > TaskCreate {"subject":"a","description":""}
  > Look #quick {"text":"quick","wait":1}
  > TaskList
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Look#slow {"text":"slow","wait":9}
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > Look#quick {"text":"quick","wait":1}
02   > TaskList#call_2 {}
   ~ Look slow begins
   ~ Look quick begins
   ~ Look quick ends
   ~ Look slow ends
03 result slow: slow
04 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
05 result quick: quick
06 result call_2: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   | #1 [pending] a
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 2: "Done."
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

/// A read that has begun does not stand still while another call has its turn: here the hook of a
/// task call waits, and the reads end meanwhile.
#[test]
fn reads_go_on_while_a_task_call_has_its_turn() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":"b","description":""}
  > Look #one {"text":"one","wait":1}
  > Look #two {"text":"two","wait":2}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > TaskCreate#call_2 {"subject":"b","description":""}
02   > Look#one {"text":"one","wait":1}
02   > Look#two {"text":"two","wait":2}
   ~ Look one begins
   ~ Look two begins
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
   ~ Look one ends
04 result call_2: #2 [pending] b
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] b
05 result one: one
   ~ Look two ends
06 result two: two
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 2: "Done."
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] b
"#);
}

#[test]
fn what_edits_or_executes_runs_alone() {
    insta::assert_snapshot!(play(r#"
[mode bypassPermissions]
user: go
assistant:
  > Look #one {"text":"one","wait":3}
  > Change #two {"text":"two","wait":3}
  > Look #three {"text":"three","wait":3}
  > Look #four {"text":"four","wait":1}
  > Act #five {"text":"five"}
  > Change #six {"text":"six"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Look#one {"text":"one","wait":3}
02   > Change#two {"text":"two","wait":3}
02   > Look#three {"text":"three","wait":3}
02   > Look#four {"text":"four","wait":1}
02   > Act#five {"text":"five"}
02   > Change#six {"text":"six"}
   ~ Look one begins
   ~ Look one ends
03 result one: one
   ~ Change two begins
   ~ Change two ends
04 result two: two
   ~ Look three begins
   ~ Look four begins
   ~ Look four ends
   ~ Look three ends
05 result three: three
06 result four: four
   ~ Act five begins
   ~ Act five ends
07 result five: five
   ~ Change six begins
   ~ Change six ends
08 result six: six
-> the model is asked with 1 to 8
09 assistant: Done.
== completed, turns: 2: "Done."
tasks: There are no tasks.
"#);
}

/// Law 5: a call that fails uses up no id.
#[test]
fn a_failed_create_uses_up_no_id() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":" ","description":""}
  > TaskCreate {"subject":"b"}
  > TaskCreate {"subject":"c","description":"","owner":"me"}
  > TaskCreate {"subject":"d","description":""}
  > Look {"fail":"the disk is gone"}
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > TaskCreate#call_2 {"subject":" ","description":""}
02   > TaskCreate#call_3 {"subject":"b"}
02   > TaskCreate#call_4 {"subject":"c","description":"","owner":"me"}
02   > TaskCreate#call_5 {"subject":"d","description":""}
02   > Look#call_6 {"fail":"the disk is gone"}
   ~ Look call_6 begins
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
   ~ Look call_6 ends
04 error call_2: subject is empty: give a short line that says what the task is about
05 error call_3: description is missing; accepted: subject and description (text, both needed), one task a call
06 error call_4: there is no field "owner"; accepted: subject and description (text, both needed), one task a call
07 result call_5: #2 [pending] d
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] d
08 error call_6: the disk is gone
-> the model is asked with 1 to 8
09 assistant: Done.
== completed, turns: 2: "Done."
== resumed: 1 to 9
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] d
"#);
}

#[test]
fn an_unknown_tool_is_answered_with_the_tools_that_there_are() {
    insta::assert_snapshot!(play(r#"
[offer TaskCreate TaskList Look]
user: go
assistant:
  > TodoWrite {"todos":[]}
  > bash
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TodoWrite#call_1 {"todos":[]}
02   > bash#call_2 {}
02   > TaskUpdate#call_3 {"taskid":1,"status":"completed"}
03 error call_1: there is no tool `TodoWrite`; the tools are: TaskCreate, TaskList, Look
04 error call_2: there is no tool `bash`; the tools are: TaskCreate, TaskList, Look
05 error call_3: there is no tool `TaskUpdate`; the tools are: TaskCreate, TaskList, Look
-> the model is asked with 1 to 5
06 assistant: Done.
== completed, turns: 2: "Done."
tasks: There are no tasks.
"#);
}

#[test]
fn a_session_without_tools_says_so() {
    insta::assert_snapshot!(play(r#"
[offer None]
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
03 error call_1: there is no tool `TaskCreate`: this session has no tools
-> the model is asked with 1 to 3
04 assistant: Done.
== completed, turns: 2: "Done."
tasks: There are no tasks.
"#);
}

/// BR-113 and its kind: text that is no JSON is an error for the model, stays in the log as it was,
/// and does not keep the session from going on.
#[test]
fn br_113_broken_arguments_are_an_error_and_the_session_goes_on() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate! {"subject":"a","descr
  > TaskCreate! {"subject":"\ud83d","description":""}
  > TaskCreate! subject: a
  > TaskCreate! {"subject":"a","description":""} {"subject":"b","description":""}
  > TaskCreate! [1]
  > TaskCreate! "text"
  > TaskList! null
assistant: Done.
[resume]
user: go on
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","descr
02   > TaskCreate#call_2 {"subject":"\ud83d","description":""}
02   > TaskCreate#call_3 subject: a
02   > TaskCreate#call_4 {"subject":"a","description":""} {"subject":"b","description":""}
02   > TaskCreate#call_5 [1]
02   > TaskCreate#call_6 "text"
02   > TaskList#call_7 null
03 error call_1: the arguments are not valid JSON: EOF while parsing a string at line 1 column 21. Send one JSON object
04 error call_2: the arguments are not valid JSON: unexpected end of hex escape at line 1 column 19. Send one JSON object
05 error call_3: the arguments are not valid JSON: expected value at line 1 column 1. Send one JSON object
06 error call_4: the arguments are not valid JSON: trailing characters at line 1 column 34. Send one JSON object
07 error call_5: arguments must be an object, not an array; accepted: subject and description (text, both needed), one task a call
08 error call_6: arguments must be an object, not text; accepted: subject and description (text, both needed), one task a call
09 result call_7: There are no tasks.
-> the model is asked with 1 to 9
10 assistant: Done.
== completed, turns: 2: "Done."
== resumed: 1 to 10
== user: go on
11 user: go on
-> the model is asked with 1 to 11
12 assistant:
12   > TaskCreate#call_8 {"subject":"a","description":""}
13 result call_8: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 13
14 assistant: Done.
== completed, turns: 2: "Done."
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

/// BR-041, BR-051: the object as a JSON string means the object, for every tool and every rule.
#[test]
fn br_041_arguments_as_a_json_string_mean_the_object() {
    insta::assert_snapshot!(play(r#"
[mode bypassPermissions]
[forbid Act(rm:*)]
user: go
assistant:
  > TaskCreate! "{\"subject\":\"a\",\"description\":\"\"}"
  > Look! "{\"text\":\"seen\"}"
  > Act! "{\"text\":\"rm -rf x\"}"
  > Act! "{\"text\":\"ls\"}"
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 "{\"subject\":\"a\",\"description\":\"\"}"
02   > Look#call_2 "{\"text\":\"seen\"}"
02   > Act#call_3 "{\"text\":\"rm -rf x\"}"
02   > Act#call_4 "{\"text\":\"ls\"}"
   ~ Look call_2 begins
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
   ~ Look call_2 ends
04 result call_2: seen
05 error call_3: permission denied: the rule Act(rm:*) forbids it. Do not repeat the call
   ~ Act call_4 begins
   ~ Act call_4 ends
06 result call_4: ls
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 2: "Done."
   denied: Act#call_3
== resumed: 1 to 7
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

/// Servers that count ids anew in each answer, send none, or send what no provider takes back.
#[test]
fn call_ids_are_made_unique_and_acceptable() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate #call-1 {"subject":"a","description":""}
  > TaskCreate #call-1 {"subject":"b","description":""}
assistant:
  > TaskCreate #call-1 {"subject":"c","description":""}
  > TaskCreate #functions.TaskCreate:0 {"subject":"d","description":""}
  > TaskCreate #ähm {"subject":"e","description":""}
  > TaskCreate #aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa {"subject":"f","description":""}
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call-1 {"subject":"a","description":""}
02   > TaskCreate#pod_000000000004 {"subject":"b","description":""}
03 result call-1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
04 result pod_000000000004: #2 [pending] b
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] b
-> the model is asked with 1 to 4
05 assistant:
05   > TaskCreate#pod_000000000008 {"subject":"c","description":""}
05   > TaskCreate#pod_000000000009 {"subject":"d","description":""}
05   > TaskCreate#pod_00000000000a {"subject":"e","description":""}
05   > TaskCreate#pod_00000000000b {"subject":"f","description":""}
06 result pod_000000000008: #3 [pending] c
   | 3 tasks: 3 pending, 0 inprogress, 0 completed, 0 deleted
   * #3 [pending] c
07 result pod_000000000009: #4 [pending] d
   | 4 tasks: 4 pending, 0 inprogress, 0 completed, 0 deleted
   * #4 [pending] d
08 result pod_00000000000a: #5 [pending] e
   | 5 tasks: 5 pending, 0 inprogress, 0 completed, 0 deleted
   * #5 [pending] e
09 result pod_00000000000b: #6 [pending] f
   | 6 tasks: 6 pending, 0 inprogress, 0 completed, 0 deleted
   * #6 [pending] f
-> the model is asked with 1 to 9
10 assistant: Done.
== completed, turns: 3: "Done."
== resumed: 1 to 10
tasks: 6 tasks: 6 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] b
#3 [pending] c
#4 [pending] d
#5 [pending] e
#6 [pending] f
"#);
}

/// A call that was delivered twice in one message, id and all, takes effect once.
#[test]
fn br_102_a_call_that_came_twice_takes_effect_once() {
    insta::assert_snapshot!(play(r#"
[mode bypassPermissions]
user: go
assistant:
  > TaskCreate #same {"subject":"a","description":""}
  > TaskCreate #same {"subject":"a","description":""}
  > Act #x.y {"text":"once"}
  > Act #x.y {"text":"once"}
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#same {"subject":"a","description":""}
02   > TaskCreate#pod_000000000004 {"subject":"a","description":""}
02   > Act#pod_000000000005 {"text":"once"}
02   > Act#pod_000000000006 {"text":"once"}
03 result same: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
04 error pod_000000000004: not run: this repeats an earlier call of the same message, with the same id
   ~ Act pod_000000000005 begins
   ~ Act pod_000000000005 ends
05 result pod_000000000005: once
06 error pod_000000000006: not run: this repeats an earlier call of the same message, with the same id
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 2: "Done."
== resumed: 1 to 7
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

#[test]
fn br_047_tasks_of_one_wording_are_tasks_of_their_own() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":"x"}
  > TaskCreate {"subject":"a","description":"x"}
assistant:
  > TaskCreate {"subject":"a","description":"x"}
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":"x"}
02   > TaskCreate#call_2 {"subject":"a","description":"x"}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
04 result call_2: #2 [pending] a
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] a
-> the model is asked with 1 to 4
05 assistant:
05   > TaskCreate#call_3 {"subject":"a","description":"x"}
06 result call_3: #3 [pending] a
   | 3 tasks: 3 pending, 0 inprogress, 0 completed, 0 deleted
   * #3 [pending] a
-> the model is asked with 1 to 6
07 assistant: Done.
== completed, turns: 3: "Done."
== resumed: 1 to 7
tasks: 3 tasks: 3 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
    x
#2 [pending] a
    x
#3 [pending] a
    x
"#);
}

/// BR-043: the same answer each time, nothing changed; and not for ever.
#[test]
fn br_043_the_same_bad_call_gets_the_same_answer() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskUpdate {"taskid":7,"status":"done"}
assistant:
  > TaskUpdate {"taskid":7,"status":"done"}
assistant:
  > TaskUpdate {"taskid":7,"status":"done"}
assistant:
  > TaskUpdate {"taskid":7,"status":"done"}
assistant:
  > TaskUpdate {"taskid":7,"status":"done"}
assistant: I give up.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskUpdate#call_1 {"taskid":7,"status":"done"}
03 error call_1: status must be one of pending, inprogress, completed, deleted, not "done"
-> the model is asked with 1 to 3
04 assistant:
04   > TaskUpdate#call_2 {"taskid":7,"status":"done"}
05 error call_2: status must be one of pending, inprogress, completed, deleted, not "done"
-> the model is asked with 1 to 5
06 assistant:
06   > TaskUpdate#call_3 {"taskid":7,"status":"done"}
07 error call_3: status must be one of pending, inprogress, completed, deleted, not "done"
-> the model is asked with 1 to 7
08 assistant:
08   > TaskUpdate#call_4 {"taskid":7,"status":"done"}
09 error call_4: status must be one of pending, inprogress, completed, deleted, not "done"
-> the model is asked with 1 to 9
10 assistant:
10   > TaskUpdate#call_5 {"taskid":7,"status":"done"}
11 error call_5: status must be one of pending, inprogress, completed, deleted, not "done"
-> the model is asked with 1 to 11
12 assistant: I give up.
== completed, turns: 6: "I give up."
tasks: There are no tasks.
"#);
}

#[test]
fn br_043_a_model_that_repeats_a_failing_call_is_stopped() {
    let bad_call = "assistant:\n  > TaskGet {\"taskid\":7}\n";
    let script = format!("user: go\n{}", bad_call.repeat(30));
    let last = play(&script);
    let last: Vec<&str> = last.lines().rev().take(4).collect();
    insta::assert_snapshot!(last.into_iter().rev().collect::<Vec<_>>().join("\n"), @r#"
    20   > TaskGet#call_10 {"taskid":7}
    21 error call_10: task 7 does not exist; there are no tasks yet, TaskCreate makes one
    == failed: the model made the same call of TaskGet 10 times in a row and each of them failed; say what to do differently, or try another model, turns: 10
    tasks: There are no tasks.
    "#);
}

/// A result that a tool did not bound is cut in the middle, at a character, and says so.
#[test]
fn a_huge_result_is_cut_and_says_so() {
    let text = "日本".repeat(30_000);
    let script = format!(
        "user: go\nassistant:\n  > Look {{\"text\":\"{text}\"}}\nassistant: Done.\n[log]\n"
    );
    let played = play(&script);
    let note = played
        .lines()
        .filter(|line| line.starts_with("{\"type\":\"tool_result\""));
    let notes: Vec<bool> = note
        .map(|line| line.contains("[... 130002 bytes left out ...]"))
        .collect();
    assert_eq!(notes, [true]);
}
