//! The real program from outside: one binary, one module per kind of test.
//!
//! `harness` runs mcprove in a fresh folder and shows what a user sees; `cases`, `diagnostics` and `hostile` feed it
//! files and compare with snapshots; `faulty` shows which suites notice which fault; `interrupted` stops it half-way;
//! `fuzz` calls servers with generated arguments; `full_disk` leaves it no room; `leaks` looks at what many runs leave; `real` drives servers that nobody here wrote, and
//! `conformance` has our server judged by the protocol's own suite;
//! `prove` looks at what is proven of suites, and holds it against faulty servers; `over_http` makes ports and certificates for servers.
//! `generate` holds made values against the validator; `architecture`, `generated` and `robustness` look at the sources, at written files, and at the loader;
//! `tame` looks at what is sent where nobody wrote the arguments;
//! `testing` runs suites on servers in this process, as the tests of others do.
//! `readme`, `ci` and `examples` at what the documentation shows and at the suites to copy.

mod architecture;
mod cases;
mod ci;
mod conformance;
mod diagnostics;
mod examples;
mod faulty;
mod findings;
mod full_disk;
mod fuzz;
mod generate;
mod generated;
mod harness;
mod hostile;
mod interrupted;
mod leaks;
mod over_http;
mod packs;
mod prove;
mod readme;
mod real;
mod replaying;
mod robustness;
mod rules;
mod tame;
mod testing;
