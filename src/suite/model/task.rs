//! Calls that are made as tasks.

use std::time::Duration;

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, Value, settings};

settings! {
    /// A call that becomes a task.
    #[derive(Copy, PartialEq, Eq, Default)]
    pub struct TaskCall as "a task" {
        /// How long the server is asked to keep the task (2025-11-25; since 2026-07-28 the server decides).
        pub ttl: Option<Duration> => shape(Shape::Time),
        /// Cancels the task once it is made; expectations are of its last state then.
        pub cancel: bool => default("false"),
        /// Asks for the task and its result once more after its end: the task must be there as long as its `ttl` says, and
        /// have the same status and the same result.
        pub again: bool => default("false"),
    }
}

/// Whether a call becomes a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedTask(pub(crate) Option<TaskCall>);

impl Setting for WantedTask {
    const SHAPE: Shape = Shape::Either(&[Shape::Flag, TaskCall::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Bool(is_wanted) => Some(Self(is_wanted.then(TaskCall::default))),
            Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
                TaskCall::decode(node, found).map(|task| Self(Some(task)))
            }
        }
    }
}
