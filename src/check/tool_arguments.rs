//! Valid arguments of a tool, and the values that are put into them: texts of the caller's own, and values of answers.

use std::sync::Arc;

use serde_json::Value;

use crate::generate::Rng;
use crate::plan::CheckContext;
use crate::plan::arguments::{NotCallable, SafeArguments, safe_arguments, server_folder};
use crate::plan::witness::filled_arguments;
use crate::schema::{below, name_of, put_at};
use crate::wire::Tool;

/// The number of arguments that are drawn in the search for some that have a text.
const DRAWS: u64 = 48;

/// The largest of them, in bytes of JSON.
const LARGEST: usize = 4096;

/// Valid arguments of a tool: the suite's own, or small ones.
#[derive(Debug, Clone)]
pub(crate) struct ToolArguments {
    base: Value,
    /// `None` for a schema that cannot be used, of which everything is taken to be valid.
    safe: Option<Arc<SafeArguments>>,
}

/// A place of arguments that has a text, or may have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextPlace {
    /// JSON pointer to it.
    at: String,
    /// The text that the arguments have there; `None` for an optional one that they leave out.
    present: Option<String>,
}

impl TextPlace {
    /// The name of the argument, or of the member within it; the number of an item of a list.
    pub(crate) fn name(&self) -> String {
        name_of(self.at.rsplit('/').next().unwrap_or_default())
    }

    pub(crate) fn is_present(&self) -> bool {
        self.present.is_some()
    }

    /// It is an argument, and not within one.
    pub(crate) fn is_outermost(&self) -> bool {
        self.at.matches('/').count() == 1
    }

    /// It is an item of a list, as far as its name tells.
    pub(crate) fn is_item(&self) -> bool {
        self.name().parse::<usize>().is_ok()
    }
}

impl ToolArguments {
    /// Those of a tool that may be called.
    ///
    /// # Errors
    ///
    /// Says why the tool is not called.
    pub(crate) fn of(context: &CheckContext<'_>, tool: &Tool) -> Result<Self, NotCallable> {
        let safe = safe_arguments(tool, server_folder(context.suite, context.server_name));
        Ok(Self { base: filled_arguments(context, tool)?, safe: safe.ok().map(Arc::new) })
    }

    /// Arguments of a schema; without one, everything is valid.
    #[cfg(test)]
    pub(crate) fn of_test(schema: Option<&Value>, base: Value) -> Self {
        let safe = schema.map(|schema| Arc::new(SafeArguments::new(schema, None).expect("a schema")));
        Self { base, safe }
    }

    /// The arguments as they are.
    pub(crate) fn base(&self) -> &Value {
        &self.base
    }

    /// Arguments that take a text like this one: the shortest of some drawn ones where these do not, if any does.
    pub(crate) fn with_room_for(&self, text: &str) -> Self {
        let Some(safe) = self.safe.as_ref().filter(|_| self.places_for(text).is_empty()) else { return self.clone() };
        let drawn = (0..DRAWS).map(|seed| Self { base: safe.random(&mut Rng::new(seed)), ..self.clone() });
        let fitting = drawn.map(|drawn| (drawn.base.to_string().len(), drawn));
        let fitting = fitting.filter(|(length, drawn)| *length <= LARGEST && !drawn.places_for(text).is_empty());
        fitting.min_by_key(|(length, _)| *length).map_or_else(|| self.clone(), |(_, shortest)| shortest)
    }

    /// The places of texts, and those of optional texts that the arguments leave out.
    pub(crate) fn text_places(&self) -> Vec<TextPlace> {
        let mut places = Vec::new();
        collect_texts("", &self.base, &mut places);
        let optional = self.safe.iter().flat_map(|safe| safe.optional_texts());
        let absent = optional.filter(|name| self.base.get(name.as_str()).is_none());
        places.extend(absent.map(|name| TextPlace { at: below("", &name), present: None }));
        places
    }

    /// The places that take a text like this one.
    pub(crate) fn places_for(&self, text: &str) -> Vec<TextPlace> {
        let mut places = self.text_places();
        places.retain(|place| self.with_texts([(place, text)]).to_string().contains(text));
        places
    }

    /// The arguments with a text at each of these places, as far as the schema takes it there.
    pub(crate) fn with_texts<'t>(&self, texts: impl IntoIterator<Item = (&'t TextPlace, &'t str)>) -> Value {
        let spelled = texts.into_iter().map(|(place, text)| {
            let spellings = spell(place.present.as_deref().unwrap_or_default(), text);
            (place, spellings.into_iter().map(Value::from).collect())
        });
        self.with_first_valid(spelled)
    }

    /// The arguments with a value at each of these places, as far as the schema takes it there.
    pub(crate) fn with_values<'t>(&self, values: impl IntoIterator<Item = (&'t TextPlace, Value)>) -> Value {
        self.with_first_valid(values.into_iter().map(|(place, value)| (place, vec![value])))
    }

    fn with_first_valid<'t>(&self, candidates: impl Iterator<Item = (&'t TextPlace, Vec<Value>)>) -> Value {
        let mut made = self.base.clone();
        for (place, candidates) in candidates {
            let tried = candidates.into_iter().filter_map(|value| {
                let mut tried = made.clone();
                put_at(&mut tried, &place.at, value).then_some(tried)
            });
            let fitting = { tried }.find(|tried| self.is_valid(tried));
            made = fitting.unwrap_or(made);
        }
        made
    }

    /// Arguments that the schema does not take, each derived from these and wrong at one place; objects only, since anything
    /// else breaks the request itself. An item of a list is wrong behind a valid one.
    pub(crate) fn violations(&self, base: &Value) -> Vec<Value> {
        let found = self.safe.iter().flat_map(|safe| safe.violations(base)).filter(|invalid| invalid.value.is_object());
        found.map(|invalid| behind_valid_item(base, &invalid.at, invalid.value)).collect()
    }

    fn is_valid(&self, arguments: &Value) -> bool {
        self.safe.as_ref().is_none_or(|safe| safe.generator().is_valid(arguments))
    }
}

/// Forms of a text that an argument may take in place of another one, the most similar to that first.
fn spell(present: &str, text: &str) -> Vec<String> {
    if present.contains("://") || present.starts_with('/') {
        return vec![format!("{}/{text}", present.trim_end_matches('/')), text.to_owned()];
    }
    match present.split_once('@') {
        Some((_, host)) => vec![format!("{text}@{host}"), text.to_owned()],
        None => vec![text.to_owned(), format!("{text}@example.com"), format!("https://nowhere.invalid/{text}")],
    }
}

fn collect_texts(at: &str, value: &Value, places: &mut Vec<TextPlace>) {
    match value {
        Value::String(text) => places.push(TextPlace { at: at.to_owned(), present: Some(text.clone()) }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| collect_texts(&format!("{at}/{index}"), item, places));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            collect_texts(&below(at, name), member, places);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Arguments that are broken at a place, with a valid item before the broken one if that is an item of a list.
fn behind_valid_item(base: &Value, at: &str, mut value: Value) -> Value {
    if let Some(list) = at.find("/0").map(|end| &at[..end])
        && let Some(valid) = base.pointer(&format!("{list}/0"))
        && let Some(Value::Array(items)) = value.pointer_mut(list)
    {
        items.insert(0, valid.clone());
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(properties: &Value, base: Value) -> ToolArguments {
        let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        ToolArguments::of_test(Some(&schema), base)
    }

    fn pointers(places: &[TextPlace]) -> Vec<&str> {
        places.iter().map(|place| place.at.as_str()).collect()
    }

    #[test]
    fn texts_of_any_depth_are_places_and_optional_ones_are_too() {
        let text = json!({"type": "string"});
        let properties = json!({
            "users": {"type": "array", "items": {"type": "object", "properties": {"name": text, "a/b": text}}},
            "kind": {"enum": ["a", "b"]},
            "note": text,
            "path": text,
            "code": {"type": "string", "pattern": "^[0-9]+$"},
        });
        let base = json!({"users": [{"name": "a", "a/b": "b", "age": 3}], "kind": "a", "code": "7"});
        let arguments = arguments(&properties, base);
        let places = arguments.text_places();
        assert_eq!(pointers(&places), ["/users/0/name", "/users/0/a~1b", "/kind", "/code", "/note"]);
        let names: Vec<String> = places.iter().map(TextPlace::name).collect();
        assert_eq!(names, ["name", "a/b", "kind", "code", "note"]);
        assert_eq!(places.iter().filter(|place| !place.is_present()).count(), 1);
        assert_eq!(pointers(&arguments.places_for("kw1")), ["/users/0/name", "/users/0/a~1b", "/note"]);
        assert_eq!(pointers(&arguments.places_for("71")), ["/users/0/name", "/users/0/a~1b", "/code", "/note"]);
    }

    #[test]
    fn each_place_has_a_text_of_its_own_that_keeps_its_kind() {
        let mail = json!({"type": "string", "format": "email"});
        let properties = json!({
            "name": {"type": "string"}, "mail": mail, "page": {"type": "string"}, "short": {"type": "string", "maxLength": 2},
        });
        let base = json!({"name": "x", "mail": "x@y.org", "page": "https://127.0.0.1:9/", "short": "s"});
        let arguments = arguments(&properties, base);
        let places = arguments.text_places();
        let made = arguments.with_texts(places.iter().zip(["one", "two", "three", "four"]));
        let expected = json!({"name": "one", "mail": "two@y.org", "page": "https://127.0.0.1:9/three", "short": "s"});
        assert_eq!(made, expected);
        let absent = ToolArguments { base: json!({}), ..arguments };
        let all = absent.text_places();
        let filled = absent.with_texts(all.iter().map(|place| (place, "kw")));
        assert_eq!(filled, json!({"name": "kw", "mail": "kw", "page": "kw", "short": "kw"}));
    }

    #[test]
    fn values_are_put_only_where_the_schema_takes_them() {
        let properties = json!({"id": {"type": "string", "pattern": "^u"}, "count": {"type": "string"}});
        let arguments = arguments(&properties, json!({"id": "u1", "count": "c"}));
        let places = arguments.text_places();
        for (values, expected) in [
            ([json!("u7"), json!("d")], json!({"id": "u7", "count": "d"})),
            ([json!("7"), json!("d")], json!({"id": "u1", "count": "d"})),
            ([json!(7), json!(null)], json!({"id": "u1", "count": "c"})),
        ] {
            assert_eq!(arguments.with_values(places.iter().zip(values)), expected);
        }
    }

    #[test]
    fn everything_is_valid_where_the_schema_cannot_be_used() {
        let arguments = ToolArguments::of_test(None, json!({"name": "x", "count": 3}));
        let places = arguments.text_places();
        assert_eq!(pointers(&places), ["/name"]);
        assert_eq!(arguments.with_texts([(&places[0], "kw1")]), json!({"name": "kw1", "count": 3}));
        assert_eq!(arguments.violations(arguments.base()), [json!(null); 0]);
        assert_eq!(arguments.with_room_for("kw1").base(), arguments.base());
    }

    #[test]
    fn arguments_without_a_text_are_drawn_anew() {
        let item = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
        let of = |items: &Value| arguments(&json!({"users": {"type": "array", "items": items}}), json!({"users": []}));
        let drawn = of(&item).with_room_for("kw1");
        assert!(pointers(&drawn.places_for("kw1"))[0].ends_with("/name"), "{}", drawn.base());
        // There is no text to draw.
        assert_eq!(of(&json!({"type": "integer"})).with_room_for("kw1").base(), &json!({"users": []}));
        let has_text = arguments(&json!({"name": {"type": "string"}}), json!({"name": "x"}));
        assert_eq!(has_text.with_room_for("kw1").base(), &json!({"name": "x"}));
    }

    #[test]
    fn texts_are_spelled_like_those_that_they_replace() {
        for (present, first, count) in [
            ("Ann", "kw1", 3),
            ("", "kw1", 3),
            ("/etc/hosts", "/etc/hosts/kw1", 2),
            ("https://a.org/", "https://a.org/kw1", 2),
            ("ann@a.org", "kw1@a.org", 2),
        ] {
            let spellings = spell(present, "kw1");
            assert_eq!((spellings[0].as_str(), spellings.len()), (first, count), "{present}");
        }
    }

    #[test]
    fn broken_items_come_behind_valid_ones() {
        let base = json!({"users": [{"name": "kw1"}]});
        for (at, broken, expected) in [
            ("/users/0/name", json!({"users": [{"name": 1}]}), json!({"users": [{"name": "kw1"}, {"name": 1}]})),
            ("/users", json!({"users": 1}), json!({"users": 1})),
            ("/name", json!({"name": 1}), json!({"name": 1})),
        ] {
            assert_eq!(behind_valid_item(&base, at, broken), expected, "{at}");
        }
    }
}
