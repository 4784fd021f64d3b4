//! What a tool makes is shown by tools that need no argument: lists, counts, whole graphs.
//!
//! A text of the thing counts only if it was not shown before the thing was made, and by two servers.

use serde_json::{Value, json};

use super::questions::members_of;
use crate::check::answer_data::texts_of;
use crate::reproduce::{literal, literal_text, text_lasts};
use crate::wire::{Tool, is_served};

/// The creators and the tools after each that are tried, and the texts that one tool is expected to show.
pub(crate) const MOST_CREATORS: usize = 8;
pub(crate) const MOST_LISTERS: usize = 6;
const MOST_MARKS: usize = 3;

/// The characters of a text by which a thing is known again.
const SHORTEST_MARK: usize = 3;
const LONGEST_MARK: usize = 60;

/// A call that makes something, and the tools that show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListingTrip {
    pub(crate) creator: String,
    pub(crate) arguments: Value,
    pub(crate) listers: Vec<ThingLister>,
}

/// A tool that shows texts of a thing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThingLister {
    pub(crate) tool: String,
    pub(crate) marks: Vec<String>,
    /// What two servers showed alike.
    pub(crate) expected: Vec<Value>,
}

impl ListingTrip {
    /// The trip from a creator to all tools that may show what it makes; `None` where nothing could be known again.
    pub(crate) fn new<'a>(
        creator: &str,
        arguments: &Value,
        listers: impl Iterator<Item = &'a str>,
    ) -> Option<ListingTrip> {
        let mut marks = Vec::new();
        add_marks(arguments, &mut marks);
        let listers: Vec<ThingLister> = listers
            .take(MOST_LISTERS)
            .map(|tool| ThingLister { tool: tool.to_owned(), marks: marks.clone(), expected: Vec::new() })
            .collect();
        let is_useful = !marks.is_empty() && !listers.is_empty();
        is_useful.then(|| ListingTrip { creator: creator.to_owned(), arguments: arguments.clone(), listers })
    }

    /// The calls as a test.
    pub(crate) fn test(&self) -> Value {
        let is_served = || json!({"is_error": false});
        let mut made = json!({"call": literal_text(&self.creator)});
        if !members_of(&self.arguments).is_empty() {
            made["args"] = literal(&self.arguments);
        }
        made["expect"] = json!([is_served()]);
        let shown = self.listers.iter().map(|lister| {
            let marks = lister.marks.iter().map(|mark| literal(&mark.as_str().into()));
            let is_expected = |mark: &Value| {
                let text = mark.as_str().unwrap_or_default();
                lister.expected.iter().any(|expected| expected.to_string().contains(text))
            };
            let marks = marks.filter(|mark| !is_expected(mark)).take(MOST_MARKS);
            let marks = marks.map(|mark| json!({"text": {"contains": mark}}));
            let others = lister.expected.iter().filter(|expected| **expected != is_served()).cloned();
            let expected: Vec<Value> = std::iter::once(is_served()).chain(others).chain(marks).collect();
            json!({"call": literal_text(&lister.tool), "expect": expected})
        });
        let steps: Vec<Value> = std::iter::once(made).chain(shown).collect();
        json!({"name": format!("what `{}` makes is shown", self.creator), "steps": steps})
    }
}

impl ThingLister {
    /// The tool with the texts that it shows after the thing was made, and did not show before; `None` without any.
    pub(crate) fn with_shown(self, before: Option<&Value>, after: Option<&Value>) -> Option<Self> {
        let (before, after) = before.zip(after).filter(|(before, after)| is_served(before) && is_served(after))?;
        let shows = |answer: &Value, mark: &str| texts_of(&answer["result"]).any(|text| text.contains(mark));
        let marks: Vec<String> =
            self.marks.into_iter().filter(|mark| shows(after, mark) && !shows(before, mark)).collect();
        (!marks.is_empty()).then_some(Self { marks, ..self })
    }
}

/// True for a tool that can be called without arguments, and only reads.
pub(crate) fn may_list(tool: &Tool) -> bool {
    tool.only_reads() && tool.needs_no_arguments()
}

/// Adds the texts in arguments by which a thing may be known again, the outer ones first in their order. In JSON, some
/// characters look otherwise.
fn add_marks(value: &Value, marks: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let length = text.chars().count();
            let is_plain =
                text.chars().all(|c| !c.is_control() && !matches!(c, '"' | '\\' | '<' | '>' | '&') && c.is_ascii());
            let is_mark = (SHORTEST_MARK..=LONGEST_MARK).contains(&length) && is_plain && text_lasts(text);
            if is_mark && !marks.contains(text) {
                marks.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_marks(item, marks)),
        Value::Object(members) => members.values().for_each(|member| add_marks(member, marks)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_that_are_new_are_expected() {
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        let refused = json!({"result": {"isError": true, "content": [{"type": "text", "text": "milk"}]}});
        let lister = || ThingLister {
            tool: "list".to_owned(),
            marks: vec!["milk".to_owned(), "two".to_owned()],
            expected: Vec::new(),
        };
        for (before, after, expected) in [
            (Some(text("[]")), Some(text("[milk, two]")), Some(vec!["milk", "two"])),
            (Some(text("[two]")), Some(text("[milk, two]")), Some(vec!["milk"])),
            (Some(text("[milk]")), Some(text("[milk]")), None),
            (Some(text("[]")), Some(refused.clone()), None),
            (Some(refused), Some(text("[milk]")), None),
            (None, Some(text("[milk]")), None),
            (Some(text("[]")), None, None),
        ] {
            let shown = lister().with_shown(before.as_ref(), after.as_ref()).map(|shown| shown.marks);
            let expected = expected.map(|marks| marks.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(shown, expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_thing_is_made_and_then_shown() {
        let arguments =
            json!({"entities": [{"name": "Ann", "kind": "a \"b\" c", "notes": ["tall", "Ann"]}], "at": "12:30"});
        let trip = ListingTrip::new("create_entities", &arguments, ["read_graph"].into_iter()).unwrap();
        let expected = json!({"at": "result.structuredContent", "includes": {"count": 1, "name": "Ann"}});
        assert_eq!(
            trip.listers,
            [ThingLister {
                tool: "read_graph".to_owned(),
                marks: vec!["Ann".to_owned(), "tall".to_owned()],
                expected: Vec::new(),
            }]
        );
        let mut counted = trip.clone();
        counted.listers[0].expected = vec![json!({"is_error": false}), expected.clone()];
        let made = counted.test();
        assert_eq!(made["steps"][1]["expect"], json!([{"is_error": false}, expected, {"text": {"contains": "tall"}}]));
        let made = trip.test();
        assert_eq!(made["name"], "what `create_entities` makes is shown");
        assert_eq!(made["steps"][0]["args"], arguments);
        assert_eq!(
            made["steps"][1],
            json!({"call": "read_graph", "expect": [
                {"is_error": false}, {"text": {"contains": "Ann"}}, {"text": {"contains": "tall"}},
            ]})
        );
        assert_eq!(ListingTrip::new("reset", &json!({}), ["read_graph"].into_iter()), None);
        assert_eq!(ListingTrip::new("create_entities", &arguments, std::iter::empty()), None);
    }

    #[test]
    fn tools_that_need_nothing_may_list() {
        for (name, required, expected) in
            [("list_notes", json!([]), true), ("get_note", json!(["id"]), false), ("create_note", json!([]), false)]
        {
            let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": required});
            let tool = Tool::new(json!({"name": name, "inputSchema": schema}));
            assert_eq!(may_list(&tool), expected, "{name}");
        }
    }
}
