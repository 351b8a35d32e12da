//! The terminal while the screen is shown. Whatever ends the program, it is left as it was.

use std::io::{self, Stdout, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::state::State;
use super::view::{self, Style};
use crate::tasks::variable;

/// Whether the terminal can place nothing.
pub(super) fn is_dumb() -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

/// How things may look.
pub(super) fn style() -> Style {
    Style {
        // https://no-color.org: present and not empty.
        colour: variable("NO_COLOR").is_none(),
    }
}

/// Whether the terminal is in the state that [`restore`] ends.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The screen. Dropping it leaves the terminal as it was.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    style: Style,
}

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        restore_on_panic();
        begin()?;
        let terminal =
            Terminal::new(CrosstermBackend::new(io::stdout())).inspect_err(|_| restore())?;
        Ok(Self {
            terminal,
            style: style(),
        })
    }

    pub(super) fn draw(&mut self, state: &mut State) -> io::Result<()> {
        let style = self.style;
        self.terminal
            .draw(|frame| view::draw(frame, state, style))?;
        Ok(())
    }

    /// Draws every cell anew with the next drawing.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        // Not `clear`, which asks the terminal where the cursor is and fails if no answer comes.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Puts the program into the background until the shell brings it back.
    #[cfg(unix)]
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        restore();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        begin()?;
        self.clear()
    }

    #[cfg(not(unix))]
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn begin() -> io::Result<()> {
    IS_SHOWN.store(true, Ordering::SeqCst);
    enable_raw_mode()
        .and_then(|()| {
            let mut out = io::stdout();
            queue!(out, EnterAlternateScreen, EnableBracketedPaste)?;
            // A wheel would be sent as arrow keys, which go through what was typed before. Terminals
            // that do not know this mode pass over it.
            out.write_all(b"\x1b[?1007s\x1b[?1007l")?;
            out.flush()
        })
        .inspect_err(|_| restore())
}

/// Leaves the terminal as it was, if it is not so already.
fn restore() {
    if IS_SHOWN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        // Each is tried, whatever became of the one before.
        let _ = out.write_all(b"\x1b[?1007r");
        let _ = execute!(out, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// A message of a panic belongs on the screen that stays.
fn restore_on_panic() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}
