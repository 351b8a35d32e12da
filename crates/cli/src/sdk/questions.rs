//! What Pod asks the program, and the answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Asks the program. Clones ask the same program.
#[derive(Clone)]
pub(super) struct Questions {
    shared: Arc<Shared>,
}

struct Shared {
    /// Lines that are to be written, when all that happened before them is written.
    outgoing: UnboundedSender<Value>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<String, oneshot::Sender<Result<Value, String>>>,
    /// Whether the program will say nothing more.
    ended: bool,
}

impl Questions {
    /// Nobody to ask yet, and the lines that questions become.
    pub(super) fn new() -> (Self, UnboundedReceiver<Value>) {
        let (outgoing, lines) = unbounded_channel();
        let shared = Arc::new(Shared {
            outgoing,
            state: Mutex::default(),
        });
        (Self { shared }, lines)
    }

    /// Asks and waits for the answer. An error is why there is none. Dropping the future takes the
    /// question back.
    pub(super) async fn ask(&self, request: Value) -> Result<Value, String> {
        let id = Uuid::now_v7().to_string();
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if state.ended {
                return Err(NOBODY.to_owned());
            }
            state.waiting.insert(id.clone(), answer);
        }
        let open = Open {
            shared: &self.shared,
            id,
        };
        self.shared.say(json!({
            "type": "control_request",
            "request_id": open.id,
            "request": request,
        }));
        answered.await.unwrap_or_else(|_| Err(NOBODY.to_owned()))
    }

    /// Writes a line that is no question, in its order among the questions.
    pub(super) fn say(&self, line: Value) {
        self.shared.say(line);
    }

    /// Takes an answer. One to a question that nobody asked, or that was taken back, is nothing.
    pub(super) fn answer(&self, id: &str, answer: Result<Value, String>) {
        let waiting = self.shared.lock().waiting.remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }

    /// The program will say nothing more: whoever waits for it waits no longer.
    pub(super) fn end(&self) {
        let mut state = self.shared.lock();
        state.ended = true;
        state.waiting.clear();
    }
}

/// Why a question is not answered once standard input has ended.
const NOBODY: &str = "standard input has ended, so nobody can answer";

impl Shared {
    /// Nothing can panic while the lock is held, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: Value) {
        let _ = self.outgoing.send(line);
    }
}

/// A question that waits for its answer.
struct Open<'a> {
    shared: &'a Shared,
    id: String,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let was_waiting = self.shared.lock().waiting.remove(&self.id).is_some();
        if was_waiting {
            self.shared.say(json!({
                "type": "control_cancel_request",
                "request_id": self.id,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn asked(lines: &mut UnboundedReceiver<Value>) -> String {
        let line = lines.recv().await.unwrap();
        assert_eq!(line["type"], "control_request");
        line["request_id"].as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn an_answer_reaches_its_question() {
        let (questions, mut lines) = Questions::new();
        let (first, second, ()) =
            tokio::join!(questions.ask(json!(1)), questions.ask(json!(2)), async {
                let first = asked(&mut lines).await;
                let second = asked(&mut lines).await;
                questions.answer("nobody asked", Ok(json!("?")));
                questions.answer(&second, Err(String::from("no")));
                questions.answer(&first, Ok(json!("yes")));
                questions.answer(&first, Ok(json!("twice")));
            });
        assert_eq!(first, Ok(json!("yes")));
        assert_eq!(second, Err(String::from("no")));
        assert!(lines.try_recv().is_err(), "nothing was taken back");
    }

    #[tokio::test]
    async fn a_question_that_is_dropped_is_taken_back() {
        let (questions, mut lines) = Questions::new();
        let id = tokio::select! {
            biased;
            _ = questions.ask(json!(1)) => panic!("nobody answered"),
            id = asked(&mut lines) => id,
        };
        let line = lines.recv().await.unwrap();
        assert_eq!(
            line,
            json!({"type": "control_cancel_request", "request_id": id})
        );
    }

    #[tokio::test]
    async fn at_the_end_nobody_waits() {
        let (questions, mut lines) = Questions::new();
        let (answer, ()) = tokio::join!(questions.ask(json!(1)), async {
            asked(&mut lines).await;
            questions.end();
        });
        assert_eq!(answer, Err(NOBODY.to_owned()));
        assert_eq!(questions.ask(json!(2)).await, Err(NOBODY.to_owned()));
        assert!(lines.try_recv().is_err());
    }
}
