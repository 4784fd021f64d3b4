//! Pairs of before and after, and what callers think of them.

mod pairs;
mod schemas;
mod servers;
mod size;
