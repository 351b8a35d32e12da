//! When and how long to wait before a request is sent again.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::ModelError;

/// How often, and after which waits, a request that failed is sent again.
///
/// The wait doubles from `base` up to `longest_wait`. A provider's `retry-after` is obeyed in its
/// place, unless it is longer than `longest_retry_after`: then the error is returned at once, since a
/// person would rather know than wait for an hour.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// How often a request is sent at the most.
    pub attempts: u32,
    /// The first wait.
    pub base: Duration,
    /// The longest wait that the provider did not ask for.
    pub longest_wait: Duration,
    /// The longest `retry-after` that is waited for.
    pub longest_retry_after: Duration,
    /// Up to which part of itself a wait is shortened at random, from 0 to 1, so that many programs
    /// that failed together do not return together. It never shortens a `retry-after`.
    pub jitter: f64,
}

impl Default for RetryPolicy {
    /// Seven attempts within about half a minute, which outlasts most overloads.
    fn default() -> Self {
        Self {
            attempts: 7,
            base: Duration::from_millis(500),
            longest_wait: Duration::from_secs(16),
            longest_retry_after: Duration::from_mins(5),
            jitter: 0.25,
        }
    }
}

impl RetryPolicy {
    /// A policy that sends each request once.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// How long to wait after attempt number `attempt` (from 1) failed, or `None` to give up.
    pub(crate) fn wait_after(&self, attempt: u32, error: &ModelError) -> Option<Duration> {
        if attempt >= self.attempts || !error.is_retryable() {
            return None;
        }
        if let ModelError::Overloaded {
            retry_after: Some(asked),
            ..
        } = error
        {
            return (*asked <= self.longest_retry_after).then_some(*asked);
        }
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let wait = self.base.saturating_mul(doubled).min(self.longest_wait);
        Some(wait.mul_f64(1.0 - self.jitter.clamp(0.0, 1.0) * random_fraction()))
    }
}

/// How long the headers of a response ask to wait: seconds or a date (RFC 9110, section 10.2.3), or
/// `retry-after-ms`, which OpenAI sends.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = http_date(value)?;
    // The server's own clock, where it shows it, so that a wrong clock here does no harm.
    let now = text(DATE.as_str()).and_then(http_date);
    let now = now.or_else(|| Timestamp::try_from(SystemTime::now()).ok())?;
    Some(Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO))
}

fn http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

/// A number from 0 to 1. The random keys of std's hash maps are random enough for this.
fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn asked(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        retry_after(&headers.collect())
    }

    fn overloaded(retry_after: Option<Duration>) -> ModelError {
        ModelError::Overloaded {
            status: 529,
            message: String::new(),
            retry_after,
        }
    }

    #[test]
    fn retry_after_is_read_in_every_form() {
        let now = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(asked(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(
            asked(&[("retry-after", "0.5")]),
            Some(Duration::from_millis(500))
        );
        assert_eq!(
            asked(&[("retry-after-ms", "20"), ("retry-after", "1")]),
            Some(Duration::from_millis(20))
        );
        assert_eq!(
            asked(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), now]),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            asked(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), now]),
            Some(Duration::ZERO)
        );
        assert_eq!(
            asked(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]),
            Some(Duration::ZERO)
        );
        for nonsense in ["", "soon", "-1", "inf", "NaN"] {
            assert_eq!(asked(&[("retry-after", nonsense)]), None, "{nonsense:?}");
        }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let policy = RetryPolicy {
            jitter: 0.0,
            ..RetryPolicy::default()
        };
        let waits: Vec<_> = (1..=8)
            .map(|attempt| policy.wait_after(attempt, &overloaded(None)))
            .map(|wait| wait.map(|wait| wait.as_millis()))
            .collect();
        let expected = [500, 1000, 2000, 4000, 8000, 16000].map(Some);
        assert_eq!(waits.get(..6), Some(expected.as_slice()));
        assert_eq!(waits.get(6..), Some([None, None].as_slice()));
    }

    #[test]
    fn jitter_only_shortens() {
        let policy = RetryPolicy::default();
        for _ in 0..100 {
            let wait = policy.wait_after(1, &overloaded(None)).unwrap();
            assert!(wait <= policy.base && wait >= policy.base.mul_f64(0.749));
        }
    }

    #[test]
    fn the_provider_decides_unless_it_asks_for_too_much() {
        let policy = RetryPolicy::default();
        let short = Duration::from_secs(77);
        assert_eq!(
            policy.wait_after(1, &overloaded(Some(short))),
            Some(short),
            "not shortened by jitter"
        );
        let long = Duration::from_hours(1);
        assert_eq!(policy.wait_after(1, &overloaded(Some(long))), None);
    }

    #[test]
    fn what_cannot_pass_is_not_sent_again() {
        let error = ModelError::Authentication(String::new());
        assert_eq!(RetryPolicy::default().wait_after(1, &error), None);
        let never = RetryPolicy::never();
        assert_eq!(never.wait_after(1, &overloaded(None)), None);
    }
}
