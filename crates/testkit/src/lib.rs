//! Servers and helpers for the tests; no part of the product.
//!
//! - [`server`]: a language model provider on loopback that speaks both wires and checks every request.
//! - [`talk`]: conversations in few words, and asking a model about them.
//! - [`flow`]: a script of what a person, a model and the world do to a session, and what it tells.
//! - [`faulty_disk`]: a file system that fails at one operation, in one way. [`power_cut`]: one that
//!   forgets what was not synced.
//! - [`laws`]: the laws of the design as checks. [`clock`], [`disk`], [`future`], [`tools`]: the
//!   world as tests need it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a helper that cannot do its work fails the test that uses it"
)]

pub mod clock;
pub mod disk;
pub mod faulty_disk;
pub mod flow;
pub mod future;
pub mod laws;
pub mod power_cut;
pub mod server;
pub mod talk;
pub mod tools;

// `clock`, `faulty_disk` and `power_cut` are compiled into the unit tests of `pod` as well, where these types are
// those of the crate itself. So they name them by this.
use pod::session;
