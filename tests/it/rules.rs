//! The rules of the specification against the servers of this program: the correct one keeps all of them, over both
//! transports and in both eras; for every rule there is a server that breaks it, on which it fails and no other does.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use mcprove::demo::faulty::Fault;
use mcprove::demo::flaw::Flaw;
use mcprove::demo::reference::{LOW_SCOPE_TOKEN, Reference, SECOND_TOKEN, TOKEN};
use mcprove::demo::{Settings, http, serve_with};
use mcprove::event::{CaseResult, Event, Outcome};
use mcprove::plan::{Selection, build};
use mcprove::redact::Redactor;
use mcprove::report::terminal::failure;
use mcprove::runner::{self, InProcess, Observer, Options, SessionFrames, Stop};
use mcprove::source::{Node, SourceFile, Sources, Style};
use mcprove::suite::{Carrier, Files, Rule, Suite, Test, built_in_rules, load};
use mcprove::taxonomy::Registry;
use mcprove::transport::memory;
use serde_json::{Map, Value, json};
use tokio::io::split;
use tokio::runtime::Builder;

use crate::harness::snapshot;

/// The revisions whose rule books are looked at.
const BOOKS: [&str; 5] = [WITHOUT_HTTP, "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The revision with a transport over HTTP that the demo server does not have.
const WITHOUT_HTTP: &str = "2024-11-05";

/// Whether a server wants tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    Open,
    Tokens,
}

/// A server and how it is spoken to.
pub(crate) struct Server {
    pub(crate) settings: Settings,
    pub(crate) flaw: Option<Flaw>,
    pub(crate) over: Carrier,
}

impl Server {
    /// What it does wrong; over streams every connection has a server of its own.
    fn fault(&self) -> Arc<Fault> {
        Arc::new(self.flaw.clone().map_or_else(Fault::none, Fault::flawed))
    }
}

#[test]
fn the_correct_server_keeps_every_rule() {
    let mut seen = String::new();
    for revision in BOOKS {
        let rules = rules(revision);
        let mut best: BTreeMap<String, &str> = rules.iter().map(|rule| (rule.id.clone(), "skipped")).collect();
        let plain = || Server { settings: Settings::default(), flaw: None, over: Carrier::Stdio };
        let servers = [
            ("streams", Guard::Open, Server { settings: reference(Guard::Open), ..plain() }),
            ("HTTP", Guard::Open, Server { settings: reference(Guard::Open), over: Carrier::Http, ..plain() }),
            ("tokens", Guard::Tokens, Server { settings: reference(Guard::Tokens), over: Carrier::Http, ..plain() }),
            ("nothing but the directory", Guard::Open, plain()),
            ("nothing at all", Guard::Open, Server { flaw: Some(bare()), ..plain() }),
        ];
        let has_transport = |server: &Server| server.over == Carrier::Stdio || revision != WITHOUT_HTTP;
        for (place, guard, server) in servers.into_iter().filter(|(_, _, server)| has_transport(server)) {
            // What is tested with tools needs those of the fixtures.
            let with = if server.settings.conformance_fixtures { hints(&rules, guard) } else { json!({}) };
            let results = check(&server, revision, &with);
            let told = results.iter().filter(|case| case.outcome == Outcome::Failed || case.outcome == Outcome::Warned);
            let told: String = told.map(|case| failure(case, &Style::PLAIN)).collect();
            assert_eq!(broken(&results), BTreeSet::new(), "{revision}, {place}\n{told}");
            for case in &results {
                let Some(rule) = &case.case.rule else { continue };
                let word = best.get_mut(&rule.id).unwrap();
                if case.outcome == Outcome::Passed {
                    *word = "passed";
                } else if case.outcome == Outcome::Inconclusive && *word == "skipped" {
                    *word = "inconclusive";
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
    let books = BOOKS.map(|book| (book, rules(book)));
    let jobs: VecDeque<(&str, &Rule, &[Rule])> =
        books.iter().flat_map(|(book, own)| newest(book, own).map(move |rule| (*book, rule, own.as_slice()))).collect();
    let (jobs, lines) = (Mutex::new(jobs), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((book, rule, own)) = jobs.lock().unwrap().pop_front() else { break };
                    let line = on_its_own_server(book, (rule, own));
                    lines.lock().unwrap().insert((book, rule.id.clone()), line);
                }
            });
        }
    });
    let lines = lines.into_inner().unwrap();
    let table: Vec<String> = lines.iter().map(|((book, id), line)| format!("{book} {id}: {line}")).collect();
    snapshot("rules-broken", &table.join("\n"));
    let wrong: Vec<String> = lines
        .iter()
        .filter(|((_, id), line)| *line != id && *line != NO_SERVER)
        .map(|((book, id), line)| format!("{book} {id}: {line}"))
        .collect();
    assert!(wrong.is_empty(), "on its own server and on no other:\n{}", wrong.join("\n"));
}

/// The rules whose newest revision it is.
fn newest<'a>(book: &'a str, rules: &'a [Rule]) -> impl Iterator<Item = &'a Rule> {
    rules.iter().filter(move |rule| rule.revisions.last().is_some_and(|newest| newest.as_str() == book))
}

const NO_SERVER: &str = "no server breaks it alone";

/// The ids of the rules that fail on the server that breaks one.
fn on_its_own_server(book: &str, (rule, own): (&Rule, &[Rule])) -> String {
    let mut found = Vec::new();
    let reference = Reference::of(rule, &mut found);
    assert!(found.is_empty(), "{book}/{}: {found:?}", rule.id);
    let Some(flaw) = reference.flaw.filter(|_| rule.over != Some(Carrier::Http) || book != WITHOUT_HTTP) else {
        return NO_SERVER.to_owned();
    };
    let guard = if reference.settings.token.is_some() { Guard::Tokens } else { Guard::Open };
    let over = if guard == Guard::Tokens { Carrier::Http } else { rule.over.unwrap_or(Carrier::Stdio) };
    // What a rule needs not to be there is not there.
    let wants =
        |name: &str| rule.reference.as_ref().and_then(|node| node.get(name)).and_then(Node::flag) != Some(false);
    let settings = self::reference(guard);
    let settings = Settings { tasks: settings.tasks && wants("tasks"), ..settings };
    let server = Server { settings, flaw: Some(flaw), over };
    let results = check(&server, book, &hints(own, guard));
    let ids: Vec<String> = broken(&results).into_iter().collect();
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
fn hints(rules: &[Rule], guard: Guard) -> Value {
    let references = rules.iter().filter_map(|rule| rule.reference.as_ref()?.get("hints"));
    let named = references.flat_map(Node::entries).map(|(name, value)| (name.value.clone(), value.to_json()));
    let mut hints: Map<String, Value> = named.filter(|(name, _)| !name.ends_with("token")).collect();
    if guard == Guard::Tokens {
        let tokens = [
            ("token", TOKEN),
            ("second_token", SECOND_TOKEN),
            ("low_scope_token", LOW_SCOPE_TOKEN),
            ("foreign_token", "a-token-for-another-server"),
        ];
        hints.extend(tokens.map(|(name, token)| (name.to_owned(), token.into())));
    }
    hints.into()
}

/// What makes the correct server one that offers nothing, and says so: still correct.
fn bare() -> Flaw {
    let text = r"
        - on: { method: [initialize, server/discover] }
          answers: { set: { result.capabilities: {} } }
        - on: { method: [tools/*, resources/*, prompts/*, completion/*] }
          answers: { error: { code: -32601, message: nothing of the kind is here } }
    ";
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("bare", text));
    Flaw::load(&sources, id).unwrap()
}

/// The settings of the correct server with everything that it can offer.
fn reference(guard: Guard) -> Settings {
    let token = |text: &str| (guard == Guard::Tokens).then(|| text.to_owned());
    Settings {
        conformance_fixtures: true,
        tasks: true,
        token: token(TOKEN),
        second_token: token(SECOND_TOKEN),
        low_scope_token: token(LOW_SCOPE_TOKEN),
        ..Settings::default()
    }
}

/// The ids of the rules that a run saw broken; cases that stand for none are named as they are.
fn broken(results: &[CaseResult]) -> BTreeSet<String> {
    let is_broken = |case: &&CaseResult| matches!(case.outcome, Outcome::Failed | Outcome::Warned | Outcome::Errored);
    let cases = results.iter().filter(is_broken);
    cases.map(|case| case.case.rule.as_ref().map_or_else(|| case.case.name.clone(), |rule| rule.id.clone())).collect()
}

/// Holds a server against the rules of a revision.
fn check(server: &Server, revision: &str, hints: &Value) -> Vec<CaseResult> {
    results(server, revision, &|address| of_books(&address, hints))
}

/// Makes a suite for the server that it is given.
pub(crate) type MakeSuite<'a> = &'a dyn Fn(Value) -> (Sources, Suite);

/// What a suite sees of a server. Over streams time is virtual.
pub(crate) fn results(server: &Server, revision: &str, suite: MakeSuite<'_>) -> Vec<CaseResult> {
    let runtime = match server.over {
        Carrier::Stdio => Builder::new_current_thread().enable_all().start_paused(true).build(),
        Carrier::Http => Builder::new_current_thread().enable_all().build(),
    };
    runtime.unwrap().block_on(async {
        match server.over {
            Carrier::Stdio => over_streams(server, revision, suite).await,
            Carrier::Http => over_http(server, revision, suite).await,
        }
    })
}

async fn over_streams(server: &Server, revision: &str, suite: MakeSuite<'_>) -> Vec<CaseResult> {
    let of = Server { settings: server.settings.clone(), flaw: server.flaw.clone(), over: server.over };
    let connect = move || {
        let (settings, fault) = (of.settings.clone(), of.fault());
        memory::host(move |stream| async move {
            let (reader, writer) = split(stream);
            serve_with(settings, fault, reader, writer).await.map_err(|error| error.to_string())
        })
    };
    let in_process = BTreeMap::from([("server".to_owned(), InProcess::new(connect))]);
    run(suite(json!({"builtin": "demo", "protocol": revision})), in_process).await
}

async fn over_http(server: &Server, revision: &str, suite: MakeSuite<'_>) -> Vec<CaseResult> {
    let bound = http::Bound::new("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let bound = bound.with(server.settings.clone(), &server.fault()).unwrap();
    let mut address = json!({"url": bound.url(), "protocol": revision});
    if let Some(token) = &server.settings.token {
        address["headers"] = json!({"Authorization": format!("Bearer {token}")});
    }
    let serving = tokio::spawn(bound.serve());
    let results = run(suite(address), BTreeMap::new()).await;
    serving.abort();
    results
}

/// A suite that nobody wrote down.
pub(crate) struct Inline(pub(crate) String);

impl Files for Inline {
    fn read(&self, _: &Path) -> io::Result<String> {
        Ok(self.0.clone())
    }
}

/// Keeps the cases of a run.
#[derive(Default)]
struct Kept(Vec<CaseResult>);

impl Observer for Kept {
    fn event(&mut self, event: &Event) {
        if let Event::CaseFinished(result) = event {
            self.0.push((**result).clone());
        }
    }

    fn session(&mut self, _: &SessionFrames, _: &Redactor) {}
}

/// A suite with all rules, which is read once.
fn books(hints: &Value) -> (Sources, Suite) {
    static READ: Mutex<BTreeMap<String, (Sources, Suite)>> = Mutex::new(BTreeMap::new());
    let text = json!({"suite": "rules", "server": {"builtin": "demo"}, "compliance": {"hints": hints}}).to_string();
    let mut read = READ.lock().unwrap();
    let entry = read.entry(text.clone()).or_insert_with(|| {
        let mut sources = Sources::default();
        let suite = load(Path::new("rules"), &Inline(text), &mut sources, &mut Vec::new()).unwrap();
        (sources, suite)
    });
    entry.clone()
}

/// All rules, on this server.
fn of_books(server: &Value, hints: &Value) -> (Sources, Suite) {
    let (mut sources, whole) = books(hints);
    let text = json!({"suite": "rules", "server": server, "tests": [{"name": "none", "call": "echo", "expect": []}]})
        .to_string();
    let own = load(Path::new("rules"), &Inline(text), &mut sources, &mut Vec::new()).unwrap();
    (sources, Suite { servers: own.servers, ..whole })
}

async fn run((sources, suite): (Sources, Suite), in_process: BTreeMap<String, InProcess>) -> Vec<CaseResult> {
    let registry = Registry::builtin();
    let plan = build(vec![suite], Selection::default(), registry, Arc::new(sources)).unwrap();
    let (_wish, stop) = Stop::new();
    let options = Options { in_process, parallel: Some(8), ..Options::new(0, stop) };
    let mut kept = Kept::default();
    runner::run(plan, options, registry, &mut kept).await;
    kept.0
}
