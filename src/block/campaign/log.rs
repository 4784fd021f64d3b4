//! The results of the cases of a campaign, and the section that tells them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::KEY;
use super::effect::EffectCount;
use crate::check::latency::{latency_text, nearest_rank};
use crate::event::{Cell, CheckResult, Code, Outcome, Section, SectionPart, SectionTable, Tone};
use crate::source::yaml_writer;

/// The number of tests that are shown.
const MOST_SHOWN: usize = 2;

/// Everything that the cases of a run found out.
#[derive(Debug, Default)]
pub(crate) struct CampaignLog {
    /// The calls that all cases have made.
    pub(crate) calls: Arc<AtomicUsize>,
    rows: Mutex<Vec<CampaignRow>>,
    turns: Mutex<BTreeMap<CampaignTarget, Arc<tokio::sync::Mutex<()>>>>,
}

/// One case.
#[derive(Debug, Clone)]
pub(crate) struct CampaignRow {
    pub(crate) file: String,
    pub(crate) server: String,
    pub(crate) revision: String,
    /// The place of the case in the campaign.
    pub(crate) order: usize,
    pub(crate) tool: String,
    pub(crate) fault: String,
    pub(crate) verdict: CampaignVerdict,
    pub(crate) effect: Option<EffectCount>,
    pub(crate) recovered: Vec<Duration>,
    /// The test that fails because of what was found.
    pub(crate) test: Option<Value>,
}

/// The end of a case.
#[derive(Debug, Clone)]
pub(crate) struct CampaignVerdict {
    outcome: Outcome,
    /// The code of the finding.
    code: Option<Code>,
}

impl CampaignVerdict {
    pub(crate) fn of(result: &CheckResult) -> Self {
        Self { outcome: result.outcome, code: result.findings.first().map(|found| found.code.clone()) }
    }

    fn cell(&self) -> Cell {
        let (text, tone) = match self.outcome {
            Outcome::Passed => ("holds", Tone::Good),
            Outcome::Failed | Outcome::Errored | Outcome::Warned => {
                let tone = if self.outcome == Outcome::Warned { Tone::Doubtful } else { Tone::Bad };
                return Cell::new(self.code.as_ref().map_or("error", Code::as_str), tone);
            }
            Outcome::Skipped => ("skipped", Tone::Doubtful),
            Outcome::Inconclusive => ("not judged", Tone::Doubtful),
        };
        Cell::new(text, tone)
    }
}

impl CampaignLog {
    /// The turn of the cases of a server that must not run at the same time.
    pub(crate) fn turn(&self, file: &str, server: &str) -> Arc<tokio::sync::Mutex<()>> {
        let target = CampaignTarget { file: file.to_owned(), server: server.to_owned() };
        let mut turns = self.turns.lock();
        Arc::clone(turns.entry(target).or_default())
    }

    pub(crate) fn add(&self, row: CampaignRow) {
        self.rows.lock().push(row);
    }

    /// A section for each server and revision.
    pub(crate) fn sections(&self, seed: u64) -> Vec<Section> {
        let mut targets: BTreeMap<CampaignTarget, Vec<CampaignRow>> = BTreeMap::new();
        for row in self.rows.lock().iter() {
            let (file, server) = (row.file.clone(), row.server.clone());
            targets.entry(CampaignTarget { file, server }).or_default().push(row.clone());
        }
        targets.into_iter().map(|(target, rows)| section(target, rows, seed)).collect()
    }
}

/// A server of a suite.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CampaignTarget {
    file: String,
    server: String,
}

fn section(target: CampaignTarget, mut rows: Vec<CampaignRow>, seed: u64) -> Section {
    // Cases end in any order.
    rows.sort_by_key(|row| row.order);
    let columns = ["fault", "verdict", "effect", "recovered"];
    let mut parts = vec![SectionPart::Table(SectionTable::new(columns, rows.iter().map(CampaignRow::cells).collect()))];
    let mut times: Vec<Duration> = rows.iter().flat_map(|row| row.recovered.iter().copied()).collect();
    times.sort_unstable();
    if !times.is_empty() {
        parts.push(SectionPart::Note(recovery_text(&times)));
    }
    // The same fault of a server may show in several ways; each test is shown once.
    let mut tests: Vec<&Value> = Vec::new();
    for test in rows.iter().filter_map(|row| row.test.as_ref()) {
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    if !tests.is_empty() {
        parts.push(SectionPart::Note(match tests.len() {
            1 => "a test that fails as long as this is so, to be pasted under `tests:`".to_owned(),
            count if count <= MOST_SHOWN => format!("{count} tests that fail as long as this is so, to be pasted under `tests:`"),
            count => format!("{MOST_SHOWN} of {count} tests that fail as long as this is so; `mcprove chaos run --write FILE` writes all"),
        }));
        let shown = &tests[..tests.len().min(MOST_SHOWN)];
        parts.push(SectionPart::Code(yaml_writer::block(&json!(shown), 0)));
    }
    let revision =
        rows.iter().map(|row| row.revision.clone()).find(|revision| !revision.is_empty()).unwrap_or_default();
    Section {
        block: KEY.to_owned(),
        heading: format!("faults at {}, {revision}", target.server),
        file: target.file,
        server: target.server,
        revision,
        parts,
        data: json!({
            "seed": seed,
            "cases": rows.iter().map(CampaignRow::json).collect::<Vec<_>>(),
            "tests": tests,
        }),
    }
}

fn recovery_text(sorted: &[Duration]) -> String {
    let at = |rank| latency_text(nearest_rank(sorted, rank));
    let faults = if sorted.len() == 1 { "1 time".to_owned() } else { format!("{} times", sorted.len()) };
    format!("answered again {faults} after the faults ended: p50 {}, p95 {}, max {}", at(50), at(95), at(100))
}

impl CampaignRow {
    fn cells(&self) -> Vec<Cell> {
        let effect = self.effect.map_or(String::new(), EffectCount::text);
        let recovered = self.recovered.iter().max().map_or(String::new(), |took| latency_text(*took));
        vec![
            Cell::plain(format!("{}, {}", self.tool, self.fault)),
            self.verdict.cell(),
            Cell::plain(effect),
            Cell::plain(recovered),
        ]
    }

    fn json(&self) -> Value {
        let times: Vec<u128> = self.recovered.iter().map(Duration::as_micros).collect();
        json!({
            "tool": self.tool,
            "fault": self.fault,
            "outcome": self.verdict.outcome,
            "finding": self.verdict.code,
            "effect": match self.effect {
                Some(EffectCount::Times(times)) => json!(times),
                Some(EffectCount::Other) => json!("in part"),
                None => Value::Null,
            },
            "recovered_us": times,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Finding;

    fn row(order: usize, fault: &str, result: &CheckResult) -> CampaignRow {
        let (file, server, tool) = ("suite.yml".to_owned(), "users".to_owned(), "add".to_owned());
        let recovered = vec![Duration::from_millis(7 + order as u64)];
        let test = (result.outcome == Outcome::Failed).then(|| json!({"name": "add breaks"}));
        let (fault, verdict, effect) = (fault.to_owned(), CampaignVerdict::of(result), Some(EffectCount::Times(2)));
        CampaignRow { file, server, revision: "r".to_owned(), order, tool, fault, verdict, effect, recovered, test }
    }

    #[test]
    fn verdicts_are_words_of_their_outcome_or_codes() {
        let broken = Finding::new("effect-repeated", "twice");
        for (result, text, tone) in [
            (CheckResult::new(Outcome::Passed), "holds", Tone::Good),
            (CheckResult::with_findings(Outcome::Failed, vec![broken.clone()]), "effect-repeated", Tone::Bad),
            (CheckResult::with_findings(Outcome::Warned, vec![broken]), "effect-repeated", Tone::Doubtful),
            (CheckResult::new(Outcome::Errored), "error", Tone::Bad),
            (CheckResult::inconclusive("unclear"), "not judged", Tone::Doubtful),
            (CheckResult::not_applicable("none"), "skipped", Tone::Doubtful),
        ] {
            assert_eq!(CampaignVerdict::of(&result).cell(), Cell::new(text, tone));
        }
    }

    #[test]
    fn a_section_has_rows_in_order_and_each_test_once() {
        let log = CampaignLog::default();
        let broken = CheckResult::with_findings(Outcome::Failed, vec![Finding::new("effect-repeated", "twice")]);
        log.add(row(2, "garbage", &CheckResult::new(Outcome::Passed)));
        log.add(row(1, "error", &broken));
        log.add(row(0, "lost_response", &broken));
        let sections = log.sections(3);
        let [section] = sections.as_slice() else { panic!("{sections:?}") };
        let faults = section.data["cases"].as_array().unwrap().iter().map(|case| case["fault"].as_str().unwrap());
        assert_eq!(faults.collect::<Vec<_>>(), ["lost_response", "error", "garbage"]);
        assert_eq!((&section.data["tests"], &section.data["seed"]), (&json!([{"name": "add breaks"}]), &json!(3)));
        assert_eq!(section.data["cases"][0]["effect"], json!(2));
        let notes = section
            .parts
            .iter()
            .filter_map(|part| if let SectionPart::Note(note) = part { Some(note.as_str()) } else { None });
        let expected = [
            "answered again 3 times after the faults ended: p50 8.00 ms, p95 9.00 ms, max 9.00 ms",
            "a test that fails as long as this is so, to be pasted under `tests:`",
        ];
        assert_eq!(notes.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn few_tests_are_shown_and_the_rest_is_named() {
        let broken = CheckResult::with_findings(Outcome::Failed, vec![Finding::new("effect-repeated", "twice")]);
        for (names, note) in [
            (&["a"][..], "a test that fails as long as this is so, to be pasted under `tests:`"),
            (&["a", "a"], "a test that fails as long as this is so, to be pasted under `tests:`"),
            (&["a", "b"], "2 tests that fail as long as this is so, to be pasted under `tests:`"),
            (
                &["a", "b", "c"],
                "2 of 3 tests that fail as long as this is so; `mcprove chaos run --write FILE` writes all",
            ),
        ] {
            let log = CampaignLog::default();
            for (order, name) in names.iter().enumerate() {
                let test = Some(json!({"name": name}));
                log.add(CampaignRow { test, recovered: Vec::new(), ..row(order, "error", &broken) });
            }
            let sections = log.sections(1);
            let notes: Vec<&SectionPart> =
                sections[0].parts.iter().filter(|part| matches!(part, SectionPart::Note(_))).collect();
            assert!(matches!(notes.as_slice(), [SectionPart::Note(shown)] if shown == note), "{names:?}: {notes:?}");
        }
    }

    #[test]
    fn each_server_has_a_section_and_each_verdict_is_told_to_programs() {
        let log = CampaignLog::default();
        let broken = CheckResult::with_findings(Outcome::Failed, vec![Finding::new("effect-torn", "in part")]);
        let torn = CampaignRow { effect: Some(EffectCount::Other), ..row(0, "error", &broken) };
        let unjudged =
            CampaignRow { effect: None, recovered: Vec::new(), ..row(1, "kill", &CheckResult::inconclusive("x")) };
        log.add(CampaignRow { server: "b".to_owned(), ..torn });
        log.add(CampaignRow { server: "a".to_owned(), revision: String::new(), ..unjudged });
        let sections = log.sections(1);
        let headings: Vec<&str> = sections.iter().map(|section| section.heading.as_str()).collect();
        assert_eq!(headings, ["faults at a, ", "faults at b, r"]);
        let cases: Vec<&Value> = sections.iter().map(|section| &section.data["cases"][0]).collect();
        for (case, outcome, finding, effect) in [
            (cases[0], "inconclusive", Value::Null, Value::Null),
            (cases[1], "failed", json!("effect-torn"), json!("in part")),
        ] {
            assert_eq!((&case["outcome"], &case["finding"], &case["effect"]), (&json!(outcome), &finding, &effect));
        }
    }
}
