//! The suite: whole flows, through the library and through the program.
//!
//! One test binary, so that it is linked once. `no_forgotten_test_files` fails when a file of this
//! directory is not listed here.

#![allow(
    clippy::expect_used,
    clippy::needless_pass_by_value,
    clippy::needless_raw_string_hashes,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that cannot do its work fails, and says why"
)]

mod bug_reports;
mod cancelled;
mod command_line;
mod compact_crash;
mod compact_flow;
mod compact_large;
mod compact_laws;
mod compact_program;
mod compact_wire;
mod damage;
mod damage_lines;
mod faults;
mod flow_calls;
mod flow_edit;
mod flow_every_poll;
mod flow_hooks;
mod flow_laws;
mod flow_mention;
mod flow_permission;
mod flow_prompt;
mod flow_reminder;
mod flow_run;
mod flow_session;
mod hostile_machine;
mod hostile_memory;
mod hostile_text;
mod hostile_worker;
mod kill_campaign;
mod library_example;
mod load;
mod locking;
mod messages;
mod program;
mod prompt_program;
mod recorded_sessions;
mod screen;
mod screen_world;
mod sdk_lines;
mod signals;
mod tasks_program;
mod token_figures;
mod wire_anthropic;
mod wire_laws;
mod wire_openai;
mod wire_program;
mod wire_responses;
mod words;
mod words_on_terminal;

#[test]
fn no_forgotten_test_files() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // Snapshots and data are no modules.
        let Some(module) = name.strip_suffix(".rs").filter(|it| *it != "main") else {
            continue;
        };
        assert!(
            listed.lines().any(|line| line == format!("mod {module};")),
            "tests/{name} is not listed in tests/main.rs, so it never runs"
        );
    }
}
