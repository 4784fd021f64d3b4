//! Steps: one exchange each.

use std::time::Duration;

use super::raw::CancelKeys;
use crate::matching::{Expectation, Sample, ValuePath};
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, settings};
use crate::suite::model::{Listen, RawHttp, RawSend, WantedTask};
use crate::suite::snapshot::Per;
use crate::wire::ListKind;

settings! {
    /// One exchange with the server.
    pub(crate) struct StepKeys as "a step" {
        /// The purpose of the step, shown when it fails.
        pub(crate) name: Option<String>,
        /// Conditions of the answer; if one does not hold, the test is skipped.
        pub(crate) needs: Vec<StepCondition>,
    } beside {
        /// The exchange.
        pub(crate) exchange: ExchangeKeys,
    }
}

settings! {
    /// A condition of the answer.
    pub(crate) struct StepCondition as "a condition of a step" {
        /// An expression over the answer. If it is false, the test is skipped.
        pub(crate) assert: Node => required() shape(Shape::Text),
        /// The reason that is reported for the skip.
        pub(crate) reason as "else": String => required(),
    }
}

settings! {
    /// The keys of an exchange, which also stand in a test with a single one.
    pub(crate) struct ExchangeKeys as "an exchange" {
        /// Calls this tool.
        pub(crate) call: Option<Node> => alternative() shape(Shape::Text) choice("action"),
        /// The arguments of the tool or prompt, or a template for all of them.
        pub(crate) args: Option<Node> => beside(&["call", "prompt"]) cure("write for example `args: { id: 1 }`")
            shape(Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template])),
        /// Reads the resource with this URI.
        pub(crate) read: Option<Node> => alternative() shape(Shape::Text) choice("action"),
        /// Gets this prompt.
        pub(crate) prompt: Option<Node> => alternative() shape(Shape::Text) choice("action"),
        /// Asks for completions.
        pub(crate) complete: Option<Node> => alternative() shape(Shape::Object(&COMPLETE)) choice("action"),
        /// Requests all pages of this list.
        pub(crate) list: Option<ListKind> => alternative() choice("action"),
        /// Sends a request with this method.
        pub(crate) request: Option<Node> => alternative() shape(Shape::Text) choice("action"),
        /// Sends a notification with this method; there is no answer to check.
        pub(crate) notify: Option<Node> => alternative() shape(Shape::Text) choice("action")
            unless("expect", EXPECTATIONS),
        /// The parameters of `request` and `notify`.
        pub(crate) params: Option<Node> => beside(&["request", "notify"]),
        /// Waits; there is no answer to check.
        pub(crate) wait: Option<Duration> => alternative() shape(Shape::Time) choice("action")
            unless("expect", EXPECTATIONS),
        /// Checks that the server still answers: with `ping`, since 2026-07-28 with `server/discover`.
        pub(crate) alive: Option<bool> => alternative() choice("action") unless("expect", EXPECTATIONS),
        /// Restarts the server; not possible for a server with a `url` and no `command`.
        pub(crate) restart: Option<bool> => alternative() choice("action") unless("expect", EXPECTATIONS),
        /// Subscribes to notifications while other steps run; expectations are of what came, in the `result` what the server
        /// agreed to.
        pub(crate) listen: Option<Box<Listen>> => alternative() choice("action"),
        /// Writes a raw message on the session's stream.
        pub(crate) send: Option<Box<RawSend>> => alternative() choice("action"),
        /// Sends a raw HTTP request.
        pub(crate) http: Option<Box<RawHttp>> => alternative() choice("action"),
        /// Expectations of the answer; write `[]` for none.
        pub(crate) expect: Option<Vec<Expectation>> => beside(&[
            "call", "read", "prompt", "complete", "list", "request", "send", "http", "notify", "wait", "alive",
            "restart", "listen",
        ]),
        /// Names for values of the answer, by path; later steps use them as `{{ name }}`.
        pub(crate) capture: Vec<(Located<String>, CapturedValue)>
            => beside(&["call", "read", "prompt", "complete", "list", "request", "listen", "send", "http"]),
        /// Compares the answer with the one that `mcprove run --update` recorded; a text names the recording.
        pub(crate) snapshot: Option<Node> => beside(&["call", "read", "prompt", "complete", "list", "request"])
            shape(Shape::Either(&[Shape::Flag, Shape::Text, SnapshotKeys::SHAPE])),
        /// The time that this request may take.
        pub(crate) timeout: Option<Duration>
            => beside(&["call", "read", "prompt", "complete", "request", "alive", "listen", "send", "http"]),
        /// Expects that no answer comes within `timeout`, because an injected fault loses it or ends the server.
        pub(crate) unanswered: bool => beside(REQUESTS) without(&["cancel", "capture", "snapshot"]),
        /// Whether to ask for progress notifications.
        pub(crate) progress: bool => default("false") beside(REQUESTS),
        /// Cancels the running request, which then has no answer to compare.
        pub(crate) cancel: Option<CancelKeys> => beside(REQUESTS) without(&["snapshot"]),
        /// Makes the call as a task, and waits for its end; expectations are of what the call is answered with then.
        pub(crate) task: Option<WantedTask> => beside(&["call"]) without(&["cancel", "progress", "unanswered"]),
    }
}

/// The actions that send one request.
const REQUESTS: &[&str] = &["call", "read", "prompt", "complete", "request"];

/// Expectations, where they are not said to be none.
const EXPECTATIONS: Shape = Shape::NonEmpty(&Shape::List(&Shape::Any));

/// A value of the answer; a text is its path.
#[derive(Debug, Clone)]
pub(crate) struct CapturedValue(pub(crate) CaptureKeys);

impl Setting for CapturedValue {
    const SHAPE: Shape = Shape::Either(&[Shape::Text, CaptureKeys::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(Self(match node.text() {
            Some(_) => CaptureKeys { at: ValuePath::decode(node, found)?, secret: false },
            None => CaptureKeys::decode(node, found)?,
        }))
    }
}

settings! {
    /// A value of the answer.
    pub(crate) struct CaptureKeys as "a capture" {
        /// The path of the value.
        pub(crate) at: ValuePath => required(),
        /// Whether the value is secret: it then appears in no output.
        pub(crate) secret: bool => default("false"),
    }
}

settings! {
    /// The recorded part of an answer, and its file.
    pub(crate) struct SnapshotKeys as "a snapshot" {
        /// The name of the file; made from the names of test and step by default.
        pub(crate) name: Option<Located<String>>,
        /// Keeps one recording for each server or each revision; by default one recording must match all of them.
        pub(crate) per: Option<Per>,
    } beside {
        pub(crate) sample: Sample,
    }
}

/// The parameters of a completion, which are sent as they are.
static COMPLETE: Object = Object {
    name: "a completion",
    doc: "The argument to complete.",
    keys: &[&[
        required("ref", Shape::Any, "The prompt or resource template: `{ type: ref/prompt, name: … }`."),
        required("argument", Shape::Any, "The argument and its beginning: `{ name: …, value: … }`."),
        key("context", Shape::Any, "Arguments that are known already."),
    ]],
};
