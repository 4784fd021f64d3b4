//! Selections that match no case: misspelt words of `--filter`, rows, and lines without a case.
//!
//! Looks at what the suites would plan if nothing in particular were asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::case::{Body, Plan, Template};
use super::filter::FilterWord;
use super::{Filter, LineSelection, Selection, build};
use crate::redact;
use crate::source::{Diagnostic, did_you_mean, nearest, visible_line};
use crate::suite::Suite;

/// The rows and lines that name no case of the suites, whatever else was asked for.
pub fn unmatched_places(plan: &Plan) -> Vec<Diagnostic> {
    let Selection { lines, rows, .. } = &plan.selection;
    if lines.is_empty() && rows.is_empty() {
        return Vec::new();
    }
    let whole = without_selection(plan);
    let mut found: Vec<Diagnostic> = lines.iter().filter_map(|line| line_without_case(line, &whole)).collect();
    // A case of a loop may have any row.
    let is_loop = |template: &Template| matches!(template, Template::ForEach(_));
    if !has_templates(&whole, &is_loop) {
        let known: BTreeSet<&str> = whole.cases().filter_map(|case| case.row.as_deref()).collect();
        found.extend(rows.iter().filter(|row| !known.iter().any(|known| redact::may_be(row, known))).map(|row| {
            let help = did_you_mean(row, known.iter().copied()).unwrap_or_else(|| "no test here has rows".to_owned());
            selects_nothing(format!("no case has the row `{}`", visible_line(row))).with_help(help)
        }));
    }
    found
}

/// The words of filters that hold for no case of the suites, such as a misspelt tag.
pub fn unmatched_words(plan: &Plan) -> Vec<Diagnostic> {
    let whole = without_selection(plan);
    let has_templates = has_templates(&whole, &|_| true);
    let mut found = Vec::new();
    for FilterWord { word, field, noun } in plan.selection.filters.iter().flat_map(Filter::required_words) {
        if has_templates && !field.is_settled() {
            continue;
        }
        let mut values = BTreeSet::new();
        for planned in &whole.suites {
            for case in &planned.cases {
                values.extend(field.values(case, &planned.suite, &planned.targets[case.target]));
            }
        }
        if !values.iter().any(|value| field.fits(word, value)) {
            let message = format!("no case has {noun} `{}`", visible_line(word.as_typed()));
            let offered = values.iter().map(AsRef::as_ref);
            let help =
                if field.is_word() { did_you_mean(word.as_typed(), offered) } else { within(word.as_typed(), offered) };
            found.push(selects_nothing(message).with_help(help));
        }
    }
    found.dedup();
    found
}

/// The word of some sentence that is nearest to what was typed.
fn within<'a>(typed: &str, sentences: impl Iterator<Item = &'a str>) -> Option<String> {
    let words = sentences.flat_map(|sentence| sentence.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-'));
    nearest(typed, words.filter(|word| word.len() > 2)).map(|word| format!("did you mean `{word}`?"))
}

fn line_without_case(asked: &LineSelection, whole: &Plan) -> Option<Diagnostic> {
    let places = || {
        let planned = whole.suites.iter().filter(|planned| planned.suite.file == asked.file);
        planned.flat_map(|planned| &planned.cases).map(|case| &case.place).filter(|place| place.file == asked.file)
    };
    if places().any(|place| (place.line..=place.last_line).contains(&asked.line)) {
        return None;
    }
    let distance = |first: usize, last: usize| first.saturating_sub(asked.line).max(asked.line.saturating_sub(last));
    let near = places().min_by_key(|place| (distance(place.line, place.last_line), place.line));
    let file = visible_line(&asked.file);
    let help = near.map(|place| {
        if place.line == place.last_line {
            format!("the nearest one stands on line {}", place.line)
        } else {
            format!("the nearest one stands on the lines {} to {}", place.line, place.last_line)
        }
    });
    Some(selects_nothing(format!("no case stands on line {} of `{file}`", asked.line)).with_help(help))
}

fn selects_nothing(message: String) -> Diagnostic {
    Diagnostic::without_place("selects-nothing", message)
        .with_help("`mcprove plan` lists the cases and their names".to_owned())
}

fn without_selection(plan: &Plan) -> Plan {
    let everything = Selection::default();
    let suites = plan.suites.iter().map(|planned| {
        let (suite, blocks) = (Suite::clone(&planned.suite), Arc::clone(&planned.blocks));
        build::select_suite(suite, blocks, &everything, &plan.sources)
    });
    Plan::new(suites.collect(), everything.clone(), Arc::clone(&plan.sources))
}

fn has_templates(plan: &Plan, is_meant: &dyn Fn(&Template) -> bool) -> bool {
    plan.cases().any(|case| matches!(&case.body, Body::Template(template) if is_meant(template)))
}
