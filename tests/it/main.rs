//! The real program from outside: one binary, one module per kind of test.
//!
//! `harness` runs mcprove in a fresh folder and shows what a user sees; `cases`, `diagnostics` and `hostile` feed it
//! files and compare with snapshots; `interrupted` stops it half-way; `full_disk` leaves it no room; `real` drives
//! servers that nobody here wrote.
//! `architecture`, `generated` and `robustness` look at the sources, at written files, and at the loader;
//! `readme` and `examples` at what the documentation shows and at the suites to copy.

mod architecture;
mod cases;
mod diagnostics;
mod examples;
mod full_disk;
mod generated;
mod harness;
mod hostile;
mod interrupted;
mod readme;
mod real;
mod robustness;
