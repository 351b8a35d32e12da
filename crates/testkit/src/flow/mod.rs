//! A script of what a person, a model and the world do to a session, played against a real Pod.
//!
//! ```text
//! [allow Act(ls:*)]
//! user: plan the parser
//! assistant: Two steps.
//!   > TaskCreate {"subject":"lexer","description":"Tokens."}
//!   > Look {"text":"a","wait":3}
//! assistant: Planned.
//! [resume]
//! user: go on
//! fault: overloaded
//! ```
//!
//! What the model says is in the text form of [`llm::scripted`]. `user:` begins a run, which goes on
//! to its end. Lines in brackets are stage directions, see [`Direction`]. What comes out is text: each
//! entry when it is told, numbered as the model sees it; what it is asked; the changes of the task
//! list; how each run ends; and the list at the end.
//!
//! After every step the laws are checked: what is told is in the log before, what is live is what is
//! replayed, every request is well-formed and extends the one before it.

mod cast;
mod direction;
mod stage;

use std::sync::Arc;

use llm::scripted::Scripted;

pub use direction::Direction;
use direction::Step;
use stage::Stage;

/// Plays a script and gives what came of it.
#[track_caller]
pub fn play(script: &str) -> String {
    let (lines, steps) = direction::split(script);
    let model = Scripted::parse(&lines).unwrap();
    play_steps(Arc::new(model), &steps)
}

/// Plays a script without model lines against a model.
#[track_caller]
pub fn play_with(model: Arc<dyn llm::Model>, script: &str) -> String {
    let (lines, steps) = direction::split(script);
    assert_eq!(lines.trim(), "", "the script has lines for another model");
    play_steps(model, &steps)
}

fn play_steps(model: Arc<dyn llm::Model>, steps: &[Step]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut stage = Stage::new(model, steps);
        for step in steps {
            stage.play(step).await;
        }
        stage.finish()
    })
}
