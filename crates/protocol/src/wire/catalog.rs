//! The lists of a server, as it sent them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcprove_source::choice;
use serde_json::Value;

choice! {
    /// The four lists of a server.
    #[derive(Hash)]
    pub enum ListKind {
        /// `tools/list`.
        Tools = "tools",
        /// `resources/list`.
        Resources = "resources",
        /// `resources/templates/list`.
        ResourceTemplates = "resource_templates",
        /// `prompts/list`.
        Prompts = "prompts",
    }
}

impl ListKind {
    /// The request that asks for it.
    pub fn method(self) -> &'static str {
        ["tools/list", "resources/list", "resources/templates/list", "prompts/list"][self as usize]
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        ["tools", "resources", "resourceTemplates", "prompts"][self as usize]
    }

    /// The server capability that promises it.
    pub fn capability(self) -> &'static str {
        ["tools", "resources", "resources", "prompts"][self as usize]
    }
}

/// One tool as the server listed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name; empty where the server gave none.
    pub name: String,
    /// The whole entry, unknown members included.
    pub raw: Value,
    /// Arguments that it is known to serve, where it refuses what its schema alone gives; no server lists them.
    pub served: Option<Value>,
}

impl Tool {
    /// Reads one entry of `tools/list`.
    pub fn new(raw: Value) -> Self {
        Self { name: raw["name"].as_str().unwrap_or_default().to_owned(), raw, served: None }
    }

    /// The tool is served as a task only.
    pub fn is_task_only(&self) -> bool {
        self.raw["execution"]["taskSupport"] == "required"
    }

    /// The declared schema of its arguments; `Null` where there is none.
    pub fn input_schema(&self) -> &Value {
        &self.raw["inputSchema"]
    }

    /// The schema of what may be sent as its arguments: the declared one, and an object in any case, since the protocol
    /// knows no other arguments (`params.arguments` of `tools/call`).
    pub fn arguments_schema(&self) -> Cow<'_, Value> {
        let declared = self.input_schema();
        let leaves_it_open = match &declared["type"] {
            Value::Null => declared.is_object(),
            Value::Array(types) => types.iter().any(|kind| kind == "object"),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
        };
        if !leaves_it_open {
            return Cow::Borrowed(declared);
        }
        let mut schema = declared.clone();
        schema["type"] = "object".into();
        Cow::Owned(schema)
    }

    /// Its schema describes no argument and asks for none, so that every call of it is the same.
    pub fn takes_no_arguments(&self) -> bool {
        let schema = self.input_schema();
        let describes = ["properties", "patternProperties", "required"].iter().any(|key| {
            let value = &schema[key];
            value.as_object().is_some_and(|members| !members.is_empty())
                || value.as_array().is_some_and(|items| !items.is_empty())
        });
        let is_plain = |key: &String| {
            matches!(
                key.as_str(),
                "type" | "properties" | "additionalProperties" | "required" | "$schema" | "title" | "description"
            )
        };
        schema.as_object().is_some_and(|schema| schema.keys().all(is_plain)) && !describes
    }

    /// It can be called without arguments, whether it takes some or not.
    pub fn needs_no_arguments(&self) -> bool {
        self.arguments_schema()["required"].as_array().is_none_or(Vec::is_empty)
    }

    /// The declared schema of its structured content.
    pub fn output_schema(&self) -> Option<&Value> {
        self.raw.get("outputSchema").filter(|schema| !schema.is_null())
    }
}

/// Everything a server offers: the frozen base of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    /// The tools in listed order.
    pub tools: Vec<Tool>,
    /// The resources in listed order.
    pub resources: Vec<Value>,
    /// The resource templates in listed order.
    pub resource_templates: Vec<Value>,
    /// The prompts in listed order.
    pub prompts: Vec<Value>,
    /// The frame of the answer that ended the list of tools; `None` where nobody asked for it here.
    pub tools_frame: Option<u32>,
}

/// Something that is listed more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    /// `tool`, `resource`, `resource template` or `prompt`.
    pub noun: &'static str,
    /// The name, or the address of a resource.
    pub name: String,
    /// The number of entries with this name.
    pub times: usize,
}

fn repeated_in<'a>(noun: &'static str, items: impl Iterator<Item = &'a Value>, member: &str) -> Vec<Repeated> {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for name in items.filter_map(|item| item[member].as_str()) {
        *counted.entry(name).or_default() += 1;
    }
    let repeated = counted.into_iter().filter(|(_, times)| *times > 1);
    repeated.map(|(name, times)| Repeated { noun, name: name.to_owned(), times }).collect()
}

impl Catalog {
    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Entries that are listed more than once, list by list over all pages.
    pub fn find_repeats(&self) -> Vec<Repeated> {
        let tools = self.tools.iter().map(|tool| &tool.raw);
        let mut found = repeated_in("tool", tools, "name");
        found.extend(repeated_in("resource", self.resources.iter(), "uri"));
        found.extend(repeated_in("resource template", self.resource_templates.iter(), "uriTemplate"));
        found.extend(repeated_in("prompt", self.prompts.iter(), "name"));
        found
    }

    /// The names of all tools in listed order.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_listed_twice() {
        let named = |names: &[&str]| names.iter().map(|name| json!({"name": name, "uri": name})).collect::<Vec<_>>();
        let check = |tools: &[&str], resources: &[&str], expected: &[(&str, &str, usize)]| {
            let tools = named(tools).into_iter().map(Tool::new).collect();
            let catalog = Catalog { tools, resources: named(resources), ..Catalog::default() };
            let found = catalog.find_repeats();
            let found: Vec<_> = found.iter().map(|found| (found.noun, found.name.as_str(), found.times)).collect();
            assert_eq!(found, expected);
        };
        check(&["a", "b"], &["a", "b"], &[]);
        check(&["b", "a", "b", "a", "b"], &["c", "c"], &[("tool", "a", 2), ("tool", "b", 3), ("resource", "c", 2)]);
        let same_names = json!([{"name": "x", "uri": "a:1"}, {"name": "x", "uri": "a:2"}, {}, {}]);
        let catalog = Catalog { resources: same_names.as_array().unwrap().clone(), ..Catalog::default() };
        assert_eq!(catalog.find_repeats(), []);
    }

    #[test]
    fn a_tool_takes_arguments_or_needs_some() {
        for (schema, takes_none, needs_none) in [
            (json!({"type": "object"}), true, true),
            (json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}), true, true),
            (json!({"type": "object", "properties": {"limit": {"type": "integer"}}}), false, true),
            (json!({"type": "object", "properties": {"id": {}}, "required": ["id"]}), false, false),
            (json!({"type": "object", "patternProperties": {"^x": {}}}), false, true),
            (json!({"type": "object", "anyOf": [{"required": ["id"]}]}), false, true),
            (Value::Null, false, true),
        ] {
            let tool = Tool::new(json!({"name": "a", "inputSchema": schema}));
            assert_eq!((tool.takes_no_arguments(), tool.needs_no_arguments()), (takes_none, needs_none), "{schema}");
        }
    }

    #[test]
    fn arguments_are_objects_whatever_the_schema_leaves_open() {
        let check = |declared: Value, expected: Value| {
            let tool = Tool::new(json!({"name": "x", "inputSchema": declared}));
            assert_eq!(*tool.arguments_schema(), expected);
        };
        check(json!({}), json!({"type": "object"}));
        check(json!({"properties": {}}), json!({"properties": {}, "type": "object"}));
        check(json!({"type": ["object", "null"]}), json!({"type": "object"}));
        // What is wrong stays wrong.
        check(json!({"type": "string"}), json!({"type": "string"}));
        check(json!(true), json!(true));
        check(Value::Null, Value::Null);
    }
}
