//! Which tools a command may call, and with what.

use clap::Args;
use serde_json::{Map, Value};

use crate::source::template::from_json;
use crate::source::{did_you_mean, visible_line};
use crate::suite::Suite;

/// What generated calls need to know that the server does not say.
#[derive(Debug, Default, Args)]
pub(super) struct CallArgs {
    /// Calls this tool although it may change or destroy data; may be given several times.
    #[arg(long, value_name = "TOOL")]
    pub(super) allow: Vec<String>,
    /// Says that the server's data may be changed: calls also tools that write, but none that may destroy something.
    #[arg(long)]
    pub(super) scratch: bool,
    /// Valid arguments of a tool, such as `'get_user={"id": "u1"}'`, where its schema does not say enough; may be given
    /// several times.
    #[arg(long, value_name = "TOOL=JSON", value_parser = known)]
    arguments: Vec<(String, Value)>,
}

fn known(text: &str) -> Result<(String, Value), String> {
    let help = r#"write for example `get_user={"id": "u1"}`"#;
    let (tool, json) = text.split_once('=').ok_or_else(|| format!("there is no `=` after the tool; {help}"))?;
    let arguments: Value = serde_json::from_str(json).map_err(|error| format!("it is no JSON ({error}); {help}"))?;
    if arguments.is_object() {
        Ok((tool.trim().to_owned(), arguments))
    } else {
        Err(format!("arguments are a JSON object; {help}"))
    }
}

/// What to say of a flag that names a tool which the server does not have.
pub(super) fn unknown_tool<'a>(flag: &str, name: &str, offered: impl Iterator<Item = &'a str>) -> String {
    let help = did_you_mean(name, offered).map(|help| format!("; {help}")).unwrap_or_default();
    format!("warning: no tool is called `{0}`, so `{flag} {0}` does nothing{help}", visible_line(name))
}

impl CallArgs {
    /// The members of a suite that say so.
    pub(super) fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        if !self.allow.is_empty() {
            members.insert("allow".to_owned(), self.allow.iter().map(String::as_str).collect());
        }
        if !self.arguments.is_empty() {
            members.insert("arguments".to_owned(), Value::Object(self.arguments.iter().cloned().collect()));
        }
        members
    }

    /// The tools that flags name, each with its flag.
    pub(super) fn named(&self) -> Vec<(&'static str, String)> {
        let allowed = self.allow.iter().map(|tool| ("--allow", tool.clone()));
        allowed.chain(self.arguments.iter().map(|(tool, _)| ("--arguments", tool.clone()))).collect()
    }

    /// Adds it to a suite that is read already.
    pub(super) fn add_to(&self, suite: &mut Suite) {
        let span = suite.name.span;
        suite.allow.extend(self.allow.iter().cloned());
        suite.servers.values_mut().for_each(|server| server.scratch |= self.scratch);
        suite.arguments.extend(self.arguments.iter().map(|(tool, json)| (tool.clone(), from_json(json, span))));
    }

    /// The flags as they are typed.
    pub(super) fn flags(&self) -> Vec<String> {
        let allowed = self.allow.iter().map(|tool| ("--allow", tool.clone()));
        let known = self.arguments.iter().map(|(tool, json)| ("--arguments", format!("{tool}={json}")));
        let scratch = self.scratch.then(|| "--scratch".to_owned());
        scratch.into_iter().chain(allowed.chain(known).flat_map(|(flag, value)| [flag.to_owned(), value])).collect()
    }
}
