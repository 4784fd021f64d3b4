//! Values that a server showed, with the names under which it did: ids in the answers of other tools, resources, files of
//! the folder that it serves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::check::answer_data::{AnswerData, AnswerLeaf, texts_of};
use crate::source::{singular, words};
use crate::wire::{Catalog, read_json};

/// The most values that are kept, of one answer and in all, and the length of a text.
const MOST_OF_ANSWER: usize = 60;
const MOST_SEEDS: usize = 600;
const LONGEST_TEXT: usize = 200;

/// Words that say nothing of what a name stands for.
const PLAIN_WORDS: [&str; 14] =
    ["id", "ids", "name", "key", "uuid", "slug", "list", "get", "search", "find", "result", "results", "data", "items"];

/// A value that a server showed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seed {
    /// The words of the member's name.
    name: Vec<String>,
    /// The words of the members around it and of the tool that showed it, in the singular.
    context: BTreeSet<String>,
    pub(crate) value: Value,
    /// Values of one answer's object belong together.
    pub(crate) record: usize,
    /// The tool or list that showed it, in words.
    pub(crate) origin: String,
    /// It names a file or a folder of this machine.
    pub(crate) is_path: bool,
    /// It leads into the store, of which each process has a copy.
    pub(crate) is_in_store: bool,
}

/// Values that a server showed.
#[derive(Debug, Default)]
pub(crate) struct Seeds {
    found: Vec<Seed>,
    known: BTreeSet<(String, String)>,
    records: usize,
    /// The absolute path of the server's store.
    store: Option<PathBuf>,
}

impl Seeds {
    /// No values of a server yet, which may have a store.
    pub(crate) fn with_store(store: Option<PathBuf>) -> Self {
        Self { store, ..Self::default() }
    }

    /// The folder in which the server keeps its data, as a path.
    pub(crate) fn store_folder(&self) -> Option<&Path> {
        self.store.as_deref().filter(|store| store.is_dir())
    }

    /// Returns true if a path leads into the store.
    pub(crate) fn is_in_store(&self, path: &str) -> bool {
        self.store.as_ref().is_some_and(|store| Path::new(path).starts_with(store))
    }

    /// Takes the values of an answer that a tool gave.
    pub(crate) fn add_answer(&mut self, tool: &str, result: &Value) {
        let data = AnswerData::of_result(result);
        let origin = format!("an answer of `{tool}`");
        let mut last: Vec<String> = Vec::new();
        let mut leaves: Vec<(Vec<String>, Value, bool)> = Vec::new();
        data.visit_leaves(&mut |leaf: AnswerLeaf<'_>| {
            if leaves.len() < MOST_OF_ANSWER {
                leaves.push((leaf.names.to_vec(), leaf.value.clone(), leaf.is_item));
            }
        });
        for (names, value, is_item) in leaves {
            // A name that comes again begins the next object.
            if is_item || last.contains(&names.join("/")) {
                last.clear();
                self.records += 1;
            }
            last.push(names.join("/"));
            self.add(&names, tool, value, &origin);
        }
        self.records += 1;
        let is_plain = |text: &&str| !text.trim_start().starts_with(['{', '[']) || read_json(text).is_none();
        for text in texts_of(result).filter(is_plain) {
            for line in text.lines().take(MOST_OF_ANSWER) {
                self.add_line(line, tool, &origin);
            }
        }
        self.records += 1;
    }

    /// Takes what a tool served that makes things: another tool may ask for what was made by its name.
    pub(crate) fn add_served(&mut self, tool: &str, arguments: &Value) {
        self.add_arguments(tool, arguments, &format!("a call of `{tool}`"));
    }

    /// Takes the arguments that the suite gives for a tool: another one may ask for the same thing.
    pub(crate) fn add_given(&mut self, tool: &str, arguments: &Value) {
        self.add_arguments(tool, arguments, &format!("the arguments of `{tool}`"));
    }

    fn add_arguments(&mut self, tool: &str, arguments: &Value, origin: &str) {
        for (name, value) in arguments.as_object().into_iter().flatten() {
            self.add(std::slice::from_ref(name), tool, value.clone(), origin);
        }
        self.records += 1;
    }

    /// Takes what a line of plain text shows: `ID: 7`, `[FILE] a.txt`, `- inbox`.
    fn add_line(&mut self, line: &str, tool: &str, origin: &str) {
        let line = line.trim().trim_start_matches(['-', '*', '•', '#', '>', ' ']);
        let plain = line.replace("**", "").replace('`', "");
        match plain.split_once(": ") {
            Some((name, value)) if name.len() <= 40 && !name.trim().is_empty() => {
                let value = value.trim().trim_matches(['"', '\'']);
                self.add(&[name.trim().to_owned()], tool, Value::from(value), origin);
            }
            Some(_) | None => {
                let item = match plain.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
                    Some((_, item)) => item,
                    None => plain.as_str(),
                };
                // A heading such as `Files:` is no item.
                if !item.trim().is_empty() && !item.trim().contains(' ') && !item.trim_end().ends_with(':') {
                    self.add(&[], tool, Value::from(item.trim()), origin);
                }
            }
        }
    }

    /// Takes the addresses of resources and the names of prompts.
    pub(crate) fn add_offer(&mut self, catalog: &Catalog) {
        for resource in &catalog.resources {
            for name in ["uri", "name"] {
                self.add(&[name.to_owned()], "resource", resource[name].clone(), "the list of resources");
            }
            self.records += 1;
        }
    }

    /// Takes a file or folder that was found on this machine.
    pub(crate) fn add_path(&mut self, kind: &str, path: &str, origin: &str) {
        let names: Vec<String> = kind.split('/').map(str::to_owned).collect();
        let at = self.found.len();
        self.add(&names, "", Value::from(path), origin);
        if let Some(seed) = self.found.get_mut(at) {
            seed.is_path = true;
        }
        self.records += 1;
    }

    fn add(&mut self, names: &[String], tool: &str, value: Value, origin: &str) {
        let is_fit = match &value {
            Value::String(text) => !text.trim().is_empty() && text.len() <= LONGEST_TEXT && !text.contains('\n'),
            Value::Number(_) => true,
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        let name = names.last().cloned().unwrap_or_default();
        if !is_fit || self.found.len() >= MOST_SEEDS || !self.known.insert((name.clone(), value.to_string())) {
            return;
        }
        let around = names.iter().rev().skip(1).flat_map(|name| words(name)).chain(words(tool));
        let is_path = value.as_str().is_some_and(|text| text.starts_with(['/', '~']) || text.starts_with("./"));
        let is_in_store = value.as_str().is_some_and(|text| self.is_in_store(text));
        self.found.push(Seed {
            name: words(&name),
            context: around.map(|word| singular(&word)).filter(|word| !PLAIN_WORDS.contains(&word.as_str())).collect(),
            value,
            record: self.records,
            origin: origin.to_owned(),
            is_path,
            is_in_store,
        });
    }

    /// The values that an argument may take, the likeliest first, with how likely they are.
    pub(crate) fn for_argument(&self, tool: &str, argument: &str) -> Vec<(u32, &Seed)> {
        let (tool, argument) = (words(tool), words(argument));
        let mut fitting: Vec<(u32, &Seed)> =
            self.found.iter().filter_map(|seed| Some((fit(&tool, &argument, seed)?, seed))).collect();
        fitting.sort_by_key(|(fit, _)| std::cmp::Reverse(*fit));
        fitting
    }
}

/// How likely an argument of a tool takes a value, up to 100; `None` if nothing says so.
fn fit(tool: &[String], argument: &[String], seed: &Seed) -> Option<u32> {
    let singulars = |words: &[String]| words.iter().map(|word| singular(word)).collect::<Vec<_>>();
    let (argument, name) = (singulars(argument), singulars(&seed.name));
    let is_known = |word: &String| seed.context.contains(word);
    let shares_subject = tool.iter().map(|word| singular(word)).any(|word| seed.context.contains(&word));
    if name.is_empty() {
        let takes_paths = argument.iter().any(|word| PATH_WORDS.contains(&word.as_str()));
        let looks_like_path = seed.value.as_str().is_some_and(|text| text.contains(['/', '.']));
        return match (takes_paths && looks_like_path, argument.iter().any(is_known) || shares_subject) {
            (true, _) => Some(60),
            (false, true) => Some(35),
            (false, false) => None,
        };
    }
    if argument == name {
        return Some(if shares_subject { 100 } else { 90 });
    }
    // `user_id` takes the `id` of a user.
    if argument.ends_with(&name) {
        let before = &argument[..argument.len() - name.len()];
        return Some(if before.iter().any(is_known) { 85 } else { 45 });
    }
    // `id` takes the `user_id` of a tool about users.
    if name.ends_with(&argument) {
        let before = &name[..name.len() - argument.len()];
        return Some(if before.iter().any(|word| tool.iter().any(|own| singular(own) == *word)) { 80 } else { 40 });
    }
    // `project` takes the `name` of a project.
    let names_a_thing =
        name.last().is_some_and(|word| ["id", "name", "key", "slug", "title", "path"].contains(&word.as_str()));
    if names_a_thing && argument.iter().any(|word| seed.context.contains(word) || name.contains(word)) {
        return Some(70);
    }
    let takes_paths = argument.iter().any(|word| PATH_WORDS.contains(&word.as_str()));
    if seed.is_path && takes_paths {
        return Some(55);
    }
    let is_search = argument.iter().any(|word| SEARCH_WORDS.contains(&word.as_str()));
    (is_search && seed.value.is_string() && !seed.is_path).then_some(30)
}

/// Words in the names of arguments that take paths, and that take what is looked for.
const PATH_WORDS: [&str; 14] = [
    "path",
    "file",
    "filename",
    "filepath",
    "dir",
    "directory",
    "folder",
    "root",
    "source",
    "document",
    "input",
    "uri",
    "workbook",
    "repo",
];
const SEARCH_WORDS: [&str; 8] = ["query", "search", "term", "keyword", "text", "q", "pattern", "topic"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn best(seeds: &Seeds, tool: &str, argument: &str) -> Option<Value> {
        seeds.for_argument(tool, argument).first().map(|(_, seed)| seed.value.clone())
    }

    #[test]
    fn values_are_found_by_name_subject_and_kind() {
        let mut seeds = Seeds::default();
        let users = json!({"users": [{"id": "u1", "email": "a@b.c"}, {"id": "u2", "email": "d@e.f"}]});
        seeds.add_answer("list_users", &json!({"structuredContent": users, "content": []}));
        let projects = json!([{"id": 7, "name": "alpha"}]).to_string();
        seeds.add_answer("list_projects", &json!({"content": [{"type": "text", "text": projects}]}));
        seeds.add_answer(
            "list_files",
            &json!({"content": [{"type": "text", "text": "[FILE] a.txt\n[DIR] sub\nno file here"}]}),
        );
        seeds
            .add_answer("status", &json!({"content": [{"type": "text", "text": "Session ID: s-9\n- **Mode**: fast"}]}));
        seeds.add_given("describe_sheets", &json!({"workbook": "/srv/book.xlsx", "sheet": "Sheet1", "rows": [1]}));
        for (tool, argument, expected) in [
            ("read_sheet", "workbook", Some(json!("/srv/book.xlsx"))),
            ("read_sheet", "sheet", Some(json!("Sheet1"))),
            ("get_user", "id", Some(json!("u1"))),
            ("get_order", "userId", Some(json!("u1"))),
            ("get_user", "email", Some(json!("a@b.c"))),
            ("delete_project", "project_id", Some(json!(7))),
            ("open", "project", Some(json!(7))),
            ("read", "path", Some(json!("a.txt"))),
            ("resume", "session_id", Some(json!("s-9"))),
            ("set", "mode", Some(json!("fast"))),
            ("paint", "colour", None),
        ] {
            assert_eq!(best(&seeds, tool, argument), expected, "{tool} {argument}");
        }
    }

    #[test]
    fn a_value_fits_an_argument_by_the_words_of_both() {
        let seed = |names: &[&str], tool: &str, value: Value| {
            let mut seeds = Seeds::default();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            seeds.add(&names, tool, value, "a test");
            seeds.found.remove(0)
        };
        for (tool, argument, seed, expected) in [
            ("get_user", "id", seed(&["users", "id"], "list_users", json!("u1")), Some(100)),
            ("get_order", "id", seed(&["users", "id"], "list_users", json!("u1")), Some(90)),
            ("get_order", "user_id", seed(&["users", "id"], "list_users", json!("u1")), Some(85)),
            ("merge", "branch_name", seed(&["branches", "name"], "list_branches", json!("main")), Some(85)),
            ("route", "address_id", seed(&["addresses", "id"], "list_addresses", json!(3)), Some(85)),
            ("get_order", "team_id", seed(&["users", "id"], "list_users", json!("u1")), Some(45)),
            ("get_user", "id", seed(&["user_id"], "login", json!("u1")), Some(80)),
            ("get_order", "id", seed(&["user_id"], "login", json!("u1")), Some(40)),
            ("open", "project", seed(&["projects", "name"], "list_projects", json!("alpha")), Some(70)),
            ("read", "path", seed(&[], "list_files", json!("a.txt")), Some(60)),
            ("read", "path", seed(&["home"], "status", json!("/srv/a")), Some(55)),
            ("close", "box", seed(&[], "list_boxes", json!("inbox")), Some(35)),
            ("paint", "query", seed(&["colour"], "palette", json!("red")), Some(30)),
            // A number is not searched for, and nothing ties a colour to a count.
            ("paint", "query", seed(&["total"], "palette", json!(7)), None),
            ("paint", "count", seed(&["colour"], "palette", json!("red")), None),
            ("paint", "colour", seed(&[], "list_files", json!("a.txt")), None),
        ] {
            assert_eq!(fit(&words(tool), &words(argument), &seed), expected, "{tool} {argument} {seed:?}");
        }
    }

    #[test]
    fn lines_of_plain_text_show_values_and_sentences_do_not() {
        for (line, expected) in [
            ("ID: 7", Some(("id", json!("7")))),
            ("- **Mode**: `fast`", Some(("mode", json!("fast")))),
            ("Name: \"Ann\"", Some(("name", json!("Ann")))),
            ("[FILE] a.txt", Some(("", json!("a.txt")))),
            ("* inbox", Some(("", json!("inbox")))),
            ("https://a.example/b", Some(("", json!("https://a.example/b")))),
            ("Nothing was found", None),
            ("[FILE] two words", None),
            ("Note: ", None),
            (&format!("{}: 7", "a very long name ".repeat(3)), None),
            ("---", None),
        ] {
            let mut seeds = Seeds::default();
            seeds.add_line(line, "show", "a test");
            let found = seeds.found.first().map(|seed| (seed.name.join(" "), seed.value.clone()));
            assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)), "{line}");
        }
    }

    #[test]
    fn values_of_one_object_belong_together() {
        let mut seeds = Seeds::default();
        let rows = json!({"rows": [{"owner": "ann", "repo": "x"}, {"owner": "bob", "repo": "y"}]});
        seeds.add_answer("list", &json!({"structuredContent": rows}));
        let record = |argument: &str, value: &str| {
            let found = seeds.for_argument("get", argument);
            found.into_iter().find(|(_, seed)| seed.value == value).map(|(_, seed)| seed.record)
        };
        assert_eq!(record("owner", "bob"), record("repo", "y"));
        assert_ne!(record("owner", "ann"), record("repo", "y"));
    }
}
