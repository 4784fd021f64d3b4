//! One case for each rule.

use std::sync::Arc;

use super::AuthorizationSettings;
use super::check::RuleCheck;
use super::rule::AuthorizationRule;
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, Offer};
use crate::suite::ToolSelection;
use crate::transport::TransportKind;

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<AuthorizationSettings>,
    offer: &Offer<'_>,
) -> Vec<Case> {
    let named = settings.step_up.iter().map(|step_up| step_up.call.clone());
    let mut cases = planner.unknown_tools(template, &ToolSelection::of_names(named), offer.catalog);
    cases.extend(settings.chosen().map(|rule| {
        let name = format!("{}: {}", template.name, rule.as_str());
        planner.case(&name, None, settings.span, body(planner, settings, rule, offer))
    }));
    cases
}

fn body(
    planner: &Planner<'_>,
    settings: &Arc<AuthorizationSettings>,
    rule: AuthorizationRule,
    offer: &Offer<'_>,
) -> Body {
    if !offer.transport.is_none_or(TransportKind::is_over_http) {
        return Body::skipped(Reason::NotApplicable("rules about OAuth apply to servers over HTTP".to_owned()));
    }
    if let Some(why) = not_given(settings, rule) {
        return Body::skipped(Reason::NotGiven(why.to_owned()));
    }
    let calls = matches!(rule, AuthorizationRule::Scope | AuthorizationRule::StepUp);
    let tool = settings.step_up.as_ref().filter(|_| calls).map(|step_up| step_up.call.value.as_str());
    let left_out = tool.and_then(|tool| offer.catalog.tool(tool)).and_then(|tool| planner.left_out(tool));
    if let Some(reason) = left_out {
        return Body::skipped(reason);
    }
    Body::Check(Arc::new(RuleCheck { settings: Arc::clone(settings), rule }))
}

/// What a rule needs that the suite does not give.
fn not_given(settings: &AuthorizationSettings, rule: AuthorizationRule) -> Option<&'static str> {
    let needs_call = matches!(rule, AuthorizationRule::Scope | AuthorizationRule::StepUp);
    if rule == AuthorizationRule::Audience && settings.other_resource.is_none() {
        return Some("no other resource is known; name one for which tokens are issued under `other_resource`");
    }
    let is_lacking = needs_call && settings.step_up.is_none();
    is_lacking.then_some("no call is known that needs more scopes; name one under `step_up`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::block::tests::{check_lines, planned};

    #[test]
    fn rules_that_lack_something_say_what() {
        for (settings, expected) in [
            (
                "{ rules: [issuer, audience] }",
                &["authorization: issuer: check", "authorization: audience: skipped, no other resource"][..],
            ),
            ("{ rules: [scope], step_up: { call: wipe } }", &["authorization: scope: skipped"]),
            ("{ rules: [scope], step_up: { call: show } }", &["authorization: scope: check"]),
            ("{ rules: [scope] }", &["authorization: scope: skipped, no call is known"]),
        ] {
            let tools = json!([
                {"name": "show", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
                {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}},
            ]);
            let suite = format!("{{ suite: s, authorization: {settings} }}");
            check_lines(settings, &planned(&suite, &[], &tools), expected);
        }
    }
}
