//! The rich recording with a proof at its end, in every format.

use insta::assert_snapshot;
use serde_json::Value;

use crate::event::{
    By, Control, Event, FaultAtSubject, Figure, Gate, Kill, LeftOut, Missing, MutantPlace, MutantResult, MutantSubject,
    Outcome, PlantedMutant, Proof, RunFinished, SubjectKind, Verdict,
};
use crate::source::{Color, Style, is_hidden};
use crate::taxonomy::VariantSeverity;
use crate::taxonomy::score::{FamilyScore, LeafScore, Level, Score, Status, Tally, Taxonomy, VariantScore};

use super::super::{ProofView, Report, Survivors, ndjson, proof, render, schema_of_event, schema_of_report};
use super::fixture::{self, HOSTILE};
use super::machines::{COMMANDS, check_commands, check_markup, check_sarif};
use super::read;

/// A mutant without any detail.
fn mutant(id: &str, (leaf, variant): (&str, &str), verdict: Verdict) -> MutantResult {
    MutantResult {
        id: id.into(),
        meaning: "a refused call is reported as a success".into(),
        variant: variant.into(),
        leaf: format!("FAULT-{leaf}"),
        verdict,
        live: false,
        only_on_stderr: false,
        reason: None,
        change: Vec::new(),
        mutants: Vec::new(),
        missing: Vec::new(),
    }
}

const PROPAGATION: (&str, &str) = ("TOOL-RESULT-PROPAGATION", "TOOL-ERROR-AS-SUCCESS");
const EXCEPTION: (&str, &str) = ("TOOL-UNHANDLED-EXCEPTION", "TOOL-CRASH");
const OUTPUT: (&str, &str) = ("SCHEMA-OUTPUT-NONCONFORMANT", "SCHEMA-OUTPUT-MISMATCH");
const HANG: (&str, &str) = ("TIMEOUT-HANG", "TIMEOUT-NO-ANSWER");

fn killed(id: &str, of: (&str, &str), by: By) -> MutantResult {
    let case = "examples/users.yml::a user has a name@users/auto".to_owned();
    let kill = Kill { case, by, code: "is_error".into(), message: "the call succeeded".into() };
    let mut mutants = at(&[("get_user", Verdict::Killed), ("create_user", Verdict::Killed)]);
    mutants.iter_mut().flat_map(|mutant| &mut mutant.places).for_each(|place| place.kill = Some(kill.clone()));
    MutantResult { mutants, ..mutant(id, of, Verdict::Killed) }
}

/// Mutants at some tools, each at two places.
fn at(tools: &[(&str, Verdict)]) -> Vec<PlantedMutant> {
    let place = |field: &str, verdict| MutantPlace { field: field.into(), verdict, kill: None };
    let mutant = |(tool, verdict): &(&str, Verdict)| PlantedMutant {
        target: "examples/users.yml@users/2025-11-25".into(),
        subject: MutantSubject { kind: SubjectKind::Tool, name: (*tool).into() },
        verdict: *verdict,
        reason: None,
        places: match verdict {
            Verdict::Killed | Verdict::Survived | Verdict::Undecided => {
                vec![place("name", *verdict), place("content[0].text", *verdict)]
            }
            Verdict::NotCalled
            | Verdict::Unreached
            | Verdict::Redundant
            | Verdict::CannotOccur
            | Verdict::LiveOnly
            | Verdict::Untried => Vec::new(),
        },
    };
    tools.iter().map(mutant).collect()
}

/// The faults of the mutants, one for each.
fn table(mutants: &[MutantResult]) -> Vec<FaultAtSubject> {
    let faults = mutants.iter().flat_map(|result| {
        result.mutants.iter().map(|mutant| FaultAtSubject {
            target: mutant.target.clone(),
            subject: mutant.subject.clone(),
            variant: result.variant.clone(),
            leaf: result.leaf.clone(),
            verdict: mutant.verdict,
            killed: mutant.places.iter().filter(|place| place.verdict == Verdict::Killed).count(),
            planted: mutant.places.len(),
        })
    });
    faults.collect()
}

fn missing(tool: &str, could: &str, yaml: &str) -> Missing {
    Missing {
        tool: Some(tool.into()),
        field: "name".into(),
        file: "examples/users.yml".into(),
        server: "users".into(),
        could: could.into(),
        yaml: yaml.into(),
    }
}

/// A survivor that a test and one that a block would notice, a hostile one, and one of which nothing is known.
fn survivors() -> Vec<MutantResult> {
    let test = "- name: get_user refuses what it must\n  call: get_user\n  args: { id: nope }\n  expect: [{ is_error: true }]\n";
    let could = "`get_user` could answer unknown ids with a success";
    let mutants =
        at(&[("get_user", Verdict::Survived), ("create_user", Verdict::Killed), (HOSTILE, Verdict::Survived)]);
    let block = "output_schema: { tools: \"*\" }\n";
    let hostile = MutantResult {
        meaning: HOSTILE.into(),
        change: vec![HOSTILE.into(), "the value `Ann` becomes `Bob`".into()],
        mutants: at(&[(HOSTILE, Verdict::Survived)]),
        missing: vec![missing(HOSTILE, HOSTILE, &format!("- name: x\n  call: \"{HOSTILE}\"\n::error::owned\n"))],
        ..mutant("hostile-value", OUTPUT, Verdict::Survived)
    };
    vec![
        MutantResult {
            mutants,
            missing: vec![missing("get_user", could, test), missing("create_user", "it could lie", block)],
            ..mutant("error-as-success", PROPAGATION, Verdict::Survived)
        },
        hostile,
        MutantResult {
            mutants: at(&[("get_user", Verdict::Survived), ("list_users", Verdict::Unreached)]),
            missing: vec![missing("get_user", "a number could be text", block)],
            ..mutant("retyped-output", OUTPUT, Verdict::Survived)
        },
        MutantResult {
            reason: Some("no valid call of any tool is known".into()),
            ..mutant("crash-at-call", EXCEPTION, Verdict::Survived)
        },
    ]
}

fn mutants() -> Vec<MutantResult> {
    let mut all =
        vec![killed("error-swallowed", PROPAGATION, By::Expectation), killed("id-of-another", PROPAGATION, By::Scan)];
    all.extend(survivors());
    let left = "the conversation left the recording".to_owned();
    all.push(MutantResult { reason: Some(left), ..mutant("crash-and-restart", EXCEPTION, Verdict::Undecided) });
    all.extend(["no-answer", "late-answer"].map(|id| mutant(id, HANG, Verdict::Unreached)));
    all.push(mutant("extra-field", OUTPUT, Verdict::Redundant));
    all.push(mutant("no-such-variable", ("CONFIG-READONLY-IGNORED", "CONFIG-X"), Verdict::LiveOnly));
    all
}

fn variant((_, id): (&str, &str), counted: bool) -> VariantScore {
    VariantScore { id: id.into(), severity: VariantSeverity::High, applicable: true, counted, evidence: Vec::new() }
}

fn family(id: &str, leaves: &[((&str, &str), &str, bool)]) -> FamilyScore {
    let leaf = |(of, probe, counted): &((&str, &str), &str, bool)| LeafScore {
        id: format!("FAULT-{}", of.0),
        meaning: "m".into(),
        applicable: true,
        counted: *counted,
        evidence: Vec::new(),
        probes: vec![(*probe).into()],
        planned: Vec::new(),
        claimed: Vec::new(),
        only_claimed: false,
        by_variant: vec![variant(*of, *counted)],
        shared: Vec::new(),
    };
    let tally = Tally::count(leaves, |(_, _, counted)| *counted);
    let status = if tally.counted > 0 { Status::Partial } else { Status::Uncovered };
    let by_leaf: Vec<LeafScore> = leaves.iter().map(leaf).collect();
    FamilyScore { id: id.into(), name: "n".into(), weight: 1.0, status, leaves: tally, variants: tally, by_leaf }
}

fn proof_of(mutants: Vec<MutantResult>) -> Proof {
    let mut tool = family("TOOL", &[(PROPAGATION, "negative-path", true), (EXCEPTION, "fuzz", false)]);
    tool.by_leaf[1].by_variant[0].severity = VariantSeverity::Critical;
    let other =
        [family("SCHEMA", &[(OUTPUT, "output-schema", false)]), family("TIMEOUT", &[(HANG, "fault-recovery", false)])];
    let tally = Tally { counted: 1, of: 4 };
    let proven = Score {
        taxonomy: Taxonomy { version: "1.0.0".into(), registry: None },
        level: Level::Proven,
        percent: 25.0,
        weighted: 33.3,
        leaves: tally,
        variants: tally,
        covered: Tally { counted: 0, of: 3 },
        claimed: Vec::new(),
        claimed_variants: Vec::new(),
        without_claims: None,
        families: std::iter::once(tool).chain(other).collect(),
    };
    let left_out = |id: &str, reason: &str| LeftOut::new(id, reason);
    let case = format!("examples/users.yml::{HOSTILE}@users/auto");
    Proof {
        control: Control {
            cases: 14,
            green: 12,
            left_out: vec![left_out(&case, &format!("it ended differently: {HOSTILE}"))],
        },
        live: None,
        additions: Vec::new(),
        table: table(&mutants),
        mutants,
        left_out: ["CONFIG-X", "CONFIG-Y"].map(|id| left_out(id, "takes the real server")).into(),
        proven,
        suites: Vec::new(),
        gates: vec![Gate { figure: Figure::Plain, threshold: 60.0, met: false, not_judged: false }],
        duration_us: 320_000,
    }
}

fn whole() -> Proof {
    proof_of(mutants())
}

/// The rich recording with a proof at its end.
fn events() -> Vec<Event> {
    let mut events = fixture::events();
    if let Some(Event::RunFinished(end)) = events.last_mut() {
        end.proof = Some(Box::new(whole()));
    }
    events
}

/// The report of it.
pub(crate) fn recorded_proof() -> Report {
    Report::of(&events())
}

/// A proof without a run around it.
fn alone() -> Report {
    let end = RunFinished { coverage: None, ..fixture::finished() };
    let end =
        RunFinished { proof: Some(Box::new(whole())), interrupted: false, not_run: 0, unjudged: Vec::new(), ..end };
    Report::of(&[fixture::events()[0].clone(), Event::RunFinished(Box::new(end))])
}

const VIEW: ProofView<'_> = ProofView { survivors: Survivors::Worst, command: "mcprove prove examples/users.yml" };

/// The part that the proof adds to a document of the rich recording.
fn added(name: &str) -> String {
    let of = |events: &[Event]| render(name, &Report::of(events), &Style::PLAIN).unwrap();
    let (before, after) = (of(&fixture::events()), of(&events()));
    let known: std::collections::BTreeSet<&str> = before.lines().collect();
    after.lines().filter(|line| !known.contains(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn text_of_a_proof() {
    for width in [100, 80, 50] {
        assert_snapshot!(format!("proof-{width}"), proof(&whole(), &VIEW, &Style::new(Color::Never, width)));
    }
}

#[test]
fn text_of_a_run_with_a_proof() {
    let text = render("text", &Report::of(&events()), &Style::new(Color::Never, 80)).unwrap();
    let from = text.find("  family ").unwrap();
    assert_snapshot!("proof-in-run", &text[from..]);
}

/// Exit code 4 has the mark of what was not judged, whatever threshold was missed.
#[test]
fn a_run_whose_proof_had_no_time_is_undecided() {
    let is_passed = |event: &Event| matches!(event, Event::CaseFinished(case) if case.outcome == Outcome::Passed && !case.is_flaky());
    let untried = mutant("crash-at-call", EXCEPTION, Verdict::Untried);
    let proof = Some(Box::new(proof_of(vec![untried])));
    let end = RunFinished { proof, coverage: None, interrupted: false, not_run: 0, ..fixture::finished() };
    let end = Event::RunFinished(Box::new(RunFinished { unjudged: Vec::new(), ..end }));
    let events: Vec<Event> = fixture::events().into_iter().filter(is_passed).take(1).chain([end]).collect();
    let report = Report::of(&events);
    let text = render("text", &report, &Style::PLAIN).unwrap();
    assert!(text.lines().any(|line| line.starts_with("? 1 case: 1 passed")), "{text}");
    let agent = render("agent", &report, &Style::PLAIN).unwrap();
    assert!(agent.contains("1 of 1 case passed; nothing was proven"), "{agent}");
}

#[test]
fn what_a_proof_adds_to_documents() {
    for name in ["markdown", "github", "sarif", "tap"] {
        assert_snapshot!(format!("proof-{name}"), added(name));
    }
    let xml = added("junit");
    let each: std::collections::BTreeSet<&str> = xml.lines().collect();
    assert_snapshot!("proof-junit", each.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn documents_of_a_proof_alone() {
    assert_snapshot!("proof-alone-tap", render("tap", &alone(), &Style::PLAIN).unwrap());
    let markdown = render("markdown", &alone(), &Style::PLAIN).unwrap();
    assert_snapshot!("proof-alone-markdown", markdown.lines().take(14).collect::<Vec<_>>().join("\n"));
    for format in super::super::FORMATS {
        assert!(!(format.render)(&alone(), &Style::PLAIN).is_empty(), "{}", format.name);
    }
}

#[test]
fn json_of_a_proof_follows_its_schema() {
    let report = Report::of(&events());
    let document: Value = serde_json::from_str(&render("json", &report, &Style::PLAIN).unwrap()).unwrap();
    let lines: Vec<Value> = events().iter().map(|event| serde_json::from_str(&ndjson::line(event)).unwrap()).collect();
    assert!(jsonschema::is_valid(&schema_of_report(), &document));
    assert!(lines.iter().all(|line| jsonschema::is_valid(&schema_of_event(), line)));
    let mut proof = document["proof"].clone();
    proof["mutants"].as_array_mut().unwrap().truncate(1);
    proof["proven"]["families"].as_array_mut().unwrap().clear();
    insta::assert_json_snapshot!("proof-json", proof);
}

#[test]
fn a_recorded_proof_makes_the_same_documents() {
    let text: String = events().iter().map(ndjson::line).collect();
    let recorded = Report::of(&read(&text).unwrap().events);
    for format in super::super::FORMATS {
        let of = |report| (format.render)(report, &Style::PLAIN);
        assert_eq!(of(&Report::of(&events())), of(&recorded), "{}", format.name);
    }
}

#[test]
fn colour_adds_nothing_to_a_proof() {
    let colored = proof(&whole(), &VIEW, &Style::new(Color::Always, 80));
    let plain = proof(&whole(), &VIEW, &Style::new(Color::Never, 80));
    assert_ne!(colored, plain);
    assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
}

#[test]
fn no_text_of_a_proof_keeps_a_secret_or_grows_without_end() {
    const SECRET: &str = "hunter2-0123456789";
    let said = || format!("it said {SECRET}");
    let kill = Kill { case: "c".into(), by: By::Scan, code: "equals".into(), message: said() };
    let mut planted = at(&[(SECRET, Verdict::Survived)]);
    planted[0].places[0].kill = Some(kill);
    let mut loose = proof_of(vec![MutantResult {
        meaning: said(),
        reason: Some(said()),
        change: vec![said()],
        mutants: planted,
        missing: vec![missing(SECRET, SECRET, SECRET)],
        ..mutant("m", OUTPUT, Verdict::Survived)
    }]);
    loose.live = Some(loose.control.clone());
    let again = loose.live.iter_mut().flat_map(|control| &mut control.left_out);
    for one in loose.left_out.iter_mut().chain(&mut loose.control.left_out).chain(again) {
        one.reason = said();
    }
    let finished = |proof: &Proof| RunFinished { proof: Some(Box::new(proof.clone())), ..fixture::finished() };
    let mut hidden = Event::RunFinished(Box::new(finished(&loose)));
    hidden.change_texts(&|text| text.replace(SECRET, "[redacted]"));
    let line = ndjson::line(&hidden);
    assert!(!line.contains(SECRET) && line.matches("[redacted]").count() == 13, "{line}");
    loose.change_texts(&|text| text.repeat(10_000));
    let long = ndjson::line(&Event::RunFinished(Box::new(finished(&loose))));
    assert!(long.len() < 250_000, "{}", long.len());
}

#[test]
fn nothing_in_a_proof_is_obeyed() {
    for width in [40, 66, 120, 200] {
        let style = Style::new(Color::Never, width);
        let documents = super::super::FORMATS.iter().map(|format| (format.render)(&Report::of(&events()), &style));
        for text in documents.chain([proof(&whole(), &ProofView { survivors: Survivors::All, ..VIEW }, &style)]) {
            assert!(!text.chars().any(|c| c != '\n' && is_hidden(c)), "{text}");
            assert!(!text.contains("##["), "{text}");
        }
    }
    let text = proof(&whole(), &VIEW, &Style::PLAIN);
    assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{text}");
}

/// A proof in which every text of a server is one to be obeyed.
pub(crate) fn hostile_proof() -> Report {
    let of = |(number, text): (usize, &&str)| {
        let verdict = [Verdict::Survived, Verdict::Undecided, Verdict::Unreached][usize::from(number % 5 == 4) * 2];
        MutantResult {
            meaning: (*text).into(),
            reason: Some((*text).into()),
            change: vec![(*text).into()],
            mutants: at(&[(text, verdict)]),
            missing: vec![Missing { yaml: format!("- {text}\n{text}"), ..missing(text, text, "") }],
            ..mutant(&format!("mutant-{number}"), OUTPUT, verdict)
        }
    };
    let mut hostile = proof_of(COMMANDS.iter().enumerate().map(of).collect());
    let left_out = COMMANDS.iter().map(|text| LeftOut::new(*text, *text));
    hostile.control.left_out = left_out.clone().collect();
    hostile.left_out = left_out.collect();
    let end = RunFinished { proof: Some(Box::new(hostile)), interrupted: false, ..fixture::finished() };
    Report::of(&[fixture::events()[0].clone(), Event::RunFinished(Box::new(end))])
}

#[test]
fn no_server_gives_orders_through_a_proof() {
    let report = hostile_proof();
    let of = |name: &str| render(name, &report, &Style::PLAIN).unwrap();
    check_commands(&of("github"));
    check_markup(&of("markdown"));
    check_sarif(&serde_json::from_str(&of("sarif")).unwrap());
    assert_eq!(of("tap").lines().count(), 5);
    for name in ["text", "markdown", "tap"] {
        let ordered = of(name)
            .lines()
            .find(|line| line.trim_start().starts_with("::") || line.contains("##["))
            .map(str::to_owned);
        assert_eq!(ordered, None, "{name}");
    }
}

#[test]
fn many_survivors_end_in_lines_by_field_and_then_in_a_number() {
    let survivor = |number: usize| MutantResult {
        missing: vec![missing("t", "it could lie", &format!("- name: test {number}\n"))],
        mutants: at(&[(&format!("tool_{number}"), Verdict::Survived)]),
        ..mutant(&format!("mutant-{number}"), PROPAGATION, Verdict::Survived)
    };
    let many = proof_of((0..150).map(survivor).collect());
    let text = proof(&many, &VIEW, &Style::new(Color::Never, 120));
    for told in [
        "~ tool_10: name: mutant-10\n",
        "and 240 more fields",
        "`mcprove prove examples/users.yml --survivors all` shows a test for each survivor",
        "and 110 more rows",
    ] {
        assert!(text.contains(told), "{told}\n{text}");
    }
    assert!(text.contains("name: test 9\n") && !text.contains("name: test 10\n"), "{text}");
    let all = proof(&many, &ProofView { survivors: Survivors::All, ..VIEW }, &Style::new(Color::Never, 80));
    assert!(all.contains("name: test 149\n") && all.contains("tool_149"), "{all}");
}

#[test]
fn the_table_folds_where_it_does_not_fit() {
    let leaves = ["PROTO-UNINITIALIZED", "PROTO-UNKNOWN-METHOD", "PROTO-MALFORMED-ENVELOPE"].into_iter();
    let leaves =
        leaves.chain([EXCEPTION.0, PROPAGATION.0, "SCHEMA-MISSING-REQUIRED", "SCHEMA-TYPE-MISMATCH", OUTPUT.0]);
    let leaves = leaves.chain(["STATE-SESSION-LEAK", "STATE-CANCEL-RESIDUE", HANG.0, "TIMEOUT-SLOW"]);
    let of = |(number, leaf): (usize, &str)| {
        let verdict = |odd| if (number + odd) % 2 == 0 { Verdict::Killed } else { Verdict::Survived };
        let mutants = at(&[("get_user", verdict(0)), ("create_a_user", verdict(1)), ("ping", Verdict::Unreached)]);
        MutantResult { mutants, ..mutant(&format!("m{number}"), (leaf, "V"), Verdict::Killed) }
    };
    let folding = proof_of(leaves.enumerate().map(of).collect());
    for width in [200, 140, 80, 40] {
        let text = proof(&folding, &VIEW, &Style::new(Color::Never, width));
        let widest = text.lines().map(unicode_width::UnicodeWidthStr::width).max();
        assert!(widest <= Some(width), "{text}");
        let from = text.find("  changes that turned").unwrap();
        let length = text[from..].find("\n\n").unwrap();
        assert_snapshot!(format!("proof-table-{width}"), &text[from..from + length]);
    }
}

#[test]
fn a_proof_without_anything_says_so() {
    let mut empty = proof_of(Vec::new());
    empty.control = Control { cases: 2, green: 0, left_out: Vec::new() };
    empty.left_out.clear();
    assert_snapshot!("proof-empty", proof(&empty, &VIEW, &Style::new(Color::Never, 80)));
}
