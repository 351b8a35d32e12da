//! Feeds mutated input to the parts of Pod that read what others wrote; no part of the product.
//!
//! A target is an ordinary test that calls [`target`] and asserts what must hold for any input. How
//! much it does is said by the environment, so that the same test is a check of a second in
//! `cargo test`, a fixed number of executions in CI, and a campaign by `tests/fuzz/run.sh`:
//!
//! - `POD_FUZZ_EXECUTIONS`: so many, 200 if nothing is said. The same ones each time.
//! - `POD_FUZZ_SECONDS`: as many as fit into the time, instead.
//! - `POD_FUZZ_SEED`: another beginning than the fixed one.
//!
//! - [`mutate`]: bytes made out of good ones. [`json`]: values of any shape.
//!
//! This crate knows no other crate of the workspace, so that each of them can use it.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    reason = "a target that fails, fails its test; one that does not, tells its figures"
)]

pub mod json;
pub mod mutate;

use std::cell::Cell;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestError, TestRunner};

/// How often a target is run in an ordinary test.
const EXECUTIONS: u64 = 200;

/// Where random numbers begin unless another seed is given.
const SEED: u64 = 0x0070_6f64;

/// How many executions have one seed, and are done between two looks at the clock. As many as an
/// ordinary test does, so that the seed of a failure is all that it takes to see it again.
const ROUND: u64 = EXECUTIONS;

/// Runs a target with input from the strategy, as often as the environment says, and fails the test
/// with the smallest input that can be found for the first violation.
///
/// The check says what is wrong by `prop_assert!` or a panic.
pub fn target<S>(name: &str, strategy: S, check: impl Fn(S::Value) -> TestCaseResult)
where
    S: Strategy,
    S::Value: Debug,
{
    let first = number("POD_FUZZ_SEED").unwrap_or(SEED);
    let wanted = Wanted::from_environment();
    let begin = Instant::now();
    let (mut executions, mut seed, mut slowest) = (0, first, Duration::ZERO);
    while let Some(count) = wanted.next_round(executions, begin.elapsed()) {
        let longest = Cell::new(Duration::ZERO);
        let timed = |input| {
            let begin = Instant::now();
            let result = check(input);
            longest.set(longest.get().max(begin.elapsed()));
            result
        };
        if let Err(error) = runner(count, seed).run(&strategy, timed) {
            fail(name, seed, &error);
        }
        executions += u64::from(count);
        seed = seed.wrapping_add(1);
        slowest = slowest.max(longest.get());
    }
    println!(
        "fuzz {name}: {executions} executions in {:.1} s, the slowest {} ms, seed {first}",
        begin.elapsed().as_secs_f64(),
        slowest.as_millis()
    );
}

/// How much a target does.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Executions(u64),
    Time(Duration),
}

impl Wanted {
    fn from_environment() -> Self {
        match number("POD_FUZZ_SECONDS") {
            Some(seconds) => Self::Time(Duration::from_secs(seconds)),
            None => Self::Executions(number("POD_FUZZ_EXECUTIONS").unwrap_or(EXECUTIONS)),
        }
    }

    /// How many executions come next, if any.
    fn next_round(self, done: u64, elapsed: Duration) -> Option<u32> {
        let count = match self {
            Self::Executions(all) => all.saturating_sub(done).min(ROUND),
            Self::Time(limit) if elapsed < limit => ROUND,
            Self::Time(_) => 0,
        };
        u32::try_from(count).ok().filter(|count| *count > 0)
    }
}

fn runner(cases: u32, seed: u64) -> TestRunner {
    TestRunner::new(Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    })
}

fn fail<T: Debug>(name: &str, seed: u64, error: &TestError<T>) -> ! {
    panic!("fuzz {name}: {error}\nTo see it again: POD_FUZZ_SEED={seed} and the name of this test");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is no number: {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a target does is a row of rounds, each with the next seed: the seed of a failure shows it
    /// again in an ordinary test, whatever the campaign was.
    #[test]
    fn a_seed_stands_for_as_many_executions_as_an_ordinary_test_does() {
        let rounds = |wanted: Wanted, each: Duration| {
            let (mut rounds, mut done, mut elapsed) = (Vec::new(), 0, Duration::ZERO);
            while let Some(count) = wanted.next_round(done, elapsed) {
                rounds.push(count);
                done += u64::from(count);
                elapsed += each;
            }
            rounds
        };
        let second = Duration::from_secs(1);
        assert_eq!(rounds(Wanted::Executions(0), second), []);
        assert_eq!(rounds(Wanted::Executions(200), second), [200]);
        assert_eq!(rounds(Wanted::Executions(450), second), [200, 200, 50]);
        assert_eq!(rounds(Wanted::Time(2 * second), second), [200, 200]);
    }
}
