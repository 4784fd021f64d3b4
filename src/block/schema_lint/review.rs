//! The tools of a server: what they cost, which model providers take them, what could be better.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::to_value;

use super::{KIND, SchemaLint};
use crate::event::{Cell, Section, SectionPart, SectionTable, Tone};
use crate::lint::{Lint, LintFinding, LintLevel, Provider, lints, tokens};
use crate::plan::ListedTools;
use crate::wire::Tool;

/// The number of the most expensive tools that are named.
const DEAREST: usize = 8;

/// The tools of one server in one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Review {
    /// The suite's file.
    file: String,
    /// The server's name in the suite.
    server: String,
    /// The revision that was spoken.
    revision: String,
    /// The tools in listed order, with an estimate of what each costs a model.
    tools: Vec<ToolCost>,
    /// The sum of what they cost, in tokens.
    tokens: usize,
    /// The verdict of each model provider on them.
    providers: Vec<ProviderVerdict>,
    /// Advice, which is no case.
    advice: Vec<Remark>,
}

/// The tokens that a tool costs a model before it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ToolCost {
    /// The tool.
    tool: String,
    /// An estimate.
    tokens: usize,
}

/// The verdict of a model provider on the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ProviderVerdict {
    /// The provider.
    provider: String,
    /// When it refuses what it refuses; empty where that is always.
    when: String,
    /// The tools that it refuses; empty if it takes all.
    refuses: Vec<Remark>,
}

/// A finding of a lint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Remark {
    /// The lint.
    lint: String,
    /// The tool; empty where it is about the whole list.
    tool: String,
    /// The place in the tool; empty for the tool as a whole.
    at: String,
    /// The message.
    says: String,
}

/// The review of the tools of a server; `None` where it has none.
pub(crate) fn section(settings: &SchemaLint, listed: &ListedTools<'_>) -> Option<Section> {
    let tools = settings.of(listed.tools);
    if tools.is_empty() {
        return None;
    }
    let costs: Vec<ToolCost> =
        tools.iter().map(|tool| ToolCost { tool: tool.name.clone(), tokens: tokens(tool) }).collect();
    let review = Review {
        file: listed.file.to_owned(),
        server: listed.server.to_owned(),
        revision: listed.revision.to_owned(),
        tokens: costs.iter().map(|cost| cost.tokens).sum(),
        tools: costs,
        providers: Provider::ALL.map(|provider| verdict(provider, &tools)).into(),
        advice: advice(settings, &tools),
    };
    Some(review.section())
}

fn verdict(provider: Provider, tools: &[Tool]) -> ProviderVerdict {
    let refuses = provider.refusals(tools).into_iter().map(|(lint, found)| remark(lint, found));
    ProviderVerdict {
        provider: provider.as_str().to_owned(),
        when: provider.by_choice().unwrap_or_default().to_owned(),
        refuses: refuses.collect(),
    }
}

/// Findings below the level from which on there are cases.
fn advice(settings: &SchemaLint, tools: &[Tool]) -> Vec<Remark> {
    let below = lints().filter(|lint| lint.provider.is_none() && lint.level > settings.level.max(LintLevel::Warning));
    let found = below.flat_map(|lint| {
        let found = lint.judge(tools, settings.limits());
        let told = found.into_iter().filter(|one| settings.excuse(lint, &one.tool).is_none());
        told.map(|one| remark(lint, one)).collect::<Vec<_>>()
    });
    found.collect()
}

fn remark(lint: &Lint, LintFinding { tool, at, says }: LintFinding) -> Remark {
    Remark { lint: lint.id.to_owned(), tool, at, says }
}

impl Review {
    fn section(&self) -> Section {
        let ending = if self.tools.len() == 1 { "" } else { "s" };
        let count = self.tools.len();
        let columns = ["provider", "takes the tools"];
        let mut rows: Vec<Vec<Cell>> = self.providers.iter().map(|verdict| verdict.row(count)).collect();
        if !self.advice.is_empty() {
            rows.push(vec![Cell::plain("advice"), Cell::plain(count_remarks(&self.advice))]);
        }
        let mut parts = vec![SectionPart::List(self.costs()), SectionPart::Table(SectionTable::new(columns, rows))];
        if !self.advice.is_empty() {
            parts.push(SectionPart::Note("`level: advice` shows where the advice applies".to_owned()));
        }
        Section {
            block: KIND.key.name.to_owned(),
            file: self.file.clone(),
            server: self.server.clone(),
            revision: self.revision.clone(),
            heading: format!(
                "{count} tool{ending} of {}, {}: about {} tokens",
                self.server, self.revision, self.tokens
            ),
            parts,
            data: to_value(self).unwrap_or_default(),
        }
    }

    /// The tools that cost most; all of them where there are few.
    fn costs(&self) -> Vec<String> {
        let mut sorted: Vec<_> = self.tools.iter().collect();
        sorted.sort_by_key(|cost| std::cmp::Reverse(cost.tokens));
        let named = sorted.iter().take(DEAREST).map(|cost| format!("{} {}", cost.tool, cost.tokens));
        named.chain((sorted.len() > DEAREST).then(|| "…".to_owned())).collect()
    }
}

impl ProviderVerdict {
    fn row(&self, tools: usize) -> Vec<Cell> {
        let cell = if self.refuses.is_empty() {
            Cell::new("takes them", Tone::Good)
        } else {
            let tone = if self.when.is_empty() { Tone::Bad } else { Tone::Doubtful };
            let when = if self.when.is_empty() { String::new() } else { format!(" ({})", self.when) };
            Cell::new(format!("refuses {}{when}: {}", self.refused_share(tools), count_remarks(&self.refuses)), tone)
        };
        vec![Cell::plain(&self.provider), cell]
    }

    /// The number of tools that are refused; one alone is enough for a request to fail.
    fn refused_share(&self, tools: usize) -> String {
        let named: BTreeSet<&str> =
            self.refuses.iter().map(|remark| remark.tool.as_str()).filter(|tool| !tool.is_empty()).collect();
        if named.is_empty() { "the list".to_owned() } else { format!("{} of {tools}", named.len()) }
    }
}

/// The lints that found something, each with how many tools it is about.
fn count_remarks(remarks: &[Remark]) -> String {
    let mut by_lint: IndexMap<&str, BTreeSet<&str>> = IndexMap::new();
    for remark in remarks {
        by_lint.entry(&remark.lint).or_default().insert(&remark.tool);
    }
    let each = by_lint.iter().map(|(lint, tools)| format!("{lint} {}", tools.len()));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remarks(found: &[(&str, &str)]) -> Vec<Remark> {
        let remark = |(lint, tool): &(&str, &str)| Remark {
            lint: (*lint).to_owned(),
            tool: (*tool).to_owned(),
            at: String::new(),
            says: String::new(),
        };
        found.iter().map(remark).collect()
    }

    #[test]
    fn a_provider_takes_the_tools_or_refuses_some() {
        for (when, found, expected, tone) in [
            ("", &[][..], "takes them", Tone::Good),
            (
                "",
                &[("long-name", "a"), ("long-name", "b"), ("bad-type", "a")],
                "refuses 2 of 3: long-name 2, bad-type 1",
                Tone::Bad,
            ),
            // Only what a user chooses refuses them.
            ("strict", &[("bad-type", "a")], "refuses 1 of 3 (strict): bad-type 1", Tone::Doubtful),
            ("", &[("too-many-tools", "")], "refuses the list: too-many-tools 1", Tone::Bad),
        ] {
            let verdict = ProviderVerdict { provider: "p".to_owned(), when: when.to_owned(), refuses: remarks(found) };
            let row = verdict.row(3);
            assert_eq!((row[1].text.as_str(), row[1].tone), (expected, tone));
        }
    }

    #[test]
    fn the_most_expensive_tools_are_named() {
        let review = |count: usize| {
            let tools = (1..=count).map(|at| ToolCost { tool: format!("t{at}"), tokens: at * 10 }).collect();
            let text = String::new;
            let (file, server, revision) = (text(), text(), text());
            Review { file, server, revision, tools, tokens: 0, providers: Vec::new(), advice: Vec::new() }.costs()
        };
        assert_eq!(review(2), ["t2 20", "t1 10"]);
        let many = review(10);
        assert_eq!((many.len(), many[0].as_str(), many[8].as_str()), (9, "t10 100", "…"));
    }
}
