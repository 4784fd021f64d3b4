//! Whether proofs predict reality: a server that mutants were not made for.
//!
//! `tests/holdout/` has a server, a suite for it, and faults that were written into the server afterwards, by somebody who
//! did not know the mutants. Each fault is named with the mutant that stands for it, chosen by meaning before either was
//! tried. `first` is a prediction that was wrong before the mutants were mended because of it.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde::Deserialize;
use serde_json::Value;

use crate::harness::{Scene, is_full, is_installed, is_update, root};

/// A fault of the server.
#[derive(Deserialize)]
struct HoldoutFault {
    id: String,
    wrong: String,
    mutant: Option<String>,
    at: Option<String>,
    field: Option<String>,
    first: Option<String>,
}

const TABLE: &str = "tests/holdout/predictions.md";

/// The most faults that a proof calls killed and a run does not notice, in a hundred predictions.
const MOST_FALSE_KILLS: usize = 2;

fn faults() -> Vec<HoldoutFault> {
    serde_json::from_str(&fs::read_to_string(root().join("tests/holdout/faults.json")).unwrap()).unwrap()
}

/// One run for each fault takes minutes, so that `MCPROVE_FULL=1` asks for it.
#[test]
fn a_proof_predicts_what_runs_notice() {
    if !is_full() || !is_installed() {
        return;
    }
    let scene = Scene::bare("holdout");
    fs::copy(root().join("tests/holdout/server.py"), scene.folder.join("server.py")).unwrap();
    let python = root().join("tests/real/venv/bin/python").display().to_string();
    let suite = fs::read_to_string(root().join("tests/holdout/suite.yml")).unwrap().replace("PYTHON", &python);
    scene.write("suite.yml", &suite);
    let seen = scene.run("prove suite.yml --report json=proof.json");
    assert!([0, 1].contains(&seen.status), "{}", seen.text());
    let report: Value = serde_json::from_str(&fs::read_to_string(scene.folder.join("proof.json")).unwrap()).unwrap();
    let mut table =
        "| fault | mutant | at | predicted first | predicted | live |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for fault in faults() {
        scene.write("faulty.yml", &suite.replace(r#"FAULT: """#, &format!("FAULT: {}", fault.id)));
        let status = scene.run("run faulty.yml").status;
        assert!([0, 1].contains(&status), "{}: exit {status}", fault.id);
        let live = if status == 0 { "green" } else { "red" };
        let predicted = prediction(&report["proof"]["mutants"], &fault);
        let first = fault.first.as_deref().unwrap_or(&predicted);
        let place: Vec<&str> = [&fault.at, &fault.field].into_iter().flatten().map(String::as_str).collect();
        let (mutant, place) = (fault.mutant.as_deref().unwrap_or_default(), place.join(": "));
        let _ = writeln!(table, "| {} | {mutant} | {place} | {first} | {predicted} | {live} |", fault.wrong);
    }
    scene.assert_nothing_survives();
    let path = root().join(TABLE);
    if is_update() {
        fs::write(&path, &table).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap_or_default(),
        table,
        "run `UPDATE=1 MCPROVE_FULL=1 cargo test holdout`"
    );
}

/// The verdict on the mutant of a fault, at its field if the fault is one of a field.
fn prediction(mutants: &Value, fault: &HoldoutFault) -> String {
    let Some(id) = &fault.mutant else { return "no mutant".to_owned() };
    let operator = mutants.as_array().unwrap().iter().find(|one| one["id"] == **id).unwrap();
    let mut planted = operator["mutants"].as_array().unwrap().iter();
    let mutant = planted.find(|one| one["subject"]["name"].as_str() == fault.at.as_deref()).unwrap();
    let Some(field) = &fault.field else { return mutant["verdict"].as_str().unwrap().to_owned() };
    let places = mutant["places"].as_array();
    let place = places.into_iter().flatten().find(|place| place["field"] == **field);
    place.map_or("no mutant", |place| place["verdict"].as_str().unwrap()).to_owned()
}

/// How many faults were predicted in which way, first or now, and what runs showed.
fn counts(column: usize) -> BTreeMap<(String, String), usize> {
    let text = fs::read_to_string(root().join(TABLE)).unwrap();
    let mut counts = BTreeMap::new();
    for line in text.lines().skip(2) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        *counts.entry((cells[column].to_owned(), cells[5].to_owned())).or_default() += 1;
    }
    counts
}

/// The sums of the table, for the page about proofs.
pub(crate) fn summary() -> String {
    let (first, now) = (counts(3), counts(4));
    let mut text =
        "| prediction | first: red | green | now: red | green |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for verdict in ["killed", "survived", "unreached", "undecided", "no mutant"] {
        let count = |counts: &BTreeMap<(String, String), usize>, live: &str| {
            counts.get(&(verdict.to_owned(), live.to_owned())).copied().unwrap_or_default()
        };
        let cells = [count(&first, "red"), count(&first, "green"), count(&now, "red"), count(&now, "green")];
        let [first_red, first_green, red, green] = cells;
        let _ = writeln!(text, "| {verdict} | {first_red} | {first_green} | {red} | {green} |");
    }
    text
}

#[test]
fn hardly_a_killed_mutant_stands_for_a_fault_that_nobody_notices() {
    let now = counts(4);
    let of = |verdict: &str, live: &str| now.get(&(verdict.to_owned(), live.to_owned())).copied().unwrap_or_default();
    let all: usize = now.values().sum();
    assert_eq!(all, faults().len());
    assert!(of("killed", "green") * 100 <= all * MOST_FALSE_KILLS, "{now:?}");
    assert!(of("survived", "red") * 20 <= all, "{now:?}");
}
