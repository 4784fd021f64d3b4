//! Which calls are meant, and which tools are as good as one another.

use serde_json::{Value, json};

use super::JudgedView;
use crate::block::agents::run::{AgentCall, CallTarget};
use crate::matching::{EXPECTATION, Expectation};
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::{Diagnostic, Located, Node, Span, Value as YamlValue};
use crate::suite::NamePattern;

/// Calls in a suite: names of tools, or with what their arguments must be like.
pub(crate) const CALLS: Shape = Shape::NonEmpty(&Shape::List(&Shape::Either(&[Shape::Text, Shape::Object(&CALL)])));

static CALL: Object = Object {
    name: "a call of an agent",
    doc: "A call that an agent makes.",
    keys: &[&[
        required("call", Shape::Text, "The tool, or a pattern such as `search*`."),
        key("server", Shape::Text, "The server; by default any."),
        key("args", Shape::NonEmpty(&Shape::Map(&Shape::Any)), "The arguments include these."),
        key(
            "expect",
            Shape::NonEmpty(&Shape::List(&Shape::Object(&EXPECTATION))),
            "Expectations of the arguments; `at: city` is the argument `city`.",
        ),
    ]],
};

/// A call that is meant.
#[derive(Debug, Clone)]
pub(crate) struct CallPattern {
    pub(crate) tool: NamePattern,
    pub(crate) server: Option<Located<String>>,
    expect: Vec<Expectation>,
}

impl CallPattern {
    /// Reads calls that were checked against [`CALLS`].
    pub(crate) fn read_all(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<Self> {
        node.items().iter().filter_map(|item| Self::read(item, found)).collect()
    }

    fn read(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        if let Some(tool) = node.located_text() {
            return Some(Self { tool: NamePattern::new(tool), server: None, expect: Vec::new() });
        }
        let mut expect: Vec<Expectation> =
            node.get("args").and_then(|args| includes(args, found)).into_iter().collect();
        let written = node.get("expect").map(Node::items).unwrap_or_default();
        expect.extend(written.iter().filter_map(|item| Expectation::build(item, found)));
        let tool = NamePattern::new(node.get("call")?.located_text()?);
        Some(Self { tool, server: node.get("server").and_then(Node::located_text), expect })
    }

    /// Why a call is not the one that is meant; `None` where it is.
    pub(crate) fn mismatch(&self, call: &AgentCall, view: &JudgedView<'_>) -> Option<String> {
        let Some((server, tool)) = call.reached_tool() else {
            return Some(match call.target {
                CallTarget::Malformed { .. } => format!("the arguments of `{}` are no JSON object", call.name),
                CallTarget::Tool { .. } | CallTarget::Decoy | CallTarget::Unknown => {
                    format!("`{}` is no tool of the servers", call.name)
                }
            });
        };
        if self.server.as_ref().is_some_and(|wanted| wanted.value != server) {
            return Some(format!("`{tool}` of `{server}` was called"));
        }
        if !self.names(tool, view) {
            return Some(format!("`{tool}` was called"));
        }
        let params = json!({ "name": tool, "arguments": call.arguments });
        let answer = view.answer(&call.arguments, &params);
        let mismatch = self.expect.iter().flat_map(|expectation| expectation.evaluate(&answer)).next()?;
        Some(format!("the arguments {}: {}", compact(&call.arguments), mismatch.message))
    }

    fn names(&self, tool: &str, view: &JudgedView<'_>) -> bool {
        self.tool.is_match(tool) || view.equal.are_equal(&self.tool.name.value, tool)
    }

    /// A call of its tool counts also if it could not be made.
    pub(crate) fn is_wanted_by(&self, call: &AgentCall, view: &JudgedView<'_>) -> bool {
        call.wanted_tool().is_some_and(|tool| self.names(tool, view))
    }

    pub(crate) fn is_met_by(&self, call: &AgentCall, view: &JudgedView<'_>) -> bool {
        self.mismatch(call, view).is_none()
    }

    pub(crate) fn span(&self) -> Span {
        self.tool.name.span
    }
}

/// The expectation that a value includes another.
fn includes(args: &Node, found: &mut Vec<Diagnostic>) -> Option<Expectation> {
    let at = |key: &str| Located::new(key.to_owned(), args.span);
    let path = Node { value: YamlValue::Text("$".to_owned()), span: args.span };
    let entries = vec![(at("at"), path), (at("includes"), args.clone())];
    Expectation::build(&Node { value: YamlValue::Map(entries), span: args.span }, found)
}

/// A value in one short line.
pub(crate) fn compact(value: &Value) -> String {
    crate::source::shorten(&value.to_string(), 120)
}

/// Classes of tools that are as good as one another.
#[derive(Debug, Default)]
pub(crate) struct EqualTools(pub(crate) Vec<Vec<Located<String>>>);

impl EqualTools {
    pub(crate) fn read(node: &Node) -> Self {
        Self(node.items().iter().map(|class| crate::suite::texts(Some(class))).collect())
    }

    /// A mistake for each pattern: a class names its tools.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = Diagnostic> {
        self.0.iter().flatten().filter(|tool| tool.value.contains('*')).map(|tool| {
            let message = format!("`{}` is a pattern, and a class names its tools", tool.value);
            Diagnostic::error("bad-name", message, tool.span).with_help("write a name for each tool".to_owned())
        })
    }

    /// Two tools are equal if one class has both.
    pub(crate) fn are_equal(&self, one: &str, other: &str) -> bool {
        let has = |class: &[Located<String>], name: &str| class.iter().any(|tool| tool.value == name);
        self.0.iter().any(|class| has(class, one) && has(class, other))
    }
}
