//! Rules that the compiler does not know: the direction of modules, complete tables, ordered output.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use crate::harness::{files, root};

/// Bottom to top, as in `docs/architecture.md`. A module may use only modules of lower layers.
const LAYERS: &[&[&str]] = &[
    &["files", "source"],
    &["wire", "redact", "reliability", "html", "server"],
    &["apps", "injection", "path", "schema", "testserver"],
    &["generate"],
    &["transport"],
    &["session"],
    &["matching"],
    &["fault", "lint", "drift"],
    &["carrier", "relay", "suite", "taxonomy"],
    &["event"],
    &["plan"],
    &["diagnosis", "coverage", "baseline", "recorded"],
    &["reproduce"],
    &["check"],
    &["block", "demo", "doctor"],
    &["runner", "report"],
    &["chaos", "convert", "prove", "findings", "show", "testing"],
    &["diff", "init", "merge", "mock", "monitor"],
    &["cli"],
];

/// The packages that are one module of the layers; within them, the order of files is free.
const WHOLE_PACKAGES: [&str; 4] = ["files", "server", "source", "testserver"];

/// The files that know in which system they run.
const OF_SYSTEMS: [&str; 15] = [
    "crates/client/src/transport/environment.rs",
    "crates/client/src/transport/http/segments.rs",
    "crates/client/src/transport/orphans.rs",
    "crates/client/src/transport/process_tree.rs",
    "crates/client/src/transport/processes.rs",
    "crates/client/src/transport/program.rs",
    "crates/files/src/lib.rs",
    "crates/source/src/file.rs",
    "crates/source/src/file_uri.rs",
    "src/cli/commands/relay_streams.rs",
    "src/cli/state.rs",
    "src/cli/system_signals.rs",
    "src/cli/terminal.rs",
    "src/report/sink.rs",
    "src/runner/port.rs",
];

/// Folders of built-in suites, each of which is a line in [`BUILTIN`].
const SUITES: [&str; 2] = ["suites", "suites/packs"];
const BUILTIN: &str = "src/suite/builtin.rs";

/// Folders of matchers, each of which is a line in a table of the `mod.rs` there.
const MATCHERS: [&str; 2] = ["src/matching/value", "src/matching/answer"];

#[test]
fn modules_depend_downwards_only() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let Some(user) = module_of(&path).filter(|user| !is_whole_package(user)) else { continue };
        for used in used_modules(&text) {
            if used == user {
                continue;
            }
            match (layer_of(&used), layer_of(&user)) {
                (Some(below), Some(above)) if below < above => {}
                (Some(_), Some(_)) => broken.push(format!("{}: `{user}` uses `{used}`", path.display())),
                _ => broken.push(format!("{}: `{user}` or `{used}` is in no layer", path.display())),
            }
        }
    }
    assert!(broken.is_empty(), "upward dependencies:\n{}", broken.join("\n"));
}

/// What two kinds of block need is in `check`, or in a lower module.
#[test]
fn no_block_uses_another_one() {
    let kinds: BTreeSet<String> = entries("src/block")
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let path_from_here = Regex::new(r"\b((?:super::)+)(\w+)").unwrap();
    let path_from_root = Regex::new(r"\bcrate::block::(\w+)").unwrap();
    let mut broken = Vec::new();
    for (path, text) in sources().filter(|(path, _)| path.starts_with("src/block")) {
        // `block/state/mod.rs` is one step below `block`, and `block/state/store.rs` two.
        let steps = path.iter().count() - 2 - usize::from(path.ends_with("mod.rs"));
        let own = path.iter().nth(2).unwrap().to_string_lossy().into_owned();
        let code: String = product_code(&text).lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let from_here = path_from_here.captures_iter(&code).filter(|used| used[1].matches("super").count() == steps);
        let used = from_here.map(|used| used[2].to_owned());
        let used = used.chain(path_from_root.captures_iter(&code).map(|used| used[1].to_owned()));
        let siblings = used.filter(|used| kinds.contains(used) && *used != own && kinds.contains(&own));
        broken.extend(siblings.map(|used| format!("{}: `{own}` uses `{used}`", path.display())));
    }
    assert!(kinds.len() > 10 && broken.is_empty(), "blocks that use others:\n{}", broken.join("\n"));
}

#[test]
fn the_page_about_layers_has_each_in_its_place() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let row = Regex::new(r"(?m)^\| (\d+) \| (`[^|]*) \|").unwrap();
    let name = Regex::new(r"`(\w+)`").unwrap();
    let mut documented: Vec<Vec<String>> = Vec::new();
    for row in row.captures_iter(&page) {
        // A layer has a row for each of its packages.
        let layer: usize = row[1].parse().unwrap();
        documented.resize(layer + 1, Vec::new());
        documented[layer].extend(name.captures_iter(&row[2]).map(|name| name[1].to_owned()));
    }
    assert_eq!(documented, LAYERS);
    let modules: BTreeSet<String> = sources().filter_map(|(path, _)| module_of(&path)).collect();
    assert_eq!(LAYERS.concat().into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), modules);
}

#[test]
fn imports_name_one_module_each() {
    let sources = sources().filter(|(path, _)| !module_of(path).is_some_and(|module| is_whole_package(&module)));
    let tests = files("tests/it", "rs").into_iter().filter(|path| !path.ends_with("architecture.rs"));
    let all = sources.chain(tests.map(|path| (path.clone(), fs::read_to_string(path).unwrap())));
    let broken = all.filter(|(_, text)| text.contains("crate::{")).map(|(path, _)| path.display().to_string());
    let broken: Vec<String> = broken.collect();
    assert!(broken.is_empty(), "write one `use crate::module::…;` per module:\n{}", broken.join("\n"));
}

#[test]
fn every_file_is_in_its_table() {
    let mut forgotten = Vec::new();
    // A file that no `mod` names is not compiled, and nobody notices.
    for (path, _) in sources() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let folder = path.parent().unwrap();
        let (name, index) = match name.as_str() {
            "lib" | "main" => continue,
            "mod" => (folder.file_name().unwrap().to_string_lossy().into_owned(), index_of(folder.parent().unwrap())),
            _ => (name, index_of(folder)),
        };
        if !mentions(&index, &format!(r"mod {name}\b")) {
            forgotten.push(format!("{} is no module of {}", path.display(), index.display()));
        }
    }
    for folder in SUITES {
        for path in entries(folder).filter(|path| path.extension().is_some_and(|end| end == "yml")) {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if !mentions(Path::new(BUILTIN), &format!(r#""(packs/)?{name}""#)) {
                forgotten.push(format!("{folder}/{name} is not in the table of {BUILTIN}"));
            }
        }
    }
    let matcher = Regex::new(r"\bstatic (\w+): (?:Value|Answer)Matcher\b").unwrap();
    let mut matchers = 0;
    for folder in MATCHERS {
        let table = Path::new(folder).join("mod.rs");
        for path in entries(folder).filter(|path| path.is_file() && !path.ends_with("mod.rs")) {
            let file = path.file_stem().unwrap().to_string_lossy().into_owned();
            for found in matcher.captures_iter(&fs::read_to_string(&path).unwrap()) {
                let line = format!("{file}::{}", &found[1]);
                matchers += 1;
                if !mentions(&table, &format!(r"&{line}\b")) {
                    forgotten.push(format!("`&{line}` is not in a table of {}", table.display()));
                }
            }
        }
    }
    assert!(matchers > 30, "only {matchers} matchers were found");
    assert!(forgotten.is_empty(), "forgotten:\n{}", forgotten.join("\n"));
}

/// Modules that only run cases may use hash maps, because nothing they hold is printed directly.
#[test]
fn what_is_printed_is_ordered() {
    let unordered: Vec<String> = sources()
        .filter(|(path, _)| !["transport", "session", "runner"].contains(&module_of(path).unwrap_or_default().as_str()))
        .filter(|(_, text)| text.contains("HashMap") || text.contains("HashSet"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(unordered.is_empty(), "use `BTreeMap`, `BTreeSet` or `IndexMap`:\n{}", unordered.join("\n"));
}

#[test]
fn a_rust_test_compiles_nothing_of_the_program() {
    let cargo = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "mcprove", "--no-default-features"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8(cargo.stdout).unwrap();
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains("mcprove-client"), "{tree}{}", String::from_utf8_lossy(&cargo.stderr));
    let unwanted = ["axum", "clap", "clap_complete", "indicatif", "mimalloc"];
    assert_eq!(unwanted.iter().filter(|name| names.contains(*name)).collect::<Vec<_>>(), [&""; 0], "{tree}");
}

#[test]
fn only_the_command_line_reads_the_environment() {
    let reads = Regex::new(r"\benv::(vars?|vars?_os|args|args_os|current_dir)\b").unwrap();
    let broken: Vec<String> = sources()
        .filter(|(path, _)| module_of(path).is_some_and(|module| module != "cli"))
        .filter(|(path, text)| !is_test(path) && reads.is_match(product_code(text)))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(broken.is_empty(), "the environment is read outside of `cli`:\n{}", broken.join("\n"));
}

/// What code decides rests on types; what is made for people is only shown.
#[test]
fn no_code_reads_what_people_read() {
    let reads = Regex::new(concat!(
        r#"(?:finding|found|violation_of|first|cause)\.code(?:\.as_str\(\))? *[!=]= *""#,
        r#"|match \w+\.code\.as_str\(\)"#,
        r#"|\.(?:title|reason)\.(?:starts_with|strip_prefix|contains|split\w*)\("#,
        r#"|title\.strip_prefix\("#,
        r#"|\bone\.code == "#,
    ))
    .unwrap();
    let broken: Vec<String> = sources()
        .filter(|(path, text)| !is_test(path) && reads.is_match(product_code(text)))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(broken.is_empty(), "a text is read to decide something:\n{}", broken.join("\n"));
}

/// A code that is in no table has no meaning in the documentation, and no kind.
#[test]
fn every_code_of_a_finding_is_in_a_table() {
    let named = Regex::new(concat!(
        r#"(?:Finding::new|Code::new|finding_with_help|\.finding)\(\s*"([a-z-]+)""#,
        r#"|\bcode: "([a-z-]+)"|\bCODE\w*: &str = "([a-z-]+)""#,
    ))
    .unwrap();
    let shown = Regex::new(r"\b(?:error|warning)\[([a-z-]+)\]").unwrap();
    let row = Regex::new(r"(?m)^(?:\||##|###) (`[a-z_-]+`(?:, `[a-z-]+`)*)").unwrap();
    let guide = ["src/event/codes.md", "docs/guides/drift.md"];
    let pages = ["errors", "scans", "matchers", "lints"].map(|page| format!("docs/reference/{page}.md"));
    let pages = guide.iter().map(|page| (*page).to_owned()).chain(pages);
    let tables: String = pages.map(|page| fs::read_to_string(root().join(page)).unwrap()).collect();
    let known: BTreeSet<String> = row
        .captures_iter(&tables)
        .flat_map(|row| row[1].split(", ").map(|code| code.trim_matches('`').replace('_', "-")).collect::<Vec<_>>())
        .collect();
    let mut unknown = BTreeSet::new();
    // What users see of a code that is put together elsewhere.
    for file in files("tests/snapshots/cases", "snap") {
        let text = fs::read_to_string(&file).unwrap();
        let codes = shown.captures_iter(&text).map(|code| code[1].to_owned());
        unknown.extend(codes.filter(|code| !known.contains(code)).map(|code| format!("{code} ({})", file.display())));
    }
    for (path, text) in sources().filter(|(path, _)| !is_test(path)) {
        let code = |found: regex::Captures<'_>| found.iter().flatten().nth(1).map(|code| code.as_str().to_owned());
        let codes = named.captures_iter(product_code(&text)).filter_map(code);
        unknown.extend(codes.filter(|code| !known.contains(code)).map(|code| format!("{code} ({})", path.display())));
    }
    assert!(unknown.is_empty(), "write a row in src/event/codes.md for {unknown:?}");
}

/// The faulty servers of `testserver` write where an attack sends them, which is their fault.
#[test]
fn only_one_crate_changes_the_disk() {
    let changes = Regex::new(
        r"\bfs::(write|create_dir|create_dir_all|rename|remove_\w+|copy|hard_link|set_permissions|symlink)\b|\bFile::(create|create_new|options)\b|\bsymlink\(|\bfs::OpenOptions\b|\bfs::\{[^}]*OpenOptions",
    );
    let changes = changes.unwrap();
    let is_ours = |path: &Path| path.starts_with("crates/files") || path.starts_with("crates/testserver/src/faulty");
    let broken: Vec<String> = sources()
        .filter(|(path, text)| !is_ours(path) && !is_test(path) && changes.is_match(product_code(text)))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(broken.is_empty(), "use `crate::files` to change the disk:\n{}", broken.join("\n"));
}

/// Systems differ in the paths that they give, and in what they tell of files and processes.
#[test]
fn what_systems_differ_in_is_in_few_files() {
    let real = Regex::new(r"\bfs::canonicalize\b|\.canonicalize\(").unwrap();
    let differs = Regex::new(r"\bcfg!?\((?:not\()?(?:unix|windows|target_os)").unwrap();
    let mut broken = Vec::new();
    for (path, text) in sources().filter(|(path, _)| !is_test(path)) {
        let code = product_code(&text);
        if real.is_match(code) && path != Path::new("crates/files/src/real_path.rs") {
            broken.push(format!("{}: call `files::real_path` instead", path.display()));
        }
        let shown = path.display().to_string();
        if differs.is_match(code) && !OF_SYSTEMS.contains(&shown.as_str()) {
            broken.push(format!("{shown}: put it into a file of `OF_SYSTEMS`, so that callers need not know"));
        }
    }
    assert!(broken.is_empty(), "differences of systems:\n{}", broken.join("\n"));
}

/// Every Rust file under `src/` and in `crates/` with its path from the repository, in order.
fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    static SOURCES: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
        files("crates", "rs")
            .into_iter()
            .chain(files("src", "rs"))
            .map(|path| (path.strip_prefix(root()).unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
            .collect()
    });
    SOURCES.iter().cloned()
}

/// `matching` for `src/matching/value/mod.rs`, `wire` for `crates/protocol/src/wire/mod.rs`, `source` for all of
/// `crates/source`, which is one module as `crates/testserver` is; `None` for `lib.rs` and `main.rs`, which see everything.
fn module_of(path: &Path) -> Option<String> {
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    let first = match names[..] {
        ["crates", package, ..] if is_whole_package(package) => package,
        ["crates", _, "src", first, ..] | ["src", first, ..] => first,
        _ => return None,
    };
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (name != "lib" && name != "main").then(|| name.to_owned())
}

fn is_whole_package(module: &str) -> bool {
    WHOLE_PACKAGES.contains(&module)
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn used_modules(text: &str) -> BTreeSet<String> {
    static USED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|[^$\w])crate::(\w+)").unwrap());
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| USED.captures_iter(line).map(|found| found[1].to_owned())).collect()
}

fn index_of(folder: &Path) -> PathBuf {
    if folder.ends_with("src") { folder.join("lib.rs") } else { folder.join("mod.rs") }
}

fn mentions(path: &Path, pattern: &str) -> bool {
    fs::read_to_string(root().join(path)).is_ok_and(|text| Regex::new(pattern).unwrap().is_match(&text))
}

fn entries(folder: &str) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path())
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The text before the tests at the bottom.
fn product_code(text: &str) -> &str {
    static TESTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^#\[cfg\((?:all\()?test\b.*\nmod tests \{").unwrap());
    TESTS.find(text).map_or(text, |tests| &text[..tests.start()])
}
