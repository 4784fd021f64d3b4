//! Arguments that a shell would execute, that an interpreter would evaluate, or that a program would take for its options:
//! each leaves a file in a folder that is watched. Works where the answer shows nothing, and time says nothing.
//!
//! The name of the file is in no argument as it is: a shell or an interpreter has to add two numbers to come to it, so that a tool that
//! only makes files of its arguments makes another one. An option names its file as it is, since programs compute nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::SecuritySettings;
use super::address_part;
use super::outside::{WatchedFolder, end_of_replaced};
use super::probed_tool::ProbedTool;
use crate::check::CheckEnd;
use crate::check::canary::Canaries;
use crate::check::evidence::shown_call;
use crate::event::{CheckResult, Finding, Outcome};
use crate::plan::put::Parameter;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::SessionReply;
use crate::source::words;

/// The time in which a program that the last call started may leave its file.
const AFTER_LAST_CALL: Duration = Duration::from_millis(150);

/// Words of the names of parameters that are meant to be options or commands.
const OPTION_WORDS: [&str; 15] = [
    "args",
    "argv",
    "arguments",
    "options",
    "opts",
    "flags",
    "flag",
    "switches",
    "command",
    "commands",
    "cmd",
    "script",
    "code",
    "shell",
    "program",
];

/// A tool, and arguments that nobody must execute.
#[derive(Debug)]
pub(crate) struct ExecutionCheck {
    pub(crate) settings: Arc<SecuritySettings>,
    pub(crate) tool: String,
}

impl Check for ExecutionCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

/// The kind of interpreter that an argument reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interpreter {
    Shell,
    /// Of a programming language.
    Evaluator,
    OptionParser,
}

/// An argument, and the file that exists if it was executed.
struct ExecutionPayload {
    interpreter: Interpreter,
    text: String,
    leaves: String,
}

async fn run(check: &ExecutionCheck, context: &CheckContext<'_>) -> CheckResult {
    let mut canaries = Canaries::random();
    let folder = match WatchedFolder::temporary(&mut canaries) {
        Ok(folder) => folder,
        Err(error) => {
            return CheckResult::inconclusive(format!("no folder could be made in which a file would show: {error}"));
        }
    };
    let mut probed = match ProbedTool::begin(context, &check.settings, &check.tool).await {
        Ok(probed) => probed,
        Err(result) => return *result,
    };
    let is_named = check.settings.names(&check.tool);
    if probed.parameters(|parameter| takes_text(parameter, is_named)).is_empty() {
        let ended = probed.end(None, "").await;
        let why = format!("no argument of `{}` takes a text that is neither a command nor an option", check.tool);
        return if ended.outcome == Outcome::Failed { ended } else { CheckResult::not_applicable(why) };
    }
    let mut search = ExecutionSearch { folder, number: 0, sent: Vec::new(), probed: &mut probed };
    let halt = search.search(is_named).await;
    if !search.probed.has_found() {
        tokio::time::sleep(AFTER_LAST_CALL).await;
        search.judge(None);
    }
    let halt = halt.err().or_else(|| search.folder.replacement().map(end_of_replaced));
    drop(search);
    probed.end(halt, "none was executed").await
}

/// A parameter takes a text that is not meant to be executed; all texts of a tool that the suite names count.
fn takes_text(parameter: &Parameter<'_>, is_named: bool) -> bool {
    (is_named || !takes_options(parameter)) && parameter.with(&json!("mcprove")).is_some()
}

/// A parameter is meant to hold options or a command if its name says so.
fn takes_options(parameter: &Parameter<'_>) -> bool {
    words(parameter.name()).iter().any(|word| OPTION_WORDS.contains(&word.as_str()))
}

/// Sends the payloads, and looks into the folder after each.
struct ExecutionSearch<'a, 'b> {
    folder: WatchedFolder,
    number: usize,
    /// The commands that were sent and have not left a file so far.
    sent: Vec<SentPayload>,
    probed: &'a mut ProbedTool<'b>,
}

/// A payload that was sent.
struct SentPayload {
    payload: ExecutionPayload,
    parameter: String,
}

impl ExecutionSearch<'_, '_> {
    async fn search(&mut self, is_named: bool) -> Result<(), CheckEnd> {
        let base = self.probed.base.clone();
        self.probed.call_validly(base).await?;
        for parameter in self.probed.parameters(|parameter| takes_text(parameter, is_named)) {
            let valid = parameter.text().unwrap_or_default().to_owned();
            let mut reached = None;
            for payload in self.payloads(&valid) {
                let is_meant = payload.interpreter == Interpreter::OptionParser && takes_options(&parameter);
                let Some(arguments) = parameter.with(&json!(payload.text)) else { continue };
                if is_meant || reached == Some(payload.interpreter) {
                    continue;
                }
                if let Some(replacement) = self.folder.replacement() {
                    return Err(end_of_replaced(replacement));
                }
                self.sent.push(SentPayload { payload, parameter: parameter.name().to_owned() });
                let reply = self.probed.call(&arguments).await;
                reached = self.judge(reply.as_ref().ok().and_then(Option::as_ref)).or(reached);
                reply?;
            }
        }
        let parameters = self.probed.parameters(|parameter| takes_text(parameter, is_named));
        for parameter in &parameters {
            address_part::attack(self.probed, parameter).await?;
        }
        Ok(())
    }

    /// Reports the payload whose file is there, and says what it reached.
    fn judge(&mut self, reply: Option<&SessionReply>) -> Option<Interpreter> {
        let is_left = |sent: &SentPayload| self.folder.has(&sent.payload.leaves);
        let at = self.sent.iter().rposition(is_left)?;
        let sent = self.sent.swap_remove(at);
        let _ = self.folder.restore();
        self.probed.note(finding(&self.probed.subject(), &sent), reply.map(shown_call));
        Some(sent.payload.interpreter)
    }

    /// The payloads for a parameter with that valid value, each with a file of its own.
    fn payloads(&mut self, valid: &str) -> Vec<ExecutionPayload> {
        let folder = self.folder.path().to_owned();
        let options = OPTIONS.iter().map(|option| (Interpreter::OptionParser, *option, ""));
        // A command that is taken apart at its spaces.
        let options = options.chain(std::iter::once((Interpreter::OptionParser, " --output=FILE", valid)));
        let shells = SHELL_COMMANDS.iter().map(|command| (Interpreter::Shell, *command, valid));
        let bare = SHELL_COMMANDS.iter().take(BARE).map(|command| (Interpreter::Shell, *command, ""));
        let bare = bare.filter(|_| !valid.is_empty());
        let code = CODE.iter().map(|code| (Interpreter::Evaluator, *code, ""));
        let all = options.chain(shells).chain(bare).chain(code);
        all.map(|(interpreter, pattern, before)| {
            self.number += 1;
            payload(interpreter, &format!("{before}{pattern}"), &folder, self.number)
        })
        .collect()
    }
}

/// The finding about a payload whose file exists.
fn finding(subject: &str, sent: &SentPayload) -> Finding {
    let SentPayload { payload, parameter } = sent;
    let (code, message, help) = match payload.interpreter {
        Interpreter::Shell => (
            "executed-argument",
            format!("`{subject}` has a shell execute its argument `{parameter}`"),
            "start programs without a shell, and give them their arguments one by one",
        ),
        Interpreter::Evaluator => (
            "evaluated-argument",
            format!("`{subject}` evaluates its argument `{parameter}` as code"),
            "parse the value with a parser that knows nothing but what is meant, and never with `eval`",
        ),
        Interpreter::OptionParser => (
            "argument-as-option",
            format!("`{subject}` gives its argument `{parameter}` to a program that takes it for an option"),
            "refuse values that begin with `-`, or put `--` or `--end-of-options` before them",
        ),
    };
    let found = Finding::new(code, message)
        .with_evidence("argument", payload.text.clone())
        .with_evidence("effect", format!("the file `{}` was created in an empty folder", payload.leaves));
    Finding { help: Some(help.to_owned()), ..found }
}

/// Shell commands, with `FILE` where the path of a file stands; the first ones work without a valid value before them.
const SHELL_COMMANDS: [&str; 10] = [
    "$(touch FILE)",
    "`touch FILE`",
    ";touch FILE;",
    "|touch FILE",
    "\ntouch FILE\n",
    "&touch FILE&",
    "\";touch FILE;\"",
    "';touch FILE;'",
    "\"$(touch FILE)\"",
    "&&touch FILE",
];

/// The number of them that are tried without a valid value before them.
const BARE: usize = 5;

/// Options of common programs that write a file or start a program: `git diff`, `sort`, `curl`, `wget`, `kubectl`, `pip`,
/// `git fetch`, `git grep`, `ssh`, `find`.
const OPTIONS: [&str; 12] = [
    "--output=FILE",
    "-oFILE",
    "--output-file=FILE",
    "--log-file=FILE",
    "--cache-dir=FILE",
    "--upload-pack=touch FILE",
    "-utouch FILE",
    "--open-files-in-pager=touch FILE",
    "-oProxyCommand=touch FILE",
    "--exec=touch FILE",
    "-fprint FILE",
    "--config=core.fsmonitor=touch FILE",
];

/// Code of Python, JavaScript and Ruby that writes a file.
const CODE: [&str; 5] = [
    "open('FOLDER/mcp'+str(4100+37)+'rove-NUMBER','w')",
    "__import__('pathlib').Path('FOLDER/mcp'+str(4100+37)+'rove-NUMBER').touch()",
    "process.getBuiltinModule('fs').writeFileSync('FOLDER/mcp'+(4100+37)+'rove-NUMBER','')",
    "require('fs').writeFileSync('FOLDER/mcp'+(4100+37)+'rove-NUMBER','')",
    "File.write('FOLDER/mcp'+(4100+37).to_s+'rove-NUMBER','')",
];

fn payload(interpreter: Interpreter, pattern: &str, folder: &Path, number: usize) -> ExecutionPayload {
    let computed = format!("mcp4137rove-{number}");
    let (written, leaves) = match interpreter {
        Interpreter::Shell => (format!("mcp$((4100+37))rove-{number}"), computed),
        Interpreter::Evaluator => (String::new(), computed),
        Interpreter::OptionParser => (format!("option-{number}"), format!("option-{number}")),
    };
    let file = folder.join(written);
    let text = pattern.replace("FILE", &file.display().to_string()).replace("FOLDER", &folder.display().to_string());
    ExecutionPayload { interpreter, text: text.replace("NUMBER", &number.to_string()), leaves }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::put::parameters;

    #[test]
    fn the_file_of_a_shell_is_in_no_argument() {
        let made = payload(Interpreter::Shell, SHELL_COMMANDS[0], Path::new("/tmp/x"), 7);
        assert_eq!(made.text, "$(touch /tmp/x/mcp$((4100+37))rove-7)");
        assert!(!made.text.contains(&made.leaves));
        let made = payload(Interpreter::Evaluator, CODE[0], Path::new("/tmp/x"), 7);
        assert_eq!(made.text, "open('/tmp/x/mcp'+str(4100+37)+'rove-7','w')");
        let made = payload(Interpreter::OptionParser, OPTIONS[0], Path::new("/tmp/x"), 8);
        assert_eq!(made.text, "--output=/tmp/x/option-8");
    }

    #[test]
    fn texts_that_are_meant_to_be_executed_are_left_alone() {
        for (name, schema, is_named, expected) in [
            ("message", json!({"type": "string"}), false, true),
            ("branch", json!({"type": "string"}), false, true),
            ("command", json!({"type": "string"}), false, false),
            ("extra_args", json!({"type": "string"}), false, false),
            // The suite names the tool, so all of its texts are meant.
            ("command", json!({"type": "string"}), true, true),
            ("limit", json!({"type": "integer"}), false, false),
            ("kind", json!({"type": "string", "enum": ["a", "b"]}), true, false),
        ] {
            let schema = json!({"type": "object", "properties": {name: schema}});
            let parameters = parameters(&schema, &json!({}));
            let takes = parameters.iter().any(|parameter| takes_text(parameter, is_named));
            assert_eq!(takes, expected, "{name} {is_named}");
        }
    }

    #[test]
    fn a_finding_says_who_executed_the_argument() {
        for (interpreter, code, message) in [
            (Interpreter::Shell, "executed-argument", "`run` has a shell execute its argument `name`"),
            (Interpreter::Evaluator, "evaluated-argument", "`run` evaluates its argument `name` as code"),
            (
                Interpreter::OptionParser,
                "argument-as-option",
                "`run` gives its argument `name` to a program that takes it for an option",
            ),
        ] {
            let payload = payload(interpreter, "FILE", Path::new("/tmp/x"), 1);
            let found = finding("run", &SentPayload { payload, parameter: "name".to_owned() });
            assert_eq!((found.code.as_str(), found.message.as_str()), (code, message));
        }
    }
}
