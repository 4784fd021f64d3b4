//! Cases whose verdict differs.

use crate::source::Style;

use super::super::comparison::{self, Comparison};
use super::super::fold::Report;
use super::{layout, table};

/// Every comparison of a run.
pub(crate) fn comparisons(report: &Report, style: &Style) -> Vec<String> {
    comparison::comparisons(report).into_iter().map(|one| show(one, style)).collect()
}

fn show(comparison: Comparison, style: &Style) -> String {
    let agreeing = layout::indent(&layout::wrap_some(&comparison.agreeing, style.width - 2, 4), "  ");
    let (differing, more) = table::first_rows(comparison.table, table::ROWS);
    if differing.rows.is_empty() {
        return agreeing;
    }
    let more = match more {
        0 => String::new(),
        more => format!("  and {more} more; `--report json=report.json` writes all of them\n"),
    };
    table::table(&differing, table::named(&differing), style) + &more + &agreeing
}
