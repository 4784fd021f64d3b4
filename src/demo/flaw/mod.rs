//! Flaws: what a server does wrong as data, played at the outermost edge of the demo server.
//!
//! A [`Flaw`] is a list of edits, read from YAML: which messages or requests of HTTP they are about, what the correct
//! server gets to hear instead, and what comes instead of its answers. `grammar` and `decode` read it, `condition` says
//! when an edit strikes, `change` makes the new messages; `player` keeps what edits count and remember. `lines` and
//! `http` stand around the server of their transport. Where there is no flaw, none of this is on the way.
//! Knows nothing about suites, nor about what the server does inside. Start reading in `grammar.rs`.

mod change;
mod condition;
mod decode;
mod events;
mod grammar;
pub(super) mod http;
pub(super) mod lines;
mod message;
mod player;

use std::time::Duration;

use self::change::MessageChange;
use self::condition::FlawCondition;
pub use self::grammar::FLAW;
pub(super) use self::player::FlawPlayer;
use crate::source::{Diagnostic, Node, SourceId, Sources, manual as sections};

/// The faulty behaviour of a server, as a file describes it.
#[derive(Debug, Clone, Default)]
pub struct Flaw {
    edits: Vec<FlawEdit>,
}

impl Flaw {
    /// Reads a file that holds a flaw and nothing else; every mistake at once.
    pub fn load(sources: &Sources, source: SourceId) -> Result<Self, Vec<Diagnostic>> {
        let node = crate::source::parse(sources, source).map_err(|mistake| vec![mistake])?;
        let mut found = Vec::new();
        let flaw = Self::decode(&node, &mut found);
        if found.is_empty() { Ok(flaw) } else { Err(found) }
    }

    /// Reads a flaw that stands in a larger file, its shape included; what is wrong is added to `found`.
    pub fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Self {
        decode::flaw(node, found)
    }
}

/// The reference of the language.
pub fn manual() -> String {
    sections(&grammar::EDIT)
}

/// One thing that the server does wrong.
#[derive(Debug, Clone)]
struct FlawEdit {
    on: FlawCondition,
    hears: Hears,
    answers: FlawedAnswers,
    before: Vec<Node>,
    after: Vec<Node>,
    ends: bool,
}

/// Changes to the message that the correct server receives.
#[derive(Debug, Clone, Default)]
struct Hears {
    nothing: bool,
    change: MessageChange,
}

/// Changes to the answer of the correct server.
#[derive(Debug, Clone)]
struct FlawedAnswers {
    change: MessageChange,
    whole: Option<Whole>,
    status: Option<u16>,
    /// How often it comes.
    times: usize,
    never: bool,
    form: Form,
    delay: Duration,
    event_id: EventId,
    on_listening: bool,
}

impl Default for FlawedAnswers {
    fn default() -> Self {
        Self {
            change: MessageChange::default(),
            whole: None,
            status: None,
            times: 1,
            never: false,
            form: Form::default(),
            delay: Duration::ZERO,
            event_id: EventId::AsItWas,
            on_listening: false,
        }
    }
}

/// The replacement of a whole answer.
#[derive(Debug, Clone)]
enum Whole {
    Result(Node),
    Error(Node),
    Message(Node),
    Text(Node),
    Bytes(Vec<u8>),
}

/// The change to the ids of events.
#[derive(Debug, Clone)]
enum EventId {
    AsItWas,
    Absent,
    Is(Node),
}

/// How a message becomes bytes.
#[derive(Debug, Clone, Default)]
struct Form {
    pretty: bool,
    encoding: Option<Encoding>,
    replace: Vec<(String, String)>,
}

/// How letters become bytes that are not UTF-8.
#[derive(Debug, Clone, Copy)]
enum Encoding {
    Latin1,
    Utf16,
}
