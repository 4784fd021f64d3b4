//! Reads a suite and what it includes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::grammar::{BlockKind, SUITE_SHAPE};
use super::model::{Block, NamedTool, Suite, Test};
use super::strangers::{self, Stranger};
use super::{builtin, decode, lint, merge, recorded, rows};
use crate::source::{self, Diagnostic, Located, Node, SourceFile, SourceId, Sources, Value, did_you_mean, shape};

/// Where files come from: the disk, or a test's memory.
pub trait Files {
    /// The text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// Who says which servers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// The suite, which is refused where it names none.
    Written,
    /// The suite, or whoever loads it.
    Given,
}

/// Reads the suite at `path` with everything it includes; `Err` holds every mistake in all of them.
/// Warnings are added to `warnings`.
pub fn load(
    path: &Path,
    files: &dyn Files,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Suite, Vec<Diagnostic>> {
    load_with((path, Servers::Written), files, sources, warnings)
}

/// The same, for whoever may have the servers that the suite does not name.
pub fn load_with(
    (path, servers): (&Path, Servers),
    files: &dyn Files,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Suite, Vec<Diagnostic>> {
    let mut loader = Loader {
        files,
        sources,
        open: Vec::new(),
        done: BTreeSet::new(),
        found: Vec::new(),
        strangers: Vec::new(),
        names_server: false,
    };
    let suite = loader.file(path, None);
    let names_server = loader.names_server;
    let mut found = loader.found;
    strangers::check(&loader.strangers, loader.sources, &mut found);
    if let Some(suite) = &suite {
        if servers == Servers::Written && suite.servers.is_empty() && !names_server {
            found.push(lint::missing_server(suite));
        }
        lint::check(suite, &mut found);
    }
    let (errors, mild): (Vec<_>, Vec<_>) =
        without_consequences(found).into_iter().partition(|diagnostic| diagnostic.severity == source::Severity::Error);
    warnings.extend(mild);
    match suite {
        Some(suite) if errors.is_empty() => Ok(suite),
        _ => Err(errors),
    }
}

/// Mistakes that another mistake brings: what a misspelt key would have said is missing elsewhere.
const CONSEQUENCES: &[(&str, &[&str])] = &[
    ("missing-server", &["server", "servers"]),
    ("unknown-name", &["variables", "capture", "rows", "for_each", "each", "generate"]),
];

/// The mistakes, one for each cause.
fn without_consequences(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let helps = found.iter().filter(|one| one.code == "unknown-key").filter_map(|one| one.help.clone());
    let helps: Vec<String> = helps.collect();
    let is_meant = |key: &&str| {
        let written = format!("`{key}`");
        // Help that lists all keys means none of them.
        let is_one = |help: &&String| help.starts_with("write ") || help.starts_with("did you mean ");
        helps.iter().filter(is_one).any(|help| help.contains(&written))
    };
    found.retain(|one| {
        let keys = CONSEQUENCES.iter().find(|(code, _)| *code == one.code).map_or(&[][..], |(_, keys)| *keys);
        !keys.iter().any(&is_meant)
    });
    found
}

/// Reads a test but for its rows.
type Decoder = fn(&Node, &mut Vec<Diagnostic>) -> Option<Test>;

/// What stands for every rule book that is part of the program.
const ALL_RULES: &str = "builtin:compliance";

struct Loader<'a> {
    files: &'a dyn Files,
    sources: &'a mut Sources,
    /// What is being read, outermost first, to see cycles.
    open: Vec<PathBuf>,
    /// What was read, so that two ways to one file include it once.
    done: BTreeSet<PathBuf>,
    found: Vec<Diagnostic>,
    /// Variables that are set for included suites and that none of them has.
    strangers: Vec<Stranger>,
    /// Whether any file has servers, right or wrong.
    names_server: bool,
}

impl Loader<'_> {
    fn file(&mut self, path: &Path, from: Option<&Located<String>>) -> Option<Suite> {
        let text = match self.files.read(path) {
            Ok(text) => text,
            Err(error) => {
                self.found.push(unreadable(path, &error, from));
                return None;
            }
        };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        self.text(path, &folder, text)
    }

    fn text(&mut self, path: &Path, folder: &Path, text: String) -> Option<Suite> {
        let id = self.sources.add(SourceFile::new(path.display().to_string(), text));
        let root = match source::parse(self.sources, id) {
            Ok(root) => root,
            Err(diagnostic) => {
                self.found.push(diagnostic);
                return None;
            }
        };
        if root.value == Value::Null {
            let help = "write a suite, for example with `suite: My server` as its first line".to_owned();
            self.found.push(Diagnostic::error("empty-suite", "the file is empty", root.span).with_help(help));
            return None;
        }
        let before = self.found.len();
        self.found.extend(shape::check(&root, &SUITE_SHAPE));
        self.open.push(path.to_owned());
        let known = self.found.len();
        let included = self.includes(&root, folder);
        self.open.pop();
        self.done.insert(path.to_owned());
        let are_read = self.found.len() == known;
        let own = self.decode(&root, id, folder)?;
        // A variable may be one of a suite that could not be read.
        if are_read {
            self.strangers.extend(strangers::of(&own, &included));
        }
        let suite = included.into_iter().rev().fold(own, merge::under);
        // What is missing below a broken shape was reported as that shape's mistake.
        (self.found.len() == before || !suite.tests.is_empty() || !suite.blocks.is_empty()).then_some(suite)
    }

    fn includes(&mut self, root: &Node, folder: &Path) -> Vec<Suite> {
        let entries = decode::texts(root.get("include"));
        entries.iter().filter_map(|entry| self.include(entry, folder)).collect()
    }

    fn include(&mut self, entry: &Located<String>, folder: &Path) -> Option<Suite> {
        if let Some(name) = entry.value.strip_prefix("builtin:") {
            let Some(text) = builtin::text(name) else {
                self.found.push(
                    Diagnostic::error("unknown-builtin", format!("there is no built-in suite `{name}`"), entry.span)
                        .with_help(did_you_mean(name, builtin::builtin_names())),
                );
                return None;
            };
            let path = PathBuf::from(format!("<{}>", entry.value));
            return if self.done.contains(&path) { None } else { self.text(&path, folder, text.to_owned()) };
        }
        let path = tidy(&folder.join(&entry.value));
        if let Some(at) = self.open.iter().position(|open| tidy(open) == path) {
            let names: Vec<String> = self.open[at..].iter().map(|open| open.display().to_string()).collect();
            let message = format!("the suite includes itself: {} → {}", names.join(" → "), path.display());
            self.found.push(Diagnostic::error("include-cycle", message, entry.span));
            return None;
        }
        if self.done.contains(&path) { None } else { self.file(&path, Some(entry)) }
    }

    fn decode(&mut self, root: &Node, id: SourceId, folder: &Path) -> Option<Suite> {
        self.names_server |= ["server", "servers"].iter().any(|key| root.get(key).is_some());
        let name = root.get("suite")?.located_text()?;
        let found = &mut self.found;
        let servers: IndexMap<_, _> = decode::servers(root, folder, found).into_iter().collect();
        let suite = Suite {
            name,
            file: self.sources.file(id).name.clone(),
            asked: None,
            read_only: false,
            folder: folder.to_owned(),
            variables: root.get("variables").map(|node| node.entries().to_vec()).unwrap_or_default(),
            servers,
            options: decode::run_options(root.get("run_options"), found),
            answers: decode::answers(root.get("answers")),
            arguments: root
                .get("arguments")
                .map(Node::entries)
                .unwrap_or_default()
                .iter()
                .map(|(tool, args)| (tool.value.clone(), args.clone()))
                .collect(),
            allow: decode::texts(root.get("allow")).into_iter().map(|tool| tool.value).collect(),
            allow_unjudged: decode::texts(root.get("allow_unjudged")).into_iter().map(|tool| tool.value).collect(),
            names: named_tools(root),
            setup: decode::steps_around(root, "setup", found),
            teardown: decode::steps_around(root, "teardown", found),
            tests: self.tests(root, folder),
            rules: self.rules(root, folder),
            blocks: self.blocks(root, id, folder),
        };
        Some(suite)
    }

    fn blocks(&mut self, root: &Node, id: SourceId, folder: &Path) -> Vec<Block> {
        let mut blocks = decode::blocks(root, &mut self.found);
        for block in blocks.iter_mut().filter(|block| block.kind == BlockKind::Differential) {
            let suite = self.sources.file(id).name.clone();
            block.recorded =
                recorded::read(&block.settings, (folder, &suite), self.files, &mut self.found).map(Arc::new);
        }
        blocks
    }

    /// The tests of the rule books that a `compliance:` block works through.
    fn rules(&mut self, root: &Node, folder: &Path) -> Vec<Arc<Test>> {
        let Some(block) = root.get("compliance") else { return Vec::new() };
        let mut tests = Vec::new();
        let named = decode::texts(block.get("rules"));
        if named.is_empty() || named.iter().any(|name| name.value == ALL_RULES) {
            for (name, text) in builtin::rule_books() {
                let path = PathBuf::from(format!("<builtin:{name}>"));
                tests.extend(self.text(&path, folder, (*text).to_owned()).into_iter().flat_map(|book| book.tests));
            }
        }
        for entry in named.iter().filter(|name| name.value != ALL_RULES) {
            tests.extend(self.include(entry, folder).into_iter().flat_map(|book| book.tests));
        }
        tests.into_iter().filter(|test| test.rule.is_some()).map(Arc::new).collect()
    }

    fn tests(&mut self, root: &Node, folder: &Path) -> Vec<Test> {
        let mut tests = Vec::new();
        let items = |key: &str| root.get(key).map(Node::items).unwrap_or_default();
        let decoders: [(&str, Decoder); 2] = [("tests", decode::test), ("properties", decode::property)];
        for (node, decoder) in
            decoders.iter().flat_map(|(key, decoder)| items(key).iter().map(move |node| (node, decoder)))
        {
            let Some(mut test) = decoder(node, &mut self.found) else { continue };
            if let Some(rows) = node.get("rows") {
                test.rows = rows::read(rows, folder, self.files, &mut self.found);
                if let Some(for_each) = node.get("for_each") {
                    self.found.push(
                        Diagnostic::error(
                            "two-ways",
                            "a test has either `rows` or `for_each`",
                            decode::key_span(node, "rows"),
                        )
                        .with_other(for_each.span, "the loop is here"),
                    );
                }
            }
            tests.push(test);
        }
        tests
    }
}

/// The tools that a file names for all its cases.
fn named_tools(root: &Node) -> Vec<NamedTool> {
    let allowed = ["allow", "allow_unjudged"]
        .into_iter()
        .flat_map(|key| decode::texts(root.get(key)).into_iter().map(move |tool| NamedTool { key, tool }));
    let given = root.get("arguments").map(Node::entries).unwrap_or_default().iter();
    allowed.chain(given.map(|(tool, _)| NamedTool { key: "arguments", tool: tool.clone() })).collect()
}

fn unreadable(path: &Path, error: &io::Error, from: Option<&Located<String>>) -> Diagnostic {
    let message = format!("cannot read `{}`: {}", path.display(), why_unreadable(error));
    match from {
        Some(entry) => Diagnostic::error("missing-file", message, entry.span),
        None => Diagnostic::without_place("missing-file", message),
    }
}

/// Why a file cannot be read, in words for users.
pub fn why_unreadable(error: &io::Error) -> String {
    let known = [
        (io::ErrorKind::NotFound, "there is no such file"),
        (io::ErrorKind::IsADirectory, "it is a folder"),
        (io::ErrorKind::InvalidData, "the file is not UTF-8 text"),
    ];
    let words = known.iter().find(|(kind, _)| *kind == error.kind()).map(|(_, words)| (*words).to_owned());
    words.unwrap_or_else(|| error.to_string())
}

/// The path without `.` and resolvable `..`, so that two spellings of one file are one.
pub fn tidy(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidied.components().next_back(), Some(Component::Normal(_))) => {
                tidied.pop();
            }
            Component::ParentDir | Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                tidied.push(part);
            }
        }
    }
    tidied
}
