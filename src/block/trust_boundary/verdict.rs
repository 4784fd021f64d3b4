//! Whether a marked text crosses a boundary.

use std::sync::Arc;

use super::TrustBoundary;
use super::flow::{self, FlowExchange, FlowRun, FlowStop, Markers};
use crate::check::canary::Canaries;
use crate::check::evidence::exchange;
use crate::event::{CheckResult, Code, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::beginning_of_json;

/// How much of a message is shown, in characters.
const SHOWN: usize = 200;

/// Makes the flow of a boundary, and looks for the marker in what the protected server is sent.
#[derive(Debug)]
pub(crate) struct FlowCheck {
    pub(crate) boundary: Arc<TrustBoundary>,
}

impl Check for FlowCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(&self.boundary, &context).await })
    }
}

async fn run(boundary: &TrustBoundary, context: &CheckContext<'_>) -> CheckResult {
    let Some(untrusted) = context.servers.of_server(&boundary.from.value) else {
        return not_selected(&boundary.from.value);
    };
    let plain = match flow::run(boundary, context, untrusted.as_ref(), None).await {
        Ok(run) => run,
        Err(stop) => return stopped(stop),
    };
    if let Some(refused) = plain.exchanges.iter().find(|exchange| !exchange.is_served) {
        return shown(refused_as_written(refused), &plain);
    }
    // Two that have nothing in common.
    let markers = Markers { hostile: Canaries::random().make(), harmless: Canaries::random().make() };
    match flow::run(boundary, context, untrusted.as_ref(), Some(&markers)).await {
        Ok(run) => shown(judge(boundary, &run), &run),
        Err(stop) => stopped(stop),
    }
}

/// The result where the other server is not part of the run.
pub(crate) fn not_selected(server: &str) -> CheckResult {
    let why = format!("the run does not use the server `{server}`");
    CheckResult::not_applicable(why)
}

fn stopped(stop: FlowStop) -> CheckResult {
    match stop {
        FlowStop::Broken(found) => CheckResult::unavailable(*found),
        FlowStop::Unfilled(reason) => CheckResult::because(Outcome::Errored, Reason::Unfilled(reason)),
    }
}

/// A refusal of the marked text proves nothing where the flow is refused anyway.
fn refused_as_written(refused: &FlowExchange) -> CheckResult {
    let why = format!(
        "without any marker, `{}` of `{}` was refused already: {}; correct the flow",
        refused.title,
        refused.server,
        beginning_of_json(&*refused.reply.message, SHOWN)
    );
    CheckResult::inconclusive(why)
}

fn judge(boundary: &TrustBoundary, run: &FlowRun) -> CheckResult {
    let (from, to) = (&boundary.from.value, &boundary.to.value);
    let held = |note: String| CheckResult::because(Outcome::Passed, Reason::Measured(note));
    if let Some((at, crossed)) =
        run.exchanges.iter().enumerate().find(|(_, one)| one.is_served && one.arrival.is_some())
    {
        return CheckResult::found(Outcome::Failed, finding(boundary, run, at, crossed).into_iter().collect());
    }
    if let Some((at, prompting)) = run.exchanges.iter().enumerate().find(|(_, one)| one.prompt.is_some()) {
        return CheckResult::found(Outcome::Failed, prompted(boundary, at, prompting).into_iter().collect());
    }
    if let Some((at, asking)) = run.exchanges.iter().enumerate().find(|(_, one)| one.wants_foreign_context) {
        return CheckResult::found(Outcome::Warned, vec![foreign_context(boundary, at, asking)]);
    }
    if run.marked == 0 {
        let why = format!("no answer of `{from}` has a text, so nothing could be marked");
        return CheckResult::inconclusive(why);
    }
    match run.exchanges.iter().find(|one| !one.is_served) {
        Some(refused) if refused.arrival.is_some() => {
            held(format!("`{to}` refused a text of `{from}`: {}", refused.title))
        }
        Some(refused) if refused.is_sanitiser => held(format!("`{}` refused a text of `{from}`", refused.title)),
        Some(refused) => {
            let why = format!("with marked texts the flow ended early: {} was refused", refused.title);
            CheckResult::inconclusive(why)
        }
        None => held(format!("no text of `{from}` arrived at `{to}`")),
    }
}

fn finding(boundary: &TrustBoundary, run: &FlowRun, at: usize, crossed: &FlowExchange) -> Option<Finding> {
    let arrival = crossed.arrival.as_ref()?;
    let from = &boundary.from.value;
    let message = format!(
        "`{}` of `{}` accepted a text of `{from}`, which is not trusted: `{}` has its marker",
        crossed.title, crossed.server, arrival.path
    );
    let origin = run.exchanges[..at].iter().rfind(|one| one.server == *from);
    let mut found = Finding {
        exchange: Some(at),
        frame: Some(crossed.reply.frame),
        path: Some(arrival.path.clone()),
        severity: Some(Severity::High),
        help: Some(
            "check or clean the text before the call, and name the tool that does so in `sanitised_by`; if the argument may \
             hold any text, name it in `allow`"
                .to_owned(),
        ),
        ..Finding::new(Code::UNTRUSTED_TEXT, message)
    }
    .with_evidence("arrived", format!("{}, frame {} of its session", arrival.form, crossed.reply.frame))
    .with_evidence("sent as", &*arrival.quote);
    if let Some(origin) = origin {
        let answer = format!("{}, frame {} of its session", origin.title, origin.reply.answer_frame);
        found = found.with_evidence("came from", answer);
    }
    Some(found)
}

fn prompted(boundary: &TrustBoundary, at: usize, prompting: &FlowExchange) -> Option<Finding> {
    let arrival = prompting.prompt.as_ref()?;
    let from = &boundary.from.value;
    let message = format!(
        "`{}` of `{}` instructs the client's model with a text of `{from}`, which is not trusted: `{}` has its marker",
        prompting.title, prompting.server, arrival.path
    );
    Some(
        Finding {
            exchange: Some(at),
            frame: Some(prompting.reply.frame),
            path: Some(arrival.path.clone()),
            severity: Some(Severity::High),
            help: Some("keep `systemPrompt` free of texts of others; a message can hold them".to_owned()),
            ..Finding::new(Code::UNTRUSTED_TEXT, message)
        }
        .with_evidence("arrived", arrival.form)
        .with_evidence("sent as", &*arrival.quote),
    )
}

/// A warning: the specification says that servers should not, where the client did not declare it.
fn foreign_context(boundary: &TrustBoundary, at: usize, asking: &FlowExchange) -> Finding {
    let from = &boundary.from.value;
    let message =
        format!("`{}` of `{from}`, which is not trusted, asks the client for the context of all servers", asking.title);
    Finding {
        exchange: Some(at),
        frame: Some(asking.reply.frame),
        path: Some("params.includeContext".to_owned()),
        level: RequirementLevel::Should,
        severity: Some(Severity::Medium),
        help: Some("leave `includeContext` out of requests for sampling, since no client has to grant it".to_owned()),
        ..Finding::new("foreign-context", message)
    }
    .with_evidence("request", "`sampling/createMessage` with `includeContext: allServers`")
}

/// A result with the steps that led to it.
fn shown(mut result: CheckResult, run: &FlowRun) -> CheckResult {
    for one in &run.exchanges {
        result.exchanges.push(exchange(&one.title, &one.reply));
        result.frames.extend([one.reply.frame, one.reply.answer_frame]);
    }
    result
}
