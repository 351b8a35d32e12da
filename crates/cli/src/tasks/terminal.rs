//! What is known of the place that output goes to.

use std::io::IsTerminal;

/// Where output goes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terminal {
    /// Columns; `None` if nobody looks at it through a window, so that nothing needs to be cut.
    pub(crate) width: Option<usize>,
    /// Rows of the window.
    pub(crate) height: Option<usize>,
    /// The cursor can be moved.
    pub(crate) interactive: bool,
    /// Colours may be used.
    pub(crate) colour: bool,
}

impl Terminal {
    /// What standard output is.
    pub(crate) fn of_stdout() -> Self {
        Self::of(&std::io::stdout())
    }

    /// What standard error is.
    pub(crate) fn of_stderr() -> Self {
        Self::of(&std::io::stderr())
    }

    fn of<T: IsTerminal + std::os::fd::AsFd>(stream: &T) -> Self {
        let columns = variable("COLUMNS").and_then(|columns| columns.parse().ok());
        if !stream.is_terminal() {
            return Self {
                width: columns,
                ..Self::default()
            };
        }
        let size = rustix::termios::tcgetwinsize(stream).ok();
        let size = size.filter(|size| size.ws_col > 0);
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Self {
            width: Some(size.map_or(columns.unwrap_or(80), |size| size.ws_col.into())),
            height: Some(size.map_or(24, |size| size.ws_row.into())),
            interactive: !dumb,
            // https://no-color.org: present and not empty.
            colour: !dumb && variable("NO_COLOR").is_none(),
        }
    }

    /// The text in this style, if colours may be used.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        let code = match style {
            _ if !self.colour => return text.to_owned(),
            Style::Plain => return text.to_owned(),
            Style::Strong => "1",
            Style::Faint => "2",
            Style::Done => "32",
            Style::Working => "33",
            Style::Wrong => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// How text looks. Never the only carrier of meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Strong,
    Faint,
    Done,
    Working,
    Wrong,
}

/// An environment variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
