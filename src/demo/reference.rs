//! The server on which a rule of the specification can be seen to hold, and to be broken.

use super::flaw::Flaw;
use super::settings::Settings;
use crate::source::{Diagnostic, Node};
use crate::suite::Rule;

/// The token of the first user of a reference server that wants one.
pub const TOKEN: &str = "reference-token-1";

/// The token of its second user.
pub const SECOND_TOKEN: &str = "reference-token-2";

/// The token of the first user that allows no changes.
pub const LOW_SCOPE_TOKEN: &str = "reference-token-3";

/// A server that keeps a rule, and what breaks it.
#[derive(Debug, Clone)]
pub struct Reference {
    /// What the correct server needs to show that it keeps the rule.
    pub settings: Settings,
    /// What it does wrong to break the rule and no other; nothing where no faulty server is known.
    pub flaw: Option<Flaw>,
}

impl Reference {
    /// The reference server of a rule; mistakes in what its rule book says about it are added to `found`.
    pub fn of(rule: &Rule, found: &mut Vec<Diagnostic>) -> Self {
        let wants = |name: &str| {
            let value = rule.reference.as_ref().and_then(|reference| reference.get(name));
            value.and_then(Node::flag) == Some(true)
        };
        let flaw = rule.broken.as_ref().map(|node| Flaw::decode(node, found));
        Self { settings: settings(wants("fixtures"), wants("token")), flaw }
    }
}

fn settings(has_fixtures: bool, wants_token: bool) -> Settings {
    let token = |text: &str| wants_token.then(|| text.to_owned());
    Settings {
        conformance_fixtures: has_fixtures,
        token: token(TOKEN),
        second_token: token(SECOND_TOKEN),
        low_scope_token: token(LOW_SCOPE_TOKEN),
        ..Settings::default()
    }
}
