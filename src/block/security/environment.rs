//! Secrets that nothing that the server sends may show: a variable that only this server is started with, and those that
//! the suite gives it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::SecuritySettings;
use super::secrets::{self, KnownSecret};
use crate::check::canary::Canaries;
use crate::event::{CheckResult, Finding, Outcome, Reason, Severity};
use crate::matching::words_of;
use crate::plan::generated::text_node;
use crate::plan::witness::{arguments_for_call, filled_arguments};
use crate::plan::{BoxFuture, Check, CheckContext, CloseServer, OpenServer, ServerChoice};
use crate::redact::Redactor;
use crate::session::{CallFailure, FailureReason, Session, SessionRequest};
use crate::source::{Located, beginning, words};
use crate::suite::StartChanges;
use crate::wire::{Catalog, Channel, Direction, Frame, ListKind, Tool};

/// The variable that holds the secret.
const VARIABLE: &str = "MCPROVE_SECRET_API_KEY";

/// A tool that no server lists.
const UNKNOWN_TOOL: &str = "mcprove_no_such_tool";

/// The most tools that are called.
const MOST_TOOLS: usize = 100;

/// The most completions that are asked for.
const MOST_COMPLETIONS: usize = 16;

/// The longest part of a message that is printed, in characters.
const SHOWN: usize = 300;

/// The wait for output on standard error after the last answer.
const AFTER_LAST_CALL: Duration = Duration::from_millis(200);

/// The tools of a server, and a secret in its environment.
#[derive(Debug)]
pub(crate) struct EnvironmentCheck {
    pub(crate) settings: Arc<SecuritySettings>,
}

impl Check for EnvironmentCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &EnvironmentCheck, context: &CheckContext<'_>) -> CheckResult {
    let span = check.settings.span;
    let mut added = StartChanges::default();
    let mut secrets = KnownSecret::of_suite(context);
    if context.suite.servers[context.server_name].is_started() {
        let canary = Canaries::random().make();
        added.env.push((Located { value: VARIABLE.to_owned(), span }, text_node(&canary, span)));
        secrets.insert(0, KnownSecret::canary(VARIABLE, canary));
    }
    if secrets.is_empty() {
        return CheckResult::not_applicable(
            "the server is not started by a command, so it gets no variable, and no credentials either".to_owned(),
        );
    }
    let session = match context
        .servers
        .open(OpenServer { server: ServerChoice::Configured(&added), ..OpenServer::FRESH })
        .await
    {
        Ok(session) => session,
        Err(found) => return CheckResult::unavailable(found),
    };
    let mut visit = EnvironmentVisit {
        context,
        session: &session,
        deadline: Instant::now() + check.settings.time,
        served: 0,
        calls: 0,
        slow: Vec::new(),
    };
    let ended = visit.call_everything(&check.settings).await.err();
    let (served, calls, slow) = (visit.served, visit.calls, std::mem::take(&mut visit.slow));
    tokio::time::sleep(AFTER_LAST_CALL).await;
    let protocol_revision = session.server.revision.to_string();
    let frames = session.frames();
    let exit = context.servers.close(&session, CloseServer::AfterTeardown).await.exit;
    let seen = SeenVisit { frames: &frames, calls, served, slow: &slow, ended, exit };
    CheckResult { protocol_revision, ..verdict(&secrets, seen) }
}

/// The findings about calls of every tool.
struct SeenVisit<'a> {
    frames: &'a [Frame],
    calls: usize,
    served: usize,
    /// The slow tools, which were called once.
    slow: &'a [String],
    /// The call with which the server ended.
    ended: Option<Box<CallFailure>>,
    /// The exit of the server afterwards.
    exit: Option<Finding>,
}

fn verdict(secrets: &[KnownSecret], seen: SeenVisit<'_>) -> CheckResult {
    let SeenVisit { frames, calls, served, slow, ended, exit } = seen;
    let shown: Vec<(&KnownSecret, &Frame)> =
        secrets.iter().filter_map(|secret| Some((secret, secret.first_shown(frames)?))).collect();
    if !shown.is_empty() {
        let redactor = secrets::redactor(secrets);
        let findings = shown.iter().map(|(secret, frame)| finding(secret, frame, frames, &redactor)).collect();
        let frames = shown.iter().map(|(_, frame)| frame.seq).collect();
        return CheckResult { frames, ..CheckResult::with_findings(Outcome::Failed, findings) };
    }
    if let Some(found) = ended.map(|failure| Finding::from(&*failure)).or(exit) {
        return CheckResult::with_findings(Outcome::Failed, vec![found]);
    }
    if calls == 0 {
        return CheckResult::not_applicable("the server lists no tool that may be called".to_owned());
    }
    if served == 0 {
        let mut received = frames.iter().filter(|frame| frame.direction == Direction::Received);
        let lack = received.find_map(|frame| {
            let message = frame.json().ok()?;
            Reason::of_refusal(&words_of(&message))
        });
        return match lack {
            Some(why) => CheckResult::because(Outcome::Inconclusive, why),
            None => CheckResult::inconclusive("the server served no call, so nothing of its environment could show"),
        };
    }
    let places: Vec<&str> = secrets.iter().map(|secret| secret.place.as_str()).collect();
    let places = places.join(", ");
    let once = if slow.is_empty() { String::new() } else { format!("; only once, since slow: {}", slow.join(", ")) };
    let reason = format!("{calls} calls, {served} of them served, and no message shows {places}{once}");
    CheckResult { reason: Some(Reason::Measured(reason)), ..CheckResult::new(Outcome::Passed) }
}

/// The calls of a tool: a valid one, one whose texts name nothing, one without arguments, and one whose arguments are of no
/// use; of a slow tool only the first.
fn ways_to_call(tool: &Tool, valid: Value, is_slow: bool) -> Vec<Value> {
    if is_slow {
        return vec![valid];
    }
    // A tool that writes may keep what it is told.
    let unknown = tool.only_reads().then(|| with_unknown_texts(valid.clone()));
    let mut ways = Vec::new();
    for arguments in
        [Some(valid), unknown, Some(json!({})), Some(tool.input_schema()["properties"].clone())].into_iter().flatten()
    {
        if !ways.contains(&arguments) {
            ways.push(arguments);
        }
    }
    ways
}

/// Arguments whose texts name nothing that the server knows: its errors often show settings.
fn with_unknown_texts(mut arguments: Value) -> Value {
    if let Some(members) = arguments.as_object_mut() {
        for value in members.values_mut().filter(|value| value.is_string()) {
            *value = "mcprove-names-nothing".into();
        }
    }
    arguments
}

fn finding(secret: &KnownSecret, frame: &Frame, frames: &[Frame], redactor: &Redactor) -> Finding {
    let place = match frame.channel {
        Channel::Stderr => "standard error".to_owned(),
        Channel::Protocol | Channel::Http => place_of(frame, frames),
    };
    let (code, severity, what) = if secret.is_canary {
        ("leaked-environment", Severity::Critical, "a secret of the server's environment".to_owned())
    } else {
        ("leaked-secret", Severity::High, format!("a secret that the suite gave the server: {}", secret.place))
    };
    let mut found = Finding::new(code, format!("{place} shows {what}"))
        .with_evidence("secret", secret.place.clone())
        .with_evidence("shown", beginning(&redactor.text(&frame.text()), SHOWN));
    found.help = Some(
        "keep secrets and the environment out of results, errors and logs; say which settings may be shown".to_owned(),
    );
    found.severity = Some(severity);
    found.frame = Some(frame.seq);
    found
}

/// The request that a message answers, in words.
fn place_of(frame: &Frame, frames: &[Frame]) -> String {
    let message = frame.json().unwrap_or_default();
    if let Some(method) = message["method"].as_str() {
        return format!("the message `{method}`");
    }
    let sent = frames.iter().filter(|frame| frame.direction == Direction::Sent);
    let request =
        sent.filter_map(|frame| frame.json().ok()).find(|sent| !sent["id"].is_null() && sent["id"] == message["id"]);
    let request = request.unwrap_or_default();
    let name = request["params"]["name"].as_str().or(request["method"].as_str()).unwrap_or("an unknown request");
    format!("the answer of `{name}`")
}

/// A tool shows the environment on purpose if its own words say so.
fn shows_environment(tool: &Tool) -> bool {
    let description = tool.raw["description"].as_str().unwrap_or_default();
    let spoken = words(&tool.name).into_iter().chain(words(description));
    spoken.into_iter().any(|word| ["env", "environ", "environment", "getenv", "printenv"].contains(&word.as_str()))
}

/// Calls of a server.
struct EnvironmentVisit<'a> {
    context: &'a CheckContext<'a>,
    session: &'a Session,
    deadline: Instant,
    served: usize,
    calls: usize,
    /// The slow tools, which are called once, and last.
    slow: Vec<String>,
}

impl EnvironmentVisit<'_> {
    /// Lists everything, calls every tool validly and in ways that it must refuse, and asks for completions and a task.
    async fn call_everything(&mut self, settings: &SecuritySettings) -> Result<(), Box<CallFailure>> {
        for kind in ListKind::ALL {
            if !self.session.server.capabilities[kind.capability()].is_null() {
                self.request(kind.method(), json!({})).await?;
            }
        }
        let context = self.context;
        let tools = context.catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
        let called: Vec<&Tool> = tools.filter(|tool| !shows_environment(tool)).take(MOST_TOOLS).collect();
        let is_slow = |tool: &&&Tool| self.session.slow_tool(&tool.name).is_some();
        let (slow, quick): (Vec<&&Tool>, Vec<&&Tool>) = called.iter().partition(is_slow);
        self.slow = slow.iter().map(|tool| format!("`{}`", tool.name)).collect();
        for (tool, is_slow) in
            quick.into_iter().map(|tool| (tool, false)).chain(slow.into_iter().map(|tool| (tool, true)))
        {
            let Ok(valid) = filled_arguments(context, tool) else { continue };
            for arguments in ways_to_call(tool, valid, is_slow) {
                self.request("tools/call", json!({"name": tool.name, "arguments": arguments})).await?;
            }
        }
        if !self.session.server.capabilities["completions"].is_null() {
            for params in completions(context.catalog).take(MOST_COMPLETIONS) {
                self.request("completion/complete", params).await?;
            }
        }
        if !self.session.server.capabilities["tasks"]["requests"]["tools"]["call"].is_null() {
            self.follow_task(&called).await?;
        }
        if !self.session.server.capabilities["tools"].is_null() {
            self.request("tools/call", json!({"name": UNKNOWN_TOOL, "arguments": {}})).await?;
        }
        self.request("mcprove/no_such_method", json!({})).await.map(drop)
    }

    /// Calls the first tool that may be called as a task, and asks for everything that its task shows.
    async fn follow_task(&mut self, tools: &[&Tool]) -> Result<(), Box<CallFailure>> {
        let context = self.context;
        let callable = tools.iter().filter(|tool| takes_task(tool)).find_map(|tool| {
            let arguments = arguments_for_call(context.suite, context.server_name, tool).ok()?;
            Some((tool, context.fill(&arguments)?))
        });
        let Some((tool, arguments)) = callable else { return Ok(()) };
        let call = json!({"name": tool.name, "arguments": arguments, "task": {"ttl": 60_000}});
        let created = self.request("tools/call", call).await?;
        let task = json!({"taskId": created["result"]["task"]["taskId"]});
        self.request("tasks/list", json!({})).await?;
        let state = self.request("tasks/get", task.clone()).await?;
        let is_over = ["completed", "failed"].iter().any(|status| state["result"]["status"] == **status);
        self.request(if is_over { "tasks/result" } else { "tasks/cancel" }, task).await.map(drop)
    }

    /// The answer to a request; null where none came.
    async fn request(&mut self, method: &str, params: Value) -> Result<Value, Box<CallFailure>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || !self.session.is_open() {
            return Ok(Value::Null);
        }
        let tool = params["name"].as_str().filter(|_| method == "tools/call");
        let (session, owner) = (self.session, self.context.owner);
        if tool.is_some_and(|tool| session.is_silent(tool, owner, || true) || session.ends_server(tool, owner)) {
            return Ok(Value::Null);
        }
        // Nobody knows what it would answer for a tool that it does not have.
        if tool == Some(UNKNOWN_TOOL) && session.is_silent_server() {
            return Ok(Value::Null);
        }
        let (is_call, request_timeout) =
            (method == "tools/call" && params["name"] != UNKNOWN_TOOL, self.context.request_timeout);
        self.calls += usize::from(is_call);
        let request = SessionRequest {
            owner: self.context.owner,
            method,
            params: Some(params),
            timeout: Some(session.short_wait(method).unwrap_or(request_timeout).min(left)),
            // Servers report progress only to those who ask for it.
            progress: is_call,
        };
        match self.session.request(request).await {
            Ok(reply) => {
                self.served += usize::from(is_call && reply.is_served());
                Ok((*reply.message).clone())
            }
            Err(failure) if matches!(failure.reason, FailureReason::Exited(_)) => Err(Box::new(failure)),
            Err(_) => Ok(Value::Null),
        }
    }
}

/// Returns true if a tool may be called as a task.
fn takes_task(tool: &Tool) -> bool {
    tool.raw["execution"]["taskSupport"].as_str().is_some_and(|support| support != "forbidden")
}

/// Questions for the values of the first argument of each prompt and of each template of resources.
fn completions(catalog: &Catalog) -> impl Iterator<Item = Value> {
    let prompts = catalog.prompts.iter().filter_map(|prompt| {
        let argument = prompt["arguments"].get(0)?["name"].as_str()?;
        Some((json!({"type": "ref/prompt", "name": prompt["name"].as_str()?}), argument))
    });
    let templates = catalog.resource_templates.iter().filter_map(|template| {
        let uri = template["uriTemplate"].as_str()?;
        Some((json!({"type": "ref/resource", "uri": uri}), first_variable(uri)?))
    });
    prompts.chain(templates).map(|(subject, name)| json!({"ref": subject, "argument": {"name": name, "value": ""}}))
}

/// The name of the first variable of a URI template.
fn first_variable(template: &str) -> Option<&str> {
    let (_, rest) = template.split_once('{')?;
    let (expression, _) = rest.split_once('}')?;
    let name = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
    name.split([',', '*', ':']).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::frames;

    const SECRET: &str = "k7Qm2xR9vT4w";

    #[test]
    fn a_secret_shows_in_no_message_and_on_no_stream() {
        use Channel::{Protocol, Stderr};
        use Direction::{Received, Sent};
        let call = (Sent, Protocol, r#"{"id":1,"method":"tools/call","params":{"name":"get","arguments":{}}}"#);
        let plain = (Received, Protocol, r#"{"id":1,"result":{"content":[{"type":"text","text":"Ann"}]}}"#);
        let leak = (Received, Protocol, r#"{"id":1,"error":{"code":1,"message":"no access with k7Qm2xR9vT4w"}}"#);
        let told = (Sent, Protocol, r#"{"id":1,"method":"tools/call","params":{"arguments":{"q":"k7Qm2xR9vT4w"}}}"#);
        let log = (Received, Protocol, r#"{"method":"notifications/message","params":{"data":"k7Qm2xR9vT4w"}}"#);
        for (lines, expected) in [
            (vec![call, plain], "passed: "),
            (vec![call, leak], "failed: the answer of `get` shows a secret of the server's environment"),
            (
                vec![call, plain, log],
                "failed: the message `notifications/message` shows a secret of the server's environment",
            ),
            (
                vec![call, plain, (Received, Stderr, "key=k7Qm2xR9vT4w")],
                "failed: standard error shows a secret of the server's environment",
            ),
            // The value came from the client, so it may come back.
            (vec![told, leak], "passed: "),
        ] {
            let secrets = [KnownSecret::canary("API_KEY", SECRET.to_owned())];
            let frames = frames(&lines);
            let result = verdict(
                &secrets,
                SeenVisit { frames: &frames, calls: 1, served: 1, slow: &[], ended: None, exit: None },
            );
            let messages: Vec<&str> = result.findings.iter().map(|found| found.message.as_str()).collect();
            assert_eq!(format!("{}: {}", result.outcome.as_str(), messages.join("; ")), expected);
            let shown = result.findings.iter().flat_map(|found| &found.evidence);
            assert!(shown.into_iter().all(|(_, text)| !text.contains(SECRET)), "a report has no secret");
        }
    }

    #[test]
    fn nothing_shows_where_nothing_was_served() {
        let secrets = [KnownSecret::canary("API_KEY", SECRET.to_owned())];
        let seen = |served, exit| SeenVisit { frames: &[], calls: 3, served, slow: &[], ended: None, exit };
        let uncalled = SeenVisit { calls: 0, ..seen(0, None) };
        let exit = Finding::new("server-exited", "the server ended");
        for (seen, expected) in [
            (seen(0, None), Outcome::Inconclusive),
            (seen(0, Some(exit.clone())), Outcome::Failed),
            (seen(2, Some(exit)), Outcome::Failed),
            (seen(2, None), Outcome::Passed),
            (uncalled, Outcome::Skipped),
        ] {
            assert_eq!(verdict(&secrets, seen).outcome, expected);
        }
    }

    #[test]
    fn a_slow_tool_is_called_once() {
        let tool = |reads: bool, properties: Value| {
            Tool::new(json!({
                "name": "find",
                "annotations": {"readOnlyHint": reads},
                "inputSchema": {"type": "object", "properties": properties},
            }))
        };
        let properties = json!({"id": {"type": "string"}});
        let (valid, unknown) = (json!({"id": "u1"}), json!({"id": "mcprove-names-nothing"}));
        let none = json!({});
        for (what, tool, valid, is_slow, expected) in [
            (
                "a tool",
                tool(true, properties.clone()),
                valid.clone(),
                false,
                vec![valid.clone(), unknown, none.clone(), properties.clone()],
            ),
            (
                "a tool that writes",
                tool(false, properties.clone()),
                valid.clone(),
                false,
                vec![valid.clone(), none.clone(), properties.clone()],
            ),
            ("a slow tool", tool(true, properties), valid.clone(), true, vec![valid]),
            ("a tool without arguments", tool(true, none.clone()), none.clone(), false, vec![none.clone()]),
        ] {
            assert_eq!(ways_to_call(&tool, valid, is_slow), expected, "{what}");
        }
    }

    #[test]
    fn tools_that_are_meant_to_show_the_environment_are_not_called() {
        for (name, description, expected) in [
            ("printenv", "", true),
            ("show", "Shows the environment of the process.", true),
            ("getEnv", "", true),
            ("get_environments", "Lists deployments.", false),
            ("get", "A user.", false),
        ] {
            let tool = Tool::new(json!({"name": name, "description": description}));
            assert_eq!(shows_environment(&tool), expected, "{name}");
        }
    }

    #[test]
    fn completions_are_asked_for_first_arguments() {
        let catalog = Catalog {
            prompts: vec![
                json!({"name": "greet", "arguments": [{"name": "who"}, {"name": "how"}]}),
                json!({"name": "plain"}),
            ],
            resource_templates: vec![
                json!({"uriTemplate": "users://{id}"}),
                json!({"uriTemplate": "pages:{/path*}{?q}"}),
                json!({"uriTemplate": "users://all"}),
                json!({"uriTemplate": "users://{"}),
                json!({"uriTemplate": "users://{}"}),
                json!({"uriTemplate": 7}),
            ],
            ..Catalog::default()
        };
        let asked: Vec<String> = completions(&catalog).map(|params| params["argument"]["name"].to_string()).collect();
        assert_eq!(asked, ["\"who\"", "\"id\"", "\"path\""]);
    }

    #[test]
    fn tools_that_may_be_called_as_tasks() {
        for (execution, expected) in [
            (json!({"taskSupport": "required"}), true),
            (json!({"taskSupport": "optional"}), true),
            (json!({"taskSupport": "forbidden"}), false),
            (json!({}), false),
            (json!(null), false),
        ] {
            assert_eq!(takes_task(&Tool::new(json!({"name": "get", "execution": execution}))), expected, "{execution}");
        }
    }

    #[test]
    fn unknown_texts_leave_other_values_alone() {
        let arguments = with_unknown_texts(json!({"id": "u1", "limit": 3, "tags": ["a"]}));
        assert_eq!(arguments, json!({"id": "mcprove-names-nothing", "limit": 3, "tags": ["a"]}));
    }

    #[test]
    fn the_place_of_a_secret_is_the_request_that_was_answered() {
        use Channel::Protocol;
        use Direction::{Received, Sent};
        let call = (Sent, Protocol, r#"{"id":1,"method":"tools/call","params":{"name":"get"}}"#);
        let list = (Sent, Protocol, r#"{"id":"2","method":"tools/list"}"#);
        for (lines, expected) in [
            (vec![call, list, (Received, Protocol, r#"{"id":1,"result":{}}"#)], "the answer of `get`"),
            (vec![call, list, (Received, Protocol, r#"{"id":"2","result":{}}"#)], "the answer of `tools/list`"),
            // The number 1 is not the text "1".
            (vec![call, (Received, Protocol, r#"{"id":"1","result":{}}"#)], "the answer of `an unknown request`"),
            (vec![call, (Received, Protocol, r#"{"id":null,"error":{}}"#)], "the answer of `an unknown request`"),
            (vec![call, (Received, Protocol, "no JSON")], "the answer of `an unknown request`"),
            (
                vec![call, (Received, Protocol, r#"{"method":"notifications/progress"}"#)],
                "the message `notifications/progress`",
            ),
            (vec![call, (Received, Protocol, r#"{"id":1,"method":"roots/list"}"#)], "the message `roots/list`"),
        ] {
            let frames = frames(&lines);
            assert_eq!(place_of(&frames[frames.len() - 1], &frames), expected, "{lines:?}");
        }
    }
}
