//! The rules of the specification against the servers of this program: the correct one keeps all of them, over both
//! transports and in both eras; for every rule there is a server that breaks it, on which it fails and no other does.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::slice;
use std::sync::{Arc, LazyLock};

use libtest_mimic::Trial;
use mcprove::block::compliance::built_in_rules;
use mcprove::block::load;
use mcprove::demo::faulty::DemoFault;
use mcprove::demo::reference::{LOW_SCOPE_TOKEN, Reference, SECOND_TOKEN, TOKEN};
use mcprove::demo::{Settings, http, serve_with};
use mcprove::event::{CaseResult, Event, Outcome};
use mcprove::fault::{self, Fault};
use mcprove::plan::{CaseSource, Selection, build};
use mcprove::redact::Redactor;
use mcprove::report::terminal::failure;
use mcprove::runner::{self, InProcess, Observer, Options, SessionFrames, Stop};
use mcprove::source::{Located, Node, SourceFile, Sources, Style};
use mcprove::suite::{Carrier, Files, LoadedSuite, Rule, RuleLevel, Test};
use mcprove::taxonomy::Registry;
use mcprove::transport::memory;
use serde_json::{Map, Value, json};
use tokio::io::split;
use tokio::runtime::Builder;

use crate::harness::{is_full, snapshot};
use crate::test;

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
    pub(crate) faults: Option<Vec<Fault>>,
    pub(crate) over: Carrier,
}

impl Server {
    /// What it does wrong; over streams every connection has a server of its own.
    fn fault(&self) -> DemoFault {
        self.faults.clone().map_or_else(DemoFault::none, DemoFault::at_edge)
    }
}

pub(crate) fn tests() -> Vec<Trial> {
    let kept = BOOKS.iter().map(|book| test(format!("rules::{book}::kept"), move || all_are_kept(book)));
    let broken = BOOKS.iter().flat_map(|book| {
        let own = rules(book).into_iter().filter(move |rule| is_newest(book, rule));
        own.flat_map(move |rule| {
            let each = faulty(&rule).into_iter();
            each.map(move |(name, rule)| test(format!("rules::{book}::{name}"), move || fails_alone(book, &rule)))
        })
    });
    let shown = test("rules::variants".to_owned(), every_variant_is_shown);
    let levels = test("rules::levels".to_owned(), levels_are_those_of_the_sentences);
    kept.chain(broken).chain([shown, levels]).collect()
}

/// A rule with each of its faulty servers: the one that breaks it, and one for each further variant.
fn faulty(rule: &Rule) -> Vec<(String, Rule)> {
    let of = |(variant, flaw): &(Located<String>, Node)| {
        (format!("{}::{}", rule.id, variant.value), Rule { broken: Some(flaw.clone()), ..rule.clone() })
    };
    let further = rule.also_broken.iter().map(of);
    [(rule.id.clone(), rule.clone())].into_iter().chain(further).collect()
}

/// A rule claims no variant that none of its faulty servers has.
fn every_variant_is_shown() {
    let tests = whole().iter().filter_map(|test| Some((test, test.extras.rule.as_ref()?)));
    let claims = tests.filter(|(_, rule)| rule.broken.is_some()).map(|(test, rule)| {
        let is_further = |judged: &str| rule.also_broken.iter().any(|(variant, _)| variant.value == judged);
        let shown_first = test.extras.judges.iter().filter(|judged| !is_further(&judged.value)).count();
        let shown_further = test.extras.judges.iter().filter(|judged| is_further(&judged.value)).count();
        (rule, shown_first <= 1 && shown_further == rule.also_broken.len())
    });
    let wrong: Vec<&str> = claims.filter(|(_, is_shown)| !is_shown).map(|(rule, _)| rule.id.as_str()).collect();
    assert_eq!(wrong, [""; 0], "each variant that a rule judges needs a server under `broken` or `also_broken`");
}

/// A rule is as binding as the sentence that it quotes, or says why it is less: a MUST stands in one with that word, or in a
/// declaration of the schema.
fn levels_are_those_of_the_sentences() {
    let is_wrong = |rule: &&Rule| {
        let has = |word: &str| rule.quote.split(|end: char| !end.is_alphanumeric()).any(|one| one == word);
        match rule.level {
            RuleLevel::Must => !["MUST", "REQUIRED", "SHALL"].into_iter().any(has) && !rule.quote.ends_with(';'),
            RuleLevel::Should => ["SHOULD", "RECOMMENDED", "should"].into_iter().any(has) == rule.advice.is_some(),
        }
    };
    let rules = whole().iter().filter_map(|test| test.extras.rule.as_deref());
    let wrong: Vec<&str> = rules.filter(is_wrong).map(|rule| rule.id.as_str()).collect();
    assert_eq!(wrong, [""; 0], "the level of each is not that of its sentence");
}

/// The correct server keeps every rule of a book, over both transports; each but a few are seen to be kept.
fn all_are_kept(revision: &str) {
    let rules = rules(revision);
    let mut best: BTreeMap<String, &str> = rules.iter().map(|rule| (rule.id.clone(), "skipped")).collect();
    let plain = || Server { settings: Settings::default(), faults: None, over: Carrier::Stdio };
    let servers = [
        ("streams", Guard::Open, Server { settings: reference(Guard::Open), ..plain() }),
        ("HTTP", Guard::Open, Server { settings: reference(Guard::Open), over: Carrier::Http, ..plain() }),
        ("tokens", Guard::Tokens, Server { settings: reference(Guard::Tokens), over: Carrier::Http, ..plain() }),
        ("nothing but the directory", Guard::Open, plain()),
        ("nothing at all", Guard::Open, Server { faults: Some(bare()), ..plain() }),
        (
            "what few servers do",
            Guard::Open,
            Server { settings: reference(Guard::Open), faults: Some(unusual()), over: Carrier::Http },
        ),
    ];
    let has_transport = |server: &Server| server.over == Carrier::Stdio || revision != WITHOUT_HTTP;
    for (place, guard, server) in servers.into_iter().filter(|(_, _, server)| has_transport(server)) {
        // What is tested with tools needs those of the fixtures.
        let with = if server.settings.conformance_fixtures { hints(&rules, guard) } else { json!({}) };
        let results = check(&server, revision, (&with, &[]));
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
    let mut seen = format!("{revision}: {} rules\n", rules.len());
    for (id, word) in best.iter().filter(|(_, word)| **word != "passed") {
        let _ = writeln!(seen, "  {id} is only ever {word}");
    }
    snapshot(&format!("rules-kept-{revision}"), &seen);
}

/// Whether a revision is the newest of a rule.
fn is_newest(book: &str, rule: &Rule) -> bool {
    rule.revisions.last().is_some_and(|newest| newest.as_str() == book)
}

/// Rules that no server of this program breaks alone, each with its book.
const WITHOUT_SERVER: [(&str, &str); 7] = [
    (WITHOUT_HTTP, "D3"),
    ("2025-11-25", "W13"),
    ("2026-07-28", "H20"),
    ("2026-07-28", "TL2"),
    ("2026-07-28", "W111"),
    ("2026-07-28", "W53"),
    ("2026-07-28", "W6"),
];

/// On the server that breaks a rule, that rule fails and no other does.
///
/// What is looked at are its neighbours; the whole book with `MCPROVE_FULL=1`, and where a rule holds for whatever the
/// cases of others bring about and those of its neighbours bring too little.
fn fails_alone(book: &str, rule: &Rule) {
    let all = &rules(book);
    let is_without = WITHOUT_SERVER.contains(&(book, rule.id.as_str()));
    let neighbours: Vec<&Rule> = all.iter().filter(|other| is_full() || are_neighbours(rule, other)).collect();
    let mut broken = on_its_own_server(book, (rule, all), &neighbours);
    if broken.as_ref().is_some_and(BTreeSet::is_empty) && is_scanned(rule) {
        broken = on_its_own_server(book, (rule, all), &all.iter().collect::<Vec<_>>());
    }
    let Some(broken) = broken else {
        assert!(is_without, "no server breaks {book}/{}", rule.id);
        return;
    };
    assert!(!is_without, "a server breaks {book}/{} after all: take it from the list", rule.id);
    let ids: Vec<&str> = broken.iter().map(String::as_str).collect();
    assert_eq!(ids, [rule.id.as_str()], "what fails on the server of {book}/{}", rule.id);
}

/// Whether a rule is not tried in a case of its own, but looked for in everything that travels.
fn is_scanned(rule: &Rule) -> bool {
    let tests = whole().iter();
    tests
        .filter(|test| test.extras.rule.as_ref().is_some_and(|own| own.id == rule.id))
        .any(|test| !test.extras.scans.is_empty())
}

/// Whether the servers that break two rules strike in the same method; a rule without one stands for itself.
fn are_neighbours(one: &Rule, other: &Rule) -> bool {
    one.id == other.id || !struck(one).is_disjoint(&struck(other))
}

/// The methods in which a rule's faulty server does something wrong.
fn struck(rule: &Rule) -> BTreeSet<String> {
    let edits =
        rule.broken.iter().flat_map(|node| if node.items().is_empty() { slice::from_ref(node) } else { node.items() });
    let methods = edits.filter_map(|edit| edit.get("on")?.get("method"));
    let names = methods.flat_map(|node| if node.items().is_empty() { slice::from_ref(node) } else { node.items() });
    names.filter_map(Node::text).map(str::to_owned).collect()
}

/// The ids of the rules that fail on the server that breaks one; `None` where there is no such server.
fn on_its_own_server(book: &str, (rule, own): (&Rule, &[Rule]), looked_at: &[&Rule]) -> Option<BTreeSet<String>> {
    let mut found = Vec::new();
    let reference = Reference::of(rule, &mut found);
    assert!(found.is_empty(), "{book}/{}: {found:?}", rule.id);
    let faults = reference.faults.filter(|_| rule.over != Some(Carrier::Http) || book != WITHOUT_HTTP)?;
    let guard = if reference.settings.token.is_some() { Guard::Tokens } else { Guard::Open };
    let over = if guard == Guard::Tokens { Carrier::Http } else { rule.over.unwrap_or(Carrier::Stdio) };
    // What a rule needs not to be there is not there.
    let wants =
        |name: &str| rule.reference.as_ref().and_then(|node| node.get(name)).and_then(Node::flag) != Some(false);
    let settings = self::reference(guard);
    let settings = Settings { tasks: settings.tasks && wants("tasks"), ..settings };
    let server = Server { settings, faults: Some(faults), over };
    let only: Vec<&str> = looked_at.iter().map(|rule| rule.id.as_str()).collect();
    Some(broken(&check(&server, book, (&hints(own, guard), &only))))
}

/// The tests of all rules. To read them takes longer than most tests, so it is done once.
fn whole() -> &'static [Arc<Test>] {
    static WHOLE: LazyLock<Vec<Arc<Test>>> = LazyLock::new(|| built_in_rules(&mut Sources::default()).unwrap());
    &WHOLE
}

/// The rules of a book, each once.
fn rules(book: &str) -> Vec<Rule> {
    let mut seen = BTreeSet::new();
    let rules = whole().iter().filter_map(|test| test.extras.rule.as_deref());
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
fn bare() -> Vec<Fault> {
    read(
        r"
        - on: { method: [initialize, server/discover] }
          answers: { set: { result.capabilities: {} } }
        - on: { method: [tools/*, resources/*, prompts/*, completion/*] }
          answers: { error: { code: -32601, message: nothing of the kind is here } }
    ",
    )
}

/// What makes the correct server one that does what no sentence forbids, though few servers do: it offers a version that
/// is no date, has JSON amidst other texts, tells sessions that have ended from those that never were, keeps methods of earlier
/// revisions, refuses a prompt, and does not ask twice.
fn unusual() -> Vec<Fault> {
    read(
        r#"
        - on: { method: initialize, with: { params.protocolVersion: "/^(1999-01-01|DRAFT-2025-v3)$/" } }
          answers: { set: { result.protocolVersion: DRAFT-2025-v3 } }
        - on: { method: tools/call, with: { params.name: add }, has: [result.structuredContent] }
          answers:
            set:
              result.structuredContent: { sum: 3 }
              result.content: [{ type: text, text: The sum }, { type: text, text: '{ "sum": 3 }' }, { type: text, text: It is exact. }]
        - on: { header: { Mcp-Session-Id: 00000000-0000-4000-8000-6d6370726f76 }, status: 404 }
          answers: { status: 400 }
        - on: { with: { id: mcprove-m6-1 } }
          answers: { result: { resultType: complete, content: [] }, status: 200 }
        - on: { method: [ping, logging/setLevel, tasks/list], with: { 'params._meta["io.modelcontextprotocol/protocolVersion"]': "2026-07-28" } }
          answers: { result: { resultType: complete, tasks: [] }, status: 200 }
        - on: { method: prompts/get, with: { 'params._meta["io.modelcontextprotocol/protocolVersion"]': "2026-07-28", params.name: test_simple_prompt } }
          answers: { error: { code: -32603, message: the text is away } }
    "#,
    )
}

fn read(text: &str) -> Vec<Fault> {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("faults", text));
    fault::load(&sources, id).unwrap()
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

/// Holds a server against rules of a revision, all of them where none are named.
fn check(server: &Server, revision: &str, (hints, only): (&Value, &[&str])) -> Vec<CaseResult> {
    results(server, revision, &|address| book(&address, hints, only))
}

/// Makes a suite for the server that it is given.
pub(crate) type Loaded = LoadedSuite<Arc<dyn CaseSource>>;

pub(crate) type MakeSuite<'a> = &'a dyn Fn(Value) -> (Sources, Loaded);

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
    let of = Server { settings: server.settings.clone(), faults: server.faults.clone(), over: server.over };
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
    let bound = http::BoundServer::new("127.0.0.1:0".parse().unwrap()).await.unwrap();
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

/// A suite with these rules, all of them where none are named.
fn book(server: &Value, hints: &Value, only: &[&str]) -> (Sources, Loaded) {
    let settings = if only.is_empty() { json!({ "hints": hints }) } else { json!({ "hints": hints, "only": only }) };
    let text = json!({"suite": "rules", "server": server, "compliance": settings}).to_string();
    let mut sources = Sources::default();
    let loaded = load(Path::new("rules"), &Inline(text), &mut sources, &mut Vec::new()).unwrap();
    (sources, loaded)
}

async fn run((sources, suite): (Sources, Loaded), in_process: BTreeMap<String, InProcess>) -> Vec<CaseResult> {
    let registry = Registry::builtin();
    let plan = build(vec![suite], Selection::default(), registry, Arc::new(sources)).unwrap();
    let (_wish, stop) = Stop::new();
    let options = Options { in_process, parallel: Some(8), ..Options::new(0, stop) };
    let mut kept = Kept::default();
    runner::run(plan, options, registry, &mut kept).await;
    kept.0
}
