//! The calls of a server's tools in a run, and how many of them it served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The calls of the tools of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCallCounts {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// Some block of the suite would call its tools.
    pub wants_tools: bool,
    /// It says that it has tools, and lists none.
    pub lists_none: bool,
    /// Some calls are not counted, so that nobody knows what became of them.
    pub has_uncounted: bool,
    /// Its tools, those that were called and that it does not list included, by name.
    pub tools: Vec<ToolCallCounts>,
}

/// The calls of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallCounts {
    /// The name of the tool.
    pub name: String,
    /// The way in which the server lists it.
    pub listing: ToolListing,
    /// Anything called it, a search for arguments included.
    pub called: bool,
    /// A case that rests on generated calls called it.
    pub generated: bool,
    /// The suite says that it need not be judged.
    pub exempt: bool,
    /// The number of calls that cases made.
    pub sent: usize,
    /// The number of those that were served.
    pub served: usize,
    /// Its most frequent answer to valid calls that it did not serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<CommonRefusal>,
}

/// The way in which a server lists a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolListing {
    /// It does not list it.
    #[default]
    Unlisted,
    /// It lists it.
    Listed,
    /// It lists it as a tool that is served as a task only.
    OnlyTasks,
}

/// An answer to a call that was not served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommonRefusal {
    /// Its text, cut.
    pub words: String,
    /// The number of calls that got it.
    pub times: usize,
}

impl ToolCallCounts {
    /// Returns true if the server lists it.
    pub fn is_listed(&self) -> bool {
        self.listing != ToolListing::Unlisted
    }

    /// The text of the answer that it gave instead of serving; empty where nothing is known of it.
    pub fn refusal(&self) -> &str {
        self.refusal.as_ref().map_or("", |refusal| &refusal.words)
    }

    fn absorb(&mut self, other: Self) {
        self.listing = self.listing.max(other.listing);
        self.called |= other.called;
        self.generated |= other.generated;
        self.exempt |= other.exempt;
        self.sent = self.sent.saturating_add(other.sent);
        self.served = self.served.saturating_add(other.served);
        let times = |refusal: &Option<CommonRefusal>| refusal.as_ref().map_or(0, |refusal| refusal.times);
        if times(&other.refusal) > times(&self.refusal) {
            self.refusal = other.refusal;
        }
    }
}

impl ServerCallCounts {
    /// The tools that the server lists.
    pub fn listed_tools(&self) -> impl Iterator<Item = &ToolCallCounts> {
        self.tools.iter().filter(|tool| tool.is_listed())
    }

    /// The tools that it lists and that generated cases called.
    pub fn generated_tools(&self) -> impl Iterator<Item = &ToolCallCounts> {
        self.listed_tools().filter(|tool| tool.generated)
    }

    /// Returns true if no tool that it lists was called.
    pub fn is_spared(&self) -> bool {
        self.listed_tools().next().is_some() && !self.listed_tools().any(|tool| tool.called)
    }

    /// The number of calls of tools, those of unknown ones included.
    pub fn sent_count(&self) -> usize {
        self.tools.iter().fold(0, |sum, tool| sum.saturating_add(tool.sent))
    }

    /// The number of calls that were served.
    pub fn served_count(&self) -> usize {
        self.tools.iter().fold(0, |sum, tool| sum.saturating_add(tool.served))
    }

    /// Adds the calls of the same server in another part of the run.
    pub fn absorb(&mut self, other: Self) {
        self.wants_tools |= other.wants_tools;
        self.lists_none &= other.lists_none;
        self.has_uncounted |= other.has_uncounted;
        for tool in other.tools {
            match self.tools.binary_search_by(|known| known.name.cmp(&tool.name)) {
                Ok(at) => self.tools[at].absorb(tool),
                Err(at) => self.tools.insert(at, tool),
            }
        }
    }

    /// Changes every text that may hold a secret.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        for tool in &mut self.tools {
            tool.name = change(&tool.name);
            if let Some(refusal) = &mut tool.refusal {
                refusal.words = change(&refusal.words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_run_add_up() {
        use ToolListing::{Listed, OnlyTasks, Unlisted};
        let tool = |name: &str, listing, sent, served, refusal: Option<(&str, usize)>| ToolCallCounts {
            name: name.to_owned(),
            listing,
            sent,
            served,
            called: sent > 0,
            refusal: refusal.map(|(words, times)| CommonRefusal { words: words.to_owned(), times }),
            ..ToolCallCounts::default()
        };
        let server = |lists_none, tools| ServerCallCounts { lists_none, tools, ..ServerCallCounts::default() };
        let mut whole = server(true, vec![tool("b", Unlisted, 1, 0, Some(("no", 1)))]);
        whole
            .absorb(server(false, vec![tool("a", OnlyTasks, 0, 0, None), tool("b", Listed, 2, 1, Some(("never", 2)))]));
        assert_eq!(
            whole,
            server(false, vec![tool("a", OnlyTasks, 0, 0, None), tool("b", Listed, 3, 1, Some(("never", 2)))])
        );
        assert_eq!((whole.sent_count(), whole.served_count(), whole.is_spared()), (3, 1, false));
    }
}
