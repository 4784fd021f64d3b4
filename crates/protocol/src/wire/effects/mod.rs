//! The effects of calling a tool, as far as its hints, name and description tell.
//!
//! Hints are what the specification has for it (`ToolAnnotations`), and most servers give none. A tool without them may
//! destroy something, by the specification's defaults; only one whose own words leave no doubt counts as a reader.

mod verbs;

use self::verbs::{
    CHANGING_VERBS, CODE, COMMANDS, COMPUTING, DESTRUCTIVE_IN_NAMES, DESTRUCTIVE_VERBS, FAR_REACHING_VERBS,
    LEADING_CHANGING_VERBS, LOOKING, NEGATIONS, READING_VERBS, RUNNING, UNDOUBTED_VERBS,
};
use super::Tool;
use crate::source::words;

impl Tool {
    /// The tool changes nothing: its hints say so, or it has none and its name and description are clearly a reader's.
    pub fn only_reads(&self) -> bool {
        match self.hint("readOnlyHint") {
            Some(only_reads) => only_reads,
            None => self.hint("destructiveHint") != Some(true) && self.sounds_like_a_reader(),
        }
    }

    /// A call could do harm that cannot be undone, according to the hints, or to the name where there are none; commands
    /// reach beyond the server, whatever the hints say.
    pub fn may_destroy(&self) -> bool {
        match (self.hint("readOnlyHint"), self.hint("destructiveHint")) {
            (Some(true), _) => false,
            _ if self.takes_commands() => true,
            (_, Some(destructive)) => destructive || name_sounds_destructive(&self.name),
            (Some(false), None) => true,
            (None, None) => name_sounds_destructive(&self.name),
        }
    }

    /// Its name can hardly mean anything but destruction, whatever its hints say: a verb of destroying comes first or
    /// last, and no other word says that the tool only looks.
    pub fn sounds_destructive(&self) -> bool {
        let words = words(&self.name);
        let ends = [words.first(), words.last()];
        ends.into_iter().flatten().any(|word| UNDOUBTED_VERBS.contains(&word.as_str())) && !has_any(&words, LOOKING)
    }

    /// An argument holds a command for a shell, to be executed now or later.
    fn takes_commands(&self) -> bool {
        let arguments = self.input_schema()["properties"].as_object().into_iter().flatten();
        arguments.flat_map(|(name, _)| words(name)).any(|word| COMMANDS.contains(&word.as_str()))
    }

    /// It runs code from callers, so that errors of an interpreter may be about that.
    pub fn runs_code(&self) -> bool {
        let arguments = self.input_schema()["properties"].as_object().into_iter().flatten();
        has_any(&words(&self.name), RUNNING)
            || arguments.flat_map(|(name, _)| words(name)).any(|word| CODE.contains(&word.as_str()))
    }

    /// It computes what callers write, and is not meant to run programs: every word that speaks of code speaks of sums.
    pub fn computes_sums(&self) -> bool {
        let arguments = self.input_schema()["properties"].as_object().into_iter().flatten();
        let name = words(&self.name).into_iter().filter(|word| RUNNING.contains(&word.as_str()));
        let arguments = arguments.flat_map(|(name, _)| words(name)).filter(|word| CODE.contains(&word.as_str()));
        let words: Vec<String> = name.chain(arguments).collect();
        !words.is_empty() && words.iter().all(|word| COMPUTING.contains(&word.as_str()))
    }

    /// A verb of changing stands in its name or its description, whatever its hints say.
    pub fn speaks_of_a_change(&self) -> bool {
        let description = self.raw["description"].as_str().unwrap_or_default();
        names_a_change(&words(&self.name)) || describes_a_change(description)
    }

    /// A verb of changing stands in its name.
    pub fn names_a_change(&self) -> bool {
        names_a_change(&words(&self.name))
    }

    /// It says that it writes, or has a name that says so.
    pub fn writes(&self) -> bool {
        self.hint("readOnlyHint").map_or_else(|| self.names_a_change(), |only_reads| !only_reads)
    }

    /// It says that it deals with other machines.
    pub fn declares_open_world(&self) -> bool {
        self.hint("openWorldHint") == Some(true)
    }

    fn hint(&self, name: &str) -> Option<bool> {
        self.raw["annotations"][name].as_bool()
    }

    /// A verb of reading in the name or at the beginning of the description, and none of changing in either.
    fn sounds_like_a_reader(&self) -> bool {
        let description = self.raw["description"].as_str().unwrap_or_default();
        let reads =
            has_any(&words(&self.name), READING_VERBS) || first_verb(description).is_some_and(|verb| is_reading(&verb));
        reads && !self.speaks_of_a_change() && !executes_any_statement(description)
    }
}

/// A description says that statements of callers are executed, and not that they only read: `query` may be any of them.
fn executes_any_statement(description: &str) -> bool {
    let spoken: Vec<String> = description
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty())
        .collect();
    let has = |words: &[&str]| spoken.iter().any(|word| words.contains(&word.as_str()));
    let executes = spoken.first().is_some_and(|verb| ["execute", "run"].iter().any(|known| is_form_of(verb, known)));
    executes && has(&["query", "queries", "statement", "statements", "sql"]) && !has(&["select", "read", "search"])
}

fn names_a_change(name: &[String]) -> bool {
    let leads = |word: &&str| LEADING_CHANGING_VERBS.contains(word) || FAR_REACHING_VERBS.contains(word);
    [CHANGING_VERBS, DESTRUCTIVE_VERBS, DESTRUCTIVE_IN_NAMES].iter().any(|verbs| has_any(name, verbs))
        || name.first().is_some_and(|first| leads(&first.as_str()))
}

/// A description has a verb of changing in its base form or its third person, unless it is denied: `updated` describes
/// a state, and `does not modify` denies the change.
fn describes_a_change(description: &str) -> bool {
    let spoken: Vec<String> = description
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .collect();
    spoken.iter().enumerate().any(|(at, word)| {
        let is_denied = spoken[at.saturating_sub(3)..at].iter().any(|word| NEGATIONS.contains(&word.as_str()));
        !is_denied && CHANGING_VERBS.iter().chain(DESTRUCTIVE_VERBS).any(|verb| is_form_of(word, verb))
    })
}

/// `create`, `creates`, `modifies`.
fn is_form_of(word: &str, verb: &str) -> bool {
    word == verb
        || word.strip_suffix('s').is_some_and(|stem| stem == verb || stem == format!("{verb}e"))
        || verb.strip_suffix('y').is_some_and(|stem| word == format!("{stem}ies"))
}

fn first_verb(description: &str) -> Option<String> {
    let first = description.split_whitespace().next()?;
    Some(first.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
}

fn is_reading(word: &str) -> bool {
    READING_VERBS.iter().any(|verb| is_form_of(word, verb))
}

fn name_sounds_destructive(name: &str) -> bool {
    let words = words(name);
    words.first().is_some_and(|first| FAR_REACHING_VERBS.contains(&first.as_str()))
        || has_any(&words, DESTRUCTIVE_VERBS)
        || has_any(&words, DESTRUCTIVE_IN_NAMES)
}

fn has_any(words: &[String], verbs: &[&str]) -> bool {
    words.iter().any(|word| verbs.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn harm_is_read_from_hints_and_names() {
        let check = |raw: Value, expected: bool| assert_eq!(Tool::new(raw.clone()).may_destroy(), expected, "{raw}");
        check(json!({"name": "get_user"}), false);
        check(json!({"name": "deleteUser"}), true);
        check(json!({"name": "drop-table"}), true);
        check(json!({"name": "dropdown"}), false);
        check(json!({"name": "DROP_TABLE"}), true);
        check(json!({"name": "HTTPDelete"}), true);
        check(json!({"name": "delete_x", "annotations": {"readOnlyHint": true}}), false);
        check(json!({"name": "write", "annotations": {"readOnlyHint": false}}), true);
        check(json!({"name": "write", "annotations": {"readOnlyHint": false, "destructiveHint": false}}), false);
        check(json!({"name": "write", "annotations": {"destructiveHint": true}}), true);
        let task = |argument: &str, hints: Value| {
            let properties = json!({argument: {"type": "string"}});
            json!({"name": "add_task", "annotations": hints, "inputSchema": {"properties": properties}})
        };
        check(task("shellCommand", json!({"readOnlyHint": false, "destructiveHint": false})), true);
        check(task("cmd", json!({})), true);
        check(task("command", json!({"readOnlyHint": true})), false);
        check(task("schedule", json!({})), false);
    }

    #[test]
    fn names_accuse_where_they_leave_no_doubt() {
        let check = |name: &str, expected: bool| {
            assert_eq!(Tool::new(json!({"name": name})).sounds_destructive(), expected, "{name}");
        };
        for accused in ["delete_user", "deleteUser", "users.delete", "PURGE_CACHE", "wipe"] {
            check(accused, true);
        }
        for innocent in [
            "get_delete_history",
            "preview_delete",
            "format_text",
            "remove_stopwords",
            "list_deleted",
            "reset_password",
        ] {
            check(innocent, false);
        }
    }

    #[test]
    fn readers_are_clear_from_hints_names_and_descriptions() {
        let check = |name: &str, description: &str, expected: bool| {
            let tool = Tool::new(json!({"name": name, "description": description}));
            assert_eq!(tool.only_reads(), expected, "{name}: {description}");
        };
        for reader in ["get_user", "listUsers", "git_status", "search-nodes", "echo", "read_query", "get_order"] {
            check(reader, "", true);
        }
        for other in [
            "create_user",
            "write_query",
            "get_or_create_user",
            "run_query",
            "users",
            "order_list",
            "set_status",
            "query_and_update",
            "send_info",
            "get_login_url_or_create",
        ] {
            check(other, "", false);
        }
        for session in ["login", "logout", "sign_in", "signUp", "authenticate", "authorize_device"] {
            check(session, "Logs in, and gets a session.", false);
        }
        check("get_login_url", "Gets the page where users log in.", true);
        check("weather", "Returns the weather of a city.", true);
        check("weather", "The weather of a city.", false);
        check("list_changes", "Lists recently updated issues; it never creates or deletes any.", true);
        check("read_items", "Use it before create_item.", true);
        check("query", "Execute an INSERT, UPDATE, or DELETE query", false);
        check("query", "Execute a query on the DuckDB database", false);
        check("query", "Executes a SELECT query", true);
        check("query", "Run a read-only SQL query", true);
        check("query", "Queries the documentation", true);
        check("get_session", "Gets the session, and creates one where there is none.", false);
        check("check_in", "Modifies the booking.", false);
    }

    #[test]
    fn tools_that_run_what_callers_write() {
        let check = |name: &str, argument: &str, expected: bool| {
            let schema = json!({"properties": {argument: {"type": "string"}}});
            assert_eq!(Tool::new(json!({"name": name, "inputSchema": schema})).runs_code(), expected, "{name}");
        };
        check("run_python", "text", true);
        check("analyze", "sourceCode", true);
        check("get_user", "id", false);
    }

    #[test]
    fn hints_come_before_words() {
        let check = |hints: Value, expected: bool| {
            for name in ["get_user", "create_user"] {
                let tool = Tool::new(json!({"name": name, "annotations": hints}));
                assert_eq!(tool.only_reads(), expected, "{name} {hints}");
            }
        };
        check(json!({"readOnlyHint": true}), true);
        check(json!({"readOnlyHint": false, "destructiveHint": false}), false);
        check(json!({"destructiveHint": true}), false);
    }
}
