//! A tool that the server lists, and whose calls it answers as if there were no such tool.

use crate::event::{Code, Finding};
use crate::source::{shorten, visible_line};

/// The number of characters of the server's words that a sentence quotes.
const QUOTED: usize = 160;

/// The finding; its message is the same wherever it comes up in a run.
pub(crate) fn denied_tool(tool: &str, words: &str) -> Finding {
    let message = format!(
        "`tools/list` offers `{tool}`, and a call of it is answered as if there were no such tool: {}",
        shorten(&visible_line(words.trim()), QUOTED)
    );
    let help = "let the names in the list and those that the server dispatches calls by be the same";
    Finding { help: Some(help.to_owned()), ..Finding::new(Code::TOOL_DENIED, message) }
}
