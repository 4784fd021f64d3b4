//! Every suite under `examples/` does what it says.

use libtest_mimic::Trial;

use crate::harness::{Scene, files, root};
use crate::test;

/// Examples that show what a failure looks like.
const FAILING: &[&str] = &["failing.yml", "six-bugs.yml", "generated.yml"];

/// Every example but those that need servers of others; `real` runs them.
pub(crate) fn tests() -> Vec<Trial> {
    let folder = root().join("examples");
    let files = files("examples", "yml").into_iter().filter(|path| !path.starts_with(folder.join("real")));
    let names = files.filter_map(|path| Some(path.strip_prefix(&folder).ok()?.to_str()?.to_owned()));
    names.map(|name| test(format!("examples::{name}"), move || check(&name))).collect()
}

fn check(name: &str) {
    let scene = Scene::new(&format!("examples/{}", name.replace('/', "-")));
    let path = root().join("examples").join(name);
    let seen = scene.run(&format!("check {}", path.display()));
    assert_eq!(seen.status, 0, "{}", seen.text());
    let expected = i32::from(FAILING.iter().any(|file| path.ends_with(file)));
    let seen = scene.run(&format!("run {} --state-dir state", path.display()));
    assert_eq!(seen.status, expected, "{}", seen.text());
    scene.assert_nothing_survives();
}
