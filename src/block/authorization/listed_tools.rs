//! The tools that a token may see, from all pages of `tools/list`.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most pages of a list; one that goes on is not read to its end.
const MOST_PAGES: usize = 1000;

/// The names on the pages so far.
#[derive(Debug, Default)]
pub(crate) struct ListedTools {
    names: BTreeSet<String>,
    cursors: BTreeSet<String>,
}

/// What follows a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextPage {
    /// The page with this cursor.
    At(Value),
    /// The list is whole.
    End,
    /// The answer is no page, or the list has no end.
    Unreadable,
}

impl ListedTools {
    /// Takes in the answer to a request for a page.
    pub(crate) fn take(&mut self, message: &Value) -> NextPage {
        let result = &message["result"];
        let Some(tools) = result["tools"].as_array() else { return NextPage::Unreadable };
        self.names.extend(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
        let next = &result["nextCursor"];
        if next.is_null() {
            NextPage::End
        } else if self.cursors.len() < MOST_PAGES && self.cursors.insert(next.to_string()) {
            NextPage::At(next.clone())
        } else {
            NextPage::Unreadable
        }
    }

    /// True if the list leaves a tool out.
    pub(crate) fn lacks(&self, tool: &str) -> bool {
        !self.names.contains(tool)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_left_out_of_a_list_by_all_of_its_pages() {
        let page = |names: &[&str], next: Value| {
            let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
            json!({ "result": { "tools": tools, "nextCursor": next } })
        };
        for (pages, is_whole, lacks) in [
            (vec![page(&["show"], Value::Null)], true, true),
            (vec![page(&[], Value::Null)], true, true),
            (vec![page(&["show", "wipe"], Value::Null)], true, false),
            (vec![page(&["show"], json!("2")), page(&["wipe"], Value::Null)], true, false),
            (vec![page(&["show"], json!("2")), page(&["more"], Value::Null)], true, true),
            // Nobody knows what comes after these.
            (vec![page(&["show"], json!("2"))], false, true),
            (vec![page(&["show"], json!("2")), page(&["more"], json!("2"))], false, true),
            (vec![page(&["show"], json!("2")), json!({ "error": { "code": -32602 } })], false, true),
            (vec![json!({ "result": {} })], false, true),
            (vec![Value::Null], false, true),
        ] {
            let mut listed = ListedTools::default();
            let ends: Vec<NextPage> = pages.iter().map(|page| listed.take(page)).collect();
            assert_eq!((ends.last() == Some(&NextPage::End), listed.lacks("wipe")), (is_whole, lacks), "{pages:?}");
        }
    }
}
