//! The loader and the published JSON Schema give the same verdict on thousands of seeded changes of every suite.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use mcprove::block::{GRAMMAR, json_schema};
use mcprove::source::{Diagnostic, SourceFile, Sources, file, parse, yaml_writer};
use mcprove::suite::{Files, Servers, SuiteSource, load};
use serde_json::{Value, json};

use crate::harness::files;

/// How many changed versions of each suite are compared; of those that take long to load, a few.
const ROUNDS: u64 = 16;

/// Mistakes that a schema cannot describe: the code, a part of the message, and why not.
const BEYOND_SCHEMA: &[(&str, &str, &str)] = &[
    ("bad-address", "", "the syntax of an address"),
    ("bad-bytes", "", "base64 within values of any shape"),
    ("bad-command", "", "quoting in a command"),
    ("bad-csv", "", "the content of another file"),
    ("bad-expression", "", "the syntax of an expression"),
    ("bad-name", "", "names of files and templates"),
    ("bad-number", "bursts of", "two numbers beside one another"),
    ("bad-number", "the number of runs", "two numbers beside one another"),
    ("bad-path", "", "the syntax of a path"),
    ("bad-recording", "", "the content of another file"),
    ("bad-regex", "", "the syntax of a regular expression"),
    ("bad-glob", "", "the syntax of a pattern of paths"),
    ("bad-rows", "", "the content of another file, or how many rows all tests have"),
    ("bad-schema", "", "a JSON Schema in the suite"),
    ("bad-snapshot", "", "the content of another file"),
    ("bad-template", "", "the syntax of a template"),
    ("duplicate-name", "is already in use", "names of other parts of the suite"),
    ("duplicate-name", "is both under", "another list of the setting"),
    ("duplicate-name", "is in an earlier pair already", "other pairs of the block"),
    ("duplicate-name", "two agents are called", "the same name in two items of a list"),
    ("duplicate-name", "two faults are called", "the same name in two items of a list"),
    ("duplicate-test", "", "the same name in two items of a list"),
    ("empty-expectation", "the expression uses nothing of the answer", "the syntax of an expression"),
    ("empty-list", "there are no rows", "the content of another file"),
    ("empty-range", "", "two numbers beside one another"),
    ("empty-send", "", "a text that is empty together with its end of line"),
    ("empty-suite", "", "the tests of included suites"),
    ("include-cycle", "", "the content of another file"),
    ("json-syntax", "", "the content of another file"),
    ("misplaced-key", "", "a step within a list that is elsewhere, or the matchers of an action"),
    ("missing-expectation", "", "whether any step of a test expects something"),
    ("missing-file", "", "other files"),
    ("missing-key", "a server of a client", "the content of another file"),
    ("missing-key", "a set of arguments", "a JSON Schema in the suite"),
    ("missing-key", "`cost` needs the `price`", "a key of another mapping"),
    ("missing-key", "needs a key, and none is given", "a key beside any of two others"),
    ("missing-key", "takes a server with two users", "the servers of the suite"),
    ("missing-key", "the fault changes nothing", "a key beside any of six others"),
    ("missing-key", "an answer with `mode: url`", "a value of any shape"),
    ("missing-key", "the hint", "hints whose names end in `_tool`"),
    ("missing-server", "`from` takes the only server", "names of other parts of the suite"),
    ("missing-snapshot", "", "other files"),
    ("no-boundary", "", "the servers of a flow's steps"),
    ("no-servers", "", "the content of another file"),
    ("template-not-filled", "", "templates in texts and within values of any shape"),
    ("two-ways", "`Authorization`", "the name of a header in any case"),
    ("two-ways", "one `put`", "the values of other names"),
    ("two-ways", "takes this server from another file", "the content of another file"),
    ("two-ways", "a fault has a type", "a key beside any of six others"),
    ("useless-key", "without the pack `ssrf`", "a word in the list of another key"),
    ("uneven-row", "", "the keys of another item of a list"),
    ("unknown-builtin", "", "names of built-in suites"),
    ("unknown-choice", "of an answer to an elicitation", "a value of any shape"),
    ("unknown-hint", "", "hints that rules ask for"),
    ("unknown-key", "is not a keyword of JSON Schema", "a JSON Schema in the suite"),
    ("unknown-key", "the hint", "hints whose names end in `_tool`"),
    ("unknown-lint", "", "names of lints"),
    ("unknown-name", "", "names of other parts of the suite"),
    ("unknown-rule", "", "names of rules"),
    ("unknown-scan", "", "names of scans"),
    ("unknown-server", "", "names of other parts of the suite"),
    ("unknown-variable", "", "the content of another file"),
    ("unsatisfiable-schema", "", "a JSON Schema in the suite"),
    ("useless-key", "does nothing beside a condition on the answer", "keys of another mapping"),
    ("useless-key", "is a delay of `type: latency`", "the value of another key"),
    ("unused-variable", "", "names in included suites"),
];

/// A suite of the repository.
struct Suite {
    path: PathBuf,
    value: Value,
    /// Every place of it, as a JSON Pointer.
    places: Vec<String>,
    rounds: u64,
}

/// One suite in memory, and the real files beside it.
struct Edited<'a> {
    path: &'a Path,
    text: String,
}

impl Files for Edited<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == self.path { Ok(self.text.clone()) } else { file::read_text(path, 1 << 20) }
    }
}

#[test]
fn the_schema_and_the_loader_agree() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let suites = suites();
    assert!(suites.len() > 200, "the corpus is where it was");
    let keys = keys(&suites, &schema);
    let halves = [0, 1].map(|half| suites.iter().skip(half).step_by(2).collect::<Vec<_>>());
    let compare_all = |half: &[&Suite]| {
        half.iter().flat_map(|suite| disagreements(suite, &keys, &validator)).collect::<Vec<String>>()
    };
    let found: Vec<String> = std::thread::scope(|scope| {
        let started = halves.each_ref().map(|half| scope.spawn(|| compare_all(half)));
        started.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(found.is_empty(), "{} disagreements, such as\n{}", found.len(), found[..found.len().min(20)].join("\n"));
}

/// The versions of a suite that only one of the two takes.
fn disagreements(suite: &Suite, keys: &[String], validator: &Validator) -> Vec<String> {
    let mut found = Vec::new();
    for seed in 0..suite.rounds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (suite.places.len() as u64 + 1));
        let mut value = suite.value.clone();
        if seed > 0 {
            change(&mut value, suite, keys, &mut random);
        }
        let edited = Edited { path: &suite.path, text: yaml_writer::block(&value, 0) };
        let by_schema = validator.validate(&value).err().map(|error| format!("{error} at {}", error.instance_path()));
        let by_loader = mistakes(&edited);
        let agree = match &by_schema {
            Some(_) => !by_loader.is_empty(),
            None => by_loader.iter().all(|mistake| mistake.is_elsewhere || is_beyond_schema(&mistake.found)),
        };
        if !agree {
            let listed: Vec<String> =
                by_loader.iter().map(|one| format!("{}: {}", one.found.code, one.found.message)).collect();
            found.push(format!(
                "seed {seed} of {}\nthe schema says: {}\nthe loader says: {}\n{}",
                suite.path.display(),
                by_schema.as_deref().unwrap_or("valid"),
                if listed.is_empty() { "valid".to_owned() } else { listed.join("\n") },
                edited.text,
            ));
        }
    }
    found
}

/// A mistake that the loader finds.
struct Mistake {
    found: Diagnostic,
    /// Whether it is in another file.
    is_elsewhere: bool,
}

fn mistakes(edited: &Edited<'_>) -> Vec<Mistake> {
    let mut sources = Sources::default();
    let from = SuiteSource { path: edited.path, servers: Servers::Given, files: edited, grammar: &GRAMMAR };
    let found = load(&from, &mut sources, &mut Vec::new()).err().unwrap_or_default();
    let is_elsewhere = |one: &Diagnostic| {
        one.label.as_ref().is_some_and(|label| Path::new(&sources.file(label.span.source).name) != edited.path)
    };
    found.into_iter().map(|found| Mistake { is_elsewhere: is_elsewhere(&found), found }).collect()
}

fn is_beyond_schema(mistake: &Diagnostic) -> bool {
    BEYOND_SCHEMA.iter().any(|(code, words, _)| *code == mistake.code && mistake.message.contains(words))
}

/// Every suite that ships or is tested with, as JSON.
fn suites() -> Vec<Suite> {
    let paths = ["examples", "suites", "tests/cases"].iter().flat_map(|folder| files(folder, "yml"));
    let read = paths.filter_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        // Rule books, and those that load all of them.
        let rounds = if text.len() > 10_000 || text.contains("compliance") { 2 } else { ROUNDS };
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("suite", text));
        let root = parse(&sources, id).ok().filter(|root| root.get("suite").is_some())?;
        let value = root.to_json();
        let mut places = Vec::new();
        collect_places(&value, String::new(), &mut places);
        Some(Suite { path, value, places, rounds })
    });
    read.collect()
}

/// Every key that any suite has, and every key of the schema.
fn keys(suites: &[Suite], schema: &Value) -> Vec<String> {
    let of_suites = suites.iter().flat_map(|suite| &suite.places).filter_map(|place| place.rsplit('/').next());
    let definitions = schema["$defs"].as_object().unwrap().values();
    let of_schema = definitions.flat_map(|definition| definition["properties"].as_object().unwrap().keys());
    let of_suites = of_suites.filter(|key| key.parse::<usize>().is_err());
    let keys: BTreeSet<&str> = of_suites.chain(of_schema.map(String::as_str)).collect();
    keys.into_iter().map(str::to_owned).collect()
}

/// Changes one place: removes, renames, adds or repeats something, or puts another value there.
fn change(value: &mut Value, suite: &Suite, keys: &[String], random: &mut Random) {
    let edges = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(32),
        json!(33),
        json!(1024),
        json!(1025),
        json!(100_001),
        json!(1.0),
        json!(0.5),
        json!(1.5),
        json!(1e30),
        json!(""),
        json!("x"),
        json!("none"),
        json!("0s"),
        json!("10s"),
        json!("1.2.3s"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!(["x", "x"]),
        json!([{}]),
        json!({"x": 1}),
    ];
    let edge = random.pick(&edges).clone();
    let donor = suite.value.pointer(random.pick::<String>(&suite.places)).unwrap().clone();
    let (other, kind, at) = (random.pick(keys).clone(), random.below(7), random.below(1 << 16));
    match value.pointer_mut(random.pick::<String>(&suite.places)).unwrap() {
        Value::Object(fields) if !fields.is_empty() => {
            let own = fields.keys().nth(at % fields.len()).unwrap().clone();
            match kind {
                0 => drop(fields.shift_remove(&own)),
                1 => drop(fields.shift_remove(&own).map(|value| fields.insert(other, value))),
                2 | 3 => drop(fields.insert(own, if kind == 2 { edge } else { donor })),
                4 => drop(fields.insert(other, edge)),
                _ => {
                    let more = donor.as_object().and_then(|donor| donor.iter().nth(at % 3));
                    let (name, value) =
                        more.map_or((other, donor.clone()), |(name, value)| (name.clone(), value.clone()));
                    fields.insert(name, value);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let index = at % items.len();
            match kind {
                0 => drop(items.remove(index)),
                1 | 2 => items.push(items[index].clone()),
                3 => items.clear(),
                _ => items[index] = if kind == 4 { edge } else { donor },
            }
        }
        place @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => *place = if kind > 3 { donor } else { edge },
    }
}

fn collect_places(value: &Value, at: String, places: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, value) in inner {
        collect_places(value, format!("{at}/{name}"), places);
    }
    places.push(at);
}

/// A xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
