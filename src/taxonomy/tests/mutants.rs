//! Every mutant, on recordings that were made up for them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::*;
use crate::fault::{ClientMessage, ExchangeHistory, MessageExchange, NotApplied, ReplyContent, ServerReply};
use crate::source::{SourceFile, Sources, parse};
use crate::transport::Owner;
use crate::wire::{Catalog, HttpHead, Tool};

/// A recording of one target.
struct Target {
    catalog: Catalog,
    capabilities: Value,
    exchanges: Vec<MessageExchange>,
}

impl Target {
    fn known(&self) -> ExchangeHistory<'_> {
        ExchangeHistory { catalog: &self.catalog, capabilities: &self.capabilities, exchanges: &self.exchanges }
    }

    /// The same, with another exchange at its end.
    fn with(mut self, line: &Value) -> Self {
        self.exchanges.push(exchange(900, line, &json!({})));
        self
    }
}

fn target(name: &str) -> Target {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("recordings.yml", include_str!("../testdata/recordings.yml")));
    let all = parse(&sources, source).unwrap().to_json();
    let listed = |member: &str| all["catalog"][member].as_array().cloned().unwrap_or_default();
    Target {
        catalog: Catalog {
            tools: listed("tools").into_iter().map(Tool::new).collect(),
            resources: listed("resources"),
            resource_templates: listed("resourceTemplates"),
            prompts: listed("prompts"),
            tools_frame: None,
        },
        capabilities: json!({"tools": {}, "resources": {}, "prompts": {}, "tasks": {}}),
        exchanges: all[name]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(at, line)| exchange(at, line, &all["catalog"]))
            .collect(),
    }
}

fn exchange(at: usize, line: &Value, catalog: &Value) -> MessageExchange {
    let id = line.get("id").cloned().unwrap_or(json!(at + 100));
    let params = line["params"].clone();
    let message =
        |id, method: &Value| ClientMessage::Message { id, method: method.as_str().unwrap().to_owned(), params };
    let sent = match (line.get("raw"), line.get("tell")) {
        (Some(raw), _) => ClientMessage::Raw(raw.as_str().unwrap().as_bytes().to_vec()),
        (None, Some(method)) => message(None, method),
        (None, None) => message(Some(id.clone()), &line["ask"]),
    };
    let answers = line["answers"].as_array().cloned().unwrap_or_else(|| vec![line.clone()]);
    MessageExchange {
        owner: line["case"].as_str().map(Owner::of_case).unwrap_or_default(),
        session: 0,
        occurrence: u32::try_from(line["again"].as_u64().unwrap_or(0)).unwrap(),
        sent,
        replies: answers.iter().filter_map(|came| reply(&id, came, line, catalog)).collect(),
    }
}

fn reply(id: &Value, came: &Value, line: &Value, catalog: &Value) -> Option<ServerReply> {
    let result = if let Some(text) = came.get("failed") {
        Some(json!({"content": [{"type": "text", "text": text}], "isError": true}))
    } else if let Some(member) = came["list"].as_str() {
        let mut result = json!({member: catalog[member]});
        if let Some(next) = came.get("next") {
            result["nextCursor"] = next.clone();
        }
        Some(result)
    } else {
        came.get("result").cloned()
    };
    let http = line["status"].as_u64().map(|status| {
        let headers = line["headers"].as_object().into_iter().flatten();
        let headers = headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
        Arc::new(HttpHead { status: u16::try_from(status).unwrap(), headers })
    });
    let content = if let Some(method) = came.get("method") {
        ReplyContent::Message(json!({"jsonrpc": "2.0", "method": method, "params": came["params"]}))
    } else if let Some(result) = result {
        ReplyContent::Message(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    } else if let Some(error) = came.get("error") {
        ReplyContent::Message(json!({"jsonrpc": "2.0", "id": id, "error": error}))
    } else {
        http.as_ref()?;
        ReplyContent::Bytes(Vec::new())
    };
    Some(ServerReply { after: Duration::from_millis(3), content, http })
}

const TARGETS: [&str; 3] = ["stream", "stateless", "http"];

fn mutants() -> impl Iterator<Item = (&'static Variant, &'static Mutant)> {
    let all =
        Registry::builtin().variants().flat_map(|variant| variant.mutants().iter().map(move |one| (variant, one)));
    all.filter(|(_, mutant)| mutant.start.is_none())
}

/// No recording can show it.
fn is_live_only(variant: &Variant) -> bool {
    variant.mutants().iter().all(|mutant| mutant.fault.is_none())
}

/// A healthy server shows the fault somewhere.
fn is_redundant(mutant: &Mutant, known: &ExchangeHistory<'_>) -> bool {
    mutant.shown_by.as_ref().is_some_and(|shown| (0..known.exchanges.len()).any(|at| shown.holds(at, known)))
}

/// The first thing that a mutant needs and a server does not offer.
fn lacks(mutant: &Mutant, known: &ExchangeHistory<'_>) -> Option<OfferKind> {
    mutant.needs.iter().copied().find(|offer| !offer.is_met(known))
}

/// What changes how a server starts, and what nothing imitates.
#[test]
fn what_no_recording_can_show_is_planted_at_the_start_or_says_why_not() {
    let mut shown = String::new();
    for variant in Registry::builtin().variants().filter(|variant| is_live_only(variant)) {
        let starts: Vec<&str> = variant.mutants().iter().map(|mutant| mutant.id.as_str()).collect();
        assert!(
            variant.mutants().iter().all(|mutant| mutant.start.is_some() && mutant.fault.is_none()),
            "{}",
            variant.id
        );
        let why = variant.unplanted.as_deref();
        assert!(why.is_none() || starts.is_empty(), "{}", variant.id);
        let _ = writeln!(shown, "{}: {}{}", variant.id, starts.join(", "), why.unwrap_or_default());
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn every_variant_that_a_recording_can_show_has_mutants() {
    let replayable = ["TOOL-CRASH", "TIMEOUT-CANCEL-FATAL", "PROTO-BAD-INPUT-FATAL"];
    for variant in Registry::builtin().variants() {
        let is_due = matches!(variant.tier, Tier::Frames | Tier::Memory) || replayable.contains(&variant.id.as_str());
        assert_eq!(is_live_only(variant), !is_due, "{}", variant.id);
    }
    let ids: BTreeSet<&str> = mutants().map(|(_, mutant)| mutant.id.as_str()).collect();
    assert_eq!(ids.len(), mutants().count());
    assert!(ids.len() >= 75, "{}", ids.len());
    for (_, mutant) in mutants() {
        let words =
            mutant.id.split('-').all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric()));
        assert!(words && mutant.id == mutant.id.to_lowercase(), "{}", mutant.id);
        assert!(mutant.fault.is_some() && !mutant.meaning.ends_with('.'), "{}", mutant.id);
    }
}

/// Mutants of requests that are made during another one or in a third session of a case, as no recording plays them back.
const LIVE_ONLY: [&str; 5] =
    ["answers-swapped", "answers-crossed", "write-repeated", "later-start-reads-nothing", "requests-wait"];

/// Where each mutant strikes, and what it changes at the first place.
#[test]
fn every_mutant_strikes_and_changes_something() {
    let targets = TARGETS.map(target);
    let mut shown = String::new();
    let mut idle = Vec::new();
    for (variant, mutant) in mutants() {
        let mut changes = Vec::new();
        let mut places = 0;
        for target in &targets {
            let known = target.known();
            assert!(!is_redundant(mutant, &known), "{} is shown by a healthy server", mutant.id);
            let fault = mutant.fault.as_ref().unwrap();
            for at in (0..known.exchanges.len()).filter(|at| fault.strikes(*at, &known)) {
                match fault.apply(at, &known) {
                    Ok(struck) => {
                        let change = struck.changes(&known.exchanges[at]);
                        assert!(!change.is_empty(), "{} changes something unseen", mutant.id);
                        places += 1;
                        changes.extend(change);
                    }
                    Err(NotApplied::NoChange | NotApplied::NoMaterial(_)) => {}
                }
            }
        }
        match changes.first() {
            Some(change) => drop(writeln!(shown, "{} {} {places} × {change}", variant.id, mutant.id)),
            None => idle.push(mutant.id.as_str()),
        }
    }
    assert_eq!(idle, LIVE_ONLY, "mutants that change nothing");
    insta::assert_snapshot!(shown);
}

/// No mutant keeps every session from starting but those that are about the start.
#[test]
fn sessions_start_whatever_the_mutant() {
    for (variant, mutant) in mutants().filter(|(variant, _)| variant.id != "TIMEOUT-STARTUP-HANG") {
        for target in TARGETS.map(target) {
            let (known, fault) = (target.known(), mutant.fault.as_ref().unwrap());
            if !fault.strikes(0, &known) {
                continue;
            }
            let Ok(struck) = fault.apply(0, &known) else { continue };
            let result = struck.replies.iter().find_map(|reply| {
                if let ReplyContent::Message(message) = &reply.content { message.get("result") } else { None }
            });
            let agreed = result.and_then(|result| result.get("protocolVersion").or(result.get("supportedVersions")));
            assert!(agreed.is_some(), "{} of {} keeps sessions from starting", mutant.id, variant.id);
        }
    }
}

#[test]
fn what_a_healthy_server_shows_is_redundant() {
    let check = |id: &str, line: Value| {
        let (_, mutant) = mutants().find(|(_, mutant)| mutant.id == id).unwrap();
        let target = target("stream").with(&line);
        assert!(is_redundant(mutant, &target.known()), "{id}");
    };
    let served = |name: &str, arguments: Value| json!({"case": "x", "ask": "tools/call", "params": {"name": name, "arguments": arguments}, "result": {"content": []}});
    check("unknown-tool-accepted", served("nothing", json!({})));
    check("missing-argument-accepted", served("get_user", json!({})));
    check("mistyped-argument-accepted", served("get_user", json!({"id": 1})));
    check("extra-argument-accepted", served("get_user", json!({"id": "u1", "x": 1})));
    check("out-of-range-accepted", served("get_user", json!({"id": "u1", "limit": 0})));
    check("structured-missing", served("get_user", json!({"id": "u1"})));
    check("undeclared-served", json!({"case": "x", "ask": "completion/complete", "params": {}, "result": {}}));
    let early = "POST / HTTP/1.1\r\nHost: x\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    check("early-request-served", json!({"case": "x", "raw": early, "id": 1, "result": {"tools": []}}));
}

#[test]
fn what_a_server_does_not_offer_is_told() {
    let mut target = target("stream");
    let lacking = |target: &Target, id: &str| {
        mutants().find(|(_, mutant)| mutant.id == id).and_then(|(_, mutant)| lacks(mutant, &target.known()))
    };
    assert_eq!(lacking(&target, "output-mistyped"), None);
    assert_eq!(lacking(&target, "prompt-unlisted"), None);
    target.catalog = Catalog::default();
    assert_eq!(lacking(&target, "output-mistyped"), Some(OfferKind::OutputSchema));
    assert_eq!(lacking(&target, "prompt-unlisted"), Some(OfferKind::Prompts));
    assert_eq!(lacking(&target, "jsonrpc-missing"), None);
    for (capabilities, expected) in [
        (json!({"tasks": {}}), None),
        (json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}), None),
        (json!({"extensions": {"another": {}}}), Some(OfferKind::Tasks)),
        (json!({}), Some(OfferKind::Tasks)),
    ] {
        target.capabilities = capabilities;
        assert_eq!(lacking(&target, "task-lost"), expected, "{}", target.capabilities);
    }
}
