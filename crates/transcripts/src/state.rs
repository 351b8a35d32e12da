//! What the status of a task means, however its agent spells it.

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not begun.
    Pending,
    /// Being worked on.
    Working,
    /// Done.
    Done,
    /// Given up, in the agents that have that.
    Cancelled,
    /// Deleted. It stays in the list.
    Deleted,
    /// Not told, or spelled in a way that is not known.
    Unknown,
}

impl State {
    /// The status of a task of which no log that was read tells one.
    pub const UNKNOWN: &'static str = "unknown";

    /// All of them, in the order in which counts are told.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Working,
        Self::Done,
        Self::Cancelled,
        Self::Deleted,
        Self::Unknown,
    ];

    /// What this status means.
    pub fn of(status: Option<&str>) -> Self {
        let Some(status) = status else {
            return Self::Unknown;
        };
        let letters: String = status
            .chars()
            .filter(|letter| !matches!(letter, '_' | '-' | ' '))
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        match letters.as_str() {
            "pending" | "todo" | "open" => Self::Pending,
            "inprogress" | "active" => Self::Working,
            "completed" | "complete" | "done" => Self::Done,
            "cancelled" | "canceled" => Self::Cancelled,
            "deleted" => Self::Deleted,
            _ => Self::Unknown,
        }
    }

    /// How it is told to a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Working => "in progress",
            Self::Done => "completed",
            Self::Cancelled => "cancelled",
            Self::Deleted => "deleted",
            Self::Unknown => Self::UNKNOWN,
        }
    }

    /// Whether the task counts as work: what was deleted or cancelled does not.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Cancelled | Self::Deleted)
    }
}
