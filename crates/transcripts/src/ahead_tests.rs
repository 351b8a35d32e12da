use std::io::{Seek, SeekFrom, Write};
use std::sync::LazyLock;

use super::*;

static IDLE: LazyLock<Needles> = LazyLock::new(|| Needles::new(["call"]));
static OPEN: LazyLock<Needles> = LazyLock::new(|| Needles::new(["call", "result"]));

/// Lines of all lengths: calls, results, damaged ones, empty ones, and such that go over sections.
fn mixed(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let mut random = move |bound: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut text = Vec::new();
    while text.len() < bytes {
        let length = match random(60) {
            0 => 300_000 + random(900_000),
            1..9 => 40_000 + random(60_000),
            9..20 => random(3_000),
            _ => random(60),
        };
        text.extend_from_slice(match random(30) {
            0 => b"damaged",
            1 => b"",
            2..5 => b"{\"call\"",
            5..15 => b"{\"result\"",
            _ => b"{",
        });
        text.resize(text.len() + usize::try_from(length).unwrap(), b'x');
        text.extend_from_slice(b"}\n");
        if random(9) == 0 {
            text.push(b'\n');
        }
    }
    text.truncate(text.len() - usize::try_from(random(3)).unwrap());
    text
}

/// Holds what several threads find in this text against what one finds, where the text stands behind
/// so many bytes of the file that nobody asks for.
fn compare(text: &[u8], behind: u64, seed: u64) {
    let mut file = tempfile::tempfile().unwrap();
    file.seek(SeekFrom::Start(behind)).unwrap();
    file.write_all(text).unwrap();
    let mut alone = Lines::new(text);
    alone.fill().unwrap();
    let wanted = Wanted {
        idle: &IDLE,
        open: &OPEN,
    };
    let (lines, offset) = alone.taken();
    let mut ahead = Ahead::new(file, lines, behind + offset, wanted);
    // A call is open for so many lines more; sometimes for very many.
    let mut open_until = 0;
    let mut met = 0;
    let mut number = 0;
    loop {
        let needles = if number < open_until { &*OPEN } else { &*IDLE };
        let step = match alone.next(needles).unwrap() {
            Step::End => alone.last().unwrap_or(Step::End),
            other => other,
        };
        match (step, ahead.next(needles).unwrap()) {
            (
                Step::Line(line),
                Found::Line {
                    number: other,
                    bytes,
                    complete,
                },
            ) => {
                assert_eq!(line.number, other, "seed {seed}");
                assert_eq!(alone.bytes(line.range), bytes, "seed {seed}");
                assert_eq!(line.complete, complete, "seed {seed}");
                number = other;
                if bytes.starts_with(b"{\"call\"") {
                    open_until = number + [3, 20, 150, 600][met % 4];
                }
            }
            (Step::End, Found::End) => break,
            (step, _) => panic!(
                "one is at its end, seed {seed}, {}",
                matches!(step, Step::End)
            ),
        }
        met += 1;
    }
    assert!(met > 100, "{met}");
    let (lines, bytes) = alone.position();
    assert_eq!(ahead.position(), (lines, behind + bytes), "seed {seed}");
    assert!(text.ends_with(&ahead.tail()), "seed {seed}");
}

#[test]
fn several_threads_find_what_one_finds() {
    for seed in 0..5 {
        compare(&mixed(seed, 14_000_000), 0, seed);
    }
}

#[test]
fn a_place_behind_four_gigabytes_is_a_place_like_any_other() {
    // The bytes before are a hole in the file, which takes no room on disk.
    for (seed, behind) in [(5, u64::from(u32::MAX) - 7_000_000), (6, 5 << 30)] {
        compare(&mixed(seed, 14_000_000), behind, seed);
    }
}
