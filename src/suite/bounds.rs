//! Numbers in blocks with which nothing would be done, or too much.

use super::decode::share;
use super::grammar::BlockKind;
use super::model::{Block, Fuzz, Suite};
use super::rows::{MOST_ROWS, TOO_MANY_ROWS};
use crate::source::{Diagnostic, Node, parse_duration};

/// Reports the numbers of all blocks that are out of bounds.
pub(super) fn check(suite: &Suite, found: &mut Vec<Diagnostic>) {
    for block in suite.blocks.iter().filter(|block| block.kind == BlockKind::Fuzz) {
        fuzz(block, found);
    }
    let mut rows = 0;
    for test in &suite.tests {
        rows += test.rows.len();
        if rows > MOST_ROWS {
            return found.push(Diagnostic::error("bad-rows", TOO_MANY_ROWS, test.name.span));
        }
    }
}

fn fuzz(block: &Block, found: &mut Vec<Diagnostic>) {
    let bounds = [
        ("cases", 1, u64::MAX, "without calls nothing shows"),
        ("in_flight", 1, Fuzz::MOST_IN_FLIGHT, "calls under way at a time"),
        ("max_string", 1, Fuzz::LONGEST, "characters of a text"),
    ];
    for (key, least, most, what) in bounds {
        let Some(node) = block.settings.get(key) else { continue };
        let Some(number) = node.whole() else { continue };
        if number < least {
            found.push(wrong(node, format!("`{key}` must be at least {least}: {what}")));
        } else if number > most {
            found.push(wrong(node, format!("`{key}` must be at most {most}: {what}")));
        }
    }
    if let Some(node) = block.settings.get("invalid").filter(|node| !(0.0..=1.0).contains(&share(node))) {
        found.push(wrong(node, "`invalid` is a share of all calls, from 0 to 1".to_owned()));
    }
    if let Some(node) = block.settings.get("time").filter(|node| node.text().is_some_and(is_none)) {
        found.push(wrong(node, "`time` must be more than nothing, such as `30s`".to_owned()));
    }
}

/// Whether a duration is no time at all.
fn is_none(text: &str) -> bool {
    parse_duration(text).is_some_and(|duration| duration.is_zero())
}

fn wrong(node: &Node, message: String) -> Diagnostic {
    Diagnostic::error("bad-number", message, node.span)
}
