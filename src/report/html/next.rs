//! What to do next: the command to type, what would let the rest be judged, and what would improve the suite most.

use indexmap::IndexSet;

use crate::event::{Outcome, Reason, ToolsChosen};
use crate::report::additions;
use crate::report::fold::{Report, SuiteReport};
use crate::report::headline::{RunVerdict, broken_servers, misses_a_threshold};
use crate::report::terminal;

use super::NumberedCase;
use super::escape::{code, inline, sentence};

/// The most ways to give arguments that are shown.
const WAYS: usize = 5;

/// The list; nothing where there is nothing to do.
pub(super) fn next(
    report: &Report,
    suites: &[SuiteReport<'_>],
    cases: &[NumberedCase<'_>],
    verdict: RunVerdict,
) -> String {
    let mut totals = report.totals();
    totals.failed += suites.iter().map(broken_servers).sum::<usize>();
    let mut items: Vec<String> = Vec::new();
    items.extend(terminal::suggested(report, &totals, suites).map(|command| format!("run {}", code(&command))));
    items.extend(report.unjudged().iter().map(|tools| sentence(&tools.help)));
    items.extend(cures(cases));
    if verdict == RunVerdict::Doubtful && items.is_empty() && totals.inconclusive > 0 {
        items.push("read <a href=\"#failures\">why some cases have no verdict</a>".to_owned());
    }
    // The cure of tools that were not called says the same.
    let is_told = report.unjudged().iter().any(|tools| tools.reason.is_of_calls());
    if verdict != RunVerdict::Bad && !is_told {
        let spared = report.tools_chosen().filter(|chosen| !chosen.left_alone.is_empty());
        let said: IndexSet<String> = spared.map(let_call).collect();
        items.extend(said);
    }
    let proof = report.run_finished().and_then(|run| run.proof.as_deref());
    if proof.is_none() && misses_a_threshold(report) {
        items.push("<a href=\"#coverage\">exercise the faults that are missing</a>, or lower the threshold".to_owned());
    }
    if verdict == RunVerdict::Good && proof.is_none() {
        let command = Some(terminal::prove_again(report)).filter(|command| !command.is_empty());
        items.extend(command.map(|command| format!("run {} to see which faults the suite would miss", code(&command))));
    }
    if let Some((told, _)) = proof.and_then(additions::best) {
        let told = told.trim_end_matches(':');
        items.push(format!("<a href=\"#proof\">add what the proof suggests</a>: {}", inline(told)));
    }
    if items.is_empty() {
        return String::new();
    }
    let item = |item: &String| format!("<li>{item}</li>");
    let items: String = items.iter().map(item).collect();
    format!(
        "<section aria-labelledby=\"next-title\">\n<h2 id=\"next-title\">What to do next</h2>\n<ul class=\"next\">\
         {items}</ul>\n</section>\n"
    )
}

/// What would include the tools that generated cases leave alone.
fn let_call(chosen: &ToolsChosen) -> String {
    let count = terminal::plural(chosen.left_alone.len(), "tool");
    format!(
        "{count} of {} may change data and got no generated calls: {}",
        code(&chosen.server),
        sentence(&chosen.help)
    )
}

/// What would let the cases be judged that were not, each way once.
fn cures(cases: &[NumberedCase<'_>]) -> Vec<String> {
    let unjudged = cases.iter().filter(|numbered| numbered.case.outcome == Outcome::Inconclusive);
    let reasons: Vec<&Reason> = unjudged.filter_map(|numbered| numbered.case.reason.as_ref()).collect();
    let mut cures = Vec::new();
    let mut ways: IndexSet<String> = IndexSet::new();
    ways.extend(reasons.iter().filter_map(|reason| way_to_give_arguments(reason)));
    if !ways.is_empty() {
        let shown = ways.iter().take(WAYS).map(|way| code(way)).collect::<Vec<_>>().join(", ");
        let more = match ways.len().saturating_sub(WAYS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        cures.push(format!("give valid arguments for tools that refused generated ones: {shown}{more}"));
    }
    if reasons.iter().any(|reason| matches!(reason, Reason::SurroundingsLack(_))) {
        cures.push(sentence(
            "provide what the server lacks here, or exempt the tools that need it with `allow_unjudged`",
        ));
    }
    if reasons.iter().any(|reason| matches!(reason, Reason::CallsLimited(_))) {
        cures.push(sentence("raise the limit of calls for tests, or exempt the tools behind it with `allow_unjudged`"));
    }
    cures
}

/// The flag or the key that gives a tool arguments, as a reason says it; words of a server stand before it.
fn way_to_give_arguments(reason: &Reason) -> Option<String> {
    let is_about_arguments =
        matches!(reason, Reason::ValidCallRefused(_) | Reason::NothingServed(_) | Reason::Measured(_));
    let said = reason.to_string();
    let (_, rest) = said.rsplit_once("give valid arguments with `").filter(|_| is_about_arguments)?;
    let (way, _) = rest.split_once('`')?;
    let is_way = way.starts_with("--arguments '") || way.starts_with("arguments: {");
    is_way.then(|| way.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CallPurpose, RefusedCall};

    #[test]
    fn a_reason_says_how_to_give_arguments() {
        let refused = |help: &str| {
            let (call, answer, purpose) = ("tools/call add".to_owned(), "no".to_owned(), CallPurpose::Check);
            Reason::ValidCallRefused(RefusedCall { call, answer, help: help.to_owned(), purpose })
        };
        for (reason, expected) in [
            (refused("with `--arguments 'add={…}'`"), Some("--arguments 'add={…}'")),
            (refused("with `arguments: { add: { … } }`"), Some("arguments: { add: { … } }")),
            (
                Reason::NothingServed("\"no\"; give valid arguments with `--arguments 'add={…}'`".to_owned()),
                Some("--arguments 'add={…}'"),
            ),
            (
                Reason::Measured("refused; give valid arguments with `--arguments 'add={…}'` (85 calls)".to_owned()),
                Some("--arguments 'add={…}'"),
            ),
            (Reason::NothingServed("give valid arguments with `rm -rf /`".to_owned()), None),
            (Reason::SurroundingsLack("give valid arguments with `--arguments 'a'`".to_owned()), None),
            (Reason::Interrupted, None),
        ] {
            assert_eq!(way_to_give_arguments(&reason).as_deref(), expected, "{reason}");
        }
    }

    #[test]
    fn each_cure_is_named_once() {
        let unjudged = |reason: Reason| crate::event::CaseResult {
            reason: Some(reason),
            ..crate::event::CaseResult::of_test("case", Outcome::Inconclusive)
        };
        let way =
            |tool: &str| Reason::NothingServed(format!("no; give valid arguments with `--arguments '{tool}={{…}}'`"));
        let mut reasons: Vec<Reason> = ["a", "b", "a", "c", "d", "e", "f"].map(way).to_vec();
        reasons.extend([Reason::SurroundingsLack("no".to_owned()), Reason::SurroundingsLack("none".to_owned())]);
        let results: Vec<_> = reasons.into_iter().map(unjudged).collect();
        let numbered = |case| NumberedCase { number: 1, case, is_protocol: false, has_several_servers: false };
        let cases: Vec<NumberedCase<'_>> = results.iter().map(numbered).collect();
        let cures = cures(&cases);
        assert_eq!(cures.len(), 2, "{cures:?}");
        assert!(cures[0].ends_with("<code>--arguments &#39;e={…}&#39;</code> and 1 more"), "{}", cures[0]);
    }
}
