//! What lies over the conversation while it is open: the whole task list, a page of text, a choice.

use tools::task::Status;

use super::board::Moment;

#[derive(Debug)]
pub(super) enum Overlay {
    Tasks(TaskView),
    Page(Page),
    Rewind(Picker, Vec<Moment>),
    Resume(Picker),
}

/// The whole list.
#[derive(Debug, Default)]
pub(super) struct TaskView {
    pub(super) timeline: bool,
    pub(super) filter: Filter,
    pub(super) top: usize,
}

/// Which tasks are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Filter {
    #[default]
    All,
    Open,
    Completed,
    Deleted,
}

impl Filter {
    pub(super) fn next(self) -> Self {
        match self {
            Self::All => Self::Open,
            Self::Open => Self::Completed,
            Self::Completed => Self::Deleted,
            Self::Deleted => Self::All,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Open => "open",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }

    pub(super) fn shows(self, status: Status) -> bool {
        match self {
            Self::All => true,
            Self::Open => status.is_open(),
            Self::Completed => status == Status::Completed,
            Self::Deleted => status == Status::Deleted,
        }
    }
}

/// A text that is read and closed.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) top: usize,
}

/// One of several things is chosen.
#[derive(Debug)]
pub(super) struct Picker {
    pub(super) title: String,
    pub(super) rows: Vec<String>,
    pub(super) selected: usize,
}

impl Picker {
    pub(super) fn new(title: &str, rows: Vec<String>, selected: usize) -> Self {
        Self {
            title: title.to_owned(),
            rows,
            selected,
        }
    }

    pub(super) fn select(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }
}
