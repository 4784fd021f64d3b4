//! From the arguments of a tool to the command line of this program.
//!
//! A value stands in one word with its flag, in a word that cannot begin with a dash, or behind `--`: none becomes a flag.

use serde_json::Value;

use super::folder::Folder;

/// A command line that grows.
struct CommandLine<'a> {
    arguments: &'a Value,
    folder: &'a Folder,
    words: Vec<String>,
}

/// The words behind the name of the program, for arguments that fit the schema of the tool; or what to change.
pub(super) fn command_line(tool: &str, arguments: &Value, folder: &Folder) -> Result<Vec<String>, String> {
    let command = if tool == "coverage" { "fault-coverage" } else { tool };
    let words = ["--color=never", command].map(str::to_owned).to_vec();
    let mut line = CommandLine { arguments, folder, words };
    line.add(tool)?;
    if line.words.iter().any(|word| word.len() > LONGEST_WORD || word.contains('\0')) {
        return Err(UNPASSABLE.to_owned());
    }
    Ok(line.words)
}

/// The most bytes of a word; systems refuse longer ones than about 128 KiB.
const LONGEST_WORD: usize = 100 * 1024;

const UNPASSABLE: &str = "an argument is longer than 100 KiB or holds a NUL character, which no command line can carry; send less, or put the call into a suite";

impl CommandLine<'_> {
    /// Adds the words of a tool.
    fn add(&mut self, tool: &str) -> Result<(), String> {
        let (arguments, folder) = (self.arguments, self.folder);
        let line = self;
        match tool {
            "check" | "coverage" => line.suites()?,
            "plan" => {
                line.value("filter", "--filter", "");
                line.suites()?;
            }
            "run" => {
                // How far the run is would be noise in the result.
                line.words.extend(["--quiet", "--report=agent=-"].map(str::to_owned));
                line.flag("last_failed", "--last-failed");
                line.selection();
                line.value("budget_seconds", "--budget", "s");
                line.value("repeat", "--repeat", "");
                line.suites()?;
            }
            // The format for agents has a single line about a proof; the text has the lines that would kill survivors.
            "prove" => {
                if arguments["all_survivors"] == true {
                    line.words.push("--survivors=all".to_owned());
                }
                if let Some(recording) = arguments["recording"].as_str() {
                    line.words.push(format!("--recording={}", folder.file(recording)?));
                }
                line.selection();
                line.value("budget_seconds", "--budget", "s");
                line.suites()?;
            }
            "grow" => {
                line.flag("dry_run", "--dry-run");
                line.values("tools", "--tools");
                line.value("until_percent", "--until", "");
                line.value("budget_seconds", "--budget", "s");
                let suite = folder.file(text(arguments, "suite"))?;
                line.words.push(suite);
            }
            "findings" => {
                if let Some(state) = arguments["state"].as_str() {
                    line.words.push(format!("--state-dir={}", folder.file(state)?));
                }
                match arguments["id"].as_str() {
                    Some(id) => line.words.extend(["show", "--", id].map(str::to_owned)),
                    None => line.words.push("list".to_owned()),
                }
            }
            "tools" => {
                line.values("names", "--name");
                line.server()?;
                line.command()?;
            }
            "call" => {
                line.value("timeout_seconds", "--timeout", "s");
                line.server()?;
                line.words.push(text(arguments, "tool").to_owned());
                if let Some(values) = arguments.get("arguments") {
                    line.words.push(values.to_string());
                }
                line.command()?;
            }
            _ => line.words.extend(["--".to_owned(), text(arguments, "code").to_owned()]),
        }
        Ok(())
    }

    fn flag(&mut self, name: &str, flag: &str) {
        if self.arguments[name] == true {
            self.words.push(flag.to_owned());
        }
    }

    /// Adds a flag with the value of an argument, if it is given.
    fn value(&mut self, name: &str, flag: &str, unit: &str) {
        let value = &self.arguments[name];
        // JSON Schema counts `5.0` as an integer, too.
        let number = value.as_f64().map(|number| number.to_string());
        let value = value.as_str().map(str::to_owned).or(number);
        self.words.extend(value.map(|value| format!("{flag}={value}{unit}")));
    }

    /// Adds a flag for each text of a list.
    fn values(&mut self, name: &str, flag: &str) {
        self.words.extend(texts(self.arguments, name).map(|value| format!("{flag}={value}")));
    }

    /// The flags of commands that run suites.
    fn selection(&mut self) {
        self.value("filter", "--filter", "");
        self.flag("read_only", "--read-only");
    }

    fn suites(&mut self) -> Result<(), String> {
        for typed in texts(self.arguments, "suites") {
            self.words.push(self.folder.suite(typed)?);
        }
        Ok(())
    }

    /// Adds the flags that name the server, if it is not named by its command.
    fn server(&mut self) -> Result<(), String> {
        let given = ["command", "url", "file"].into_iter().filter(|way| self.arguments.get(way).is_some()).count();
        if given != 1 {
            return Err("name the server by exactly one of `command`, `url` and `file`".to_owned());
        }
        let file = self.arguments["file"].as_str();
        if file.is_none() && self.arguments.get("server").is_some() {
            return Err("`server` names a server of `file`, and no `file` is given; leave it out".to_owned());
        }
        self.value("url", "--url", "");
        if let Some(file) = file {
            self.words.push(format!("--config={}", self.folder.file(file)?));
        }
        self.value("server", "--server", "");
        Ok(())
    }

    fn command(&mut self) -> Result<(), String> {
        let words: Vec<&str> = texts(self.arguments, "command").collect();
        if let [only] = words[..]
            && is_description(only)
        {
            return Err(format!("`{only}` is a file that describes servers, and no command; name it as `file`"));
        }
        if !words.is_empty() {
            self.words.push("--".to_owned());
            self.words.extend(words.into_iter().map(str::to_owned));
        }
        Ok(())
    }
}

/// A word is a file that describes servers, with the name of one of them or without.
fn is_description(word: &str) -> bool {
    let file = word.rsplit_once(':').map_or(word, |(file, _)| file);
    [word, file]
        .iter()
        .any(|path| [".json", ".yml", ".yaml"].iter().any(|end| path.to_ascii_lowercase().ends_with(end)))
}

fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}

fn texts<'a>(arguments: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    arguments[name].as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn words(tool: &str, arguments: &Value) -> Result<String, String> {
        let folder = Folder::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
        Ok(command_line(tool, arguments, &folder)?.join(" "))
    }

    #[test]
    fn arguments_become_words() {
        for (tool, arguments, expected) in [
            ("check", json!({ "suites": ["lib.rs", "."] }), "check lib.rs ."),
            (
                "run",
                json!({ "suites": ["lib.rs:3"], "filter": "--yes", "last_failed": true, "read_only": false, "repeat": 5.0, "budget_seconds": 50 }),
                "run --quiet --report=agent=- --last-failed --filter=--yes --budget=50s --repeat=5 lib.rs:3",
            ),
            (
                "prove",
                json!({ "suites": ["."], "recording": "main.rs", "all_survivors": true, "read_only": true, "budget_seconds": 9 }),
                "prove --survivors=all --recording=main.rs --read-only --budget=9s .",
            ),
            (
                "grow",
                json!({ "suite": "./lib.rs", "dry_run": true, "tools": ["get_*", "-x"], "until_percent": 80 }),
                "grow --dry-run --tools=get_* --tools=-x --until=80 lib.rs",
            ),
            ("tools", json!({ "url": "http://127.0.0.1:1/mcp" }), "tools --url=http://127.0.0.1:1/mcp"),
            ("tools", json!({ "command": ["node", "--help"], "names": ["a"] }), "tools --name=a -- node --help"),
            (
                "call",
                json!({ "tool": "add", "arguments": { "a": 2 }, "file": "main.rs", "server": "-x", "timeout_seconds": 3 }),
                "call --timeout=3s --config=main.rs --server=-x add {\"a\":2}",
            ),
            ("call", json!({ "tool": "add", "command": ["-y"] }), "call add -- -y"),
            ("explain", json!({ "code": "--help" }), "explain -- --help"),
            ("plan", json!({ "suites": ["lib.rs"], "filter": "--yes" }), "plan --filter=--yes lib.rs"),
            ("coverage", json!({ "suites": ["."] }), "fault-coverage ."),
            ("findings", json!({}), "findings list"),
            ("findings", json!({ "id": "--help", "state": "cli" }), "findings --state-dir=cli show -- --help"),
        ] {
            assert_eq!(words(tool, &arguments), Ok(format!("--color=never {expected}")));
        }
    }

    #[test]
    fn what_cannot_be_a_command_line_says_what_to_change() {
        for (tool, arguments, expected) in [
            ("tools", json!({}), "exactly one of"),
            ("tools", json!({ "command": ["a"], "url": "http://a" }), "exactly one of"),
            ("call", json!({ "tool": "add", "command": ["a"], "server": "b" }), "no `file` is given"),
            ("tools", json!({ "command": ["../mcp.json:users"] }), "name it as `file`"),
            ("explain", json!({ "code": "a\0b" }), "NUL character"),
            (
                "call",
                json!({ "tool": "a", "arguments": { "b": "c".repeat(LONGEST_WORD) }, "command": ["d"] }),
                "100 KiB",
            ),
            ("tools", json!({ "file": "../Cargo.toml" }), "outside the folder"),
            ("prove", json!({ "suites": ["."], "recording": "/" }), "outside the folder"),
            ("grow", json!({ "suite": "../Cargo.toml" }), "outside the folder"),
            ("findings", json!({ "state": ".." }), "outside the folder"),
            ("run", json!({ "suites": ["--yes"] }), "there is no file or folder `--yes`"),
        ] {
            let refused = words(tool, &arguments).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
