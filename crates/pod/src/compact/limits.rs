//! When a history is too large, and when trying again makes no sense.

use std::fmt;
use std::str::FromStr;

/// A size: a share of another size, such as the model's context window, or tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A share, between 0 and 1.
    Share(f64),
    /// A number of tokens.
    Tokens(u64),
}

impl Threshold {
    /// The size in tokens, if it is a share of `whole`.
    pub fn tokens(self, whole: u64) -> u64 {
        match self {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of a number of tokens, which is far below 2^52, and never negative"
            )]
            Self::Share(share) => (whole as f64 * share.clamp(0.0, 1.0)) as u64,
            Self::Tokens(tokens) => tokens,
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    /// `0.8` and `80%` are shares, `120000` and `120k` are tokens.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no size; write a share such as 0.8 or 80%, or tokens such as 120000 or 120k"
            )
        };
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
            return if percent > 0.0 && percent <= 100.0 {
                Ok(Self::Share(percent / 100.0))
            } else {
                Err(wrong())
            };
        }
        if let Some(thousands) = text.strip_suffix(['k', 'K']) {
            let thousands: u64 = thousands.parse().map_err(|_| wrong())?;
            return Ok(Self::Tokens(thousands.saturating_mul(1_000)));
        }
        if let Ok(tokens) = text.parse::<u64>()
            && tokens > 1
        {
            return Ok(Self::Tokens(tokens));
        }
        match text.parse::<f64>() {
            Ok(share) if share > 0.0 && share <= 1.0 => Ok(Self::Share(share)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(formatter, "{share}"),
            Self::Tokens(tokens) => write!(formatter, "{tokens}"),
        }
    }
}

/// At which sizes a history is compacted, and how much of it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactLimits {
    /// After a run, above this size. Default: 0.7 of the window.
    pub after_run: Threshold,
    /// Between two requests of a run, above this size. Default: 0.85 of the window.
    pub between_requests: Threshold,
    /// How much of the newest history is kept as it is. Default: 0.15 of the size at which the
    /// compaction begins, so that what comes out is well below it.
    pub tail: Threshold,
    /// How much the files may have that are shown again. Default: 0.15 of the threshold.
    pub files: Threshold,
    /// The most that a summary may have. Default: 0.1 of the threshold.
    pub summary: Threshold,
    /// How long the worker may take, in seconds. Default: 300.
    pub seconds: u64,
}

impl Default for CompactLimits {
    fn default() -> Self {
        Self {
            after_run: Threshold::Share(0.7),
            between_requests: Threshold::Share(0.85),
            tail: Threshold::Share(0.15),
            files: Threshold::Share(0.15),
            summary: Threshold::Share(0.1),
            seconds: 300,
        }
    }
}

/// Above this share of the window a history cannot be left as it is: the answer needs the rest.
pub(crate) const HARD_LIMIT: Threshold = Threshold::Share(0.95);

/// After how many failures in a row compactions are left alone.
const FAILURES: u32 = 3;

/// Stops compactions that fail or do not help from being tried without end.
///
/// It opens after three failures in a row, or at once where a compaction would not help, and closes
/// again when the history has grown by a tenth since, or when a person asks for a compaction. Nothing
/// else turns compactions off.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    opened: Option<Opened>,
}

#[derive(Clone, Copy, Debug)]
struct Opened {
    /// The size of the history then.
    size: u64,
    /// Whether no summary could help.
    is_useless: bool,
}

impl Breaker {
    /// Whether a compaction may be tried at this size. One that must be done is tried in spite of
    /// failures, since it can be done without a model.
    pub(crate) fn is_closed(&self, size: u64, must: bool) -> bool {
        self.opened.is_none_or(|opened| {
            size > opened.size + opened.size / 10 || (must && !opened.is_useless)
        })
    }

    /// A compaction failed at this size.
    pub(crate) fn failed(&mut self, size: u64) {
        self.failures += 1;
        if self.failures >= FAILURES {
            self.open(size, false);
        }
    }

    /// A compaction would not help at this size.
    pub(crate) fn useless(&mut self, size: u64) {
        self.open(size, true);
    }

    fn open(&mut self, size: u64, is_useless: bool) {
        self.failures = 0;
        self.opened = Some(Opened { size, is_useless });
    }

    /// A compaction succeeded, a person asked for one, or the history is another one.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<Threshold>) {
        assert_eq!(text.parse().ok(), expect, "{text}");
    }

    #[test]
    fn a_threshold_is_a_share_or_tokens() {
        check("0.8", Some(Threshold::Share(0.8)));
        check("1", Some(Threshold::Share(1.0)));
        check("80%", Some(Threshold::Share(0.8)));
        check("120000", Some(Threshold::Tokens(120_000)));
        check("120k", Some(Threshold::Tokens(120_000)));
        for text in ["", "0", "-1", "1.5", "101%", "0%", "k", "many", "NaN"] {
            check(text, None);
        }
    }

    #[test]
    fn the_breaker_opens_after_three_failures_and_closes_when_the_history_has_grown() {
        let mut breaker = Breaker::default();
        breaker.failed(1_000);
        breaker.failed(1_000);
        assert!(breaker.is_closed(1_000, false));
        breaker.failed(1_000);
        assert!(!breaker.is_closed(1_100, false));
        assert!(breaker.is_closed(1_101, false));
    }

    #[test]
    fn what_must_be_done_is_tried_in_spite_of_failures_but_not_if_it_cannot_help() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            breaker.failed(1_000);
        }
        assert!(breaker.is_closed(1_000, true));
        breaker.useless(1_000);
        assert!(!breaker.is_closed(1_100, true));
        assert!(breaker.is_closed(1_101, true));
    }

    #[test]
    fn a_success_or_a_person_closes_the_breaker() {
        let mut breaker = Breaker::default();
        breaker.useless(1_000);
        assert!(!breaker.is_closed(1_000, false));
        breaker.reset();
        assert!(breaker.is_closed(1_000, false));
    }
}
