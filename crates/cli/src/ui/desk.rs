//! Does what commands ask for: other sessions, the model, permissions, pages to read.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use llm::{Item, Price, Usage};
use pod::session::segment;
use pod::{Approver, Builder, Handle, PermissionMode, Pod, Rule, SessionInfo, SessionStore};
use tools::task::render::{one_line, short};

use super::ask::Asker;
use super::board::{Board, moments};
use super::command::{Command, WORDS};
use super::overlay::{Overlay, Page, Picker, TaskView};
use super::state::State;
use super::transcript::Tone;
use crate::args::RunOptions;
use crate::lineage::past;
use crate::models::{self, Chosen};
use crate::{export, print, verify};

/// What commands need beside the session that is open.
pub(super) struct Desk<'a> {
    options: &'a RunOptions,
    store: SessionStore,
    directory: PathBuf,
    chosen: Chosen,
    asker: Arc<dyn Approver>,
    /// What the person has allowed since the program was started.
    always: Vec<Rule>,
    /// The sessions that were offered last.
    offered: Vec<SessionInfo>,
}

/// A session that is open.
pub(super) struct Opened {
    pub(super) pod: Pod,
    /// What a person should know.
    pub(super) notices: Vec<String>,
    /// What was done.
    pub(super) word: String,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        options: &'a RunOptions,
        store: SessionStore,
        directory: PathBuf,
        chosen: Chosen,
        asker: Asker,
    ) -> Self {
        Self {
            options,
            store,
            directory,
            chosen,
            asker: Arc::new(asker),
            always: Vec::new(),
            offered: Vec::new(),
        }
    }

    fn builder(&self) -> anyhow::Result<Builder> {
        let builder = print::configure(self.options, &self.chosen, &self.directory)?;
        Ok(builder
            .approver(Arc::clone(&self.asker))
            .allow(self.always.iter().cloned()))
    }

    /// The session that the command line asks for.
    pub(super) fn open_first(&self, session: Option<&SessionInfo>) -> anyhow::Result<Opened> {
        let options = self.options;
        let (builder, store) = (self.builder()?, &self.store);
        let at = options.resume_session_at;
        let mut notices = Vec::new();
        let pod = match session {
            None => builder.start(store, options.session_id)?,
            Some(info) if options.fork_session => {
                builder.fork(store, info, options.session_id, at)?
            }
            Some(info) => {
                let mut pod = builder.resume(store, info, options.salvage)?;
                if let Some(entry) = at {
                    notices = pod.rewind(entry)?;
                }
                pod
            }
        };
        Ok(opened(pod, notices, String::new()))
    }

    /// Goes on in a copy.
    pub(super) fn fork(&self, pod: &Pod) -> anyhow::Result<Opened> {
        let copy = self
            .builder()?
            .fork(&self.store, &self.info(pod)?, None, None)?;
        let word = format!(
            "this is a copy of {}, which stays as it is",
            pod.session().id()
        );
        Ok(opened(as_before(copy, pod), Vec::new(), word))
    }

    /// Goes on with a session that was offered.
    pub(super) fn resume(&self, number: usize, pod: &Pod) -> anyhow::Result<Opened> {
        let info = self
            .offered
            .get(number)
            .context("there is no such session")?;
        if info.id == pod.session().id() {
            return Err(anyhow!("this session is open already"));
        }
        let resumed = self.builder()?.resume(&self.store, info, false)?;
        let word = format!("this is session {}", info.id);
        Ok(opened(as_before(resumed, pod), Vec::new(), word))
    }

    /// Begins a session in place of one that would go back to before its first message.
    pub(super) fn start_anew(&self, pod: &Pod) -> anyhow::Result<Opened> {
        let new = self.builder()?.start(&self.store, None)?;
        let word = format!(
            "nothing was before that message: this is a new session, and {} stays as it is",
            pod.session().id()
        );
        Ok(opened(as_before(new, pod), Vec::new(), word))
    }

    fn info(&self, pod: &Pod) -> anyhow::Result<SessionInfo> {
        Ok(self.store.find(&pod.session().id().to_string())?)
    }

    /// The session that the screen shows.
    fn shown(&self, state: &State) -> anyhow::Result<SessionInfo> {
        Ok(self.store.find(&state.session.id)?)
    }

    /// Tells the screen which session it shows.
    pub(super) fn describe(&self, pod: &Pod, state: &mut State) {
        let handle = pod.handle();
        let model = handle.model();
        state.session.id = pod.session().id().to_string();
        state.session.mode = handle.permission_mode();
        state.session.directory = self.directory.display().to_string();
        model.name().clone_into(&mut state.session.model);
        state.context.window = model.capability().context_window.into();
    }

    /// Allows calls of a kind from now on, in this and in each session that is opened.
    pub(super) fn allow(&mut self, rule: Rule, handle: &Handle) {
        handle.allow([rule.clone()]);
        self.always.push(rule);
    }

    pub(super) fn next_mode(handle: &Handle, state: &mut State) {
        let next = match handle.permission_mode() {
            PermissionMode::Default => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits => PermissionMode::Plan,
            // Those that ask for nothing are not reached by a key that is pressed by chance.
            _ => PermissionMode::Default,
        };
        set_mode(next, handle, state);
    }

    /// Reads what stands in older segments, for the timeline.
    pub(super) fn read_past(&self, state: &mut State) {
        if let Ok(info) = self.shown(state) {
            state.board.set_past(&past(&self.store, &info));
        }
    }

    /// Offers the messages of the user to go back to.
    pub(super) fn offer_rewind(&self, pod: &Pod, state: &mut State) {
        let moments = match self.info(pod) {
            Ok(info) => moments(&past(&self.store, &info)),
            Err(error) => return state.transcript.note(Tone::Error, format!("{error:#}")),
        };
        if moments.is_empty() {
            return state
                .transcript
                .note(Tone::Info, "there is nothing to go back to yet");
        }
        let rows = moments.iter().map(|moment| {
            let time = moment.at.strftime("%m-%d %H:%M:%SZ");
            format!("{time}  {}", short(&one_line(&moment.text), 300))
        });
        let last = moments.len() - 1;
        let picker = Picker::new("Go back to before which message?", rows.collect(), last);
        state.overlay = Some(Overlay::Rewind(picker, moments));
    }

    /// Offers the sessions of the directory.
    pub(super) fn offer_resume(&mut self, pod: &Pod, state: &mut State) {
        self.offered = match self.store.list(&self.directory) {
            Ok(sessions) => sessions,
            Err(error) => return state.transcript.note(Tone::Error, error.to_string()),
        };
        let open = pod.session().id();
        let rows: Vec<String> = self
            .offered
            .iter()
            .map(|info| self.session_row(info, info.id == open, state))
            .collect();
        if rows.is_empty() {
            return state
                .transcript
                .note(Tone::Info, "there are no other sessions here");
        }
        state.overlay = Some(Overlay::Resume(Picker::new(
            "Go on with which session?",
            rows,
            0,
        )));
    }

    fn session_row(&self, info: &SessionInfo, is_open: bool, state: &State) -> String {
        let id: String = info.id.to_string();
        let modified = jiff::Timestamp::try_from(info.modified).unwrap_or(state.now);
        let time = modified.strftime("%Y-%m-%d %H:%MZ");
        let what = match segment::read(self.store.disk(), &info.newest_segment(), true) {
            Err(error) => error.to_string(),
            Ok(contents) => {
                let entries: Vec<_> = contents.entries.into_iter().map(|it| it.entry).collect();
                let (done, total) = Board::of(&entries).progress();
                let tasks = match total {
                    0 => String::from("no tasks"),
                    total => format!("{done}/{total} done"),
                };
                let first = entries.iter().find_map(|entry| match &*entry.item {
                    Item::User(message) => Some(message.joined_text()),
                    _ => None,
                });
                format!(
                    "{tasks:<11}  {}",
                    short(&one_line(&first.unwrap_or_default()), 300)
                )
            }
        };
        let open = if is_open { "  (open)" } else { "" };
        format!("{time}  {}{open}  {what}", id.get(..8).unwrap_or(&id))
    }

    /// A command that can be done at any time.
    pub(super) fn command(&mut self, command: &Command, handle: &Handle, state: &mut State) {
        let done = match command {
            Command::Help => {
                show(state, "Help", help());
                Ok(())
            }
            Command::ShowTasks => {
                state.overlay = Some(Overlay::Tasks(TaskView::default()));
                Ok(())
            }
            Command::Model(name) => self.model(name.as_deref(), handle, state),
            Command::Permissions(mode) => self.permissions(mode.as_deref(), handle, state),
            Command::Cost => self.cost(state),
            Command::Verify => self.verify(state),
            Command::Export(file) => self.export(file.as_deref(), state),
            // They are done elsewhere.
            Command::EditTasks(_)
            | Command::Compact
            | Command::Rewind
            | Command::Fork
            | Command::Resume
            | Command::Quit => Ok(()),
        };
        if let Err(error) = done {
            state.transcript.note(Tone::Error, format!("{error:#}"));
        }
    }

    fn model(&self, name: Option<&str>, handle: &Handle, state: &mut State) -> anyhow::Result<()> {
        let Some(name) = name else {
            let text = format!(
                "the model is {}; /model NAME asks another one (claude-..., openai:NAME, ollama:NAME)",
                handle.model().name()
            );
            state.transcript.note(Tone::Info, text);
            return Ok(());
        };
        let answered = print::answers_so_far(&self.store, &self.shown(state)?);
        let model = models::choose(name, answered)?.model;
        state.transcript.note(
            Tone::Info,
            format!("the model is {} from the next request on", model.name()),
        );
        model.name().clone_into(&mut state.session.model);
        state.context.window = model.capability().context_window.into();
        handle.set_model(model);
        Ok(())
    }

    fn permissions(
        &self,
        mode: Option<&str>,
        handle: &Handle,
        state: &mut State,
    ) -> anyhow::Result<()> {
        if let Some(mode) = mode {
            let mode = mode
                .parse::<PermissionMode>()
                .map_err(|error| anyhow!(error))?;
            set_mode(mode, handle, state);
            return Ok(());
        }
        let mut text = format!(
            "The mode is {}. /permissions MODE sets another one:\n",
            handle.permission_mode()
        );
        for (mode, what) in [
            (
                PermissionMode::Default,
                "reading is free, everything else is asked for",
            ),
            (
                PermissionMode::AcceptEdits,
                "editing files in the directory is free too",
            ),
            (PermissionMode::Plan, "only reading"),
            (
                PermissionMode::DontAsk,
                "what no rule allows is denied, without asking",
            ),
            (PermissionMode::BypassPermissions, "everything is free"),
        ] {
            let _ = write!(text, "\n  {:<18} {what}", mode.as_str());
        }
        text.push_str("\n\nShift-Tab goes through the first three.\n");
        let list = |text: &mut String, title: &str, rules: &[String]| {
            let _ = write!(text, "\n{title}");
            if rules.is_empty() {
                text.push_str(" nothing");
            }
            for rule in rules {
                let _ = write!(text, "\n  {}", one_line(rule));
            }
        };
        let always: Vec<String> = self.always.iter().map(Rule::to_string).collect();
        list(
            &mut text,
            "Allowed on the command line:",
            &self.options.allowed_tools,
        );
        list(
            &mut text,
            "Forbidden on the command line:",
            &self.options.disallowed_tools,
        );
        list(&mut text, "Allowed by you since the start:", &always);
        show(state, "Permissions", text);
        Ok(())
    }

    fn cost(&self, state: &mut State) -> anyhow::Result<()> {
        let past = past(&self.store, &self.shown(state)?);
        let mut models: Vec<(String, Usage, u64)> = Vec::new();
        for entry in &past {
            let Item::Assistant(message) = &*entry.item else {
                continue;
            };
            if message.model == pod::RUNTIME {
                continue;
            }
            match models.iter_mut().find(|(name, ..)| *name == message.model) {
                Some((_, usage, answers)) => {
                    *usage += message.usage;
                    *answers += 1;
                }
                None => models.push((message.model.clone(), message.usage, 1)),
            }
        }
        let mut text = String::new();
        for (name, usage, answers) in &models {
            let _ = write!(
                text,
                "{}\n  {answers} answers, {} tokens in ({} from the cache), {} tokens out\n",
                one_line(name),
                usage.input,
                usage.cache_read,
                usage.output
            );
            match Price::of(name) {
                Some(price) => {
                    let _ = writeln!(text, "  about ${:.4}", price.cost(usage));
                }
                None => text.push_str("  the price is not known\n"),
            }
        }
        if models.is_empty() {
            text.push_str("No model was asked yet.\n");
        }
        text.push_str("\nThe requests of compactions are not counted here.");
        show(state, "Cost of this session", text);
        Ok(())
    }

    fn verify(&self, state: &mut State) -> anyhow::Result<()> {
        let report = pod::verify::verify(self.store.disk(), &self.shown(state)?)?;
        show(state, "Verify", verify::text(&report));
        Ok(())
    }

    fn export(&self, file: Option<&str>, state: &mut State) -> anyhow::Result<()> {
        let info = self.shown(state)?;
        let id = info.id.to_string();
        let name = file.map_or_else(
            || format!("pod-{}.md", id.get(..8).unwrap_or(&id)),
            str::to_owned,
        );
        let path = self.directory.join(&name);
        let is_page = path
            .extension()
            .is_some_and(|it| it.eq_ignore_ascii_case("html"));
        let (text, notices) = export::document(&self.store, &info, is_page)?;
        // What is there is never written over.
        let mut file = std::fs::File::create_new(&path)
            .with_context(|| format!("{} cannot be written; name another file", path.display()))?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        state
            .transcript
            .note(Tone::Info, format!("written to {}", path.display()));
        for notice in notices {
            state.transcript.note(Tone::Warning, notice);
        }
        Ok(())
    }
}

fn opened(pod: Pod, mut notices: Vec<String>, word: String) -> Opened {
    notices.extend(pod.notices().iter().cloned());
    Opened { pod, notices, word }
}

/// A Pod with the model and the mode that the person chose in the one before.
fn as_before(pod: Pod, before: &Pod) -> Pod {
    let (handle, before) = (pod.handle(), before.handle());
    handle.set_model(before.model());
    handle.set_permission_mode(before.permission_mode());
    pod
}

fn set_mode(mode: PermissionMode, handle: &Handle, state: &mut State) {
    handle.set_permission_mode(mode);
    state.session.mode = mode;
    state.hint(format!("permissions: {mode}"));
}

fn show(state: &mut State, title: &str, text: String) {
    state.overlay = Some(Overlay::Page(Page {
        title: title.to_owned(),
        text,
        top: 0,
    }));
}

/// Keys and commands.
pub(super) fn help() -> String {
    let mut text = String::from(
        "Enter           send; while the model works, what you send is asked next
Alt-Enter       a new line (also Ctrl-J, or a backslash at the end of the line)
Up, Down        what you sent before
Esc, Ctrl-C     stop the work; twice: leave
Ctrl-T          the whole task list, with a filter and the timeline
Ctrl-O          details of calls: commands, output, differences; and back
PageUp, -Down   look back and forth; Ctrl-Home, Ctrl-End: begin and end
Shift-Tab       what may happen without asking: default, acceptEdits, plan
Tab             complete a command
Ctrl-L          draw the screen anew
Ctrl-Z          to the background; fg brings it back
y, a, n         answer a question: yes, always in this session, no

",
    );
    for word in WORDS {
        let usage = format!("/{} {}", word.name, word.arguments);
        let _ = writeln!(text, "{usage:<36}{}", word.help);
    }
    text.push_str(
        "
/tasks add SUBJECT :: DESCRIPTION     a new task
/tasks done 3, drop 3, reopen 3       several ids are fine: done 3 4 5
/tasks edit 3 SUBJECT :: DESCRIPTION  either part may be missing",
    );
    text
}
