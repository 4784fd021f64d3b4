//! Messages between a client and a server, and checks that need no knowledge of why they were sent.
//!
//! A [`Frame`] is what was seen, byte for byte; a [`RpcMessage`] is what it means in JSON-RPC, broken ones included; a
//! [`Transcript`] is every frame of a session in order; [`Scanner`] finds what no server may send; [`sse`] reads event
//! streams.
//! Knows nothing about suites, cases or expectations. Start reading in [`Frame`].

mod address;
mod admitted;
mod canonical;
mod catalog;
mod denied_tool;
mod effects;
mod forgotten;
pub mod format;
mod frame;
pub mod json;
mod member;
mod message;
mod revision;
mod room;
mod scan;
pub mod sse;
mod surroundings;
mod transcript;
mod weight;

pub use self::address::address;
pub use self::admitted::{admitted_failure, admitted_lack, admitted_prompt_failure, is_served};
pub use self::canonical::canonical;
pub use self::catalog::{Catalog, ListKind, Repeated, Tool};
pub use self::denied_tool::denies_tool;
pub use self::forgotten::{ForgottenCalls, ForgottenTool};
pub use self::frame::{Channel, Direction, Frame, HttpHead};
pub use self::member::Members;
pub use self::message::{
    Id, RpcMessage, SUBSCRIPTION_ID, classify, id_of_unreadable, is_response, messages_in, notification_line, request,
    response_line, response_of,
};
pub use self::revision::{Era, Revision};
pub use self::room::{LARGE_MESSAGE, reserve_for_large};
pub use self::scan::{MessageStream, ProtocolViolation, SCANS, Scan, ScanRule, Scanner};
pub use self::surroundings::{call_limit, surroundings_lack};
pub use self::transcript::{MOST_KEPT, Transcript};
pub use self::weight::{
    MAX_COMPARED_MEMORY, ReadLimit, exact_memory_estimate, exceeded_limit, exceeded_limit_together, read_json,
    read_json_bytes, value_memory,
};
