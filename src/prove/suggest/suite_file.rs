//! The suggested tests as suites that include the proven suites.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::event::{Missing, MutantResult, Proof};
use crate::plan::{Plan, SuitePlan};
use crate::source::yaml_writer as yaml;
use crate::source::{parse_duration, visible_line};
use crate::suite::{Order, RestartPolicy, RunOptions, Suite, builtin_name, normalize_path};

/// The most mutants that are named above a test.
const NAMED: usize = 6;

/// The beginning of every file, so that no other is overwritten.
pub const MISSING_MARK: &str = "# What no test of ";

/// A suite to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSuite {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// A test, and what it is for.
#[derive(Debug)]
struct SuggestedEntry<'a> {
    test: Map<String, Value>,
    tool: Option<&'a str>,
    notes: Vec<String>,
    kills: Vec<&'a MutantResult>,
}

/// Suites that hold what is missing: one at `file`, or one beside it for each of several suites that were proven.
///
/// Each includes the suite that it completes, so it is proven instead of that, and must not overwrite it. Relative
/// paths begin at `here`.
pub fn missing_suites(proof: &Proof, plan: &Plan, file: &Path, here: &Path) -> Vec<MissingSuite> {
    let is_lacking = |planned: &&SuitePlan| suggestions(proof, &planned.suite.file).next().is_some();
    let lacking: Vec<&SuitePlan> = plan.suites.iter().filter(is_lacking).collect();
    let mut taken = BTreeSet::new();
    let suites = lacking.iter().map(|planned| {
        let path = if lacking.len() == 1 { file.to_owned() } else { beside(file, &planned.suite.file, &mut taken) };
        MissingSuite { text: text(proof, planned, &path, here), path }
    });
    suites.collect()
}

/// A file of its own for one of several suites.
fn beside(file: &Path, suite: &str, taken: &mut BTreeSet<PathBuf>) -> PathBuf {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let end = file.extension().map_or("yml".to_owned(), |end| end.to_string_lossy().into_owned());
    let base = format!("{}-{}", stem(file), stem(Path::new(suite)));
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    let paths = [base.clone()].into_iter().chain(numbered).map(|name| file.with_file_name(format!("{name}.{end}")));
    let mut free = paths.skip_while(|path| taken.contains(path));
    let path = free.next().unwrap_or_else(|| file.to_owned());
    taken.insert(path.clone());
    path
}

fn suggestions<'a>(proof: &'a Proof, file: &'a str) -> impl Iterator<Item = (&'a MutantResult, &'a Missing)> {
    let missing = proof.mutants.iter().flat_map(|mutant| mutant.missing.iter().map(move |missing| (mutant, missing)));
    missing.filter(move |(_, missing)| missing.file == file)
}

fn text(proof: &Proof, planned: &SuitePlan, path: &Path, here: &Path) -> String {
    let suite = &planned.suite;
    let (entries, start_timeout) = entries(suggestions(proof, &suite.file));
    let name = suite.name.value.trim_end_matches(", what was missing");
    let head = head_including(suite, &format!("{name}, what was missing"), FileRelation { path, here }, start_timeout);
    let mut text = format!(
        "{MISSING_MARK}`{}` would notice; `mcprove prove` of this file runs both.\n\
         # A line `pinned:` above a test names what the server answered when it was recorded: confirm that this is\n\
         # right before you keep the test.\n{}",
        visible_line(&suite.file),
        yaml::block(&head, 0)
    );
    if entries.is_empty() {
        return text;
    }
    text += "\ntests:\n";
    let mut names: BTreeSet<String> = suite.tests.iter().map(|test| test.name.value.clone()).collect();
    for (at, entry) in entries.into_iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        text += &write_test(entry, &mut names);
    }
    text
}

/// The path of a file, and the folder from which relative paths begin.
#[derive(Debug, Clone, Copy)]
pub struct FileRelation<'a> {
    /// The file.
    pub path: &'a Path,
    /// The folder.
    pub here: &'a Path,
}

/// The head of a suite that includes another one, and runs as that does.
pub fn head_including(suite: &Suite, name: &str, file: FileRelation<'_>, start_timeout: Option<Duration>) -> Value {
    let mut head = json!({"suite": name, "include": [include(&suite.file, file.path, file.here)]});
    // Those of a suite that is included do not count.
    let options = options(&suite.options, start_timeout);
    if !options.is_empty() {
        head["run_options"] = options.into();
    }
    head
}

fn write_test(mut entry: SuggestedEntry<'_>, names: &mut BTreeSet<String>) -> String {
    let name = entry.test.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let name = [name.clone()].into_iter().chain(numbered).find(|name| names.insert(name.clone())).unwrap_or(name);
    entry.test.insert("name".to_owned(), name.into());
    let mut text = String::new();
    let kills = entry.kills.iter().take(NAMED).map(|mutant| format!("kills {}: {}", mutant.id, mutant.meaning));
    let more = entry.kills.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    for line in kills.chain(more).chain(entry.notes) {
        let _ = writeln!(text, "  # {}", visible_line(&line));
    }
    text + &yaml::block(&json!([entry.test]), 2)
}

/// Tests that make the same requests are one; those of a tool stand together.
fn entries<'a>(
    suggestions: impl Iterator<Item = (&'a MutantResult, &'a Missing)>,
) -> (Vec<SuggestedEntry<'a>>, Option<Duration>) {
    let mut entries: Vec<SuggestedEntry<'a>> = Vec::new();
    let mut start_timeout: Option<Duration> = None;
    for (mutant, missing) in suggestions {
        match yaml::read_value(&missing.yaml) {
            Some(Value::Array(tests)) => {
                let notes: Vec<String> =
                    missing.yaml.lines().map_while(|line| line.strip_prefix("# ")).map(str::to_owned).collect();
                for test in tests.into_iter().filter_map(|test| test.as_object().cloned()) {
                    let entry = SuggestedEntry {
                        test,
                        tool: missing.tool.as_deref(),
                        notes: notes.clone(),
                        kills: vec![mutant],
                    };
                    add(entry, &mut entries);
                }
            }
            Some(part) => {
                let limit = part["run_options"]["start_timeout"].as_str().and_then(parse_duration);
                start_timeout = [start_timeout, limit].into_iter().flatten().min();
            }
            None => {}
        }
    }
    let order: Vec<Option<&str>> = entries.iter().map(|entry| entry.tool).collect();
    entries.sort_by_key(|entry| order.iter().position(|tool| *tool == entry.tool));
    (entries, start_timeout)
}

fn add<'a>(entry: SuggestedEntry<'a>, entries: &mut Vec<SuggestedEntry<'a>>) {
    let requests = requests(&entry.test);
    let Some(known) = entries.iter_mut().find(|known| self::requests(&known.test) == requests) else {
        return entries.push(entry);
    };
    let more = last_expect(&mut entry.test.clone()).cloned().unwrap_or_default();
    if let Some(expect) = last_expect(&mut known.test) {
        for item in more {
            let at = if item.get("is_error").is_some() { 0 } else { expect.len() };
            if !expect.contains(&item) {
                expect.insert(at, item);
            }
        }
    }
    let name = |test: &Map<String, Value>| test.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let shared = shared_name(&name(&known.test), &name(&entry.test));
    known.test.insert("name".to_owned(), shared.into());
    known.notes.extend(entry.notes.into_iter().filter(|note| !known.notes.contains(note)).collect::<Vec<_>>());
    if !known.kills.iter().any(|mutant| mutant.id == entry.kills[0].id) {
        known.kills.extend(entry.kills);
    }
}

/// A test without its name and what it expects in the end.
pub(crate) fn requests(test: &Map<String, Value>) -> Map<String, Value> {
    let mut test = test.clone();
    test.shift_remove("name");
    if let Some(expect) = last_expect(&mut test) {
        expect.clear();
    }
    test
}

/// What a test expects in the end.
pub(crate) fn last_expect(test: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    let step = if test.contains_key("steps") {
        test.get_mut("steps")?.as_array_mut()?.last_mut()?.as_object_mut()?
    } else {
        test
    };
    step.get_mut("expect")?.as_array_mut()
}

/// The common part of two names: all of it, or the part before the subject of each.
pub(crate) fn shared_name(one: &str, other: &str) -> String {
    let what = one.rfind(": ").map_or(one, |at| &one[..at]);
    if one != other && other.starts_with(what) { what.to_owned() } else { one.to_owned() }
}

fn options(own: &RunOptions, start_timeout: Option<Duration>) -> Map<String, Value> {
    let time = |time: Option<Duration>| {
        time.map(|time| {
            if time.subsec_nanos() == 0 { format!("{}s", time.as_secs()) } else { format!("{}ms", time.as_millis()) }
        })
    };
    let policy = match own.restart_policy {
        RestartPolicy::PerSuite => None,
        RestartPolicy::PerTest => Some("per_test"),
        RestartPolicy::Never => Some("never"),
    };
    let order = match own.order {
        Order::Declared => None,
        Order::Shuffled => Some("shuffled"),
    };
    let start = [own.start_timeout, start_timeout].into_iter().flatten().min();
    let options = yaml::object([
        ("restart_policy", policy.map(Value::from)),
        ("parallel", own.parallel.map(Value::from)),
        ("timeout", time(own.timeout).map(Value::from)),
        ("request_timeout", time(own.request_timeout).map(Value::from)),
        ("start_timeout", time(start).map(Value::from)),
        ("retries", (own.retries > 0).then(|| own.retries.into())),
        ("order", order.map(Value::from)),
    ]);
    options.as_object().cloned().unwrap_or_default()
}

/// The proven suite as the new one names it.
fn include(suite: &str, file: &Path, here: &Path) -> String {
    if let Some(name) = builtin_name(suite) {
        return format!("builtin:{name}");
    }
    let (suite, file) = (Path::new(suite), normalize_path(file));
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    let (target, folder) = if suite.is_absolute() == file.is_absolute() {
        (normalize_path(suite), folder)
    } else {
        (normalize_path(&here.join(suite)), normalize_path(&here.join(folder)))
    };
    let (target, folder): (Vec<_>, Vec<_>) = (target.components().collect(), folder.components().collect());
    let same = target.iter().zip(&folder).take_while(|(one, other)| one == other).count();
    let up = folder[same..].iter().map(|_| "..".to_owned());
    let down = target[same..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_suite() {
        let check = |suite: &str, file: &str, expected: &str| {
            assert_eq!(include(suite, Path::new(file), Path::new("/here")), expected, "{suite} {file}");
        };
        check("users.yml", "missing.yml", "users.yml");
        check("./suites/users.yml", "suites/missing.yml", "users.yml");
        check("suites/users.yml", "missing.yml", "suites/users.yml");
        check("users.yml", "suites/new/missing.yml", "../../users.yml");
        check("/a/users.yml", "/a/b/missing.yml", "../users.yml");
        check("/here/a/users.yml", "a/missing.yml", "users.yml");
        check("a/users.yml", "/there/missing.yml", "../here/a/users.yml");
        check("<builtin:compliance>", "missing.yml", "builtin:compliance");
    }

    #[test]
    fn what_names_share() {
        let check = |one: &str, other: &str, expected: &str| assert_eq!(shared_name(one, other), expected);
        check("get_user id=u1: name", "get_user id=u1: email", "get_user id=u1");
        check("list of tools: add, title", "list of tools: add, x", "list of tools");
        check("get_user id=u1", "get_user id=u1: email", "get_user id=u1");
        check("add a=1: the time it takes", "add a=1: the output schema", "add a=1");
        check("a", "b", "a");
        check("get_user: x", "get_user: x", "get_user: x");
    }
}
