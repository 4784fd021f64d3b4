//! Steps that subscribe to notifications while other steps run.

use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};

use super::Step;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Node, choice, settings};

settings! {
    /// A subscription, and the steps that run while it is open.
    pub struct Listen as "a subscription" {
        /// The lists whose changes are to be announced.
        pub lists: Vec<ChangingList> => alternative() shape(Shape::NonEmpty(&Shape::List(&ChangingList::SHAPE)))
            cure("write for example `listen: { lists: [tools] }`"),
        /// The URIs of the resources whose updates are to be announced.
        pub resources: Vec<Node> => alternative() shape(Shape::NonEmpty(&Shape::List(&Shape::Text)))
            cure("write for example `listen: { resources: [\"file:///notes.txt\"] }`"),
        /// Steps that run while the subscription is open; it ends after them.
        pub during: Vec<Step>,
        /// How long further notifications are awaited once the expected ones are there.
        pub linger as "for": Duration => shape(Shape::Time) default("100ms"),
    }
}

choice! {
    /// A list whose changes a server can announce.
    pub enum ChangingList {
        /// The list of tools.
        Tools = "tools",
        /// The list of prompts.
        Prompts = "prompts",
        /// The list of resources.
        Resources = "resources",
    }
}

impl ChangingList {
    /// The name of the list, which is also that of its capability.
    pub fn name(self) -> &'static str {
        ["tools", "prompts", "resources"][self as usize]
    }

    /// The member of a filter that asks for its changes (2026-07-28, basic/patterns/subscriptions).
    pub fn filter_member(self) -> &'static str {
        ["toolsListChanged", "promptsListChanged", "resourcesListChanged"][self as usize]
    }
}

/// The member of a filter that asks for updates of resources (2026-07-28, basic/patterns/subscriptions).
const UPDATES: &str = "resourceSubscriptions";

/// The notifications that a subscription asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotificationFilter {
    /// The lists whose changes are announced.
    pub lists: Vec<ChangingList>,
    /// The resources whose updates are announced.
    pub resources: Vec<String>,
}

impl NotificationFilter {
    /// Reads the filter that a server acknowledges.
    pub fn from_json(written: &Value) -> Self {
        let all = [ChangingList::Tools, ChangingList::Prompts, ChangingList::Resources];
        let resources = written[UPDATES].as_array().into_iter().flatten();
        Self {
            lists: all.into_iter().filter(|list| written[list.filter_member()] == true).collect(),
            resources: resources.filter_map(|uri| uri.as_str().map(str::to_owned)).collect(),
        }
    }

    /// The filter as it is sent.
    pub fn to_json(&self) -> Value {
        let mut written = json!({});
        for list in &self.lists {
            written[list.filter_member()] = true.into();
        }
        if !self.resources.is_empty() {
            written[UPDATES] = self.resources.clone().into();
        }
        written
    }

    /// The notifications that it asks for and another one does not, in words.
    pub fn beyond(&self, other: &Self) -> Vec<String> {
        let lists = self.lists.iter().filter(|list| !other.lists.contains(list));
        let known: Vec<String> = other.resources.iter().map(|uri| normal(uri)).collect();
        let uris = self.resources.iter().filter(|uri| !known.contains(&normal(uri)));
        let lists = lists.map(|list| format!("changes of the list of {}", list.name()));
        lists.chain(uris.map(|uri| format!("updates of `{uri}`"))).collect()
    }

    /// Returns true if an update of a resource is asked for: of one of its own, or of a part of one (2025-11-25,
    /// `ResourceUpdatedNotification`).
    pub fn has_update_of(&self, uri: &str) -> bool {
        let updated = normal(uri);
        self.resources.iter().any(|whole| {
            let whole = normal(whole);
            let rest = updated.strip_prefix(&whole);
            rest.is_some_and(|rest| rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#']))
        })
    }
}

/// An address as it is compared: `http://h` and `HTTP://h/` are the same. A text that is no address stays as it is.
fn normal(uri: &str) -> String {
    Url::parse(uri).map_or_else(|_| uri.to_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_compared_by_what_they_ask_for() {
        let asked = json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a", "file:///b"] });
        for (acknowledged, lacking, added) in [
            (asked.clone(), "", ""),
            (json!({}), "changes of the list of tools, updates of `file:///a`, updates of `file:///b`", ""),
            (json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///b"] }), "updates of `file:///a`", ""),
            (
                json!({ "toolsListChanged": false, "resourceSubscriptions": ["file:///a", "file:///b"] }),
                "changes of the list of tools",
                "",
            ),
            (
                json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": false,
                        "resourceSubscriptions": ["file:///a", "file:///b", "file:///c"] }),
                "",
                "changes of the list of prompts, updates of `file:///c`",
            ),
            (Value::Null, "changes of the list of tools, updates of `file:///a`, updates of `file:///b`", ""),
        ] {
            let (asked, got) = (NotificationFilter::from_json(&asked), NotificationFilter::from_json(&acknowledged));
            assert_eq!(asked.beyond(&got).join(", "), lacking, "{acknowledged}");
            assert_eq!(got.beyond(&asked).join(", "), added, "{acknowledged}");
        }
    }

    #[test]
    fn addresses_are_the_same_however_they_are_written() {
        let filter = |uri: &str| NotificationFilter { lists: Vec::new(), resources: vec![uri.to_owned()] };
        for (asked, uri, is_same, is_part) in [
            ("http://h", "http://h/", true, true),
            ("HTTP://H:80/a", "http://h/a", true, true),
            ("file:///a", "file:///a", true, true),
            ("no address", "no address", true, true),
            ("file:///a", "file:///b", false, false),
            ("file:///a", "file:///a/b", false, true),
            ("file:///a/", "file:///a/b", false, true),
            ("file:///a", "file:///a#b", false, true),
            ("users://u1", "users://u10", false, false),
            ("file:///a/b", "file:///a", false, false),
        ] {
            assert_eq!(filter(asked).beyond(&filter(uri)).is_empty(), is_same, "{asked} {uri}");
            assert_eq!(filter(asked).has_update_of(uri), is_part, "{asked} {uri}");
        }
    }

    #[test]
    fn a_filter_is_sent_as_it_is_read() {
        for written in [
            json!({}),
            json!({ "promptsListChanged": true, "resourcesListChanged": true }),
            json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a"] }),
        ] {
            assert_eq!(NotificationFilter::from_json(&written).to_json(), written);
        }
    }
}
