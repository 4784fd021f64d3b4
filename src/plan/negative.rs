//! Calls that must be refused, derived from what a server declares.
//!
//! A refusal says nothing about a server that refuses everything, so every case starts with a witness: a valid call of
//! the same tool, which must be served. The suite's own calls are the best witnesses, then `arguments:`, then a value
//! made from the schema.

use serde_json::{Value as Json, json};

use super::case::{Body, Case, Script, SkipReason};
use super::generated::{bare, built, text_node};
use super::planner::Planner;
use super::witness::{Witness, called_tool, donor_steps, witness};
use crate::generate;
use crate::source::template::{Names, from_json};
use crate::source::{Located, Node, Span, Value};
use crate::suite::{Action, NegativeCheck, NegativePath, Step, Test};
use crate::wire::{Catalog, ListKind, Tool};

/// Names that no server has a reason to offer.
const UNKNOWN_TOOL: &str = "mcprove_no_such_tool";
const UNKNOWN_METHOD: &str = "mcprove/no_such_method";

/// The cases of a `negative_path:` block.
pub(super) fn block_cases(
    planner: &Planner<'_>,
    template: &Case,
    negative: &NegativePath,
    catalog: &Catalog,
) -> Vec<Case> {
    let maker = Maker { planner, span: template.span, prefix: &template.name, negative, template };
    let tools: Vec<&Tool> = catalog.tools.iter().filter(|tool| negative.tools.selects(&tool.name)).collect();
    let mut cases = planner.unknown_tools(template, &negative.tools, catalog);
    cases.extend(maker.unavailable());
    let any = tools.iter().find_map(|tool| witness(planner.suite, catalog, tool).ok());
    let listing = || Witness {
        names: Names::new(),
        setup: Vec::new(),
        steps: vec![list_tools(template.span)],
        teardown: Vec::new(),
    };
    if negative.checks.contains(&NegativeCheck::UnknownTool) && !tools.is_empty() {
        cases.push(maker.unknown_tool(any.unwrap_or_else(listing)));
    }
    if negative.checks.contains(&NegativeCheck::UnknownMethod) {
        cases.push(maker.unknown_method(listing()));
    }
    for tool in tools {
        cases.extend(maker.tool(tool, witness(planner.suite, catalog, tool)));
    }
    cases
}

/// The cases of a test with `negative_path:`.
pub(super) fn test_cases(
    planner: &Planner<'_>,
    template: &Case,
    (test, negative): (&Test, &NegativePath),
    catalog: &Catalog,
) -> Vec<Case> {
    let maker = Maker { planner, span: negative.span, prefix: &test.name.value, negative, template };
    let mut cases = planner.unknown_tools(template, &negative.tools, catalog);
    let is_settled = !cases.is_empty();
    cases.extend(maker.unavailable());
    let mut seen = Vec::new();
    for tool in test.steps.iter().filter_map(called_tool).filter_map(|name| catalog.tool(name)) {
        if seen.contains(&tool.name.as_str()) || !negative.tools.selects(&tool.name) {
            continue;
        }
        let own = donor_steps(test, tool, planner.suite, catalog);
        let witness = || own.as_ref().map_or_else(|| witness(planner.suite, catalog, tool), |own| Ok(own.copy()));
        if seen.is_empty() && negative.checks.contains(&NegativeCheck::UnknownTool) {
            cases.extend(witness().ok().map(|witness| maker.unknown_tool(witness)));
        }
        seen.push(&tool.name);
        cases.extend(maker.tool(tool, witness()));
    }
    if seen.is_empty() && !is_settled {
        let reason = "the test calls no tool that the server offers, so there is nothing to derive from".to_owned();
        cases.push(maker.case("nothing to derive", Body::Skipped(SkipReason::NotApplicable(reason)), &[]));
    }
    cases
}

struct Maker<'a> {
    planner: &'a Planner<'a>,
    span: Span,
    prefix: &'a str,
    negative: &'a NegativePath,
    template: &'a Case,
}

impl Maker<'_> {
    /// Checks that this version cannot derive yet, each as a skipped case.
    fn unavailable(&self) -> Vec<Case> {
        let later =
            [(NegativeCheck::OutOfRange, "out_of_range"), (NegativeCheck::MalformedEnvelope, "malformed_envelope")];
        let asked = later.into_iter().filter(|(check, _)| self.negative.checks.contains(check));
        asked
            .map(|(_, word)| {
                self.case(word, Body::Skipped(SkipReason::NotAvailable(format!("the check `{word}`"))), &[])
            })
            .collect()
    }

    fn unknown_tool(&self, witness: Witness) -> Case {
        let call = self.call(UNKNOWN_TOOL, &json!({}));
        self.refused("unknown tool", witness, call, &["TOOL-UNKNOWN-ACCEPTED", "TOOL-ERROR-AS-SUCCESS"])
    }

    fn unknown_method(&self, witness: Witness) -> Case {
        let method = text_node(UNKNOWN_METHOD, self.span);
        let step = self.step(Action::Request { method, params: None });
        self.refused("unknown method", witness, step, &["PROTO-WRONG-ERROR-CODE"])
    }

    /// Every call of one tool that its schema forbids.
    fn tool(&self, tool: &Tool, witness: Result<Witness, String>) -> Vec<Case> {
        let variants = ["SCHEMA-INPUT-NOT-VALIDATED", "TOOL-ERROR-AS-SUCCESS"];
        let schema = tool.input_schema();
        let witness = match witness {
            Ok(witness) => witness,
            Err(reason) => {
                let body = Body::Skipped(SkipReason::NotApplicable(reason));
                return vec![self.case(&tool.name, body, &[])];
            }
        };
        let Some(args) = witness.last_args() else { return Vec::new() };
        let mut cases = Vec::new();
        if self.negative.checks.contains(&NegativeCheck::MissingRequired) {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
            for name in required {
                let call = self.call_node(&tool.name, without(&args, name));
                cases.push(self.refused(&format!("{} without `{name}`", tool.name), witness.copy(), call, &variants));
            }
        }
        if self.negative.checks.contains(&NegativeCheck::WrongType) {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let Some(wrong) = generate::wrong_type(&with_definitions(property, schema)) else { continue };
                let call = self.call_node(&tool.name, with(&args, name, &wrong));
                let name = format!("{} with {} as `{name}`", tool.name, kind_of(&wrong));
                cases.push(self.refused(&name, witness.copy(), call, &variants));
            }
        }
        cases
    }

    fn refused(&self, name: &str, witness: Witness, bad: Step, variants: &[&str]) -> Case {
        let names = witness.names;
        let script = Script {
            setup: witness.setup,
            witness: witness.steps,
            steps: vec![bad],
            teardown: witness.teardown,
            ..Script::default()
        };
        let mut case = self.case(name, Body::Script(Box::new(script)), variants);
        case.names.extend(names);
        case
    }

    fn case(&self, name: &str, body: Body, variants: &[&str]) -> Case {
        let mut case = self.planner.case(&format!("{} / {name}", self.prefix), None, self.span, body);
        case.place = self.template.place.clone();
        case.names.clone_from(&self.template.names);
        case.tags.clone_from(&self.template.tags);
        case.probes.insert("negative-path".to_owned());
        case.variants.extend(variants.iter().map(|variant| (*variant).to_owned()));
        case
    }

    fn call(&self, tool: &str, args: &Json) -> Step {
        self.call_node(tool, from_json(args, self.span))
    }

    fn call_node(&self, tool: &str, args: Node) -> Step {
        self.step(Action::Call { tool: text_node(tool, self.span), args: Some(args) })
    }

    fn step(&self, action: Action) -> Step {
        Step { expect: vec![built(&json!({"refused": true}), self.span)], expects: true, ..bare(action, self.span) }
    }
}

fn list_tools(span: Span) -> Step {
    bare(Action::List(ListKind::Tools), span)
}

fn without(args: &Node, name: &str) -> Node {
    let kept = args.entries().iter().filter(|(key, _)| key.value != name).cloned().collect();
    Node { value: Value::Map(kept), span: args.span }
}

fn with(args: &Node, name: &str, value: &Json) -> Node {
    let mut node = without(args, name);
    if let Value::Map(entries) = &mut node.value {
        entries.push((Located::new(name.to_owned(), args.span), from_json(value, args.span)));
    }
    node
}

/// A property's schema that can be compiled on its own: its references point into the whole schema.
fn with_definitions(property: &Json, schema: &Json) -> Json {
    let mut property = property.clone();
    if let (Some(fields), Some(whole)) = (property.as_object_mut(), schema.as_object()) {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = whole.get(key) {
                fields.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    property
}

fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Number(_) => "a number",
        Json::String(_) => "text",
        Json::Bool(_) => "a boolean",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
        Json::Null => "null",
    }
}
