//! Tools that return their items in pages: the arguments that ask for a page, and the list that is one.

use serde_json::{Map, Value};

use super::words::PageRequest;
use crate::wire::Tool;

/// Names of arguments that bound the number of items, in small letters and without signs.
const LIMITS: [&str; 14] = [
    "limit",
    "count",
    "first",
    "size",
    "take",
    "top",
    "maxcount",
    "maxitems",
    "maxresults",
    "pagelimit",
    "pagesize",
    "perpage",
    "numresults",
    "resultlimit",
];

/// Names of arguments with the place that a page begins after: a text of the server's.
const CURSORS: [&str; 8] =
    ["after", "aftercursor", "cursor", "continuationtoken", "nextcursor", "nexttoken", "pagetoken", "startingafter"];

/// Names of arguments with the number of items before the page.
const OFFSETS: [&str; 4] = ["offset", "skip", "startat", "startindex"];

/// Names of arguments with the number of the page. Servers count from 0 or from 1, so only 2 is surely a later one.
const PAGES: [&str; 3] = ["page", "pageindex", "pagenumber"];

/// Names of members with the cursor of the next page.
const NEXT: [&str; 8] =
    ["cursor", "continuationtoken", "endcursor", "next", "nextcursor", "nextpage", "nextpagetoken", "nexttoken"];

/// The arguments of a call ask for that.
pub(crate) fn asks(arguments: &Value, wanted: PageRequest) -> bool {
    match wanted {
        PageRequest::Limit => limit(arguments).is_some(),
        PageRequest::LaterPage => later_page(arguments).is_some(),
    }
}

/// Calls of the tool can ask for that, as far as the top level of its schema tells.
pub(crate) fn can_ask(tool: &Tool, wanted: PageRequest) -> bool {
    let properties = tool.raw["inputSchema"]["properties"].as_object();
    let names = properties.into_iter().flatten().map(|(name, _)| plain(name));
    let known: &[&[&str]] = match wanted {
        PageRequest::Limit => &[&LIMITS],
        PageRequest::LaterPage => &[&CURSORS, &OFFSETS, &PAGES],
    };
    names.into_iter().any(|name| known.iter().any(|known| known.contains(&name.as_str())))
}

/// The greatest number of items that a call asks for.
pub(crate) fn limit(arguments: &Value) -> Option<usize> {
    let mut found = members(arguments).filter(|(name, _)| LIMITS.contains(&plain(name).as_str()));
    found.find_map(|(_, value)| usize::try_from(value.as_u64()?).ok()).filter(|limit| *limit > 0)
}

/// The argument that asks for a page after the first one, and its value.
pub(crate) fn later_page(arguments: &Value) -> Option<(&str, &Value)> {
    let found = members(arguments).find(|(name, value)| {
        let name = plain(name);
        let is_one_of = |known: &[&str]| known.contains(&name.as_str());
        let is_from = |least: u64| value.as_u64().is_some_and(|number| number >= least);
        is_one_of(&CURSORS) && value.as_str().is_some_and(|text| !text.is_empty())
            || is_one_of(&OFFSETS) && is_from(1)
            || is_one_of(&PAGES) && is_from(2)
    });
    found.map(|(name, value)| (name.as_str(), value))
}

/// Two calls ask for pages of the same list: their arguments are the same but for those of the page.
pub(crate) fn is_same_list(one: &Value, other: &Value, and_limit: bool) -> bool {
    let rest = |arguments: &Value| -> Map<String, Value> {
        let kept = members(arguments).filter(|(name, _)| {
            let name = plain(name);
            let is_one_of = |known: &[&str]| known.contains(&name.as_str());
            let is_place = is_one_of(&CURSORS) || is_one_of(&OFFSETS) || is_one_of(&PAGES);
            !is_place && (and_limit || !is_one_of(&LIMITS))
        });
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    rest(one) == rest(other)
}

/// The list among the data of an answer that is the page: the data itself, or the longest list among its members.
pub(crate) fn page(data: &Value) -> Option<&Vec<Value>> {
    match data {
        Value::Array(items) => Some(items),
        Value::Object(_) => data.get(page_name(data)?)?.as_array(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The same, to be changed.
pub(crate) fn page_mut(data: &mut Value) -> Option<&mut Vec<Value>> {
    if data.is_array() {
        return data.as_array_mut();
    }
    let name = page_name(data)?;
    data.get_mut(&name)?.as_array_mut()
}

/// The name of the longest list; of equals the first one.
fn page_name(data: &Value) -> Option<String> {
    let lists = members(data).filter_map(|(name, value)| Some((name, value.as_array()?.len())));
    lists.rev().max_by_key(|(_, length)| *length).map(|(name, _)| name.clone())
}

/// The cursor of the next page in the data of an answer, unless this is the last page.
pub(crate) fn next_mut(data: &mut Value) -> Option<&mut Value> {
    let members = data.as_object_mut()?;
    let found = members.iter_mut().filter(|(name, _)| NEXT.contains(&plain(name).as_str()));
    found.map(|(_, value)| value).find(|value| value.is_number() || value.as_str().is_some_and(|text| !text.is_empty()))
}

fn members(value: &Value) -> impl DoubleEndedIterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A name in small letters and without signs: `page_size`, `pageSize` and `page-size` are the same.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_ask_for_pages() {
        for (arguments, expected_limit, expected_page) in [
            (json!({"limit": 3}), Some(3), None),
            (json!({"page_size": 10, "pageToken": "x"}), Some(10), Some("pageToken")),
            (json!({"perPage": "10", "page": 1}), None, None),
            (json!({"max-results": 5, "page": 2}), Some(5), Some("page")),
            (json!({"limit": 0, "offset": 0}), None, None),
            (json!({"offset": 3}), None, Some("offset")),
            (json!({"cursor": ""}), None, None),
            (json!({"cursor": null, "query": "limit"}), None, None),
            (Value::Null, None, None),
        ] {
            assert_eq!(limit(&arguments), expected_limit, "{arguments}");
            assert_eq!(later_page(&arguments).map(|(name, _)| name), expected_page, "{arguments}");
        }
    }

    #[test]
    fn the_page_is_the_longest_list() {
        for (data, expected) in [
            (json!([1, 2]), Some(2)),
            (json!({"rooms": [1, 2], "tags": [1], "total": 9}), Some(2)),
            (json!({"rooms": [], "tags": []}), Some(0)),
            (json!({"total": 9}), None),
            (json!("rooms"), None),
        ] {
            assert_eq!(page(&data).map(Vec::len), expected, "{data}");
        }
    }

    #[test]
    fn pages_of_one_list_differ_in_their_place() {
        let (one, other) = (json!({"q": "a", "limit": 3}), json!({"q": "a", "limit": 3, "cursor": "x"}));
        assert!(is_same_list(&one, &other, true));
        assert!(!is_same_list(&one, &json!({"q": "a", "limit": 4}), true));
        assert!(is_same_list(&one, &json!({"q": "a", "limit": 4}), false));
        assert!(!is_same_list(&one, &json!({"q": "b", "limit": 3}), false));
    }
}
