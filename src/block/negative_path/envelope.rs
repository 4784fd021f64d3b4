//! Messages that are no requests: a server may refuse them or pass over them, and must neither serve them nor break.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::cases::sign_of_life;
use crate::plan::generated::{bare, expectation, text_node};
use crate::source::Span;
use crate::source::template::from_json;
use crate::suite::{Action, Cuts, Payload, RawSend, Step, Wanted};
use crate::wire::Revision;

/// The wait for an answer that should not come.
const WATCH: Duration = Duration::from_millis(50);

/// A kind of malformed message.
pub(crate) struct Envelope {
    pub(crate) name: &'static str,
    /// Each message, and after it a sign of life.
    pub(crate) steps: Vec<Step>,
}

/// Every kind that breaks the rules of a revision.
pub(crate) fn envelopes(revision: Option<Revision>, span: Span) -> Vec<Envelope> {
    let valid_request = valid_request(revision);
    let of = |change: &dyn Fn(&mut Json)| {
        let mut message = valid_request.clone();
        change(&mut message);
        MalformedMessage { payload: Payload::Json(from_json(&message, span)), served: json!(true) }
    };
    let cut = valid_request.to_string();
    let text = |text: &str| MalformedMessage { payload: Payload::Text(text_node(text, span)), served: json!(true) };
    let mut kinds = vec![
        ("broken JSON", vec![text(&cut[..cut.len() - 1]), text("{\"jsonrpc\": \"2.0\", no json"), no_utf8(span)]),
        ("no object", vec![text("\"ping\""), text("7"), text("[]")]),
        (
            "wrong `jsonrpc`",
            vec![of(&|message| drop(remove(message, "jsonrpc"))), of(&|message| message["jsonrpc"] = "1.0".into())],
        ),
        (
            "missing `method`",
            vec![of(&|message| drop(remove(message, "method"))), of(&|message| message["method"] = 7.into())],
        ),
        (
            "wrong `params`",
            vec![of(&|message| message["params"] = "text".into()), of(&|message| message["params"] = 7.into())],
        ),
        // JSON-RPC itself allows `null`, MCP does not.
        (
            "wrong `id`",
            vec![
                of(&|message| message["id"] = json!({"a": 1})),
                of(&|message| message["id"] = Json::Null).into_advice(),
            ],
        ),
    ];
    // Before 2025-06-18 a batch is a message like any other, or nobody says that it is not.
    if revision.is_some_and(|revision| revision >= Revision::V2025_06_18) {
        kinds.push(("a batch", vec![of(&|message| *message = json!([message])).into_advice()]));
    }
    kinds.into_iter().map(|(name, sent)| Envelope { name, steps: steps(sent, span) }).collect()
}

struct MalformedMessage {
    payload: Payload,
    /// The value of `refused_or_ignored`.
    served: Json,
}

impl MalformedMessage {
    /// The same, where a server that serves it breaks no rule that binds servers.
    fn into_advice(self) -> Self {
        Self { served: "should".into(), ..self }
    }
}

/// A request that every server of the revision serves.
fn valid_request(revision: Option<Revision>) -> Json {
    if revision == Some(Revision::V2026_07_28) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        return json!({"jsonrpc": "2.0", "id": "envelope", "method": "server/discover", "params": {"_meta": meta}});
    }
    json!({"jsonrpc": "2.0", "id": "envelope", "method": "ping"})
}

/// A byte that is part of no text, where it is part of no string either.
fn no_utf8(span: Span) -> MalformedMessage {
    // {"jsonrpc": "2.0", <FF>"id": "envelope", "method": "ping"}
    let bytes = "eyJqc29ucnBjIjogIjIuMCIsIP8iaWQiOiAiZW52ZWxvcGUiLCAibWV0aG9kIjogInBpbmcifQ==";
    MalformedMessage { payload: Payload::Base64(text_node(bytes, span)), served: json!(true) }
}

fn remove(message: &mut Json, name: &str) -> Option<Json> {
    message.as_object_mut()?.shift_remove(name)
}

fn steps(sent: Vec<MalformedMessage>, span: Span) -> Vec<Step> {
    sent.into_iter().flat_map(|sent| [step(sent, span), sign_of_life(span)]).collect()
}

fn step(sent: MalformedMessage, span: Span) -> Step {
    let raw = RawSend {
        lines: vec![sent.payload],
        newline: "\n".to_owned(),
        cuts: Cuts::None,
        answers: Wanted::Nothing,
        watch: WATCH,
    };
    let expect = vec![expectation(&json!({"refused_or_ignored": sent.served}), span)];
    Step { expect, expects: true, ..bare(Action::Send(Box::new(raw)), span) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;

    #[test]
    fn every_malformed_message_is_followed_by_a_sign_of_life() {
        let span = node("x").span;
        for (revision, has_batch) in [
            (None, false),
            (Some(Revision::V2025_03_26), false),
            (Some(Revision::V2025_06_18), true),
            (Some(Revision::V2025_11_25), true),
        ] {
            let kinds = envelopes(revision, span);
            assert_eq!(kinds.iter().any(|kind| kind.name == "a batch"), has_batch, "{revision:?}");
            for kind in kinds {
                let (sent, alive): (Vec<_>, Vec<_>) =
                    kind.steps.iter().partition(|step| matches!(step.action, Action::Send(_)));
                assert_eq!(sent.len(), alive.len(), "{}", kind.name);
                assert!(sent.iter().all(|step| step.expects), "{}", kind.name);
            }
        }
    }

    #[test]
    fn the_request_is_one_that_every_server_of_its_revision_serves() {
        assert_eq!(valid_request(Some(Revision::V2025_11_25))["method"], "ping");
        let newest = valid_request(Some(Revision::V2026_07_28));
        assert_eq!(newest["method"], "server/discover");
        assert_eq!(newest["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    }

    #[test]
    fn a_message_fails_a_server_only_where_no_rule_allows_it() {
        let advised = ["{\"jsonrpc\":\"2.0\",\"id\":null", "[{"];
        for kind in envelopes(Some(Revision::V2025_11_25), node("x").span) {
            for step in kind.steps {
                let Action::Send(raw) = &step.action else { continue };
                let sent = match &raw.lines[0] {
                    Payload::Json(node) => node.to_json().to_string(),
                    Payload::Text(node) | Payload::Base64(node) => node.text().unwrap_or_default().to_owned(),
                };
                let is_advised = advised.iter().any(|beginning| sent.starts_with(beginning));
                let binding = if is_advised { json!("should") } else { json!(true) };
                let expected = json!({"refused_or_ignored": binding});
                assert_eq!(step.expect[0].node().to_json(), expected, "{}: {sent}", kind.name);
            }
        }
    }
}
