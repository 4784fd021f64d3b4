//! What went wrong for a program that mends it, such as a coding agent: one fact a line, the cure first, each cause once.
//!
//! No decoration, no alignment and no width: what did not change between two runs reads the same in both. Lines are
//! `key: text`, and every text of others is on its line.

use crate::event::{CaseResult, Exchange, Finding, Outcome};
use crate::source::visible_line;

use super::cause::{self, Cause};
use super::fold::Report;
use super::headline::{self, Headline, RunVerdict, broken_servers};
use super::{Format, coverage, limit, proven, terminal, wording};

pub(crate) const FORMAT: Format = Format {
    name: "agent",
    about: "what to mend, for coding agents: short, one fact a line, each cause once with its cure first",
    shows_passed: false,
    render: |report, _| render(report),
};

/// The most bytes of one text.
const LONGEST: usize = 600;
/// The most causes that are told; a program that reads more has lost its way.
const CAUSES: usize = 40;
/// The most cases that are named for one cause.
const NAMED: usize = 8;

/// The cases with one cause, of which the first shows it.
struct Trouble<'a> {
    cause: Cause,
    /// Each with its name.
    cases: Vec<(&'a CaseResult, String)>,
}

fn render(report: &Report) -> String {
    let suites = report.suites();
    let Headline { verdict, said } = headline::headline(report, &suites);
    let word = match verdict {
        RunVerdict::Good => "passed",
        RunVerdict::Unfinished => "unfinished",
        RunVerdict::Bad => "failed",
        RunVerdict::Doubtful => "not all judged",
        RunVerdict::Open => "nothing judged",
    };
    let mut lines = vec![line("verdict", &format!("{word}; {said}"))];
    let mut totals = report.totals();
    totals.failed += suites.iter().map(broken_servers).sum::<usize>();
    lines.extend(terminal::suggested(report, &totals, &suites).map(|command| command_line("next", &command)));
    let unjudged =
        report.unjudged().iter().map(|tools| line("unjudged", &format!("{}; {}", tools.to_text(), tools.help)));
    lines.extend(unjudged);
    if let Some(run) = report.run_finished() {
        let (scores, gates) = coverage::levels_of(run);
        if !gates.is_empty() {
            lines.extend(coverage::sentences(&scores, gates).iter().map(|said| line("coverage", &said.to_text())));
        }
        lines.extend(run.proof.as_deref().map(|proof| line("proof", &proven::sentence(proof))));
    }
    let all = suites.iter().flat_map(|suite| {
        let several = suite.has_several_servers();
        let cases = suite.sessions.iter().chain(suite.cases.iter().copied());
        cases.map(move |case| (case, wording::name(&case.case, several)))
    });
    let troubles = group(all.filter(|(case, _)| terminal::is_trouble(case)).collect());
    lines.extend(troubles.iter().take(CAUSES).map(tell));
    if let more @ 1.. = troubles.len().saturating_sub(CAUSES) {
        lines.push(line("more", &format!("{more} other causes; `--report json=report.json` has all of them")));
    }
    lines.concat()
}

/// The worst first; cases in declared order, each with the first cause that it shows.
fn group(cases: Vec<(&CaseResult, String)>) -> Vec<Trouble<'_>> {
    let mut troubles: Vec<Trouble<'_>> = Vec::new();
    for (case, name) in cases {
        for cause in cause::causes(case) {
            match troubles.iter_mut().find(|known| known.cause == cause) {
                Some(known) => known.cases.push((case, name.clone())),
                None => troubles.push(Trouble { cause, cases: vec![(case, name.clone())] }),
            }
        }
    }
    troubles.sort_by_key(|trouble| rank(trouble.cases[0].0.outcome));
    troubles
}

fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Failed => 0,
        Outcome::Errored => 1,
        Outcome::Warned => 2,
        Outcome::Passed => 3,
        Outcome::Inconclusive => 4,
        Outcome::Skipped => 5,
    }
}

fn tell(trouble: &Trouble<'_>) -> String {
    let (case, name) = &trouble.cases[0];
    let attempt = case.earlier.first().filter(|_| case.is_flaky());
    let findings = attempt.map_or(&case.findings, |attempt| &attempt.findings);
    let found = findings.iter().find(|found| cause::of_finding(case, found) == trouble.cause);
    let word = if case.is_flaky() { "flaky" } else { case.outcome.as_str() };
    let mut told = vec![format!("\n{}", line(word, name))];
    let mut add =
        |key: &str, text: Option<&str>| told.extend(text.filter(|text| !text.is_empty()).map(|text| line(key, text)));
    add("fix", found.and_then(|found| found.help.as_deref()));
    add("where", wording::line(&case.case).as_deref());
    let says = found.map_or_else(|| wording::message(&[], case.reason.as_ref()), |found| found.message.clone());
    add("says", Some(&says));
    if let Some(found) = found {
        add("code", Some(found.code.as_str()));
        add("rule", case.case.rule.as_ref().map(|rule| rule.link.as_str()));
        add("expectation", expectation(found).as_deref());
        add("at", found.path.as_deref());
        add("expected", found.expected.as_deref());
        add("found", found.actual.as_deref());
        for (key, text) in &found.evidence {
            add(key, Some(text));
        }
        // Of an earlier attempt the requests are not kept.
        let exchanges = if attempt.is_some() { &[][..] } else { &case.exchanges };
        let exchange = found.exchange.and_then(|at| exchanges.get(at)).or(exchanges.last());
        add("sent", exchange.map(sent).as_deref());
        add("answered", exchange.map(|exchange| exchange.received.as_str()));
    }
    add("again", Some(&case.rerun_command));
    let others: Vec<&str> = trouble.cases[1..].iter().map(|(_, name)| name.as_str()).collect();
    if !others.is_empty() {
        let unnamed = others.len().saturating_sub(NAMED);
        let more = if unnamed > 0 { format!(" and {unnamed} more") } else { String::new() };
        let named = others[..others.len().min(NAMED)].join(", ");
        add("also", Some(&format!("{} with the same cause: {named}{more}", terminal::plural(others.len(), "case"))));
    }
    told.concat()
}

/// The place of the expectation that did not hold, as programs open it.
fn expectation(found: &Finding) -> Option<String> {
    found.quote.as_ref().map(|quote| format!("{}:{}:{}", quote.file, quote.line, quote.column))
}

fn sent(exchange: &Exchange) -> String {
    format!("{} {}", exchange.title, exchange.sent)
}

/// A command is whole, or worth nothing.
fn command_line(key: &str, command: &str) -> String {
    format!("{key}: {}\n", visible_line(command))
}

fn line(key: &str, text: &str) -> String {
    let (key, text) = (visible_line(key), limit::cut_to(text.trim(), LONGEST));
    format!("{key}: {}\n", visible_line(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::fixture::{events, failed, passed};

    fn report_of(cases: Vec<CaseResult>) -> Report {
        let finished = cases.into_iter().map(|case| crate::event::Event::CaseFinished(Box::new(case)));
        Report::of(&finished.collect::<Vec<_>>())
    }

    #[test]
    fn every_text_of_others_is_on_one_line() {
        let text = render(&Report::of(&events()));
        let is_fact = |line: &str| line.is_empty() || line.split_once(": ").is_some_and(|(key, _)| !key.is_empty());
        assert!(text.lines().all(is_fact), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\0']), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_run_without_trouble_is_a_verdict() {
        let text = render(&report_of(vec![passed(1, "a", None)]));
        assert_eq!(
            text.lines().next(),
            Some("verdict: unfinished; 1 of 1 case passed, and the recording ends before the run does")
        );
        assert_eq!(text.lines().filter(|line| line.is_empty()).count(), 0, "{text}");
    }

    #[test]
    fn one_cause_is_told_once_and_names_its_cases() {
        let broken = |at| failed(passed(at, &format!("case {at}"), None), vec![Finding::new("equals", "it is 2")]);
        let text = render(&report_of((1..=12).map(broken).collect()));
        assert_eq!(text.lines().filter(|line| line.starts_with("failed: ")).count(), 1, "{text}");
        assert!(text.contains("also: 11 cases with the same cause: case 2, "), "{text}");
        assert!(text.contains(" and 3 more\n"), "{text}");
    }
}
