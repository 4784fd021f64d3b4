//! Healthy and broken cases for every rule, as data.

mod messages;
mod newest;
mod sessions;
mod streams;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::super::{Channel, Frame, HttpHead, Id, Transcript};
use super::*;

/// Plays `>` lines as sent and `<` lines as received; `%` stands for the members that begin a message.
pub(crate) fn play(scanner: &mut Scanner, lines: &[&str]) -> Vec<ProtocolViolation> {
    let mut transcript = Transcript::default();
    let mut found = Vec::new();
    for line in lines {
        let line = line.replace("{%", r#"{"jsonrpc":"2.0""#);
        let direction = if line.starts_with('>') { Direction::Sent } else { Direction::Received };
        let frame = transcript.record(Duration::ZERO, direction, Channel::Protocol, &line.as_bytes()[1..]);
        found.extend(scanner.watch(frame));
    }
    found
}

/// Compares the codes of what is found.
pub(crate) fn check(era: Era, lines: &[&str], expected: &[&str]) {
    let found = play(&mut Scanner::new(era), lines);
    let codes: Vec<&str> = found.iter().map(|violation| violation.code).collect();
    assert_eq!(codes, expected, "{lines:?}: {found:#?}");
}

/// A healthy and a broken case of one rule: the first must be counted and the second told.
pub(crate) struct Dialog {
    code: &'static str,
    before: &'static [&'static str],
    healthy: &'static [&'static str],
    broken: &'static [&'static str],
}

pub(crate) const fn pair(
    code: &'static str,
    before: &'static [&'static str],
    healthy: &'static [&'static str],
    broken: &'static [&'static str],
) -> Dialog {
    Dialog { code, before, healthy, broken }
}

/// What is wrong with a pair, if something is.
fn problem_of(era: Era, pair: &Dialog) -> Option<String> {
    let lines = |last: &[&'static str]| [pair.before, last].concat();
    let mut scanner = Scanner::new(era);
    let found = play(&mut scanner, &lines(pair.healthy));
    let broken = play(&mut Scanner::new(era), &lines(pair.broken));
    let is_counted = scanner.occasions().contains_key(pair.code);
    let is_told = broken.len() == 1 && broken[0].code == pair.code;
    (!found.is_empty() || !is_counted || !is_told)
        .then(|| format!("{}, counted {is_counted}: healthy {found:#?}, broken {broken:#?}", pair.code))
}

#[test]
fn every_rule_has_a_healthy_and_a_broken_case() {
    let of_sessions = sessions::PAIRS.iter().filter_map(|pair| problem_of(Era::Session, pair));
    let of_newest = newest::PAIRS.iter().filter_map(|pair| problem_of(Era::Stateless, pair));
    let problems: Vec<String> = of_sessions.chain(of_newest).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let pairs = sessions::PAIRS.iter().chain(newest::PAIRS).map(|pair| pair.code);
    // A message on several lines is stray output too, and has a test of its own.
    let tested: BTreeSet<&str> = pairs.chain(["split-message"]).collect();
    let all: BTreeSet<&str> = SCANS.iter().map(|scan| scan.code).collect();
    assert_eq!(tested, all);
    assert_eq!(all.len(), SCANS.len(), "codes are unique");
}

#[test]
fn every_rule_holds_somewhere() {
    for scan in SCANS {
        let sections: Vec<&str> = Revision::ALL.iter().filter_map(|revision| scan.section(*revision)).collect();
        assert!(!sections.is_empty(), "{}", scan.code);
        assert_eq!(Scan::of(scan.code), Some(scan));
        assert!(!scan.forbids.ends_with('.') && scan.forbids.starts_with(char::is_lowercase), "{}", scan.code);
    }
}
