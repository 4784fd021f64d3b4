//! Which calls are meant, and which tools are as good as one another.

use serde_json::{Value, json};

use super::JudgedView;
use crate::block::agents::run::{AgentCall, CallTarget};
use crate::matching::Expectation;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, Value as YamlValue, settings};
use crate::suite::NamePattern;

/// Calls in a suite: names of tools, or with what their arguments must be like.
pub(crate) const CALLS: Shape = Shape::NonEmpty(&Shape::List(&CallPattern::SHAPE));

settings! {
    /// A call that an agent makes.
    struct CallKeys as "a call of an agent" {
        /// The tool, or a pattern such as `search*`.
        call: NamePattern => required(),
        /// The server; by default any.
        server: Option<Located<String>>,
        /// The arguments include these.
        args: Option<Node> => shape(Shape::NonEmpty(&Shape::Map(&Shape::Any))),
        /// Expectations of the arguments; `at: city` is the argument `city`.
        expect: Vec<Expectation> => shape(Shape::NonEmpty(&Shape::List(&Expectation::SHAPE))),
    }
}

/// A call that is meant.
#[derive(Debug, Clone)]
pub(crate) struct CallPattern {
    pub(crate) tool: NamePattern,
    pub(crate) server: Option<Located<String>>,
    expect: Vec<Expectation>,
}

impl Setting for CallPattern {
    const SHAPE: Shape = Shape::Either(&[Shape::Text, CallKeys::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        if let Some(tool) = NamePattern::decode(node, found) {
            return Some(Self { tool, server: None, expect: Vec::new() });
        }
        let keys = CallKeys::decode(node, found)?;
        let included = keys.args.as_ref().and_then(|args| includes(args, found));
        let expect = included.into_iter().chain(keys.expect).collect();
        Some(Self { tool: keys.call, server: keys.server, expect })
    }
}

impl CallPattern {
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
#[derive(Debug, Clone, Default)]
pub(crate) struct EqualTools(pub(crate) Vec<Vec<Located<String>>>);

impl Setting for EqualTools {
    const SHAPE: Shape = Shape::NonEmpty(&Shape::List(&Shape::NonEmpty(&Shape::List(&Shape::Text))));

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Vec::decode(node, found).map(Self)
    }
}

impl EqualTools {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::run::AgentCall;
    use crate::block::agents::tests::{Scene, call, decoy, malformed, unknown};

    #[test]
    fn a_call_fits_by_tool_server_and_arguments() {
        let get = |arguments| call("get", arguments);
        for (pattern, made, expected) in [
            ("get", get(json!({})), None),
            ("'g*'", get(json!({})), None),
            ("find", get(json!({})), Some("`get` was called")),
            ("{ call: get, server: app }", get(json!({})), None),
            ("{ call: get, server: other }", get(json!({})), Some("`get` of `app` was called")),
            (
                "{ call: get, args: { page: { size: 1 } } }",
                get(json!({ "page": { "size": 1, "at": 2 }, "id": 3 })),
                None,
            ),
            ("get", unknown("get"), Some("`get` is no tool of the servers")),
            ("get", decoy("get"), Some("`get` is no tool of the servers")),
            ("get", malformed("get"), Some("the arguments of `get` are no JSON object")),
        ] {
            let scene = Scene::new(&format!("[{pattern}]"));
            let pattern_read = scene.read::<Vec<CallPattern>>().remove(0);
            assert_eq!(pattern_read.mismatch(&made, &scene.view()).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn arguments_and_expectations_must_hold() {
        let scene = Scene::new("[{ call: get, args: { id: u1 }, expect: [{ at: limit, less_than: 10 }] }]");
        let pattern = scene.read::<Vec<CallPattern>>().remove(0);
        let fits = |arguments| pattern.is_met_by(&call("get", arguments), &scene.view());
        assert!(fits(json!({ "id": "u1", "limit": 5 })));
        assert!(!fits(json!({ "id": "u1", "limit": 50 })), "the expectation does not hold");
        assert!(!fits(json!({ "id": "u1" })), "the value is missing");
        assert!(!fits(json!({ "id": "u2", "limit": 5 })), "another argument");
    }

    #[test]
    fn classes_name_tools_and_no_patterns() {
        let scene = Scene::new("[[search, find], ['get*', fetch]]");
        let equal = scene.read::<EqualTools>();
        assert!(equal.are_equal("search", "find") && !equal.are_equal("search", "fetch"));
        let mistakes: Vec<String> = equal.patterns().map(|mistake| mistake.message).collect();
        assert_eq!(mistakes, ["`get*` is a pattern, and a class names its tools"]);
    }

    #[test]
    fn a_call_that_could_not_be_made_was_wanted_all_the_same() {
        let scene = Scene::new("[get]");
        let pattern = scene.read::<Vec<CallPattern>>().remove(0);
        let wanted = |made: AgentCall| pattern.is_wanted_by(&made, &scene.view());
        assert!(wanted(call("get", json!({}))) && wanted(malformed("get")) && wanted(unknown("get")));
        assert!(!wanted(decoy("get")), "it is offered to be left alone");
    }
}
