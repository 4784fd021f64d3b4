//! Variables of the environment without which something is skipped.

use std::collections::BTreeMap;

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node};

/// The name of a variable, written `env.NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededVariable(String);

impl Setting for NeededVariable {
    const SHAPE: Shape = Shape::Text;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let text = node.text()?;
        let name = text.strip_prefix("env.").filter(|name| is_name(name));
        if name.is_none() {
            let message = format!("`{text}` names no variable of the environment");
            let bare = text.trim_start_matches(['$', '{', ' ']).trim_end_matches(['}', ' ']);
            let bare = bare.strip_prefix("env.").unwrap_or(bare);
            let help = format!("write `needs: env.{}`", if is_name(bare) { bare } else { "TOKEN" });
            found.push(Diagnostic::error("bad-name", message, node.span).with_help(help));
        }
        name.map(|name| Self(name.to_owned()))
    }
}

impl NeededVariable {
    /// Why something is skipped that needs all of these; `None` where they are set. One without a value counts as not set:
    /// CI passes a secret on in this way to those who may not have it.
    pub(crate) fn unmet(needed: &[Self], environment: &BTreeMap<String, String>) -> Option<String> {
        let is_unset = |needed: &&Self| environment.get(&needed.0).is_none_or(String::is_empty);
        let Self(name) = needed.iter().find(is_unset)?;
        Some(format!("`{name}` is not set, and `needs` names it"))
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !text.is_empty() && !text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_without_a_value_is_not_set() {
        let environment = [("SET", "1"), ("EMPTY", "")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        for (needed, expected) in [
            (&[][..], None),
            (&["SET"], None),
            (&["SET", "EMPTY"], Some("`EMPTY` is not set, and `needs` names it")),
            (&["UNSET"], Some("`UNSET` is not set, and `needs` names it")),
        ] {
            let needed: Vec<NeededVariable> = needed.iter().map(|name| NeededVariable((*name).to_owned())).collect();
            assert_eq!(NeededVariable::unmet(&needed, &environment).as_deref(), expected, "{needed:?}");
        }
    }
}
