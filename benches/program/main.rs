//! The whole program beside the floor: what no agent can be faster than (see `floor.rs`).
//!
//! ```text
//! cargo bench --bench program                 # all rows, about a minute
//! cargo bench --bench program -- resume       # the rows whose name has this word
//! cargo bench --bench program -- make DIR 500 compacted
//!                                             # only a session of 500 turns of DIR, in DIR/home, to look at
//! ```
//!
//! The model is a server on the loopback interface that answers at once. Each figure stands beside that
//! of the floor in the same run; only the ratios mean something on another machine.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::format_push_string,
    reason = "a program for developers, which may end when something is wrong"
)]

mod fixture;
mod floor;
mod measure;
mod rows;
mod server;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, address, log, sync, prompt] = &arguments[..]
        && command == floor::COMMAND
    {
        floor::run(address, Path::new(log), sync == "sync", prompt).expect("the floor");
        return;
    }
    if let [command, folder, turns, rest @ ..] = &arguments[..]
        && command == "make"
    {
        let compacted = rest.iter().any(|it| it == "compacted");
        let folder = Path::new(folder).canonicalize().expect("a folder");
        let turns = turns.parse().expect("a number");
        fixture::session(&folder.join("home"), &folder, turns, compacted);
        return;
    }
    // Cargo adds `--bench`.
    let words: Vec<&String> = arguments
        .iter()
        .filter(|it| !it.starts_with("--"))
        .collect();
    println!(
        "{:44} {:>11} {:>11} {:>8}   goal",
        "", "pod", "floor", "ratio"
    );
    for (name, row) in rows::ALL {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            row();
        }
    }
}
