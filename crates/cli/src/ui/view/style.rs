//! How things look. Colour is never the only carrier of meaning: there is a mark or a word for each.

use ratatui::style::{Color, Modifier, Style as Cells};
use tools::task::Status;

/// The styles of a terminal.
///
/// All are asked of it, also those that need no colour.
#[derive(Clone, Copy, Debug)]
pub(in crate::ui) struct Style {
    /// Whether there may be colours.
    pub(in crate::ui) colour: bool,
}

#[expect(
    clippy::unused_self,
    reason = "whether a style needs colours is nobody else's business"
)]
impl Style {
    fn coloured(self, colour: Color) -> Cells {
        if self.colour {
            Cells::new().fg(colour)
        } else {
            Cells::new()
        }
    }

    pub(super) fn plain(self) -> Cells {
        Cells::new()
    }

    pub(super) fn strong(self) -> Cells {
        Cells::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn faint(self) -> Cells {
        Cells::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn chosen(self) -> Cells {
        Cells::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn user(self) -> Cells {
        self.coloured(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(super) fn good(self) -> Cells {
        self.coloured(Color::Green)
    }

    pub(super) fn bad(self) -> Cells {
        self.coloured(Color::Red)
    }

    pub(super) fn warning(self) -> Cells {
        self.coloured(Color::Yellow)
    }

    pub(super) fn code(self) -> Cells {
        self.coloured(Color::Cyan)
    }

    /// A task of this status.
    pub(super) fn task(self, status: Status) -> Cells {
        match status {
            Status::Pending => self.plain(),
            Status::InProgress => self.warning().add_modifier(Modifier::BOLD),
            Status::Completed | Status::Deleted => self.faint(),
        }
    }
}

/// The mark of a status, as in `pod tasks`.
pub(super) fn mark(status: Status) -> &'static str {
    match status {
        Status::Pending => "[ ]",
        Status::InProgress => "[>]",
        Status::Completed => "[x]",
        Status::Deleted => "[-]",
    }
}
