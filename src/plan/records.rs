//! The kinds of records that a server keeps: the tools that create, read, list, update and delete them.
//!
//! They are found by their names, such as `create_user`, `userCreate` and `users.create`, unless the suite names them with
//! the variable `crud`. Templates know them as `offer.records`, by the name of the tool that creates a record.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::source::{Located, Node, singular, words};
use crate::suite::Suite;
use crate::wire::Tool;

/// The variable of a suite that names the tools.
pub(crate) const VARIABLE: &str = "crud";

/// An action on a record, with the words for it in the name of a tool.
pub(crate) const ROLES: [(&str, &[&str]); 5] = [
    ("create", &["create"]),
    ("read", &["get", "read", "fetch"]),
    ("list", &["list"]),
    ("update", &["update", "edit"]),
    ("delete", &["delete", "remove"]),
];

/// The value of the variable that names the tools.
pub(crate) fn named_tools(suite: &Suite) -> Option<&Node> {
    suite.variables.iter().find(|(name, _)| name.value == VARIABLE).map(|(_, value)| value)
}

/// The records of a server, by the name of the tool that creates them: `read`, and as far as there are such tools `list`,
/// `update` and `delete`, with the parameters that take the id of a record (`key`, `update_key`, `delete_key`).
pub(crate) fn records(tools: &[Tool], named: Option<&Node>) -> Json {
    let text = |(role, tool): &(Located<String>, Node)| Some((role.value.clone(), tool.text()?.to_owned()));
    let named: BTreeMap<String, String> =
        named.map(Node::entries).unwrap_or_default().iter().filter_map(text).collect();
    let creates = |tool: &&Tool| match named.get("create") {
        Some(name) => tool.name == *name,
        None => thing(&tool.name, "create").is_some(),
    };
    let kinds = tools
        .iter()
        .filter(creates)
        .filter_map(|create| Some((create.name.clone(), Record { tools, named: &named, create }.members()?)));
    kinds.collect::<Map<_, _>>().into()
}

/// A kind of record.
struct Record<'a> {
    tools: &'a [Tool],
    named: &'a BTreeMap<String, String>,
    create: &'a Tool,
}

impl Record<'_> {
    /// The members of a record that can be read by its id.
    fn members(&self) -> Option<Json> {
        let read = self.tool("read")?;
        let key = id_parameter(read, "id")?;
        let mut members = json!({ "create": self.create.name, "read": read.name, "key": key });
        if let Some(list) = self.tool("list").filter(|list| required_arguments(list).is_empty()) {
            members["list"] = list.name.clone().into();
        }
        for role in ["update", "delete"] {
            let Some(tool) = self.tool(role) else { continue };
            let Some(parameter) = id_parameter(tool, &key) else { continue };
            members[role] = tool.name.clone().into();
            members[format!("{role}_key")] = parameter.into();
        }
        Some(members)
    }

    fn tool(&self, role: &str) -> Option<&Tool> {
        if let Some(name) = self.named.get(role) {
            return self.tools.iter().find(|tool| tool.name == *name);
        }
        let wanted = thing(&self.create.name, "create")?;
        let is_meant = |tool: &&Tool| match thing(&tool.name, role) {
            Some(found) if role == "list" => with_last_singular(found) == with_last_singular(wanted.clone()),
            Some(found) => found == wanted,
            None => false,
        };
        self.tools.iter().find(is_meant)
    }
}

/// The words of a tool's name without the verb of a role, which is the first word or the last; `None` without a verb.
fn thing(name: &str, role: &str) -> Option<Vec<String>> {
    let (_, verbs) = ROLES.iter().find(|(known, _)| *known == role)?;
    let mut words = words(name);
    let is_verb = |word: Option<&String>| word.is_some_and(|word| verbs.contains(&word.as_str()));
    if words.len() < 2 {
        return None;
    }
    if is_verb(words.first()) {
        words.remove(0);
    } else if is_verb(words.last()) {
        words.pop();
    } else {
        return None;
    }
    Some(words)
}

/// The words with the last one as a list of one would name it.
fn with_last_singular(mut words: Vec<String>) -> Vec<String> {
    if let Some(last) = words.last_mut() {
        *last = singular(last);
    }
    words
}

/// The parameter of a tool that takes the id of a record: the only one that it requires, the `usual` one, or its only one.
fn id_parameter(tool: &Tool, usual: &str) -> Option<String> {
    let required = required_arguments(tool);
    if let [only] = required.as_slice() {
        return Some((*only).to_owned());
    }
    let properties = tool.input_schema()["properties"].as_object()?;
    if properties.contains_key(usual) {
        return Some(usual.to_owned());
    }
    let mut names = properties.keys();
    names.next().filter(|_| names.next().is_none()).cloned()
}

fn required_arguments(tool: &Tool) -> Vec<&str> {
    tool.input_schema()["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    fn tool(name: &str, parameters: &[&str], required: &[&str]) -> Tool {
        let properties: Map<String, Json> = parameters.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Tool::new(json!({"name": name, "inputSchema": schema}))
    }

    #[test]
    fn tools_of_a_record_are_found_by_their_names_unless_they_are_named() {
        let by_id = |name| tool(name, &["id"], &["id"]);
        let plain = |name| tool(name, &["text"], &[]);
        for (tools, named, expected) in [
            (
                vec![plain("create_user"), by_id("get_user"), plain("list_users"), by_id("delete_user")],
                "",
                json!({"create_user": {"create": "create_user", "read": "get_user", "key": "id", "list": "list_users",
                    "delete": "delete_user", "delete_key": "id"}}),
            ),
            (
                vec![plain("entry_create"), tool("entry_read", &["id", "full"], &[]), plain("entries_list")],
                "",
                json!({"entry_create": {"create": "entry_create", "read": "entry_read", "key": "id",
                    "list": "entries_list"}}),
            ),
            (
                vec![plain("createNote"), by_id("getNote"), tool("editNote", &["id", "text"], &["id", "text"])],
                "",
                json!({"createNote": {"create": "createNote", "read": "getNote", "key": "id", "update": "editNote",
                    "update_key": "id"}}),
            ),
            (
                vec![plain("create_address"), by_id("get_address"), plain("list_addresses")],
                "",
                json!({"create_address": {"create": "create_address", "read": "get_address", "key": "id",
                    "list": "list_addresses"}}),
            ),
            // Two parameters, and none of them is the id.
            (vec![plain("create_user"), tool("get_user", &["name", "team"], &["name", "team"])], "", json!({})),
            // Nothing reads it.
            (vec![plain("create_user"), by_id("get_order")], "", json!({})),
            (
                vec![plain("put"), tool("look_up", &["number"], &["number"]), by_id("drop"), plain("create_user")],
                "{ create: put, read: look_up, delete: drop }",
                json!({"put": {"create": "put", "read": "look_up", "key": "number", "delete": "drop",
                    "delete_key": "id"}}),
            ),
            (vec![plain("put"), by_id("look_up")], "{ create: putt, read: look_up }", json!({})),
        ] {
            let mut sources = Sources::default();
            let id = sources.add(SourceFile::new("suite.yml", named.to_owned()));
            let node = (!named.is_empty()).then(|| parse(&sources, id).unwrap());
            assert_eq!(records(&tools, node.as_ref()), expected, "{named}");
        }
    }
}
