//! `docs/reference/scans.md`, made from the table of scans.

use std::fmt::Write as _;

use mcprove::wire::{Revision, SCANS, Scan};

const HEAD: &str = "\
# Scans

Every run checks these rules for messages, with any suite; [Semantics](../semantics.md#scans) says which case a violation fails.
This page is made from the code; `UPDATE=1 cargo test generated` writes it anew.

The second column ends the sentence \"a server must not …\".
Sections are those below `https://modelcontextprotocol.io/specification/REVISION/`, in 2025-11-25 for revisions with sessions and in 2026-07-28.

| code | a server must not … | in sessions, since | in 2026-07-28 | [variant](faults.md) |
| --- | --- | --- | --- | --- |
";

/// The page in Markdown.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    for scan in SCANS {
        let Scan { code, forbids, variant, .. } = scan;
        let (sessions, stateless) = (in_sessions(scan), section(scan, Revision::V2026_07_28));
        // Writing to a text cannot fail.
        let _ = writeln!(page, "| `{code}` | {forbids} | {sessions} | {stateless} | {variant} |");
    }
    page
}

fn in_sessions(scan: &Scan) -> String {
    let last = Revision::NEWEST_WITH_SESSION;
    if scan.section(last).is_none() {
        return "–".to_owned();
    }
    format!("{}: {}", scan.since, section(scan, last))
}

fn section(scan: &Scan, revision: Revision) -> String {
    scan.section(revision).map_or("–".to_owned(), |section| format!("`{section}`"))
}
