//! Golden cases: a folder under `tests/cases/` with suites and a `cmd` of command lines; the snapshot is what a user
//! sees.

use std::fs;

use crate::harness::{Scene, snapshot};

#[test]
fn what_a_user_sees() {
    insta::glob!("../cases", "*/cmd", |path| {
        let name = path.parent().and_then(|folder| folder.file_name()).unwrap().to_string_lossy().into_owned();
        let scene = Scene::of(&format!("cases/{name}"));
        let lines = fs::read_to_string(path).unwrap();
        let seen: Vec<String> = lines
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| scene.line(line).text())
            .collect();
        snapshot("cases", &seen.join("\n"));
        scene.assert_nothing_survives();
    });
}
