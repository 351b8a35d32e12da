//! The ways in which a script lets requests fail.

use std::time::Duration;

use crate::ModelError;

/// A way in which a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `overloaded`: [`ModelError::Overloaded`].
    Overloaded,
    /// `failed`: [`ModelError::Provider`] with status 500.
    Failed,
    /// `cut`: the next answer begins to arrive, then [`ModelError::Cut`].
    Cut,
    /// `stall` or `wait`: the next answer begins to arrive, then nothing comes until the request is
    /// dropped.
    Stall,
    /// `timeout`: [`ModelError::Stalled`], which a provider returns when a stall was long enough.
    Timeout,
    /// `too long`: [`ModelError::PromptTooLong`].
    TooLong,
    /// `network`: [`ModelError::Network`].
    Network,
    /// `auth`: [`ModelError::Authentication`].
    Authentication,
    /// `refused`: [`ModelError::InvalidRequest`] with status 400.
    Refused,
}

impl Fault {
    /// The names that scripts use.
    const NAMES: [(&'static str, Self); 10] = [
        ("overloaded", Self::Overloaded),
        ("failed", Self::Failed),
        ("cut", Self::Cut),
        ("stall", Self::Stall),
        ("wait", Self::Stall),
        ("timeout", Self::Timeout),
        ("too long", Self::TooLong),
        ("network", Self::Network),
        ("auth", Self::Authentication),
        ("refused", Self::Refused),
    ];

    /// The fault of a name, or the list of names.
    pub(super) fn from_name(name: &str) -> Result<Self, String> {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, fault)| *fault).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "there is no fault `{name}`; there are: {}",
                names.join(", ")
            )
        })
    }

    /// Whether a part of the next answer arrives before the fault.
    pub(super) fn begins_to_answer(self) -> bool {
        matches!(self, Self::Cut | Self::Stall)
    }

    /// The error, or nothing for a stall, which never ends.
    pub(super) fn error(self, place: &str) -> Option<ModelError> {
        let message = format!("the script says so at {place}");
        Some(match self {
            Self::Overloaded => ModelError::Overloaded {
                status: 529,
                message,
                retry_after: None,
            },
            Self::Failed => ModelError::Provider {
                status: Some(500),
                message,
            },
            Self::Cut => ModelError::Cut(message),
            Self::Stall => return None,
            Self::Timeout => ModelError::Stalled(Duration::from_mins(1)),
            Self::TooLong => ModelError::PromptTooLong(message),
            Self::Network => ModelError::Network(format!("the network is away: {message}")),
            Self::Authentication => {
                ModelError::Authentication(format!("the key is refused: {message}"))
            }
            Self::Refused => ModelError::InvalidRequest {
                status: 400,
                message,
            },
        })
    }
}
