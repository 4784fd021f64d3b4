//! Calls that must be refused, derived from what a server declares.
//!
//! A refusal says nothing about a server that refuses everything, so every case starts with a witness: a valid call of
//! the same tool, which must be served. The suite's own calls are the best witnesses, then `arguments:`, then a value
//! made from the schema. After what must be refused comes a sign of life.
//! Which arguments a schema forbids is found in `forbidden`, numbers as text in `as_text`, what is no request at all in `envelope`.

use serde_json::{Value as Json, json};

use super::envelope::{Envelope, envelopes};
use super::forbidden::{self, Derived, Forbidden, derive};
use super::malformed;
use super::{NegativeCheck, NegativePath, NegativeTest};
use crate::event::Reason;
use crate::plan::generated::{bare, expectation, text_node};
use crate::plan::planner::Planner;
use crate::plan::witness::{Witness, called_tool, donor_steps, find_witness};
use crate::plan::{Body, Case, Offer, Script, SessionNeed};
use crate::source::template::{Names, from_json, has_template};
use crate::source::{Node, Span};
use crate::suite::{Action, Step};
use crate::wire::{ListKind, Tool};

/// Names that no server has a reason to offer.
const UNKNOWN_TOOL: &str = "mcprove_no_such_tool";
const UNKNOWN_METHOD: &str = "mcprove/no_such_method";

/// The most prompts that get values which name nothing.
const MOST_PROMPTS: usize = 8;

/// The most cases of a block, but for those of the last tool.
const MOST_CASES: usize = 10_000;

/// The cases of a `negative_path:` block.
pub(crate) fn block_cases(
    planner: &Planner<'_>,
    template: &Case,
    negative: &NegativePath,
    offer: &Offer<'_>,
) -> Vec<Case> {
    let catalog = offer.catalog;
    let deriver = Deriver { planner, span: template.span, prefix: &template.name, negative, template };
    let tools: Vec<&Tool> = catalog.tools.iter().filter(|tool| negative.tools.selects(&tool.name)).collect();
    let mut cases = planner.unknown_tools(template, &negative.tools, catalog);
    let any = tools.iter().find_map(|tool| find_witness(planner, catalog, tool).ok());
    if deriver.asks_for(NegativeCheck::UnknownTool) && !tools.is_empty() {
        cases.push(deriver.unknown_tool(any.unwrap_or_else(|| deriver.alone(Action::List(ListKind::Tools)))));
    }
    cases.extend(deriver.of_server(offer));
    cases.extend(deriver.of_arguments(&tools, offer));
    for (at, tool) in tools.iter().enumerate() {
        if cases.len() >= MOST_CASES {
            let name = format!("{} more tools", tools.len() - at);
            cases
                .push(deriver.skipped_case(&name, format!("{MOST_CASES} calls are made; `tools` says of which tools")));
            break;
        }
        cases.extend(deriver.tool(tool, find_witness(planner, catalog, tool)));
    }
    cases
}

/// The cases of a test with `negative_path:`.
pub(crate) fn test_cases(planner: &Planner<'_>, template: &Case, asked: &NegativeTest, offer: &Offer<'_>) -> Vec<Case> {
    let NegativeTest { test, settings: negative } = asked;
    let catalog = offer.catalog;
    let deriver = Deriver { planner, span: negative.span, prefix: &test.name.value, negative, template };
    let mut cases = planner.unknown_tools(template, &negative.tools, catalog);
    cases.extend(deriver.of_server(offer));
    let is_settled = !cases.is_empty();
    let mut seen = Vec::new();
    for tool in test.steps.iter().filter_map(called_tool).filter_map(|name| catalog.tool(name)) {
        if seen.contains(&tool.name.as_str()) || !negative.tools.selects(&tool.name) {
            continue;
        }
        let own = donor_steps(test, tool, planner, catalog);
        let witness = || own.as_ref().map_or_else(|| find_witness(planner, catalog, tool), |own| Ok(own.copy()));
        if seen.is_empty() && deriver.asks_for(NegativeCheck::UnknownTool) {
            cases.extend(witness().ok().map(|witness| deriver.unknown_tool(witness)));
        }
        seen.push(&tool.name);
        cases.extend(deriver.tool(tool, witness()));
    }
    if seen.is_empty() && !is_settled {
        let reason = "the test calls no tool that the server offers, so there is nothing to derive from".to_owned();
        cases.push(deriver.skipped_case("nothing to derive", reason));
    }
    cases
}

struct Deriver<'a> {
    planner: &'a Planner<'a>,
    span: Span,
    prefix: &'a str,
    negative: &'a NegativePath,
    template: &'a Case,
}

impl Deriver<'_> {
    fn asks_for(&self, check: NegativeCheck) -> bool {
        self.negative.checks.contains(&check)
    }

    fn unknown_tool(&self, witness: Witness) -> Case {
        let call = self.call(UNKNOWN_TOOL, from_json(&json!({}), self.span), &json!(true));
        self.refusal_case("unknown tool", witness, call, NegativeCheck::UnknownTool)
    }

    /// Checks without a tool.
    fn of_server(&self, offer: &Offer<'_>) -> Vec<Case> {
        let mut cases = Vec::new();
        if self.asks_for(NegativeCheck::UnknownMethod) {
            let method = text_node(UNKNOWN_METHOD, self.span);
            let step = self.must_be_refused(Action::Request { method, params: None }, &json!(true));
            let has_tools = offer.capabilities.get(ListKind::Tools.capability()).is_some();
            let witness = self.alone(if has_tools { Action::List(ListKind::Tools) } else { Action::Alive });
            cases.push(self.refusal_case("unknown method", witness, step, NegativeCheck::UnknownMethod));
        }
        if self.asks_for(NegativeCheck::MalformedEnvelope) {
            cases.extend(envelopes(offer.revision, self.span).into_iter().map(|envelope| self.envelope(envelope)));
        }
        cases
    }

    /// Checks with one reading tool, and with prompts.
    fn of_arguments(&self, tools: &[&Tool], offer: &Offer<'_>) -> Vec<Case> {
        let mut cases = Vec::new();
        if self.asks_for(NegativeCheck::MalformedArguments) {
            let reading = || tools.iter().filter(|tool| tool.only_reads());
            let witness = |tool: &Tool| find_witness(self.planner, offer.catalog, tool).ok();
            if let Some((tool, witness)) = reading().find_map(|tool| Some((tool, witness(tool)?))) {
                let name = format!("{} with arguments that are no object", tool.name);
                cases.push(self.malformed_case(&name, witness, malformed::no_objects(&tool.name, self.span)));
            }
            let repeated = reading().find_map(|tool| {
                let witness = witness(tool)?;
                let arguments = witness.last_args().filter(|args| !has_template(args))?.to_json();
                Some((tool, witness, malformed::twice(tool, &arguments, offer.revision, self.span)?))
            });
            if let Some((tool, witness, steps)) = repeated {
                let mut case = self.malformed_case(&format!("{} with an argument twice", tool.name), witness, steps);
                case.session = case.session.max(SessionNeed::InTurn);
                cases.push(case);
            }
        }
        if self.asks_for(NegativeCheck::UnknownValue) {
            let prompts = offer.catalog.prompts.iter();
            let asked = prompts.filter_map(|prompt| Some((prompt, malformed::unknown_values(prompt, self.span)?)));
            for (prompt, steps) in asked.take(MOST_PROMPTS) {
                let name =
                    format!("prompt {} with values that name nothing", prompt["name"].as_str().unwrap_or_default());
                cases.push(self.malformed_case(&name, self.alone(Action::List(ListKind::Prompts)), steps));
            }
        }
        cases
    }

    fn malformed_case(&self, name: &str, witness: Witness, steps: Vec<Step>) -> Case {
        let Witness { names, setup, steps: witness, teardown } = witness;
        let script = Script { setup, witness, steps: steps.into(), teardown, ..Script::default() };
        let mut case = self.case(name, Body::Script(Box::new(script)), &[]);
        case.names.extend(names);
        case
    }

    fn envelope(&self, envelope: Envelope) -> Case {
        let witness = vec![bare(Action::Alive, self.span)];
        let script = Script { witness, steps: envelope.steps.into(), ..Script::default() };
        let name = format!("malformed envelope: {}", envelope.name);
        let mut case = self.case(&name, Body::Script(Box::new(script)), NegativeCheck::MalformedEnvelope.judges());
        case.session = case.session.max(SessionNeed::InTurn);
        case
    }

    /// Every call of one tool that its schema forbids.
    fn tool(&self, tool: &Tool, witness: Result<Witness, Reason>) -> Vec<Case> {
        let witness = match witness {
            Ok(witness) => witness,
            Err(reason) => return vec![self.skipped_case(&tool.name, reason)],
        };
        let Some(args) = witness.last_args() else { return Vec::new() };
        let Derived { calls, left_out } = match derive(tool, &args, self.negative) {
            Ok(derived) => derived,
            Err(reason) => return vec![self.skipped_case(&tool.name, reason)],
        };
        let shown = calls.len();
        let mut cases: Vec<Case> = calls.into_iter().map(|call| self.forbidden(tool, &witness, call)).collect();
        if left_out > 0 {
            let reason = format!(
                "{shown} of the {} calls that its schema forbids are made; `cases` sets how many",
                shown + left_out
            );
            cases.push(self.skipped_case(&format!("{}, {left_out} more", tool.name), reason));
        }
        cases
    }

    fn forbidden(&self, tool: &Tool, witness: &Witness, call: Forbidden) -> Case {
        let binding = if call.is_advice { json!("should") } else { json!(true) };
        let step = self.call(&tool.name, call.args, &binding);
        self.refusal_case(
            &format!("{} {}", tool.name, call.title),
            witness.copy(),
            step,
            forbidden::check_of(call.breach),
        )
    }

    fn refusal_case(&self, name: &str, witness: Witness, bad: Step, check: NegativeCheck) -> Case {
        let names = witness.names;
        let script = Script {
            setup: witness.setup,
            witness: witness.steps,
            steps: [bad, sign_of_life(self.span)].into(),
            teardown: witness.teardown,
            ..Script::default()
        };
        let mut case = self.case(name, Body::Script(Box::new(script)), check.judges());
        case.names.extend(names);
        case
    }

    fn skipped_case(&self, name: &str, reason: impl Into<Reason>) -> Case {
        self.case(name, Body::skipped(reason.into()), &[])
    }

    fn case(&self, name: &str, body: Body, variants: &[&str]) -> Case {
        let mut case = self.planner.case(&format!("{} / {name}", self.prefix), None, self.span, body);
        case.place = self.template.place.clone();
        case.names.clone_from(&self.template.names);
        case.tags.clone_from(&self.template.tags);
        case.probes.insert("negative-path".to_owned());
        case.is_derived = true;
        case.variants.extend(variants.iter().map(|variant| (*variant).to_owned()));
        case
    }

    /// A witness of its own: something that every server does.
    fn alone(&self, action: Action) -> Witness {
        let steps = vec![bare(action, self.span)];
        Witness { names: Names::new(), setup: Vec::new(), steps, teardown: Vec::new() }
    }

    fn call(&self, tool: &str, args: Node, binding: &Json) -> Step {
        self.must_be_refused(Action::Call { tool: text_node(tool, self.span), args: Some(args) }, binding)
    }

    fn must_be_refused(&self, action: Action, binding: &Json) -> Step {
        Step {
            expect: vec![expectation(&json!({"refused": binding}), self.span)],
            expects: true,
            ..bare(action, self.span)
        }
    }
}

/// Asks whether the server still answers.
pub(crate) fn sign_of_life(span: Span) -> Step {
    Step { name: Some("a sign of life after it".to_owned()), ..bare(Action::Alive, span) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::{check_lines, planned};

    /// Tools of which one reads, one is left out, and one asks for nothing.
    fn tools() -> Json {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
        json!([
            {"name": "get_user", "inputSchema": schema},
            {"name": "delete_user", "inputSchema": schema},
            {"name": "get_all", "inputSchema": {"type": "object"}},
        ])
    }

    #[test]
    fn calls_that_must_be_refused_follow_from_the_schemas() {
        for (block, expected) in [
            (
                "{ tools: get_user, checks: [missing_required] }",
                &["negative_path / get_user without `id`: 2 steps"][..],
            ),
            ("{ tools: get_all, checks: [missing_required, out_of_range] }", &[]),
            ("{ tools: delete_user, checks: [missing_required] }", &["negative_path / delete_user: skipped"]),
            ("{ tools: get_user, checks: [unknown_tool] }", &["negative_path / unknown tool: 2 steps"]),
            // Nothing of the server is called but what no server has.
            (
                "{ tools: delete_user, checks: [unknown_tool] }",
                &["negative_path / unknown tool: 2 steps", "negative_path / delete_user: skipped"],
            ),
            ("{ tools: get_all, checks: [unknown_method] }", &["negative_path / unknown method: 2 steps"]),
            (
                "{ tools: get_user, checks: [malformed_arguments] }",
                &[
                    "negative_path / get_user with arguments that are no object: 6 steps",
                    "negative_path / get_user with an argument twice: 2 steps",
                ],
            ),
            (
                "{ tools: get_nobody, checks: [missing_required] }",
                &["negative_path / get_nobody: unknown-tool, the server lists no tool `get_nobody`"],
            ),
        ] {
            check_lines(block, &planned(&format!("{{ suite: s, negative_path: {block} }}"), &[], &tools()), expected);
        }
    }

    #[test]
    fn calls_that_are_left_out_are_told() {
        let lines =
            planned("{ suite: s, negative_path: { tools: get_user, checks: [wrong_type], cases: 1 } }", &[], &tools());
        let [made, left_out] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(made.ends_with(" as `id`: 2 steps"), "{made}");
        assert!(left_out.contains(" more: skipped, ") && left_out.contains("`cases` sets how many"), "{left_out}");
    }

    #[test]
    fn a_test_asks_for_refusals_of_the_tools_that_it_calls() {
        for (test, expected) in [
            (
                "{ name: t, call: get_user, args: { id: u1 }, expect: [{ is_error: false }], negative_path: { checks: [missing_required] } }",
                &["t / get_user without `id`: 2 steps"][..],
            ),
            (
                "{ name: t, call: get_user, args: { id: u1 }, expect: [{ is_error: false }], negative_path: { checks: [unknown_tool] } }",
                &["t / unknown tool: 2 steps"],
            ),
            (
                "{ name: t, alive: true, negative_path: true }",
                &["t / nothing to derive: skipped, the test calls no tool"],
            ),
        ] {
            check_lines(test, &planned(&format!("{{ suite: s, tests: [{test}] }}"), &[], &tools()), expected);
        }
    }
}
