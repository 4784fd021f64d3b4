//! Suggested tests can be pasted one after another: no two of them have one name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::event::{Addition, MutantResult};
use crate::plan::Plan;
use crate::source::yaml_writer as yaml;

/// Numbers the tests whose name a test of the suite has, or another suggestion; equal suggestions keep one name.
pub(crate) fn keep_names_apart(mutants: &mut [MutantResult], additions: &mut [Addition], plan: &Plan) {
    let mut apart = NamesApart::default();
    for planned in &plan.suites {
        let names = planned.suite.tests.iter().map(|test| test.name.value.clone());
        apart.taken.insert(planned.suite.file.clone(), names.collect());
    }
    for missing in mutants.iter_mut().flat_map(|mutant| &mut mutant.missing) {
        missing.yaml = apart.named(&missing.file, &missing.yaml);
    }
    for addition in additions.iter_mut().filter(|addition| addition.at.is_none()) {
        addition.yaml = apart.named(&addition.file, &addition.yaml);
    }
}

#[derive(Debug, Default)]
struct NamesApart {
    /// The names by file.
    taken: BTreeMap<String, BTreeSet<String>>,
    /// What became of the suggestions of a file.
    known: BTreeMap<(String, String), String>,
}

impl NamesApart {
    /// A suggestion for a file, with a name that only it has there.
    fn named(&mut self, file: &str, suggestion: &str) -> String {
        let key = (file.to_owned(), suggestion.to_owned());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let taken = self.taken.entry(file.to_owned()).or_default();
        let named = renamed(suggestion, taken).unwrap_or_else(|| suggestion.to_owned());
        self.known.insert(key, named.clone());
        named
    }
}

/// The suggestion with another name; `None` where it has a name of its own, which is taken from now on, or none.
fn renamed(suggestion: &str, taken: &mut BTreeSet<String>) -> Option<String> {
    let mut value = yaml::read_value(suggestion)?;
    let name = value.get(0)?.get("name")?.as_str()?.to_owned();
    if taken.insert(name.clone()) {
        return None;
    }
    let free =
        (2..=taken.len() + 2).map(|number| format!("{name} ({number})")).find(|name| taken.insert(name.clone()))?;
    value[0]["name"] = Value::from(free);
    let notes = suggestion.lines().take_while(|line| line.starts_with("# ")).flat_map(|line| [line, "\n"]);
    Some(notes.collect::<String>() + &yaml::block(&value, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_where_they_collide() {
        let mut apart = NamesApart::default();
        apart.taken.entry("s.yml".to_owned()).or_default().insert("known".to_owned());
        let test = |name: &str, tool: &str| format!("- name: {name}\n  call: {tool}\n");
        for (file, suggestion, expected) in [
            ("s.yml", test("a", "x"), test("a", "x")),
            ("s.yml", test("a", "x"), test("a", "x")),
            ("s.yml", test("a", "w"), test("a (2)", "w")),
            ("s.yml", test("a", "z"), test("a (3)", "z")),
            ("s.yml", test("a", "w"), test("a (2)", "w")),
            ("s.yml", format!("# pinned\n{}", test("known", "x")), format!("# pinned\n{}", test("known (2)", "x"))),
            ("other.yml", test("a", "w"), test("a", "w")),
            (
                "s.yml",
                "run_options:\n  start_timeout: 5s\n".to_owned(),
                "run_options:\n  start_timeout: 5s\n".to_owned(),
            ),
        ] {
            assert_eq!(apart.named(file, &suggestion), expected);
        }
    }
}
