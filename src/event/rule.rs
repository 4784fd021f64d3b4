//! Rules of the specification, and how well a server keeps them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseResult, Outcome, RequirementLevel};

/// The rule for which a case stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleInfo {
    /// Its id: `B2`.
    pub id: String,
    /// How binding it is.
    pub level: RequirementLevel,
    /// The page and the section of the specification.
    pub section: String,
    /// The address at which the sentence stands, in the newest revision in which the rule holds.
    pub link: String,
    /// The newest revision in which it holds, whose rule book it stands in.
    pub revision: String,
    /// The sentence that demands it, word for word.
    pub quote: String,
}

/// How well one server keeps the rules of one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compliance {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The revision that was spoken.
    pub revision: String,
    /// By page of the specification, in alphabetical order.
    pub pages: Vec<Page>,
}

/// The rules of one page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// The page: `basic/transports`.
    pub page: String,
    /// Those that bind.
    pub must: RuleTally,
    /// Those that advise.
    pub should: RuleTally,
}

/// How many rules ended in which way; each is counted once, by the worst of its cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleTally {
    /// Kept.
    pub kept: usize,
    /// Broken, those that are known included.
    pub broken: usize,
    /// Not judged: nothing followed from what the server said, or the environment broke.
    pub open: usize,
    /// Not applicable to this server or without a hint, so not counted.
    pub skipped: usize,
}

impl RuleTally {
    /// The rules that came to a verdict.
    pub fn judged(&self) -> usize {
        self.kept + self.broken
    }

    /// The rules of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            kept: self.kept + other.kept,
            broken: self.broken + other.broken,
            open: self.open + other.open,
            skipped: self.skipped + other.skipped,
        }
    }

    fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Passed => &mut self.kept,
            Outcome::Failed | Outcome::Warned => &mut self.broken,
            Outcome::Inconclusive | Outcome::Errored => &mut self.open,
            Outcome::Skipped => &mut self.skipped,
        } += 1;
    }
}

impl Compliance {
    /// What cases say about rules; one entry for each server and revision that has any.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut rules: Vec<BTreeMap<String, (usize, RequirementLevel, Outcome)>> = Vec::new();
        for result in results {
            let Some(rule) = &result.case.rule else { continue };
            let revision =
                if result.protocol_revision.is_empty() { &result.case.revision } else { &result.protocol_revision };
            let is_same = |one: &Self| one.file == result.case.file && one.server == result.case.server;
            let asked = &result.case.revision;
            let at = found.iter().position(|one| is_same(one) && (one.revision == *revision || asked == "auto"));
            let at = at.unwrap_or_else(|| {
                let (file, server) = (result.case.file.clone(), result.case.server.clone());
                found.push(Self { file, server, revision: revision.clone(), pages: Vec::new() });
                rules.push(BTreeMap::new());
                found.len() - 1
            });
            if found[at].revision == "auto" {
                found[at].revision.clone_from(revision);
            }
            let page = rule.section.split('#').next().unwrap_or_default().trim_start_matches('/');
            let pages = &mut found[at].pages;
            let page_at = pages.iter().position(|one| one.page == page).unwrap_or_else(|| {
                pages.push(Page { page: page.to_owned(), must: RuleTally::default(), should: RuleTally::default() });
                pages.len() - 1
            });
            let entry = rules[at].entry(rule.id.clone()).or_insert((page_at, rule.level, result.outcome));
            entry.2 = worse(entry.2, result.outcome);
        }
        for (one, rules) in found.iter_mut().zip(rules) {
            for (page, level, outcome) in rules.into_values() {
                let page = &mut one.pages[page];
                let tally = if level == RequirementLevel::Must { &mut page.must } else { &mut page.should };
                tally.count(outcome);
            }
            one.pages.sort_by(|one, other| one.page.cmp(&other.page));
        }
        found
    }

    /// Those that bind, of all pages.
    pub fn must(&self) -> RuleTally {
        self.pages.iter().fold(RuleTally::default(), |sum, page| sum.plus(page.must))
    }

    /// Those that advise, of all pages.
    pub fn should(&self) -> RuleTally {
        self.pages.iter().fold(RuleTally::default(), |sum, page| sum.plus(page.should))
    }
}

/// The outcome that decides about a rule with several cases.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    let weight = |outcome| match outcome {
        Outcome::Skipped => 0,
        Outcome::Passed => 1,
        Outcome::Inconclusive => 2,
        Outcome::Errored => 3,
        Outcome::Warned => 4,
        Outcome::Failed => 5,
    };
    if weight(other) > weight(one) { other } else { one }
}
