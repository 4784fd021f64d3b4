//! The tools of a server: what they cost, which providers take them, what could be better.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::event::{ProviderVerdict, Remark, Review, RunFinished};
use crate::source::{Style, visible_line};

use super::layout::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// How many of the tools that cost most are named.
const DEAREST: usize = 8;

/// A table for each server and revision whose tools were looked at.
pub(super) fn tables(finished: &RunFinished, style: &Style) -> Vec<String> {
    finished.reviews.iter().map(|review| table(review, style)).collect()
}

fn table(review: &Review, style: &Style) -> String {
    let tools = layout::plural(review.tools.len(), "tool");
    let title =
        format!("{tools} of {}, {}: about {} tokens", visible_line(&review.server), review.revision, review.tokens);
    let mut text = format!("  {}\n", layout::paint(&layout::crop(&title, style.width - 2), BOLD, style));
    text += &costs(review, style);
    let width = review.providers.iter().map(|verdict| verdict.provider.len()).max().unwrap_or_default();
    for verdict in &review.providers {
        text += &line(verdict, width, review.tools.len(), style);
    }
    text + &advice(&review.advice, width, style)
}

/// The tools that cost most; all of them where there are few.
fn costs(review: &Review, style: &Style) -> String {
    let mut sorted: Vec<_> = review.tools.iter().collect();
    sorted.sort_by_key(|cost| std::cmp::Reverse(cost.tokens));
    let name = |tool: &str| layout::crop(tool, style.width.saturating_sub(4));
    let named = sorted.iter().take(DEAREST).map(|cost| format!("{} {}", name(&cost.tool), cost.tokens));
    let mut named: Vec<String> = named.collect();
    if sorted.len() > DEAREST {
        named.push("…".to_owned());
    }
    let lines = layout::wrap_some(&named.join(", "), style.width - 4, 4);
    let painted: Vec<String> = lines.lines().map(|line| layout::paint(line, DIM, style)).collect();
    layout::indent(&painted.join("\n"), "    ")
}

fn line(verdict: &ProviderVerdict, width: usize, tools: usize, style: &Style) -> String {
    let name = format!("  {:<width$}  ", verdict.provider);
    if verdict.refuses.is_empty() {
        return format!("{name}{}\n", layout::paint("takes them", GREEN, style));
    }
    let look = if verdict.when.is_empty() { RED } else { YELLOW };
    let when = if verdict.when.is_empty() { String::new() } else { format!(" ({})", verdict.when) };
    let said = format!("refuses {}{when}: {}", refused(verdict, tools), counted(&verdict.refuses));
    let lines = layout::wrap_some(&said, style.width.saturating_sub(name.len()).max(20), 4);
    let mut lines = lines.lines();
    let first = lines.next().unwrap_or_default();
    let first = match first.strip_prefix("refuses") {
        Some(rest) => layout::paint("refuses", look, style) + rest,
        None => first.to_owned(),
    };
    let rest = layout::indent(&lines.collect::<Vec<_>>().join("\n"), &" ".repeat(name.len()));
    format!("{name}{first}\n{rest}")
}

/// How many of the tools are refused; one alone is enough for a request to fail.
fn refused(verdict: &ProviderVerdict, tools: usize) -> String {
    let named: BTreeSet<&str> =
        verdict.refuses.iter().map(|remark| remark.tool.as_str()).filter(|tool| !tool.is_empty()).collect();
    if named.is_empty() { "the list".to_owned() } else { format!("{} of {tools}", named.len()) }
}

/// The lints that found something, each with how many tools it is about.
fn counted(remarks: &[Remark]) -> String {
    let mut by_lint: IndexMap<&str, BTreeSet<&str>> = IndexMap::new();
    for remark in remarks {
        by_lint.entry(&remark.lint).or_default().insert(&remark.tool);
    }
    let each = by_lint.iter().map(|(lint, tools)| format!("{lint} {}", tools.len()));
    each.collect::<Vec<_>>().join(", ")
}

fn advice(remarks: &[Remark], width: usize, style: &Style) -> String {
    if remarks.is_empty() {
        return String::new();
    }
    let name = format!("  {:<width$}  ", "advice");
    let lines = layout::wrap_some(&counted(remarks), style.width.saturating_sub(name.len()).max(20), 6);
    let mut text = String::new();
    for (at, line) in lines.lines().enumerate() {
        let before = if at == 0 { name.clone() } else { " ".repeat(name.len()) };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{before}{line}");
    }
    let more = layout::paint("`level: advice` tells where", DIM, style);
    text + &format!("{}{more}\n", " ".repeat(name.len()))
}
