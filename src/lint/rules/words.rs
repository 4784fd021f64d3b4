//! Lints of names and descriptions; a model knows nothing else of a tool.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::look::{LintPosition, Role, ToolMember, each_tool, places};
use super::super::{Lint, LintFinding, LintRule, LintSubject};
use super::{ADVICE, AMBIGUOUS, TOOLS, WARNING};
use crate::schema::References;
use crate::source::{is_hidden, words};
use crate::wire::Tool;

const WRITING: &str = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use";

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "no-description",
        variant: AMBIGUOUS,
        says: "a tool has no description",
        why: "a model chooses by description, and has nothing but the name to go by",
        cure: "say what the tool does, when to use it, and what it returns",
        link: WRITING,
        good: r#"{"description": "Finds notes whose text holds a word."}"#,
        bad: r#"{"description": null}"#,
        rule: LintRule::Tool(|tool| {
            description(tool).is_empty().then(|| ("description".to_owned(), "the tool has no description".to_owned()))
        }),
        ..WARNING
    },
    Lint {
        id: "short-description",
        variant: AMBIGUOUS,
        says: "the description of a tool adds nothing to its name",
        why: "a model chooses by description; one that only repeats the name cannot tell the tool from others",
        cure: "say what the tool does, when to use it, and what it returns",
        link: WRITING,
        good: r#"{"description": "Finds notes whose text holds a word."}"#,
        bad: r#"{"description": "Find notes"}"#,
        rule: LintRule::Tool(|tool| {
            let (said, named) = (words(description(tool)), words(&tool.name));
            // Other scripts do not put spaces between words.
            let is_short = description(tool).is_ascii() && said.len() < 3 || said == named;
            (is_short && !said.is_empty())
                .then(|| ("description".to_owned(), format!("the description is only `{}`", description(tool))))
        }),
        ..ADVICE
    },
    Lint {
        id: "undescribed-parameters",
        variant: AMBIGUOUS,
        says: "no parameter of a tool is described, and its description names none",
        why: "a model has nothing but the names of the parameters to fill them in by",
        cure: "give every parameter a `description`, with units, formats and the default",
        link: WRITING,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"description": "Finds notes by their text.", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}, "since": {"type": "string"}}, "additionalProperties": false}}"#,
        rule: LintRule::Tool(|tool| match undescribed_parameters(tool) {
            (unknown, false) if unknown.len() > 1 => {
                let listed: Vec<&str> = unknown.iter().filter_map(|place| place.role.name()).collect();
                let says = format!("not described: `{}`", listed.join("`, `"));
                Some(("inputSchema.properties".to_owned(), says))
            }
            _ => None,
        }),
        ..WARNING
    },
    Lint {
        id: "undescribed-parameter",
        variant: AMBIGUOUS,
        says: "a parameter has no description, and the description of its tool does not mention it",
        why: "a model has nothing but the name of the parameter to fill it in by",
        cure: "give the parameter a `description`, with units, formats and the default",
        link: WRITING,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}, "since": {"type": "string", "description": "The oldest day"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}, "since": {"type": "string"}}, "additionalProperties": false}}"#,
        rule: LintRule::List(undescribed_parameter),
        ..ADVICE
    },
    Lint {
        id: "misnamed-parameter",
        variant: AMBIGUOUS,
        says: "a description spells a parameter differently from the schema",
        why: "a model believes the description, and the call misses the argument",
        cure: "spell it in the description as in `properties`",
        link: WRITING,
        good: r#"{"description": "Finds notes whose text holds `search_word`.", "inputSchema": {"type": "object", "properties": {"search_word": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"description": "Finds notes whose text holds `searchWord`.", "inputSchema": {"type": "object", "properties": {"search_word": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        rule: LintRule::List(misnamed_parameter),
        ..WARNING
    },
    Lint {
        id: "copied-description",
        variant: AMBIGUOUS,
        says: "tools have the same description",
        why: "a model cannot tell them apart, and chooses either",
        cure: "say in each what the other does not do",
        link: WRITING,
        good: r#"[{"name": "find_notes"}, {"name": "find_tasks", "description": "Finds tasks whose title holds a word."}]"#,
        bad: r#"[{"name": "find_notes"}, {"name": "find_tasks"}]"#,
        rule: LintRule::List(copied_description),
        ..WARNING
    },
    Lint {
        id: "title-is-name",
        says: "the title of a tool is its name",
        why: "people read the title, and one that repeats the name does not help them",
        cure: "write a title for people, or leave it out",
        link: TOOLS,
        good: r#"{"title": "Find notes"}"#,
        bad: r#"{"title": "find_notes"}"#,
        rule: LintRule::Tool(|tool| {
            let titles = [("title", &tool.raw["title"]), ("annotations.title", &tool.raw["annotations"]["title"])];
            let (at, _) = titles.into_iter().find(|(_, title)| title.as_str() == Some(tool.name.as_str()))?;
            // A name that is a word by itself is its own best title.
            words(&tool.name).get(1)?;
            Some((at.to_owned(), format!("the title repeats the name `{}`", tool.name)))
        }),
        ..ADVICE
    },
    Lint {
        id: "hidden-characters",
        says: "a name, title or description contains invisible characters",
        why: "the model reads text that reviewers do not see, and attackers hide instructions there",
        cure: "remove them; they are listed by their code points",
        link: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
        good: r#"{"description": "Finds notes whose text\nholds a word."}"#,
        bad: r#"{"description": "Finds notes whose text holds a word.\u200b\u202e"}"#,
        rule: LintRule::Tool(|tool| {
            let own = ["name", "title", "description"].map(|key| (key.to_owned(), tool.raw[key].as_str()));
            let within = places(tool, ToolMember::BOTH).into_iter().flat_map(|place| {
                let at = |key: &str| format!("{}.{key}", place.at);
                let text_at = |key: &str| (at(key), place.schema[key].as_str());
                [(place.at.clone(), place.role.name()), text_at("title"), text_at("description")]
            });
            let mut texts = own.into_iter().chain(within).filter_map(|(at, text)| Some((at, text?)));
            texts.find_map(|(at, text)| {
                let hidden: BTreeSet<char> =
                    text.chars().filter(|c| is_hidden(*c) && !matches!(c, '\n' | '\r' | '\t')).collect();
                let points: Vec<String> = hidden.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect();
                (!points.is_empty()).then(|| (at, format!("it holds {}", points.join(", "))))
            })
        }),
        ..WARNING
    },
];

fn description(tool: &Tool) -> &str {
    tool.raw["description"].as_str().unwrap_or_default().trim()
}

/// The parameters of a tool that nothing is said of, and whether something is said of any.
fn undescribed_parameters(tool: &Tool) -> (Vec<LintPosition<'_>>, bool) {
    let text = description(tool);
    let parameters =
        places(tool, ToolMember::INPUT).into_iter().filter(|place| matches!(place.role, Role::Parameter(_)));
    let (known, unknown): (Vec<_>, Vec<_>) =
        parameters.partition(|place| is_described(place) || place.role.name().is_some_and(|name| names(text, name)));
    (unknown, !known.is_empty())
}

/// A parameter is described in words, by its values, or by what it refers to.
fn is_described(place: &LintPosition<'_>) -> bool {
    let says = |schema: &Value| {
        let text = |key: &str| schema[key].as_str().is_some_and(|text| !text.trim().is_empty());
        text("description") || ["enum", "const", "format", "examples"].iter().any(|key| schema.get(*key).is_some())
    };
    let target = |schema: &Value| schema.get("$ref").is_some() && says(References::new(place.root).resolve(schema));
    let within = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| place.schema[*key].as_array()).flatten();
    std::iter::once(place.schema).chain(within).any(|schema| says(schema) || target(schema))
}

/// A text names a parameter as a word, in any of the usual spellings.
fn names(text: &str, name: &str) -> bool {
    let (said, named) = (words(text), words(name));
    !named.is_empty() && said.windows(named.len()).any(|window| window == named)
}

fn undescribed_parameter(subject: &LintSubject<'_>) -> Vec<LintFinding> {
    let mut found = Vec::new();
    for tool in subject.tools {
        let (unknown, known) = undescribed_parameters(tool);
        if !known && unknown.len() > 1 {
            continue;
        }
        found.extend(unknown.into_iter().map(|place| {
            let says = format!("{} is not described", place.noun());
            LintFinding { tool: tool.name.clone(), at: place.at, says }
        }));
    }
    found
}

/// Only another spelling of the same words is reported: what else stands in backticks may be anything.
fn misnamed_parameter(subject: &LintSubject<'_>) -> Vec<LintFinding> {
    let mut elsewhere: BTreeSet<&str> = subject.tools.iter().map(|tool| tool.name.as_str()).collect();
    elsewhere.extend(["true", "false", "null"]);
    each_tool(subject, |tool| {
        let all = places(tool, ToolMember::BOTH);
        let known: BTreeSet<&str> = all.iter().filter_map(|place| place.role.name()).collect();
        let values: BTreeSet<&str> = all
            .iter()
            .filter_map(|place| place.schema["enum"].as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let ticked = description(tool).split('`').skip(1).step_by(2).filter(|word| is_name(word));
        let mut strangers = ticked
            .filter(|word| !known.contains(word) && !values.contains(word) && !elsewhere.contains(word))
            .peekable();
        strangers.peek()?;
        let mut parameters: BTreeMap<Vec<String>, &str> = BTreeMap::new();
        for place in all.iter().filter(|place| place.at.starts_with(ToolMember::Input.key())) {
            if let Role::Parameter(name) = place.role {
                parameters.entry(words(name)).or_insert(name);
            }
        }
        strangers.find_map(|word| {
            let meant = parameters.get(&words(word))?;
            Some(("description".to_owned(), format!("the description names `{word}`, the parameter is `{meant}`")))
        })
    })
}

fn is_name(word: &str) -> bool {
    word.len() > 3 && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn copied_description(subject: &LintSubject<'_>) -> Vec<LintFinding> {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    each_tool(subject, |tool| {
        let text = description(tool);
        if text.is_empty() {
            return None;
        }
        let Some(other) = first.get(text) else {
            first.insert(text, &tool.name);
            return None;
        };
        Some(("description".to_owned(), format!("it has the same description as `{other}`")))
    })
}
