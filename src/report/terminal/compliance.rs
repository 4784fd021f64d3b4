//! How well servers keep the rules of the specification: a line for each page, then the score.

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
    let mut text = labelled(&title, Some(BOLD), "MUST    SHOULD   not judged", (width, style));
    for page in &compliance.pages {
        let open = page.must.plus(page.should).open;
        let open = if open == 0 { String::new() } else { open.to_string() };
        let (must, should) = (share(&page.must), share(&page.should));
        let shown =
            if page.must.broken > 0 { layout::paint(&format!("{must:<7}"), RED, style) } else { format!("{must:<7}") };
        text += &labelled(&page.page, None, &format!("{shown} {should:<8} {open}"), (width, style));
    }
    text + &layout::indent(&layout::wrap_some(&score(compliance), style.width - 2, 4), "  ")
}

/// A line of the table; a label that is too long for its column stands above the figures.
fn labelled(label: &str, look: Option<anstyle::Style>, figures: &str, (width, style): (usize, &Style)) -> String {
    let painted = |text: &str| look.map_or_else(|| text.to_owned(), |look| layout::paint(text, look, style));
    let columns = layout::columns(label);
    if columns <= width {
        let line = format!("  {}{}   {figures}", painted(label), " ".repeat(width - columns));
        return format!("{}\n", line.trim_end());
    }
    let above: Vec<String> = layout::wrap(label, style.width - 2).iter().map(|line| painted(line)).collect();
    let below = format!("  {}   {figures}", " ".repeat(width));
    format!("{}{}\n", layout::indent(&above.join("\n"), "  "), below.trim_end())
}
