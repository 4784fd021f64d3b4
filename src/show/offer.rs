//! What a server offers, for people: signatures of tools, resources, templates and prompts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style as Look};
use serde_json::{Value, json};

use super::signature::Signature;
use crate::check::learning::Learning;
use crate::report::layout::{self, DIM};
use crate::runner::ServerVisit;
use crate::session::ServerIdentity;
use crate::source::{Style, visible_line};
use crate::suite::is_named;
use crate::wire::{Catalog, Tool};

/// The lines of a description that are shown.
const MOST_LINES: usize = 4;

const NAME: Look = AnsiColor::Cyan.on_default();
const WARNING: Look = AnsiColor::Yellow.on_default();

/// The offer of one server in one revision.
#[derive(Debug)]
pub(crate) struct ShownOffer {
    /// The name of the server in its suite, or in the file that describes it.
    name: String,
    /// True if others stand beside it there.
    has_siblings: bool,
    pub(crate) server: ServerIdentity,
    pub(crate) catalog: Catalog,
    /// The arguments that tools serve, where somebody asked for them.
    learned: BTreeMap<String, ShownArguments>,
}

/// Arguments that a tool serves, or its last refusal.
#[derive(Debug)]
enum ShownArguments {
    Served { arguments: Value, origin: String },
    Refused(String),
}

impl ShownOffer {
    /// The offer of a server that is visited, with what its tools served.
    pub(crate) fn of(visit: &ServerVisit<'_>, learning: Option<&Learning>) -> Option<Self> {
        let redactor = visit.redactor;
        let shown = |arguments: &Value, origin: &str| ShownArguments::Served {
            arguments: redactor.value(arguments.clone()),
            origin: origin.to_owned(),
        };
        let learned = learning.map(|Learning { by_schema, found, refused, ends, .. }| {
            let ends = ends.iter().map(|(tool, end)| (tool, &end.message));
            let refused = refused.iter().chain(ends);
            let refused = refused.map(|(tool, words)| (tool.clone(), ShownArguments::Refused(redactor.text(words))));
            let by_schema = by_schema.iter().map(|(tool, arguments)| (tool.clone(), shown(arguments, "its schema")));
            let found = found.iter().map(|(tool, found)| (tool.clone(), shown(&found.arguments, &found.origin)));
            refused.chain(by_schema).chain(found).collect()
        });
        let context = &visit.context;
        Some(Self {
            name: context.server_name.to_owned(),
            has_siblings: context.suite.servers.len() > 1,
            server: context.server?.clone(),
            catalog: context.catalog.clone(),
            learned: learned.unwrap_or_default(),
        })
    }

    /// Keeps only entries with these names, or that match these patterns.
    pub(crate) fn select(&mut self, names: &[String]) {
        let is_wanted = |entry: &Value, member: &str| {
            let name = entry[member].as_str().unwrap_or_default();
            names.iter().any(|wanted| is_named(wanted, name))
        };
        let Catalog { tools, resources, resource_templates, prompts, .. } = &mut self.catalog;
        tools.retain(|tool| is_wanted(&tool.raw, "name"));
        resources.retain(|entry| is_wanted(entry, "name") || is_wanted(entry, "uri"));
        resource_templates.retain(|entry| is_wanted(entry, "name") || is_wanted(entry, "uriTemplate"));
        prompts.retain(|entry| is_wanted(entry, "name"));
    }

    /// Returns true if nothing is offered.
    pub(crate) fn is_empty(&self) -> bool {
        let Catalog { tools, resources, resource_templates, prompts, .. } = &self.catalog;
        tools.is_empty() && [resources, resource_templates, prompts].into_iter().all(Vec::is_empty)
    }

    /// As JSON, each entry as the server sent it.
    pub(crate) fn to_json(&self) -> Value {
        let Catalog { tools, resources, resource_templates, prompts, .. } = &self.catalog;
        json!({
            "name": self.name,
            "server": self.server.implementation,
            "protocol": self.server.revision.as_str(),
            "transport": self.server.transport.as_str(),
            "tools": tools.iter().map(|tool| self.tool_json(tool)).collect::<Vec<_>>(),
            "resources": resources,
            "resourceTemplates": resource_templates,
            "prompts": prompts,
        })
    }

    /// As the server sent it, with `served` or `refused` beside it where somebody asked for that.
    fn tool_json(&self, tool: &Tool) -> Value {
        let mut entry = tool.raw.clone();
        match (entry.as_object_mut(), self.learned.get(&tool.name)) {
            (Some(members), Some(ShownArguments::Served { arguments, origin })) => {
                members.insert("served".to_owned(), json!({"arguments": arguments, "origin": origin}));
            }
            (Some(members), Some(ShownArguments::Refused(words))) => {
                members.insert("refused".to_owned(), json!(words));
            }
            (_, None) | (None, _) => {}
        }
        entry
    }

    /// As text that is no wider than the style says.
    pub(crate) fn text(&self, style: &Style) -> String {
        let Self { server, catalog, .. } = self;
        let name = visible_line(server.implementation.as_deref().unwrap_or("a server without a name")).into_owned();
        let place = if self.has_siblings { format!("{}: ", visible_line(&self.name)) } else { String::new() };
        let mut text =
            format!("{place}{name}, {}, {}: {}\n", server.revision, server.transport.as_str(), self.counts());
        for tool in &catalog.tools {
            text += &tool_text(tool, style);
            if let Some(learned) = self.learned.get(&tool.name) {
                text += &learned.text(style);
            }
        }
        text += &section("resources", &catalog.resources, "uri", style);
        text += &section("templates", &catalog.resource_templates, "uriTemplate", style);
        if !catalog.prompts.is_empty() {
            text += "\nprompts\n";
            catalog.prompts.iter().for_each(|prompt| text += &prompt_text(prompt, style));
        }
        text
    }

    fn counts(&self) -> String {
        let Catalog { tools, resources, resource_templates, prompts, .. } = &self.catalog;
        let counted = [
            (tools.len(), "tool"),
            (resources.len(), "resource"),
            (resource_templates.len(), "template"),
            (prompts.len(), "prompt"),
        ];
        let told: Vec<String> = counted
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| layout::plural(count, noun))
            .collect();
        if told.is_empty() { "it offers nothing".to_owned() } else { told.join(", ") }
    }
}

impl ShownArguments {
    fn text(&self, style: &Style) -> String {
        let line = match self {
            Self::Served { arguments, origin } => format!("served   {arguments}  from {origin}"),
            Self::Refused(words) => format!("refused  {}", visible_line(words)),
        };
        layout::indent(&layout::wrap_some(&line, style.width.saturating_sub(4), MOST_LINES), "    ")
    }
}

fn tool_text(tool: &Tool, style: &Style) -> String {
    let signature = Signature::of(tool);
    let hint = if tool.only_reads() {
        layout::paint("reads", DIM, style)
    } else if tool.may_destroy() {
        layout::paint("may destroy", WARNING, style)
    } else {
        layout::paint("writes", WARNING, style)
    };
    let name = layout::paint(&signature.name, NAME, style);
    let result = signature.result.map(|result| format!(" → {result}")).unwrap_or_default();
    let line = format!("({}){result}", signature.parameters.join(", "));
    let mut text = "\n".to_owned();
    if layout::columns(&signature.name) + layout::columns(&line) + 14 <= style.width {
        let _ = writeln!(text, "{name}{line}  {hint}");
    } else {
        let _ = writeln!(text, "{name}(  {hint}");
        for parameter in &signature.parameters {
            text += &layout::indent(&layout::wrap(parameter, style.width.saturating_sub(4)).join("\n  "), "    ");
        }
        text += &layout::indent(&layout::wrap(&format!("){result}"), style.width.saturating_sub(2)).join("\n  "), "  ");
    }
    text + &description(&tool.raw, style)
}

fn prompt_text(prompt: &Value, style: &Style) -> String {
    let arguments = prompt["arguments"].as_array().into_iter().flatten().filter_map(|argument| {
        let mark = if argument["required"] == true { "" } else { "?" };
        Some(format!("{}{mark}", visible_line(argument["name"].as_str()?)))
    });
    let name = visible_line(prompt["name"].as_str().unwrap_or_default()).into_owned();
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    format!("  {}({arguments})\n{}", layout::paint(&name, NAME, style), description(prompt, style))
}

fn section(title: &str, entries: &[Value], member: &str, style: &Style) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    for entry in entries {
        let address = visible_line(entry[member].as_str().unwrap_or_default()).into_owned();
        let kind = entry["mimeType"].as_str().map(|kind| format!("  {}", visible_line(kind))).unwrap_or_default();
        let _ = writeln!(text, "  {}{}", layout::paint(&address, NAME, style), layout::paint(&kind, DIM, style));
        text += &description(entry, style);
    }
    text
}

fn description(entry: &Value, style: &Style) -> String {
    let words = entry["description"].as_str().or(entry["title"].as_str()).unwrap_or_default().trim();
    let wrapped = layout::wrap_some(words, style.width.saturating_sub(4), MOST_LINES);
    layout::indent(&wrapped, "    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Color;

    #[test]
    fn what_does_not_fit_is_broken_and_nothing_is_wider_than_the_terminal() {
        let tool = json!({"name": "create_user", "description": "Creates a user in the directory of all users of this server, and returns it.",
            "annotations": {"readOnlyHint": false, "destructiveHint": false},
            "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}, "email": {"type": "string", "format": "email"}, "role": {"enum": ["admin", "user"], "default": "user"}}, "required": ["name", "email"]}});
        for (width, first) in [
            (100, "create_user(name: string, email: string (email), role: \"admin\" | \"user\" = \"user\")  writes"),
            (40, "create_user(  writes"),
        ] {
            let text = tool_text(&Tool::new(tool.clone()), &Style::new(Color::Never, width));
            assert_eq!(text.lines().nth(1), Some(first), "{text}");
            assert!(text.lines().all(|line| layout::columns(line) <= width), "{text}");
        }
    }
}
