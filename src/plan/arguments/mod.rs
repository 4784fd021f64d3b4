//! Arguments of generated calls: the suite's own, or values generated from a tool's schema and made safe to send.
//!
//! [`valid_arguments`] gives the arguments of one valid call, [`SafeArguments`] generates many.

mod addresses;
mod amounts;
mod durations;
mod folder;
mod safe_arguments;

pub use self::folder::server_folder;
pub(crate) use self::folder::{is_file, is_path, starting_folder};
pub use self::safe_arguments::{Amounts, SafeArguments};
use crate::event::Reason;
use crate::source::Node;
use crate::source::template::from_json;
use crate::suite::{Hazard, Suite};
use crate::wire::Tool;

/// Why a tool is not called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotCallable {
    /// It may do something that nobody allowed.
    Hazard(Hazard),
    /// Nothing fits its schema, or nothing was found; in words.
    NothingFits(String),
}

/// The place at which the user configures which tools are called, and with what; messages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSource {
    /// In a suite.
    Suite,
    /// With flags of a command.
    Flags,
}

impl ConfigSource {
    /// The place for the tools of that suite: flags where the command line names the server.
    pub fn of(suite: &Suite) -> Self {
        if suite.has_given_servers() { Self::Flags } else { Self::Suite }
    }

    /// Says how to allow a tool that is not called.
    pub fn help_to_allow(self, tool: &str) -> String {
        match self {
            Self::Suite => format!("allow it with `allow: [{tool}]`"),
            Self::Flags => format!("allow it with `--allow {tool}`"),
        }
    }

    /// Says how to allow all tools that change data and destroy none.
    pub fn help_to_allow_changes(self) -> &'static str {
        match self {
            Self::Suite => "say with `scratch: true` that the server's data may be changed",
            Self::Flags => "say with `--scratch` that the server's data may be changed",
        }
    }

    /// The place that names tools which are never called.
    fn never(self) -> &'static str {
        match self {
            Self::Suite => "`never`",
            Self::Flags => "`--never`",
        }
    }

    /// Says how to exempt a tool that is known to serve no call.
    pub fn help_to_exempt(self, tool: &str) -> String {
        match self {
            Self::Suite => format!("with `allow_unjudged: [{tool}]`"),
            Self::Flags => format!("in a suite with `allow_unjudged: [{tool}]`"),
        }
    }

    /// Says that a rule needs a hint, and how to give it.
    pub(crate) fn needed_hint(self, hint: &str) -> String {
        match self {
            Self::Suite => format!("it needs the hint `{hint}`: `compliance: {{ hints: {{ {hint}: … }} }}`"),
            Self::Flags => format!("it needs the hint `{hint}`: `--hint {hint}=…`"),
        }
    }

    /// Says how to give valid arguments of a tool.
    pub fn help_to_give_arguments(self, tool: &str) -> String {
        match self {
            Self::Suite => format!("with `arguments: {{ {tool}: {{ … }} }}`"),
            Self::Flags => format!("with `--arguments '{tool}={{…}}'`"),
        }
    }
}

/// Why a tool is not called that is served as a task only.
pub(crate) fn only_as_task(tool: &Tool) -> String {
    format!("`{}` is served as a task only, and generated calls are no tasks", tool.name)
}

impl NotCallable {
    /// The reason to skip a case that would call the tool.
    pub fn skip_reason(&self, tool: &str, config_source: ConfigSource) -> Reason {
        let text = self.sentence(tool, config_source);
        match self {
            Self::Hazard(Hazard::ReadOnly) => Reason::ReadOnly(text),
            Self::Hazard(Hazard::Destroys | Hazard::Writes | Hazard::Excluded) => Reason::ToolNotAllowed(text),
            Self::NothingFits(_) => Reason::NotApplicable(text),
        }
    }

    /// The reason as a sentence, with what to type next.
    pub fn sentence(&self, tool: &str, config_source: ConfigSource) -> String {
        match self {
            Self::Hazard(Hazard::Destroys) => {
                format!("`{tool}` may destroy something; {}", config_source.help_to_allow(tool))
            }
            Self::Hazard(Hazard::Writes) => {
                format!(
                    "`{tool}` may change data; {}, or {}",
                    config_source.help_to_allow(tool),
                    config_source.help_to_allow_changes()
                )
            }
            Self::Hazard(Hazard::ReadOnly) => {
                format!("`{tool}` may change data, and `--read-only` does not call such tools")
            }
            Self::Hazard(Hazard::Excluded) => format!("`{tool}` is never called, as {} says", config_source.never()),
            Self::NothingFits(why) => {
                let made = format!("no valid arguments for `{tool}` can be generated from its schema");
                format!("{made} ({why}); give some {}", config_source.help_to_give_arguments(tool))
            }
        }
    }
}

/// Valid arguments of a tool of a server: those that the suite gives, unfilled, or else those that it is known to serve,
/// or small ones that its schema takes.
///
/// # Errors
///
/// Says why the tool is not called where the suite forbids it, or nothing fits.
pub fn valid_arguments(suite: &Suite, server: &str, tool: &Tool) -> Result<Node, NotCallable> {
    match suite.hazard(server, tool) {
        Some(hazard) => Err(NotCallable::Hazard(hazard)),
        None => valid_arguments_despite_hazard(suite, server, tool),
    }
}

/// The same for a tool that somebody asked for by its name, whatever it does, unless `never` names it.
///
/// # Errors
///
/// Says that it is never called, or what is wrong with its schema.
pub fn valid_arguments_despite_hazard(suite: &Suite, server: &str, tool: &Tool) -> Result<Node, NotCallable> {
    if suite.never.has(&tool.name) {
        return Err(NotCallable::Hazard(Hazard::Excluded));
    }
    match suite.arguments.get(&tool.name) {
        Some(given) => Ok(given.clone()),
        None => Ok(from_json(safe_arguments(tool, server_folder(suite, server))?.smallest(), suite.name.span)),
    }
}

/// The generator of safe arguments for a tool of a server that was started with that folder; the smallest are those that
/// the tool is known to serve.
///
/// # Errors
///
/// Says that it is never called, or what is wrong with its schema.
pub fn safe_arguments(tool: &Tool, folder: Option<String>) -> Result<SafeArguments, NotCallable> {
    let made = SafeArguments::new(&tool.arguments_schema(), folder)
        .map_err(|unusable| NotCallable::NothingFits(unusable.to_string()))?
        .for_tool(tool);
    if tool.served.is_none() && made.reaches_out(made.smallest()) {
        return Err(NotCallable::NothingFits("it takes addresses of other machines alone".to_owned()));
    }
    Ok(match &tool.served {
        Some(served) => made.with_smallest(served.clone()),
        None => made,
    })
}
