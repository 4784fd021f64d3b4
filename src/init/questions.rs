//! The questions that a server is asked for a suite, and the words for them.

use serde_json::{Map, Value, json};

use crate::source::visible_line;
use crate::wire::{Catalog, Tool};

/// A text that names nothing on any server.
pub(crate) const UNKNOWN: &str = "mcprove-unknown";

/// The most resources that are read, and the arguments of one tool that are made unknown.
const MOST_RESOURCES: usize = 10;
const MOST_UNKNOWN: usize = 2;

/// Something that a server is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerQuestion {
    /// A call that is served; `made` is the argument that takes the id of a thing made before, by its name.
    Call { tool: String, arguments: Value, made: Option<MadeArgument> },
    /// The same call with one argument that names nothing.
    Unknown { tool: String, arguments: Value, parameter: String },
    /// A resource.
    Read { uri: String },
    /// A prompt that needs no arguments.
    Prompt { name: String },
}

/// The argument of a call that takes the id of something that a suite makes first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MadeArgument {
    pub(crate) parameter: String,
    /// The name under which the suite knows the id.
    pub(crate) id: String,
}

/// A question, and the responses of two servers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered {
    pub(crate) question: ServerQuestion,
    pub(crate) answers: [Value; 2],
}

impl ServerQuestion {
    pub(crate) fn call(tool: &str, arguments: &Value) -> Self {
        Self::Call { tool: tool.to_owned(), arguments: arguments.clone(), made: None }
    }

    pub(crate) fn tool(&self) -> Option<&str> {
        match self {
            Self::Call { tool, .. } | Self::Unknown { tool, .. } => Some(tool),
            Self::Read { .. } | Self::Prompt { .. } => None,
        }
    }

    /// The method and the parameters of the request, where things with these ids were made.
    pub(crate) fn request(&self, ids: &Map<String, Value>) -> (&'static str, Value) {
        match self {
            Self::Call { tool, arguments, made } => {
                let mut arguments = arguments.clone();
                if let Some((made, id)) = made.as_ref().and_then(|made| Some((made, ids.get(&made.id)?))) {
                    arguments[&made.parameter] = id.clone();
                }
                ("tools/call", json!({"name": tool, "arguments": arguments}))
            }
            Self::Unknown { tool, arguments, .. } => ("tools/call", json!({"name": tool, "arguments": arguments})),
            Self::Read { uri } => ("resources/read", json!({"uri": uri})),
            Self::Prompt { name } => ("prompts/get", json!({"name": name})),
        }
    }

    /// For those who wait.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Call { tool, .. } | Self::Unknown { tool, .. } => format!("calling `{}`", visible_line(tool)),
            Self::Read { uri } => format!("reading `{}`", visible_line(uri)),
            Self::Prompt { name } => format!("getting the prompt `{}`", visible_line(name)),
        }
    }
}

/// A call, and the same with arguments that name nothing.
pub(crate) fn questions_of_call(tool: &Tool, arguments: &Value) -> Vec<ServerQuestion> {
    let mut questions = vec![ServerQuestion::call(&tool.name, arguments)];
    let schema = tool.arguments_schema();
    let members = arguments.as_object().into_iter().flatten();
    let unknown = members.filter_map(|(name, value)| {
        let declared = &schema["properties"][name];
        let is_closed = ["enum", "const", "format", "pattern"].into_iter().any(|word| declared.get(word).is_some());
        let text = value.as_str().filter(|text| !is_closed && !text.is_empty())?;
        let mut changed = arguments.clone();
        changed[name] = unknown_like(text).into();
        Some(ServerQuestion::Unknown { tool: tool.name.clone(), arguments: changed, parameter: name.clone() })
    });
    questions.extend(unknown.take(MOST_UNKNOWN));
    questions
}

/// A text of the same form that names nothing: another file of the same folder, another address of the same host.
fn unknown_like(text: &str) -> String {
    match text.rfind('/') {
        Some(at) if at + 1 < text.len() => format!("{}/{UNKNOWN}", &text[..at]),
        Some(_) => format!("{text}{UNKNOWN}"),
        None => UNKNOWN.to_owned(),
    }
}

/// Resources, and prompts that need nothing.
pub(crate) fn questions_of_lists(catalog: &Catalog) -> Vec<ServerQuestion> {
    let uris = catalog.resources.iter().filter_map(|resource| resource["uri"].as_str());
    let reads = uris.take(MOST_RESOURCES).map(|uri| ServerQuestion::Read { uri: uri.to_owned() });
    let needs_nothing = |prompt: &&Value| {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        !arguments.clone().any(|argument| argument["required"] == true)
    };
    let names = catalog.prompts.iter().filter(needs_nothing).filter_map(|prompt| prompt["name"].as_str());
    reads.chain(names.map(|name| ServerQuestion::Prompt { name: name.to_owned() })).collect()
}

/// The arguments of a call as a mapping.
pub(crate) fn members_of(arguments: &Value) -> Map<String, Value> {
    arguments.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_have_the_form_of_known_ones() {
        for (text, expected) in [
            ("u1", UNKNOWN),
            ("/srv/notes/a.md", "/srv/notes/mcprove-unknown"),
            ("notes/", "notes/mcprove-unknown"),
            ("users://all", "users://mcprove-unknown"),
            ("/", "/mcprove-unknown"),
        ] {
            assert_eq!(unknown_like(text), expected);
        }
    }

    #[test]
    fn free_texts_are_made_unknown() {
        let tool = Tool::new(json!({"name": "t", "inputSchema": {"type": "object", "properties": {
            "id": {"type": "string"}, "order": {"enum": ["a", "b"]}, "when": {"type": "string", "format": "date"},
            "count": {"type": "integer"},
        }}}));
        let arguments = json!({"id": "u1", "order": "a", "when": "2026-01-01", "count": 3});
        let questions = questions_of_call(&tool, &arguments);
        let mut changed = arguments.clone();
        changed["id"] = UNKNOWN.into();
        assert_eq!(
            questions,
            [
                ServerQuestion::call("t", &arguments),
                ServerQuestion::Unknown { tool: "t".to_owned(), arguments: changed, parameter: "id".to_owned() },
            ]
        );
    }

    #[test]
    fn resources_are_read_and_prompts_that_need_nothing_got() {
        let catalog = Catalog {
            resources: vec![json!({"uri": "a://b"}), json!({"name": "no address"})],
            prompts: vec![
                json!({"name": "plain"}),
                json!({"name": "some", "arguments": [{"name": "x"}]}),
                json!({"name": "needy", "arguments": [{"name": "x", "required": true}]}),
            ],
            ..Catalog::default()
        };
        let prompt = |name: &str| ServerQuestion::Prompt { name: name.to_owned() };
        let read = ServerQuestion::Read { uri: "a://b".to_owned() };
        assert_eq!(questions_of_lists(&catalog), [read, prompt("plain"), prompt("some")]);
    }
}
