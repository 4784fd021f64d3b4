//! Arguments of calls that nobody wrote: the suite's own, or those that a tool's schema takes, tamed.
//!
//! Whoever needs a valid call asks [`arguments`]; whoever needs many keeps a [`Tamer`].

mod folder;
mod nowhere;
mod pace;
mod tame;

pub use self::folder::of as folder_of;
pub use self::tame::Tamer;
use crate::event::Reason;
use crate::source::Node;
use crate::source::template::from_json;
use crate::suite::{Hazard, Suite};
use crate::wire::Tool;

/// Why a tool is not called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It may do something that nobody allowed.
    Hazard(Hazard),
    /// Nothing fits its schema, or nothing was found; in words.
    NothingFits(String),
}

/// Where somebody says what may be called, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cure {
    /// In a suite.
    Suite,
    /// With flags of a command.
    Flags,
}

impl Cure {
    /// Where whoever reads of a tool of that suite says more: with a flag where there is no file to write into.
    pub fn of(suite: &Suite) -> Self {
        if suite.asked.is_some() { Self::Flags } else { Self::Suite }
    }

    /// How a tool that is not called is allowed.
    pub fn allow(self, tool: &str) -> String {
        match self {
            Self::Suite => format!("allow it with `allow: [{tool}]`"),
            Self::Flags => format!("allow it with `--allow {tool}`"),
        }
    }

    /// How all tools are allowed that change data and destroy none.
    pub fn scratch(self) -> &'static str {
        match self {
            Self::Suite => "say with `scratch: true` that the server's data may be changed",
            Self::Flags => "say with `--scratch` that the server's data may be changed",
        }
    }

    /// How a tool is named that is known to serve no call.
    pub fn leave_unjudged(self, tool: &str) -> String {
        match self {
            Self::Suite => format!("with `allow_unjudged: [{tool}]`"),
            Self::Flags => format!("in a suite with `allow_unjudged: [{tool}]`"),
        }
    }

    /// How valid arguments of a tool are given.
    pub fn give(self, tool: &str) -> String {
        match self {
            Self::Suite => format!("with `arguments: {{ {tool}: {{ … }} }}`"),
            Self::Flags => format!("with `--arguments '{tool}={{…}}'`"),
        }
    }
}

impl Why {
    /// The reason to skip a case that would call the tool.
    pub fn skip(&self, tool: &str, cure: Cure) -> Reason {
        let text = self.told(tool, cure);
        match self {
            Self::Hazard(Hazard::ReadOnly) => Reason::ReadOnly(text),
            Self::Hazard(Hazard::Destroys | Hazard::Writes) => Reason::ToolNotAllowed(text),
            Self::NothingFits(_) => Reason::NotApplicable(text),
        }
    }

    /// The reason as a sentence, with what to type next.
    pub fn told(&self, tool: &str, cure: Cure) -> String {
        match self {
            Self::Hazard(Hazard::Destroys) => format!("`{tool}` may destroy something; {}", cure.allow(tool)),
            Self::Hazard(Hazard::Writes) => {
                format!("`{tool}` may change data; {}, or {}", cure.allow(tool), cure.scratch())
            }
            Self::Hazard(Hazard::ReadOnly) => {
                format!("`{tool}` may change data, and `--read-only` does not call such tools")
            }
            Self::NothingFits(why) => {
                let made = format!("no valid arguments for `{tool}` can be generated from its schema");
                format!("{made} ({why}); give some {}", cure.give(tool))
            }
        }
    }
}

/// Valid arguments of a tool of a server: those that the suite gives, unfilled, or else small ones that its schema takes.
///
/// # Errors
///
/// Says why the tool is not called where the suite forbids it, or nothing fits.
pub fn arguments(suite: &Suite, server: &str, tool: &Tool) -> Result<Node, Why> {
    match suite.hazard(server, tool) {
        Some(hazard) => Err(Why::Hazard(hazard)),
        None => arguments_of_asked(suite, server, tool),
    }
}

/// The same for a tool that somebody asked for by its name, whatever it does.
///
/// # Errors
///
/// Says what is wrong with its schema.
pub fn arguments_of_asked(suite: &Suite, server: &str, tool: &Tool) -> Result<Node, Why> {
    match suite.arguments.get(&tool.name) {
        Some(given) => Ok(given.clone()),
        None => Ok(from_json(tamer(tool, folder_of(suite, server))?.smallest(), suite.name.span)),
    }
}

/// The generator of a tool's arguments, for a server that was started with that folder.
///
/// # Errors
///
/// Says what is wrong with its schema.
pub fn tamer(tool: &Tool, folder: Option<String>) -> Result<Tamer, Why> {
    Tamer::new(&tool.arguments_schema(), folder).map_err(|unusable| Why::NothingFits(unusable.to_string()))
}
