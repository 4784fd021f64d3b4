//! Mutants in front of servers in this process.
