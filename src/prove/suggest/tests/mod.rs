//! Survivors and their suggested tests: every suggestion is read by the loader of suites.

mod played;
mod table;
mod whole;
mod written;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::recording::TargetRecording;
use super::{Suggestions, Survivor, missing};
use crate::block::load;
use crate::event::Missing;
use crate::fault::{ClientMessage, MessageExchange, ReplyContent, ServerReply};
use crate::plan::{CaseSource, Plan, Selection, build};
use crate::source::{Color, Sources, Style, render_all};
use crate::suite::{Files, LoadedSuite, Suite};
use crate::taxonomy::Registry;
use crate::transport::{Owner, TransportKind};
use crate::wire::{Catalog, Tool};

/// A request of a case with its answer.
#[expect(clippy::needless_pass_by_value, reason = "made where it is passed")]
fn exchange(method: &str, params: Value, said: Value) -> MessageExchange {
    let mut answer = json!({"jsonrpc": "2.0", "id": 7});
    answer.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    MessageExchange {
        owner: Owner::of_case("users.yml::t@s/auto"),
        session: 0,
        occurrence: 0,
        sent: ClientMessage::Message { id: Some(json!(7)), method: method.to_owned(), params },
        replies: vec![reply(answer, 3)],
    }
}

/// A call of a tool that is served.
#[expect(clippy::needless_pass_by_value, reason = "made where it is passed")]
fn call(tool: &str, args: Value, result: Value) -> MessageExchange {
    exchange("tools/call", json!({"name": tool, "arguments": args}), json!({"result": result}))
}

#[expect(clippy::needless_pass_by_value, reason = "made where it is passed")]
fn structured(content: Value) -> Value {
    json!({"content": [{"type": "text", "text": content.to_string()}], "structuredContent": content})
}

fn reply(message: Value, millis: u64) -> ServerReply {
    ServerReply { after: Duration::from_millis(millis), content: ReplyContent::Message(message), http: None }
}

fn catalog() -> Catalog {
    let object = json!({"type": "object"});
    let user = json!({
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "required": ["id", "name"],
        "additionalProperties": false,
    });
    let tools = [
        json!({"name": "get_user", "inputSchema": object, "outputSchema": user,
            "annotations": {"readOnlyHint": true}}),
        json!({"name": "create_user", "inputSchema": object}),
        json!({"name": "export", "description": "Exports.", "inputSchema": {
            "type": "object", "properties": {"format": {"type": "string", "enum": ["csv", "json"]}},
        }, "annotations": {"readOnlyHint": true}}),
    ];
    Catalog { tools: tools.into_iter().map(Tool::new).collect(), ..Catalog::default() }
}

/// The change to try.
struct Trial {
    recorded: TargetRecording,
    target_count: usize,
    variant: &'static str,
}

impl Trial {
    fn new(exchanges: Vec<MessageExchange>) -> Self {
        let recorded = TargetRecording {
            file: "users.yml".to_owned(),
            server: "users".to_owned(),
            transport: TransportKind::Stdio,
            revision: "2025-11-25".to_owned(),
            exchanges,
            ..TargetRecording::default()
        };
        Self { recorded, target_count: 1, variant: "TOOL-WRONG-RESULT" }
    }

    /// The test that is suggested for a change to the last exchange; it can be loaded.
    fn learned(&self, change: &dyn Fn(&mut Vec<ServerReply>)) -> Option<Missing> {
        let missing = self.suggestions(change)?.first;
        loaded(&in_suite(&missing.yaml));
        Some(missing)
    }

    fn suggestions(&self, change: &dyn Fn(&mut Vec<ServerReply>)) -> Option<Suggestions> {
        let exchange = self.recorded.exchanges.last().unwrap();
        let mut changed = exchange.replies.clone();
        change(&mut changed);
        let catalog = catalog();
        missing(&Survivor {
            recorded: &self.recorded,
            target_count: self.target_count,
            catalog: &catalog,
            exchange,
            changed: &changed,
            variant: self.variant,
            field: "",
            tool: exchange.tool(),
        })
    }
}

/// A suite that holds a suggestion.
fn in_suite(yaml: &str) -> String {
    let servers = "suite: s\nservers: { users: { builtin: demo }, others: { builtin: demo } }\n";
    if yaml.starts_with("run_options") {
        return format!("{servers}{yaml}tests: [{{ name: t, list: tools, expect: [] }}]\n");
    }
    let lines: Vec<String> = yaml.lines().map(|line| format!("  {line}")).collect();
    format!("{servers}tests:\n{}\n", lines.join("\n"))
}

struct Memory(Vec<(String, String)>);

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<String> {
        let known = self.0.iter().find(|(name, _)| Path::new(name) == path);
        known.map(|(_, text)| text.clone()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn loaded(text: &str) -> Suite {
    let mut sources = Sources::default();
    read(&[("s.yml", text)], "s.yml", &mut sources).suite
}

/// Loads one of several files, without any complaint.
fn read(files: &[(&str, &str)], name: &str, sources: &mut Sources) -> LoadedSuite<Arc<dyn CaseSource>> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let mut warnings = Vec::new();
    let suite = load(Path::new(name), &Memory(files), sources, &mut warnings);
    let style = Style::new(Color::Never, 100);
    let suite = suite.unwrap_or_else(|mistakes| panic!("{}", render_all(&mistakes, sources, "", style)));
    assert!(warnings.is_empty(), "{}", render_all(&warnings, sources, "", style));
    suite
}

/// Plans some of several files.
fn planned(files: &[(&str, &str)], names: &[&str]) -> Plan {
    let mut sources = Sources::default();
    let suites = names.iter().map(|name| read(files, name, &mut sources)).collect();
    build(suites, Selection::default(), Registry::builtin(), Arc::new(sources)).unwrap()
}
