use base64::prelude::{BASE64_STANDARD, Engine};
use insta::assert_snapshot;
use sha2::{Digest, Sha256};

use super::{POLICY, SCRIPT, STYLE};
use crate::report::tests::{check_generated, rich};
use crate::report::{Report, render};
use crate::source::Style;

/// A page without its style and script, which have files of their own.
fn page(report: &Report) -> String {
    let text = render("html", report, &Style::PLAIN).unwrap();
    text.replace(STYLE, "…").replace(SCRIPT, "…").replace(POLICY.trim_end(), "…")
}

#[test]
fn the_page_of_a_run() {
    assert_snapshot!(page(&rich()));
}

#[test]
fn the_policy_allows_this_style_and_this_script_only() {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    let policy = format!(
        "default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'\n"
    );
    check_generated("src/report/html/policy.txt", &policy);
}
