//! Coverage as text and JSON: the table of `fault-coverage`, and the levels at the end of a run.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style as Paint};
use serde::Serialize;

use crate::event::{Cell, Figure, Gate, GateVerdict, RunFinished, SectionTable, SuiteScore, Tone};
use crate::source::{Color, Style, visible_line};
use crate::taxonomy::probe;
use crate::taxonomy::score::{FamilyScore, LeafScore, Level, Score, Status};

use super::terminal::{self, table};

/// The output of `fault-coverage`.
#[derive(Debug)]
pub struct FaultCoverage {
    /// The score of all suites together.
    pub total: Score,
    /// The thresholds for it, if there is only one suite.
    pub gates: Vec<Gate>,
    /// The score of each suite, if there are several.
    pub suites: Vec<SuiteDeclaration>,
}

/// The declarations of one suite.
#[derive(Debug, Serialize)]
pub struct SuiteDeclaration {
    /// The suite's file.
    pub file: String,
    /// Its score.
    pub declared: Score,
    /// The thresholds for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
}

/// `fault-coverage` as text: first the table that mcptest publishes for its command of this name, the suites if there are
/// several, then what is ours: the weighted figure, what is missing, what was claimed.
/// A figure that misses its gate is not rounded up to it.
pub fn fault_coverage(coverage: &FaultCoverage, style: &Style) -> String {
    let FaultCoverage { total, gates, suites } = coverage;
    let mut text = String::from("Runtime fault family coverage\n");
    for SuiteDeclaration { file, declared, gates } in suites {
        let figure = exercised_figure(declared, missed_threshold(gates, Figure::Plain));
        let _ = write!(text, "\n{}: {figure}", visible_line(file));
        text += &thresholds(gates, Figure::Plain);
        text += &thresholds(gates, Figure::Weighted);
    }
    if suites.is_empty() {
        text.push('\n');
    } else {
        let _ = write!(text, "\n\ntotal of {} suites, which no threshold is about:\n\n", suites.len());
    }
    text.push_str(&families_table(total, style));
    let (plain, weighted) = (missed_threshold(gates, Figure::Plain), missed_threshold(gates, Figure::Weighted));
    let (counted, of) = (total.covered.counted, families(total.covered.of));
    let _ = writeln!(text, "\n{}; {counted} of {of} fully covered", exercised_figure(total, plain));
    let figure = percent(total.weighted, weighted);
    let _ = writeln!(
        text,
        "\n{figure} weighted by how often families fail in practice, {}",
        taxonomy_line(total).trim_end()
    );
    text.push_str(
        "declared by what the suites plan, nothing ran; `mcprove run --coverage` shows what a run exercises\n",
    );
    text.push_str(&missing(total));
    text.push_str(&conditional(total));
    text.push_str(&claims(total, style));
    text
}

fn families_table(score: &Score, style: &Style) -> String {
    let name_width = score.families.iter().map(|family| terminal::columns(&family.name)).max().unwrap_or(0);
    let row = |family: &FamilyScore| {
        let status = paint_status(family.status, format!("{:<9}", family.status.word()), style);
        let name = visible_line(&family.name);
        let gap = " ".repeat(name_width.saturating_sub(terminal::columns(&name)));
        // What does not apply is not counted, even if something of it was planned.
        let faults = match family.status {
            Status::NotApplicable => format!("0/{}", family.leaves.of),
            Status::Covered | Status::Partial | Status::Uncovered => family.leaves.to_string(),
        };
        format!("{status}  {name}{gap}  {faults} faults  [{}]\n", family.id)
    };
    score.families.iter().map(row).collect()
}

/// `taxonomy 1.0.0`, and a line break.
fn taxonomy_line(score: &Score) -> String {
    format!("taxonomy {}\n", visible_line(&score.taxonomy.to_string()))
}

/// `38% of applicable faults exercised`, the published words for what a suite declares.
fn exercised_figure(score: &Score, missed: Option<f64>) -> String {
    format!("{} of applicable faults exercised", percent(score.percent, missed))
}

/// The subject of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One suite on one server.
    One,
    /// All suites and servers together.
    Total,
}

/// The levels that a run has a score at, and the thresholds, which are about the last of them.
pub(crate) fn levels_of(run: &RunFinished) -> (Vec<&Score>, &[Gate]) {
    let planned = run.coverage.iter().flat_map(|found| [&found.declared, &found.exercised]);
    let scores = planned.chain(run.proof.as_ref().map(|proof| &proof.proven)).collect();
    let gates = match (&run.proof, &run.coverage) {
        (Some(proof), _) => proof.gates.as_slice(),
        (None, Some(found)) => found.gates.as_slice(),
        (None, None) => &[],
    };
    (scores, gates)
}

/// The levels side by side, as printed at the end of `run`; the last one is what the gates are about.
pub fn levels(scores: &[&Score], gates: &[Gate], style: &Style) -> String {
    let [declared, ..] = *scores else { return String::new() };
    let families = levels_table(scores);
    let sentences = sentences(scores, gates);
    let lines: Vec<String> = sentences.iter().flat_map(|line| line.wrapped(style.width - 2)).collect();
    let table = table::table(&families, table::named(&families), style);
    format!("{table}  {}\n  {}", lines.join("\n  "), taxonomy_line(declared))
}

/// The faults of each family that count, by level, and the names of those that the last level lacks.
pub(crate) fn levels_table(scores: &[&Score]) -> SectionTable {
    let heading = |level: Level| match level {
        Level::Declared => level.word().to_owned(),
        Level::Exercised | Level::Proven => format!("{} (variants)", level.word()),
    };
    let last = scores.last();
    let lacking = last.filter(|score| score.families.iter().any(|family| !missing_names(family).is_empty()));
    let columns = std::iter::once("family".to_owned())
        .chain(scores.iter().map(|score| heading(score.level)))
        .chain(lacking.map(|score| format!("not {}", score.level.word())));
    let families = scores.first().map_or(&[][..], |score| score.families.as_slice());
    let row = |(at, family): (usize, &FamilyScore)| {
        let of_family = scores.iter().filter_map(|score| Some(family_cell(score.families.get(at)?, score.level)));
        let lacks = lacking.map(|score| score.families.get(at).map(missing_names).unwrap_or_default());
        std::iter::once(Cell::plain(&family.id)).chain(of_family).chain(lacks.map(Cell::plain)).collect()
    };
    SectionTable::new(columns, families.iter().enumerate().map(row).collect())
}

/// The faults of a family that apply and do not count, without what the name of the family says.
fn missing_names(family: &FamilyScore) -> String {
    if family.status == Status::NotApplicable {
        return String::new();
    }
    let missing = family.by_leaf.iter().filter(|leaf| leaf.applicable && !leaf.counted);
    let short = |leaf: &LeafScore| {
        let own = leaf.id.strip_prefix("FAULT-").and_then(|rest| rest.strip_prefix(&*family.id)?.strip_prefix('-'));
        own.unwrap_or(&leaf.id).to_owned()
    };
    missing.map(short).collect::<Vec<_>>().join(", ")
}

fn family_cell(family: &FamilyScore, level: Level) -> Cell {
    let text = match (family.status, level) {
        (Status::NotApplicable, _) => family.status.word().to_owned(),
        (_, Level::Declared) => family.leaves.to_string(),
        (_, Level::Exercised | Level::Proven) => format!("{} ({})", family.leaves, family.variants),
    };
    let tone = match family.status {
        Status::Covered => Tone::Good,
        Status::Partial => Tone::Doubtful,
        // Bad is what failed.
        Status::Uncovered => Tone::Plain,
        Status::NotApplicable => Tone::Faint,
    };
    Cell::new(text, tone)
}

/// The scores of each suite on each server, which is what thresholds are about; no rows where there is one.
pub(crate) fn suites_table(suites: &[SuiteScore]) -> SectionTable {
    let figures = [(Figure::Plain, "threshold"), (Figure::Weighted, "threshold when weighted")];
    let is_gated = |figure: Figure| suites.iter().flat_map(|suite| &suite.gates).any(|gate| gate.figure == figure);
    let gated: Vec<(Figure, &str)> = figures.into_iter().filter(|(figure, _)| is_gated(*figure)).collect();
    let levels = suites.first().map(SuiteScore::levels).unwrap_or_default();
    let columns = std::iter::once("suite")
        .chain(levels.iter().map(|score| score.level.word()))
        .chain(gated.iter().map(|(_, name)| *name));
    let row = |suite: &SuiteScore| {
        let scores = suite.levels();
        let percents = scores.iter().enumerate().map(|(at, score)| {
            let missed = missed_threshold(&suite.gates, Figure::Plain).filter(|_| at + 1 == scores.len());
            Cell::plain(percent(score.percent, missed))
        });
        let thresholds = gated.iter().map(|(figure, _)| gate_cell(suite, *figure));
        std::iter::once(Cell::plain(suite.name())).chain(percents).chain(thresholds).collect()
    };
    SectionTable::new(columns, suites.iter().map(row).collect())
}

/// `60 ✗`, with the figure itself where it is the weighted one, which stands nowhere else.
fn gate_cell(suite: &SuiteScore, figure: Figure) -> Cell {
    let Some(gate) = suite.gates.iter().find(|gate| gate.figure == figure) else { return Cell::plain("") };
    let last = suite.levels().last().map_or(0.0, |score| score.weighted);
    let is = match figure {
        Figure::Plain => String::new(),
        Figure::Weighted => format!("{} of ", percent(last, missed_threshold(&suite.gates, figure))),
    };
    let tone = match gate.verdict() {
        GateVerdict::Met => Tone::Good,
        GateVerdict::Missed => Tone::Bad,
        GateVerdict::NotJudged => Tone::Doubtful,
    };
    Cell::new(format!("{is}{} {}", gate.threshold, gate_mark(gate)), tone)
}

/// The mark behind a threshold.
fn gate_mark(gate: &Gate) -> &'static str {
    match gate.verdict() {
        GateVerdict::Met => "✓",
        GateVerdict::Missed => "✗",
        GateVerdict::NotJudged => "not judged",
    }
}

/// The variants that tests claim to judge; nothing without claims.
pub fn claimed_line(claimed: &[String], style: &Style) -> String {
    if claimed.is_empty() {
        return String::new();
    }
    let told = format!("claimed with `judges`, and not counted: {}", claimed.join(", "));
    format!("  {}\n", terminal::wrap(&told, style.width.saturating_sub(2)).join("\n  "))
}

/// The figures of all levels on one line; of several suites and servers it is a total.
pub fn figures_line(scores: &[&Score], scope: Scope, style: &Style) -> String {
    let [first, ..] = *scores else { return String::new() };
    let plain = figures(scores, " of ", |score| score.percent, None);
    let weighted: Vec<String> = scores.iter().map(|score| percent(score.weighted, None)).collect();
    let what = match scope {
        Scope::One => "coverage",
        Scope::Total => "coverage, total of all suites and servers",
    };
    // The built-in one is named where the families are.
    let of = first.taxonomy.registry.as_ref().map(|_| format!(", {}", taxonomy_line(first).trim_end()));
    let (of, weighted) = (of.unwrap_or_default(), weighted.join(", "));
    let line = format!("{what}: {plain} (weighted {weighted}){of}; `--coverage` shows where");
    format!("  {}\n", terminal::wrap(&line, style.width.saturating_sub(2)).join("\n  "))
}

/// Figures in words, and the threshold for the last of them, if there is one.
pub(crate) struct FiguresSentence {
    told: String,
    threshold: String,
}

impl FiguresSentence {
    pub(crate) fn to_text(&self) -> String {
        format!("{}{}", self.told, self.threshold)
    }

    /// Lines of that width; a threshold stays together.
    fn wrapped(&self, width: usize) -> Vec<String> {
        let mut lines = terminal::wrap(&self.told, width);
        match lines.last_mut() {
            Some(last) if terminal::columns(last) + terminal::columns(&self.threshold) <= width => {
                last.push_str(&self.threshold);
            }
            Some(_) | None => lines.extend(terminal::wrap(self.threshold.trim_start(), width)),
        }
        lines
    }
}

/// The figures of all levels in words, plain and weighted.
pub(crate) fn sentences(scores: &[&Score], gates: &[Gate]) -> Vec<FiguresSentence> {
    let [.., last] = *scores else { return Vec::new() };
    let plain = figures(scores, " of ", |score| score.percent, missed_threshold(gates, Figure::Plain));
    let (counted, of) = (last.covered.counted, families(last.covered.of));
    let weighted = figures(scores, "", |score| score.weighted, missed_threshold(gates, Figure::Weighted));
    vec![
        FiguresSentence {
            told: format!("{plain}; {counted} of {of} fully {}", last.level.word()),
            threshold: thresholds(gates, Figure::Plain),
        },
        FiguresSentence {
            told: format!("weighted by how often families fail: {weighted}"),
            threshold: thresholds(gates, Figure::Weighted),
        },
    ]
}

fn thresholds(gates: &[Gate], figure: Figure) -> String {
    let told = gates.iter().filter(|gate| gate.figure == figure);
    told.map(|gate| format!("   threshold {} {}", gate.threshold, gate_mark(gate))).collect::<Vec<_>>().concat()
}

/// `fault-coverage` for machines, with exact figures: the score of all suites, and under `suites` that of each if there
/// are several.
pub fn to_json(coverage: &FaultCoverage) -> serde_json::Value {
    let mut json = serde_json::to_value(&coverage.total).unwrap_or_default();
    if !coverage.suites.is_empty() {
        json["suites"] = serde_json::to_value(&coverage.suites).unwrap_or_default();
    }
    json
}

fn missing(score: &Score) -> String {
    let leaves: Vec<&LeafScore> = score.applicable_leaves().filter(|leaf| !leaf.counted).collect();
    if leaves.is_empty() {
        return String::new();
    }
    let width = leaves.iter().map(|leaf| leaf.id.len()).max().unwrap_or(0);
    let mut text = String::from("\nnot declared, and the probe that declares it:\n");
    for leaf in leaves {
        let known = leaf.probes.iter().find_map(|id| probe(id));
        let cure = known.map(|probe| format!(": add `{}`", probe.block)).unwrap_or_default();
        let _ = writeln!(text, "  {:<width$}  {}{cure}", leaf.id, leaf.probes.join(" or "));
    }
    text
}

fn conditional(score: &Score) -> String {
    let mut text = String::new();
    for family in score.families.iter().filter(|one| one.status == Status::NotApplicable && one.leaves.of > 0) {
        let name = visible_line(&family.name);
        let _ = writeln!(text, "\n{name} [{}] is not applicable: it counts once the suite has `agents:`", family.id);
    }
    text
}

/// The share of the figure that is only claimed, and the claims that do not count.
fn claims(score: &Score, style: &Style) -> String {
    let mut text = String::new();
    let wrapped = |told: &str| format!("\n{}\n", terminal::wrap(told, style.width).join("\n"));
    if let Some(facts) = &score.without_claims {
        let probes: Vec<String> = score.claimed.iter().map(|token| format!("`--probe {token}`")).collect();
        let only: Vec<&str> = score.applicable_leaves().filter(|one| one.only_claimed).map(|one| &*one.id).collect();
        let (plain, weighted) = (percent(facts.percent, None), percent(facts.weighted, None));
        let counts =
            if only.is_empty() { "no fault counts for that alone" } else { "these faults count for that alone" };
        let claimed = format!("claimed with {}, not planned by a suite: {counts}", probes.join(", "));
        text += &wrapped(&format!("{claimed}; without it {plain}, weighted {weighted} (`--no-claims`)"));
        for leaf in only {
            let _ = writeln!(text, "  {leaf}");
        }
    }
    if !score.claimed_variants.is_empty() {
        text += &wrapped(&format!("claimed with `judges`, and not counted: {}", score.claimed_variants.join(", ")));
    }
    text
}

/// The figures of all levels in one sentence; what is counted is named where it changes.
fn figures(scores: &[&Score], of: &str, figure: fn(&Score) -> f64, missed: Option<f64>) -> String {
    let each = scores.iter().enumerate().map(|(at, score)| {
        let missed = missed.filter(|_| at + 1 == scores.len());
        let is_named = !of.is_empty() && (at == 0 || scores[at - 1].level.counts() != score.level.counts());
        let noun = if is_named { format!("{of}{}", score.level.counts()) } else { String::new() };
        format!("{}{noun} {}", percent(figure(score), missed), score.level.word())
    });
    each.collect::<Vec<_>>().join(", ")
}

fn paint_status(status: Status, text: String, style: &Style) -> String {
    let paint = match status {
        Status::Covered => Paint::new().fg_color(Some(AnsiColor::Green.into())),
        Status::Partial => Paint::new().fg_color(Some(AnsiColor::Yellow.into())),
        // Red is for what failed.
        Status::Uncovered => Paint::new(),
        Status::NotApplicable => Paint::new().dimmed(),
    };
    match style.color {
        Color::Always => format!("{paint}{text}{paint:#}"),
        Color::Never => text,
    }
}

/// The threshold of a figure, where it was missed.
pub(crate) fn missed_threshold(gates: &[Gate], figure: Figure) -> Option<f64> {
    gates.iter().find(|gate| gate.figure == figure && !gate.met).map(|gate| gate.threshold)
}

/// A whole percentage; half is rounded up, as the published figures are. Where that would hide that the figure misses a
/// threshold, as few decimals as show it.
pub fn percent(figure: f64, missed: Option<f64>) -> String {
    let hides = |shown: f64| missed.is_some_and(|threshold| shown >= threshold && figure < threshold);
    let rounded = |decimals: i32| (figure * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals);
    let decimals = (0..4).find(|decimals| !hides(rounded(*decimals))).unwrap_or(4);
    format!("{}%", rounded(decimals))
}

fn families(count: usize) -> String {
    if count == 1 { "1 family".to_owned() } else { format!("{count} families") }
}

#[cfg(test)]
mod tests {
    use crate::coverage::{Claims, JudgedVariants, Planned, score_declared, score_exercised, with_claims};
    use crate::taxonomy::Registry;
    use crate::taxonomy::score::Evidence;

    use super::*;

    /// The plan of `examples/negative-path.yml`.
    fn example() -> Planned {
        Planned { probes: ["negative-path".to_owned()].into(), ..Planned::default() }
    }

    /// The same with `--probe fuzz`.
    fn claimed(registry: &Registry) -> Score {
        let claims = Claims { probes: ["fuzz".to_owned()].into(), ..Claims::default() };
        with_claims(registry, &example(), &claims)
    }

    fn shown(total: Score) -> String {
        fault_coverage(&FaultCoverage { total, gates: Vec::new(), suites: Vec::new() }, &Style::PLAIN)
    }

    fn judged(variants: &[&str]) -> JudgedVariants {
        let case = || vec![Evidence { case: "users.yml::t@users/2025-11-25".to_owned(), frames: vec![7] }];
        JudgedVariants { by_variant: variants.iter().map(|id| ((*id).to_owned(), case())).collect() }
    }

    #[test]
    fn the_published_table() {
        insta::assert_snapshot!(shown(claimed(Registry::builtin())));
    }

    #[test]
    fn a_missed_figure_is_not_rounded_up_to_its_threshold() {
        let check = |figure: f64, missed: Option<f64>, expected: &str| {
            assert_eq!(percent(figure, missed), expected, "{figure} {missed:?}");
        };
        check(37.5, None, "38%");
        check(37.5, Some(38.0), "37.5%");
        check(37.5, Some(60.0), "38%");
        check(37.96, Some(38.0), "37.96%");
        check(99.999_999, Some(100.0), "100%");
    }

    #[test]
    fn a_threshold_that_may_still_be_reached_is_not_judged() {
        let gate = |met| Gate { figure: Figure::Plain, threshold: 60.0, met, not_judged: false };
        for (gate, expected) in [
            (gate(true), "   threshold 60 ✓"),
            (gate(false), "   threshold 60 ✗"),
            (gate(true).with_more_to_come(), "   threshold 60 ✓"),
            (gate(false).with_more_to_come(), "   threshold 60 not judged"),
        ] {
            assert_eq!(thresholds(std::slice::from_ref(&gate), Figure::Plain), expected, "{gate:?}");
        }
    }

    #[test]
    fn everything_covered() {
        let probes = Registry::builtin().probes().map(str::to_owned).collect();
        let planned = Planned { probes, agents: true, ..Planned::default() };
        insta::assert_snapshot!(shown(score_declared(Registry::builtin(), &planned)));
    }

    #[test]
    fn an_empty_registry() {
        insta::assert_snapshot!(shown(claimed(&Registry::default())));
    }

    #[test]
    fn levels_side_by_side() {
        let registry = Registry::builtin();
        let planned = Planned { settings: [("stdio".to_owned(), "2025-11-25".to_owned())].into(), ..example() };
        let plan = score_declared(registry, &planned);
        let run = score_exercised(
            registry,
            &planned,
            &judged(&["TOOL-UNKNOWN-ACCEPTED", "TOOL-ERROR-AS-SUCCESS", "SCHEMA-INPUT-NOT-VALIDATED"]),
        );
        let mut proof = score_exercised(registry, &planned, &judged(&["TOOL-UNKNOWN-ACCEPTED"]));
        proof.level = Level::Proven;
        insta::assert_snapshot!(levels(&[&plan, &run, &proof], &[], &Style::PLAIN));
        let painted = levels(&[&plan, &run, &proof], &[], &Style { color: Color::Always, ..Style::PLAIN });
        assert_eq!(
            anstream::adapter::strip_str(&painted).to_string(),
            levels(&[&plan, &run, &proof], &[], &Style::PLAIN)
        );
        assert!(
            levels(&[&plan], &[], &Style::PLAIN).contains("31% of faults declared; 0 of 7 families fully declared")
        );
    }

    #[test]
    fn json_is_exact_and_reads_back() {
        let score = claimed(Registry::builtin());
        let json = to_json(&FaultCoverage { total: score.clone(), gates: Vec::new(), suites: Vec::new() });
        assert_eq!((json["percent"].as_f64(), json["families"][4]["status"].as_str()), (Some(37.5), Some("n/a")));
        assert_eq!(serde_json::from_value::<Score>(json.clone()).unwrap(), score);
        insta::assert_json_snapshot!(json["families"][1]["by_leaf"][0]);
    }
}
