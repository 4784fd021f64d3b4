//! The packs against the servers of this program: the correct one keeps every property, and for every property there is
//! a server that breaks it, on which it fails and no other of its pack does.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::Trial;
use mcprove::block::load;
use mcprove::demo::reference::Reference;
use mcprove::event::{CaseResult, Outcome};
use mcprove::report::terminal::failure;
use mcprove::source::{Node, Sources, Style};
use mcprove::suite::{Carrier, Property, Test, pack_names};
use serde_json::{Value, json};

use crate::golden::{Golden, cells};
use crate::rules::{Inline, Loaded, Server, results};
use crate::test;

/// The revisions in which packs are held against servers.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// What fails where a property does not hold.
const FAILURES: Golden = Golden { file: "tests/packs/failures.md", heading: "# What packs say of faulty servers" };

pub(crate) fn tests() -> Vec<Trial> {
    let rows: Vec<(&str, String, &str)> = pack_names()
        .flat_map(|pack| {
            let (_, suite) = of(pack, &json!({"builtin": "demo"}), &Value::Null);
            let names: Vec<String> = suite.suite.tests.iter().map(|test| test.name.value.clone()).collect();
            names.into_iter().flat_map(move |name| REVISIONS.map(|revision| (pack, name.clone(), revision)))
        })
        .collect();
    let keys: Arc<[String]> = rows.iter().map(|(pack, name, revision)| cells(&[pack, name, revision])).collect();
    let trials = rows.into_iter().map(|(pack, name, revision)| {
        let keys = Arc::clone(&keys);
        test(format!("packs::{pack}::{revision}::{name}"), move || check(pack, revision, &name, &keys))
    });
    let all = Arc::clone(&keys);
    trials.chain([test("packs::rows".to_owned(), move || FAILURES.has_only(&all))]).collect()
}

/// A property holds on the correct server, and fails on its own faulty server, where no other of its pack fails.
fn check(pack: &str, revision: &str, name: &str, keys: &[String]) {
    let (_, suite) = of(pack, &json!({"builtin": "demo"}), &Value::Null);
    let test = suite.suite.tests.iter().find(|test| test.name.value == name).unwrap();
    let good = seen(pack, revision, test, Twin::Healthy);
    assert!(good.passed.contains(name) && good.failed.is_empty(), "on the correct server: {good:?}\n{}", good.told);
    let broken = seen(pack, revision, test, Twin::Broken);
    assert_eq!(broken.failed, BTreeSet::from([name.to_owned()]), "on its faulty server: {broken:?}\n{}", broken.told);
    FAILURES.holds(keys, &[pack, name, revision], &[&broken.messages.join("; ")]);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Twin {
    Healthy,
    Broken,
}

/// The names of the properties of a pack of which some case passed, and of which some failed.
#[derive(Default)]
struct Seen {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    others: BTreeMap<String, String>,
    messages: Vec<String>,
    told: String,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "passed {:?}, failed {:?}, else {:?}", self.passed, self.failed, self.others)
    }
}

fn seen(pack: &str, revision: &str, test: &Test, twin: Twin) -> Seen {
    let property = test.extras.property.as_deref().unwrap();
    let mut found = Vec::new();
    let reference = Reference::of_property(property, &mut found);
    assert!(found.is_empty(), "{pack}: {found:?}");
    let faults = if twin == Twin::Healthy { reference.healthy } else { reference.faults };
    assert!(twin == Twin::Healthy || faults.is_some(), "{pack}: `{}` has no `broken:`", test.name.value);
    let over = if written(property, "over") == json!("http") { Carrier::Http } else { Carrier::Stdio };
    let server = Server { settings: reference.settings, faults, over };
    let own = json!({
        "variables": written(property, "variables"),
        "arguments": written(property, "arguments"),
        "allow": written(property, "allow"),
    });
    let (sources, suite) = of(pack, &json!({"builtin": "demo"}), &own);
    let lines: BTreeMap<usize, String> =
        suite.suite.tests.iter().map(|test| (sources.place(test.name.span).1, test.name.value.clone())).collect();
    let mut seen = Seen::default();
    for case in results(&server, revision, &|address| of(pack, &address, &own)) {
        let name = lines.get(&case.case.line).unwrap_or(&case.case.name);
        note(&mut seen, name, &case);
    }
    seen
}

fn note(seen: &mut Seen, name: &str, case: &CaseResult) {
    match case.outcome {
        Outcome::Passed => drop(seen.passed.insert(name.to_owned())),
        Outcome::Failed | Outcome::Warned | Outcome::Errored => {
            seen.failed.insert(name.to_owned());
            seen.told += &failure(case, &Style::PLAIN);
            if seen.messages.is_empty() {
                seen.messages.extend(case.findings.iter().map(|found| format!("{}: {}", found.code, found.message)));
            }
        }
        Outcome::Skipped | Outcome::Inconclusive => {
            let reason = format!(
                "{}: {}",
                case.outcome.as_str(),
                case.reason.as_ref().map(ToString::to_string).unwrap_or_default()
            );
            seen.others.insert(case.case.name.clone(), reason);
        }
    }
}

/// What a property's `reference` says under a key.
fn written(property: &Property, key: &str) -> Value {
    property.reference.as_ref().and_then(|reference| reference.get(key)).map(Node::to_json).unwrap_or_default()
}

/// A pack as a suite of its own.
fn of(pack: &str, server: &Value, own: &Value) -> (Sources, Loaded) {
    let mut text = json!({"suite": "pack", "server": server, "include": [format!("builtin:{pack}")]});
    for (key, value) in own.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        text[key] = value.clone();
    }
    let mut sources = Sources::default();
    let suite = load(Path::new("pack"), &Inline(text.to_string()), &mut sources, &mut Vec::new());
    match suite {
        Ok(suite) => (sources, suite),
        Err(found) => panic!("{pack}: {found:?}"),
    }
}
