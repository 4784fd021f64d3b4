//! A search for a tool in the list that a token may see, over all of its pages.

use serde_json::Value;

use crate::session::ListPages;
use crate::wire::ListKind;

/// What the pages so far say of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ToolSearch {
    /// It is on none of them; this is the cursor of the next one.
    GoesOn(Value),
    Listed,
    /// The list is whole, and leaves it out.
    Unlisted,
    /// The answer is no page, or the list has no end: nobody knows what it leaves out.
    Unreadable,
}

impl ToolSearch {
    /// Takes in the answer to a request for the next page.
    pub(crate) fn take(pages: &mut ListPages, message: &Value, tool: &str) -> Self {
        let result = &message["result"];
        let Some(tools) = result["tools"].as_array() else { return Self::Unreadable };
        if tools.iter().any(|listed| listed["name"] == tool) {
            return Self::Listed;
        }
        match pages.take(result, ListKind::Tools) {
            Ok(Some(cursor)) => Self::GoesOn(cursor),
            Ok(None) => Self::Unlisted,
            Err(_) => Self::Unreadable,
        }
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
        for (pages, expected) in [
            (vec![page(&["show"], Value::Null)], ToolSearch::Unlisted),
            (vec![page(&[], Value::Null)], ToolSearch::Unlisted),
            (vec![page(&["show", "wipe"], Value::Null)], ToolSearch::Listed),
            (vec![page(&["show", "wipe"], json!("2"))], ToolSearch::Listed),
            (vec![page(&["show"], json!("2"))], ToolSearch::GoesOn(json!("2"))),
            (vec![page(&["show"], json!("2")), page(&["wipe"], Value::Null)], ToolSearch::Listed),
            (vec![page(&["show"], json!("2")), page(&["more"], Value::Null)], ToolSearch::Unlisted),
            // Nobody knows what comes after these.
            (vec![page(&["show"], json!("2")), page(&["more"], json!("2"))], ToolSearch::Unreadable),
            (vec![page(&["show"], json!("2")), json!({ "error": { "code": -32602 } })], ToolSearch::Unreadable),
            (vec![json!({ "result": {} })], ToolSearch::Unreadable),
            (vec![Value::Null], ToolSearch::Unreadable),
        ] {
            let mut known = ListPages::default();
            let found: Vec<ToolSearch> = pages.iter().map(|page| ToolSearch::take(&mut known, page, "wipe")).collect();
            assert_eq!(found.last(), Some(&expected), "{pages:?}");
        }
    }
}
