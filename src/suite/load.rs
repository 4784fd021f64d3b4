//! Reads a suite and what it includes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{BlockKind, BlockReader, LoadedSuite, SuiteBlock, SuiteGrammar, SuiteSettings};
use super::decode::NamedFaults;
use super::files::{Files, normalize_path, why_unreadable};
use super::grammar::{ServerKeys, SuiteKeys};
use super::model::{Fixture, NamePattern, NamedTool, Suite, Test, ToolNames};
use super::server_file::{DescribedServer, ServerFile};
use super::unused_overrides::{self, UnmatchedOverride};
use super::{builtin, decode, lint, merge, rows};
use crate::source::grammar::{self, Shape};
use crate::source::settings::Setting;
use crate::source::{
    self, Diagnostic, Located, MistakeKind, Node, SourceFile, SourceId, Sources, Span, Value, did_you_mean, map_many,
    visible_line,
};

/// The tests whose trees are kept while they are read.
const TESTS_AT_ONCE: usize = 4096;

/// The origin of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// The suite, which is refused where it names none.
    Written,
    /// The suite, or whoever loads it.
    Given,
}

/// The source and the grammar of a suite.
pub struct SuiteSource<'a, S: 'static> {
    /// The file.
    pub path: &'a Path,
    /// The origin of the servers.
    pub servers: Servers,
    /// The source of files.
    pub files: &'a dyn Files,
    /// The grammar of suite files.
    pub grammar: &'static SuiteGrammar<S>,
}

/// Reads a suite with everything it includes; `Err` holds every mistake in all of them.
/// Warnings are added to `warnings`.
pub fn load<S: SuiteSettings>(
    from: &SuiteSource<'_, S>,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<LoadedSuite<S>, Vec<Diagnostic>> {
    let mut loader = Loader {
        grammar: from.grammar,
        files: from.files,
        sources,
        open: Vec::new(),
        done: BTreeSet::new(),
        found: Vec::new(),
        unmatched_overrides: Vec::new(),
        names_server: false,
        server_files: BTreeMap::new(),
    };
    let read = loader.file(from.path, None);
    let names_server = loader.names_server;
    let mut found = loader.found;
    unused_overrides::report_unused(&loader.unmatched_overrides, loader.sources, &mut found);
    if let Some(LoadedSuite { suite, blocks }) = &read {
        if from.servers == Servers::Written && suite.servers.is_empty() && !names_server {
            found.push(lint::missing_server(suite));
        }
        let blocks: Vec<SuiteBlock<&dyn SuiteSettings>> = blocks.iter().map(SuiteBlock::as_settings).collect();
        lint::check(suite, &blocks, &mut found);
    }
    let (errors, mild): (Vec<_>, Vec<_>) = without_consequences(found)
        .into_iter()
        .partition(|diagnostic| diagnostic.severity == source::DiagnosticSeverity::Error);
    warnings.extend(mild);
    match read {
        Some(read) if errors.is_empty() => Ok(read),
        _ => Err(errors),
    }
}

/// Mistakes that another mistake brings: what a misspelt key would have said is missing elsewhere.
const CONSEQUENCES: &[(MistakeKind, &[&str])] = &[
    (MistakeKind::MissingServer, &["server", "servers"]),
    (MistakeKind::UnknownName, &["variables", "capture", "rows", "for_each", "each", "generate"]),
];

/// The mistakes, one for each cause.
fn without_consequences(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let meant = |one: &Diagnostic| if let MistakeKind::UnknownKey(meant) = &one.kind { meant.clone() } else { None };
    let meant: BTreeSet<String> = found.iter().filter_map(meant).collect();
    found.retain(|one| {
        let keys = CONSEQUENCES.iter().find(|(kind, _)| *kind == one.kind).map_or(&[][..], |(_, keys)| *keys);
        !keys.iter().any(|key| meant.contains(*key))
    });
    found
}

struct Loader<'a, S: 'static> {
    grammar: &'static SuiteGrammar<S>,
    files: &'a dyn Files,
    sources: &'a mut Sources,
    /// The files that are being read, outermost first, to detect cycles.
    open: Vec<PathBuf>,
    /// The files that were read, so that two ways to one file include it once.
    done: BTreeSet<PathBuf>,
    found: Vec<Diagnostic>,
    /// Variables that are set for included suites and that none of them has.
    unmatched_overrides: Vec<UnmatchedOverride>,
    /// True if any file has servers, valid or not.
    names_server: bool,
    /// The files that describe servers; `None` for one that could not be read.
    server_files: BTreeMap<PathBuf, Option<Arc<ServerFile>>>,
}

impl<S> Loader<'_, S> {
    fn file(&mut self, path: &Path, from: Option<&Located<String>>) -> Option<LoadedSuite<S>> {
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

    fn text(&mut self, path: &Path, folder: &Path, text: String) -> Option<LoadedSuite<S>> {
        let id = self.sources.add(SourceFile::new(path.display().to_string(), text));
        if let Some(mistake) = no_suite(path, self.sources, id) {
            self.found.push(mistake);
            return None;
        }
        let mut root = match source::parse(self.sources, id) {
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
        self.found.extend(grammar::check(&root, &Shape::Object(self.grammar.file)));
        self.open.push(path.to_owned());
        let mut described = self.describe_servers(&mut root, folder);
        let mut keys = SuiteKeys::decode(&root, &mut self.found)?;
        let servers = keys.servers.iter_mut().map(|(name, keys)| (name.value.as_str(), keys));
        for (name, keys) in keys.server.iter_mut().map(|keys| ("server", keys)).chain(servers) {
            keys.described = described.remove(name);
        }
        let known = self.found.len();
        let mut included: Vec<_> = keys.include.iter().filter_map(|entry| self.include(entry, folder)).collect();
        self.open.pop();
        self.done.insert(path.to_owned());
        let are_read = self.found.len() == known;
        let own = self.decode(root, keys, id, folder, &mut included)?;
        // A variable may be one of a suite that could not be read.
        if are_read {
            self.unmatched_overrides.extend(unused_overrides::unmatched_overrides(
                &own.suite,
                included.iter().map(|included| &included.suite),
            ));
        }
        let loaded = included.into_iter().rev().fold(own, merge::under);
        // A part that is missing below a broken shape was reported as that shape's mistake.
        let says_nothing = loaded.suite.tests.is_empty() && loaded.blocks.is_empty();
        (self.found.len() == before || !says_nothing).then_some(loaded)
    }

    /// Puts what other files say of servers in the place of `config`, by the name of the server in the suite.
    fn describe_servers(&mut self, root: &mut Node, folder: &Path) -> BTreeMap<String, DescribedServer> {
        let mut described = BTreeMap::new();
        let Value::Map(entries) = &mut root.value else { return described };
        for (key, node) in entries {
            match (key.value.as_str(), &mut node.value) {
                ("server", _) => described.extend(Some(key.value.clone()).zip(self.describe_server(node, folder))),
                ("servers", Value::Map(servers)) => {
                    for (name, node) in servers {
                        described.extend(Some(name.value.clone()).zip(self.describe_server(node, folder)));
                    }
                }
                _ => {}
            }
        }
        described
    }

    fn describe_server(&mut self, node: &mut Node, folder: &Path) -> Option<DescribedServer> {
        let config = node.get("config")?.located_text()?;
        let name = node.get("name").and_then(Node::located_text);
        let file = self.server_file(&config, folder)?;
        let mut found = Vec::new();
        let described = file.server(name.as_ref(), config.span, self.files, &mut found);
        // Servers of one file share their unknown settings.
        found.retain(|one| !self.found.iter().any(|known| known.is_same_warning(one)));
        self.found.append(&mut found);
        let described = described?;
        *node = described.node_under(node);
        self.found.extend(grammar::check(node, &Shape::Object(&ServerKeys::KEYS)));
        Some(described)
    }

    /// The file that a `config` names.
    fn server_file(&mut self, config: &Located<String>, folder: &Path) -> Option<Arc<ServerFile>> {
        let path = normalize_path(&folder.join(&config.value));
        if let Some(known) = self.server_files.get(&path) {
            return known.clone();
        }
        let file = match self.files.read(&path) {
            Ok(text) => {
                let id = self.sources.add(SourceFile::new(path.display().to_string(), text));
                ServerFile::parse(&path, self.sources, id).map_err(|found| self.found.extend(found)).ok().map(Arc::new)
            }
            Err(error) => {
                self.found.push(unreadable(&path, &error, Some(config)));
                None
            }
        };
        self.server_files.insert(path, file.clone());
        file
    }

    fn include(&mut self, entry: &Located<String>, folder: &Path) -> Option<LoadedSuite<S>> {
        if let Some(name) = entry.value.strip_prefix("builtin:") {
            let Some(text) = builtin::text(name) else {
                self.found.push(
                    Diagnostic::error("unknown-builtin", format!("there is no built-in suite `{name}`"), entry.span)
                        .with_help(did_you_mean(name, builtin::builtin_names())),
                );
                return None;
            };
            let path = PathBuf::from(builtin::builtin_file(name));
            return if self.done.contains(&path) { None } else { self.text(&path, folder, text.to_owned()) };
        }
        let path = normalize_path(&folder.join(&entry.value));
        if let Some(at) = self.open.iter().position(|open| normalize_path(open) == path) {
            let names: Vec<String> = self.open[at..].iter().map(|open| open.display().to_string()).collect();
            let message = format!("the suite includes itself: {} → {}", names.join(" → "), path.display());
            self.found.push(Diagnostic::error("include-cycle", message, entry.span));
            return None;
        }
        if self.done.contains(&path) { None } else { self.file(&path, Some(entry)) }
    }

    /// The suite of a file; suites that its blocks bring are added to the included ones.
    fn decode(
        &mut self,
        mut root: Node,
        keys: SuiteKeys,
        id: SourceId,
        folder: &Path,
        included: &mut Vec<LoadedSuite<S>>,
    ) -> Option<LoadedSuite<S>> {
        self.names_server |= ["server", "servers"].iter().any(|key| root.get(key).is_some());
        let found = &mut self.found;
        decode::check_steps_around(&keys.setup, "setup", found);
        decode::check_steps_around(&keys.teardown, "teardown", found);
        let names = named_tools(&keys);
        let mut servers = decode::servers(keys.server, keys.servers, folder, found);
        for (name, server) in &mut servers {
            server.named = on_command_line(&self.sources.file(server.span.source).name, name);
        }
        let tools = |names: Vec<Located<String>>| ToolNames(names.into_iter().map(NamePattern::new).collect());
        let suite = Suite {
            name: keys.suite?,
            file: self.sources.file(id).name.clone(),
            asked: None,
            ran_by: None,
            is_server_given: false,
            read_only: false,
            needs: keys.needs,
            environment: None,
            fixture: keys.fixture.map(|path| Fixture { path: path.0, folder: folder.to_owned() }),
            folder: folder.to_owned(),
            variables: keys.variables,
            servers,
            options: keys.run_options.unwrap_or_default(),
            answers: keys.answers.unwrap_or_default().into(),
            arguments: keys.arguments.into_iter().map(|(tool, args)| (tool.value, args)).collect(),
            found_arguments: BTreeSet::new(),
            silent_tools: BTreeSet::new(),
            allow: tools(keys.allow),
            never: tools(keys.never),
            allow_unjudged: tools(keys.allow_unjudged),
            names,
            setup: keys.setup,
            teardown: keys.teardown,
            tests: Vec::new(),
        };
        let faults = decode::named_faults(keys.faults.as_ref(), found);
        let mut loaded = LoadedSuite { suite, blocks: Vec::new() };
        let mut reader = Reader { loader: self, suite: &mut loaded.suite, included, id, folder, faults: &faults };
        let mut nodes = take_tests(&mut root).into_iter();
        while nodes.len() > 0 {
            // A part is gone once it is read: the tree of a large suite takes more memory than its tests.
            let part = nodes.by_ref().take(TESTS_AT_ONCE).collect();
            let earlier = &reader.loader.found;
            let decoded = map_many(part, |node| {
                // A test knows the mistakes that its form has.
                let mut found = mistakes_within(&node, earlier);
                let known = found.len();
                let test = decode::test(&node, &faults, &mut found);
                (test, found.split_off(known), node)
            });
            for (test, found, node) in decoded {
                reader.loader.found.extend(found);
                let Some(test) = test else { continue };
                let span = test.span;
                reader.add_test(test, &node);
                loaded.blocks.extend(reader.blocks_of_test(&node, span));
            }
        }
        loaded.blocks.extend(reader.blocks(&root));
        Some(loaded)
    }
}

/// Those of the mistakes that are said of a part of a node.
fn mistakes_within(node: &Node, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_within = |span: Span| span.source == node.span.source && node.span.contains(span.start as usize);
    found.iter().filter(|one| one.label.as_ref().is_some_and(|label| is_within(label.span))).cloned().collect()
}

/// Takes the tests out of a file.
fn take_tests(root: &mut Node) -> Vec<Node> {
    let Value::Map(entries) = &mut root.value else { return Vec::new() };
    let tests = entries.iter_mut().find(|(key, _)| key.value == "tests");
    match tests.map(|(_, node)| &mut node.value) {
        Some(Value::List(tests)) => std::mem::take(tests),
        _ => Vec::new(),
    }
}

/// Reads the tests and blocks of one file.
struct Reader<'r, 'a, S: 'static> {
    loader: &'r mut Loader<'a, S>,
    suite: &'r mut Suite,
    included: &'r mut Vec<LoadedSuite<S>>,
    id: SourceId,
    folder: &'r Path,
    faults: &'r NamedFaults,
}

impl<S> Reader<'_, '_, S> {
    /// The blocks of the suite, in the order in which they run.
    fn blocks(&mut self, root: &Node) -> Vec<SuiteBlock<S>> {
        let kinds = self.loader.grammar.blocks;
        let mut blocks = Vec::new();
        for kind in kinds {
            let mut written = root.entries().iter().filter(|(_, node)| node.flag() != Some(false));
            let Some((key, node)) = written.find(|(key, _)| key.value == kind.key.name) else { continue };
            say_example(kind.example, node, &mut self.loader.found);
            blocks.extend((kind.decode)(node, self).map(|settings| block(kind, key.span, None, settings)));
        }
        blocks
    }

    /// The blocks that are written in a test, the last one that was added.
    fn blocks_of_test(&mut self, node: &Node, span: Span) -> Vec<SuiteBlock<S>> {
        let kinds = self.loader.grammar.blocks;
        let mut blocks = Vec::new();
        for kind in kinds {
            let written = node.get(kind.key.name).filter(|node| node.flag() != Some(false));
            let (Some(decode), Some(node)) = (kind.decode_in_test, written) else { continue };
            let Some(test) = self.suite.tests.last().cloned().map(Arc::new) else { continue };
            blocks.extend(decode(node, &test, self).map(|settings| block(kind, node.span, Some(span), settings)));
        }
        blocks
    }
}

impl<S> BlockReader for Reader<'_, '_, S> {
    fn report(&mut self, mistake: Diagnostic) {
        self.loader.found.push(mistake);
    }

    fn mistakes(&mut self) -> &mut Vec<Diagnostic> {
        &mut self.loader.found
    }

    fn suite_file(&self) -> String {
        self.loader.sources.file(self.id).name.clone()
    }

    fn folder(&self) -> &Path {
        self.folder
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        self.loader.files.read(&self.folder.join(path))
    }

    fn document(&mut self, file: &Located<String>) -> Option<Node> {
        let path = normalize_path(&self.folder.join(&file.value));
        let text = match self.loader.files.read(&path) {
            Ok(text) => text,
            Err(error) => {
                self.loader.found.push(unreadable(&path, &error, Some(file)));
                return None;
            }
        };
        let id = self.loader.sources.add(SourceFile::new(path.display().to_string(), text));
        source::parse(self.loader.sources, id).map_err(|mistake| self.loader.found.push(mistake)).ok()
    }

    fn faults(&self) -> &NamedFaults {
        self.faults
    }

    fn tests_of(&mut self, suite: &Located<String>) -> Vec<Test> {
        self.loader.include(suite, self.folder).map(|book| book.suite.tests).unwrap_or_default()
    }

    fn rule_books(&mut self) -> Vec<Test> {
        let mut tests = Vec::new();
        for (name, text) in builtin::rule_books() {
            let path = PathBuf::from(builtin::builtin_file(name));
            let book = self.loader.text(&path, self.folder, (*text).to_owned());
            tests.extend(book.into_iter().flat_map(|book| book.suite.tests));
        }
        tests
    }

    fn add_suite(&mut self, suite: &Located<String>, probes: &'static [&'static str]) {
        let Some(mut included) = self.loader.include(suite, self.folder) else { return };
        included.suite.tests.iter_mut().for_each(|test| Arc::make_mut(&mut test.extras).probes = probes);
        self.included.push(included);
    }

    fn add_test(&mut self, mut test: Test, node: &Node) {
        if let Some(fixture) = &test.extras.fixture {
            let fixture = Fixture { folder: self.folder.to_owned(), ..(**fixture).clone() };
            Arc::make_mut(&mut test.extras).fixture = Some(Arc::new(fixture));
        }
        if let Some(rows) = node.get("rows") {
            Arc::make_mut(&mut test.extras).rows =
                rows::load(rows, self.folder, self.loader.files, self.loader.sources, &mut self.loader.found);
        }
        self.suite.tests.push(test);
    }
}

fn block<S>(kind: &BlockKind<S>, span: Span, test: Option<Span>, settings: S) -> SuiteBlock<S> {
    SuiteBlock { key: kind.key.name, span, probes: kind.probes, test, settings }
}

/// Adds an example to the report that a block is of a wrong type.
fn say_example(example: &str, node: &Node, found: &mut [Diagnostic]) {
    let is_meant = |one: &&mut Diagnostic| {
        one.kind == MistakeKind::WrongType && one.label.as_ref().is_some_and(|label| label.span == node.span)
    };
    if let Some(wrong) = found.iter_mut().find(is_meant) {
        wrong.help = Some(format!("write for example `{example}`"));
    }
}

/// The tools that a file names for all its cases.
fn named_tools(keys: &SuiteKeys) -> Vec<NamedTool> {
    let allowed = keys.allow.iter().map(|tool| ("allow", tool));
    let never = keys.never.iter().map(|tool| ("never", tool));
    let unjudged = keys.allow_unjudged.iter().map(|tool| ("allow_unjudged", tool));
    let given = keys.arguments.iter().map(|(tool, _)| ("arguments", tool));
    let patterns = allowed.chain(never).chain(unjudged).map(|(key, tool)| (key, NamePattern::new(tool.clone())));
    let given = given.map(|(key, tool)| (key, NamePattern::name(tool.clone())));
    patterns.chain(given).map(|(key, tool)| NamedTool { key, tool }).collect()
}

/// The mistake of a file that describes servers, and stands where a suite is expected.
fn no_suite(path: &Path, sources: &Sources, source: SourceId) -> Option<Diagnostic> {
    let is_json = path.extension().is_some_and(|end| end == "json");
    let is_suite = |root: Node| root.get("suite").is_some();
    if !is_json || source::parse_jsonc(sources, source).is_ok_and(is_suite) {
        return None;
    }
    let described = ServerFile::parse(path, sources, source).ok()?;
    let name = path.display().to_string();
    let server = described.names().next().map_or("users", |(name, _)| name);
    let help = format!(
        "`mcprove ci {}` checks them; in a suite, `server: {{ config: {name}, name: {server} }}` names one",
        shell_words::quote(&name)
    );
    let message = format!("`{name}` describes servers, and is no suite");
    Some(Diagnostic::without_place("missing-key", message).with_help(visible_line(&help).into_owned()))
}

fn unreadable(path: &Path, error: &io::Error, from: Option<&Located<String>>) -> Diagnostic {
    let message = format!("cannot read `{}`: {}", path.display(), why_unreadable(error));
    let unread = match from {
        Some(entry) => Diagnostic::error("missing-file", message, entry.span),
        None => Diagnostic::without_place("missing-file", message),
    };
    let help = if error.kind() == io::ErrorKind::InvalidData {
        Some("save the file as UTF-8".to_owned())
    } else if error.kind() != io::ErrorKind::NotFound {
        None
    } else if from.is_some() {
        Some("write its path relative to the folder of this suite".to_owned())
    } else {
        let typed = path.display().to_string();
        no_line(&typed).or_else(|| server_help(path))
    };
    unread.with_help(help)
}

/// The hint for a server in the place of a suite.
/// The words that name a server on a command line; none where nobody wrote the file.
fn on_command_line(file: &str, name: &str) -> String {
    if ![".yml", ".yaml", ".json"].iter().any(|end| file.ends_with(end)) {
        return String::new();
    }
    // A single server of a suite has no name of its own.
    let words = if name == "server" { file.to_owned() } else { format!("{file}:{name}") };
    shell_words::quote(&words).into_owned()
}

fn server_help(path: &Path) -> Option<String> {
    let is_suite = path.extension().is_some_and(|end| end == "yml" || end == "yaml");
    let help = "write the path of a suite; a server needs none with `mcprove ci -- COMMAND`, `mcprove ci URL` or `mcprove ci mcp.json`";
    (!is_suite).then(|| help.to_owned())
}

/// The hint for a suite and a line that is no number, such as `users.yml:x`.
fn no_line(typed: &str) -> Option<String> {
    let is_suite = |file: &str| Path::new(file).extension().is_some_and(|end| end == "yml" || end == "yaml");
    let (file, line) = typed.rsplit_once(':').filter(|(file, _)| is_suite(file))?;
    Some(format!("`{line}` is not the number of a line; write for example `{file}:12`"))
}
