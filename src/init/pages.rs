//! Lists in pages: the second page begins with an item that is not on the first.

use serde_json::{Map, Value, json};

use super::expectation::{Types, content, is_plain_name, of_item};
use super::questions::members_of;
use crate::path::DottedPath;
use crate::reproduce::{literal, literal_text};
use crate::source::visible_line;
use crate::wire::{Catalog, Tool, is_served};

/// Names of parameters, without what joins their words: of the size of a page, of its number, of the items before it, and
/// of a cursor.
const SIZES: [&str; 6] = ["limit", "pagesize", "perpage", "maxresults", "maxitems", "count"];
const NUMBERS: [&str; 4] = ["page", "pagenumber", "pageindex", "pageno"];
const OFFSETS: [&str; 4] = ["offset", "skip", "start", "startindex"];
const CURSORS: [&str; 7] =
    ["cursor", "pagetoken", "nexttoken", "nextcursor", "nextpagetoken", "continuationtoken", "after"];

/// The members of an answer that hold the cursor of the next page.
const NEXT: [&str; 7] =
    ["nextcursor", "nextpagetoken", "nexttoken", "next", "continuationtoken", "cursor", "endcursor"];

/// The most items of a page that a test compares.
const MOST_ITEMS: usize = 1000;

/// A list that may have pages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PagedList {
    source: PageSource,
    /// The parameters or arguments of the first page.
    first: Value,
    next: NextPage,
    /// The number of items that are asked for.
    size: Option<u64>,
}

/// A server's list of that method, or the items that a tool returns.
#[derive(Debug, Clone, PartialEq)]
enum PageSource {
    List(&'static str),
    Tool(String),
}

/// The parameter that leads to the second page.
#[derive(Debug, Clone, PartialEq)]
enum NextPage {
    /// It takes a number that is known.
    Number(String, u64),
    /// It takes the cursor that the first page holds.
    Cursor(String),
}

/// The second page of a list, as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenPages {
    list: PagedList,
    /// The path to the items of a page.
    items: String,
    /// The path to the cursor on the first page.
    cursor: Option<String>,
    /// The first item of the second page, which two servers may show differently.
    item: Value,
}

/// The second page of a list, as two servers showed it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharedPages {
    pages: SeenPages,
    /// What is expected of the first item of the second page.
    item: Vec<Value>,
}

/// The lists of a catalog that may have pages, and those of tools that only read, with arguments that they serve.
pub(crate) fn lists_with_pages(catalog: &Catalog, reading: &[(&Tool, Value)]) -> Vec<PagedList> {
    let listed = [
        ("tools/list", catalog.tools.len()),
        ("resources/list", catalog.resources.len()),
        ("resources/templates/list", catalog.resource_templates.len()),
        ("prompts/list", catalog.prompts.len()),
    ];
    let several = listed.into_iter().filter(|(_, count)| *count > 1);
    let lists = several.map(|(method, _)| PagedList {
        source: PageSource::List(method),
        first: json!({}),
        next: NextPage::Cursor("cursor".to_owned()),
        size: None,
    });
    lists.chain(reading.iter().filter_map(|(tool, arguments)| list_of_tool(tool, arguments))).collect()
}

/// The list of a tool that takes a cursor, or a size of pages and where one begins.
fn list_of_tool(tool: &Tool, arguments: &Value) -> Option<PagedList> {
    let schema = tool.arguments_schema();
    let parameters: Vec<(&String, &Value)> = schema["properties"].as_object()?.iter().collect();
    let named = |names: &[&str]| parameters.iter().find(|(name, _)| names.contains(&plain(name).as_str()));
    let smallest = |schema: &Value| schema["minimum"].as_u64().unwrap_or(1).max(1);
    let size = named(&SIZES).map(|(name, schema)| ((*name).clone(), smallest(schema)));
    let mut first = members_of(arguments);
    first.extend(size.clone().map(|(name, size)| (name, size.into())));
    let next = if let Some((name, _)) = named(&CURSORS) {
        first.remove(*name);
        NextPage::Cursor((*name).clone())
    } else if let Some((name, _)) = named(&NUMBERS) {
        first.insert((*name).clone(), 1.into());
        NextPage::Number((*name).clone(), 2)
    } else {
        let (name, _) = named(&OFFSETS)?;
        let (_, size) = size.as_ref()?;
        first.insert((*name).clone(), 0.into());
        NextPage::Number((*name).clone(), *size)
    };
    let source = PageSource::Tool(tool.name.clone());
    Some(PagedList { source, first: first.into(), next, size: size.map(|(_, size)| size) })
}

/// `nextCursor`, `next_cursor` and `Next-Cursor` as one.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

impl PagedList {
    /// For those who wait.
    pub(crate) fn sentence(&self) -> String {
        format!("asking for pages of `{}`", visible_line(self.name()))
    }

    /// The tool that shows it; `None` for a list of the server itself.
    pub(crate) fn tool(&self) -> Option<&str> {
        match &self.source {
            PageSource::List(_) => None,
            PageSource::Tool(tool) => Some(tool),
        }
    }

    fn name(&self) -> &str {
        match &self.source {
            PageSource::List(method) => method,
            PageSource::Tool(tool) => tool,
        }
    }

    /// The method and the parameters of the first page.
    pub(crate) fn first_request(&self) -> (&'static str, Value) {
        self.request(&self.first)
    }

    fn request(&self, given: &Value) -> (&'static str, Value) {
        match &self.source {
            PageSource::List(method) => (*method, given.clone()),
            PageSource::Tool(tool) => ("tools/call", json!({"name": tool, "arguments": given})),
        }
    }

    /// The same of the second page; `None` where the first is the last.
    pub(crate) fn second_request(&self, page: &Value) -> Option<(&'static str, Value)> {
        let (name, value) = match &self.next {
            NextPage::Number(name, number) => (name, (*number).into()),
            NextPage::Cursor(name) => (name, DottedPath::parse(&self.cursor_path(page)?).ok()?.find(page)?),
        };
        let mut given = self.first.clone();
        given[name] = value;
        Some(self.request(&given))
    }

    /// The path to the cursor of the next page.
    fn cursor_path(&self, page: &Value) -> Option<String> {
        let (root, members) = self.page(page)?;
        let is_cursor = |name: &str, value: &Value| {
            let is_set = value.as_str().is_some_and(|text| !text.is_empty()) || value.is_u64();
            is_set && is_plain_name(name) && NEXT.contains(&plain(name).as_str())
        };
        let own = members.as_object()?;
        let found = NEXT
            .iter()
            .find_map(|known| own.iter().find(|(name, value)| plain(name) == *known && is_cursor(name, value)));
        found.map(|(name, _)| format!("{root}.{name}"))
    }

    /// The value with the items of a page, and its path.
    fn page(&self, page: &Value) -> Option<(String, Value)> {
        match self.source {
            PageSource::List(_) => Some(("result".to_owned(), page["result"].clone())),
            PageSource::Tool(_) => content(&page["result"]),
        }
    }

    /// An item as far as a test expects it: an entry of the server's own lists by its name.
    fn shown_item(&self, item: &Value) -> Value {
        match (&self.source, item) {
            (PageSource::List(_), Value::Object(members)) => {
                let is_name = |(name, _): &(&String, &Value)| ["name", "uri", "uriTemplate"].contains(&name.as_str());
                members.iter().filter(is_name).map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            _ => item.clone(),
        }
    }

    /// The lists of a page by their paths.
    fn lists(&self, page: &Value) -> Vec<(String, Vec<Value>)> {
        let Some((root, value)) = self.page(page) else { return Vec::new() };
        match value {
            Value::Array(items) => vec![(root, items)],
            Value::Object(members) => members
                .into_iter()
                .filter(|(name, _)| is_plain_name(name))
                .filter_map(|(name, value)| Some((format!("{root}.{name}"), value.as_array()?.clone())))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        }
    }

    /// The pages as a test can expect them; `None` where they show no list of which the second page repeats nothing.
    pub(crate) fn seen(&self, first: &Value, second: &Value) -> Option<SeenPages> {
        if !is_served(first) || !is_served(second) {
            return None;
        }
        let fits = |items: &[Value]| {
            let is_size = self.size.is_none_or(|size| u64::try_from(items.len()).is_ok_and(|count| count <= size));
            !items.is_empty() && items.len() <= MOST_ITEMS && is_size
        };
        let others = self.lists(second);
        let (items, item) = self.lists(first).into_iter().find_map(|(path, page)| {
            let (_, other) = others.iter().find(|(known, _)| *known == path)?;
            let is_new = fits(&page) && fits(other) && !other.iter().any(|item| page.contains(item));
            is_new.then(|| (path, self.shown_item(&other[0])))
        })?;
        let cursor = match self.next {
            NextPage::Cursor(_) => Some(self.cursor_path(first)?),
            NextPage::Number(..) => None,
        };
        Some(SeenPages { list: self.clone(), items, cursor, item })
    }
}

impl SeenPages {
    /// What two servers showed, as one; `None` where they showed other pages.
    pub(crate) fn of_both(first: Self, second: &Self, types: Types) -> Option<SharedPages> {
        let is_same = (&first.list, &first.items, &first.cursor) == (&second.list, &second.items, &second.cursor);
        let at = format!("{}[0]", first.items);
        let item = match &first.list.source {
            // Its other members are not those of the test.
            PageSource::List(_) => {
                let is_named = first.item == second.item && !members_of(&first.item).is_empty();
                let named = is_named.then(|| json!({"at": at, "includes": literal(&first.item)}));
                named.into_iter().collect()
            }
            PageSource::Tool(_) => of_item(&at, &first.item, &second.item, types),
        };
        is_same.then_some(SharedPages { pages: first, item })
    }
}

impl SharedPages {
    /// The tool that shows them; `None` for a list of the server itself.
    pub(crate) fn tool(&self) -> Option<&str> {
        self.pages.list.tool()
    }

    /// The two pages as a test.
    pub(crate) fn test(&self) -> Value {
        let SeenPages { list, items, cursor, .. } = &self.pages;
        let step = |given: Value| match &list.source {
            PageSource::List(method) => {
                let mut step = json!({"request": method});
                if !members_of(&given).is_empty() {
                    step["params"] = given;
                }
                step
            }
            PageSource::Tool(tool) => json!({"call": literal_text(tool), "args": given}),
        };
        let length = match list.size {
            None => json!({"min": 1}),
            Some(1) => json!(1),
            Some(size) => json!({"min": 1, "max": size}),
        };
        let mut first = step(literal(&list.first));
        first["expect"] = json!([{"at": items, "length": length}]);
        let mut captured = Map::from_iter([("page".to_owned(), items.as_str().into())]);
        captured.extend(cursor.clone().map(|cursor| ("cursor".to_owned(), cursor.into())));
        first["capture"] = captured.into();
        let mut given = literal(&list.first);
        match &list.next {
            NextPage::Number(name, number) => given[name] = (*number).into(),
            NextPage::Cursor(name) => given[name] = "{{ cursor }}".into(),
        }
        let mut second = step(given);
        let new = json!({"at": format!("{items}[0]"), "not": {"one_of": "{{ page }}"}});
        second["expect"] = [json!({"at": items, "length": length}), new].into_iter().chain(self.item.clone()).collect();
        json!({"name": format!("the second page of {}", list.name()), "steps": [first, second]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(properties: &Value) -> Tool {
        Tool::new(json!({"name": "list", "inputSchema": {"type": "object", "properties": properties}}))
    }

    fn answer(content: &Value) -> Value {
        json!({"result": {"content": [], "structuredContent": content}})
    }

    #[test]
    fn lists_with_pages_are_known_by_their_parameters() {
        let integer = json!({"type": "integer"});
        let text = json!({"type": "string"});
        let number = |name: &str, number| NextPage::Number(name.to_owned(), number);
        for (properties, first, next) in [
            (
                json!({"limit": integer, "offset": integer}),
                json!({"q": "a", "limit": 1, "offset": 0}),
                number("offset", 1),
            ),
            (
                json!({"page_size": {"type": "integer", "minimum": 5}, "skip": integer}),
                json!({"q": "a", "page_size": 5, "skip": 0}),
                number("skip", 5),
            ),
            (json!({"page": integer}), json!({"q": "a", "page": 1}), number("page", 2)),
            (json!({"cursor": text, "q": text}), json!({"q": "a"}), NextPage::Cursor("cursor".to_owned())),
        ] {
            let found = list_of_tool(&tool(&properties), &json!({"q": "a"})).unwrap();
            assert_eq!((found.first, found.next), (first, next), "{properties}");
        }
        for properties in [json!({"limit": integer}), json!({"offset": integer}), json!({"id": text})] {
            assert_eq!(list_of_tool(&tool(&properties), &json!({})), None, "{properties}");
        }
    }

    #[test]
    fn a_second_page_repeats_nothing() {
        let list = list_of_tool(&tool(&json!({"limit": {}, "offset": {}})), &json!({})).unwrap();
        let page = |items: Value| answer(&json!({"total": 3, "columns": ["a"], "items": items}));
        for (first, second, is_seen) in [
            (json!([{"id": 1}]), json!([{"id": 2}]), true),
            // The offset or the limit has no effect, or there is no second page.
            (json!([{"id": 1}]), json!([{"id": 1}]), false),
            (json!([1, 2]), json!([3, 4]), false),
            (json!([1]), json!([]), false),
        ] {
            let seen = list.seen(&page(first.clone()), &page(second.clone()));
            assert_eq!(seen.is_some(), is_seen, "{first} and {second}");
        }
    }

    #[test]
    fn an_entry_of_the_second_page_is_known_by_its_name() {
        let catalog = Catalog { tools: vec![tool(&json!({})), tool(&json!({}))], ..Catalog::default() };
        let list = lists_with_pages(&catalog, &[]).remove(0);
        let page = |name: &str, next: &Value| {
            let entry = json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"result": {"tools": [entry], "nextCursor": next}})
        };
        let seen = list.seen(&page("one", &json!("2")), &page("two", &json!("3"))).unwrap();
        let test = SeenPages::of_both(seen.clone(), &seen, Types::Seen).unwrap().test();
        assert_eq!(test["steps"][1]["expect"][2], json!({"at": "result.tools[0]", "includes": {"name": "two"}}));
    }

    #[test]
    fn cursors_lead_from_page_to_page() {
        let list = list_of_tool(&tool(&json!({"cursor": {"type": "string"}})), &json!({"q": "a"})).unwrap();
        let first = answer(&json!({"next_cursor": "c2", "items": [1, 2]}));
        let arguments = json!({"q": "a", "cursor": "c2"});
        assert_eq!(list.second_request(&first), Some(("tools/call", json!({"name": "list", "arguments": arguments}))));
        assert_eq!(list.second_request(&answer(&json!({"next_cursor": null, "items": [1]}))), None);
        let seen = list.seen(&first, &answer(&json!({"items": [3]}))).unwrap();
        let other = list.seen(&first, &answer(&json!({"items": [4]}))).unwrap();
        assert_eq!(SeenPages::of_both(seen.clone(), &other, Types::Seen).unwrap().item, Vec::<Value>::new());
        let test = SeenPages::of_both(seen.clone(), &seen, Types::Seen).unwrap().test();
        let at = "result.structuredContent";
        assert_eq!(
            test["steps"][0]["capture"],
            json!({"page": format!("{at}.items"), "cursor": format!("{at}.next_cursor")})
        );
        assert_eq!(test["steps"][1]["args"], json!({"q": "a", "cursor": "{{ cursor }}"}));
        assert_eq!(
            test["steps"][1]["expect"][1],
            json!({"at": format!("{at}.items[0]"), "not": {"one_of": "{{ page }}"}})
        );
        assert_eq!(test["steps"][1]["expect"][2], json!({"at": format!("{at}.items[0]"), "equals": 3}));
    }
}
