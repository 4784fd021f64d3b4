//! `mcprove call`, `read`, `prompt` and `complete`: one request, and its answer as people read it.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Map, Value, json};

use super::parsing::duration;
use super::saved_call::GrowingSuite;
use super::visiting::{CurrentStep, VisitWords, plan_of, visit};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb};
use crate::event::Finding;
use crate::files::FilePlace;
use crate::init::CallAsTest;
use crate::plan::{BoxFuture, CloseServer, OpenServer};
use crate::redact::{Redactor, hold_a_secret};
use crate::runner::{ServerVisit, Visitor};
use crate::session::SessionRequest;
use crate::show::{ArgumentQuestion, Signature, answer_text, questions, read_arguments};
use crate::source::{did_you_mean, duration_text, visible_line};
use crate::suite::AdHocCommand;
use crate::transport::Owner;
use crate::wire::{Catalog, is_served};

/// The server of one request, and the form of its answer.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Prints the whole response as JSON.
    #[arg(long)]
    json: bool,
    /// Prints every message of the session to standard error, a line for each.
    #[arg(long)]
    frames: bool,
    /// The time for the answer.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    server: ServerArgs,
    /// The command that starts the server; `demo` is the built-in demo server, `mcp.json:NAME` one of a file.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Calls a tool of a server, and shows its answer; exits with 1 if the call fails.
#[derive(Debug, Args)]
pub(crate) struct ToolCallArgs {
    /// The tool.
    tool: String,
    /// Its arguments as `name=value`, which are read as the schema of the tool says, or all of them as one JSON object.
    arguments: Vec<String>,
    /// Asks in the terminal for the arguments that are not given, one by one.
    #[arg(long, short)]
    interactive: bool,
    /// Adds the call and what it answered as a test to this suite, which is made if it is not there; a tool that changes nothing is called twice, to see what stays the same.
    #[arg(long, value_name = "FILE")]
    save: Option<FilePlace>,
    #[command(flatten)]
    ask: AskArgs,
}

/// Reads a resource of a server, and shows its contents.
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The address of the resource, such as `users://all`.
    uri: String,
    #[command(flatten)]
    ask: AskArgs,
}

/// Gets a prompt of a server, and shows its messages.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The prompt.
    name: String,
    /// Its arguments as `name=value`, or all of them as one JSON object.
    arguments: Vec<String>,
    #[command(flatten)]
    ask: AskArgs,
}

/// Asks a server to complete an argument of a prompt or of a resource template, and shows the values.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The prompt, or the template of a resource as the server lists it, such as `users://{id}`.
    reference: String,
    /// The argument and the beginning of its value, such as `id=u`.
    #[arg(value_name = "NAME=BEGINNING")]
    argument: String,
    #[command(flatten)]
    ask: AskArgs,
}

/// A request, as far as it can be made without knowing the server.
#[derive(Debug)]
enum TypedRequest {
    Call { tool: String, arguments: Vec<String> },
    Read { uri: String },
    Prompt { name: String, arguments: Vec<String> },
    Complete { reference: String, argument: String },
}

/// A request that is ready to be sent.
#[derive(Debug, PartialEq)]
struct ReadyRequest {
    method: &'static str,
    params: Value,
    /// Sentences about it that the user should know.
    doubts: Vec<String>,
}

/// A question that cannot be asked, and what to do.
#[derive(Debug, PartialEq)]
struct UnaskableQuestion {
    message: String,
    help: Option<String>,
}

pub(crate) fn call(args: ToolCallArgs, console: &Console) -> Result<Exit, Exit> {
    if args.interactive && !io::stdin().is_terminal() {
        let message = "`--interactive` asks for arguments in a terminal, and standard input is none";
        return Err(console.fail(Exit::Usage, message, Some("write the arguments as `name=value`")));
    }
    let question = TypedRequest::Call { tool: args.tool, arguments: args.arguments };
    let extras = CallExtras { is_interactive: args.interactive, save: args.save };
    ask(&args.ask, AdHocCommand::Call, question, &extras, console)
}

pub(crate) fn read(args: ReadArgs, console: &Console) -> Result<Exit, Exit> {
    ask(&args.ask, AdHocCommand::Read, TypedRequest::Read { uri: args.uri }, &CallExtras::default(), console)
}

pub(crate) fn prompt(args: PromptArgs, console: &Console) -> Result<Exit, Exit> {
    let question = TypedRequest::Prompt { name: args.name, arguments: args.arguments };
    ask(&args.ask, AdHocCommand::Prompt, question, &CallExtras::default(), console)
}

pub(crate) fn complete(args: CompleteArgs, console: &Console) -> Result<Exit, Exit> {
    let question = TypedRequest::Complete { reference: args.reference, argument: args.argument };
    ask(&args.ask, AdHocCommand::Complete, question, &CallExtras::default(), console)
}

/// What `call` does beside the call.
#[derive(Debug, Default)]
struct CallExtras {
    is_interactive: bool,
    save: Option<FilePlace>,
}

/// Asks a server one question, and shows its answer.
fn ask(
    args: &AskArgs,
    command: AdHocCommand,
    question: TypedRequest,
    extras: &CallExtras,
    console: &Console,
) -> Result<Exit, Exit> {
    if args.command.is_empty() && !args.server.names_server() {
        let example = question.example();
        let help = format!(
            "write `{example} -- node server.js`, `{example} --url http://127.0.0.1:3000/mcp`, or `{example} --config mcp.json`"
        );
        return Err(console.fail(Exit::Usage, "name the server to ask", Some(&help)));
    }
    let verb = Verb { command, does: "ask" };
    let members = Map::from_iter([("schema_lint".to_owned(), json!({}))]);
    let plan = plan_of(verb, &args.command, &args.server, members, console)?;
    let targets: usize = plan.suites.iter().map(|planned| planned.targets.len()).sum();
    if targets != 1 {
        // A call may change something, and is made once.
        let message = format!("one request goes to one server in one revision, and these are {targets}");
        let help = "name one revision with `--revision`, and one server with `--config FILE --server NAME`";
        return Err(console.fail(Exit::Usage, message, Some(help)));
    }
    let called = plan.suites.first().and_then(|planned| planned.suite.servers.values().next());
    let suite = match (&extras.save, called) {
        (Some(file), Some(called)) => {
            let written = args.server.suite_entry(verb, &args.command, console)?;
            Some(GrowingSuite::open(file, called, written, console)?)
        }
        _ => None,
    };
    let current = CurrentStep::default();
    let asker = Asker {
        question,
        timeout: args.timeout,
        is_interactive: extras.is_interactive,
        is_saved: suite.is_some(),
        current: current.clone(),
    };
    let words = VisitWords { undone: "nothing was asked", slow: None };
    let answers = visit(plan, &asker, &current, words, console)?;
    let Some(answer) = answers.outputs.into_iter().next() else {
        let message = "nothing was asked: the server speaks none of the revisions that were asked for";
        return Err(console.fail(Exit::Nothing, message, None));
    };
    if args.frames {
        answer.frames.iter().for_each(|frame| console.note(&frame.to_string()));
    }
    let (doubts, replied) =
        answer.result.map_err(|mistake| console.fail(Exit::Usage, mistake.message, mistake.help.as_deref()))?;
    for doubt in &doubts {
        console.note(&format!("warning: {}", visible_line(doubt)));
    }
    let Replied { message, elapsed } = replied.map_err(|found| {
        console.error(&found.message, found.help.as_deref());
        found.evidence.iter().for_each(|(name, text)| console.note(&format!("{name}: {text}")));
        Exit::Environment
    })?;
    let text = if args.json { format!("{message:#}\n") } else { answer_text(&message) };
    console.part(&text)?;
    let is_served = is_served(&message);
    let took = duration_text(elapsed);
    console.note(&if is_served {
        format!("answered in {took}")
    } else if message.get("error").is_some() {
        format!("refused in {took}")
    } else {
        format!("the tool reported an error after {took}")
    });
    if let (Some(suite), Some(CallToSave { tool, arguments, answer, again })) = (&suite, &answer.call) {
        let call = CallAsTest { tool, arguments, answer, again: again.as_ref() };
        suite.add(&call, console)?;
    }
    Ok(if is_served { Exit::Passed } else { Exit::Findings })
}

/// The answer to a question, without secrets.
struct RedactedAnswer {
    result: Result<(Vec<String>, Result<Replied, Finding>), UnaskableQuestion>,
    frames: Vec<Value>,
    /// The call, where it is saved.
    call: Option<CallToSave>,
}

/// A call that was answered, without secrets.
struct CallToSave {
    tool: String,
    arguments: Map<String, Value>,
    answer: Value,
    again: Option<Value>,
}

struct Replied {
    message: Value,
    elapsed: Duration,
}

/// Asks the servers that it visits.
struct Asker {
    question: TypedRequest,
    timeout: Duration,
    is_interactive: bool,
    is_saved: bool,
    current: CurrentStep,
}

impl Visitor for Asker {
    type Output = RedactedAnswer;

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<RedactedAnswer, Finding>> {
        Box::pin(async move {
            let ServerVisit { context, redactor, .. } = visit;
            let nothing = |mistake| RedactedAnswer { result: Err(mistake), frames: Vec::new(), call: None };
            let mut request = match self.question.request(context.catalog) {
                Ok(request) => request,
                Err(mistake) => return Ok(nothing(mistake)),
            };
            let tool = request.params["name"].as_str().and_then(|name| context.catalog.tool(name));
            if let Some(tool) = tool.filter(|_| self.is_interactive)
                && let Err(mistake) = self.ask_for_arguments(&tool.arguments_schema(), &mut request).await
            {
                return Ok(nothing(mistake));
            }
            if self.is_saved && holds_secrets(&request.params["arguments"], redactor) {
                return Ok(nothing(UnaskableQuestion {
                    message: "a call whose arguments hold a secret cannot be saved".to_owned(),
                    help: Some("write the test by hand, with `{{ env.NAME }}` in place of the secret".to_owned()),
                }));
            }
            let session = context.servers.open(OpenServer::FRESH).await?;
            let begun = Instant::now();
            let ReadyRequest { method, params, doubts } = request;
            let asked = || SessionRequest {
                owner: &Owner::Session,
                method,
                params: Some(params.clone()),
                timeout: Some(self.timeout),
                progress: false,
            };
            let replied = session.request(asked()).await;
            let elapsed = begun.elapsed();
            let mut call = None;
            if let (true, Some(tool), Ok(reply)) = (self.is_saved, tool, &replied) {
                let is_repeatable = tool.only_reads() && is_served(&reply.message);
                let again = if is_repeatable { session.request(asked()).await.ok() } else { None };
                call = Some(CallToSave {
                    tool: tool.name.clone(),
                    arguments: params["arguments"].as_object().cloned().unwrap_or_default(),
                    answer: without_secrets(&reply.message, redactor),
                    again: again.map(|again| without_secrets(&again.message, redactor)),
                });
            }
            let frames = session.frames();
            context.servers.close(&session, CloseServer::AfterTeardown).await;
            let frames = frames.iter().map(|frame| redactor.value(frame.to_json())).collect();
            let replied = replied
                .map(|reply| Replied { message: redactor.value((*reply.message).clone()), elapsed })
                .map_err(|failure| Finding::from(&failure));
            Ok(RedactedAnswer { result: Ok((doubts, replied)), frames, call })
        })
    }
}

impl Asker {
    /// Asks in the terminal for the arguments that the request lacks.
    async fn ask_for_arguments(&self, schema: &Value, request: &mut ReadyRequest) -> Result<(), UnaskableQuestion> {
        // Nobody needs to be told that the program waits.
        self.current.set(String::new());
        let mut arguments = request.params["arguments"].as_object().cloned().unwrap_or_default();
        for question in questions(schema, &arguments) {
            let name = question.name.clone();
            let asked = tokio::task::spawn_blocking(move || ask_in_terminal(&question)).await;
            let Ok(Some(answer)) = asked else {
                let message = format!("the input ended before `{}` was answered", visible_line(&name));
                return Err(UnaskableQuestion { message, help: None });
            };
            arguments.extend(answer.map(|value| (name, value)));
        }
        request.doubts.retain(|doubt| !doubt.starts_with("the required argument"));
        request.params["arguments"] = arguments.into();
        Ok(())
    }
}

/// The answer to a question, which is asked until it is valid; `None` at the end of the input.
#[expect(clippy::option_option, reason = "an argument may be left out")]
fn ask_in_terminal(question: &ArgumentQuestion) -> Option<Option<Value>> {
    let mut prompt = question.text();
    loop {
        let _ = io::stderr().write_all(prompt.as_bytes());
        let mut line = String::new();
        if io::stdin().read_line(&mut line).ok()? == 0 {
            return None;
        }
        match question.parse_answer(&line) {
            Ok(value) => return Some(value),
            Err(reason) => prompt = format!("  {reason}\n> "),
        }
    }
}

/// Returns true if arguments must not be written down.
fn holds_secrets(arguments: &Value, redactor: &Redactor) -> bool {
    hold_a_secret(arguments) || redactor.value(arguments.clone()) != *arguments
}

/// A response, or no more than whether it was served where it holds secrets.
fn without_secrets(message: &Value, redactor: &Redactor) -> Value {
    if redactor.value(message.clone()) == *message {
        return message.clone();
    }
    match message.get("error") {
        Some(error) => json!({"error": {"code": error["code"]}}),
        None => json!({"result": {"isError": message["result"]["isError"]}}),
    }
}

impl TypedRequest {
    /// The beginning of the command line that asks it, without words that are no arguments.
    fn example(&self) -> String {
        let with = |command: &str, name: &String, arguments: &[String]| {
            let arguments = arguments.iter().filter(|word| word.contains('=') || word.starts_with('{'));
            [command.to_owned(), name.clone()].into_iter().chain(arguments.cloned()).collect()
        };
        let words = match self {
            Self::Call { tool, arguments } => with("call", tool, arguments),
            Self::Read { uri } => vec!["read".to_owned(), uri.clone()],
            Self::Prompt { name, arguments } => with("prompt", name, arguments),
            Self::Complete { reference, argument } => {
                vec!["complete".to_owned(), reference.clone(), argument.clone()]
            }
        };
        format!("mcprove {}", shell_words::join(words))
    }

    /// The request that asks it of a server with this offer.
    fn request(&self, catalog: &Catalog) -> Result<ReadyRequest, UnaskableQuestion> {
        match self {
            Self::Call { tool, arguments } => {
                let names = || catalog.tools.iter().map(|tool| tool.name.as_str());
                let Some(listed) = catalog.tool(tool) else { return Err(unknown("tool", tool, names())) };
                let read = read_arguments(arguments, &listed.arguments_schema()).map_err(|message| {
                    let signature = Signature::of(listed);
                    UnaskableQuestion { message, help: Some(format!("it is called as `{}`", signature.line())) }
                })?;
                let params = json!({"name": tool, "arguments": read.arguments});
                Ok(ReadyRequest { method: "tools/call", params, doubts: read.doubts })
            }
            Self::Read { uri } => {
                Ok(ReadyRequest { method: "resources/read", params: json!({"uri": uri}), doubts: Vec::new() })
            }
            Self::Prompt { name, arguments } => {
                let listed = catalog.prompts.iter().find(|prompt| prompt["name"] == **name);
                let names = || catalog.prompts.iter().filter_map(|prompt| prompt["name"].as_str());
                let Some(listed) = listed else { return Err(unknown("prompt", name, names())) };
                let read = read_arguments(arguments, &schema_of_prompt(listed))
                    .map_err(|message| UnaskableQuestion { message, help: None })?;
                let params = json!({"name": name, "arguments": read.arguments});
                Ok(ReadyRequest { method: "prompts/get", params, doubts: read.doubts })
            }
            Self::Complete { reference, argument } => {
                let (name, value) = argument.split_once('=').ok_or_else(|| UnaskableQuestion {
                    message: format!("`{argument}` has no `=`"),
                    help: Some("write the argument and the beginning of its value: `id=u`".to_owned()),
                })?;
                let is_template =
                    catalog.resource_templates.iter().any(|template| template["uriTemplate"] == **reference);
                let to = if is_template || reference.contains("://") {
                    json!({"type": "ref/resource", "uri": reference})
                } else {
                    json!({"type": "ref/prompt", "name": reference})
                };
                let params = json!({"ref": to, "argument": {"name": name, "value": value}});
                Ok(ReadyRequest { method: "completion/complete", params, doubts: Vec::new() })
            }
        }
    }
}

/// The arguments of a prompt, which are texts, as a schema.
fn schema_of_prompt(prompt: &Value) -> Value {
    let arguments = || prompt["arguments"].as_array().into_iter().flatten();
    let names = arguments().filter_map(|argument| argument["name"].as_str());
    let required = arguments().filter(|argument| argument["required"] == true).map(|argument| argument["name"].clone());
    let properties: Map<_, _> = names.map(|name| (name.to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": required.collect::<Vec<_>>()})
}

fn unknown<'a>(noun: &str, name: &str, offered: impl Iterator<Item = &'a str> + Clone) -> UnaskableQuestion {
    let help = did_you_mean(name, offered.clone()).unwrap_or_else(|| match offered.clone().count() {
        0 => format!("it offers no {noun}s"),
        _ => format!("`mcprove tools` lists what it offers: {}", offered.take(8).collect::<Vec<_>>().join(", ")),
    });
    UnaskableQuestion {
        message: format!("the server has no {noun} `{}`", visible_line(name)),
        help: Some(visible_line(&help).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Tool;

    #[test]
    fn questions_become_requests() {
        let add = json!({"name": "add", "inputSchema": {"properties": {"a": {"type": "number"}}, "required": ["a"]}});
        let catalog = Catalog {
            tools: vec![Tool::new(add)],
            prompts: vec![json!({"name": "greet", "arguments": [{"name": "name", "required": true}]})],
            resource_templates: vec![json!({"uriTemplate": "users://{id}"})],
            ..Catalog::default()
        };
        let words = |word: &str| vec![word.to_owned()];
        let call = |tool: &str, word: &str| TypedRequest::Call { tool: tool.to_owned(), arguments: words(word) };
        let complete =
            |reference: &str| TypedRequest::Complete { reference: reference.to_owned(), argument: "id=u".to_owned() };
        let greet = TypedRequest::Prompt { name: "greet".to_owned(), arguments: words("name=7") };
        for (question, method, params) in [
            (call("add", "a=2"), "tools/call", json!({"name": "add", "arguments": {"a": 2}})),
            (greet, "prompts/get", json!({"name": "greet", "arguments": {"name": "7"}})),
            (
                complete("users://{id}"),
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "users://{id}"}, "argument": {"name": "id", "value": "u"}}),
            ),
            (
                complete("greet"),
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "id", "value": "u"}}),
            ),
        ] {
            assert_eq!(
                question.request(&catalog),
                Ok(ReadyRequest { method, params, doubts: Vec::new() }),
                "{question:?}"
            );
        }
        let misspelt = call("addd", "a=2").request(&catalog).unwrap_err();
        assert_eq!(misspelt.help.as_deref(), Some("did you mean `add`?"));
        let wordless = call("add", "2").request(&catalog).unwrap_err();
        assert_eq!(wordless.help.as_deref(), Some("it is called as `add(a: number)`"));
    }
}
