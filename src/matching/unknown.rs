//! Names that the server does not offer: which one may be meant.

use serde_json::Value as Json;

use super::{Answer, reply::ResponseKind, show};
use crate::wire::Catalog;

/// A name that a request gives and the server does not offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// The kind of the name.
    pub kind: UnknownNameKind,
    /// The name, as a sentence without a final period.
    pub message: String,
    /// The name that may be meant, as a question.
    pub nearest: Option<String>,
}

/// The kind of a name that the server does not offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownNameKind {
    /// That of a tool, prompt or resource whose request was answered with an error.
    Offer,
    /// That of an argument that is much like one of those that there are.
    Argument,
}

impl UnknownName {
    fn new<'a>(kind: UnknownNameKind, message: String, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let near = show::did_you_mean(name, known);
        Self { kind, message, nearest: near.strip_prefix("; ").map(str::to_owned) }
    }

    /// The sentence with the name that may be meant.
    pub fn to_text(&self) -> String {
        [Some(&self.message), self.nearest.as_ref()].into_iter().flatten().cloned().collect::<Vec<_>>().join("; ")
    }
}

/// The name that the request gives and the server does not offer.
pub fn unknown_name(answer: &Answer<'_>) -> Option<UnknownName> {
    let is_error = matches!(ResponseKind::of(answer.message), ResponseKind::Error(_) | ResponseKind::ToolError(_));
    let Answer { method, params, catalog, .. } = *answer;
    match method {
        "tools/call" => {
            let name = params["name"].as_str()?;
            let Some(tool) = catalog.tool(name) else {
                return is_error.then(|| unlisted("tool", name, catalog.tool_names()));
            };
            let known = tool.input_schema()["properties"].as_object()?;
            misspelt_argument(&format!("the tool `{}`", show::quote(name)), params, &|| {
                known.keys().map(String::as_str)
            })
        }
        "prompts/get" => {
            let name = params["name"].as_str()?;
            let names = || catalog.prompts.iter().filter_map(|prompt| prompt["name"].as_str());
            let Some(prompt) = catalog.prompts.iter().find(|prompt| prompt["name"] == name) else {
                return (is_error && names().next().is_some()).then(|| unlisted("prompt", name, names()));
            };
            let known = prompt["arguments"].as_array()?;
            let known = || known.iter().filter_map(|argument| argument["name"].as_str());
            misspelt_argument(&format!("the prompt `{}`", show::quote(name)), params, &known)
        }
        "resources/read" => {
            let uri = params["uri"].as_str()?;
            let uris = || catalog.resources.iter().filter_map(|resource| resource["uri"].as_str());
            let near = show::did_you_mean(uri, uris());
            // Most addresses are those of templates, and listed nowhere.
            (is_error && !near.is_empty() && uris().all(|known| known != uri))
                .then(|| unlisted("resource", uri, uris()))
        }
        _ => None,
    }
}

/// Says that a tool is not listed, and which one may be meant.
pub fn unknown_tool(name: &str, catalog: &Catalog) -> String {
    unlisted("tool", name, catalog.tool_names()).to_text()
}

fn unlisted<'a>(noun: &str, name: &str, offered: impl Iterator<Item = &'a str>) -> UnknownName {
    let message = format!("the server lists no {noun} `{}`", show::quote(name));
    UnknownName::new(UnknownNameKind::Offer, message, name, offered)
}

/// The first argument that is none of those that there are, and much like one of them.
fn misspelt_argument<'a, I: Iterator<Item = &'a str>>(
    of: &str,
    params: &Json,
    known: &dyn Fn() -> I,
) -> Option<UnknownName> {
    let given = params["arguments"].as_object()?;
    let unknown = given.keys().filter(|name| known().all(|one| one != name.as_str()));
    // One that is given already is not meant.
    let free = || known().filter(|name| !given.contains_key(*name));
    { unknown }.find_map(|name| {
        let message = format!("{of} has no argument `{}`", show::quote(name));
        Some(UnknownName::new(UnknownNameKind::Argument, message, name, free())).filter(|one| one.nearest.is_some())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::source::template::Names;
    use crate::wire::Tool;

    fn check(method: &str, params: &Json, message: &Json, expected: Option<&str>) {
        let tool =
            json!({"name": "get_user", "inputSchema": {"type": "object", "properties": {"user_id": {}, "b": {}}}});
        let catalog = Catalog {
            tools: vec![Tool::new(tool)],
            prompts: vec![json!({"name": "welcome_user", "arguments": [{"name": "tone"}]})],
            resources: vec![json!({"uri": "users://all"})],
            ..Catalog::default()
        };
        let names = Names::new();
        let answer = Answer {
            method,
            params,
            message,
            notifications: &[],
            elapsed: Duration::ZERO,
            catalog: &catalog,
            names: &names,
            files: None,
        };
        assert_eq!(unknown_name(&answer).map(|unknown| unknown.to_text()).as_deref(), expected, "{method} {params}");
    }

    #[test]
    fn names_that_are_not_offered_get_a_hint() {
        let (error, served) = (json!({"error": {"code": -32602, "message": "no"}}), json!({"result": {"content": []}}));
        let call = |name: &str, arguments: Json| json!({"name": name, "arguments": arguments});
        for (method, params, message, expected) in [
            (
                "tools/call",
                call("get_usr", json!({})),
                &error,
                Some("the server lists no tool `get_usr`; did you mean `get_user`?"),
            ),
            ("tools/call", call("get_usr", json!({})), &served, None),
            (
                "tools/call",
                call("get_user", json!({"userId": 1})),
                &served,
                Some("the tool `get_user` has no argument `userId`; did you mean `user_id`?"),
            ),
            ("tools/call", call("get_user", json!({"user_id": 1, "user_ids": 1})), &served, None),
            ("tools/call", call("get_user", json!({"unexpected": 1})), &served, None),
            (
                "prompts/get",
                call("welcom_user", json!({})),
                &error,
                Some("the server lists no prompt `welcom_user`; did you mean `welcome_user`?"),
            ),
            (
                "prompts/get",
                call("welcome_user", json!({"tine": "x"})),
                &error,
                Some("the prompt `welcome_user` has no argument `tine`; did you mean `tone`?"),
            ),
            (
                "resources/read",
                json!({"uri": "users://al"}),
                &error,
                Some("the server lists no resource `users://al`; did you mean `users://all`?"),
            ),
            ("resources/read", json!({"uri": "file:///x"}), &error, None),
        ] {
            check(method, &params, message, expected);
        }
    }
}
