//! One case for every part of the server that is compared with a recorded one.

use std::sync::Arc;

use super::Differential;
use super::compare::DriftCheck;
use crate::drift::{ChangeSubject, Recorded, RecordedIdentity, ServerSnapshot};
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, Mistake};
use crate::wire::{Catalog, Tool};

/// The variants that a comparison judges.
pub(crate) const JUDGES: [&str; 1] = ["SCHEMA-DRIFT"];

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<Differential>,
    (file, snapshot): (&str, &ServerSnapshot),
    catalog: &Catalog,
) -> Vec<Case> {
    let target = planner.target;
    let Some(recorded) = snapshot.of(&target.server, target.protocol.as_str()) else {
        let message = format!("no server `{}` is recorded in `{file}`", target.server);
        let help = Some(format!("record it with `mcprove snapshot {}`", planner.suite.file));
        let mistake = Mistake { code: "missing-recording", message, help, span: template.span };
        return vec![Case { body: Body::failed(mistake), ..template.clone() }];
    };
    let recorded = Arc::new(recorded.clone());
    let mut known = catalog.clone();
    let gone = recorded.tools.iter().cloned().map(Tool::new).filter(|tool| catalog.tool(&tool.name).is_none());
    known.tools.extend(gone);
    let mut cases = planner.unknown_tools(template, &settings.tools, &known);
    let offered = Recorded::without_calls(&target.server, "", RecordedIdentity::default(), catalog);
    let subjects = ChangeSubject::of(&recorded, &offered).into_iter().filter(|subject| match subject {
        ChangeSubject::Tool(name) => settings.tools.selects(name),
        // That a tool is gone is told once.
        ChangeSubject::Answers(name) => {
            settings.compares_calls && settings.tools.selects(name) && catalog.tool(name).is_some()
        }
        ChangeSubject::Server | ChangeSubject::Resources | ChangeSubject::Prompt(_) => true,
    });
    cases.extend(subjects.map(|subject| {
        let name = format!("{}: {subject}", template.name);
        let skipped = forbidden(planner, &subject, catalog).map(Body::skipped);
        let body = skipped.unwrap_or_else(|| {
            let (settings, recorded) = (Arc::clone(settings), Arc::clone(&recorded));
            Body::Check(Arc::new(DriftCheck { settings, recorded, subject }))
        });
        let mut case = planner.case(&name, None, template.span, body);
        case.variants.extend(JUDGES.map(str::to_owned));
        case
    }));
    cases.extend(reason_without_answers(planner, settings, (file, &recorded), catalog).map(|reason| {
        let body = Body::skipped(Reason::NotApplicable(reason));
        planner.case(&format!("{}: answers", template.name), None, template.span, body)
    }));
    cases
}

/// Why no answers are compared, where they were asked for and there is none to compare with.
fn reason_without_answers(
    planner: &Planner<'_>,
    settings: &Differential,
    (file, recorded): (&str, &Recorded),
    catalog: &Catalog,
) -> Option<String> {
    let mut called = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
    let is_wanted = settings.compares_calls && recorded.answers.is_empty();
    let has_any = is_wanted && called.any(|tool| planner.suite.hazard(&planner.target.server, tool).is_none());
    let help = "record the server again, or write `answers: false`";
    has_any.then(|| format!("no answers are recorded in `{file}`, so none are compared; {help}"))
}

/// Why a recorded call may not be made again.
fn forbidden(planner: &Planner<'_>, subject: &ChangeSubject, catalog: &Catalog) -> Option<Reason> {
    let ChangeSubject::Answers(name) = subject else { return None };
    planner.hazard(catalog.tool(name)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::block::tests::{check_lines, planned, read_suite};
    use crate::drift::{Recorded, RecordedAnswer, RecordedOutcome, ServerSnapshot};
    use crate::source::Sources;

    /// A file in which a server with the tools `add` and `gone` is recorded.
    fn recording(answered: &[&str]) -> String {
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let answer = |tool: &&str| RecordedAnswer {
            tool: (*tool).to_owned(),
            arguments: json!({}),
            outcome: RecordedOutcome::Served,
            told: json!({}),
            volatile: Vec::new(),
        };
        let answers = answered.iter().map(answer).collect();
        let name = "server".to_owned();
        ServerSnapshot::new(vec![Recorded {
            name,
            tools: vec![tool("get_sum"), tool("gone")],
            answers,
            ..Recorded::default()
        }])
        .text()
    }

    #[test]
    fn every_part_that_is_recorded_or_new_is_compared() {
        let tools = json!([
            {"name": "get_sum", "inputSchema": {"type": "object"}},
            {"name": "delete_all", "inputSchema": {"type": "object"}},
        ]);
        let (server, sum) = ("differential: server: check", "differential: tool get_sum: check");
        let (gone, all) = ("differential: tool gone: check", "differential: tool delete_all: check");
        for (more, answered, expected) in [
            ("", &["get_sum"][..], &[server, sum, gone, all, "differential: answers of get_sum: check"][..]),
            // That a tool is gone is told once, and what may do harm is not called.
            ("", &["gone", "delete_all"], &[server, sum, gone, all, "differential: answers of delete_all: skipped"]),
            (", answers: false", &["get_sum"], &[server, sum, gone, all]),
            (", tools: get_sum", &["get_sum"], &[server, sum, "differential: answers of get_sum: check"]),
            // A tool that is gone is no misspelt name.
            (", tools: [gone]", &["get_sum"], &[server, gone]),
            ("", &[], &[server, sum, gone, all, "differential: answers: skipped, no answers are recorded"]),
        ] {
            let suite = format!("{{ suite: s, differential: {{ snapshot: recorded.json{more} }} }}");
            let lines = planned(&suite, &[("recorded.json", &recording(answered))], &tools);
            check_lines(&format!("{more} {answered:?}"), &lines, expected);
        }
    }

    #[test]
    fn a_file_that_holds_no_recording_is_a_mistake_of_the_suite() {
        for (files, code, says) in [
            (&[][..], "missing-snapshot", "no server is recorded in `recorded.json`: there is no such file"),
            (&[("recorded.json", "{}")], "bad-snapshot", "`recorded.json` cannot be used: it is not a recording"),
            (&[("recorded.json", "no json")], "bad-snapshot", "`recorded.json` cannot be used: it is not a recording"),
            (
                &[("recorded.json", "{\"format\": 99}")],
                "bad-snapshot",
                "`recorded.json` cannot be used: it has the format 99",
            ),
        ] {
            let suite = "{ suite: s, differential: { snapshot: recorded.json } }";
            let found = read_suite(suite, files, &mut Sources::default()).err().unwrap_or_default();
            let [mistake] = found.as_slice() else { panic!("{found:?}") };
            assert!(mistake.code == code && mistake.message.starts_with(says), "{mistake:?}");
        }
    }
}
