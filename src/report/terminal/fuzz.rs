//! What generated calls came to, a line for each tool.

use std::fmt::Write as _;

use crate::event::{CaseResult, Outcome};
use crate::source::{Style, visible_line};

use super::failure::mark;
use super::layout::{self, DIM};

/// The table of all tools that were called; nothing where none was.
pub(super) fn table<'a>(cases: impl Iterator<Item = &'a CaseResult>, style: &Style) -> String {
    let lines: Vec<(&CaseResult, &str, &str)> = cases.filter_map(line).collect();
    let width = lines.iter().map(|(_, name, _)| layout::columns(name)).max().unwrap_or_default().min(style.width / 3);
    let mut text = String::new();
    for (result, name, said) in lines {
        let (sign, look) = mark(result);
        let name = layout::crop(name, width);
        let gap = " ".repeat(width - layout::columns(&name));
        let said = layout::crop(&visible_line(said), style.width.saturating_sub(width + 7));
        let (sign, said) = (layout::paint(sign, look, style), layout::paint(&said, DIM, style));
        let _ = writeln!(text, "  {sign} {name}{gap}   {said}");
    }
    text
}

/// The tool of a case, and what was counted.
fn line(result: &CaseResult) -> Option<(&CaseResult, &str, &str)> {
    let is_called = result.case.probes.iter().any(|probe| probe == "fuzz") && result.outcome != Outcome::Skipped;
    let (_, tool) = result.case.name.split_once(": ")?;
    let reason = result.reason.as_deref().filter(|_| is_called)?;
    let counts = reason.rsplit_once(" (").map_or(reason, |(_, counts)| counts);
    let (counts, _) = counts.split_once("; seed ")?;
    Some((result, tool, counts))
}
