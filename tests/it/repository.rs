//! The files by which others work on the repository: addresses of schemas, forms of issues, updates of dependencies, the
//! oldest Rust, and the places that a release changes.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use mcprove::source::{SourceFile, Sources, parse};
use regex::Regex;
use serde_json::Value;

use crate::harness::{files, root};

fn yaml(path: &Path) -> Value {
    let mut sources = Sources::default();
    let text = fs::read_to_string(path).unwrap();
    let source = sources.add(SourceFile::new(path.display().to_string(), &text));
    match parse(&sources, source) {
        Ok(node) => node.to_json(),
        Err(mistake) => panic!("{}: {}", path.display(), mistake.message),
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What cargo knows of this workspace and its dependencies, without the network.
fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform"]);
    // Packages of other systems need not be there.
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-gnu" };
    cargo.arg(format!("{}-{system}", std::env::consts::ARCH)).current_dir(root());
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn each_schema_is_named_by_its_address() {
    let paths = files("schema", "json");
    assert!(paths.len() > 5, "{paths:?}");
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy();
        let address = format!("{}/releases/latest/download/{name}", env!("CARGO_PKG_REPOSITORY"));
        assert_eq!(json(&path)["$id"], address, "{name}");
    }
}

/// The rules of the catalog of `SchemaStore`, for an entry whose schema is kept elsewhere.
#[test]
fn the_entry_for_schemastore_fits_its_catalog() {
    let entry = json(&root().join("packaging/schemastore.json"));
    let keys: BTreeSet<&str> = entry.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, BTreeSet::from(["description", "fileMatch", "name", "url"]));
    for key in ["name", "description"] {
        let text = entry[key].as_str().unwrap();
        assert!(!text.to_lowercase().contains("schema") && !text.contains('\n') && !text.ends_with('.'), "{text}");
    }
    let patterns: Vec<&str> =
        entry["fileMatch"].as_array().unwrap().iter().map(|pattern| pattern.as_str().unwrap()).collect();
    assert_eq!(patterns.iter().collect::<BTreeSet<_>>().len(), patterns.len());
    assert_eq!(entry["url"], json(&root().join("schema/suite.schema.json"))["$id"]);
    assert!(entry["url"].as_str().unwrap().starts_with("https://"));
    // The hooks of pre-commit look at the same files.
    let hooks = yaml(&root().join(".pre-commit-hooks.yaml"));
    for hook in hooks.as_array().unwrap() {
        let hooked = Regex::new(hook["files"].as_str().unwrap()).unwrap();
        for pattern in &patterns {
            let name = pattern.strip_prefix('*').unwrap();
            assert!(!name.contains(['/', '*']) && hooked.is_match(&format!("suites/sums{name}")), "{pattern}");
        }
    }
}

#[test]
fn issue_forms_are_complete() {
    let forms = files(".github/ISSUE_TEMPLATE", "yml");
    let forms: Vec<_> = forms.iter().filter(|path| !path.ends_with("config.yml")).collect();
    assert!(forms.len() > 2, "{forms:?}");
    for path in forms {
        let (form, name) = (yaml(path), path.display());
        for key in form.as_object().unwrap().keys() {
            assert!(["name", "description", "labels", "body"].contains(&key.as_str()), "{name}: `{key}`");
        }
        assert!(form["name"].is_string() && form["description"].is_string(), "{name}");
        let mut ids = BTreeSet::new();
        for element in form["body"].as_array().unwrap() {
            let attributes = &element["attributes"];
            match element["type"].as_str().unwrap() {
                "markdown" => {
                    assert!(attributes["value"].is_string(), "{name}: {element}");
                    continue;
                }
                "dropdown" => {
                    let options = attributes["options"].as_array().unwrap();
                    assert!(options.len() > 1 && options.iter().all(Value::is_string), "{name}: {element}");
                }
                "input" | "textarea" => {}
                other => panic!("{name}: GitHub has no `{other}`"),
            }
            assert!(attributes["label"].is_string(), "{name}: {element}");
            assert!(ids.insert(element["id"].as_str().unwrap().to_owned()), "{name}: {element}");
        }
        let asks_for = fs::read_to_string(path).unwrap();
        if !path.ends_with("feature.yml") {
            assert!(asks_for.contains("mcprove doctor") && asks_for.contains("mcprove --version"), "{name}");
        }
    }
}

#[test]
fn updates_are_looked_for_where_dependencies_are() {
    let settings = yaml(&root().join(".github/dependabot.yml"));
    for update in settings["updates"].as_array().unwrap() {
        let folder = root().join(update["directory"].as_str().unwrap().trim_start_matches('/'));
        let kind = update["package-ecosystem"].as_str().unwrap();
        let file = match kind {
            "cargo" => "Cargo.lock",
            "npm" => "package-lock.json",
            "pip" => "requirements.txt",
            "github-actions" => "action.yml",
            "docker" => "Dockerfile",
            other => panic!("`{other}` is new here"),
        };
        assert!(folder.join(file).is_file(), "{kind}: {}", folder.display());
    }
}

/// The oldest Rust is as old as `Cargo.toml` says, as far as dependencies say what they need; CI compiles with it.
#[test]
fn no_dependency_needs_a_newer_rust() {
    let number = |version: &str| -> Vec<u32> { version.split('.').map(|part| part.parse().unwrap()).collect() };
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let newer: Vec<&Value> = packages
        .iter()
        .filter(|package| {
            let needed = package["rust_version"].as_str();
            needed.is_some_and(|needed| number(needed)[..2] > number(oldest)[..])
        })
        .map(|package| &package["name"])
        .collect();
    assert!(newer.is_empty(), "Cargo.toml says {oldest}, and these need a newer Rust: {newer:?}");
    let contributing = fs::read_to_string(root().join(".github/CONTRIBUTING.md")).unwrap();
    assert!(contributing.contains(&format!("Rust {oldest}")), "CONTRIBUTING.md names another Rust");
}

/// What `cargo release replace` looks for is there, and names this version.
#[test]
fn a_release_finds_what_it_changes() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let own = packages.iter().find(|package| package["name"] == "mcprove").unwrap();
    let replacements = own["metadata"]["release"]["pre-release-replacements"].as_array().unwrap();
    assert!(replacements.len() > 1, "{replacements:?}");
    for replacement in replacements {
        let file = replacement["file"].as_str().unwrap();
        let search = Regex::new(replacement["search"].as_str().unwrap()).unwrap();
        let text = fs::read_to_string(root().join(file)).unwrap();
        let found: Vec<&str> = search.find_iter(&text).map(|found| found.as_str()).collect();
        assert_eq!(found.len() as u64, replacement["exactly"].as_u64().unwrap(), "{file}: {search}");
        let is_title = file.ends_with("changelog.md");
        let is_named = |found: &&str| found.contains(env!("CARGO_PKG_VERSION"));
        assert!(is_title || found.iter().all(is_named), "{file}: {found:?}");
    }
}
