//! Masks folders and search paths of this machine in messages of servers, which would differ on another machine.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::files::real_path;
use crate::source::replace_path;
use crate::transport::environment::is_same_name;

/// Environment variables that hold paths.
const PATH_VARIABLES: [&str; 4] = ["HOME", "PATH", "TMPDIR", "USERPROFILE"];

/// Paths and their placeholders.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachinePaths(Vec<(String, String)>);

impl MachinePaths {
    /// The folder of a suite, and what the environment names.
    pub(crate) fn of(folder: &Path, environment: &BTreeMap<String, String>) -> Self {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let folder = real_path(folder).ok().map(|folder| (folder.display().to_string(), "<folder>".to_owned()));
        let named = environment.iter().filter_map(|(name, value)| {
            let known = PATH_VARIABLES.iter().find(|known| is_same_name(known, name))?;
            Some((value.clone(), format!("<{known}>")))
        });
        let mut machine_paths: Vec<_> = folder.into_iter().chain(named).filter(|(place, _)| place.len() > 3).collect();
        // The longest first: one place may lie in another.
        machine_paths.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        Self(machine_paths)
    }

    /// One more path.
    pub(crate) fn with(mut self, path: &Path, stand_in: &str) -> Self {
        self.0.push((path.display().to_string(), stand_in.to_owned()));
        self.0.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        self
    }

    /// The value with placeholders for paths.
    pub(crate) fn mask(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.mask(item)).collect(),
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, self.mask(value))).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    fn text(&self, text: String) -> String {
        self.0.iter().fold(text, |text, (place, stand_in)| replace_path(&text, place, stand_in))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_masked_whole() {
        let environment = [("HOME", "/home/ann"), ("TMPDIR", "/home/ann/tmp"), ("LANG", "C.UTF-8")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let machine_paths = MachinePaths::of(Path::new("/no/such/folder"), &environment);
        let check =
            |text: &str, expected: &str| assert_eq!(machine_paths.mask(json!([{"a": text}])), json!([{"a": expected}]));
        check("in /home/ann/tmp/x and '/home/ann'", "in <TMPDIR>/x and '<HOME>'");
        check("/home/anna, C.UTF-8", "/home/anna, C.UTF-8");
        check("/home/ann", "<HOME>");
    }
}
