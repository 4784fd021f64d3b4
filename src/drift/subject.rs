//! The things that are compared one by one, so that a report says where something has changed.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::Recorded;

/// One thing that is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeSubject {
    /// The server itself: name, revision, capabilities, instructions, order of lists.
    Server,
    /// All resources and resource templates.
    Resources,
    /// The definition of a tool.
    Tool(String),
    /// The definition of a prompt.
    Prompt(String),
    /// The answers of a tool.
    Answers(String),
}

impl ChangeSubject {
    /// Every subject of two recordings: what was recorded in its order, then what is new.
    pub fn of(before: &Recorded, after: &Recorded) -> Vec<Self> {
        let mut subjects = vec![Self::Server];
        subjects.extend(names(&before.tools, &after.tools, "name").into_iter().map(Self::Tool));
        let has_resources = |recorded: &Recorded| recorded.resources.len() + recorded.resource_templates.len() > 0;
        if has_resources(before) || has_resources(after) {
            subjects.push(Self::Resources);
        }
        subjects.extend(names(&before.prompts, &after.prompts, "name").into_iter().map(Self::Prompt));
        let mut seen = BTreeSet::new();
        let answered = before.answers.iter().filter(|answer| seen.insert(answer.tool.as_str()));
        subjects.extend(answered.map(|answer| Self::Answers(answer.tool.clone())));
        subjects
    }
}

impl fmt::Display for ChangeSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => formatter.write_str("server"),
            Self::Resources => formatter.write_str("resources"),
            Self::Tool(name) => write!(formatter, "tool {name}"),
            Self::Prompt(name) => write!(formatter, "prompt {name}"),
            Self::Answers(tool) => write!(formatter, "answers of {tool}"),
        }
    }
}

/// The names in both lists, each once, those of the first list first.
pub(crate) fn names(before: &[Value], after: &[Value], member: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let named = before.iter().chain(after).filter_map(|item| item[member].as_str());
    named.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

/// The first item of that name.
pub(crate) fn item<'a>(items: &'a [Value], member: &str, name: &str) -> Option<&'a Value> {
    items.iter().find(|item| item[member].as_str() == Some(name))
}
