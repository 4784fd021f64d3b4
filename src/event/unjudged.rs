//! The tools of which a run knows nothing, so that it has no verdict although nothing failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::source::visible_line;

/// The most tools that a sentence names.
const MOST_NAMES: usize = 5;

/// Tools that were not judged, for one reason; a run with some has no verdict although nothing failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnjudgedTools {
    /// The reason.
    pub reason: UnjudgedReason,
    /// The reason as a sentence without a final period, which counts the tools and names none.
    pub message: String,
    /// The tools; none where the server lists none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<UnjudgedTool>,
    /// The refusal of the first tool, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What would let the tools be judged.
    pub help: String,
}

/// Why tools were not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnjudgedReason {
    /// The server declares tools and lists none.
    NoneListed,
    /// No tool of the server was called.
    NoneCalled,
    /// No call of any tool of the server was served.
    NoneServed,
    /// Generated cases called less than half of the tools, and not these.
    NotCalled,
    /// Generated cases called these tools, and no call of them was served.
    NotServed,
}

impl UnjudgedReason {
    /// Returns true if nothing is known of the whole server.
    pub fn is_of_server(self) -> bool {
        matches!(self, Self::NoneListed | Self::NoneCalled | Self::NoneServed)
    }

    /// Returns true if no case called the tools, or no generated one.
    pub fn is_of_calls(self) -> bool {
        matches!(self, Self::NoneCalled | Self::NotCalled)
    }
}

/// A tool that was not judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnjudgedTool {
    /// Its name.
    pub name: String,
    /// The name of its server in the suite, where the run has several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl UnjudgedTool {
    fn title(&self) -> String {
        let name = visible_line(&self.name);
        self.server.as_ref().map_or_else(|| format!("`{name}`"), |server| format!("`{name}` of `{server}`"))
    }
}

impl UnjudgedTools {
    /// The sentence with some of the tools, and the answer of the first.
    pub fn to_text(&self) -> String {
        let [first, ..] = self.tools.as_slice() else { return self.message.clone() };
        let names: Vec<String> = self.tools.iter().take(MOST_NAMES).map(UnjudgedTool::title).collect();
        let more = match self.tools.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let who = if self.tools.len() == 1 { "it".to_owned() } else { first.title() };
        let answer = self.answer.as_ref().map(|answer| format!("; {who} answered: {answer}")).unwrap_or_default();
        format!("{}: {}{more}{answer}", self.message, names.join(", "))
    }

    /// Changes every text that may hold a secret.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        self.help = change(&self.help);
        self.tools.iter_mut().for_each(|tool| tool.name = change(&tool.name));
        if let Some(answer) = &mut self.answer {
            *answer = change(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_some_tools_and_counts_the_others() {
        let check = |names: &[&str], server: Option<&str>, answer: Option<&str>, expected: &str| {
            let tool = |name: &&str| UnjudgedTool { name: (*name).to_owned(), server: server.map(str::to_owned) };
            let unjudged = UnjudgedTools {
                reason: UnjudgedReason::NotServed,
                message: "not judged".to_owned(),
                tools: names.iter().map(tool).collect(),
                answer: answer.map(str::to_owned),
                help: String::new(),
            };
            assert_eq!(unjudged.to_text(), expected);
        };
        check(&[], None, Some("no"), "not judged");
        check(&["a"], None, None, "not judged: `a`");
        check(&["a"], Some("s"), Some("no"), "not judged: `a` of `s`; it answered: no");
        check(&["a", "b"], Some("s"), Some("no"), "not judged: `a` of `s`, `b` of `s`; `a` of `s` answered: no");
        check(&["a", "b", "c", "d", "e", "f"], None, None, "not judged: `a`, `b`, `c`, `d`, `e` and 1 more");
    }
}
