//! Names that the server does not offer: which one may be meant.

use serde_json::Value as Json;

use super::{Answer, reply::ResponseKind, show};
use crate::wire::Catalog;

/// A sentence about a name that the request gives and the server does not offer: that of a tool, prompt or resource where
/// the answer is an error, or that of an argument that is much like one of those that there are.
pub fn unknown_name_help(answer: &Answer<'_>) -> Option<String> {
    let is_error = matches!(ResponseKind::of(answer.message), ResponseKind::Error(_) | ResponseKind::ToolError(_));
    let Answer { method, params, catalog, .. } = *answer;
    match method {
        "tools/call" => {
            let name = params["name"].as_str()?;
            let Some(tool) = catalog.tool(name) else { return is_error.then(|| unknown_tool(name, catalog)) };
            let known = tool.input_schema()["properties"].as_object()?;
            misspelt_argument(&format!("the tool `{}`", show::quote(name)), params, &|| {
                known.keys().map(String::as_str)
            })
        }
        "prompts/get" => {
            let name = params["name"].as_str()?;
            let names = || catalog.prompts.iter().filter_map(|prompt| prompt["name"].as_str());
            let Some(prompt) = catalog.prompts.iter().find(|prompt| prompt["name"] == name) else {
                return (is_error && names().next().is_some()).then(|| unlisted_message("prompt", name, names()));
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
                .then(|| unlisted_message("resource", uri, uris()))
        }
        _ => None,
    }
}

/// Says that a tool is not listed, and which one may be meant.
pub fn unknown_tool(name: &str, catalog: &Catalog) -> String {
    format!("the server lists no tool `{}`{}", show::quote(name), show::did_you_mean(name, catalog.tool_names()))
}

fn unlisted_message<'a>(noun: &str, name: &str, offered: impl Iterator<Item = &'a str>) -> String {
    format!("the server lists no {noun} `{}`{}", show::quote(name), show::did_you_mean(name, offered))
}

/// The first argument that is none of those that there are, and much like one of them.
fn misspelt_argument<'a, I: Iterator<Item = &'a str>>(
    of: &str,
    params: &Json,
    known: &dyn Fn() -> I,
) -> Option<String> {
    let given = params["arguments"].as_object()?;
    let unknown = given.keys().filter(|name| known().all(|one| one != name.as_str()));
    // One that is given already is not meant.
    let free = || known().filter(|name| !given.contains_key(*name));
    { unknown }.find_map(|name| {
        let near = show::did_you_mean(name, free());
        (!near.is_empty()).then(|| format!("{of} has no argument `{}`{near}", show::quote(name)))
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
        assert_eq!(unknown_name_help(&answer).as_deref(), expected, "{method} {params}");
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
