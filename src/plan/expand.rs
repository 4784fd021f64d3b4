//! From templates to cases, once the server has said what it offers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use super::case::{Body, Case, Mistake, SuitePlan, Template};
use super::planner::{Planner, script_of};
use super::{Offer, Plan, needs, valid};
use crate::event::Reason;
use crate::source::Span;
use crate::source::template::{Names, TemplateError, holds, is_template};
use crate::suite::{Loop, Row, Test};
use crate::wire::Catalog;

/// The cases that `case` stands for on a server with that offer; a case that stands for itself is returned as is.
///
/// The result is in the order in which the server lists things, and holds at least one case: a template that matches
/// nothing becomes a skipped case that says so.
pub fn expand(plan: &Plan, suite: &SuitePlan, case: &Arc<Case>, offer: &Offer<'_>) -> Vec<Arc<Case>> {
    let catalog = offer.catalog;
    let Body::Template(template) = &case.body else { return vec![Arc::clone(case)] };
    let target = &suite.targets[case.target];
    let planner = Planner {
        suite: &suite.suite,
        blocks: &suite.blocks,
        target,
        index: case.target,
        sources: &plan.sources,
        has_only: false,
    };
    let mut cases = match template.as_ref() {
        Template::ForEach(test) if test.is_particular() => needs::cases_of(&planner, test, offer),
        Template::ForEach(test) => for_each(&planner, test, catalog, &Names::new()),
        Template::Particular(test) => needs::cases_of(&planner, test, offer),
        Template::Block(block) => block.settings.cases(&planner, case, offer),
    };
    if cases.is_empty() {
        let reason = "the server offers nothing that this applies to".to_owned();
        cases.push(Case { body: Body::skipped(Reason::NotApplicable(reason)), ..(**case).clone() });
    }
    cases.splice(..0, valid::cases(&planner, suite, case, catalog));
    let is_derived = matches!(&**template, Template::Block(block) if block.test.is_none());
    for case in &mut cases {
        case.is_derived |= is_derived;
    }
    // Numbered before the selection, so that a case has the same id whatever else runs.
    let known = suite.ids();
    planner.number(&mut cases, &mut BTreeSet::new(), &|id| id != case.id && known.contains(id));
    for (at, made) in cases.iter_mut().enumerate() {
        made.position = case.position.iter().copied().chain([at]).collect();
    }
    cases.retain(|case| plan.selection.keeps(case, &suite.suite, &suite.targets));
    if let Some(shard) = plan.selection.shard.as_ref().filter(|_| case.is_divided()) {
        cases.retain(|case| case.is_divided() || shard.has_case(case, &suite.suite.file, &target.server));
    }
    cases.into_iter().map(Arc::new).collect()
}

/// A case for each thing that the test loops over; `known` are names that the filter may use too.
pub(crate) fn for_each(planner: &Planner<'_>, test: &Test, catalog: &Catalog, known: &Names) -> Vec<Case> {
    let Some(for_each) = &test.extras.for_each else { return Vec::new() };
    let variable = for_each.over.variable();
    let mut names = known.clone();
    items(for_each.over, catalog)
        .into_iter()
        .filter_map(|item| {
            let (label, values) = (label(&item), Names::from_iter([(variable.to_owned(), item.clone())]));
            names.insert(variable.to_owned(), item);
            let filter = for_each.filter.as_ref();
            let picked = filter.map_or(Ok(true), |filter| {
                holds(&filter.value, &names).map_err(|reason| unreadable(&reason, filter.span))
            });
            // A name without a template would be the same for all; the item then names the row.
            let row = Row { name: label, values };
            let mut case = planner.test_case(test, Some(&row), Body::Script(Box::new(script_of(test))));
            if is_template(&test.name.value) {
                case.row = None;
                case.id = planner.id(&case.name, None);
            }
            match picked {
                Ok(true) => Some(case),
                Ok(false) => None,
                Err(mistake) => Some(Case { body: Body::failed(mistake), ..case }),
            }
        })
        .collect()
}

/// Passing over what a misspelt path asks about would look as if nothing were there to pick.
fn unreadable(reason: &TemplateError, span: Span) -> Mistake {
    let help = "where a field may be missing, ask for it first, as in `tool.annotations is defined and …`".to_owned();
    Mistake { code: "unknown-name", message: reason.to_string(), help: Some(help), span }
}

fn items(over: Loop, catalog: &Catalog) -> Vec<Json> {
    match over {
        Loop::Tools => catalog.tools.iter().map(|tool| tool.raw.clone()).collect(),
        Loop::Resources => catalog.resources.clone(),
        Loop::Prompts => catalog.prompts.clone(),
    }
}

fn label(item: &Json) -> String {
    let named = item["name"].as_str().or(item["uri"].as_str());
    named.unwrap_or("unnamed").to_owned()
}
