//! Whether proofs predict reality: servers that mutants were not made for.
//!
//! Each folder of `tests/holdout/` has a server, suites for it, and faults that somebody wrote into the server without
//! knowing the mutants. Each fault is named with the mutant that stands for it, chosen by meaning before either was tried.
//! `first` is a prediction that was wrong before the mutants were mended because of it.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::harness::{Scene, is_full, is_installed, is_update, root};

/// A fault of a server.
#[derive(Deserialize)]
struct HoldoutFault {
    id: String,
    wrong: String,
    mutant: Option<String>,
    at: Option<String>,
    field: Option<String>,
    first: Option<String>,
}

/// A server and a suite for it.
#[derive(Debug, Clone, Copy)]
struct Holdout {
    folder: &'static str,
    suite: &'static str,
}

const BOOKING: Holdout = Holdout { folder: "booking", suite: "ordinary" };

const PARCELS: [Holdout; 3] = [
    Holdout { folder: "parcels", suite: "lazy" },
    Holdout { folder: "parcels", suite: "ordinary" },
    Holdout { folder: "parcels", suite: "thorough" },
];

/// The most active faults that a proof calls killed and a run does not notice, in a hundred predictions.
const MOST_FALSE_KILLS: usize = 5;

/// What a run of the suite against the faulty server shows.
const RED: &str = "red";
const GREEN: &str = "green";
/// The fault changed no answer.
const INACTIVE: &str = "never struck";

impl Holdout {
    fn path(self, name: &str) -> PathBuf {
        root().join("tests/holdout").join(self.folder).join(name)
    }

    fn table(self) -> PathBuf {
        self.path(&format!("{}.md", self.suite))
    }

    fn faults(self) -> Vec<HoldoutFault> {
        serde_json::from_str(&fs::read_to_string(self.path("faults.json")).unwrap()).unwrap()
    }

    /// The predictions and the runs, fault by fault.
    fn tried(self) -> String {
        let scene = Scene::bare(&format!("holdout-{}-{}", self.folder, self.suite));
        fs::copy(self.path("server.py"), scene.folder.join("server.py")).unwrap();
        let python = root().join("tests/real/venv/bin/python").display().to_string();
        let suite = fs::read_to_string(self.path(&format!("{}.yml", self.suite))).unwrap().replace("PYTHON", &python);
        scene.write("suite.yml", &suite);
        let faults = self.faults();
        let picked: BTreeSet<&str> = faults.iter().filter_map(|fault| fault.mutant.as_deref()).collect();
        let picked: String = picked.into_iter().fold(String::new(), |flags, id| flags + " --mutant " + id);
        let seen = scene.run(&format!("prove suite.yml --report json=proof.json{picked}"));
        assert!([0, 1].contains(&seen.status), "{}", seen.text());
        let report = fs::read_to_string(scene.folder.join("proof.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        let right = ["one.recording", "other.recording"].map(|name| {
            assert_eq!(scene.run(&format!("run suite.yml --record {name}")).status, 0);
            traffic(&scene, name)
        });
        let mut table = "| fault | mutant | at | predicted first | predicted | live |\n".to_owned();
        table += "| --- | --- | --- | --- | --- | --- |\n";
        for fault in faults {
            scene.write("suite.yml", &suite.replace(r#"FAULT: """#, &format!("FAULT: {}", fault.id)));
            let status = scene.run("run suite.yml --record faulty.recording").status;
            let live = match status {
                0 if has_struck(&traffic(&scene, "faulty.recording"), &right) => GREEN,
                0 => INACTIVE,
                1 => RED,
                _ => panic!("{}: exit {status}", fault.id),
            };
            let predicted = prediction(&report["proof"]["mutants"], &fault);
            let first = fault.first.as_deref().unwrap_or(&predicted);
            let place: Vec<&str> = [&fault.at, &fault.field].into_iter().flatten().map(String::as_str).collect();
            let (mutant, place) = (fault.mutant.as_deref().unwrap_or_default(), place.join(": "));
            let _ = writeln!(table, "| {} | {mutant} | {place} | {first} | {predicted} | {live} |", fault.wrong);
        }
        scene.assert_nothing_survives();
        table
    }

    /// How many faults were predicted in which way, first or now, and what runs showed.
    fn counts(self, column: usize) -> BTreeMap<(String, String), usize> {
        let text = fs::read_to_string(self.table()).unwrap();
        let mut counts = BTreeMap::new();
        for line in text.lines().skip(2) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            *counts.entry((cells[column].to_owned(), cells[5].to_owned())).or_default() += 1;
        }
        counts
    }
}

/// The answers of a recorded run by who asked what, without times and ids.
fn traffic(scene: &Scene, name: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(scene.folder.join(name)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let exchanges = lines.filter_map(|mut line| line.get_mut("exchange").map(Value::take));
    exchanges.map(question_and_answer).collect()
}

fn question_and_answer(mut exchange: Value) -> (String, String) {
    let mut replies = exchange["replies"].take();
    for reply in replies.as_array_mut().into_iter().flatten() {
        reply["after"] = Value::Null;
        forget_id(&mut reply["content"]);
    }
    forget_id(&mut exchange["sent"]);
    (exchange.to_string(), replies.to_string())
}

fn forget_id(sent: &mut Value) {
    if let Some(message) = sent.get_mut("message").and_then(Value::as_object_mut) {
        message.remove("id");
    }
}

/// Some answer differs from those that the right server gave each time.
fn has_struck(faulty: &BTreeMap<String, String>, right: &[BTreeMap<String, String>; 2]) -> bool {
    let [one, other] = right;
    let mut stable = one.iter().filter(|(question, answer)| other.get(*question) == Some(answer));
    stable.any(|(question, answer)| faulty.get(question).is_some_and(|faulty| faulty != answer))
}

/// One run for each fault takes minutes, so that `MCPROVE_FULL=1` asks for it.
fn assert_predicted(holdout: Holdout) {
    if !is_full() || !is_installed() {
        return;
    }
    let table = holdout.tried();
    if is_update() {
        fs::write(holdout.table(), &table).unwrap();
    }
    let known = fs::read_to_string(holdout.table()).unwrap_or_default();
    assert_eq!(known, table, "{holdout:?}: run `UPDATE=1 MCPROVE_FULL=1 cargo test holdout`");
}

#[test]
fn proofs_predict_runs_of_the_booking_server() {
    assert_predicted(BOOKING);
}

#[test]
fn proofs_predict_runs_of_the_parcel_server() {
    for holdout in PARCELS {
        assert_predicted(holdout);
    }
}

/// The verdict on the mutant of a fault, at its field if the fault is one of a field.
fn prediction(mutants: &Value, fault: &HoldoutFault) -> String {
    let Some(id) = &fault.mutant else { return "no mutant".to_owned() };
    let operator = mutants.as_array().unwrap().iter().find(|one| one["id"] == **id);
    let planted = operator.and_then(|one| one["mutants"].as_array()).into_iter().flatten();
    // Faults of the session have no name.
    let is_meant = |one: &&Value| fault.at.as_deref().is_none_or(|at| one["subject"]["name"] == at);
    let Some(mutant) = planted.into_iter().find(is_meant) else { return "unreached".to_owned() };
    let Some(field) = &fault.field else { return mutant["verdict"].as_str().unwrap().to_owned() };
    let mut places = mutant["places"].as_array().into_iter().flatten();
    let place = places.find(|place| place["field"] == **field);
    place.map_or("unreached", |place| place["verdict"].as_str().unwrap()).to_owned()
}

const VERDICTS: [&str; 6] = ["killed", "survived", "unreached", "not-called", "undecided", "no mutant"];

fn sum(counts: &BTreeMap<(String, String), usize>, verdict: &str, live: &str) -> usize {
    counts.get(&(verdict.to_owned(), live.to_owned())).copied().unwrap_or_default()
}

/// The sums of the table of the first server, for the page about proofs.
pub(crate) fn summary() -> String {
    let (first, now) = (BOOKING.counts(3), BOOKING.counts(4));
    let mut text = "| prediction | first: red | green | never struck | now: red | green | never struck |\n".to_owned();
    text += "| --- | --- | --- | --- | --- | --- | --- |\n";
    for verdict in VERDICTS {
        let cells =
            [&first, &now].map(|counts| [RED, GREEN, INACTIVE].map(|live| sum(counts, verdict, live).to_string()));
        let _ = writeln!(text, "| {verdict} | {} |", cells.concat().join(" | "));
    }
    text
}

/// The same of the second server, suite by suite.
pub(crate) fn summary_by_suite() -> String {
    let mut text = "| suite | prediction | red | green | never struck |\n".to_owned();
    text += "| --- | --- | --- | --- | --- |\n";
    for holdout in PARCELS {
        let counts = holdout.counts(4);
        for verdict in VERDICTS {
            let cells = [RED, GREEN, INACTIVE].map(|live| sum(&counts, verdict, live));
            if cells.iter().sum::<usize>() > 0 {
                let _ = writeln!(
                    text,
                    "| {} | {verdict} | {} |",
                    holdout.suite,
                    cells.map(|cell| cell.to_string()).join(" | ")
                );
            }
        }
    }
    text
}

#[test]
fn hardly_a_killed_mutant_stands_for_a_fault_that_nobody_notices() {
    let (mut false_kills, mut false_survivors, mut all) = (0, 0, 0);
    for holdout in [BOOKING].into_iter().chain(PARCELS) {
        let now = holdout.counts(4);
        assert_eq!(now.values().sum::<usize>(), holdout.faults().len(), "{holdout:?}");
        false_kills += sum(&now, "killed", GREEN);
        false_survivors += sum(&now, "survived", RED);
        all += now.iter().filter(|((_, live), _)| live != INACTIVE).map(|(_, count)| count).sum::<usize>();
    }
    assert!(false_kills * 100 <= all * MOST_FALSE_KILLS, "{false_kills} of {all}");
    assert!(false_survivors * 20 <= all, "{false_survivors} of {all}");
}
