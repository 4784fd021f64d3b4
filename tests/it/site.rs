//! The documentation as a site: every page is in it once, and its pages work in a browser, from files.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use crate::harness::{Scene, copy, files, has_browser, python, root, tell};

#[test]
fn every_page_is_in_the_site_once() {
    let scene = Scene::bare("site-sources");
    build(&["--sources", &scene.folder.display().to_string()]);
    let summary = fs::read_to_string(scene.folder.join("src/SUMMARY.md")).unwrap();
    let link = Regex::new(r"(?m)\]\((.*)\)$").unwrap();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for found in link.captures_iter(&summary) {
        *times.entry(found[1].to_owned()).or_default() += 1;
    }
    let docs = root().join("docs");
    let pages = files("docs", "md").into_iter().map(|path| path.strip_prefix(&docs).unwrap().display().to_string());
    let others = ["index.md", "contents.md", "contributing.md", "packages.md", "reporting-vulnerabilities.md"];
    let expected: BTreeMap<String, usize> =
        pages.filter(|page| page != "README.md").chain(others.map(str::to_owned)).map(|page| (page, 1)).collect();
    assert_eq!(times, expected, "docs/README.md lists the pages of the site");
}

#[test]
fn the_site_works_in_a_browser() {
    let own = root().join("target/site-tools/bin/mdbook");
    let generator = if own.exists() { own.as_os_str() } else { "mdbook".as_ref() };
    let version = Command::new(generator).arg("--version").output();
    if !version.is_ok_and(|said| said.stdout.starts_with(b"mdbook v0.5.")) {
        tell("skipped: mdbook 0.5, which makes the site, is not installed; run `docs/site/install`");
        return;
    }
    let scene = Scene::bare("site-built");
    build(&["--out", &scene.folder.display().to_string()]);
    add_older_version(&scene);
    if !has_browser() {
        return;
    }
    let output = Command::new("node").arg(root().join("tests/real/site.mjs")).arg(&scene.folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

fn build(arguments: &[&str]) {
    let output = python().arg(root().join("docs/site/build")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A version that has no tutorial yet, beside the one that was built.
fn add_older_version(scene: &Scene) {
    let path = scene.folder.join("versions.js");
    let text = fs::read_to_string(&path).unwrap();
    let object = text.strip_prefix("window.versions = ").unwrap().trim_end().trim_end_matches(';');
    let versions: Value = serde_json::from_str(object).unwrap();
    let pages = versions["main"].as_array().unwrap();
    let older: Vec<&Value> = pages.iter().filter(|page| **page != "tutorial.html").collect();
    copy(&scene.folder.join("main"), &scene.folder.join("v0.0.1"));
    let both = json!({ "main": pages, "v0.0.1": older });
    scene.write("versions.js", &format!("window.versions = {both};\n"));
}
