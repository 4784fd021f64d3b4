//! The HTML report in a real browser: axe-core finds nothing, no text of a server is obeyed, keys lead everywhere.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::harness::{Scene, has_browser, root};

/// Every kind of outcome, with hostile text in every place, beside an earlier run in which all of it passed.
#[test]
fn a_page_with_failures_and_hostile_texts() {
    let scene = Scene::new("page/rich");
    let recording = root().join("tests/fixtures/rich.ndjson");
    let earlier = fs::read_to_string(&recording).unwrap().replace(r#""outcome":"failed""#, r#""outcome":"passed""#);
    fs::write(scene.folder.join("z.ndjson"), earlier.replace("1767225600000", "1767139200000")).unwrap();
    let seen = scene.line(&format!("mcprove report '{}' z.ndjson --as html --output page.html", recording.display()));
    assert_eq!(seen.status, 0, "{}", seen.text());
    look_at(&scene.folder.join("page.html"));
}

/// A run in which everything passed, with a proof, opened where nobody may write.
#[test]
fn a_page_with_a_proof() {
    let scene = Scene::new("page/proof");
    let suite = root().join("examples/users.yml");
    let command = format!("mcprove run '{}' --prove --state-dir state --report html=share/page.html", suite.display());
    let seen = scene.line(&command);
    assert_eq!(seen.status, 0, "{}", seen.text());
    let share = scene.folder.join("share");
    fs::set_permissions(share.join("page.html"), Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&share, Permissions::from_mode(0o555)).unwrap();
    look_at(&share.join("page.html"));
    fs::set_permissions(&share, Permissions::from_mode(0o755)).unwrap();
}

/// Opens a page as `tests/real/page.mjs` says, which prints what is wrong.
fn look_at(page: &Path) {
    if !has_browser() {
        return;
    }
    let script = root().join("tests/real/page.mjs");
    let output = Command::new("node").arg(script).arg(page).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
