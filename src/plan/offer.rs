//! The offer of a server, as far as it decides which cases there are and what they work on.

use serde_json::{Map, Value as Json, json};

use super::arguments;
use super::planner::Planner;
use super::records;
use super::witness::arguments_for_call;
use crate::source::Node;
use crate::source::template::Names;
use crate::suite::{ServerKind, Suite};
use crate::transport::TransportKind;
use crate::wire::{Catalog, Revision, Tool};

/// The answers of a server in its first session.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// Its four lists.
    pub catalog: &'a Catalog,
    /// The declared capabilities.
    pub capabilities: &'a Json,
    /// `stdio`, `memory`, `http` or `sse`; empty where nobody knows.
    pub transport: Option<TransportKind>,
    /// The revision that is spoken.
    pub revision: Option<Revision>,
}

impl Offer<'_> {
    /// Returns true if something is declared, by its path in the capabilities.
    pub(crate) fn declares(&self, path: &str) -> bool {
        let found = path.split('.').try_fold(self.capabilities, |value, name| value.get(name));
        found.is_some_and(|value| !value.is_null() && *value != Json::Bool(false))
    }

    /// The names for templates: `offer` and `hints`.
    pub(crate) fn names(&self, planner: &Planner<'_>) -> Names {
        let suite = planner.suite;
        let hints = self.hints(planner);
        let listed = hints.get("safe_tools").and_then(Json::as_array);
        let safe = |tool: &Tool| match listed {
            Some(listed) if !listed.iter().any(|name| name.as_str() == Some(&tool.name)) => None,
            Some(_) => arguments::valid_arguments_despite_hazard(suite, &planner.target.server, tool).ok(),
            None => arguments_for_call(suite, &planner.target.server, tool).ok(),
        };
        let safe = self.catalog.tools.iter().filter_map(|tool: &Tool| Some((tool, safe(tool)?.to_json())));
        let mut safe: Vec<(&Tool, Json)> = safe.collect();
        let names: Vec<&str> = safe.iter().map(|(tool, _)| tool.name.as_str()).collect();
        let arguments: Map<String, Json> = safe.iter().map(|(tool, args)| (tool.name.clone(), args.clone())).collect();
        let mut offer = json!({
            "tools": self.catalog.tools.iter().map(|tool| &tool.raw).collect::<Vec<_>>(),
            "resources": self.catalog.resources,
            "resource_templates": self.catalog.resource_templates,
            "prompts": self.catalog.prompts,
            "capabilities": self.capabilities,
            "transport": self.transport.map_or("", TransportKind::as_str),
            "revision": self.revision.map(Revision::as_str),
            "safe": names,
            "reads": self.tool_names(|tool| {
                !suite.never.has(&tool.name) && (tool.only_reads() || is_allowed_reader(suite, tool))
            }),
            "alarming": self.tool_names(Tool::sounds_destructive),
            "authorized": is_authorized(suite),
            "arguments": arguments,
            "records": records::records(&self.catalog.tools, records::named_tools(suite)),
        });
        // A tool that says that it only reads is called before one that says nothing.
        safe.sort_by_key(|(tool, _)| tool.raw["annotations"]["readOnlyHint"] != true);
        if let Some((tool, args)) = safe.first() {
            offer["call"] = json!({"name": tool.name, "arguments": args});
        }
        Names::from_iter([("offer".to_owned(), offer), ("hints".to_owned(), hints)])
    }

    fn tool_names(&self, is_meant: impl Fn(&Tool) -> bool) -> Vec<&str> {
        self.catalog.tools.iter().filter(|tool| is_meant(tool)).map(|tool| tool.name.as_str()).collect()
    }

    /// The hints of the suite; a tool comes with arguments.
    fn hints(&self, planner: &Planner<'_>) -> Json {
        let said = planner.blocks.iter().filter_map(|block| block.settings.hints()).flatten();
        said.map(|(name, value)| {
            let value = if name.ends_with("_tool") { self.tool_hint(planner.suite, value) } else { value.to_json() };
            (name.clone(), value)
        })
        .collect::<Map<_, _>>()
        .into()
    }

    fn tool_hint(&self, suite: &Suite, value: &Node) -> Json {
        let name = value.text().or_else(|| value.get("name").and_then(Node::text)).unwrap_or_default();
        // A tool that is named as a slow one is not to be quick.
        let made = || Some(arguments::safe_arguments(self.catalog.tool(name)?, None).ok()?.without_time_limits());
        let given = value.get("arguments").or_else(|| suite.arguments.get(name)).map(Node::to_json);
        let arguments = given.or_else(made).unwrap_or_else(|| json!({}));
        json!({"name": name, "arguments": arguments})
    }
}

/// Returns true if somebody allows a tool whose hints say that it may change data, or say nothing, and whose own words
/// do not.
fn is_allowed_reader(suite: &Suite, tool: &Tool) -> bool {
    suite.allow.has(&tool.name) && !suite.read_only && !tool.speaks_of_a_change() && !tool.runs_code()
}

/// Returns true if the suite sends credentials.
pub(crate) fn is_authorized(suite: &Suite) -> bool {
    let is_credential = |name: &str| name.eq_ignore_ascii_case("authorization");
    suite.servers.values().any(|server| match &server.kind {
        ServerKind::Url(http) => http.all_credentials().any(|credentials| {
            credentials.auth.is_some() || credentials.headers.iter().any(|(name, _)| is_credential(&name.value))
        }),
        ServerKind::Command(_) | ServerKind::Builtin(_) => false,
    })
}
