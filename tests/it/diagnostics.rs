//! Every mistake that mcprove can find: an input, what the user sees, and a section in `docs/reference/errors.md`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::harness::{Scene, files, root, snapshot};

/// What a user sees of each file of `tests/cases/errors`: suites are checked, `.cmd` files hold command lines.
static SEEN: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    // A runner that gives each test a process of its own comes here several times at once.
    let scene = Scene::copied("cases/errors", &format!("errors-{}", std::process::id()));
    let seen = fs::read_dir(&scene.folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| {
            let lines = match Path::new(&name).extension()?.to_str()? {
                "yml" => vec![format!("mcprove check {name}")],
                "cmd" => fs::read_to_string(scene.folder.join(&name)).unwrap().lines().map(str::to_owned).collect(),
                _ => return None,
            };
            let seen: Vec<String> = lines.iter().map(|line| scene.line(line).text()).collect();
            Some((name, seen.join("\n")))
        })
        .collect();
    scene.remove();
    seen
});

#[test]
fn every_mistake_is_shown_where_it_was_made() {
    insta::glob!("../cases/errors", "*.{yml,cmd}", |path| {
        snapshot("errors", &SEEN[path.file_name().unwrap().to_str().unwrap()]);
    });
}

#[test]
fn every_code_has_an_input_and_a_section() {
    let shown = Regex::new(r"\b(?:error|warning)\[([a-z-]+)\]").unwrap();
    let seen = codes(&shown, SEEN.values().map(String::as_str));
    let headings = Regex::new(r"(?m)^## `([a-z-]+)`$").unwrap();
    let manual = fs::read_to_string(root().join("docs/reference/errors.md")).unwrap();
    let mut written = in_sources();
    // What has no code of its own is printed without one.
    written.remove("error");
    assert_eq!(lacking(&written, &seen), "", "codes in src/ without an input under tests/cases/errors");
    assert_eq!(lacking(&seen, &written), "", "codes shown that no source names: is the code no literal?");
    let documented = codes(&headings, [manual.as_str()].into_iter());
    assert_eq!(lacking(&written, &documented), "", "codes without a section in docs/reference/errors.md");
    assert_eq!(
        lacking(&documented, &written),
        "",
        "sections of docs/reference/errors.md about codes that do not exist"
    );
    let order: Vec<&str> = headings.captures_iter(&manual).map(|found| found.extract::<1>().1[0]).collect();
    assert!(order.is_sorted(), "the sections of docs/reference/errors.md are in alphabetical order");
}

#[test]
fn ten_mistakes_are_ten_errors() {
    let text = &SEEN["ten-mistakes.yml"];
    assert_eq!(text.matches("\nerror[").count() + usize::from(text.starts_with("error[")), 10, "{text}");
}

/// Texts of a few kilobytes that would take all memory or all of the stack if they were believed.
#[test]
fn bombs_are_refused() {
    let scene = Scene::new("bombs");
    let aliases = (1..30).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
        let nine = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("{text}a{level}: &a{level} [{nine}]\n")
    });
    for (name, bomb) in [
        ("aliases", aliases),
        ("brackets", "[".repeat(100_000)),
        ("braces", "{a: ".repeat(100_000)),
        ("dashes", "- ".repeat(100_000)),
        ("merges", format!("a: &a {{ {} }}\nb: [{}]\n", keys(20_000), "{ <<: *a }, ".repeat(20_000))),
    ] {
        scene.write(&format!("{name}.yml"), &format!("suite: {name}\nvariables:\n  bomb:\n{}", indent(&bomb)));
        let seen = scene.run(&format!("check {name}.yml"));
        assert_eq!(seen.status, 2, "{name}: {}", seen.text());
        snapshot(&format!("bomb-{name}"), &seen.text());
    }
}

fn keys(count: usize) -> String {
    (0..count).fold(String::new(), |keys, number| keys + &format!("k{number}: 0, "))
}

fn indent(text: &str) -> String {
    text.lines().fold(String::new(), |indented, line| indented + "    " + line + "\n")
}

fn lacking(wanted: &BTreeSet<String>, present: &BTreeSet<String>) -> String {
    wanted.difference(present).cloned().collect::<Vec<_>>().join(", ")
}

fn codes<'a>(pattern: &Regex, texts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    texts.flat_map(|text| pattern.captures_iter(text).map(|found| found[1].to_owned())).collect()
}

/// The first argument of everything that makes a diagnostic.
fn in_sources() -> BTreeSet<String> {
    let made = Regex::new(r#"(?s)Diagnostic::(?:error|warning|without_place)\(\s*("([a-z-]+)")?"#).unwrap();
    let mut found = BTreeSet::new();
    for file in files("crates", "rs").into_iter().chain(files("src", "rs")) {
        let text = fs::read_to_string(&file).unwrap();
        for one in made.captures_iter(&text) {
            let code = one
                .get(2)
                .unwrap_or_else(|| panic!("{}: `{}` takes a code that is no literal", file.display(), &one[0]));
            found.insert(code.as_str().to_owned());
        }
    }
    found
}
