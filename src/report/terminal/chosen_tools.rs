//! Which tools generated cases call although they may change data, and which they leave alone.

use crate::event::ToolsChosen;
use crate::source::{Style, visible_line};

use super::super::fold::Report;
use super::layout::{self, plural};

/// The most lines that a list of tools takes.
const MOST_LINES: usize = 4;

/// A warning to print before the first call.
#[cfg(feature = "cli")]
pub(crate) fn writing(chosen: &ToolsChosen, style: &Style) -> String {
    let text =
        format!("generated cases may change the data of `{}`: they call {}", chosen.server, list(&chosen.writing));
    layout::indent(&layout::wrap(&text, style.width.saturating_sub(2)).join("\n"), "  ")
}

/// The tools that no generated case called, and what would include them; each server once, unless `is_said` of the server
/// and each of its tools.
pub(crate) fn left_alone(report: &Report, is_said: &dyn Fn(&str, &str) -> bool, style: &Style) -> String {
    let mut told: Vec<String> = Vec::new();
    let is_unsaid = |chosen: &&ToolsChosen| chosen.left_alone.iter().any(|tool| !is_said(&chosen.server, tool));
    for chosen in report.tools_chosen().filter(is_unsaid) {
        let count = plural(chosen.left_alone.len(), "tool");
        let names = list(&chosen.left_alone);
        let text = format!("{count} of `{}` may change data and got no generated calls: {names}", chosen.server);
        let room = style.width.saturating_sub(4);
        let lines = [text, chosen.help.clone()]
            .map(|text| layout::wrap_some(&visible_line(&text), room, layout::lines_in(MOST_LINES, room)));
        let block = format!("- {}\n", lines.join("\n").replace('\n', "\n  "));
        if !told.contains(&block) {
            told.push(block);
        }
    }
    told.concat()
}

fn list(tools: &[String]) -> String {
    tools.iter().map(|tool| visible_line(tool)).collect::<Vec<_>>().join(", ")
}
