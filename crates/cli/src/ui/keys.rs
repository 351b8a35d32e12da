//! Keys: what each of them does, by what is open.

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use jiff::SignedDuration;

use super::command::{self, Command};
use super::overlay::Overlay;
use super::state::{Action, Answer, State, TWICE};
use super::transcript::Tone;

/// How long after the last letter a key is still meant for the input when a question has come up.
const TYPING: SignedDuration = SignedDuration::from_millis(700);

impl State {
    /// Something came from the terminal.
    pub(super) fn on_input(&mut self, input: &Input) -> Option<Action> {
        match input {
            Input::Key(key) if key.kind != KeyEventKind::Release => self.on_key(*key),
            Input::Paste(text) => {
                if self.overlay.is_none() {
                    self.last_typed = Some(self.now);
                    self.editor.insert(text);
                }
                None
            }
            // The next drawing has the new size.
            _ => None,
        }
    }

    fn on_key(&mut self, key: KeyEvent) -> Option<Action> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => {
                self.overlay = None;
                return self.stop(true);
            }
            KeyCode::Char('d') if control && self.editor.is_empty() => return Some(Action::Leave),
            KeyCode::Char('l') if control => return Some(Action::Redraw),
            KeyCode::Char('z') if control => return Some(Action::Suspend),
            KeyCode::Char('o') if control => {
                self.details = !self.details;
                return None;
            }
            KeyCode::Char('t') if control => return self.toggle_tasks(),
            _ => {}
        }
        // A question stands in front of whatever is open.
        if self.overlay.is_some() && self.questions.is_empty() {
            return self.on_overlay_key(key);
        }
        if !self.questions.is_empty()
            && let Some(action) = self.on_question_key(key)
        {
            return Some(action);
        }
        self.on_editor_key(key, control)
    }

    fn toggle_tasks(&mut self) -> Option<Action> {
        if matches!(self.overlay, Some(Overlay::Tasks(_))) {
            self.overlay = None;
        } else {
            self.overlay = Some(Overlay::Tasks(super::overlay::TaskView::default()));
        }
        None
    }

    /// Stops what goes on; twice leaves.
    fn stop(&mut self, by_control_c: bool) -> Option<Action> {
        let before = self.last_stop.replace(self.now);
        if before.is_some_and(|before| self.now.duration_since(before) < TWICE) {
            return Some(Action::Leave);
        }
        let key = if by_control_c { "Ctrl-C" } else { "Esc" };
        if let Some(work) = &mut self.work {
            work.stopping = true;
            self.hint(format!("stopping; {key} again leaves"));
            return Some(Action::Stop);
        }
        if by_control_c && !self.editor.is_empty() {
            // It stays in the history, for a hand that was too quick.
            self.editor.take();
        }
        self.hint(format!("{key} again leaves; the session is kept"));
        None
    }

    fn on_question_key(&mut self, key: KeyEvent) -> Option<Action> {
        if key.code == KeyCode::Esc {
            return Some(Action::Answer(Answer::End));
        }
        let is_typing = self
            .last_typed
            .is_some_and(|at| self.now.duration_since(at) < TYPING);
        if is_typing || key.modifiers.contains(KeyModifiers::CONTROL) {
            return None;
        }
        match key.code {
            KeyCode::Char('y' | 'Y') => Some(Action::Answer(Answer::Yes)),
            KeyCode::Char('a' | 'A') => Some(Action::Answer(Answer::Always)),
            KeyCode::Char('n' | 'N') => Some(Action::Answer(Answer::No)),
            _ => None,
        }
    }

    fn on_editor_key(&mut self, key: KeyEvent, control: bool) -> Option<Action> {
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let page = isize::try_from(self.scroll.page.max(2) - 1).unwrap_or(1);
        match key.code {
            KeyCode::Enter if alt || shift => self.editor.new_line(),
            KeyCode::Char('j') if control => self.editor.new_line(),
            KeyCode::Enter => return self.enter(),
            KeyCode::Tab => self.complete(),
            KeyCode::BackTab => return Some(Action::NextMode),
            KeyCode::Esc => return self.stop(false),
            KeyCode::PageUp => self.scroll.by -= page,
            KeyCode::PageDown => self.scroll.by += page,
            KeyCode::Home if control => self.scroll.by = isize::MIN / 2,
            KeyCode::End if control => self.scroll.by = isize::MAX / 2,
            KeyCode::Up | KeyCode::Down if !self.completions().is_empty() => {
                let last = self.completions().len() - 1;
                self.completion = if key.code == KeyCode::Up {
                    self.completion.saturating_sub(1)
                } else {
                    (self.completion + 1).min(last)
                };
                return None;
            }
            KeyCode::Up => self.editor.up(),
            KeyCode::Down => self.editor.down(),
            KeyCode::Left if control || alt => self.editor.word_left(),
            KeyCode::Right if control || alt => self.editor.word_right(),
            KeyCode::Char('b') if alt => self.editor.word_left(),
            KeyCode::Char('f') if alt => self.editor.word_right(),
            KeyCode::Left => self.editor.left(),
            KeyCode::Right => self.editor.right(),
            KeyCode::Home => self.editor.home(),
            KeyCode::End => self.editor.end(),
            KeyCode::Backspace if control || alt => self.editor.delete_word(),
            KeyCode::Backspace => self.editor.backspace(),
            KeyCode::Delete => self.editor.delete(),
            KeyCode::Char(letter) if control => match letter {
                'a' => self.editor.home(),
                'e' => self.editor.end(),
                'b' => self.editor.left(),
                'f' => self.editor.right(),
                'p' => self.editor.up(),
                'n' => self.editor.down(),
                'd' => self.editor.delete(),
                'h' => self.editor.backspace(),
                'w' => self.editor.delete_word(),
                'u' => self.editor.delete_to_begin(),
                'k' => self.editor.delete_to_end(),
                _ => {}
            },
            KeyCode::Char(letter) if !alt => {
                self.last_typed = Some(self.now);
                self.editor.insert(letter.encode_utf8(&mut [0; 4]));
            }
            _ => {}
        }
        self.completion = 0;
        None
    }

    /// The commands that what is typed may become.
    pub(super) fn completions(&self) -> Vec<command::Word> {
        self.editor
            .single_line()
            .map(command::completions)
            .unwrap_or_default()
    }

    fn chosen_completion(&self) -> Option<command::Word> {
        let completions = self.completions();
        completions.get(self.completion).copied()
    }

    fn complete(&mut self) {
        if let Some(word) = self.chosen_completion() {
            self.editor.set(&format!("/{} ", word.name));
            self.completion = 0;
        }
    }

    /// Sends what is typed.
    fn enter(&mut self) -> Option<Action> {
        // A backslash at the end of the line is a line break, as in a shell.
        if self.editor.text().ends_with('\\') && self.editor.single_line() != Some("\\") {
            self.editor.end();
            self.editor.backspace();
            self.editor.new_line();
            return None;
        }
        if let Some(word) = self.chosen_completion() {
            self.editor.set(&format!("/{}", word.name));
        }
        self.completion = 0;
        if self.editor.text().trim().is_empty() {
            return None;
        }
        self.last_stop = None;
        self.last_typed = None;
        let text = self.editor.take();
        if let Some(path) = looks_like_command(&text) {
            return match command::parse(path) {
                Ok(command) if self.work.is_some() && !is_for_any_time(&command) => {
                    self.transcript.note(
                        Tone::Warning,
                        "that needs the session for itself; stop the work first (Esc)",
                    );
                    self.editor.set(&text);
                    None
                }
                Ok(command) => Some(Action::Command(command)),
                Err(error) => {
                    self.transcript.note(Tone::Error, error);
                    None
                }
            };
        }
        self.scroll.top = None;
        if self.work.is_some() {
            self.queued.push_back(text);
            return None;
        }
        Some(Action::Prompt(text))
    }

    fn on_overlay_key(&mut self, key: KeyEvent) -> Option<Action> {
        let page = isize::try_from(self.scroll.page.max(2) - 1).unwrap_or(1);
        let step = match key.code {
            KeyCode::Esc | KeyCode::Char('q') => {
                self.overlay = None;
                return None;
            }
            KeyCode::Up | KeyCode::Char('k') => -1,
            KeyCode::Down | KeyCode::Char('j') => 1,
            KeyCode::PageUp => -page,
            KeyCode::PageDown | KeyCode::Char(' ') => page,
            KeyCode::Home => isize::MIN / 2,
            KeyCode::End => isize::MAX / 2,
            _ => 0,
        };
        match self.overlay.as_mut()? {
            Overlay::Tasks(view) => {
                view.top = view.top.saturating_add_signed(step);
                match key.code {
                    KeyCode::Char('f') => {
                        view.filter = view.filter.next();
                        view.top = 0;
                    }
                    KeyCode::Char('t') | KeyCode::Tab => {
                        view.timeline = !view.timeline;
                        view.top = 0;
                        return view.timeline.then_some(Action::ReadPast);
                    }
                    _ => {}
                }
                None
            }
            Overlay::Page(page) => {
                page.top = page.top.saturating_add_signed(step);
                None
            }
            Overlay::Rewind(picker, _) => {
                picker.select(step);
                (key.code == KeyCode::Enter).then_some(Action::RewindTo(picker.selected))
            }
            Overlay::Resume(picker) => {
                picker.select(step);
                (key.code == KeyCode::Enter).then_some(Action::ResumeNumber(picker.selected))
            }
        }
    }
}

/// Whether a line is a command, and not a path or a text that begins with a slash.
fn looks_like_command(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('/')?;
    let name = rest.split_whitespace().next().unwrap_or_default();
    // `/usr/bin is full` and `// a comment` are prompts.
    (!name.contains('/') && !name.contains('.')).then_some(text)
}

/// Whether a command can be done while a run is going on.
fn is_for_any_time(command: &Command) -> bool {
    !matches!(
        command,
        Command::Compact | Command::Rewind | Command::Fork | Command::Resume
    )
}
