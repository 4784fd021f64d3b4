//! `trust_boundary:`, texts of one server that must not steer the use of another.
//!
//! A model sees the tools of all its servers at once. So a server that is not trusted can take the name of a tool of
//! another one or describe how that is to be used ([`shadowing`]), and what it answers can end up in a call of it
//! ([`flow`], [`arrival`], [`verdict`]). No model takes part: the suite says in steps how data gets from one server to the
//! other, and every text that the first one answers gets a marker, as if its author were hostile.

mod cases;
mod flow;
mod sampling;
mod shadowing;
mod verdict;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Kind;
use crate::matching::ValuePath;
use crate::plan::planner::Planner;
use crate::plan::{Block, Case, CaseSource, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, did_you_mean, settings};
use crate::suite::{BlockReader, Suite, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "trust_boundary",
        Shape::Either(&[TrustBoundary::SHAPE, Vec::<TrustBoundary>::SHAPE]),
        "Texts of a server that is not trusted, which must not steer the use of another server.",
    ),
    probes: &["security", "trust-boundary"],
    example: "trust_boundary: { from: web, to: mail, tool: send, flow: [{ call: fetch }, { call: send }] }",
    decode,
    decode_in_test: None,
};

settings! {
    /// A server that is not trusted, and one to protect. Without `flow`, only their lists are compared.
    struct TrustBoundary as "trust_boundary", at span {
        /// The server that is not trusted.
        from: Located<String> => required(),
        /// The server to protect.
        to: Located<String> => required(),
        /// The tool that the flow must not reach; by default every tool of that server.
        tool: Option<Located<String>>,
        /// A name for the flow in reports.
        name: Option<String>,
        /// The steps by which data gets from one server to the other. They are made twice: as written, which must succeed, and
        /// with a marker in every text that the first server answers.
        steps as "flow": Vec<FlowKeys> => shape(Shape::NonEmpty(&Shape::List(&FlowKeys::SHAPE))),
        /// Arguments of the protected tools that may hold any text, such as the body of a note.
        allow: Vec<String> => beside(&["flow"]),
        /// Tools that make a text harmless: text that comes out of them may arrive.
        sanitised_by: Option<ToolSelection> => beside(&["flow"]),
    } with {
        /// The steps, each with its server.
        flow: Vec<FlowStep>,
    }
}

settings! {
    /// A call or a read on one of the servers.
    struct FlowKeys as "a step between servers" {
        /// Calls this tool.
        call: Option<String> => alternative() choice("action"),
        /// The arguments of the tool, or a template for all of them.
        args: Option<Node> => beside(&["call"]) shape(Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template])),
        /// Reads the resource with this URI.
        read: Option<Node> => alternative() shape(Shape::Text) choice("action"),
        /// The server; by default `to` for calls of `tool`, and `from` for everything else.
        server: Option<Located<String>>,
        /// Names for values of the answer, by path; later steps use them as `{{ name }}`.
        capture: Vec<(Located<String>, ValuePath)>,
    }
}

/// One step of a flow.
#[derive(Debug, Clone)]
struct FlowStep {
    action: FlowAction,
    server: Located<String>,
    captures: Vec<(Located<String>, ValuePath)>,
}

impl FlowStep {
    /// The tool that it calls.
    fn tool(&self) -> Option<&str> {
        match &self.action {
            FlowAction::Call { tool, .. } => Some(tool),
            FlowAction::Read { .. } => None,
        }
    }
}

/// The request of a step; values are unfilled.
#[derive(Debug, Clone)]
enum FlowAction {
    Call { tool: String, args: Option<Node> },
    Read { uri: Node },
}

/// The boundaries of a suite.
#[derive(Debug)]
struct TrustBoundaries(Vec<Arc<TrustBoundary>>);

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let nodes = if node.entries().is_empty() { node.items() } else { std::slice::from_ref(node) };
    let boundaries: Vec<_> = nodes.iter().filter_map(|node| Some(Arc::new(boundary(node, reader)?))).collect();
    Some(Arc::new(TrustBoundaries(boundaries)))
}

fn boundary(node: &Node, reader: &mut dyn BlockReader) -> Option<TrustBoundary> {
    let mut boundary = TrustBoundary::decode(node, reader.mistakes())?;
    let TrustBoundary { from, to, tool, .. } = &boundary;
    let step = |keys: &FlowKeys| {
        let action = match (&keys.call, &keys.read) {
            (Some(tool), _) => FlowAction::Call { tool: tool.clone(), args: keys.args.clone() },
            (None, read) => FlowAction::Read { uri: read.clone()? },
        };
        let is_protected = matches!((&action, tool), (FlowAction::Call { tool, .. }, Some(own)) if *tool == own.value);
        let usual = if is_protected { to } else { from };
        let server = keys.server.clone().unwrap_or_else(|| usual.clone());
        Some(FlowStep { action, server, captures: keys.capture.clone() })
    };
    boundary.flow = boundary.steps.iter().filter_map(step).collect();
    Some(boundary)
}

impl SuiteSettings for TrustBoundaries {
    fn check(&self, suite: &Suite, found: &mut Vec<Diagnostic>) {
        for boundary in &self.0 {
            let TrustBoundary { from, to, tool, flow, .. } = boundary.as_ref();
            let servers: Vec<_> = [from, to].into_iter().chain(flow.iter().map(|step| &step.server)).collect();
            let mut unknown: Vec<&Located<String>> =
                servers.into_iter().filter(|server| !suite.servers.contains_key(&server.value)).collect();
            unknown.dedup_by_key(|server| server.span);
            found.extend(unknown.into_iter().map(|server| {
                let message = format!("the suite has no server `{}`", server.value);
                Diagnostic::error("unknown-server", message, server.span)
                    .with_help(did_you_mean(&server.value, suite.servers.keys().map(String::as_str)))
            }));
            if from.value == to.value {
                let message = "a trust boundary lies between two servers, and `from` and `to` are the same".to_owned();
                found.push(Diagnostic::error("no-boundary", message, to.span));
            }
            let reaches = |step: &FlowStep| step.server.value == to.value;
            if !flow.is_empty() && !flow.iter().any(reaches) {
                let message = format!("no step of the flow reaches `{}`", to.value);
                let help = tool.as_ref().map_or_else(
                    || format!("say `server: {}` in the step that does", to.value),
                    |tool| format!("call `{}`, or say `server: {}` in the step that does", tool.value, to.value),
                );
                found.push(Diagnostic::error("no-boundary", message, boundary.span).with_help(help));
            }
            let called: Vec<&str> = flow.iter().filter_map(FlowStep::tool).collect();
            if let Some(tool) = tool.as_ref().filter(|tool| !flow.is_empty() && !called.contains(&tool.value.as_str()))
            {
                let message = format!("no step of the flow calls `{}`", tool.value);
                let help = did_you_mean(&tool.value, called);
                found.push(Diagnostic::error("no-boundary", message, tool.span).with_help(help));
            }
            let others = flow.iter().filter(|step| ![&from.value, &to.value].contains(&&step.server.value));
            found.extend(others.map(|step| {
                let message = format!("`{}` is neither `from` nor `to`", step.server.value);
                Diagnostic::error("no-boundary", message, step.server.span)
            }));
        }
    }
}

impl CaseSource for TrustBoundaries {
    fn cases(&self, _: &Planner<'_>, _: &Case, _: &Offer<'_>) -> Vec<Case> {
        Vec::new()
    }

    fn known_cases(&self, planner: &Planner<'_>, block: &Block) -> Option<Vec<Case>> {
        let mut compared = BTreeSet::new();
        let cases = self.0.iter().flat_map(|boundary| {
            let pair = (&boundary.from.value, &boundary.to.value);
            let same = self.0.iter().filter(|other| (&other.from.value, &other.to.value) == pair);
            let tools = same.filter_map(|other| Some(other.tool.as_ref()?.value.clone())).collect();
            let is_new = compared.insert(pair);
            let lists = if is_new { cases::of_lists(planner, block, boundary, &tools) } else { Vec::new() };
            lists.into_iter().chain(cases::of_flow(planner, block, boundary))
        });
        Some(cases.collect())
    }
}
