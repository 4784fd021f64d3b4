//! Pairs of before and after, and what callers think of them.

mod schemas;
mod servers;
