//! The rules of the specification that servers keep, counted.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::to_value;

use super::KIND;
use crate::event::{CaseResult, Cell, Outcome, RequirementLevel, Section, SectionPart, SectionTable, Tone};

/// The rules of one revision that one server keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ComplianceScore {
    /// The suite's file.
    file: String,
    /// The server's name in the suite.
    server: String,
    /// The revision that was spoken.
    revision: String,
    /// By page of the specification, in alphabetical order.
    pages: Vec<PageScore>,
}

/// The rules of one page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PageScore {
    /// The page: `basic/transports`.
    page: String,
    /// Those that bind.
    must: RuleTally,
    /// Those that advise.
    should: RuleTally,
}

/// Numbers of rules by their end; each is counted once, by the worst of its cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct RuleTally {
    /// Kept.
    kept: usize,
    /// Broken, those that are known included.
    broken: usize,
    /// Not judged: nothing followed from what the server said, or the environment broke.
    open: usize,
    /// Not applicable to this server or without a hint, so not counted.
    skipped: usize,
}

impl RuleTally {
    /// The rules that came to a verdict.
    fn judged_rules(&self) -> usize {
        self.kept + self.broken
    }

    /// The rules of both.
    #[must_use]
    fn plus(self, other: Self) -> Self {
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

impl ComplianceScore {
    /// The scores of cases with rules; one entry for each server and revision that has any.
    pub(crate) fn of<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> Vec<Self> {
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
                pages.push(PageScore {
                    page: page.to_owned(),
                    must: RuleTally::default(),
                    should: RuleTally::default(),
                });
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
    fn must(&self) -> RuleTally {
        self.pages.iter().fold(RuleTally::default(), |sum, page| sum.plus(page.must))
    }

    /// Those that advise, of all pages.
    fn should(&self) -> RuleTally {
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

impl ComplianceScore {
    /// The score as a section: a row for each page, then the sum.
    pub(crate) fn section(&self) -> Section {
        let row = |page: &PageScore| {
            let open = page.must.plus(page.should).open;
            let tone = if page.must.broken > 0 { Tone::Bad } else { Tone::Plain };
            let open = if open == 0 { String::new() } else { open.to_string() };
            vec![
                Cell::plain(&page.page),
                Cell::new(share(&page.must), tone),
                Cell::plain(share(&page.should)),
                Cell::plain(open),
            ]
        };
        let columns = ["page", "MUST", "SHOULD", "not judged"];
        let table = SectionTable::new(columns, self.pages.iter().map(row).collect());
        Section {
            block: KIND.key.name.to_owned(),
            file: self.file.clone(),
            server: self.server.clone(),
            revision: self.revision.clone(),
            heading: format!("compliance of {}, {}", self.server, self.revision),
            parts: vec![SectionPart::Table(table), SectionPart::Note(self.sentence())],
            data: to_value(self).unwrap_or_default(),
        }
    }

    /// The score in one sentence, numerator and denominator; rules that were not judged are in neither.
    fn sentence(&self) -> String {
        let (must, should) = (self.must(), self.should());
        let mut parts = vec![kept_text(&must, "MUST")];
        if should.judged_rules() > 0 {
            parts.push(kept_text(&should, "SHOULD"));
        }
        let all = must.plus(should);
        if all.open > 0 {
            parts.push(format!("{} not judged", all.open));
        }
        if all.skipped > 0 {
            parts.push(format!("{} skipped", all.skipped));
        }
        parts.join(", ")
    }
}

fn kept_text(tally: &RuleTally, noun: &str) -> String {
    let ending = if tally.judged_rules() == 1 { "" } else { "s" };
    format!("{} of {} {noun}{ending} kept", tally.kept, tally.judged_rules())
}

/// `9/10`, or nothing where no rule came to a verdict.
fn share(tally: &RuleTally) -> String {
    if tally.judged_rules() == 0 { "-".to_owned() } else { format!("{}/{}", tally.kept, tally.judged_rules()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CaseInfo, RuleInfo};

    /// The result of a case of a rule, asked for in a revision and run in another.
    fn result(rule: &str, level: RequirementLevel, asked: &str, outcome: Outcome) -> CaseResult {
        let text = str::to_owned;
        let section = format!("/basic/{}#part", &rule[..1]);
        let (link, quote) = (String::new(), String::new());
        let rule = RuleInfo { id: text(rule), level, section, link, revision: text("2025-11-25"), quote };
        let case = CaseInfo {
            id: String::new(),
            file: text("suite.yml"),
            line: 1,
            column: 1,
            from_command_line: false,
            position: Vec::new(),
            suite: text("s"),
            name: text("n"),
            row: None,
            server: text("app"),
            revision: text(asked),
            tags: Vec::new(),
            probes: Vec::new(),
            variants: Vec::new(),
            claims: Vec::new(),
            rule: Some(Box::new(rule)),
        };
        let spoken = if outcome == Outcome::Skipped { "" } else { "2025-11-25" };
        CaseResult { protocol_revision: text(spoken), ..CaseResult::beside(case, outcome, String::new()) }
    }

    #[test]
    fn a_rule_counts_once_by_the_worst_of_its_cases() {
        use Outcome::{Errored, Failed, Inconclusive, Passed, Skipped, Warned};
        use RequirementLevel::{Must, Should};
        for (results, expected) in [
            (vec![("A1", Must, Passed), ("A2", Must, Failed)], "1 of 2 MUSTs kept"),
            (vec![("A1", Must, Passed), ("A1", Must, Failed), ("A1", Must, Passed)], "0 of 1 MUST kept"),
            (vec![("A1", Must, Passed), ("A1", Must, Skipped)], "1 of 1 MUST kept"),
            // What nobody could judge is in neither number.
            (
                vec![("A1", Must, Passed), ("A2", Must, Inconclusive), ("A3", Must, Errored)],
                "1 of 1 MUST kept, 2 not judged",
            ),
            (vec![("A1", Must, Passed), ("A1", Must, Inconclusive)], "0 of 0 MUSTs kept, 1 not judged"),
            (
                vec![("A1", Must, Passed), ("B1", Should, Warned), ("B2", Should, Passed)],
                "1 of 1 MUST kept, 1 of 2 SHOULDs kept",
            ),
            (vec![("A1", Must, Passed), ("A2", Must, Skipped)], "1 of 1 MUST kept, 1 skipped"),
        ] {
            let cases: Vec<CaseResult> =
                results.iter().map(|(rule, level, outcome)| result(rule, *level, "2025-11-25", *outcome)).collect();
            let scores = ComplianceScore::of(&cases);
            assert_eq!(scores.len(), 1);
            assert_eq!(scores[0].sentence(), expected);
        }
    }

    #[test]
    fn the_worse_of_two_outcomes_decides_in_any_order() {
        use Outcome::{Errored, Failed, Inconclusive, Passed, Skipped, Warned};
        let by_weight = [Skipped, Passed, Inconclusive, Errored, Warned, Failed];
        for (at, one) in by_weight.into_iter().enumerate() {
            for (other_at, other) in by_weight.into_iter().enumerate() {
                assert_eq!(worse(one, other), by_weight[at.max(other_at)], "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn rules_are_listed_by_page_and_revision() {
        use RequirementLevel::Must;
        let cases = [
            result("B1", Must, "2025-11-25", Outcome::Passed),
            result("A1", Must, "2025-11-25", Outcome::Failed),
            // A case that was skipped before the server said which revision it speaks.
            result("A2", Must, "auto", Outcome::Skipped),
            result("A2", Must, "2025-06-18", Outcome::Skipped),
        ];
        let scores = ComplianceScore::of(&cases);
        let revisions: Vec<&str> = scores.iter().map(|score| score.revision.as_str()).collect();
        assert_eq!(revisions, ["2025-11-25", "2025-06-18"]);
        let section = scores[0].section();
        let SectionPart::Table(table) = &section.parts[0] else { panic!("{section:?}") };
        let rows: Vec<[&str; 2]> = table.rows.iter().map(|row| [row[0].text.as_str(), row[1].text.as_str()]).collect();
        assert_eq!(rows, [["basic/A", "0/1"], ["basic/B", "1/1"]]);
        assert_eq!((table.rows[0][1].tone, table.rows[1][1].tone), (Tone::Bad, Tone::Plain));
    }
}
