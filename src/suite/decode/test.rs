//! Tests, but for their rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use super::rule;
use super::step::{check_steps_around, check_unsnapped, step};
use crate::fault::{Fault, decode_named};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, MistakeKind, Node, did_you_mean};
use crate::suite::grammar::{ExchangeKeys, NeedKeys, RuleKeys, TestKeys};
use crate::suite::model::{Fixture, ForEach, Handshake, Step, Test, TestExtras};

/// The faults of a suite by name.
pub(crate) type NamedFaults = BTreeMap<String, Vec<Fault>>;

/// Reads the faults that a suite names.
pub(crate) fn named_faults(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> NamedFaults {
    let mut faults = NamedFaults::new();
    for node in node.map(Node::items).unwrap_or_default() {
        let Some(name) = node.get("name").and_then(Node::located_text) else { continue };
        let named = decode_named(&name.value, node, found);
        if faults.insert(name.value.clone(), named).is_some() {
            let message = format!("two faults are called `{}`", name.value);
            found.push(Diagnostic::error("duplicate-name", message, name.span));
        }
    }
    faults
}

const NAME_IT: &str = "name it in `faults:`, such as `faults: [{ name: lost, type: lost_response }]`";

/// The faults of an `inject:` list, by name or written in it.
pub(crate) fn injected(node: Option<&Node>, faults: &NamedFaults, found: &mut Vec<Diagnostic>) -> Vec<Fault> {
    let mut injected: Vec<Fault> = Vec::new();
    for (at, node) in node.map(Node::items).unwrap_or_default().iter().enumerate() {
        let Some(name) = node.text() else {
            let name =
                node.get("type").and_then(Node::text).map_or_else(|| format!("number {}", at + 1), str::to_owned);
            injected.extend(decode_named(&name, node, found));
            continue;
        };
        if let Some(fault) = faults.get(name) {
            injected.extend(fault.iter().cloned());
            continue;
        }
        let message = format!("there is no fault `{name}`");
        let help = did_you_mean(name, faults.keys().map(String::as_str)).unwrap_or_else(|| NAME_IT.to_owned());
        let unknown = Diagnostic::error("unknown-name", message, node.span).of_kind(MistakeKind::UnknownName);
        found.push(unknown.with_help(help));
    }
    injected
}

/// Reads a test but for its rows, which may come from a file.
pub(crate) fn test(node: &Node, faults: &NamedFaults, found: &mut Vec<Diagnostic>) -> Option<Test> {
    let keys = TestKeys::decode(node, found);
    let RuleKeys { rule } = RuleKeys::decode(node, found)?;
    let needed = NeedKeys::decode(node, found)?;
    let keys = keys?;
    let steps = match keys.steps {
        Some(steps) => steps,
        None => ExchangeKeys::decode(node, found).and_then(|keys| step(node, keys, found)).into_iter().collect(),
    };
    check_steps_around(&keys.setup, "setup", found);
    check_steps_around(&keys.teardown, "teardown", found);
    check_unsnapped(&keys.verify, "verify", found);
    let verify = keys.verify.into_iter().enumerate();
    let (needed_variables, needs) = rule::needs(needed.needs);
    let marked = |mark: Option<Located<bool>>| mark.filter(|mark| mark.value).map(|mark| mark.span);
    let steps = steps.into();
    if !says_more(node) {
        return Some(Test { name: keys.name, span: node.span, tags: keys.tags.0, steps, extras: no_extras() });
    }
    let extras = TestExtras {
        skip: keys.skip.0,
        only: marked(keys.only),
        probe: keys.probe,
        server: keys.server,
        // The loader knows the folder.
        fixture: keys.fixture.map(|path| Arc::new(Fixture { path: path.0, folder: PathBuf::new() })),
        setup: keys.setup,
        rule: rule.map(rule::rule),
        property: None,
        needed_variables,
        needs,
        preconditions: needed.preconditions,
        scans: needed.scan,
        handshake: if needed.handshake { Handshake::Perform } else { Handshake::Skip },
        teardown: keys.teardown,
        rows: Vec::new(),
        for_each: keys.for_each.map(|over| ForEach { over, filter: keys.filter.map(|filter| filter.0) }),
        output_schema: marked(keys.output_schema),
        answers: keys.answers.filter(|answers| !answers.is_empty()).map(Arc::new),
        judges: keys.judges,
        probes: &[],
        retries: keys.retries,
        inject: injected(keys.inject.as_ref(), faults, found).into(),
        recovery: keys.recovery,
        // The first step after the faults ends them.
        verify: verify.map(|(at, step)| Step { heals: at == 0, ..step }).collect(),
    };
    Some(Test { name: keys.name, span: node.span, tags: keys.tags.0, steps, extras: Arc::new(extras) })
}

/// Returns true if a test has other keys than those of its name, its tags and its steps.
fn says_more(node: &Node) -> bool {
    let is_step = |key: &str| ExchangeKeys::TABLE.iter().any(|known| known.name == key);
    node.entries().iter().any(|(key, _)| !["name", "tags", "steps"].contains(&&*key.value) && !is_step(&key.value))
}

/// The extras of all tests without any.
fn no_extras() -> Arc<TestExtras> {
    static NONE: LazyLock<Arc<TestExtras>> = LazyLock::new(Arc::default);
    Arc::clone(&NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{self, SourceFile, Sources};

    fn decoded(text: &str) -> (Node, Test) {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("t.yml", text.to_owned()));
        let node = source::parse(&sources, id).unwrap();
        let read = super::test(&node, &NamedFaults::new(), &mut Vec::new()).unwrap();
        (node, read)
    }

    #[test]
    fn tests_without_extras_share_what_a_test_with_default_extras_says() {
        let (plain, of_plain) = decoded("{ name: a, call: add, args: {}, expect: [], tags: [b] }");
        let (with_steps, of_steps) = decoded("{ name: b, steps: [{ call: add }] }");
        let (spoken, of_spoken) = decoded("{ name: c, call: add, probe: false }");
        assert_eq!([&plain, &with_steps, &spoken].map(says_more), [false, false, true]);
        assert!(Arc::ptr_eq(&of_plain.extras, &of_steps.extras) && !Arc::ptr_eq(&of_plain.extras, &of_spoken.extras));
        assert_eq!(format!("{:?}", of_plain.extras), format!("{:?}", of_spoken.extras));
    }

    #[test]
    fn every_other_key_of_a_test_is_one_of_its_extras() {
        let keys = [TestKeys::TABLE, RuleKeys::TABLE, NeedKeys::TABLE].into_iter().flatten().map(|key| key.name);
        for key in keys.filter(|key| !["name", "tags", "steps"].contains(key)) {
            let mut sources = Sources::default();
            let id = sources.add(SourceFile::new("t.yml", format!("{{ name: a, call: add, {key}: b }}")));
            assert!(says_more(&source::parse(&sources, id).unwrap()), "{key}");
        }
    }
}
