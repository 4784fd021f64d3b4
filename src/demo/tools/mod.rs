//! The tools: a table of what is declared and what is run, and the one way to call them.

mod directory;
mod export;
mod pace;
mod plain;
mod rehearse;

use std::sync::{Arc, LazyLock};

use rmcp::model::{ErrorData, JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use self::export::Export;
use self::rehearse::Rehearsal;
use super::faulty::ServerFault;
use super::schema::Schema;
use super::settings::{Rules, Wish};
use super::store::Store;

/// All tools, sorted by name.
const TOOLS: [&ToolEntry; 9] = [
    &plain::ADD,
    &directory::CREATE,
    &directory::DELETE,
    &plain::ECHO,
    &export::EXPORT,
    &directory::GET,
    &directory::LIST,
    &directory::SEARCH,
    &directory::UPDATE,
];

/// Which tools a server offers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// Those that everybody can call.
    Plain,
    /// The one that works as a task only, too.
    WithTasks,
}

/// What a tool is and does.
struct ToolEntry {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: ToolEffect,
    input: fn() -> Value,
    output: fn() -> Value,
    run: ToolRun,
}

/// What a call changes; nothing here reaches beyond the directory.
#[derive(Clone, Copy)]
enum ToolEffect {
    /// Nothing.
    Reads,
    /// It adds, and again when called again.
    Adds,
    /// It overwrites or removes, and a second call changes nothing more.
    Replaces,
}

#[derive(Clone, Copy)]
enum ToolRun {
    Quick(fn(&mut Store, &ToolArguments) -> Result<Value, String>),
    Export,
    Rehearse,
}

/// Arguments that fit the tool's schema.
struct ToolArguments(Value);

/// A call that is ready to run.
pub(super) enum Call {
    /// It answers at once.
    Quick(Quick),
    /// It takes its time.
    Export(Export),
    /// It takes its time, and may ask.
    Rehearse(Rehearsal),
}

/// A call that answers at once.
pub(super) struct Quick {
    entry: &'static ToolEntry,
    run: fn(&mut Store, &ToolArguments) -> Result<Value, String>,
    arguments: ToolArguments,
}

/// An entry with its schemas compiled.
struct CompiledTools {
    entry: &'static ToolEntry,
    input: Schema,
    tool: Tool,
}

static COMPILED: LazyLock<Vec<CompiledTools>> = LazyLock::new(|| TOOLS.into_iter().map(compile).collect());

static REHEARSE: LazyLock<CompiledTools> = LazyLock::new(|| compile(&rehearse::REHEARSE));

/// The tools as a client sees them.
pub(super) fn list() -> Vec<Tool> {
    offered(Offer::Plain).into_iter().map(|compiled| compiled.tool.clone()).collect()
}

/// Those of a server that has tasks.
pub(super) fn list_with_tasks() -> Vec<Tool> {
    offered(Offer::WithTasks).into_iter().map(|compiled| compiled.tool.clone()).collect()
}

/// Does any server here offer the tool `name`?
pub(super) fn exists(name: &str) -> bool {
    offered(Offer::WithTasks).into_iter().any(|compiled| compiled.entry.name == name)
}

/// What is offered, sorted by name.
fn offered(offer: Offer) -> Vec<&'static CompiledTools> {
    let mut tools: Vec<&CompiledTools> = COMPILED.iter().collect();
    if offer == Offer::WithTasks {
        tools.push(&REHEARSE);
        tools.sort_by_key(|compiled| compiled.entry.name);
    }
    tools
}

/// The schema of the input of a tool.
pub(super) fn input_schema(name: &str) -> Option<Arc<JsonObject>> {
    COMPILED.iter().find(|compiled| compiled.entry.name == name).map(|compiled| compiled.input.declared())
}

/// Does a call of the tool `name` change something?
pub(super) fn changes(name: &str) -> bool {
    TOOLS.iter().any(|entry| entry.name == name && !matches!(entry.effect, ToolEffect::Reads))
}

/// Finds the tool `name` and checks its arguments.
///
/// A tool that does not exist is the protocol's error, arguments that do not fit are the tool's own.
pub(super) fn prepare(
    (offer, name): (Offer, &str),
    arguments: JsonObject,
    fault: &ServerFault,
) -> Result<Result<Call, String>, ErrorData> {
    let offered = offered(offer);
    let Some(found) = offered.iter().find(|compiled| compiled.entry.name == name) else {
        let names: Vec<_> = offered.iter().map(|compiled| format!("`{}`", compiled.entry.name)).collect();
        let message = format!("the server offers no tool `{name}`; the tools are {}", names.join(", "));
        return Err(ErrorData::invalid_params(message, None));
    };
    let mut arguments = Value::Object(arguments);
    let complaints = fault.complaints(&found.input, &arguments);
    if !complaints.is_empty() {
        return Ok(Err(complaints.join("\n")));
    }
    fault.arguments(name, &mut arguments);
    let arguments = ToolArguments(arguments);
    Ok(Ok(match found.entry.run {
        ToolRun::Quick(run) => Call::Quick(Quick { entry: found.entry, run, arguments }),
        ToolRun::Export => Call::Export(Export::new(&arguments)),
        ToolRun::Rehearse => Call::Rehearse(Rehearsal::new(&arguments)),
    }))
}

impl Quick {
    /// Runs the call unless the rules forbid it; an error is a sentence for the caller.
    pub(super) fn run(&self, store: &mut Store, rules: &Rules) -> Result<Value, String> {
        let changes = !matches!(self.entry.effect, ToolEffect::Reads);
        let wish = Wish { tool: self.entry.name, changes, arguments: &self.arguments.0 };
        if let Some(refusal) = rules.refuse(&wish, store) {
            return Err(refusal);
        }
        (self.run)(store, &self.arguments)
    }
}

impl ToolArguments {
    /// A string, empty if it was left out.
    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    /// A string that may be left out.
    fn optional_text(&self, name: &str) -> Option<&str> {
        self.0[name].as_str()
    }

    /// An integer that may be left out.
    fn integer(&self, name: &str) -> Option<i64> {
        let value = &self.0[name];
        // JSON Schema counts `36.0` as an integer too; the bounds of the schemas make the cast exact.
        #[expect(clippy::cast_possible_truncation, reason = "every schema bounds its integers well below 2^53")]
        value.as_i64().or_else(|| value.as_f64().map(|value| value as i64))
    }
}

fn compile(entry: &'static ToolEntry) -> CompiledTools {
    let input = Schema::new((entry.input)());
    let output = Schema::new((entry.output)());
    let tool = Tool::new(entry.name, entry.description, input.declared())
        .with_title(entry.title)
        .with_raw_output_schema(output.declared())
        .with_annotations(entry.effect.annotations());
    CompiledTools { entry, input, tool }
}

impl ToolEffect {
    fn annotations(self) -> ToolAnnotations {
        let (read_only, destructive, idempotent) = match self {
            Self::Reads => (true, false, true),
            Self::Adds => (false, false, false),
            Self::Replaces => (false, true, true),
        };
        ToolAnnotations::new().read_only(read_only).destructive(destructive).idempotent(idempotent).open_world(false)
    }
}
