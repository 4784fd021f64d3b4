//! What a server offers, as it said so.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::source::words;

/// The four lists of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
    /// `prompts/list`.
    Prompts,
}

impl ListKind {
    /// Every list.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts];

    /// The request that asks for it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The server capability that promises it.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources | Self::ResourceTemplates => "resources",
            Self::Prompts => "prompts",
        }
    }

    /// The word for it in a suite's `list:` step.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resource_templates",
            Self::Prompts => "prompts",
        }
    }

    /// The list of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One tool as the server listed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name; empty where the server gave none.
    pub name: String,
    /// The whole entry, unknown members included.
    pub raw: Value,
}

impl Tool {
    /// Reads one entry of `tools/list`.
    pub fn new(raw: Value) -> Self {
        Self { name: raw["name"].as_str().unwrap_or_default().to_owned(), raw }
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

    /// The declared schema of its structured content.
    pub fn output_schema(&self) -> Option<&Value> {
        self.raw.get("outputSchema")
    }

    /// Whether it changes nothing: said so by its hints, or by its name where it has none.
    pub fn only_reads(&self) -> bool {
        match self.raw["annotations"]["readOnlyHint"].as_bool() {
            Some(only_reads) => only_reads,
            None => !self.may_destroy() && !has_any(&words(&self.name), &CHANGING_VERBS),
        }
    }

    /// Whether its name can hardly mean anything but that it destroys something, whatever its hints say: a verb comes
    /// first or last, and nothing in it says that somebody only looks.
    pub fn sounds_destructive(&self) -> bool {
        let words = words(&self.name);
        let ends = [words.first(), words.last()];
        ends.into_iter().flatten().any(|word| UNDOUBTED_VERBS.contains(&word.as_str())) && !has_any(&words, &LOOKING)
    }

    /// Whether its hints or its name say that it changes something, and it takes the place of a file: names that were made up fill a folder.
    pub fn writes_files(&self) -> bool {
        let is_place = |name: &String| {
            let name = name.to_lowercase();
            ["path", "file", "folder", "director"].iter().any(|word| name.contains(word)) || name == "dir"
        };
        let mut names =
            self.input_schema()["properties"].as_object().into_iter().flat_map(|properties| properties.keys());
        !self.only_reads() && names.any(is_place)
    }

    /// Whether a generated call could do harm: said so by its hints, or by its name where it has none.
    pub fn may_destroy(&self) -> bool {
        let hint = |name: &str| self.raw["annotations"][name].as_bool();
        if hint("readOnlyHint") == Some(true) {
            return false;
        }
        match (hint("readOnlyHint"), hint("destructiveHint")) {
            (_, Some(destructive)) => destructive || name_sounds_destructive(&self.name),
            (Some(false), None) => true,
            (_, None) => name_sounds_destructive(&self.name),
        }
    }
}

/// Verbs that name a change that is easily undone, or that adds something.
const CHANGING_VERBS: [&str; 30] = [
    "add", "append", "apply", "clone", "commit", "copy", "create", "download", "edit", "enable", "export", "extract",
    "init", "insert", "install", "make", "mkdir", "modify", "new", "patch", "put", "replace", "save", "set", "store",
    "touch", "update", "upload", "upsert", "write",
];

/// Verbs that name a change no test can take back.
const DESTRUCTIVE_VERBS: [&str; 17] = [
    "delete",
    "remove",
    "drop",
    "destroy",
    "erase",
    "purge",
    "wipe",
    "truncate",
    "kill",
    "reset",
    "overwrite",
    "format",
    "shutdown",
    "terminate",
    "revoke",
    "uninstall",
    "clear",
];

/// Verbs of which nobody thinks that they change a text or a picture that was given to them, and give it back.
const UNDOUBTED_VERBS: [&str; 8] =
    ["delete", "destroy", "purge", "wipe", "uninstall", "shutdown", "terminate", "revoke"];

/// Words of names that say that somebody only looks, however alarming the rest is.
const LOOKING: [&str; 40] = [
    "analyze", "audit", "can", "check", "compare", "count", "describe", "diff", "dry", "dryrun", "estimate", "explain",
    "fetch", "find", "get", "has", "history", "impact", "info", "inspect", "is", "list", "log", "logs", "lookup",
    "plan", "preview", "query", "read", "report", "search", "show", "simulate", "stats", "status", "test", "validate",
    "verify", "view", "what",
];

/// Verbs that reach beyond the server where a name begins with them; elsewhere in a name they may be nouns.
const FAR_REACHING_VERBS: [&str; 29] = [
    "approve", "buy", "cancel", "charge", "deploy", "exec", "execute", "merge", "move", "order", "pay", "place",
    "post", "publish", "purchase", "push", "reboot", "refund", "rename", "restart", "rm", "run", "send", "shell",
    "stop", "submit", "transfer", "tweet", "withdraw",
];

fn name_sounds_destructive(name: &str) -> bool {
    let words = words(name);
    words.first().is_some_and(|first| FAR_REACHING_VERBS.contains(&first.as_str()))
        || has_any(&words, &DESTRUCTIVE_VERBS)
}

fn has_any(words: &[String], verbs: &[&str]) -> bool {
    words.iter().any(|word| verbs.contains(&word.as_str()))
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
    /// What it is: `tool`, `resource`, `resource template` or `prompt`.
    pub noun: &'static str,
    /// The name, or the address of a resource.
    pub name: String,
    /// How often it is listed.
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

    /// What is listed more than once, all pages together, list by list.
    pub fn repeated(&self) -> Vec<Repeated> {
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
            let found = catalog.repeated();
            let found: Vec<_> = found.iter().map(|found| (found.noun, found.name.as_str(), found.times)).collect();
            assert_eq!(found, expected);
        };
        check(&["a", "b"], &["a", "b"], &[]);
        check(&["b", "a", "b", "a", "b"], &["c", "c"], &[("tool", "a", 2), ("tool", "b", 3), ("resource", "c", 2)]);
        let same_names = json!([{"name": "x", "uri": "a:1"}, {"name": "x", "uri": "a:2"}, {}, {}]);
        let catalog = Catalog { resources: same_names.as_array().unwrap().clone(), ..Catalog::default() };
        assert_eq!(catalog.repeated(), []);
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

    #[test]
    fn harm_is_read_from_hints_and_names() {
        let check = |raw: Value, expected: bool| assert_eq!(Tool::new(raw.clone()).may_destroy(), expected, "{raw}");
        check(json!({"name": "get_user"}), false);
        check(json!({"name": "deleteUser"}), true);
        check(json!({"name": "drop-table"}), true);
        check(json!({"name": "dropdown"}), false);
        check(json!({"name": "DROP_TABLE"}), true);
        check(json!({"name": "HTTPDelete"}), true);
        check(json!({"name": "delete_x", "annotations": {"readOnlyHint": true}}), false);
        check(json!({"name": "write", "annotations": {"readOnlyHint": false}}), true);
        check(json!({"name": "write", "annotations": {"readOnlyHint": false, "destructiveHint": false}}), false);
        check(json!({"name": "write", "annotations": {"destructiveHint": true}}), true);
    }

    #[test]
    fn names_accuse_where_they_leave_no_doubt() {
        let check = |name: &str, expected: bool| {
            assert_eq!(Tool::new(json!({"name": name})).sounds_destructive(), expected, "{name}");
        };
        for accused in ["delete_user", "deleteUser", "users.delete", "PURGE_CACHE", "wipe"] {
            check(accused, true);
        }
        for innocent in [
            "get_delete_history",
            "preview_delete",
            "format_text",
            "remove_stopwords",
            "list_deleted",
            "reset_password",
        ] {
            check(innocent, false);
        }
    }

    #[test]
    fn tools_that_write_files_take_a_place_and_change_something() {
        let takes = |name: &str| json!({"name": "x", "inputSchema": {"properties": {name: {}}}, "annotations": {}});
        let check = |name: &str, argument: &str, hint: Option<bool>, expected: bool| {
            let mut raw = takes(argument);
            raw["name"] = name.into();
            raw["annotations"]["readOnlyHint"] = hint.into();
            assert_eq!(Tool::new(raw).writes_files(), expected, "{name} {argument} {hint:?}");
        };
        check("create_directory", "path", None, true);
        check("create_directory", "path", Some(false), true);
        check("create_directory", "path", Some(true), false);
        check("list_directory", "path", None, false);
        check("create_user", "name", Some(false), false);
        check("exportGraph", "targetFile", None, true);
    }
}
