//! The tests of which there are hundreds: every row of a table, and every folder of a kind, is a test that runs alone,
//! beside others, and again: `cargo test --test each rules::2025-11-25::L1`.
//!
//! `cases` are golden runs of the program; `rules` and `packs` hold every rule and property against a server that keeps
//! it and one that breaks it; `faulty` and `hostile` are servers with one fault each, and what becomes of suites that
//! meet them; `real` are servers that nobody here wrote; `examples` are the suites to copy.
//! `golden` are the tables in which rows are kept.

mod cases;
mod examples;
mod faulty;
mod golden;
#[expect(dead_code, unused_imports, reason = "`tests/it` uses more of it")]
#[path = "../harness/mod.rs"]
mod harness;
mod hostile;
mod packs;
mod real;
mod rules;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// The first part of the names of tests, and what makes them.
type Table = (&'static str, fn() -> Vec<Trial>);

const TABLES: &[Table] = &[
    ("cases", cases::tests),
    ("examples", examples::tests),
    ("faulty", faulty::tests),
    ("hostile", hostile::tests),
    ("packs", packs::tests),
    ("real", real::tests),
    ("rules", rules::tests),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // Whoever asks for one test need not wait until all others are known.
    let only = arguments.filter.as_deref().filter(|_| arguments.exact).and_then(|name| name.split("::").next());
    let tables = TABLES.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    let tests = tables.flat_map(|(_, tests)| tests()).collect();
    libtest_mimic::run(&arguments, tests).exit_code()
}

/// A test that fails where it panics.
fn test(name: String, check: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        check();
        Ok(())
    })
}
