//! Every place of a schema, with what a lint wants to know of it.

use serde_json::Value;

use super::{LintFinding, LintSubject};
use crate::schema::{KEYWORDS, Keyword, KeywordValue};
use crate::wire::Tool;
use crate::wire::format::{SchemaError, flaw};

/// The schemas of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolMember {
    Input,
    Output,
}

impl ToolMember {
    pub(crate) const BOTH: &'static [Self] = &[Self::Input, Self::Output];
    pub(crate) const INPUT: &'static [Self] = &[Self::Input];
    pub(crate) const OUTPUT: &'static [Self] = &[Self::Output];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Input => "inputSchema",
            Self::Output => "outputSchema",
        }
    }
}

/// The role of a schema in the one around it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role<'a> {
    /// The whole schema.
    Root,
    /// The schema of a property of the whole schema.
    Parameter(&'a str),
    /// The schema of a property further inside.
    Property(&'a str),
    /// Part of something else: items, branches, definitions.
    Part,
}

impl<'a> Role<'a> {
    /// The name of the property that it is about.
    pub(crate) fn name(self) -> Option<&'a str> {
        match self {
            Self::Parameter(name) | Self::Property(name) => Some(name),
            Self::Root | Self::Part => None,
        }
    }
}

/// A schema within a schema.
pub(crate) struct LintPosition<'a> {
    pub(crate) root: &'a Value,
    pub(crate) schema: &'a Value,
    pub(crate) role: Role<'a>,
    /// From the tool: `inputSchema.properties.path`.
    pub(crate) at: String,
    /// The number of objects and arrays around it.
    pub(crate) depth: usize,
}

impl LintPosition<'_> {
    /// Its noun in a sentence.
    pub(crate) fn noun(&self) -> String {
        match self.role {
            Role::Root => "the schema".to_owned(),
            Role::Parameter(name) => format!("`{name}`"),
            Role::Property(_) | Role::Part => format!("`{}`", self.at),
        }
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        let own = &self.schema["type"];
        own == name || own.as_array().is_some_and(|own| own.iter().any(|own| own == name))
    }

    pub(crate) fn has_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.schema.get(*keyword).is_some())
    }
}

/// A schema that can be read; what is wrong with one that cannot is a lint of its own.
fn readable(tool: &Tool, member: ToolMember) -> Option<&Value> {
    let schema = tool.raw.get(member.key()).filter(|schema| schema.is_object())?;
    (!matches!(flaw(schema), Some(SchemaError::Broken(_)))).then_some(schema)
}

/// Every place of the tool's schemas that can be read, outermost first.
pub(crate) fn places<'a>(tool: &'a Tool, members: &[ToolMember]) -> Vec<LintPosition<'a>> {
    let mut found = Vec::new();
    for member in members {
        if let Some(root) = readable(tool, *member) {
            collect(
                root,
                &mut found,
                LintPosition { root, schema: root, role: Role::Root, at: member.key().into(), depth: 0 },
            );
        }
    }
    found
}

/// Every place of a schema, whether or not it can be read.
pub(crate) fn places_within<'a>(root: &'a Value, at: &str) -> Vec<LintPosition<'a>> {
    let mut found = Vec::new();
    collect(root, &mut found, LintPosition { root, schema: root, role: Role::Root, at: at.to_owned(), depth: 0 });
    found
}

fn collect<'a>(root: &'a Value, found: &mut Vec<LintPosition<'a>>, place: LintPosition<'a>) {
    let (schema, at, depth) = (place.schema, place.at.clone(), place.depth);
    let is_root = matches!(place.role, Role::Root);
    found.push(place);
    for Keyword { name: keyword, holds, .. } in KEYWORDS.iter().filter(|keyword| keyword.holds_schemas()) {
        let keyword = *keyword;
        match (holds, schema.get(keyword)) {
            (KeywordValue::Named | KeywordValue::Definitions, Some(Value::Object(named))) => {
                for (name, inner) in named.iter().filter(|(_, inner)| inner.is_object() || inner.is_boolean()) {
                    let role = match keyword {
                        "properties" if is_root => Role::Parameter(name),
                        "properties" => Role::Property(name),
                        _ => Role::Part,
                    };
                    let depth = depth + usize::from(keyword == "properties");
                    let at = format!("{at}.{keyword}{}", step(name));
                    collect(root, found, LintPosition { root, schema: inner, role, at, depth });
                }
            }
            (KeywordValue::Schema | KeywordValue::List, Some(inner)) => {
                let depth = depth + usize::from(matches!(keyword, "items" | "prefixItems"));
                let at = format!("{at}.{keyword}");
                let mut part = |inner: &'a Value, at| {
                    if inner.is_object() {
                        collect(root, found, LintPosition { root, schema: inner, role: Role::Part, at, depth });
                    }
                };
                match inner.as_array() {
                    Some(list) => {
                        list.iter().enumerate().for_each(|(number, inner)| part(inner, format!("{at}[{number}]")));
                    }
                    None => part(inner, at),
                }
            }
            _ => {}
        }
    }
}

fn step(name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if is_plain { format!(".{name}") } else { format!("[{}]", Value::from(name)) }
}

/// One finding for each tool of which `says` has something to say: the place, and a sentence.
pub(crate) fn each_tool<'a>(
    subject: &LintSubject<'a>,
    mut says: impl FnMut(&'a Tool) -> Option<(String, String)>,
) -> Vec<LintFinding> {
    let found = subject.tools.iter().filter_map(|tool| {
        let (at, says) = says(tool)?;
        Some(LintFinding { tool: tool.name.clone(), at, says })
    });
    found.collect()
}

/// The keywords among these that the outermost level of a schema has.
pub(crate) fn outermost(place: &LintPosition<'_>, keywords: &[&str]) -> Option<String> {
    let Role::Root = place.role else { return None };
    let own: Vec<&str> = keywords.iter().copied().filter(|keyword| place.has_any(&[keyword])).collect();
    (!own.is_empty()).then(|| format!("the outermost level has `{}`", own.join("`, `")))
}
