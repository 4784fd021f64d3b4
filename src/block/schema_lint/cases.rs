//! One case for every lint that looks at the tools of a server.

use std::sync::Arc;

use super::SchemaLint;
use super::check::LintCheck;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case};
use crate::wire::Catalog;

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<SchemaLint>,
    catalog: &Catalog,
) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &settings.tools, catalog);
    if settings.of(&catalog.tools).is_empty() {
        return cases;
    }
    cases.extend(settings.lints().map(|(lint, level)| {
        let check = LintCheck { lint, level, settings: Arc::clone(settings) };
        let name = format!("{}: {}", template.name, lint.id);
        let mut case = planner.case(&name, None, template.span, Body::Check(Arc::new(check)));
        case.probes.insert("schema-lint".to_owned());
        case.variants.extend(lint.variant.map(str::to_owned));
        case.tags.clone_from(&template.tags);
        case
    }));
    cases
}
