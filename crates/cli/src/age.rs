//! How long ago something was, in words that fit a column.

use jiff::Timestamp;

/// The columns of the longest age.
pub(crate) const COLUMNS: usize = 11;

/// Such as `5 min ago`; a date in UTC once days say little. Nothing is in the future: clocks differ.
pub(crate) fn age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(time).as_secs();
    match seconds {
        ..5 => String::from("now"),
        5..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..2_592_000 => format!("{} d ago", seconds / 86_400),
        _ => time.strftime("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_fit_their_column() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for (seconds, expected) in [
            (-3_600, "now"),
            (4, "now"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (3_599, "59 min ago"),
            (3_600, "1 h ago"),
            (86_399, "23 h ago"),
            (86_400, "1 d ago"),
            (2_591_999, "29 d ago"),
            (2_592_000, "2026-01-30"),
        ] {
            let time = now - jiff::SignedDuration::from_secs(seconds);
            assert_eq!(age(time, now), expected);
            assert!(expected.len() <= COLUMNS);
        }
    }
}
