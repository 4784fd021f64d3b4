//! One case for each rule.

use std::sync::Arc;

use super::check::RuleCheck;
use super::rule::AuthorizationRule;
use super::{AuthorizationSettings, NamedCall, OAuthUser};
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
    let named = settings.named_calls().map(|call| call.call.clone());
    let mut cases = planner.unknown_tools(template, &ToolSelection::of_names(named), offer.catalog);
    for rule in settings.chosen() {
        let name = format!("{}: {}", template.name, rule.as_str());
        for user in users_of(settings, rule) {
            let row = user.map(|user| settings.users[user].0.value.clone());
            cases.push(planner.case(&name, row, settings.span, body(planner, settings, rule, user, offer)));
        }
    }
    cases
}

/// The users of a rule, each of which has a case of its own; `None` is the one of `login`, or nobody where the suite names
/// none with calls.
fn users_of(settings: &AuthorizationSettings, rule: AuthorizationRule) -> Vec<Option<usize>> {
    let has_calls = |user: &OAuthUser| rule.is_of_users() && !calls_of(user, rule).is_empty();
    let users = settings.users.iter().enumerate().filter(|(_, (_, user))| has_calls(user));
    let users: Vec<Option<usize>> = users.map(|(at, _)| Some(at)).collect();
    if users.is_empty() { vec![None] } else { users }
}

/// The calls of a user that a rule is about.
pub(crate) fn calls_of(user: &OAuthUser, rule: AuthorizationRule) -> &[NamedCall] {
    if rule == AuthorizationRule::UserMay { &user.may } else { &user.may_not }
}

fn body(
    planner: &Planner<'_>,
    settings: &Arc<AuthorizationSettings>,
    rule: AuthorizationRule,
    user: Option<usize>,
    offer: &Offer<'_>,
) -> Body {
    if !offer.transport.is_none_or(TransportKind::is_over_http) {
        return Body::skipped(Reason::NotApplicable("rules about OAuth apply to servers over HTTP".to_owned()));
    }
    if let Some(why) = not_given(settings, rule, user) {
        return Body::skipped(Reason::NotGiven(why.to_owned()));
    }
    let mut calls = called(settings, rule, user).filter_map(|call| offer.catalog.tool(&call.call.value));
    if let Some(reason) = calls.find_map(|tool| planner.left_out(tool)) {
        return Body::skipped(reason);
    }
    Body::Check(Arc::new(RuleCheck { settings: Arc::clone(settings), rule, user }))
}

/// The calls that the check of a rule makes, but for those that only other users make as a control.
fn called(
    settings: &AuthorizationSettings,
    rule: AuthorizationRule,
    user: Option<usize>,
) -> impl Iterator<Item = &NamedCall> {
    let needs_step_up = matches!(rule, AuthorizationRule::Scope | AuthorizationRule::StepUp);
    let of_user = user.map(|user| calls_of(&settings.users[user].1, rule)).unwrap_or_default();
    settings.step_up.iter().filter(move |_| needs_step_up).chain(of_user)
}

/// What a rule needs that the suite does not give.
fn not_given(settings: &AuthorizationSettings, rule: AuthorizationRule, user: Option<usize>) -> Option<&'static str> {
    let needs_call = matches!(rule, AuthorizationRule::Scope | AuthorizationRule::StepUp);
    if rule == AuthorizationRule::Audience && settings.other_resource.is_empty() {
        return Some("no other resource is known; name one for which tokens are issued under `other_resource`");
    }
    if needs_call && settings.step_up.is_none() {
        return Some("no call is known that needs more scopes; name one under `step_up`");
    }
    if rule == AuthorizationRule::SessionUser && settings.users.is_empty() {
        return Some("no second user is known; name one with a `login` under `users`");
    }
    let is_user_missing = rule.is_of_users() && user.is_none();
    is_user_missing.then_some("no user is known with calls that the user may or may not make; name one under `users`")
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
            (
                "{ rules: [session_user, user_may] }",
                &[
                    "authorization: user_may: skipped, no user is known",
                    "authorization: session_user: skipped, no second user",
                ],
            ),
            (
                "{ rules: [user_may, user_may_not], users: { ben: { login: { u: ben }, may: [{ call: show }] }, \
                 eve: { login: { u: eve }, may: [{ call: show }], may_not: [{ call: wipe }] } } }",
                &[
                    "authorization: user_may: check",
                    "authorization: user_may: check",
                    "authorization: user_may_not: skipped",
                ],
            ),
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
