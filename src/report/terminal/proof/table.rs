//! Which tool is guarded against which fault; by family where single faults do not fit.

use crate::event::Proof;
use crate::source::Style;

use super::super::super::fault_table::{family_table, leaf_table, title};
use super::super::{layout, table};
use super::{Survivors, item};

/// Shows what was killed of what was planted; nothing where no fault can occur.
pub(crate) fn table(proof: &Proof, survivors: Survivors, style: &Style) -> String {
    let most = match survivors {
        Survivors::Worst => table::ROWS,
        Survivors::All => usize::MAX,
    };
    let (leaves, more) = table::first_rows(leaf_table(proof), most);
    if leaves.rows.is_empty() {
        return String::new();
    }
    let told = table::grid(&leaves, table::named(&leaves), style).unwrap_or_else(|| {
        let (families, _) = table::first_rows(family_table(proof), most);
        let told = "faults are shown by family; a wider terminal or `--report json=FILE` shows each fault";
        table::table(&families, table::named(&families), style) + &item("-", told, 3, style)
    });
    let text = layout::indent(&layout::wrap_some(&title(proof), style.width - 2, 4), "  ") + &told;
    if more == 0 {
        return text;
    }
    let more = layout::plural(more, "more row");
    text + &item("-", &format!("and {more}; `--survivors all` shows all"), 2, style)
}
