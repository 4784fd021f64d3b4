//! How well servers keep the rules of the specification: a line for each page, then the score.

use std::fmt::Write as _;

use crate::event::{Compliance, RunFinished};
use crate::source::{Style, visible_line};

use super::layout::{self, BOLD, RED};
use crate::report::compliance::{score, share};

/// The table of every server and revision; nothing where no rule was looked at.
pub(super) fn tables(finished: &RunFinished, style: &Style) -> Vec<String> {
    finished.compliance.iter().map(|one| table(one, style)).collect()
}

fn table(compliance: &Compliance, style: &Style) -> String {
    let title = format!("compliance of {}, {}", visible_line(&compliance.server), compliance.revision);
    let names = compliance.pages.iter().map(|page| layout::columns(&page.page));
    let width = names.chain([layout::columns(&title)]).max().unwrap_or_default().min(style.width.saturating_sub(30));
    let pad = |text: &str| " ".repeat(width.saturating_sub(layout::columns(text)));
    let title = layout::crop(&title, width);
    let mut text = format!("  {}{}   MUST    SHOULD   not judged\n", layout::paint(&title, BOLD, style), pad(&title));
    for page in &compliance.pages {
        let name = layout::crop(&page.page, width);
        let open = page.must.plus(page.should).open;
        let open = if open == 0 { String::new() } else { open.to_string() };
        let (must, should) = (share(&page.must), share(&page.should));
        let shown =
            if page.must.broken > 0 { layout::paint(&format!("{must:<7}"), RED, style) } else { format!("{must:<7}") };
        let line = format!("  {name}{}   {shown} {should:<8} {open}", pad(&name));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text + &layout::indent(&layout::wrap_some(&score(compliance), style.width - 2, 4), "  ")
}
