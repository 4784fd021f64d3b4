//! One case for every part of the server that is compared with a recorded one.

use std::sync::Arc;

use super::Differential;
use super::compare::DriftCheck;
use crate::drift::{ChangeSubject, Recorded, RecordedIdentity};
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
    catalog: &Catalog,
) -> Vec<Case> {
    let target = planner.target;
    let Some(recorded) = settings.snapshot.of(&target.server, target.protocol.as_str()) else {
        let message = format!("no server `{}` is recorded in `{}`", target.server, settings.file);
        let help = Some(format!("record it with `mcprove snapshot {}`", planner.suite.file));
        let mistake = Mistake { code: "missing-recording", message, help, span: template.span };
        return vec![Case { body: Body::Failed(mistake), ..template.clone() }];
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
            settings.replay_calls && settings.tools.selects(name) && catalog.tool(name).is_some()
        }
        ChangeSubject::Server | ChangeSubject::Resources | ChangeSubject::Prompt(_) => true,
    });
    cases.extend(subjects.map(|subject| {
        let name = format!("{}: {subject}", template.name);
        let skipped = forbidden(planner, &subject, catalog).map(Body::Skipped);
        let body = skipped.unwrap_or_else(|| {
            let (settings, recorded) = (Arc::clone(settings), Arc::clone(&recorded));
            Body::Check(Arc::new(DriftCheck { settings, recorded, subject }))
        });
        let mut case = planner.case(&name, None, template.span, body);
        case.variants.extend(JUDGES.map(str::to_owned));
        case
    }));
    cases.extend(reason_without_answers(planner, settings, &recorded, catalog).map(|reason| {
        let body = Body::Skipped(Reason::NotApplicable(reason));
        planner.case(&format!("{}: answers", template.name), None, template.span, body)
    }));
    cases
}

/// Why no answers are compared, where they were asked for and there is none to compare with.
fn reason_without_answers(
    planner: &Planner<'_>,
    settings: &Differential,
    recorded: &Recorded,
    catalog: &Catalog,
) -> Option<String> {
    let mut called = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
    let is_wanted = settings.replay_calls && recorded.answers.is_empty();
    let has_any = is_wanted && called.any(|tool| planner.suite.hazard(&planner.target.server, tool).is_none());
    let help = "record the server again, or write `answers: false`";
    has_any.then(|| format!("no answers are recorded in `{}`, so none are compared; {help}", settings.file))
}

/// Why a recorded call may not be made again.
fn forbidden(planner: &Planner<'_>, subject: &ChangeSubject, catalog: &Catalog) -> Option<Reason> {
    let ChangeSubject::Answers(name) = subject else { return None };
    planner.hazard(catalog.tool(name)?)
}
