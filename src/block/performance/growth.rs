//! The resources of a server's processes before and after many calls, and the bounds on their growth.

use crate::event::Finding;
use crate::source::settings;
use crate::transport::ProcessUsage;

const MIB: u64 = 1024 * 1024;

settings! {
    /// How much more all processes of the server may hold after the measured calls than after the warm-up; on Linux,
    /// and for servers with a `command`.
    pub(crate) struct GrowthBounds as "a bound on growth" {
        /// Resident memory, in MiB.
        memory_mib: Option<u64> => range(0, 1_000_000) alternative() cure("add for example `memory_mib: 50`"),
        /// Open files, sockets and pipes.
        files: Option<u64> => range(0, 1_000_000) alternative(),
        /// Processes.
        processes: Option<u64> => range(0, 1_000_000) alternative(),
    }
}

/// The resources before and after so many calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    pub(crate) before: ProcessUsage,
    pub(crate) after: ProcessUsage,
    pub(crate) calls: usize,
}

impl GrowthBounds {
    /// A finding for each bound that is broken.
    pub(crate) fn broken(&self, growth: &Growth, tool: &str) -> Vec<Finding> {
        let Growth { before, after, calls } = growth;
        let held = [
            ("MiB of memory", self.memory_mib, before.memory / MIB, after.memory / MIB),
            ("open files", self.files, before.files, after.files),
            ("processes", self.processes, before.processes, after.processes),
        ];
        let broken = held.into_iter().filter_map(|(what, bound, before, after)| {
            let (bound, grown) = (bound?, after.saturating_sub(before));
            let message = || format!("{calls} calls of `{tool}` left {grown} more {what} behind; the bound is {bound}");
            (grown > bound).then(|| Finding {
                expected: Some(format!("at most {bound} more")),
                actual: Some(format!("{before} before, {after} after")),
                help: Some(
                    "release what a call takes when it ends: close its files, wait for its processes, drop its data"
                        .to_owned(),
                ),
                ..Finding::new("growth-above-bound", message())
            })
        });
        broken.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_compared_with_each_bound() {
        let usage = |memory: u64, files, processes| ProcessUsage { memory: memory * MIB, files, processes };
        let growth = Growth { before: usage(10, 5, 1), after: usage(40, 8, 1), calls: 100 };
        let broken = |memory, files, processes| {
            let found = GrowthBounds { memory_mib: memory, files, processes }.broken(&growth, "t");
            found.into_iter().filter_map(|found| found.actual).collect::<Vec<_>>()
        };
        assert_eq!(broken(Some(30), Some(3), Some(0)), [""; 0]);
        assert_eq!(broken(None, None, None), [""; 0]);
        assert_eq!(broken(Some(29), Some(2), Some(0)), ["10 before, 40 after", "5 before, 8 after"]);
    }

    #[test]
    fn growth_is_told_by_what_was_left_behind() {
        let usage = |memory: u64, files, processes| ProcessUsage { memory, files, processes };
        let none = GrowthBounds { memory_mib: None, files: None, processes: None };
        let few = GrowthBounds { files: Some(0), processes: Some(0), ..none.clone() };
        let whole = GrowthBounds { memory_mib: Some(0), ..none };
        for (bounds, before, after, expected) in [
            (
                &few,
                usage(0, 5, 1),
                usage(0, 6, 1),
                &["9 calls of `t` left 1 more open files behind; the bound is 0"][..],
            ),
            (&few, usage(0, 5, 1), usage(0, 5, 3), &["9 calls of `t` left 2 more processes behind; the bound is 0"]),
            // A server that lets go of something has kept every bound.
            (&few, usage(0, 9, 4), usage(0, 2, 1), &[]),
            (&few, usage(0, 5, 1), usage(99 * MIB, 5, 1), &[]),
            // Less than one MiB is no growth.
            (&whole, usage(MIB, 0, 1), usage(2 * MIB - 1, 0, 1), &[]),
            (
                &whole,
                usage(MIB, 0, 1),
                usage(2 * MIB, 0, 1),
                &["9 calls of `t` left 1 more MiB of memory behind; the bound is 0"],
            ),
        ] {
            let found = bounds.broken(&Growth { before, after, calls: 9 }, "t");
            let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
            assert_eq!(messages, expected, "{before:?} {after:?}");
        }
    }
}
