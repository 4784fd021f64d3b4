//! Steps: one exchange each.

use std::time::Duration;

use super::{Cancel, Listen, RawHttp, RawSend, TaskCall};
use crate::fault::Fault;
use crate::matching::{Expectation, GuaranteedValue, ValuePath};
use crate::source::template::has_template;
use crate::source::{Located, Node, Span};
use crate::suite::snapshot::Snapshot;
use crate::wire::ListKind;

/// One exchange.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its place in the suite.
    pub span: Span,
    /// Its name in reports.
    pub name: Option<String>,
    /// The action.
    pub action: Action,
    /// Conditions on the answer, without which the test does not apply.
    pub needs: Vec<StepNeed>,
    /// The expectations.
    pub expect: Vec<Expectation>,
    /// True if `expect` or `snapshot` is written at all.
    pub expects: bool,
    /// Names for values of the answer.
    pub capture: Vec<Capture>,
    /// A recording to compare the answer with.
    pub snapshot: Option<Box<Snapshot>>,
    /// The time that the request may take.
    pub timeout: Option<Duration>,
    /// The answer that is awaited.
    pub awaits: Awaited,
    /// True if injected faults end before it.
    pub heals: bool,
    /// True if progress is requested.
    pub progress: bool,
    /// Takes the request back while it is under way.
    pub cancel: Option<Box<Cancel>>,
    /// Makes the call as a task.
    pub task: Option<Box<TaskCall>>,
}

/// The end of a request: an answer or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Awaited {
    /// An answer.
    #[default]
    Answer,
    /// No answer, since an injected fault loses it.
    Nothing,
}

impl Step {
    /// The expectations that some answer can break; the others judge nothing.
    pub fn breakable(&self) -> impl Iterator<Item = &Expectation> {
        let guaranteed = self.guaranteed_values();
        self.expect.iter().filter(move |one| !one.always_holds(&guaranteed))
    }

    /// The expectations that no answer can break.
    pub fn unbreakable(&self) -> impl Iterator<Item = &Expectation> {
        let guaranteed = self.guaranteed_values();
        self.expect.iter().filter(move |one| one.always_holds(&guaranteed))
    }

    /// Faults may make the answer, or change what is in it, so that it is not the server's.
    pub fn is_answered_by(&self, faults: &[Fault]) -> bool {
        let (method, tool) = match &self.action {
            Action::Call { tool, .. } => ("tools/call", Some(tool)),
            Action::Read { .. } => ("resources/read", None),
            Action::Prompt { .. } => ("prompts/get", None),
            Action::List(kind) => (kind.method(), None),
            Action::Complete { .. }
            | Action::Request { .. }
            | Action::Notify { .. }
            | Action::Wait(_)
            | Action::Alive
            | Action::Restart
            | Action::Listen(_)
            | Action::Http(_)
            | Action::Send(_) => return false,
        };
        faults.iter().filter(|fault| fault.makes_answers()).any(|fault| match tool {
            Some(tool) if has_template(tool) => true,
            tool => fault.may_strike(Some(method), tool.and_then(Node::text)),
        })
    }

    /// The values that every answer has that is judged at all.
    fn guaranteed_values(&self) -> Vec<GuaranteedValue> {
        let expects_result = self.expect.iter().any(Expectation::expects_result);
        match (&self.action, &self.cancel) {
            (_, Some(_)) => of_cancelled().into(),
            (Action::Http(_), None) => vec![always("closed", "boolean"), always("silent", "boolean")],
            (Action::Send(_), None) => Vec::new(),
            _ if expects_result => vec![there("result"), always("jsonrpc", "string"), there("id")],
            _ => vec![always("jsonrpc", "string"), there("id")],
        }
    }
}

/// A value that is there, but of a type that a faulty server may change, or that may be one of several.
const fn there(path: &'static str) -> GuaranteedValue {
    GuaranteedValue { path, kind: None }
}

const fn always(path: &'static str, kind: &'static str) -> GuaranteedValue {
    GuaranteedValue { path, kind: Some(kind) }
}

/// The facts about every request that was cancelled.
fn of_cancelled() -> [GuaranteedValue; 5] {
    [
        always("cancelled", "boolean"),
        always("answered", "boolean"),
        always("late", "array"),
        always("progress_after", "integer"),
        always("watched_ms", "integer"),
    ]
}

/// Something without which nothing that follows applies to a server.
#[derive(Debug, Clone)]
pub struct StepNeed {
    /// The expression over the answer.
    pub assert: Expectation,
    /// Why the test is skipped otherwise.
    pub reason: String,
}

/// A name for a value of an answer.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The name.
    pub name: Located<String>,
    /// The path of the value.
    pub path: ValuePath,
    /// True if it appears in no output.
    pub is_secret: bool,
}

/// The action of a step; values are unfilled.
#[derive(Debug, Clone)]
pub enum Action {
    /// Calls a tool.
    Call {
        /// Its name.
        tool: Node,
        /// The arguments.
        args: Option<Node>,
    },
    /// Reads a resource.
    Read {
        /// Its URI.
        uri: Node,
    },
    /// Gets a prompt.
    Prompt {
        /// Its name.
        name: Node,
        /// The arguments.
        args: Option<Node>,
    },
    /// Asks for completions.
    Complete {
        /// The parameters.
        params: Node,
    },
    /// Lists all pages.
    List(ListKind),
    /// Sends any request.
    Request {
        /// The method.
        method: Node,
        /// The parameters.
        params: Option<Node>,
    },
    /// Sends any notification.
    Notify {
        /// The method.
        method: Node,
        /// The parameters.
        params: Option<Node>,
    },
    /// Waits.
    Wait(Duration),
    /// Asks whether the server still answers.
    Alive,
    /// Ends the server and starts it again.
    Restart,
    /// Subscribes to notifications while other steps run.
    Listen(Box<Listen>),
    /// Sends a raw request of HTTP.
    Http(Box<RawHttp>),
    /// Writes a raw message.
    Send(Box<RawSend>),
}

impl Action {
    /// The steps that run during it.
    pub fn during(&self) -> &[Step] {
        match self {
            Self::Listen(listen) => &listen.during,
            Self::Http(http) => &http.during,
            Self::Call { .. }
            | Self::Read { .. }
            | Self::Prompt { .. }
            | Self::Complete { .. }
            | Self::List(_)
            | Self::Request { .. }
            | Self::Notify { .. }
            | Self::Wait(_)
            | Self::Alive
            | Self::Restart
            | Self::Send(_) => &[],
        }
    }

    /// The tool and the arguments of a call.
    pub fn as_call(&self) -> Option<(&Node, Option<&Node>)> {
        if let Self::Call { tool, args } = self { Some((tool, args.as_ref())) } else { None }
    }
}
