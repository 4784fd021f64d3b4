//! The questions that a server is asked for a suite, and the words for them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::round_trip::is_remover;
use super::shown_values::ShownValues;
use crate::generate::{PLACEHOLDER, Rng};
use crate::plan::arguments::{SafeArguments, is_file, is_path, safe_arguments};
use crate::reproduce::text_lasts;
use crate::schema::objection;
use crate::source::{visible_line, words};
use crate::wire::{Catalog, Tool};

/// A text that names nothing on any server.
pub(crate) const UNKNOWN: &str = "mcprove-unknown";

/// The most resources that are read, arguments that are completed, and arguments of one tool that are made unknown.
const MOST_RESOURCES: usize = 10;
const MOST_COMPLETIONS: usize = 10;
const MOST_UNKNOWN: usize = 2;
const MOST_OTHER: usize = 4;
const MOST_PROMPT_ARGUMENTS: usize = 3;

/// The most calls of a tool that may change something with other values, each of which takes two servers.
const MOST_WRITTEN: usize = 2;

/// The texts of a pattern that are looked at, and what they are drawn from.
const FORM_DRAWS: usize = 20;
const FORM_SEED: u64 = 1;

/// A whole number that names nothing.
const UNKNOWN_NUMBER: u64 = 987_654_321;

/// A text of letters that take several bytes, of which one takes two units of UTF-16.
pub(crate) const SYMBOLS: &str = "Grüße, 日本語 and 🙂!";

/// Numbers that tell sums from differences, and lists from their first items.
const WHOLE_NUMBERS: [u64; 4] = [7, 3, 12, 5];
const NUMBERS: [f64; 4] = [12.5, 7.25, 3.5, 20.0];

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
    /// The same call with another value for an argument, of which one is named.
    Other { tool: String, arguments: Value, parameter: String },
    /// The same call with an empty text as an argument, which is served or refused.
    Empty { tool: String, arguments: Value, parameter: String },
    /// The same call with a text that has to come back.
    Echo { tool: String, arguments: Value, parameter: String, text: EchoedText },
    /// A resource.
    Read { uri: String },
    /// A resource of a template that is not there.
    UnknownRead { uri: String },
    /// A prompt.
    Prompt { name: String, arguments: Value },
    /// A prompt without the arguments that it needs.
    BarePrompt { name: String },
    /// The values of an argument of a prompt, or of a variable of a resource template, that begin with some letters.
    Complete { reference: Value, argument: String, beginning: String },
    /// A list that fits one page.
    List(ListedKind),
    /// The tools as a whole, if they fit one page.
    Tools,
}

/// A text that has to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EchoedText {
    Long,
    Symbols,
}

impl EchoedText {
    pub(crate) fn sent(self) -> String {
        match self {
            Self::Long => long_text(),
            Self::Symbols => SYMBOLS.to_owned(),
        }
    }

    /// The text as a suite writes it.
    pub(crate) fn written(self) -> String {
        match self {
            Self::Long => written_long_text(),
            Self::Symbols => SYMBOLS.to_owned(),
        }
    }
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
            | Self::Empty { tool, .. }
            | Self::Echo { tool, .. } => Some(tool),
            Self::Read { .. }
            | Self::UnknownRead { .. }
            | Self::Prompt { .. }
            | Self::BarePrompt { .. }
            | Self::Complete { .. }
            | Self::List(_)
            | Self::Tools => None,
        }
    }

    /// The tool that is called again with other arguments.
    pub(crate) fn varied_tool(&self) -> Option<&str> {
        match self {
            Self::Unknown { tool, .. }
            | Self::Other { tool, .. }
            | Self::Empty { tool, .. }
            | Self::Echo { tool, .. } => Some(tool),
            Self::Call { .. }
            | Self::Read { .. }
            | Self::UnknownRead { .. }
            | Self::Prompt { .. }
            | Self::BarePrompt { .. }
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
            Self::Unknown { tool, arguments, .. }
            | Self::Other { tool, arguments, .. }
            | Self::Empty { tool, arguments, .. } => ("tools/call", json!({"name": tool, "arguments": arguments})),
            Self::Echo { tool, arguments, parameter, text } => {
                let mut arguments = arguments.clone();
                arguments[parameter] = text.sent().into();
                ("tools/call", json!({"name": tool, "arguments": arguments}))
            }
            Self::Read { uri } | Self::UnknownRead { uri } => ("resources/read", json!({"uri": uri})),
            Self::Prompt { name, arguments } if members_of(arguments).is_empty() => {
                ("prompts/get", json!({"name": name}))
            }
            Self::BarePrompt { name } => ("prompts/get", json!({"name": name})),
            Self::Prompt { name, arguments } => ("prompts/get", json!({"name": name, "arguments": arguments})),
            Self::Complete { reference, argument, beginning } => {
                ("completion/complete", json!({"ref": reference, "argument": {"name": argument, "value": beginning}}))
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
            | Self::Empty { tool, .. }
            | Self::Echo { tool, .. } => format!("calling `{}`", visible_line(tool)),
            Self::Read { uri } | Self::UnknownRead { uri } => format!("reading `{}`", visible_line(uri)),
            Self::Prompt { name, .. } | Self::BarePrompt { name } => {
                format!("getting the prompt `{}`", visible_line(name))
            }
            Self::Complete { argument, .. } => format!("completing `{}`", visible_line(argument)),
            Self::List(kind) => format!("listing {}", kind.as_str()),
            Self::Tools => "listing tools".to_owned(),
        }
    }
}

/// A call, and the same with arguments that name nothing, in the store where they name the store.
pub(crate) fn questions_of_call(tool: &Tool, arguments: &Value, store: Option<&Path>) -> Vec<ServerQuestion> {
    let mut questions = vec![ServerQuestion::call(&tool.name, arguments)];
    let members = arguments.as_object().into_iter().flatten();
    let unknown = members.filter_map(|(name, value)| {
        let is_store = |text: &str| store.is_some_and(|store| Path::new(text) == store);
        let unknown = match value.as_str() {
            Some(text) if is_store(text) => unknown_like(&format!("{text}/")).into(),
            _ => unknown_value(tool, name, value)?,
        };
        Some(question_of_unknown(tool, arguments, name, unknown))
    });
    questions.extend(unknown.take(MOST_UNKNOWN));
    questions.extend(others(tool, arguments).take(MOST_OTHER));
    questions.extend(with_other_numbers(tool, arguments));
    questions.extend(with_empty_text(tool, arguments));
    questions.extend(
        [EchoedText::Long, EchoedText::Symbols].into_iter().filter_map(|text| with_text(tool, arguments, text)),
    );
    questions
}

/// The call with each of its choices and switches as they are not, where that is safe to send.
fn others(tool: &Tool, arguments: &Value) -> impl Iterator<Item = ServerQuestion> {
    let properties = tool.arguments_schema()["properties"].as_object().cloned().unwrap_or_default();
    let safe = safe_arguments(tool, None);
    let turned = properties.into_iter().flat_map(|(parameter, declared)| {
        let known = arguments.get(&parameter).or_else(|| declared.get("default"));
        let values = match (declared["enum"].as_array(), &declared["type"]) {
            (Some(choices), _) => {
                choices.iter().filter(|choice| Some(*choice) != known.or(choices.first())).cloned().collect()
            }
            (None, kind) if kind == "boolean" => vec![(!known.and_then(Value::as_bool).unwrap_or(false)).into()],
            (None, _) => Vec::new(),
        };
        let others = values.into_iter().filter_map(|value| with_argument(tool, arguments, &parameter, value));
        others.filter(|other| safe.as_ref().is_ok_and(|safe| is_safe(safe, other))).collect::<Vec<_>>()
    });
    turned.collect::<Vec<_>>().into_iter()
}

/// The schema takes the arguments, and none of them may take long or reach another machine.
fn is_safe(safe: &SafeArguments, question: &ServerQuestion) -> bool {
    let arguments = &question.request(&Map::new()).1["arguments"];
    safe.generator().is_valid(arguments) && safe.sanitize(arguments.clone()).as_ref() == Some(arguments)
}

/// Calls of a tool that may change something with other choices, and with a text of another form that its pattern takes.
///
/// A switch such as `dry_run` or `force` is never turned, and a tool that may destroy something is called as it is only.
pub(crate) fn questions_of_writer(tool: &Tool, arguments: &Value) -> Vec<ServerQuestion> {
    if tool.may_destroy() {
        return Vec::new();
    }
    let is_harmless = |question: &ServerQuestion| {
        let ServerQuestion::Other { arguments, parameter, .. } = question else { return false };
        let value = &arguments[parameter];
        !value.is_boolean() && !value.as_str().is_some_and(is_remover)
    };
    let all = others(tool, arguments).chain(with_other_form(tool, arguments));
    all.filter(is_harmless).take(MOST_WRITTEN).collect()
}

/// The call with a text that begins with another word, such as `ADD a` for `LIST`, where a pattern has both.
fn with_other_form(tool: &Tool, arguments: &Value) -> Option<ServerQuestion> {
    let safe = safe_arguments(tool, None).ok()?;
    let schema = tool.arguments_schema();
    let first_word = |text: &str| text.split_whitespace().next().map(str::to_owned);
    let mut texts = arguments.as_object()?.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let (parameter, text) = texts.find(|(name, _)| {
        schema["properties"][name]["pattern"].as_str().is_some_and(|pattern| pattern.contains('|'))
    })?;
    let mut rng = Rng::new(FORM_SEED);
    let drawn = (0..FORM_DRAWS).filter_map(|_| safe.random(&mut rng)[parameter].as_str().map(str::to_owned));
    drawn.filter(|other| first_word(other) != first_word(text)).find_map(|other| {
        with_argument(tool, arguments, parameter, other.into()).filter(|question| is_safe(&safe, question))
    })
}

/// The call with another value for one argument.
fn with_argument(tool: &Tool, arguments: &Value, parameter: &str, value: Value) -> Option<ServerQuestion> {
    let mut arguments = arguments.clone();
    arguments.as_object_mut()?.insert(parameter.to_owned(), value);
    Some(ServerQuestion::Other { tool: tool.name.clone(), arguments, parameter: parameter.to_owned() })
}

/// The call with other numbers: the smallest ones tell little.
fn with_other_numbers(tool: &Tool, arguments: &Value) -> Option<ServerQuestion> {
    let safe = safe_arguments(tool, None).ok()?;
    let is_taken = |arguments: &Value| {
        safe.generator().is_valid(arguments) && safe.sanitize(arguments.clone()).as_ref() == Some(arguments)
    };
    let mut changed = arguments.clone();
    let mut first = None;
    let numbers = arguments.as_object()?.iter().filter(|(_, value)| value.is_number());
    for (at, (name, value)) in numbers.enumerate() {
        let whole = WHOLE_NUMBERS.iter().map(|number| Value::from(*number));
        let broken = NUMBERS.iter().map(|number| Value::from(*number));
        let is_whole = tool.arguments_schema()["properties"][name]["type"] == "integer";
        let values: Vec<Value> = if is_whole { whole.collect() } else { broken.chain(whole).collect() };
        let fitting = (0..values.len()).map(|next| &values[(at + next) % values.len()]).find(|other| {
            let mut one = changed.clone();
            one[name] = (*other).clone();
            *other != value && is_taken(&one)
        });
        if let Some(other) = fitting {
            changed[name] = other.clone();
            first.get_or_insert(name);
        }
    }
    let parameter = first?.clone();
    Some(ServerQuestion::Other { tool: tool.name.clone(), arguments: changed, parameter })
}

/// The call with nothing in the place of its first free text, if the schema takes that. An empty path is a folder with
/// whatever is there.
fn with_empty_text(tool: &Tool, arguments: &Value) -> Option<ServerQuestion> {
    let schema = tool.arguments_schema();
    let is_free = |name: &str| {
        let declared = &schema["properties"][name];
        let takes_nothing = declared["minLength"].as_u64().unwrap_or(0) == 0;
        declared["type"] == "string" && !is_closed(declared) && takes_nothing && !is_path(name) && !is_file(name)
    };
    let (parameter, _) = arguments.as_object()?.iter().find(|(name, value)| value.is_string() && is_free(name))?;
    let mut changed = arguments.clone();
    changed[parameter] = "".into();
    Some(ServerQuestion::Empty { tool: tool.name.clone(), arguments: changed, parameter: parameter.clone() })
}

/// The call with a text that has to come back in the place of its first free one, if the schema takes it.
fn with_text(tool: &Tool, arguments: &Value, text: EchoedText) -> Option<ServerQuestion> {
    let schema = tool.arguments_schema();
    let is_free = |name: &str| {
        let declared = &schema["properties"][name];
        let length = text.sent().chars().count() as u64;
        let has_room = declared["maxLength"].as_u64().is_none_or(|most| most >= length);
        declared["type"] == "string" && !is_closed(declared) && has_room
    };
    let (parameter, _) = arguments.as_object()?.iter().find(|(name, _)| is_free(name))?;
    let (tool, parameter) = (tool.name.clone(), parameter.clone());
    Some(ServerQuestion::Echo { tool, arguments: arguments.clone(), parameter, text })
}

/// A call with the id of a thing that was made, and the same with one that names nothing.
pub(crate) fn questions_of_made(tool: &Tool, arguments: &Value, made: MadeArgument) -> Vec<ServerQuestion> {
    let parameter = made.parameter.clone();
    let present = &arguments[&parameter];
    let is_free = present.is_string() && !is_closed(&tool.arguments_schema()["properties"][&parameter]);
    let unknown = if is_free { Some(UNKNOWN.into()) } else { unknown_value(tool, &parameter, present) };
    let unknown = unknown.map(|unknown| question_of_unknown(tool, arguments, &parameter, unknown));
    let call = ServerQuestion::Call { tool: tool.name.clone(), arguments: arguments.clone(), made: Some(made) };
    std::iter::once(call).chain(unknown).collect()
}

fn question_of_unknown(tool: &Tool, arguments: &Value, parameter: &str, unknown: Value) -> ServerQuestion {
    let mut arguments = arguments.clone();
    arguments[parameter] = unknown;
    ServerQuestion::Unknown { tool: tool.name.clone(), arguments, parameter: parameter.to_owned() }
}

/// A value of the same form that names nothing; `None` where the argument is no name.
fn unknown_value(tool: &Tool, parameter: &str, value: &Value) -> Option<Value> {
    let declared = &tool.arguments_schema()["properties"][parameter];
    let is_taken = |unknown: &Value| *unknown != *value && objection(declared, unknown).is_none();
    match value {
        Value::String(text) if !is_closed(declared) => (!text.is_empty()).then(|| unknown_like(text).into()),
        // An id of some pattern, with other digits.
        Value::String(text) if declared.get("pattern").is_some() && names_one(parameter) => {
            let other = |digit: char| if digit.is_ascii_digit() { '9' } else { digit };
            Some(Value::from(text.chars().map(other).collect::<String>())).filter(is_taken)
        }
        Value::Number(number) if number.is_i64() && names_one(parameter) => {
            Some(Value::from(UNKNOWN_NUMBER)).filter(is_taken)
        }
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// True for `id`, `userId` and `order_number`: the name of something among many.
fn names_one(parameter: &str) -> bool {
    words(parameter).last().is_some_and(|last| ["id", "number", "no", "key", "code", "ref"].contains(&last.as_str()))
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
    all.map(|(reference, argument)| ServerQuestion::Complete { reference, argument, beginning: String::new() })
        .collect()
}

/// The completions of what begins like a value that is offered.
pub(crate) fn questions_of_beginnings(completed: &[Answered]) -> Vec<ServerQuestion> {
    let begun = completed.iter().filter_map(|answered| {
        let ServerQuestion::Complete { reference, argument, .. } = &answered.question else { return None };
        let values = answered.answers[0]["result"]["completion"]["values"].as_array()?;
        let last = values.last()?.as_str().filter(|text| text_lasts(text) && values.len() > 1)?;
        let beginning = last.chars().take(2).collect();
        Some(ServerQuestion::Complete { reference: reference.clone(), argument: argument.clone(), beginning })
    });
    begun.collect()
}

/// What is known when lists, resources and prompts are asked for.
pub(crate) struct KnownValues<'a> {
    pub(crate) completed: &'a [Answered],
    /// The answers of tools.
    pub(crate) shown: &'a ShownValues,
    pub(crate) folder: Option<&'a str>,
}

/// The lists of resources and prompts, resources, those of templates whose variables are known, and prompts with the
/// arguments that they need.
pub(crate) fn questions_of_lists(catalog: &Catalog, known: &KnownValues<'_>) -> Vec<ServerQuestion> {
    let uris = catalog.resources.iter().filter_map(|resource| resource["uri"].as_str()).map(str::to_owned);
    let of_templates = templates(catalog).flat_map(|template| uris_of_template(template, known));
    let mut read: Vec<String> = uris.take(MOST_RESOURCES).collect();
    for uri in of_templates.take(MOST_RESOURCES) {
        if !read.contains(&uri) {
            read.push(uri);
        }
    }
    let unknown = templates(catalog).filter_map(|template| filled(template, |_| Some(UNKNOWN.to_owned())));
    let unknown = unknown.take(MOST_RESOURCES).map(|uri| ServerQuestion::UnknownRead { uri });
    let prompts = catalog.prompts.iter().flat_map(|prompt| questions_of_prompt(prompt, known));
    let resources = (!catalog.resources.is_empty()).then_some(ListedKind::Resources);
    let lists = resources.into_iter().chain((!catalog.prompts.is_empty()).then_some(ListedKind::Prompts));
    let reads = read.into_iter().map(|uri| ServerQuestion::Read { uri });
    lists.map(ServerQuestion::List).chain(reads).chain(unknown).chain(prompts).collect()
}

/// The addresses of a template with completed values, and otherwise with the first and the last value that tools show.
fn uris_of_template(template: &str, known: &KnownValues<'_>) -> Vec<String> {
    let reference = template_reference(template);
    let completed = |name: &str| completed_value(known.completed, &reference, name).map(str::to_owned);
    if let Some(uri) = filled(template, completed) {
        return vec![uri];
    }
    let shown = |last: bool| {
        filled(template, |name| {
            let values = known.shown.of_parameter(name);
            let value = if last { values.last()? } else { values.first()? };
            value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|number| number.to_string()))
        })
    };
    let mut uris: Vec<String> = [shown(false), shown(true)].into_iter().flatten().collect();
    uris.dedup();
    uris
}

/// A template with values for its variables.
fn filled(template: &str, value_of: impl Fn(&str) -> Option<String>) -> Option<String> {
    let names = variables(template).filter(|names| !names.is_empty())?;
    names
        .into_iter()
        .try_fold(template.to_owned(), |uri, name| Some(uri.replace(&format!("{{{name}}}"), &value_of(name)?)))
}

/// A prompt with the arguments that it needs, with each of its others, and without any that it needs.
fn questions_of_prompt(prompt: &Value, known: &KnownValues<'_>) -> Vec<ServerQuestion> {
    let (Some(name), Some(arguments)) = (prompt["name"].as_str(), prompt_arguments(prompt, known)) else {
        return Vec::new();
    };
    let question = |arguments: Value| ServerQuestion::Prompt { name: name.to_owned(), arguments };
    let reference = prompt_reference(name);
    let optional = arguments_of(prompt).filter(|argument| argument["required"] != true);
    let optional = optional.filter_map(|argument| argument["name"].as_str()).map(|argument| {
        let mut arguments = arguments.clone();
        let completed = completed_value(known.completed, &reference, argument).map(str::to_owned);
        arguments[argument] = completed.unwrap_or_else(|| own_text(argument)).into();
        question(arguments)
    });
    let bare = !members_of(&arguments).is_empty();
    let bare = bare.then(|| ServerQuestion::BarePrompt { name: name.to_owned() });
    std::iter::once(question(arguments.clone())).chain(optional.take(MOST_PROMPT_ARGUMENTS)).chain(bare).collect()
}

/// The word with which texts begin that a suite makes up.
pub(crate) const MADE_UP: &str = "some ";

/// A text that no other argument has.
pub(crate) fn own_text(parameter: &str) -> String {
    format!("{MADE_UP}{}", words(parameter).join(" "))
}

/// The arguments that a prompt needs: completed ones, those that tools show, and otherwise texts for their names.
fn prompt_arguments(prompt: &Value, known: &KnownValues<'_>) -> Option<Value> {
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
    let mut arguments = safe_arguments(&like_a_tool, known.folder.map(str::to_owned)).ok()?.smallest().clone();
    for name in names {
        let shown = || names_one(name).then(|| known.shown.of_parameter(name).first()?.as_str()).flatten();
        if let Some(value) = completed_value(known.completed, &reference, name).or_else(shown) {
            arguments[name] = value.into();
        } else if arguments[name] == PLACEHOLDER {
            arguments[name] = own_text(name).into();
        }
    }
    Some(arguments)
}

/// The first value that two servers offer alike for an argument, and that means the same on another day.
fn completed_value<'a>(completed: &'a [Answered], reference: &Value, argument: &str) -> Option<&'a str> {
    let is_it = |answered: &&Answered| matches!(&answered.question, ServerQuestion::Complete { reference: known, argument: name, beginning } if known == reference && name == argument && beginning.is_empty());
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
            let asked = with_text(&tool, &json!({"x": "hello"}), EchoedText::Long);
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
        let with = |name: &str, value: Value| {
            let mut changed = arguments.clone();
            changed[name] = value;
            changed
        };
        let (of_tool, parameter) = (|| "t".to_owned(), |name: &str| name.to_owned());
        let echo = |text| ServerQuestion::Echo {
            tool: of_tool(),
            arguments: arguments.clone(),
            parameter: parameter("id"),
            text,
        };
        assert_eq!(
            questions,
            [
                ServerQuestion::call("t", &arguments),
                ServerQuestion::Unknown {
                    tool: of_tool(),
                    arguments: with("id", UNKNOWN.into()),
                    parameter: parameter("id"),
                },
                ServerQuestion::Other {
                    tool: of_tool(),
                    arguments: with("order", "b".into()),
                    parameter: parameter("order"),
                },
                ServerQuestion::Other {
                    tool: of_tool(),
                    arguments: with("count", 7.into()),
                    parameter: parameter("count"),
                },
                ServerQuestion::Empty { tool: of_tool(), arguments: with("id", "".into()), parameter: parameter("id") },
                echo(EchoedText::Long),
                echo(EchoedText::Symbols),
            ]
        );
    }

    #[test]
    fn numbers_are_other_than_the_smallest() {
        for (properties, arguments, expected) in [
            (
                json!({"a": {"type": "number"}, "b": {"type": "number"}}),
                json!({"a": 0, "b": 0}),
                Some(json!({"a": 12.5, "b": 7.25})),
            ),
            (json!({"seats": {"type": "integer", "maximum": 5}}), json!({"seats": 1}), Some(json!({"seats": 3}))),
            (json!({"seats": {"type": "integer", "maximum": 1}}), json!({"seats": 1}), None),
            (json!({"name": {"type": "string"}}), json!({"name": "a"}), None),
        ] {
            let schema = json!({"type": "object", "properties": properties});
            let tool = Tool::new(json!({"name": "t", "inputSchema": schema}));
            let asked = with_other_numbers(&tool, &arguments);
            let asked = asked.map(|question| question.request(&Map::new()).1["arguments"].clone());
            assert_eq!(asked, expected, "{properties}");
        }
    }

    #[test]
    fn ids_of_some_form_are_made_unknown_in_that_form() {
        for (parameter, declared, value, expected) in [
            ("id", json!({"type": "string", "pattern": "^P-[0-9]+$"}), json!("P-1001"), Some(json!("P-9999"))),
            ("id", json!({"type": "string", "pattern": "^[a-z]+$"}), json!("abc"), None),
            ("day", json!({"type": "string", "pattern": "^[0-9]+$"}), json!("12"), None),
            ("userId", json!({"type": "integer"}), json!(1), Some(json!(UNKNOWN_NUMBER))),
            ("userId", json!({"type": "integer", "maximum": 9}), json!(1), None),
            ("count", json!({"type": "integer"}), json!(1), None),
        ] {
            let schema = json!({"type": "object", "properties": {parameter: declared}});
            let tool = Tool::new(json!({"name": "get", "inputSchema": schema}));
            assert_eq!(unknown_value(&tool, parameter, &value), expected, "{parameter}");
        }
    }

    #[test]
    fn writers_are_called_with_what_does_no_more_than_they_were_allowed() {
        for (name, properties, arguments, expected) in [
            ("add_note", json!({"kind": {"enum": ["short", "long"]}}), json!({"kind": "short"}), vec![json!("long")]),
            ("add_note", json!({"kind": {"enum": ["keep", "delete all"]}}), json!({"kind": "keep"}), vec![]),
            ("add_note", json!({"dry_run": {"type": "boolean", "default": true}}), json!({}), vec![]),
            ("add_note", json!({"force": {"enum": [false, true]}}), json!({"force": false}), vec![]),
            ("purge", json!({"scope": {"enum": ["day", "year"]}}), json!({"scope": "day"}), vec![]),
            (
                "add_note",
                json!({"url": {"enum": ["http://127.0.0.1:9/", "https://eu.company.com/"]}}),
                json!({"url": "http://127.0.0.1:9/"}),
                vec![],
            ),
        ] {
            let schema = json!({"type": "object", "properties": properties});
            let tool = Tool::new(json!({"name": name, "inputSchema": schema}));
            let asked = questions_of_writer(&tool, &arguments);
            let values = asked.iter().map(|question| {
                let parameter = properties.as_object().and_then(|members| members.keys().next());
                question.request(&Map::new()).1["arguments"][parameter.unwrap()].clone()
            });
            assert_eq!(values.collect::<Vec<_>>(), expected, "{name}: {properties}");
        }
        let schema = json!({"type": "object", "properties": {
            "query": {"type": "string", "pattern": "^(LIST|ADD [a-z]+)$"}, "readOnly": {"type": "boolean"},
        }, "required": ["query"]});
        let tool = Tool::new(json!({"name": "add_note", "inputSchema": schema}));
        let asked = questions_of_writer(&tool, &json!({"query": "LIST"}));
        assert!(!asked.is_empty());
        for question in asked {
            let arguments = question.request(&Map::new()).1["arguments"].clone();
            let is_other = arguments["query"].as_str().is_some_and(|query| query.starts_with("ADD "));
            assert!(is_other && arguments.get("readOnly").is_none(), "{arguments}");
        }
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
        let begun = questions_of_beginnings(&completed);
        assert_eq!(begun[0].request(&Map::new()).1["argument"], json!({"name": "tone", "value": "pl"}));
        assert_eq!(begun.len(), 1);
        let prompt = |name: &str, arguments: Value| ServerQuestion::Prompt { name: name.to_owned(), arguments };
        let read = |uri: &str| ServerQuestion::Read { uri: uri.to_owned() };
        let unknown = |kind: &str| ServerQuestion::UnknownRead { uri: format!("{kind}://{UNKNOWN}") };
        let orders = json!({"result": {"content": [], "structuredContent": {"orders": [{"id": "o1"}, {"id": "o2"}]}}});
        let shown = ShownValues::of_answers([orders].iter());
        let known = KnownValues { completed: &completed, shown: &shown, folder: None };
        assert_eq!(
            questions_of_lists(&catalog, &known),
            [
                ServerQuestion::List(ListedKind::Resources),
                ServerQuestion::List(ListedKind::Prompts),
                read("a://b"),
                read("users://u1"),
                read("orders://o1"),
                read("orders://o2"),
                unknown("users"),
                unknown("orders"),
                prompt("plain", json!({})),
                prompt("some", json!({})),
                prompt("some", json!({"x": "some x"})),
                prompt("needy", json!({"email": "some email", "tone": "formal"})),
                ServerQuestion::BarePrompt { name: "needy".to_owned() },
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
    fn ids_that_were_made_are_made_unknown() {
        let tool = |schema: Value| {
            Tool::new(json!({"name": "get", "inputSchema": {"type": "object", "properties": {"id": schema}}}))
        };
        let made = || MadeArgument { parameter: "id".to_owned(), id: "user_id".to_owned() };
        for (schema, arguments, is_asked) in [
            (json!({"type": "string"}), json!({"id": "text"}), true),
            (json!({"type": "string", "format": "uuid"}), json!({"id": "text"}), false),
            (json!({"type": "integer"}), json!({"id": 1}), true),
        ] {
            let questions = questions_of_made(&tool(schema.clone()), &arguments, made());
            assert_eq!(questions.len(), 1 + usize::from(is_asked), "{schema}");
        }
    }
}
