//! The rules of the specification against the servers of this program: the correct one keeps all of them, over both
//! transports and in both eras; for every rule there is a server that breaks it, on which it fails and no other does.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use mcprove::demo::faulty::Fault;
use mcprove::demo::reference::{LOW_SCOPE_TOKEN, Reference, SECOND_TOKEN, TOKEN};
use mcprove::demo::{Settings, http, serve_with};
use mcprove::source::Sources;
use mcprove::suite::{Carrier, Rule, Test, built_in_rules};
use mcprove::testing::{Outcome, Run, Suite};
use serde_json::{Map, Value, json};
use tokio::runtime::Builder;

use crate::harness::snapshot;

/// The revisions whose rule books are looked at.
const BOOKS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A server and how it is spoken to.
struct Server {
    settings: Settings,
    fault: Arc<Fault>,
    over: Carrier,
}

#[test]
fn the_correct_server_keeps_every_rule() {
    let mut seen = String::new();
    for revision in BOOKS {
        let rules = rules(revision);
        let mut best: BTreeMap<String, &str> = rules.iter().map(|rule| (rule.id.clone(), "skipped")).collect();
        for (over, guarded) in [(Carrier::Stdio, false), (Carrier::Http, false), (Carrier::Http, true)] {
            let server = Server { settings: reference(guarded), fault: Arc::new(Fault::none()), over };
            let run = check(&server, revision, &hints(&rules));
            let place = format!("{revision} over {}{}", over.as_str(), if guarded { " with tokens" } else { "" });
            assert_eq!(broken(&run), BTreeSet::new(), "{place}\n{}", run.text());
            for case in run.cases() {
                let Some(rule) = &case.case.rule else { continue };
                let word = best.get_mut(&rule.id).unwrap();
                match case.outcome {
                    Outcome::Passed => *word = "passed",
                    Outcome::Inconclusive if *word == "skipped" => *word = "inconclusive",
                    _ => {}
                }
            }
        }
        let open = best.iter().filter(|(_, word)| **word != "passed");
        let _ = writeln!(seen, "{revision}: {} rules", rules.len());
        for (id, word) in open {
            let _ = writeln!(seen, "  {id} is only ever {word}");
        }
    }
    snapshot("rules-kept", &seen);
}

#[test]
fn every_rule_fails_on_its_own_server_and_on_no_other() {
    let jobs: VecDeque<(&str, Rule)> =
        BOOKS.iter().flat_map(|book| rules(book).into_iter().map(move |rule| (*book, rule))).collect();
    let (jobs, lines) = (Mutex::new(jobs), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((book, rule)) = jobs.lock().unwrap().pop_front() else { break };
                    let line = on_its_own_server(book, &rule);
                    lines.lock().unwrap().insert((book, rule.id.clone()), line);
                }
            });
        }
    });
    let lines = lines.into_inner().unwrap();
    let table: String = lines.iter().map(|((book, id), line)| format!("{book} {id}: {line}\n")).collect();
    snapshot("rules-broken", &table);
    let wrong: Vec<String> = lines
        .iter()
        .filter(|((_, id), line)| *line != id && *line != NO_SERVER)
        .map(|((book, id), line)| format!("{book} {id}: {line}"))
        .collect();
    assert!(wrong.is_empty(), "on its own server and on no other:\n{}", wrong.join("\n"));
}

const NO_SERVER: &str = "no server breaks it alone";

/// The ids of the rules that fail on the server that breaks one.
fn on_its_own_server(book: &str, rule: &Rule) -> String {
    let mut found = Vec::new();
    let reference = Reference::of(rule, &mut found);
    assert!(found.is_empty(), "{book}/{}: {found:?}", rule.id);
    let Some(flaw) = reference.flaw else { return NO_SERVER.to_owned() };
    let guarded = reference.settings.token.is_some();
    let over = if guarded { Carrier::Http } else { rule.over.unwrap_or(Carrier::Stdio) };
    let server = Server { settings: self::reference(guarded), fault: Arc::new(Fault::flawed(flaw)), over };
    let run = check(&server, book, &hints(&rules(book)));
    let ids: Vec<String> = broken(&run).into_iter().collect();
    if ids.is_empty() { "nothing fails".to_owned() } else { ids.join(", ") }
}

/// The rules of a book, each once.
fn rules(book: &str) -> Vec<Rule> {
    let tests: Vec<Arc<Test>> = built_in_rules(&mut Sources::default()).unwrap();
    let mut seen = BTreeSet::new();
    let rules = tests.iter().filter_map(|test| test.rule.as_deref());
    let own = rules.filter(|rule| rule.revisions.iter().any(|revision| revision.as_str() == book));
    own.filter(|rule| seen.insert(rule.id.clone())).cloned().collect()
}

/// Everything that the rules are tested with on the servers of this program.
fn hints(rules: &[Rule]) -> Value {
    let references = rules.iter().filter_map(|rule| rule.reference.as_ref()?.get("hints"));
    let mut hints: Map<String, Value> =
        references.flat_map(|node| node.entries()).map(|(name, value)| (name.value.clone(), value.to_json())).collect();
    for (name, token) in [("token", TOKEN), ("second_token", SECOND_TOKEN), ("low_scope_token", LOW_SCOPE_TOKEN)] {
        if hints.contains_key(name) {
            hints.insert(name.to_owned(), token.into());
        }
    }
    hints.into()
}

/// The settings of the correct server with everything that it can offer.
fn reference(guarded: bool) -> Settings {
    let token = |text: &str| guarded.then(|| text.to_owned());
    Settings {
        conformance_fixtures: true,
        token: token(TOKEN),
        second_token: token(SECOND_TOKEN),
        low_scope_token: token(LOW_SCOPE_TOKEN),
        ..Settings::default()
    }
}

/// The ids of the rules that a run saw broken; cases that stand for none are named as they are.
fn broken(run: &Run) -> BTreeSet<String> {
    let cases = run.cases().into_iter().filter(|case| {
        matches!(case.outcome, Outcome::Failed | Outcome::Warned | Outcome::Errored)
    });
    cases.map(|case| case.case.rule.as_ref().map_or_else(|| case.case.name.clone(), |rule| rule.id.clone())).collect()
}

/// Holds a server against the rules of a revision. Over streams time is virtual.
fn check(server: &Server, revision: &str, hints: &Value) -> Run {
    let runtime = match server.over {
        Carrier::Stdio => Builder::new_current_thread().enable_all().start_paused(true).build(),
        Carrier::Http => Builder::new_current_thread().enable_all().build(),
    };
    runtime.unwrap().block_on(async {
        match server.over {
            Carrier::Stdio => over_streams(server, revision, hints).await,
            Carrier::Http => over_http(server, revision, hints).await,
        }
    })
}

async fn over_streams(server: &Server, revision: &str, hints: &Value) -> Run {
    let text = suite(json!({"builtin": "demo", "protocol": revision}), hints);
    let (settings, fault) = (server.settings.clone(), Arc::clone(&server.fault));
    let suite = Suite::parse(&text).unwrap().parallel(8).connect(move || {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(serve_with(settings.clone(), Arc::clone(&fault), reader, writer));
        tokio::io::split(ours)
    });
    suite.run().await.unwrap()
}

async fn over_http(server: &Server, revision: &str, hints: &Value) -> Run {
    let bound = http::Bound::new("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let bound = bound.with(server.settings.clone(), &server.fault).unwrap();
    let mut address = json!({"url": bound.url(), "protocol": revision});
    if let Some(token) = &server.settings.token {
        address["headers"] = json!({"Authorization": format!("Bearer {token}")});
    }
    let serving = tokio::spawn(bound.serve());
    let run = Suite::parse(&suite(address, hints)).unwrap().parallel(8).run().await.unwrap();
    serving.abort();
    run
}

fn suite(server: Value, hints: &Value) -> String {
    json!({"suite": "rules", "server": server, "compliance": {"hints": hints}}).to_string()
}
