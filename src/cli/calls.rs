//! Which tools a command may call, and with what.

use clap::Args;
use serde_json::{Map, Value, json};

use super::console::Console;
use super::exit::Exit;
use super::suites::FlaggedTool;
use crate::redact::hold_a_secret;
use crate::source::template::from_json;
use crate::source::{Located, did_you_mean, visible_line};
use crate::suite::Suite;

/// Facts about a server that generated calls need and the server does not declare.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CallArgs {
    /// Calls tools with this name or pattern, such as `log_*`, although they may change or destroy data; may be given
    /// several times.
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    /// Never calls tools with this name or pattern, whatever else allows them; may be given several times.
    #[arg(long, value_name = "TOOL")]
    pub(crate) never: Vec<String>,
    /// The server's data may be changed: calls tools that write too, but none that may destroy something.
    #[arg(long)]
    pub(crate) scratch: bool,
    /// Valid arguments for a tool whose schema does not say enough, such as `'get_user={"id": "u1"}'`; may be given
    /// several times.
    #[arg(long, value_name = "TOOL=JSON", value_parser = parse_arguments)]
    arguments: Vec<FlaggedArguments>,
}

#[derive(Debug, Clone)]
struct FlaggedArguments {
    tool: String,
    json: Value,
}

fn parse_arguments(text: &str) -> Result<FlaggedArguments, String> {
    let help = r#"write for example `get_user={"id": "u1"}`"#;
    let (tool, json) = text.split_once('=').ok_or_else(|| format!("there is no `=` after the tool; {help}"))?;
    let json: Value = serde_json::from_str(json).map_err(|error| format!("invalid JSON ({error}); {help}"))?;
    if json.is_object() {
        Ok(FlaggedArguments { tool: tool.trim().to_owned(), json })
    } else {
        Err(format!("arguments must be a JSON object; {help}"))
    }
}

/// The warning about such a flag, where the command goes on without the tool.
pub(crate) fn unknown_tool_warning<'a>(named: &FlaggedTool, offered: impl Iterator<Item = &'a str>) -> String {
    let help = did_you_mean(&named.tool, offered).map(|help| format!("; {help}")).unwrap_or_default();
    format!("warning: {}{help}", unknown_tool(named))
}

/// The mistake of a flag that names a tool which the server does not have.
pub(crate) fn unknown_tool(named: &FlaggedTool) -> String {
    let FlaggedTool { flag, tool } = named;
    let has_none = if named.is_pattern() { "no tool of the server matches" } else { "the server has no tool" };
    format!("{has_none} `{0}`, so `{flag} {0}` has no effect", visible_line(tool))
}

impl CallArgs {
    /// The members of a suite that say the same.
    pub(crate) fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        if !self.allow.is_empty() {
            members.insert("allow".to_owned(), json!(self.allow));
        }
        if !self.never.is_empty() {
            members.insert("never".to_owned(), json!(self.never));
        }
        if !self.arguments.is_empty() {
            let arguments: Map<_, _> = self.arguments.iter().map(|one| (one.tool.clone(), one.json.clone())).collect();
            members.insert("arguments".to_owned(), arguments.into());
        }
        members
    }

    /// Refuses arguments that hold secrets: they would be written into a suite.
    pub(crate) fn refuse_secrets(&self, console: &Console) -> Result<(), Exit> {
        let Some(one) = self.arguments.iter().find(|one| hold_a_secret(&one.json)) else { return Ok(()) };
        let message = format!("no suite was written: the arguments of `{}` hold a secret", visible_line(&one.tool));
        let help = "put the secret into a variable, and add the arguments to the suite as `{{ env.NAME }}`";
        Err(console.fail(Exit::Usage, message, Some(help)))
    }

    /// The tools that flags name.
    pub(crate) fn named_tools(&self) -> Vec<FlaggedTool> {
        let allowed = self.allow.iter().map(|tool| ("--allow", tool));
        let never = self.never.iter().map(|tool| ("--never", tool));
        let arguments = self.arguments.iter().map(|one| ("--arguments", &one.tool));
        let named = allowed.chain(never).chain(arguments);
        named.map(|(flag, tool)| FlaggedTool { flag, tool: tool.clone() }).collect()
    }

    /// Adds it to a loaded suite.
    pub(crate) fn add_to(&self, suite: &mut Suite) {
        let span = suite.name.span;
        let named = |tools: &[String]| tools.iter().map(|tool| Located::new(tool.clone(), span)).collect::<Vec<_>>();
        suite.allow.extend(named(&self.allow));
        suite.never.extend(named(&self.never));
        suite.servers.values_mut().for_each(|server| server.scratch |= self.scratch);
        suite.arguments.extend(self.arguments.iter().map(|one| (one.tool.clone(), from_json(&one.json, span))));
    }

    /// The flags as they are typed.
    pub(crate) fn flags(&self) -> Vec<String> {
        let allowed = self.allow.iter().flat_map(|tool| ["--allow".to_owned(), tool.clone()]);
        let never = self.never.iter().flat_map(|tool| ["--never".to_owned(), tool.clone()]);
        let known = self.arguments.iter();
        let known = known.flat_map(|one| ["--arguments".to_owned(), format!("{}={}", one.tool, one.json)]);
        self.scratch.then(|| "--scratch".to_owned()).into_iter().chain(allowed).chain(never).chain(known).collect()
    }
}
