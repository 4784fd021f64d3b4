//! Judges if a marked text crosses a boundary.

use std::sync::Arc;

use super::TrustBoundary;
use super::flow::{self, FlowExchange, FlowRun, Markers};
use crate::check::CheckEnd;
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
    let untrusted = CheckContext { servers: untrusted.as_ref(), ..*context };
    let plain = match flow::run(boundary, context, &untrusted, None).await {
        Ok(run) => run,
        Err(end) => return end.into_result(),
    };
    if let Some(refused) = plain.exchanges.iter().find(|exchange| !exchange.is_served) {
        return with_steps(refused_as_written(refused).into_result(), &plain);
    }
    // Two that have nothing in common.
    let markers = Markers { hostile: Canaries::random().make(), harmless: Canaries::random().make() };
    match flow::run(boundary, context, &untrusted, Some(&markers)).await {
        Ok(run) => with_steps(judge(boundary, &run).unwrap_or_else(CheckEnd::into_result), &run),
        Err(end) => end.into_result(),
    }
}

/// The result where the other server is not part of the run.
pub(crate) fn not_selected(server: &str) -> CheckResult {
    let why = format!("the run does not use the server `{server}`");
    CheckResult::not_applicable(why)
}

/// A refusal of the marked text proves nothing where the flow is refused anyway.
fn refused_as_written(refused: &FlowExchange) -> CheckEnd {
    let why = format!(
        "without any marker, `{}` of `{}` was refused already: {}; correct the flow",
        refused.title,
        refused.server,
        beginning_of_json(&*refused.reply.message, SHOWN)
    );
    CheckEnd::inconclusive(why)
}

fn judge(boundary: &TrustBoundary, run: &FlowRun) -> Result<CheckResult, CheckEnd> {
    let (from, to) = (&boundary.from.value, &boundary.to.value);
    let each = || run.exchanges.iter().enumerate();
    let crossed = each().filter(|(_, one)| one.is_served).find_map(|(at, one)| crossing(boundary, run, at, one));
    let prompted = || each().find_map(|(at, one)| prompting(boundary, at, one));
    let asked =
        || each().find(|(_, one)| one.wants_foreign_context).map(|(at, one)| foreign_context(boundary, at, one));
    if let Some(found) = crossed.or_else(prompted).or_else(asked) {
        return Err(CheckEnd::failed(found));
    }
    if run.marked == 0 {
        return Err(CheckEnd::inconclusive(format!("no answer of `{from}` has a text, so nothing could be marked")));
    }
    let note = match run.exchanges.iter().find(|one| !one.is_served) {
        Some(refused) if refused.arrival.is_some() => format!("`{to}` refused a text of `{from}`: {}", refused.title),
        Some(refused) if refused.is_sanitiser => format!("`{}` refused a text of `{from}`", refused.title),
        Some(refused) => {
            let why = format!("with marked texts the flow ended early: {} was refused", refused.title);
            return Err(CheckEnd::inconclusive(why));
        }
        None => format!("no text of `{from}` arrived at `{to}`"),
    };
    Ok(CheckResult::because(Outcome::Passed, Reason::Measured(note)))
}

/// A text that crosses the boundary in a call that was served.
fn crossing(boundary: &TrustBoundary, run: &FlowRun, at: usize, crossed: &FlowExchange) -> Option<Finding> {
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

/// A text that instructs the client's model.
fn prompting(boundary: &TrustBoundary, at: usize, step: &FlowExchange) -> Option<Finding> {
    let arrival = step.prompt.as_ref()?;
    let from = &boundary.from.value;
    let message = format!(
        "`{}` of `{}` instructs the client's model with a text of `{from}`, which is not trusted: `{}` has its marker",
        step.title, step.server, arrival.path
    );
    Some(
        Finding {
            exchange: Some(at),
            frame: Some(step.reply.frame),
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
fn with_steps(mut result: CheckResult, run: &FlowRun) -> CheckResult {
    for one in &run.exchanges {
        result.exchanges.push(exchange(&one.title, &one.reply));
        result.frames.extend([one.reply.frame, one.reply.answer_frame]);
    }
    result
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::check::canary::{CanaryArrival, CanarySearch};
    use crate::check::tests::settings;
    use crate::session::SessionReply;

    const MARKER: &str = "kw1";

    fn boundary() -> TrustBoundary {
        settings("{ from: web, to: mail }")
    }

    /// An exchange in which nothing is wrong.
    fn step(server: &str, message: &Value) -> FlowExchange {
        let reply = SessionReply {
            message: Arc::new(message.clone()),
            params: json!({"name": "send"}),
            frame: 4,
            answer_frame: 5,
            elapsed: Duration::ZERO,
            notifications: Vec::new(),
        };
        FlowExchange {
            title: "tools/call send".to_owned(),
            server: server.to_owned(),
            is_served: reply.is_served(),
            arrival: None,
            prompt: None,
            wants_foreign_context: false,
            is_sanitiser: false,
            reply,
        }
    }

    fn served(server: &str) -> FlowExchange {
        step(server, &json!({"result": {"content": []}}))
    }

    fn refused(server: &str) -> FlowExchange {
        step(server, &json!({"result": {"isError": true, "content": [{"type": "text", "text": "no"}]}}))
    }

    fn arrival() -> Option<CanaryArrival> {
        CanarySearch::new(MARKER).find(&json!({"arguments": {"to": MARKER}}), "")
    }

    #[test]
    fn a_marked_text_must_not_arrive() {
        let asking = || FlowExchange { wants_foreign_context: true, ..served("web") };
        let crossed = || FlowExchange { arrival: arrival(), ..served("mail") };
        let stopped = || FlowExchange { arrival: arrival(), ..refused("mail") };
        let prompting = || FlowExchange { prompt: arrival(), ..served("mail") };
        let sanitiser = || FlowExchange { is_sanitiser: true, ..refused("mail") };
        for (exchanges, marked, outcome, says) in [
            (vec![served("web"), crossed()], 1, Outcome::Failed, "accepted a text of `web`"),
            (vec![served("web"), prompting()], 1, Outcome::Failed, "instructs the client's model"),
            (vec![asking(), prompting()], 1, Outcome::Failed, "instructs the client's model"),
            (vec![asking(), served("mail")], 1, Outcome::Warned, "context of all servers"),
            (vec![served("web"), served("mail")], 1, Outcome::Passed, "no text of `web` arrived at `mail`"),
            (vec![served("web"), stopped()], 1, Outcome::Passed, "`mail` refused a text of `web`"),
            (vec![served("web"), sanitiser()], 1, Outcome::Passed, "`tools/call send` refused a text of `web`"),
            (vec![served("web"), refused("mail")], 1, Outcome::Inconclusive, "ended early"),
            (vec![served("web"), served("mail")], 0, Outcome::Inconclusive, "nothing could be marked"),
            (vec![served("web"), crossed()], 0, Outcome::Failed, "`arguments.to` has its marker"),
        ] {
            let run = FlowRun { exchanges, marked };
            let result = judge(&boundary(), &run).unwrap_or_else(CheckEnd::into_result);
            assert_eq!(result.outcome, outcome, "{says}");
            assert!(format!("{:?} {:?}", result.reason, result.findings).contains(says), "{says}: {result:?}");
        }
    }

    #[test]
    fn a_crossing_tells_where_the_text_came_from() {
        let crossed = FlowExchange { arrival: arrival(), ..served("mail") };
        let run = FlowRun { exchanges: vec![served("web"), crossed], marked: 1 };
        let found = crossing(&boundary(), &run, 1, &run.exchanges[1]).unwrap();
        assert_eq!((found.exchange, found.frame, found.level), (Some(1), Some(4), RequirementLevel::Must));
        let names: Vec<&str> = found.evidence.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["arrived", "sent as", "came from"]);
        assert!(found.evidence[2].1.contains("frame 5"), "{:?}", found.evidence);
    }

    #[test]
    fn a_flow_that_is_refused_as_written_proves_nothing() {
        let result = refused_as_written(&refused("mail")).into_result();
        assert_eq!(result.outcome, Outcome::Inconclusive);
        assert!(result.reason.unwrap().to_string().starts_with("without any marker, `tools/call send` of `mail`"));
    }
}
