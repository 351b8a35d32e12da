//! Time and ids that are the same in every run of a test.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use uuid::Uuid;

use super::session::Clock;

/// A clock that counts: each look at it is a millisecond later, each id is the next number.
#[derive(Debug, Default)]
pub struct StepClock {
    looks: AtomicU64,
    ids: AtomicU64,
}

impl Clock for StepClock {
    fn now(&self) -> Timestamp {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        // 2026-01-01T00:00:00Z.
        let milliseconds = 1_767_225_600_000 + i64::try_from(looks).unwrap();
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    fn new_id(&self) -> Uuid {
        let number = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        Uuid::from_u64_pair(0x7000, 0x8000_0000_0000_0000 | number)
    }
}
