//! The questions that a server is asked for a suite, and the words for them.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::plan::arguments::safe_arguments;
use crate::reproduce::text_lasts;
use crate::source::visible_line;
use crate::wire::{Catalog, Tool};

/// A text that names nothing on any server.
pub(crate) const UNKNOWN: &str = "mcprove-unknown";

/// The most resources that are read, arguments that are completed, and arguments of one tool that are made unknown.
const MOST_RESOURCES: usize = 10;
const MOST_COMPLETIONS: usize = 10;
const MOST_UNKNOWN: usize = 2;
const MOST_OTHER: usize = 2;

/// A long text, and how a suite writes it.
const LONG_PART: (&str, usize) = ("all of this text comes back, ", 150);
const LONG_END: &str = "to its end";

pub(crate) fn long_text() -> String {
    format!("{}{LONG_END}", LONG_PART.0.repeat(LONG_PART.1))
}

pub(crate) fn written_long_text() -> String {
    let (part, times) = LONG_PART;
    format!("{{{{ '{part}' * {times} }}}}{LONG_END}")
}

/// Something that a server is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerQuestion {
    /// A call that is served; `made` is the argument that takes the id of a thing made before, by its name.
    Call { tool: String, arguments: Value, made: Option<MadeArgument> },
    /// The same call with one argument that names nothing.
    Unknown { tool: String, arguments: Value, parameter: String },
    /// The same call with another value for an argument that is a choice or a switch.
    Other { tool: String, arguments: Value, parameter: String },
    /// The same call with a long text as an argument.
    Long { tool: String, arguments: Value, parameter: String },
    /// A resource.
    Read { uri: String },
    /// A prompt.
    Prompt { name: String, arguments: Value },
    /// The values of an argument of a prompt, or of a variable of a resource template.
    Complete { reference: Value, argument: String },
    /// A list that fits one page.
    List(ListedKind),
    /// The tools as a whole, if they fit one page.
    Tools,
}

/// A list of a server whose entries a suite names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListedKind {
    Resources,
    Prompts,
}

impl ListedKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }

    /// The names of the entries in the answer of a server, sorted; `None` if others follow on another page.
    pub(crate) fn names(self, answer: &Value) -> Option<Vec<String>> {
        let result = &answer["result"];
        let key = if self == Self::Resources { "uri" } else { "name" };
        let entries = result[self.as_str()].as_array().filter(|_| result.get("nextCursor").is_none())?;
        let names: Option<Vec<String>> = entries.iter().map(|entry| entry[key].as_str().map(str::to_owned)).collect();
        names.map(|mut names| {
            names.sort();
            names
        })
    }
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
            Self::Call { tool, .. }
            | Self::Unknown { tool, .. }
            | Self::Other { tool, .. }
            | Self::Long { tool, .. } => Some(tool),
            Self::Read { .. } | Self::Prompt { .. } | Self::Complete { .. } | Self::List(_) | Self::Tools => None,
        }
    }

    /// The tool that is called again with other arguments.
    pub(crate) fn varied_tool(&self) -> Option<&str> {
        match self {
            Self::Unknown { tool, .. } | Self::Other { tool, .. } | Self::Long { tool, .. } => Some(tool),
            Self::Call { .. }
            | Self::Read { .. }
            | Self::Prompt { .. }
            | Self::Complete { .. }
            | Self::List(_)
            | Self::Tools => None,
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
            Self::Unknown { tool, arguments, .. } | Self::Other { tool, arguments, .. } => {
                ("tools/call", json!({"name": tool, "arguments": arguments}))
            }
            Self::Long { tool, arguments, parameter } => {
                let mut arguments = arguments.clone();
                arguments[parameter] = long_text().into();
                ("tools/call", json!({"name": tool, "arguments": arguments}))
            }
            Self::Read { uri } => ("resources/read", json!({"uri": uri})),
            Self::Prompt { name, arguments } if members_of(arguments).is_empty() => {
                ("prompts/get", json!({"name": name}))
            }
            Self::Prompt { name, arguments } => ("prompts/get", json!({"name": name, "arguments": arguments})),
            Self::Complete { reference, argument } => {
                ("completion/complete", json!({"ref": reference, "argument": {"name": argument, "value": ""}}))
            }
            Self::List(ListedKind::Resources) => ("resources/list", json!({})),
            Self::List(ListedKind::Prompts) => ("prompts/list", json!({})),
            Self::Tools => ("tools/list", json!({})),
        }
    }

    /// For those who wait.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Call { tool, .. }
            | Self::Unknown { tool, .. }
            | Self::Other { tool, .. }
            | Self::Long { tool, .. } => format!("calling `{}`", visible_line(tool)),
            Self::Read { uri } => format!("reading `{}`", visible_line(uri)),
            Self::Prompt { name, .. } => format!("getting the prompt `{}`", visible_line(name)),
            Self::Complete { argument, .. } => format!("completing `{}`", visible_line(argument)),
            Self::List(kind) => format!("listing {}", kind.as_str()),
            Self::Tools => "listing tools".to_owned(),
        }
    }
}

/// A call, and the same with arguments that name nothing, in the store where they name the store.
pub(crate) fn questions_of_call(tool: &Tool, arguments: &Value, store: Option<&Path>) -> Vec<ServerQuestion> {
    let mut questions = vec![ServerQuestion::call(&tool.name, arguments)];
    let schema = tool.arguments_schema();
    let members = arguments.as_object().into_iter().flatten();
    let unknown = members.filter_map(|(name, value)| {
        let text = value.as_str().filter(|text| !is_closed(&schema["properties"][name]) && !text.is_empty())?;
        let is_store = store.is_some_and(|store| Path::new(text) == store);
        let unknown = if is_store { unknown_like(&format!("{text}/")) } else { unknown_like(text) };
        Some(question_of_unknown(tool, arguments, name, unknown))
    });
    questions.extend(unknown.take(MOST_UNKNOWN));
    questions.extend(others(tool, arguments).take(MOST_OTHER));
    questions.extend(with_long_text(tool, arguments));
    questions
}

/// The call with each of its choices and switches as they are not.
fn others(tool: &Tool, arguments: &Value) -> impl Iterator<Item = ServerQuestion> {
    let properties = tool.arguments_schema()["properties"].as_object().cloned().unwrap_or_default();
    properties.into_iter().filter_map(|(parameter, declared)| {
        let known = arguments.get(&parameter).or_else(|| declared.get("default"));
        let other = match (declared["enum"].as_array(), &declared["type"]) {
            (Some(choices), _) => choices.iter().find(|choice| Some(*choice) != known.or(choices.first()))?.clone(),
            (None, kind) if kind == "boolean" => (!known.and_then(Value::as_bool).unwrap_or(false)).into(),
            (None, _) => return None,
        };
        let mut arguments = arguments.clone();
        arguments.as_object_mut()?.insert(parameter.clone(), other);
        Some(ServerQuestion::Other { tool: tool.name.clone(), arguments, parameter })
    })
}

/// The call with a long text in the place of its first free one, if the schema takes it.
fn with_long_text(tool: &Tool, arguments: &Value) -> Option<ServerQuestion> {
    let schema = tool.arguments_schema();
    let is_free = |name: &str| {
        let declared = &schema["properties"][name];
        let has_room = declared["maxLength"].as_u64().is_none_or(|most| most >= long_text().len() as u64);
        declared["type"] == "string" && !is_closed(declared) && has_room
    };
    let (parameter, _) = arguments.as_object()?.iter().find(|(name, _)| is_free(name))?;
    let (tool, parameter) = (tool.name.clone(), parameter.clone());
    Some(ServerQuestion::Long { tool, arguments: arguments.clone(), parameter })
}

/// A call with the id of a thing that was made, and the same with one that names nothing.
pub(crate) fn questions_of_made(tool: &Tool, arguments: &Value, made: MadeArgument) -> Vec<ServerQuestion> {
    let parameter = made.parameter.clone();
    let is_text = arguments[&parameter].is_string() && !is_closed(&tool.arguments_schema()["properties"][&parameter]);
    let unknown = is_text.then(|| question_of_unknown(tool, arguments, &parameter, UNKNOWN.to_owned()));
    let call = ServerQuestion::Call { tool: tool.name.clone(), arguments: arguments.clone(), made: Some(made) };
    std::iter::once(call).chain(unknown).collect()
}

fn question_of_unknown(tool: &Tool, arguments: &Value, parameter: &str, unknown: String) -> ServerQuestion {
    let mut arguments = arguments.clone();
    arguments[parameter] = unknown.into();
    ServerQuestion::Unknown { tool: tool.name.clone(), arguments, parameter: parameter.to_owned() }
}

/// True if a schema says which texts there are.
fn is_closed(declared: &Value) -> bool {
    ["enum", "const", "format", "pattern"].into_iter().any(|word| declared.get(word).is_some())
}

/// A text of the same form that names nothing: another file of the same folder, another address of the same host.
fn unknown_like(text: &str) -> String {
    match text.rfind('/') {
        Some(at) if at + 1 < text.len() => format!("{}/{UNKNOWN}", &text[..at]),
        Some(_) => format!("{text}{UNKNOWN}"),
        None => UNKNOWN.to_owned(),
    }
}

/// The values of the arguments of prompts and of the variables of resource templates.
pub(crate) fn questions_of_completions(catalog: &Catalog) -> Vec<ServerQuestion> {
    let prompts = catalog.prompts.iter().filter_map(|prompt| Some((prompt, prompt["name"].as_str()?)));
    let of_prompts = prompts.flat_map(|(prompt, name)| {
        let arguments = arguments_of(prompt).filter_map(|argument| argument["name"].as_str());
        arguments.map(move |argument| (prompt_reference(name), argument.to_owned()))
    });
    let of_templates = templates(catalog).flat_map(|uri| {
        variables(uri).unwrap_or_default().into_iter().map(move |name| (template_reference(uri), name.to_owned()))
    });
    let all = of_prompts.chain(of_templates).take(MOST_COMPLETIONS);
    all.map(|(reference, argument)| ServerQuestion::Complete { reference, argument }).collect()
}

/// The lists of resources and prompts, resources, those of templates whose variables were completed, and prompts with the arguments that they need.
pub(crate) fn questions_of_lists(
    catalog: &Catalog,
    completed: &[Answered],
    folder: Option<&str>,
) -> Vec<ServerQuestion> {
    let uris = catalog.resources.iter().filter_map(|resource| resource["uri"].as_str()).map(str::to_owned);
    let of_templates = templates(catalog).filter_map(|template| {
        let reference = template_reference(template);
        variables(template)?.into_iter().try_fold(template.to_owned(), |uri, name| {
            Some(uri.replace(&format!("{{{name}}}"), completed_value(completed, &reference, name)?))
        })
    });
    let mut known: Vec<String> = uris.take(MOST_RESOURCES).collect();
    for uri in of_templates.take(MOST_RESOURCES) {
        if !known.contains(&uri) {
            known.push(uri);
        }
    }
    let prompts = catalog.prompts.iter().filter_map(|prompt| {
        let name = prompt["name"].as_str()?;
        Some(ServerQuestion::Prompt { name: name.to_owned(), arguments: prompt_arguments(prompt, completed, folder)? })
    });
    let resources = (!catalog.resources.is_empty()).then_some(ListedKind::Resources);
    let lists = resources.into_iter().chain((!catalog.prompts.is_empty()).then_some(ListedKind::Prompts));
    let reads = known.into_iter().map(|uri| ServerQuestion::Read { uri });
    lists.map(ServerQuestion::List).chain(reads).chain(prompts).collect()
}

/// The arguments that a prompt needs: completed ones, and otherwise texts for their names.
fn prompt_arguments(prompt: &Value, completed: &[Answered], folder: Option<&str>) -> Option<Value> {
    let reference = prompt_reference(prompt["name"].as_str()?);
    let required = arguments_of(prompt).filter(|argument| argument["required"] == true);
    let names: Vec<&str> = required.filter_map(|argument| argument["name"].as_str()).collect();
    if names.is_empty() {
        return Some(json!({}));
    }
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({"type": "string", "minLength": 1}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    let like_a_tool = Tool::new(json!({"name": prompt["name"], "inputSchema": schema}));
    let mut arguments = safe_arguments(&like_a_tool, folder.map(str::to_owned)).ok()?.smallest().clone();
    for name in names {
        if let Some(value) = completed_value(completed, &reference, name) {
            arguments[name] = value.into();
        }
    }
    Some(arguments)
}

/// The first value that two servers offer alike for an argument, and that means the same on another day.
fn completed_value<'a>(completed: &'a [Answered], reference: &Value, argument: &str) -> Option<&'a str> {
    let is_it = |answered: &&Answered| matches!(&answered.question, ServerQuestion::Complete { reference: known, argument: name } if known == reference && name == argument);
    let [first, second] = &completed.iter().find(is_it)?.answers;
    let value = first_completion(first)?;
    (first_completion(second) == Some(value) && text_lasts(value)).then_some(value)
}

/// The first value of the answer to a completion.
pub(crate) fn first_completion(answer: &Value) -> Option<&str> {
    answer["result"]["completion"]["values"][0].as_str().filter(|value| !value.is_empty())
}

fn prompt_reference(name: &str) -> Value {
    json!({"type": "ref/prompt", "name": name})
}

fn template_reference(uri: &str) -> Value {
    json!({"type": "ref/resource", "uri": uri})
}

fn arguments_of(prompt: &Value) -> impl Iterator<Item = &Value> {
    prompt["arguments"].as_array().into_iter().flatten()
}

fn templates(catalog: &Catalog) -> impl Iterator<Item = &str> {
    catalog.resource_templates.iter().filter_map(|template| template["uriTemplate"].as_str())
}

/// The variables of a template; `None` where one is more than a name.
fn variables(template: &str) -> Option<Vec<&str>> {
    let parts = template.split('{').skip(1).map(|part| part.split_once('}').map(|(name, _)| name));
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    parts.map(|name| name.filter(is_name)).collect()
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
    fn choices_and_switches_are_turned() {
        for (declared, arguments, expected) in [
            (json!({"enum": ["csv", "json"]}), json!({"x": "csv"}), Some(json!("json"))),
            (json!({"enum": ["csv", "json"]}), json!({"x": "json"}), Some(json!("csv"))),
            (json!({"enum": ["csv", "json"], "default": "json"}), json!({}), Some(json!("csv"))),
            (json!({"enum": ["csv", "json"]}), json!({}), Some(json!("json"))),
            (json!({"enum": ["csv"]}), json!({}), None),
            (json!({"type": "boolean"}), json!({}), Some(json!(true))),
            (json!({"type": "boolean", "default": true}), json!({}), Some(json!(false))),
            (json!({"type": "boolean"}), json!({"x": true}), Some(json!(false))),
            (json!({"type": "integer"}), json!({"x": 1}), None),
        ] {
            let schema = json!({"type": "object", "properties": {"x": declared}});
            let tool = Tool::new(json!({"name": "t", "inputSchema": schema}));
            let turned = others(&tool, &arguments).next().map(|question| question.request(&Map::new()).1);
            assert_eq!(turned.map(|params| params["arguments"]["x"].clone()), expected, "{declared} {arguments}");
        }
    }

    #[test]
    fn the_first_free_text_is_made_long() {
        for (declared, is_asked) in [
            (json!({"type": "string"}), true),
            (json!({"type": "string", "maxLength": 10_000}), true),
            (json!({"type": "string", "maxLength": 100}), false),
            (json!({"type": "string", "format": "email"}), false),
            (json!({"type": "integer"}), false),
        ] {
            let schema = json!({"type": "object", "properties": {"x": declared}});
            let tool = Tool::new(json!({"name": "t", "inputSchema": schema}));
            let asked = with_long_text(&tool, &json!({"x": "hello"}));
            let sent = asked.map(|question| question.request(&Map::new()).1["arguments"]["x"] == long_text());
            assert_eq!(sent, is_asked.then_some(true), "{declared}");
        }
    }

    #[test]
    fn free_texts_are_made_unknown() {
        let tool = Tool::new(json!({"name": "t", "inputSchema": {"type": "object", "properties": {
            "id": {"type": "string"}, "order": {"enum": ["a", "b"]}, "when": {"type": "string", "format": "date"},
            "count": {"type": "integer"},
        }}}));
        let arguments = json!({"id": "u1", "order": "a", "when": "2026-01-01", "count": 3});
        let questions = questions_of_call(&tool, &arguments, None);
        let mut changed = arguments.clone();
        changed["id"] = UNKNOWN.into();
        assert_eq!(
            questions,
            [
                ServerQuestion::call("t", &arguments),
                ServerQuestion::Unknown { tool: "t".to_owned(), arguments: changed, parameter: "id".to_owned() },
                ServerQuestion::Other {
                    tool: "t".to_owned(),
                    arguments: json!({"id": "u1", "order": "b", "when": "2026-01-01", "count": 3}),
                    parameter: "order".to_owned(),
                },
                ServerQuestion::Long { tool: "t".to_owned(), arguments, parameter: "id".to_owned() },
            ]
        );
    }

    #[test]
    fn resources_are_read_and_prompts_got_with_what_they_need() {
        let catalog = Catalog {
            resources: vec![json!({"uri": "a://b"}), json!({"name": "no address"})],
            resource_templates: vec![
                json!({"uriTemplate": "users://{id}"}),
                json!({"uriTemplate": "files://{+path}"}),
                json!({"uriTemplate": "orders://{id}"}),
            ],
            prompts: vec![
                json!({"name": "plain"}),
                json!({"name": "some", "arguments": [{"name": "x"}]}),
                json!({"name": "needy", "arguments": [{"name": "email", "required": true}, {"name": "tone", "required": true}]}),
            ],
            ..Catalog::default()
        };
        let questions = questions_of_completions(&catalog);
        let names: Vec<String> = questions.iter().map(ServerQuestion::sentence).collect();
        assert_eq!(names, ["x", "email", "tone", "id", "id"].map(|name| format!("completing `{name}`")));
        let answer = |values: &Value| json!({"result": {"completion": {"values": values}}});
        let values = [json!([]), json!([]), json!(["formal", "playful"]), json!(["u1"]), json!(["2026-01-01"])];
        let completed: Vec<Answered> = questions
            .into_iter()
            .zip(&values)
            .map(|(question, values)| Answered { question, answers: [answer(values), answer(values)] })
            .collect();
        let prompt = |name: &str, arguments: Value| ServerQuestion::Prompt { name: name.to_owned(), arguments };
        let read = |uri: &str| ServerQuestion::Read { uri: uri.to_owned() };
        assert_eq!(
            questions_of_lists(&catalog, &completed, None),
            [
                ServerQuestion::List(ListedKind::Resources),
                ServerQuestion::List(ListedKind::Prompts),
                read("a://b"),
                read("users://u1"),
                prompt("plain", json!({})),
                prompt("some", json!({})),
                prompt("needy", json!({"email": "text", "tone": "formal"})),
            ]
        );
    }

    #[test]
    fn a_list_of_one_page_has_names() {
        for (result, expected) in [
            (json!({"resources": [{"uri": "b://"}, {"uri": "a://"}]}), Some(vec!["a://", "b://"])),
            (json!({"resources": []}), Some(vec![])),
            (json!({"resources": [{"uri": "a://"}], "nextCursor": "2"}), None),
            (json!({"resources": [{"name": "a"}]}), None),
            (json!({}), None),
        ] {
            let names = ListedKind::Resources.names(&json!({"result": result}));
            assert_eq!(names, expected.map(|names| names.into_iter().map(str::to_owned).collect()), "{result}");
        }
    }

    #[test]
    fn ids_that_were_made_are_made_unknown_where_they_are_texts() {
        let tool = |schema: Value| {
            Tool::new(json!({"name": "get", "inputSchema": {"type": "object", "properties": {"id": schema}}}))
        };
        let made = || MadeArgument { parameter: "id".to_owned(), id: "user_id".to_owned() };
        for (schema, arguments, is_asked) in [
            (json!({"type": "string"}), json!({"id": "text"}), true),
            (json!({"type": "string", "format": "uuid"}), json!({"id": "text"}), false),
            (json!({"type": "integer"}), json!({"id": 1}), false),
        ] {
            let questions = questions_of_made(&tool(schema.clone()), &arguments, made());
            assert_eq!(questions.len(), 1 + usize::from(is_asked), "{schema}");
        }
    }
}
