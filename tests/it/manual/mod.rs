//! Pages of the reference that are made from tables of the program.

pub(crate) mod faults;
pub(crate) mod lints;
pub(crate) mod packs;
pub(crate) mod rules;
pub(crate) mod scans;
