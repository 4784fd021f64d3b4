//! The faults that attempts of calls meet, the same for every pattern.
//!
//! Each number is drawn for a place, and not for a moment: an attempt draws by its task, its call, its server and how
//! often it was made before; a burst by its place in the sequence of calls; a server by the task. So a pattern changes
//! nothing for the others, a call of a small task is also one of a large task, and what fails at a low rate fails at a
//! higher one.

use std::fmt;

use serde_json::{Value, json};

use super::pattern::MOST_RETRIES;
use super::{DEADLINE_MS, LATENCIES_MS, SERVERS, TASKS, TOOLS, tool_of};
use crate::fault::{FaultDrawKey, burst_chance, draw, greatest_burst_share};

/// The faults of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultModel {
    /// The share of attempts that are answered with an error, which the client sees.
    pub errors: f64,
    /// The correlation of errors.
    pub correlation: Correlation,
    /// The share of attempts with an answer that is wrong, which the client does not see; drawn for each by itself.
    pub wrong: f64,
    /// The share of attempts that take longer than the deadline: each server is slow at times, for 20 tasks on average.
    pub slow: f64,
}

/// The correlation of errors; their share is the same in each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correlation {
    /// Every attempt fails by itself.
    Independent,
    /// Errors strike calls in a row, whatever their tool and server, for that many calls on average; a call that is made
    /// again takes the place of the next call.
    Bursts(u32),
    /// A server fails for that many tasks on average, whatever it is asked; its replica fails by itself.
    Episodes(u32),
}

/// One attempt of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SimulatedAttempt {
    pub(crate) task: usize,
    /// The place of the call in its task.
    pub(crate) slot: usize,
    /// The index in [`SERVERS`].
    pub(crate) server: usize,
    /// The number of attempts before it.
    pub(crate) number: usize,
}

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reply {
    pub(crate) content: ReplyKind,
    pub(crate) latency_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    Right,
    /// An answer that is wrong, and nothing shows it.
    Wrong,
    Error,
}

/// The numbers from 0 to 1 of a seed, for any faults and for tasks of up to `fan_out` calls.
#[derive(Debug)]
pub(crate) struct SeedDraws {
    fan_out: usize,
    errors: Vec<f64>,
    wrong: Vec<f64>,
    bursts: Vec<f64>,
    episodes: Vec<f64>,
    slow: Vec<f64>,
    delays: Vec<f64>,
}

/// The faults of a seed for tasks of `fan_out` calls.
#[derive(Debug)]
pub(crate) struct SeedFaults<'a> {
    draws: &'a SeedDraws,
    model: FaultModel,
    pub(crate) fan_out: usize,
    /// The places in the sequence of calls, or the servers, that errors strike; empty if they are independent.
    struck: Vec<bool>,
    /// The servers that are slow.
    slow: Vec<bool>,
}

/// The length of the times in which a server is slow, in tasks on average.
const SLOW_TASKS: u32 = 20;
/// The most attempts of a call at a server.
const ATTEMPTS: usize = MOST_RETRIES as usize + 1;

impl FaultModel {
    /// Why these shares cannot be reached; `None` if they can.
    pub fn mistake(&self) -> Option<String> {
        let reaches = |share: f64, length: u32| share >= 1.0 || share <= greatest_burst_share(f64::from(length));
        let refuse = |share: f64, length: u32, noun: &str| {
            let most = greatest_burst_share(f64::from(length));
            Some(format!("{noun} cannot reach a share of {share}; at most {most:.3}, or 1"))
        };
        match self.correlation {
            Correlation::Bursts(length) | Correlation::Episodes(length) if !reaches(self.errors, length) => {
                refuse(self.errors, length, &self.correlation.to_string())
            }
            Correlation::Independent | Correlation::Bursts(_) | Correlation::Episodes(_)
                if !reaches(self.slow, SLOW_TASKS) =>
            {
                refuse(self.slow, SLOW_TASKS, &format!("slow episodes of {SLOW_TASKS} tasks"))
            }
            Correlation::Independent | Correlation::Bursts(_) | Correlation::Episodes(_) => None,
        }
    }
}

impl fmt::Display for Correlation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Independent => formatter.write_str("independent errors"),
            Self::Bursts(1) => formatter.write_str("bursts of 1 call"),
            Self::Bursts(calls) => write!(formatter, "bursts of {calls} calls"),
            Self::Episodes(1) => formatter.write_str("server episodes of 1 task"),
            Self::Episodes(tasks) => write!(formatter, "server episodes of {tasks} tasks"),
        }
    }
}

impl SeedDraws {
    pub(crate) fn new(seed: u32, fan_out: usize) -> Self {
        let positions = TASKS * fan_out + ATTEMPTS;
        let key = FaultDrawKey {
            fault: "burst",
            server: "",
            method: "tools/call",
            tool: "",
            arguments: &Value::Null,
            occurrence: 0,
        };
        let bursts = (0_u32..).take(positions).map(|occurrence| draw(seed.into(), &FaultDrawKey { occurrence, ..key }));
        Self {
            fan_out,
            errors: for_attempts(seed, "error", fan_out),
            wrong: for_attempts(seed, "wrong", fan_out),
            bursts: bursts.collect(),
            episodes: for_servers(seed, "episode"),
            slow: for_servers(seed, "slow"),
            delays: for_servers(seed, "delay"),
        }
    }

    fn index(&self, attempt: SimulatedAttempt) -> usize {
        let call = attempt.task * self.fan_out + attempt.slot;
        (call * SERVERS.len() + attempt.server) * ATTEMPTS + attempt.number
    }
}

impl<'a> SeedFaults<'a> {
    pub(crate) fn new(draws: &'a SeedDraws, model: FaultModel, fan_out: usize) -> Self {
        let struck = match model.correlation {
            Correlation::Independent => Vec::new(),
            Correlation::Bursts(calls) => chain(&draws.bursts[..TASKS * fan_out + ATTEMPTS], model.errors, calls),
            Correlation::Episodes(tasks) => server_chains(&draws.episodes, model.errors, tasks),
        };
        Self { draws, model, fan_out, struck, slow: server_chains(&draws.slow, model.slow, SLOW_TASKS) }
    }

    /// The fault that an attempt meets.
    pub(crate) fn reply(&self, attempt: SimulatedAttempt) -> Reply {
        let content = if self.is_error(attempt) {
            ReplyKind::Error
        } else if self.draws.wrong[self.draws.index(attempt)] < self.model.wrong {
            ReplyKind::Wrong
        } else {
            ReplyKind::Right
        };
        let server = server_index(attempt);
        let delay = if self.slow[server] { DEADLINE_MS * (1.0 + 2.0 * self.draws.delays[server]) } else { 0.0 };
        Reply { content, latency_ms: LATENCIES_MS[tool_of(attempt.slot)] + delay }
    }

    /// The number of calls that would be answered with an error if each were made once.
    pub(crate) fn first_errors(&self) -> u64 {
        let calls = (0..TASKS)
            .flat_map(|task| (0..self.fan_out).map(move |slot| SimulatedAttempt { task, slot, server: 0, number: 0 }));
        calls.filter(|attempt| self.is_error(*attempt)).count() as u64
    }

    fn is_error(&self, attempt: SimulatedAttempt) -> bool {
        match self.model.correlation {
            Correlation::Independent => self.draws.errors[self.draws.index(attempt)] < self.model.errors,
            Correlation::Bursts(_) => self.struck[attempt.task * self.fan_out + attempt.slot + attempt.number],
            Correlation::Episodes(_) => self.struck[server_index(attempt)],
        }
    }
}

/// A number for every attempt of every call at every server, in the order of [`SeedDraws::index`].
fn for_attempts(seed: u32, fault: &str, fan_out: usize) -> Vec<f64> {
    let mut drawn = Vec::with_capacity(TASKS * fan_out * SERVERS.len() * ATTEMPTS);
    for task in 0..TASKS {
        for slot in 0..fan_out {
            let (tool, arguments) = (TOOLS[tool_of(slot)], &json!([task, slot]));
            for server in SERVERS {
                for occurrence in 0..=MOST_RETRIES {
                    let key = FaultDrawKey { fault, server, method: "tools/call", tool, arguments, occurrence };
                    drawn.push(draw(seed.into(), &key));
                }
            }
        }
    }
    drawn
}

/// A number for every tool, server and task, in the order of [`server_index`].
fn for_servers(seed: u32, fault: &str) -> Vec<f64> {
    let mut drawn = Vec::with_capacity(TOOLS.len() * SERVERS.len() * TASKS);
    for tool in TOOLS {
        for server in SERVERS {
            for occurrence in (0_u32..).take(TASKS) {
                let arguments = &Value::Null;
                let key = FaultDrawKey { fault, server, method: "tools/call", tool, arguments, occurrence };
                drawn.push(draw(seed.into(), &key));
            }
        }
    }
    drawn
}

fn server_index(attempt: SimulatedAttempt) -> usize {
    (tool_of(attempt.slot) * SERVERS.len() + attempt.server) * TASKS + attempt.task
}

fn server_chains(draws: &[f64], share: f64, length: u32) -> Vec<bool> {
    draws.chunks(TASKS).flat_map(|draws| chain(draws, share, length)).collect()
}

/// For each of a sequence: it is within a burst.
fn chain(draws: &[f64], share: f64, length: u32) -> Vec<bool> {
    let mut before = None;
    let mut next = |drawn: &f64| {
        let is_in = *drawn < burst_chance(share, f64::from(length), before);
        before = Some(is_in);
        is_in
    };
    draws.iter().map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERRORS: FaultModel = FaultModel { errors: 0.1, correlation: Correlation::Independent, wrong: 0.0, slow: 0.0 };

    #[test]
    fn a_small_task_is_a_part_of_a_large_one() {
        let (large, small) = (SeedDraws::new(3, 16), SeedDraws::new(3, 4));
        let (of_large, of_small) = (SeedFaults::new(&large, ERRORS, 4), SeedFaults::new(&small, ERRORS, 4));
        let more = SeedFaults::new(&large, FaultModel { errors: 0.2, ..ERRORS }, 16);
        for task in 0..TASKS {
            for slot in 0..4 {
                let attempt = SimulatedAttempt { task, slot, server: 1, number: 2 };
                assert_eq!(of_large.reply(attempt), of_small.reply(attempt));
                assert!(!of_small.is_error(attempt) || more.is_error(attempt), "a higher rate has more errors");
            }
        }
    }

    #[test]
    fn shares_that_cannot_be_reached_are_mistakes() {
        let episodes = FaultModel { errors: 0.9, correlation: Correlation::Episodes(4), ..ERRORS };
        assert_eq!(
            episodes.mistake().unwrap(),
            "server episodes of 4 tasks cannot reach a share of 0.9; at most 0.800, or 1"
        );
        assert_eq!(FaultModel { errors: 1.0, ..episodes }.mistake(), None);
        assert_eq!(FaultModel { errors: 0.8, ..episodes }.mistake(), None);
        assert!(FaultModel { slow: 0.99, ..ERRORS }.mistake().unwrap().contains("slow episodes of 20 tasks"));
    }
}
