//! Pages of the documentation: their lists of contents, their links, and the commands whose output they show.
//! `UPDATE=1 cargo test documents` rewrites the lists and the output.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::env::{join_paths, split_paths};
use std::fs;
use std::iter;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::harness::{Scene, files, is_installed, is_update, path, root};

/// A page with more lines than this has a list of contents.
const SCREEN: usize = 60;

/// A page with more sections than this lists them in one paragraph.
const LISTED_SECTIONS: usize = 15;

/// The page whose commands need the pinned servers.
const TUTORIAL: &str = "docs/tutorial.md";

/// Every page of the documentation.
pub(crate) fn documents() -> Vec<PathBuf> {
    let mut documents = files("docs", "md");
    documents.push(root().join("README.md"));
    documents
}

/// A folder with the examples, and with the data that suites in the documentation use.
pub(crate) fn scene(name: &str) -> Scene {
    let scene = Scene::new(name);
    fs::create_dir_all(scene.folder.join("examples")).unwrap();
    for (from, to) in [("examples/failing.yml", "examples/failing.yml"), ("examples/users.csv", "users.csv")] {
        fs::copy(root().join(from), scene.folder.join(Path::new(to))).unwrap();
    }
    scene
}

/// The text before, in and after a part of a page that is made from the code.
pub(crate) fn split<'a>(text: &'a str, name: &str) -> (&'a str, &'a str, &'a str) {
    let mark = format!("<!-- made from the code: {name} -->\n");
    let start = text.find(&mark).unwrap_or_else(|| panic!("`{}` is missing", mark.trim())) + mark.len();
    let end = start + text[start..].find("<!-- end -->").unwrap();
    (&text[..start], &text[start..end], &text[end..])
}

/// A text without its times, and without the blanks that times push about.
pub(crate) fn bare(text: &str) -> String {
    let times = Regex::new(r"\b\d+(\.\d+)? (µs|ms|s)\b").unwrap();
    Regex::new(" +").unwrap().replace_all(&times.replace_all(text, "TIME"), " ").into_owned()
}

/// A page with a list of its contents behind its title, if it is longer than a screen.
pub(crate) fn with_contents(page: &str) -> String {
    let (title, rest) = page.split_once("\n\n").unwrap();
    match contents(page) {
        Some(list) => format!("{title}\n\n{list}\n\n{rest}"),
        None => page.to_owned(),
    }
}

/// Links to the sections of a page, if it is longer than a screen.
fn contents(page: &str) -> Option<String> {
    let sections: Vec<String> = headings(page)
        .filter_map(|heading| heading.strip_prefix("## "))
        .map(|title| format!("[{title}](#{})", anchor(title)))
        .collect();
    if page.lines().count() <= SCREEN || sections.len() < 3 {
        return None;
    }
    if sections.len() > LISTED_SECTIONS {
        return Some(sections.join(" · "));
    }
    Some(sections.iter().map(|section| format!("- {section}")).collect::<Vec<_>>().join("\n"))
}

/// The lines of a page that are headings; what stands in fenced blocks is not.
fn headings(page: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    page.lines().filter(move |line| {
        is_fenced ^= line.starts_with("```");
        !is_fenced && line.starts_with('#')
    })
}

/// The anchor that GitHub gives a heading.
fn anchor(title: &str) -> String {
    let letters = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn long_pages_list_their_contents() {
    let mut stale = Vec::new();
    // Pages that are made as a whole are made with their contents.
    let is_made = |text: &str| text.contains("made from the code: contents");
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        if !is_made(&text) {
            let wanted = contents(&text);
            let is_listed = wanted.as_ref().is_none_or(|list| text.contains(list.as_str()));
            assert!(is_listed, "{} is longer than a screen and has no list of contents", path.display());
            continue;
        }
        let (before, found, after) = split(&text, "contents");
        let wanted = format!("\n{}\n", contents(&text).unwrap_or_default());
        if found == wanted {
            continue;
        }
        if is_update() {
            fs::write(&path, format!("{before}{wanted}{after}")).unwrap();
        } else {
            stale.push(path.display().to_string());
        }
    }
    assert!(stale.is_empty(), "out of date: {}; run `UPDATE=1 cargo test documents`", stale.join(", "));
}

/// Where the texts stand that rules quote; nobody looks them up here.
const SPECIFICATIONS: [&str; 4] = [
    "https://modelcontextprotocol.io/",
    "https://github.com/modelcontextprotocol/",
    "https://www.jsonrpc.org/specification",
    "https://www.rfc-editor.org/rfc/",
];

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)").unwrap();
    let code = Regex::new(r"(?ms)^```.*?^```$|`[^`\n]*`").unwrap();
    let mut dead = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for found in link.captures_iter(&code.replace_all(&text, "code")) {
            let (file, section) = (&found[1], found.get(2).map(|section| section.as_str()));
            if SPECIFICATIONS.iter().any(|site| file.starts_with(site)) {
                continue;
            }
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let is_there = match section {
                _ if !target.exists() => false,
                Some(section) if target.extension().is_some_and(|end| end == "md") => has_section(&target, section),
                _ => true,
            };
            if !is_there {
                dead.push(format!("{}: {}", path.display(), &found[0]));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

fn has_section(page: &Path, section: &str) -> bool {
    let text = fs::read_to_string(page).unwrap();
    headings(&text).any(|heading| anchor(heading.trim_start_matches('#').trim()) == section)
}

#[test]
fn commands_print_what_is_shown() {
    let pages = documents().into_iter().filter(|path| !path.ends_with(TUTORIAL));
    let stale: Vec<String> = pages.filter_map(|path| played(&path, |_| ())).collect();
    assert!(stale.is_empty(), "out of date: {}; run `UPDATE=1 cargo test documents`", stale.join(", "));
}

#[test]
fn commands_of_the_tutorial_print_what_is_shown() {
    if !is_installed() {
        return;
    }
    let page = root().join(TUTORIAL);
    let pinned = fs::read_to_string(root().join("tests/real/package.json")).unwrap();
    let text = fs::read_to_string(&page).unwrap();
    let package = Regex::new(r"npm install (@\S+)@(\S+)").unwrap().captures(&text).unwrap();
    let version = format!("\"{}\": \"{}\"", &package[1], &package[2]);
    assert!(pinned.contains(&version), "tests/real/package.json does not have {version}");
    let stale = played(&page, |scene| {
        symlink(root().join("tests/real/node_modules"), scene.folder.join("node_modules")).unwrap();
    });
    assert_eq!(stale, None, "run `UPDATE=1 cargo test documents`");
}

/// Does what a page says, from its beginning to its end: writes the files that it shows, runs the commands that stand
/// behind `$`, and compares what they print. The name of the page, if it shows something else.
fn played(path: &Path, prepare: impl Fn(&Scene)) -> Option<String> {
    let page = fs::read_to_string(path).unwrap();
    if !page.contains("\n```console\n") {
        return None;
    }
    let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace(['/', '.'], "-");
    let scene = scene(&format!("documents/{name}"));
    prepare(&scene);
    let block = Regex::new(r"(?ms)^```(yaml|console)\n(.*?)^```$").unwrap();
    let file = Regex::new(r"\A# ([\w.-]+\.yml)\n").unwrap();
    let written = block.replace_all(&page, |found: &regex::Captures<'_>| {
        let (kind, text) = (&found[1], &found[2]);
        if kind == "console" {
            let seen = printed(&scene, text);
            let is_shown = bare(&seen) == bare(text);
            return if is_shown { found[0].to_owned() } else { format!("```console\n{seen}```") };
        }
        if let Some(file) = file.captures(text) {
            scene.write(&file[1], text);
        }
        found[0].to_owned()
    });
    if bare(&written) == bare(&page) {
        return None;
    }
    if is_update() {
        fs::write(path, written.as_ref()).unwrap();
        return None;
    }
    Some(format!("{}\n{}", path.display(), first_differences(&page, &written)))
}

/// The first lines that differ.
fn first_differences(shown: &str, seen: &str) -> String {
    let pairs = shown.lines().zip(seen.lines());
    let differ = pairs.filter(|(shown, seen)| bare(shown) != bare(seen));
    let lines = differ.take(3).map(|(shown, seen)| format!("shown: {shown}\nseen:  {seen}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The commands of a block, each with what it prints in 80 columns.
fn printed(scene: &Scene, block: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_mcprove")).parent().unwrap().to_owned();
    let path = join_paths(iter::once(program).chain(split_paths(&path()))).unwrap();
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    let run = |command: &str| {
        let together = format!("{{ {command}; }} 2>&1");
        let words = [&format!("PATH={}", path.display()), "COLUMNS=80", "sh", "-c", &together];
        let seen = scene.line(&shell_words::join(words));
        // Lines about the progress of slow runs.
        let lines = seen.stdout.lines().filter(|line| !line.starts_with("… "));
        iter::once(format!("$ {command}\n")).chain(lines.map(|line| format!("{line}\n"))).collect::<String>()
    };
    commands.map(run).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let contents = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let pages = files("docs", "md").into_iter().map(|path| path.strip_prefix(root().join("docs")).unwrap().to_owned());
    let names: BTreeSet<String> = pages.map(|path| path.display().to_string()).collect();
    let missing: Vec<&String> =
        names.iter().filter(|name| *name != "README.md" && !contents.contains(&format!("]({name}"))).collect();
    assert!(missing.is_empty(), "docs/README.md does not name {missing:?}");
}

#[test]
fn the_architecture_names_what_exists() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let table = page.split("## Where do I change").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let path = Regex::new(r"`([a-z_/]+(?:/|\.rs|\.yml))`").unwrap();
    let named: Vec<&str> = path.captures_iter(table).map(|found| found.extract::<1>().1[0]).collect();
    let is_there = |name: &str| root().join("src").join(name).exists() || root().join(name).exists();
    let missing: Vec<&&str> = named.iter().filter(|name| **name != "mod.rs" && !is_there(name)).collect();
    assert!(named.len() > 20 && missing.is_empty(), "docs/architecture.md names {missing:?}");
}
