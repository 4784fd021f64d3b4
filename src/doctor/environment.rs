//! Variables that a server misses in its environment, by what it writes to standard error.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Examination;
use crate::plan::arguments::ConfigSource;
use crate::source::{shorten, visible_line};
use crate::wire::surroundings_lack;

const NAME: &str = "environment";

/// The number of characters of a line that are quoted.
const QUOTED: usize = 160;

/// Words that say of a variable that it has no value, in lower case.
const MISSING: [&str; 10] = [
    "keyerror",
    "missing",
    "required",
    "not set",
    "must be set",
    "unset",
    "not provided",
    "not configured",
    "please set",
    "environment variable",
];

/// Words that say so in a line about the environment only: elsewhere, they tell of mistakes in a program.
const MISSING_IN_ENVIRONMENT: [&str; 3] = ["not defined", "undefined", "not found"];

/// Something that a server says it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lack {
    /// A variable of this name, by this line.
    Variable { name: String, line: String },
    /// Something else of its surroundings: a network, a program, a key.
    Other(String),
}

/// The first thing that lines of standard error say is missing; variables that the server has are not.
pub(crate) fn find_lack(stderr: &[String], has: &dyn Fn(&str) -> bool) -> Option<Lack> {
    #[expect(clippy::unwrap_used, reason = "the pattern is constant")]
    static VARIABLE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b").unwrap());
    let says_missing = |line: &str| {
        let line = line.to_lowercase();
        let has_any = |words: &[&str]| words.iter().any(|word| line.contains(word));
        has_any(&MISSING) || line.contains("env") && has_any(&MISSING_IN_ENVIRONMENT)
    };
    let is_variable = |name: &str| !name.starts_with("ERR_") && !has(name);
    let named = stderr.iter().filter(|line| says_missing(line)).find_map(|line| {
        let name = VARIABLE.find_iter(line).map(|found| found.as_str()).find(|name| is_variable(name))?;
        Some(Lack::Variable { name: name.to_owned(), line: shorten(&visible_line(line.trim()), QUOTED) })
    });
    named.or_else(|| stderr.iter().find_map(|line| surroundings_lack(line)).map(Lack::Other))
}

/// Judges what a server says it lacks; it is wrong if it did not start, and otherwise a doubt.
pub(crate) fn judge_lack(
    lack: &Lack,
    has_started: bool,
    own: &BTreeMap<String, String>,
    config_source: ConfigSource,
) -> Examination {
    let judge = if has_started { Examination::doubtful } else { Examination::wrong };
    match lack {
        Lack::Variable { name, line } => {
            let give = match config_source {
                ConfigSource::Flags => format!("`--env {name}`"),
                ConfigSource::Suite => format!("`env: {{ {name}: \"{{{{ env.{name} }}}}\" }}` in the suite"),
            };
            let cure = if own.contains_key(name) {
                format!("it is set in your shell, and a server gets only what it is given: pass it on with {give}")
            } else {
                format!("set it, and pass it on with {give}")
            };
            judge(NAME, format!("it asks for the variable `{name}`"), cure).with_evidence(vec![line.clone()])
        }
        Lack::Other(line) => {
            let cure = "give it what it asks for; of your environment it gets only `PATH`, `HOME` and the like, and what \
                        `--env NAME` names";
            judge(NAME, "it lacks something of this machine".to_owned(), cure.to_owned())
                .with_evidence(vec![line.clone()])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables() {
        for (line, expected) in [
            ("KeyError: 'WEATHER_API_KEY'", Some("WEATHER_API_KEY")),
            ("Error: GITHUB_TOKEN is required", Some("GITHUB_TOKEN")),
            ("SLACK_BOT_TOKEN environment variable is not set", Some("SLACK_BOT_TOKEN")),
            ("Please set DATABASE_URL and start again", Some("DATABASE_URL")),
            // The server has it.
            ("Error: GIVEN_TOKEN is required to be longer", None),
            ("code: 'ERR_MODULE_NOT_FOUND', required by", None),
            ("listening with LOG_LEVEL=debug", None),
            ("KeyError: 'name'", None),
            ("NameError: name 'MAX_SIZE' is not defined", None),
            ("TypeError: Cannot read properties of undefined (reading 'MAX_SIZE')", None),
            ("process.env.API_TOKEN is not defined", Some("API_TOKEN")),
        ] {
            let found = find_lack(&[line.to_owned()], &|name| name == "GIVEN_TOKEN");
            let name = found.and_then(|found| if let Lack::Variable { name, .. } = found { Some(name) } else { None });
            assert_eq!(name.as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn the_cure_depends_on_who_has_the_variable() {
        let lack = Lack::Variable { name: "A_KEY".to_owned(), line: "A_KEY is required".to_owned() };
        let own = BTreeMap::from([("A_KEY".to_owned(), "secret".to_owned())]);
        for (own, source, expected) in [
            (
                &own,
                ConfigSource::Flags,
                "it is set in your shell, and a server gets only what it is given: pass it on with `--env A_KEY`",
            ),
            (&BTreeMap::new(), ConfigSource::Flags, "set it, and pass it on with `--env A_KEY`"),
            (
                &BTreeMap::new(),
                ConfigSource::Suite,
                "set it, and pass it on with `env: { A_KEY: \"{{ env.A_KEY }}\" }` in the suite",
            ),
        ] {
            assert_eq!(judge_lack(&lack, false, own, source).cure.as_deref(), Some(expected));
        }
    }
}
