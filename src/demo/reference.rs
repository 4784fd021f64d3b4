//! The server on which a rule of the specification can be seen to hold, and to be broken.

use super::Settings;
use crate::fault::{Fault, decode_all};
use crate::source::{Diagnostic, Node, Value};
use crate::suite::{Property, Rule};

/// The token of the first user of a reference server that wants one.
pub const TOKEN: &str = "reference-token-1";

/// The token of its second user.
pub const SECOND_TOKEN: &str = "reference-token-2";

/// The token of the first user that allows no changes.
pub const LOW_SCOPE_TOKEN: &str = "reference-token-3";

/// A server that keeps a rule, and what breaks it.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The settings that the correct server needs to show that it keeps the rule.
    pub settings: Settings,
    /// Edits that add correct behaviour to the demo server's.
    pub healthy: Option<Vec<Fault>>,
    /// The faults that break the rule and no other; `None` where no faulty server is known.
    pub faults: Option<Vec<Fault>>,
}

impl Reference {
    /// The reference server of a rule; mistakes in what its rule book says about it are added to `found`.
    pub fn of(rule: &Rule, found: &mut Vec<Diagnostic>) -> Self {
        Self::build(rule.broken.as_ref(), rule.reference.as_ref(), found)
    }

    /// The reference server of a property, likewise.
    pub fn of_property(property: &Property, found: &mut Vec<Diagnostic>) -> Self {
        Self::build(property.broken.as_ref(), property.reference.as_ref(), found)
    }

    fn build(broken: Option<&Node>, reference: Option<&Node>, found: &mut Vec<Diagnostic>) -> Self {
        let written = |name: &str| reference.and_then(|reference| reference.get(name));
        let wants = |name: &str| written(name).and_then(Node::flag) == Some(true);
        let edits = written("edits");
        let healthy = edits.map(|node| decode_all(node, found));
        let faults = broken.map(|node| decode_all(&together(edits, node), found));
        Self { settings: settings(wants("fixtures"), wants("tasks"), wants("token")), healthy, faults }
    }
}

/// Edits that make the server what it is, and those that break it.
fn together(edits: Option<&Node>, broken: &Node) -> Node {
    let each = |node: &Node| if node.items().is_empty() { vec![node.clone()] } else { node.items().to_vec() };
    let items = edits.map(each).into_iter().flatten().chain(each(broken)).collect();
    Node { value: Value::List(items), span: broken.span }
}

fn settings(has_fixtures: bool, has_tasks: bool, wants_token: bool) -> Settings {
    let token = |text: &str| wants_token.then(|| text.to_owned());
    Settings {
        conformance_fixtures: has_fixtures,
        tasks: has_tasks,
        token: token(TOKEN),
        second_token: token(SECOND_TOKEN),
        low_scope_token: token(LOW_SCOPE_TOKEN),
        ..Settings::default()
    }
}
