//! The `mcprove` program.

fn main() {}
