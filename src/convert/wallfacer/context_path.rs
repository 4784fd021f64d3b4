//! Paths of assertions (JSONPath): into the arguments of a call, its result, an element of a loop, or the tool.

use std::fmt::Write as _;

use serde_json::Value;

/// The beginning of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRoot {
    /// The arguments of the call.
    Input,
    /// The result of the call.
    Response,
    /// The element that a loop looks at.
    Item,
    /// The tool that is called.
    Tool,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContextStep {
    /// A member.
    Name(String),
    /// An element.
    Index(usize),
    /// Every element.
    Every,
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContextPath {
    pub(crate) root: PathRoot,
    pub(crate) steps: Vec<ContextStep>,
}

impl ContextPath {
    /// Reads a path; the error says what is not understood.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let not_understood = || format!("the path `{text}` is more than names, indexes and `[*]`");
        let rest = text.strip_prefix('$').ok_or_else(not_understood)?;
        let mut steps = steps(rest).ok_or_else(not_understood)?.into_iter();
        let root = match steps.next() {
            Some(ContextStep::Name(name)) => match name.as_str() {
                "input" => PathRoot::Input,
                "response" => PathRoot::Response,
                "item" => PathRoot::Item,
                "tool" => PathRoot::Tool,
                _ => {
                    return Err(format!("`{text}` begins with none of `$.input`, `$.response`, `$.item` and `$.tool`"));
                }
            },
            _ => return Err(not_understood()),
        };
        Ok(Self { root, steps: steps.collect() })
    }

    /// Where the suite finds it in an answer; `None` for a path of several values.
    pub(crate) fn in_answer(&self) -> Option<String> {
        let is_plain =
            |name: &str| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '-');
        let has_odd_name = self.steps.iter().any(|step| matches!(step, ContextStep::Name(name) if !is_plain(name)));
        let mut at = if has_odd_name { "$.result" } else { "result" }.to_owned();
        for step in &self.steps {
            match step {
                ContextStep::Name(name) if has_odd_name => {
                    let _ = write!(at, "[{}]", Value::from(name.as_str()));
                }
                ContextStep::Name(name) => {
                    let _ = write!(at, ".{name}");
                }
                ContextStep::Index(index) => {
                    let _ = write!(at, "[{index}]");
                }
                ContextStep::Every => return None,
            }
        }
        Some(at)
    }

    /// The path as an expression of templates whose first name is `root`; `None` for a path of several values.
    pub(crate) fn expression(&self, root: &str) -> Option<String> {
        let mut text = root.to_owned();
        for step in &self.steps {
            match step {
                ContextStep::Name(name) if is_identifier(name) => {
                    let _ = write!(text, ".{name}");
                }
                ContextStep::Name(name) => {
                    let _ = write!(text, "[{}]", Value::from(name.as_str()));
                }
                ContextStep::Index(index) => {
                    let _ = write!(text, "[{index}]");
                }
                ContextStep::Every => return None,
            }
        }
        Some(text)
    }

    /// The value at the path.
    pub(crate) fn value<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.steps.iter().try_fold(value, |value, step| match step {
            ContextStep::Name(name) => value.get(name),
            ContextStep::Index(index) => value.get(index),
            ContextStep::Every => None,
        })
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The steps of a path after its `$`.
fn steps(mut rest: &str) -> Option<Vec<ContextStep>> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let name = &after[..end];
            if name.is_empty() || name.contains(['*', '?', '@', ' ']) {
                return None;
            }
            steps.push(ContextStep::Name(name.to_owned()));
            rest = &after[end..];
        } else {
            let (inner, after) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = |mark: char| inner.strip_prefix(mark)?.strip_suffix(mark);
            steps.push(match quoted('\'').or_else(|| quoted('"')) {
                Some(name) => ContextStep::Name(name.to_owned()),
                None if inner == "*" => ContextStep::Every,
                None => ContextStep::Index(inner.parse().ok()?),
            });
            rest = after;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_places_in_an_answer() {
        for (text, expected) in [
            ("$.response.content[0].text", Ok(Some("result.content[0].text"))),
            ("$.response", Ok(Some("result"))),
            ("$['response']['a b'][1]", Ok(Some("$.result[\"a b\"][1]"))),
            ("$.response.items[*].id", Ok(None)),
            ("$.response.items[?@.a]", Err("is more than names")),
            ("$..id", Err("is more than names")),
            ("response.id", Err("is more than names")),
            ("$.answer.id", Err("begins with none")),
        ] {
            match (ContextPath::parse(text).map(|path| path.in_answer()), expected) {
                (Ok(seen), Ok(expected)) => assert_eq!(seen.as_deref(), expected, "{text}"),
                (Err(seen), Err(expected)) => assert!(seen.contains(expected), "{text}: {seen}"),
                (seen, _) => panic!("{text}: {seen:?}"),
            }
        }
    }
}
