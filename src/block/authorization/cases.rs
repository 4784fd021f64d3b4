//! One case for each rule.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::json;

use super::check::RuleCheck;
use super::rule::AuthorizationRule;
use super::{AuthorizationSettings, NamedCall, OAuthUser};
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, Offer, is_authorized};
use crate::suite::ToolSelection;
use crate::transport::TransportKind;
use crate::wire::{Catalog, Tool};

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<AuthorizationSettings>,
    offer: &Offer<'_>,
) -> Vec<Case> {
    let mut cases = Vec::new();
    // A server may hide the tools that a token may not call.
    if !is_authorized(planner.suite) {
        let named = settings.named_calls().map(|call| call.call.clone());
        cases = planner.unknown_tools(template, &ToolSelection::of_names(named), offer.catalog);
    }
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
    let of_user = user.map(|user| calls_of(&settings.users[user].1, rule)).unwrap_or_default();
    let step_up = settings.step_up.iter().filter(|_| needs_step_up(rule));
    if let Some(hidden) = step_up.clone().map(|call| &call.call.value).find(|name| offer.catalog.tool(name).is_none()) {
        let why = format!(
            "the server lists no tool `{hidden}`; if it hides tools that a token may not call, name the scopes of the \
             tool under `scopes` of the server's `auth`"
        );
        return Body::skipped(Reason::NotGiven(why));
    }
    for call in step_up.chain(of_user) {
        if let Some(reason) = planner.left_out(&known_tool(offer.catalog, &call.call.value)) {
            return Body::skipped(reason);
        }
    }
    Body::Check(Arc::new(RuleCheck { settings: Arc::clone(settings), rule, user }))
}

/// A tool as the server lists it; one that it hides from the token of the suite has no hints.
fn known_tool<'a>(catalog: &'a Catalog, name: &str) -> Cow<'a, Tool> {
    catalog.tool(name).map_or_else(|| Cow::Owned(Tool::new(json!({ "name": name }))), Cow::Borrowed)
}

fn needs_step_up(rule: AuthorizationRule) -> bool {
    matches!(rule, AuthorizationRule::Scope | AuthorizationRule::StepUp)
}

/// What a rule needs that the suite does not give.
fn not_given(settings: &AuthorizationSettings, rule: AuthorizationRule, user: Option<usize>) -> Option<&'static str> {
    if rule == AuthorizationRule::Audience && settings.other_resource.is_empty() {
        return Some("no other resource is known; name one for which tokens are issued under `other_resource`");
    }
    if needs_step_up(rule) && settings.step_up.is_none() {
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

    #[test]
    fn a_tool_that_is_not_listed_may_be_hidden_from_the_token() {
        let expected = ["authorization: scope: skipped, the server lists no tool `hide`; if it hides tools"];
        for (server, found) in [
            (
                "{ command: [x] }",
                &["authorization / hide: unknown-tool, the server lists no tool `hide`", expected[0]][..],
            ),
            ("{ url: \"http://localhost:1/mcp\", auth: { bearer: t } }", &expected),
        ] {
            let suite = format!(
                "{{ suite: s, server: {server}, authorization: {{ rules: [scope], step_up: {{ call: hide }} }} }}"
            );
            check_lines(server, &planned(&suite, &[], &json!([])), found);
        }
    }

    #[test]
    fn a_hidden_tool_is_called_only_where_it_is_allowed() {
        for (permission, expected) in [
            ("allow: [other]", "skipped, `hide` may change data"),
            ("allow: [hide]", "check"),
            ("never: [hide]", "skipped, `hide` is never called"),
            ("allow: [hide], never: [hide]", "skipped, `hide` is never called"),
        ] {
            let suite = format!(
                "{{ suite: s, server: {{ url: \"http://localhost:1/mcp\", auth: {{ bearer: t }} }}, {permission}, authorization: \
                 {{ rules: [user_may], users: {{ ben: {{ login: {{ u: ben }}, may: [{{ call: hide }}] }} }} }} }}"
            );
            let expected = format!("authorization: user_may: {expected}");
            check_lines(permission, &planned(&suite, &[], &json!([])), &[&expected]);
        }
    }
}
