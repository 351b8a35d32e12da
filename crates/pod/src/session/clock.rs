//! Where time and new ids come from.

use std::fmt;

use jiff::Timestamp;
use uuid::Uuid;

/// Time and new ids. Tests bring their own, so that what is written can be compared byte for byte.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The current time, in whole milliseconds.
    fn now(&self) -> Timestamp;

    /// A new id. Later ids sort behind earlier ones.
    fn new_id(&self) -> Uuid;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // Milliseconds are what logs need; more digits are noise to a reader.
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }
}
