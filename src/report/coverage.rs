//! Coverage as text and JSON: the table of `fault-coverage`, and the levels at the end of a run.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style as Paint};

use crate::event::{Figure, Gate};
use crate::source::{Color, Style};
use crate::taxonomy::probe;
use crate::taxonomy::score::{FamilyScore, LeafScore, Level, Score, Status};

use super::terminal;

/// The output of `fault-coverage`: families, the figure, what is missing, what was claimed.
/// A figure that misses its gate is not rounded up to it.
pub fn fault_coverage(score: &Score, gates: &[Gate], style: &Style) -> String {
    let width = name_width(score);
    let mut text = format!("{:<width$}  status     leaves\n", "family");
    for family in &score.families {
        let status = painted(family.status, format!("{:<9}", family.status.word()), style);
        let _ = writeln!(text, "{:<width$}  {status}  {}", family.id, family.leaves);
    }
    let _ = writeln!(
        text,
        "\n{} of applicable faults exercised; {} of {} fully covered",
        percent(score.percent, missed(gates, Figure::Plain)),
        score.covered.counted,
        families(score.covered.of),
    );
    let weighted = percent(score.weighted, missed(gates, Figure::Weighted));
    let _ = writeln!(text, "{weighted} weighted by how often families fail in practice");
    text.push_str(&missing(score));
    text.push_str(&conditional(score));
    text.push_str(&claims(score));
    text
}

/// Below this width sentences are broken into lines.
const NARROW: usize = 60;

/// The levels side by side, as printed at the end of `run`; the last one is what the gates are about.
pub fn levels(scores: &[&Score], gates: &[Gate], style: &Style) -> String {
    let [declared, ..] = *scores else { return String::new() };
    let mut rows: Vec<Vec<String>> = vec![scores.iter().map(|score| heading(score.level)).collect()];
    for at in 0..declared.families.len() {
        let of_family = scores.iter().filter_map(|score| score.families.get(at).map(|one| (one, score.level)));
        rows.push(of_family.map(|(one, level)| cell(one, level, style)).collect());
    }
    let name = name_width(declared);
    let is_wide =
        scores.len() > 2 && name + 5 + rows[0].iter().map(|cell| shown(cell) + 3).sum::<usize>() > style.width;
    let mut note = "";
    if is_wide {
        rows.iter_mut().flatten().for_each(|cell| *cell = cell.replace(" (variants)", "").replace("  (", " ("));
        note = "  in parentheses: variants\n";
    }
    let widths: Vec<usize> = (0..scores.len()).map(|at| column_width(&rows, at)).collect();
    let names = std::iter::once("").chain(declared.families.iter().map(|family| family.id.as_str()));
    let table: String = names.zip(&rows).map(|(id, cells)| row(&format!("  {id:name$}"), cells, &widths)).collect();
    table + note + &sentences(scores, gates, style)
}

/// The figures of all levels on one line.
pub fn figures_line(scores: &[&Score], style: &Style) -> String {
    if scores.is_empty() {
        return String::new();
    }
    let plain = figures(scores, " of ", |score| score.percent, None);
    let weighted: Vec<String> = scores.iter().map(|score| percent(score.weighted, None)).collect();
    let line = format!("coverage: {plain} (weighted {}); `--coverage` shows where", weighted.join(", "));
    format!("  {}\n", terminal::wrap(&line, style.width.saturating_sub(2)).join("\n  "))
}

fn sentences(scores: &[&Score], gates: &[Gate], style: &Style) -> String {
    let [.., last] = *scores else { return String::new() };
    let plain = figures(scores, " of ", |score| score.percent, missed(gates, Figure::Plain));
    let (counted, of) = (last.covered.counted, families(last.covered.of));
    let weighted = figures(scores, "", |score| score.weighted, missed(gates, Figure::Weighted));
    let lines = [
        (format!("{plain}; {counted} of {of} fully {}", last.level.word()), Figure::Plain),
        (format!("weighted by how often families fail: {weighted}"), Figure::Weighted),
    ];
    let told = lines.into_iter().map(|(line, figure)| format!("{line}{}", thresholds(gates, figure)));
    // Elsewhere they are too long with a proof only.
    let is_wrapped = last.level == Level::Proven || style.width < NARROW;
    let width = if is_wrapped { style.width - 2 } else { usize::MAX };
    let lines: Vec<String> = told.flat_map(|line| terminal::wrap(&line, width)).collect();
    format!("  {}\n", lines.join("\n  "))
}

fn thresholds(gates: &[Gate], figure: Figure) -> String {
    let told = gates.iter().filter(|gate| gate.figure == figure);
    told.map(|gate| format!("   threshold {} {}", gate.threshold, if gate.met { "✓" } else { "✗" }))
        .collect::<Vec<_>>()
        .concat()
}

/// A score for machines, with exact figures.
pub fn to_json(score: &Score) -> serde_json::Value {
    serde_json::to_value(score).unwrap_or_default()
}

fn missing(score: &Score) -> String {
    let leaves: Vec<&LeafScore> = score.applicable_leaves().filter(|leaf| !leaf.counted).collect();
    if leaves.is_empty() {
        return String::new();
    }
    let width = leaves.iter().map(|leaf| leaf.id.len()).max().unwrap_or(0);
    let mut text = String::from("\nnot exercised, and the probe that exercises it:\n");
    for leaf in leaves {
        let block = leaf.probes.first().and_then(|id| probe(id)).map_or("", |probe| probe.block);
        let cure = if block.is_empty() { String::new() } else { format!(": add `{block}`") };
        let _ = writeln!(text, "  {:<width$}  {}{cure}", leaf.id, leaf.probes.join(" or "));
    }
    text
}

fn conditional(score: &Score) -> String {
    let mut text = String::new();
    for family in score.families.iter().filter(|one| one.status == Status::NotApplicable && one.leaves.of > 0) {
        let _ = writeln!(text, "\n{} is not applicable: it counts once a suite has `agents:`", family.id);
    }
    text
}

fn claims(score: &Score) -> String {
    if score.claimed.is_empty() {
        return String::new();
    }
    let tokens = score.claimed.iter().map(|token| format!("`--probe {token}`")).collect::<Vec<_>>().join(", ");
    let only: Vec<&str> = score.applicable_leaves().filter(|one| one.counts_by_claim()).map(|one| &*one.id).collect();
    if only.is_empty() {
        return format!("\nclaimed with {tokens}, not planned; no leaf counts for that alone\n");
    }
    format!("\nclaimed with {tokens}, not planned; counted for that alone:\n  {}\n", only.join("\n  "))
}

fn heading(level: Level) -> String {
    match level {
        Level::Declared => level.word().to_owned(),
        Level::Exercised | Level::Proven => format!("{} (variants)", level.word()),
    }
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

fn row(name: &str, cells: &[String], widths: &[usize]) -> String {
    let mut text = format!("{name}   ");
    for (cell, width) in cells.iter().zip(widths) {
        text.push_str(cell);
        text.push_str(&" ".repeat(width.saturating_sub(shown(cell))));
    }
    format!("{}\n", text.trim_end())
}

fn column_width(rows: &[Vec<String>], at: usize) -> usize {
    rows.iter().filter_map(|cells| cells.get(at)).map(|cell| shown(cell)).max().unwrap_or(0) + 3
}

fn shown(cell: &str) -> usize {
    anstream::adapter::strip_str(cell).to_string().chars().count()
}

/// How wide the column of family names is.
fn name_width(score: &Score) -> usize {
    score.families.iter().map(|family| family.id.len()).max().unwrap_or(0).max(8)
}

fn cell(family: &FamilyScore, level: Level, style: &Style) -> String {
    if family.status == Status::NotApplicable {
        return painted(family.status, family.status.word().to_owned(), style);
    }
    let variants = match level {
        Level::Declared => String::new(),
        Level::Exercised | Level::Proven => format!("  ({})", family.variants),
    };
    painted(family.status, family.leaves.to_string(), style) + &variants
}

fn painted(status: Status, text: String, style: &Style) -> String {
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
pub(super) fn missed(gates: &[Gate], figure: Figure) -> Option<f64> {
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
    use crate::coverage::{JudgedVariants, Planned, declared, exercised};
    use crate::taxonomy::Registry;
    use crate::taxonomy::score::Evidence;

    use super::*;

    /// The plan and claims of `examples/negative-path.yml --probe fuzz`.
    fn example() -> Planned {
        Planned {
            probes: ["negative-path".to_owned()].into(),
            claimed: ["fuzz".to_owned()].into(),
            ..Planned::default()
        }
    }

    fn judged(variants: &[&str]) -> JudgedVariants {
        let case = || vec![Evidence { case: "users.yml::t@users/2025-11-25".to_owned(), frames: vec![7] }];
        JudgedVariants { by_variant: variants.iter().map(|id| ((*id).to_owned(), case())).collect() }
    }

    #[test]
    fn the_published_table() {
        insta::assert_snapshot!(fault_coverage(&declared(Registry::builtin(), &example()), &[], &Style::PLAIN));
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
    fn everything_covered() {
        let probes = Registry::builtin().probes().map(str::to_owned).collect();
        let planned = Planned { probes, agents: true, ..Planned::default() };
        insta::assert_snapshot!(fault_coverage(&declared(Registry::builtin(), &planned), &[], &Style::PLAIN));
    }

    #[test]
    fn an_empty_registry() {
        insta::assert_snapshot!(fault_coverage(&declared(&Registry::default(), &example()), &[], &Style::PLAIN));
    }

    #[test]
    fn levels_side_by_side() {
        let registry = Registry::builtin();
        let planned = Planned { settings: [("stdio".to_owned(), "2025-11-25".to_owned())].into(), ..example() };
        let plan = declared(registry, &planned);
        let run = exercised(
            registry,
            &planned,
            &judged(&["TOOL-UNKNOWN-ACCEPTED", "TOOL-ERROR-AS-SUCCESS", "SCHEMA-INPUT-NOT-VALIDATED"]),
        );
        let mut proof = exercised(registry, &planned, &judged(&["TOOL-UNKNOWN-ACCEPTED"]));
        proof.level = Level::Proven;
        insta::assert_snapshot!(levels(&[&plan, &run, &proof], &[], &Style::PLAIN));
        let painted = levels(&[&plan, &run, &proof], &[], &Style { color: Color::Always, ..Style::PLAIN });
        assert_eq!(
            anstream::adapter::strip_str(&painted).to_string(),
            levels(&[&plan, &run, &proof], &[], &Style::PLAIN)
        );
        assert!(
            levels(&[&plan], &[], &Style::PLAIN).contains("38% of faults declared; 1 of 7 families fully declared")
        );
    }

    #[test]
    fn json_is_exact_and_reads_back() {
        let score = declared(Registry::builtin(), &example());
        let json = to_json(&score);
        assert_eq!((json["percent"].as_f64(), json["families"][4]["status"].as_str()), (Some(37.5), Some("n/a")));
        assert_eq!(serde_json::from_value::<Score>(json.clone()).unwrap(), score);
        insta::assert_json_snapshot!(json["families"][1]["by_leaf"][0]);
    }
}
