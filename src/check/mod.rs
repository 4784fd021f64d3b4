//! The ground of every check: what it takes to ask a server something and to say what followed.
//!
//! A block says what to send and how to judge the answers; sessions, limits, canaries, arguments, the state that a server
//! shows, and the results are here. Nothing here knows a kind of block. Start reading in `CheckSession`; `StepRun` does
//! steps of the suite instead of requests, `FaultSearch` looks again for a fault that was seen, and `Confirmation`
//! weighs it.

pub(crate) mod answer_data;
pub(crate) mod answer_pattern;
pub(crate) mod canary;
mod confirm;
mod created;
pub(crate) mod denied_tool;
mod end;
pub(crate) mod evidence;
mod fault_search;
pub(crate) mod hang;
pub(crate) mod latency;
pub(crate) mod learning;
mod limits;
mod log;
pub(crate) mod raw_http;
pub(crate) mod refused_bare_call;
mod session;
pub(crate) mod shown_state;
mod step_run;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tool_arguments;
pub(crate) mod visit;

pub(crate) use self::confirm::{Confirmation, SeenOnce};
pub(crate) use self::created::lists_what_is_created;
#[cfg(test)]
pub(crate) use self::end::failure_of_test;
pub(crate) use self::end::{CheckEnd, LACKING_TIME, goes_on, outcome_of, with_exit};
pub(crate) use self::fault_search::FaultSearch;
pub(crate) use self::limits::CheckLimits;
pub(crate) use self::log::CheckLog;
pub(crate) use self::session::{CheckRequest, CheckSession, SessionCaller, call_params};
pub(crate) use self::step_run::StepRun;
