//! A tool that takes no arguments, and refuses the only call that there is of it.

use crate::event::{Code, Finding};
use crate::plan::arguments::ConfigSource;
use crate::source::{shorten, visible_line};

/// The number of characters of the server's words that a sentence quotes.
const QUOTED: usize = 200;

/// The finding; its message is the same wherever it comes up in a run.
pub(crate) fn refused_bare_call(tool: &str, words: &str, config_source: ConfigSource) -> Finding {
    let said = shorten(&visible_line(words.trim()), QUOTED);
    let said = if said.is_empty() { said } else { format!(": {said}") };
    let message = format!("`{tool}` takes no arguments, but refused a call without arguments{said}");
    let help = format!("if it cannot be served here, exempt it {}", config_source.help_to_exempt(tool));
    Finding { help: Some(help), ..Finding::new(Code::VALID_CALL_REFUSED, message) }
}
