//! One item of an `expect:` list.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::item::{self, EXPECTATION, ExpectationItem};
use super::unbreakable::{self, GuaranteedValue};
use super::{Answer, mismatch::Mismatch, mismatch::MismatchKind, mismatch::MismatchWeight, reply::ResponseKind, show};
use crate::source::grammar::{self, Shape};
use crate::source::settings::Setting;
use crate::source::template::{self, Names, TemplateError, UNFILLED, Unfilled};
use crate::source::{Diagnostic, Located, Node, Span};

/// One item of an `expect:` list; cheap to clone.
#[derive(Debug, Clone)]
pub struct Expectation {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    node: Node,
    /// `None` where templates must be filled in first.
    item: Option<ExpectationItem>,
}

impl Setting for Expectation {
    const SHAPE: Shape = Shape::Object(&EXPECTATION);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Self::build(node, found)
    }
}

impl Expectation {
    /// Compiles an item whose shape was checked against [`EXPECTATION`]; every further mistake is added to `found`.
    ///
    /// Parts with templates are compiled on evaluation, once they are filled in.
    pub fn build(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let mistakes = found.len();
        let item = ExpectationItem::build(node, found);
        if found.len() > mistakes {
            return None;
        }
        let item = if template::has_template(node) { None } else { Some(item?) };
        Some(Self { parts: Arc::new(Parts { node: node.clone(), item }) })
    }

    /// The YAML that it was compiled from.
    pub fn node(&self) -> &Node {
        &self.parts.node
    }

    /// The expectation as a suite writes it, in which `is_open` names stay names, and every other one is replaced by its
    /// value; `None` where one has no value, or an expression becomes too long.
    pub fn bind(&self, names: &Names, is_open: &mut dyn FnMut(&str) -> bool) -> Option<serde_json::Value> {
        item::bind(&self.parts.node, names, is_open)
    }

    /// The place of that YAML.
    pub fn span(&self) -> Span {
        self.parts.node.span
    }

    /// Everything about the answer that is not as expected; nothing when it passes.
    pub fn evaluate(&self, answer: &Answer<'_>) -> Vec<Mismatch> {
        let mut found = Vec::new();
        match &self.parts.item {
            Some(item) => item.check(answer, &mut found),
            None => match compile_filled(&self.parts.node, answer.names) {
                Ok(item) => item.check(answer, &mut found),
                Err(mismatches) => found = mismatches,
            },
        }
        tell_refusal(answer, &mut found);
        found
    }

    /// The variants of the fault taxonomy that a pass or a failure says something about.
    pub fn judges(&self) -> BTreeSet<&'static str> {
        let mut variants = BTreeSet::new();
        item::judges(&self.parts.node, &mut variants);
        variants
    }

    /// No answer among those that have these values can break it, as far as its text shows.
    pub fn always_holds(&self, guaranteed: &[GuaranteedValue]) -> bool {
        unbreakable::item_holds(&self.parts.node, guaranteed)
    }

    /// It requires an answer that reports no error, or a value in its result.
    pub fn expects_result(&self) -> bool {
        let node = &self.parts.node;
        let is_within = |at: &str| at.trim_start_matches(['$', '.']).starts_with("result.");
        let expects_value = node.get("at").and_then(Node::text).is_some_and(is_within);
        let is_absent = node.get("exists").and_then(Node::flag) == Some(false);
        node.get("is_error").and_then(Node::flag) == Some(false) || expects_value && !is_absent
    }

    /// The members of the answer that its paths and `assert:` expressions look at, among names of the suite.
    pub fn members(&self) -> BTreeSet<String> {
        let mut members = BTreeSet::new();
        item::members(&self.parts.node, &mut members);
        members
    }

    /// The names that its `assert:` expressions need from the suite, with the places that use them.
    pub fn free_names(&self) -> Vec<Located<String>> {
        let mut names = Vec::new();
        item::free_names(&self.parts.node, &mut names);
        names
    }
}

/// The number of characters by which a text of a server is known again.
const ENOUGH: usize = 24;

/// Adds the server's error to mismatches that say only that a value is missing.
fn tell_refusal(answer: &Answer<'_>, found: &mut [Mismatch]) {
    for mismatch in found.iter_mut().filter(|mismatch| mismatch.kind == MismatchKind::MissingValue) {
        let reply = ResponseKind::of(answer.message);
        let (ResponseKind::Error(_) | ResponseKind::ToolError(_), Some(text)) = (reply, reply.text()) else { return };
        // The message may have the text already, cut.
        let begins: String = text.chars().take(ENOUGH).collect();
        if !mismatch.message.contains(&begins) {
            mismatch.message = format!("{}; the server said: {}", mismatch.message, show::quote_sentence(&text));
        }
    }
}

fn compile_filled(node: &Node, names: &Names) -> Result<ExpectationItem, Vec<Mismatch>> {
    let unfilled = |Unfilled { span, reason }| {
        // The answer may be as expected.
        let weight = match reason {
            TemplateError::GivenUp(_) => MismatchWeight::Unjudged,
            TemplateError::Missing(_) | TemplateError::NoVariable(_) | TemplateError::Invalid(_) => {
                MismatchWeight::Fails
            }
        };
        let message = "a template in the expectation cannot be filled in";
        let mismatch = Mismatch::new(UNFILLED, span, message, reason.to_string()).with_weight(weight);
        vec![Mismatch { kind: MismatchKind::Unfilled, ..mismatch }]
    };
    let filled = template::fill(node, names).map_err(unfilled)?;
    let mut found = grammar::check(&filled, &Shape::Object(&EXPECTATION));
    let item = if found.is_empty() { ExpectationItem::build(&filled, &mut found) } else { None };
    // A value that still holds a template after filling came from a name, and is never evaluated twice.
    item.filter(|_| found.is_empty()).ok_or_else(|| {
        let mut mismatches: Vec<Mismatch> =
            found.into_iter().map(|diagnostic| Mismatch::from_diagnostic(diagnostic, node.span)).collect();
        if mismatches.is_empty() {
            let reason = TemplateError::Invalid("a filled-in value contains another template".to_owned());
            mismatches.extend(unfilled(Unfilled { span: node.span, reason }));
        }
        mismatches
    })
}
