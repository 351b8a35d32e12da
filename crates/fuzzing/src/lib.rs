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

use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestError, TestRunner};

/// How often a target is run in an ordinary test.
const EXECUTIONS: u32 = 200;

/// Where random numbers begin unless another seed is given.
const SEED: u64 = 0x0070_6f64;

/// How many executions are done between two looks at the clock.
const ROUND: u32 = 1_000;

/// Runs a target with input from the strategy, as often as the environment says, and fails the test
/// with the smallest input that can be found for the first violation.
///
/// The check says what is wrong by `prop_assert!` or a panic.
pub fn target<S>(name: &str, strategy: S, check: impl Fn(S::Value) -> TestCaseResult)
where
    S: Strategy,
    S::Value: Debug,
{
    let seed = number("POD_FUZZ_SEED").unwrap_or(SEED);
    let begin = Instant::now();
    let (mut executions, mut slowest) = (0, Duration::ZERO);
    let mut round = |count: u32, seed: u64| {
        let longest = std::cell::Cell::new(Duration::ZERO);
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
        slowest = slowest.max(longest.get());
    };
    if let Some(seconds) = number("POD_FUZZ_SECONDS") {
        let mut seed = seed;
        while begin.elapsed() < Duration::from_secs(seconds) {
            round(ROUND, seed);
            seed = seed.wrapping_add(1);
        }
    } else {
        let count = number("POD_FUZZ_EXECUTIONS").and_then(|count| u32::try_from(count).ok());
        round(count.unwrap_or(EXECUTIONS), seed);
    }
    println!(
        "fuzz {name}: {executions} executions in {:.1} s, the slowest {} ms, seed {seed}",
        begin.elapsed().as_secs_f64(),
        slowest.as_millis()
    );
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
    panic!("fuzz {name}, seed {seed}: {error}");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is no number: {text:?}")))
}
