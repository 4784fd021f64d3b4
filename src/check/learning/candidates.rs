//! Arguments that are worth a try where those that the schema alone gives are refused.

use std::collections::BTreeSet;

use serde_json::Value;

use super::conventions::usual_values;
use super::hints::{named_endings, named_values, speaks_of};
use super::seeds::{Seed, Seeds};
use crate::generate::valid;
use crate::plan::arguments::{SafeArguments, is_file, is_path};
use crate::source::words;
use crate::wire::Tool;

/// The most values of one argument that are tried, the most attempts of one round, and the most arguments that a refusal
/// adds.
const MOST_OPTIONS: usize = 6;
const MOST_ATTEMPTS: usize = 12;
const MOST_MISSING: usize = 3;

/// How much likelier a file is if the description speaks of its kind, as of JSON.
const NAMED_KIND: u32 = 5;

/// The name of a file that a tool may make.
const NEW_FILE: &str = "new";

/// Words in the names of arguments that name something on another machine: what a server showed of it is not sent.
const REMOTE_WORDS: [&str; 6] = ["remote", "remotes", "upstream", "origin", "clone", "website"];

/// Arguments to try, and the place from which the value that differs came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CandidateArguments {
    pub(crate) arguments: Value,
    pub(crate) origin: String,
}

/// A value that an argument may take.
#[derive(Debug, Clone)]
struct OptionalValue {
    fit: u32,
    value: Value,
    /// The object in an answer from which it is.
    record: Option<usize>,
    origin: String,
}

/// The attempts of one round, the likeliest first; `refusal` is the last answer, and `tried` holds all arguments so far.
pub(crate) fn attempts(
    tool: &Tool,
    safe: &SafeArguments,
    seeds: &Seeds,
    refusal: &str,
    tried: &BTreeSet<String>,
) -> Vec<CandidateArguments> {
    let mut found: Vec<CandidateArguments> = Vec::new();
    let mut met: BTreeSet<String> = tried.clone();
    for base in bases(tool, safe.smallest(), refusal) {
        let parameters = options_of(tool, safe, &base, seeds, refusal);
        for chosen in combinations(&parameters) {
            let mut arguments = base.clone();
            for (name, option) in &chosen {
                arguments[*name] = option.value.clone();
            }
            let Some(arguments) = safe.sanitize(arguments) else { continue };
            if safe.generator().is_valid(&arguments) && met.insert(arguments.to_string()) {
                let surest = chosen.iter().max_by_key(|(_, option)| option.fit);
                let origin = surest.map_or_else(|| "its schema".to_owned(), |(_, option)| option.origin.clone());
                found.push(CandidateArguments { arguments, origin });
            }
        }
    }
    found.truncate(MOST_ATTEMPTS);
    found
}

/// The arguments that attempts begin with: the smallest, with those beside them that the refusal asks for, all at once
/// and each alone.
fn bases(tool: &Tool, smallest: &Value, refusal: &str) -> Vec<Value> {
    let properties = tool.input_schema()["properties"].as_object().into_iter().flatten();
    let is_missing = |name: &str| smallest.get(name).is_none() && speaks_of(refusal, name);
    let missing: Vec<(&String, Value)> = properties
        .filter(|(name, _)| is_missing(name))
        .filter_map(|(name, schema)| Some((name, valid(schema)?)))
        .take(MOST_MISSING)
        .collect();
    let with = |added: &[(&String, Value)]| {
        let mut base = smallest.clone();
        if let Some(members) = base.as_object_mut() {
            members.extend(added.iter().map(|(name, value)| ((*name).clone(), value.clone())));
        }
        base
    };
    let alone = missing.iter().map(|one| with(std::slice::from_ref(one)));
    let mut bases: Vec<Value> = if missing.len() > 1 { alone.collect() } else { Vec::new() };
    bases.push(with(&missing));
    bases
}

/// The values that are put together, the likeliest first.
fn combinations(parameters: &[(String, Vec<OptionalValue>)]) -> Vec<Vec<(&str, &OptionalValue)>> {
    let firsts: Vec<(&str, &OptionalValue)> =
        parameters.iter().filter_map(|(name, options)| Some((name.as_str(), options.first()?))).collect();
    let mut chosen = vec![firsts.clone()];
    // Values of one object belong together: an owner and a repository, a table and a column.
    if parameters.len() > 1 {
        let all = parameters.iter().flat_map(|(_, options)| options.iter().filter_map(|option| option.record));
        for record in all.collect::<BTreeSet<usize>>().into_iter().take(MOST_OPTIONS) {
            let of_record = |options: &Vec<OptionalValue>| {
                options.iter().position(|option| option.record == Some(record)).unwrap_or(0)
            };
            let together = parameters.iter();
            chosen.push(
                together
                    .filter_map(|(name, options)| Some((name.as_str(), options.get(of_record(options))?)))
                    .collect(),
            );
        }
    }
    for at in 0..MOST_OPTIONS {
        for (name, options) in parameters {
            let Some(option) = options.get(at) else { continue };
            let others = firsts.iter().filter(|(other, _)| other != name).copied();
            chosen.push(others.chain([(name.as_str(), option)]).collect());
            chosen.push(vec![(name.as_str(), option)]);
        }
    }
    chosen.push(Vec::new());
    chosen
}

/// For each argument that is sent the values that it may take, the likeliest first.
fn options_of(
    tool: &Tool,
    safe: &SafeArguments,
    base: &Value,
    seeds: &Seeds,
    refusal: &str,
) -> Vec<(String, Vec<OptionalValue>)> {
    let members = base.as_object().into_iter().flatten();
    let is_only = members.clone().count() == 1;
    let named = named_values(refusal);
    let description = tool.raw["description"].as_str().unwrap_or_default();
    let mut parameters = Vec::new();
    let is_remote = |name: &str| words(name).iter().any(|word| REMOTE_WORDS.contains(&word.as_str()));
    for (name, present) in members.filter(|(name, _)| !is_remote(name)) {
        let schema = &tool.input_schema()["properties"][name];
        let argument_description = schema["description"].as_str().unwrap_or_default();
        let own_words = named_values(argument_description);
        let is_meant = is_only || speaks_of(refusal, name) || said_in(refusal, present);
        let told = |fit: u32, value: &str, origin: &str| OptionalValue {
            fit,
            value: Value::from(value),
            record: None,
            origin: origin.to_owned(),
        };
        let of_refusal = named.iter().filter(|value| is_meant && *value != name && !said_in(value, present));
        let of_refusal = of_refusal.map(|value| told(75, value, "its refusal"));
        let of_seeds = seeds.for_argument(&tool.name, name).into_iter();
        // What writes is not sent to files that are there, except to copies.
        let is_left_alone = |seed: &Seed| !tool.only_reads() && (seed.is_path || is_path(name)) && !seed.is_in_store;
        let of_seeds = of_seeds.filter(|(_, seed)| !is_left_alone(seed));
        let speaks_of_kind = |seed: &Seed| {
            let ending = seed.value.as_str().filter(|_| seed.is_path).and_then(|path| path.rsplit_once('.'));
            let is_named = |kind: &str| {
                [description, argument_description].iter().any(|text| words(text).contains(&kind.to_lowercase()))
            };
            ending.is_some_and(|(_, kind)| is_named(kind))
        };
        let of_seeds = of_seeds.map(|(fit, seed)| OptionalValue {
            fit: fit + if speaks_of_kind(seed) { NAMED_KIND } else { 0 },
            value: seed.value.clone(),
            record: Some(seed.record),
            origin: seed.origin.clone(),
        });
        let of_words = own_words.iter().map(|value| told(65, value, "its description"));
        let of_custom = usual_values(name, description).into_iter().map(|value| told(50, value, "its name"));
        // A file that is not there yet, of the kind that is asked for.
        let new_files = seeds.store_folder().filter(|_| !tool.only_reads() && (is_path(name) || is_file(name)));
        let endings = named_endings(refusal).into_iter().chain(named_endings(argument_description));
        let new_files = new_files.into_iter().flat_map(|folder| {
            let in_folder = |ending: &str| folder.join(format!("{NEW_FILE}{ending}")).display().to_string();
            endings.clone().map(|ending| told(78, &in_folder(ending), "its refusal")).collect::<Vec<_>>()
        });
        let schemes = refusal.contains("data:").then(|| told(80, "data:text/plain,hello", "its refusal"));
        let mut options: Vec<OptionalValue> = Vec::new();
        let all = of_refusal.chain(of_seeds).chain(of_words).chain(of_custom).chain(schemes).chain(new_files);
        for mut option in all {
            let Some(value) = convert(&option.value, schema, present) else { continue };
            let mut whole = base.clone();
            whole[name] = value.clone();
            if value != *present
                && safe.generator().is_valid(&whole)
                && options.iter().all(|known| known.value != value)
            {
                option.value = value;
                options.push(option);
            }
        }
        options.sort_by_key(|option| std::cmp::Reverse(option.fit));
        options.truncate(MOST_OPTIONS);
        if !options.is_empty() {
            parameters.push((name.clone(), options));
        }
    }
    parameters
}

/// Returns true if a text repeats a value that was sent.
fn said_in(text: &str, value: &Value) -> bool {
    let is_told = |value: &str| value.len() > 1 && text.contains(value);
    match value {
        Value::String(value) => is_told(value),
        Value::Array(items) => items.iter().any(|item| said_in(text, item)),
        Value::Number(number) => is_told(&number.to_string()),
        Value::Null | Value::Bool(_) | Value::Object(_) => false,
    }
}

/// A value in the type that an argument has: a number as text, a text as number, either in a list.
fn convert(value: &Value, schema: &Value, present: &Value) -> Option<Value> {
    match (present, value) {
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) => Some(value.clone()),
        (Value::String(_), Value::Number(number)) => Some(Value::from(number.to_string())),
        (Value::Number(_), Value::String(text)) => {
            text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from)).ok()
        }
        (Value::Array(items), value) => {
            let item = items.first().cloned().or_else(|| valid(&schema["items"]))?;
            if item.is_array() { None } else { Some(Value::from(vec![convert(value, &schema["items"], &item)?])) }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::arguments::safe_arguments;

    fn tool(name: &str, properties: &Value, required: &Value) -> Tool {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Tool::new(json!({"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": true}}))
    }

    fn tried(tool: &Tool, seeds: &Seeds, refusal: &str) -> Vec<Value> {
        let safe = safe_arguments(tool, None).unwrap();
        let smallest = BTreeSet::from([safe.smallest().to_string()]);
        attempts(tool, &safe, seeds, refusal, &smallest).into_iter().map(|attempt| attempt.arguments).collect()
    }

    #[test]
    fn what_was_shown_and_what_is_named_is_tried() {
        let text = json!({"type": "string"});
        let mut seeds = Seeds::default();
        let rows = json!({"rows": [{"owner": "ann", "repo": "x"}, {"owner": "bob", "repo": "y"}]});
        seeds.add_answer("list_repos", &json!({"structuredContent": rows}));
        let get = tool("get_repo", &json!({"owner": text, "repo": text}), &json!(["owner", "repo"]));
        let found = tried(&get, &seeds, "not found");
        assert_eq!(found[..2], [json!({"owner": "ann", "repo": "x"}), json!({"owner": "bob", "repo": "y"})]);
        let sort = tool("sort", &json!({"order": text}), &json!(["order"]));
        let found = tried(&sort, &seeds, "order must be one of: asc, desc");
        assert_eq!(found[..2], [json!({"order": "asc"}), json!({"order": "desc"})]);
        let count = tool("count", &json!({"ids": {"type": "array", "items": {"type": "integer"}}}), &json!(["ids"]));
        let mut seeds = Seeds::default();
        seeds.add_answer("list", &json!({"structuredContent": {"id": 7}}));
        assert_eq!(tried(&count, &seeds, "no such id")[0], json!({"ids": [7]}));
    }

    #[test]
    fn what_a_refusal_asks_for_is_added() {
        let text = json!({"type": "string", "examples": ["v"]});
        let either = tool("either", &json!({"name": text, "uri": text, "note": text}), &json!([]));
        let found = tried(&either, &Seeds::default(), "either name or uri is required");
        assert_eq!(found, [json!({"name": "v"}), json!({"uri": "v"}), json!({"name": "v", "uri": "v"})]);
    }

    #[test]
    fn a_refusal_repeats_texts_and_long_numbers() {
        for (text, value, expected) in [
            ("no user `ann`", json!("ann"), true),
            ("no user 17", json!(17), true),
            ("no users 5, 17", json!([17, 3]), true),
            ("no user `bob`", json!("ann"), false),
            // One letter or digit stands in nearly every sentence.
            ("a is no user", json!("a"), false),
            ("1 error", json!(1), false),
            ("it is null", json!(null), false),
            ("it is true", json!(true), false),
            ("no {\"id\":17}", json!({"id": 17}), false),
            ("no text", json!(""), false),
        ] {
            assert_eq!(said_in(text, &value), expected, "{text} {value}");
        }
    }

    #[test]
    fn a_value_is_sent_in_the_type_of_its_argument() {
        let (text, number) = (json!({"items": {"type": "string"}}), json!({"items": {"type": "integer"}}));
        for (value, schema, present, expected) in [
            (json!("a"), &text, json!("x"), Some(json!("a"))),
            (json!(7), &text, json!("x"), Some(json!("7"))),
            (json!(7), &text, json!(1), Some(json!(7))),
            (json!("7"), &text, json!(1), Some(json!(7))),
            (json!("7.5"), &text, json!(1), Some(json!(7.5))),
            (json!("seven"), &text, json!(1), None),
            (json!("7"), &number, json!([]), Some(json!([7]))),
            (json!(7), &text, json!(["x"]), Some(json!(["7"]))),
            (json!("a"), &text, json!([["x"]]), None),
            (json!("a"), &text, json!(true), None),
            (json!("a"), &text, json!({"x": 1}), None),
            (json!(null), &text, json!("x"), None),
        ] {
            assert_eq!(convert(&value, schema, &present), expected, "{value} {present}");
        }
    }

    #[test]
    fn what_writes_may_make_a_file_in_the_store() {
        let folder = std::env::temp_dir();
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {"path": text}, "required": ["path"]});
        let make = Tool::new(json!({"name": "create_book", "inputSchema": schema}));
        for (store, expected) in [(Some(folder.clone()), true), (None, false)] {
            let found = tried(&make, &Seeds::with_store(store), "it must be an Excel file (.xlsx)");
            assert_eq!(found.contains(&json!({"path": folder.join("new.xlsx")})), expected, "{found:?}");
        }
    }

    #[test]
    fn what_writes_gets_no_path_that_is_there() {
        let mut seeds = Seeds::default();
        seeds.add_path("file", "/srv/a.txt", "a test");
        let properties = json!({"path": {"type": "string"}});
        let reads = tool("read", &properties, &json!(["path"]));
        assert_eq!(tried(&reads, &seeds, "ENOENT")[0], json!({"path": "/srv/a.txt"}));
        let mut raw = reads.raw.clone();
        raw["annotations"]["readOnlyHint"] = json!(false);
        assert!(tried(&Tool::new(raw), &seeds, "ENOENT").iter().all(|one| one["path"] != "/srv/a.txt"));
    }
}
