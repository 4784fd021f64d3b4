//! The steps of a flow, made once as written and once with a marker in every text of the server that is not trusted.

use serde_json::{Value, json};

use super::{FlowAction, FlowStep, TrustBoundary, sampling};
use crate::check::canary::{CanaryArrival, CanarySearch};
use crate::check::{CheckEnd, CheckLimits, CheckRequest, CheckSession, call_params};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::CheckContext;
use crate::plan::arguments::{ConfigSource, NotCallable};
use crate::session::SessionReply;
use crate::source::map_texts;
use crate::source::template::{Names, fill};
use crate::suite::Hazard;
use crate::wire::{Catalog, Direction, Tool};

/// A marker, and the one that takes its place in the answers of tools that make a text harmless.
pub(crate) struct Markers {
    pub(crate) hostile: String,
    pub(crate) harmless: String,
}

/// A step that was made.
pub(crate) struct FlowExchange {
    /// The request in words: `tools/call create_user`.
    pub(crate) title: String,
    pub(crate) server: String,
    pub(crate) reply: SessionReply,
    /// True if it is answered with a result that is no error.
    pub(crate) is_served: bool,
    /// The marker in what was sent to the protected server.
    pub(crate) arrival: Option<CanaryArrival>,
    /// The marker in a prompt with which the protected server instructs the client's model.
    pub(crate) prompt: Option<CanaryArrival>,
    /// True if the server that is not trusted asks the client for the context of all servers.
    pub(crate) wants_foreign_context: bool,
    /// True if the step is one of a tool that makes a text harmless.
    pub(crate) is_sanitiser: bool,
}

/// The steps that were made.
#[derive(Default)]
pub(crate) struct FlowRun {
    /// In order; the last one may have been refused.
    pub(crate) exchanges: Vec<FlowExchange>,
    /// The number of texts that got the marker.
    pub(crate) marked: usize,
}

/// Makes the steps on fresh servers, until one is refused; `untrusted` is the context of the server that is not trusted,
/// which is not accused if it breaks.
pub(crate) async fn run(
    boundary: &TrustBoundary,
    context: &CheckContext<'_>,
    untrusted: &CheckContext<'_>,
    markers: Option<&Markers>,
) -> Result<FlowRun, CheckEnd> {
    let limits = CheckLimits::none();
    let from = CheckSession::open(untrusted, limits.clone()).await?;
    let to = match CheckSession::open(context, limits).await {
        Ok(to) => to,
        Err(end) => {
            from.close().await;
            return Err(end);
        }
    };
    let search = markers.map(|markers| CanarySearch::new(&markers.hostile));
    let mut flow = TextFlow { boundary, markers, search, names: context.names.clone(), run: FlowRun::default() };
    let made = match reason_against_writing(boundary, context, &from).await {
        Ok(None) => flow.steps(&from, &to).await,
        Ok(Some(writer)) => Err(CheckEnd::Skipped(writer)),
        Err(end) => Err(end),
    };
    let exits = (from.close().await, to.close().await);
    made?;
    match exits {
        (Some(exit), _) => Err(CheckEnd::unavailable(exit)),
        (None, Some(exit)) => Err(CheckEnd::failed(exit)),
        (None, None) => Ok(flow.run),
    }
}

/// Why the flow may not be made in a run that only reads: the first tool of it that does not say that it only reads.
async fn reason_against_writing(
    boundary: &TrustBoundary,
    context: &CheckContext<'_>,
    from: &CheckSession<'_>,
) -> Result<Option<Reason>, CheckEnd> {
    if !context.suite.read_only {
        return Ok(None);
    }
    let listed = from.session().catalog().await.map_err(|failure| without_accusation(from.end_of(failure)))?;
    let called = boundary.flow.iter().filter_map(|step| Some((step.server.value == boundary.from.value, step.tool()?)));
    Ok(first_writer(called, &listed, context.catalog)
        .map(|tool| NotCallable::Hazard(Hazard::ReadOnly).skip_reason(tool, ConfigSource::of(context.suite))))
}

/// The first called tool that a server does not list as one that only reads; the first of each pair is true if the tool
/// is one of the server that is not trusted.
fn first_writer<'a>(
    mut called: impl Iterator<Item = (bool, &'a str)>,
    untrusted: &Catalog,
    protected: &Catalog,
) -> Option<&'a str> {
    let lists = |is_untrusted: bool| if is_untrusted { untrusted } else { protected };
    let reads = |is_untrusted: bool, tool: &str| lists(is_untrusted).tool(tool).is_some_and(Tool::only_reads);
    called.find(|(is_untrusted, tool)| !reads(*is_untrusted, tool)).map(|(_, tool)| tool)
}

/// The same end where the server that is not trusted gives no answer: the check is not about that server.
fn without_accusation(end: CheckEnd) -> CheckEnd {
    if let CheckEnd::Unanswered(failure) = end { CheckEnd::unavailable(Finding::from(&*failure)) } else { end }
}

/// The end where a template cannot be filled in, or an answer lacks a value that is captured.
fn unfilled_end(why: String) -> CheckEnd {
    CheckEnd::Decided(Box::new(CheckResult::because(Outcome::Errored, Reason::Unfilled(why))))
}

struct TextFlow<'a> {
    boundary: &'a TrustBoundary,
    markers: Option<&'a Markers>,
    search: Option<CanarySearch>,
    names: Names,
    run: FlowRun,
}

impl TextFlow<'_> {
    async fn steps(&mut self, from: &CheckSession<'_>, to: &CheckSession<'_>) -> Result<(), CheckEnd> {
        for step in &self.boundary.flow {
            let is_untrusted = step.server.value == self.boundary.from.value;
            let exchange = self.step(step, if is_untrusted { from } else { to }).await?;
            let is_served = exchange.is_served;
            let answer = self.answer(&exchange, is_untrusted);
            self.run.exchanges.push(exchange);
            if !is_served {
                return Ok(());
            }
            self.capture(step, &answer)?;
        }
        Ok(())
    }

    async fn step(&self, step: &FlowStep, session: &CheckSession<'_>) -> Result<FlowExchange, CheckEnd> {
        let (method, subject, params) = self.request(&step.action)?;
        let is_untrusted = step.server.value == self.boundary.from.value;
        let reply = session
            .request(CheckRequest::new(method, params))
            .await
            .map_err(|end| if is_untrusted { without_accusation(end) } else { end })?;
        let tool = matches!(step.action, FlowAction::Call { .. }).then_some(subject.as_str());
        let is_sanitiser =
            tool.is_some_and(|tool| self.boundary.sanitised_by.as_ref().is_some_and(|by| by.selects(tool)));
        let asked = sampling::requests(&session.session().frames(), reply.frame, reply.answer_frame);
        let search = self.search.as_ref().filter(|_| !is_untrusted);
        Ok(FlowExchange {
            prompt: asked.iter().find_map(|params| sampling::in_system_prompt(search?, params)),
            wants_foreign_context: is_untrusted && asked.iter().any(sampling::wants_foreign_context),
            title: format!("{method} {subject}"),
            server: step.server.value.clone(),
            is_served: reply.is_served(),
            arrival: if is_sanitiser { None } else { self.arrival(step, tool, session, &reply) },
            is_sanitiser,
            reply,
        })
    }

    fn request(&self, action: &FlowAction) -> Result<(&'static str, String, Value), CheckEnd> {
        let filled = |node| {
            fill(node, &self.names).map(|node| node.to_json()).map_err(|failed| unfilled_end(failed.reason.to_string()))
        };
        Ok(match action {
            FlowAction::Call { tool, args } => {
                let arguments = args.as_ref().map_or_else(|| Ok(json!({})), filled)?;
                ("tools/call", tool.clone(), call_params(tool, &arguments))
            }
            FlowAction::Read { uri } => {
                let uri = filled(uri)?;
                ("resources/read", uri.as_str().unwrap_or_default().to_owned(), json!({"uri": uri}))
            }
        })
    }

    /// The marker in the request as it was written to the protected server.
    fn arrival(
        &self,
        step: &FlowStep,
        tool: Option<&str>,
        session: &CheckSession<'_>,
        reply: &SessionReply,
    ) -> Option<CanaryArrival> {
        let protected = self.boundary.tool.as_ref().is_none_or(|own| tool == Some(&own.value));
        if !protected || step.server.value != self.boundary.to.value {
            return None;
        }
        let frames = session.session().frames();
        let sent = frames.iter().find(|frame| frame.seq == reply.frame && frame.direction == Direction::Sent)?;
        let mut params = sent.json().ok()?.get("params")?.clone();
        if let Some(arguments) = params["arguments"].as_object_mut() {
            arguments.retain(|name, _| !self.boundary.allow.contains(name));
        }
        self.search.as_ref()?.find(&params, "")
    }

    /// An answer as later steps see it.
    fn answer(&mut self, exchange: &FlowExchange, is_untrusted: bool) -> Value {
        let message = Value::clone(&exchange.reply.message);
        let Some(markers) = self.markers else { return message };
        let replaced = |text: &str| text.replace(&markers.hostile, &markers.harmless);
        let message = if exchange.is_sanitiser { map_texts(message, &replaced) } else { message };
        if is_untrusted { self.mark(message, &markers.hostile) } else { message }
    }

    /// Adds the marker to every text of a result; in a text that is JSON, to the texts within.
    fn mark(&mut self, mut message: Value, marker: &str) -> Value {
        let result = message["result"].take();
        let (result, texts) = mark_texts(result, marker);
        self.run.marked += texts;
        message["result"] = result;
        message
    }

    fn capture(&mut self, step: &FlowStep, answer: &Value) -> Result<(), CheckEnd> {
        for (name, path) in &step.captures {
            let found = path
                .find(answer)
                .map_err(|reason| unfilled_end(format!("`{}` is not in the answer: {reason}", path.as_str())))?;
            self.names.insert(name.value.clone(), found.into_owned());
        }
        Ok(())
    }
}

/// A value with a marker in every text, and how many texts those are.
fn mark_texts(value: Value, marker: &str) -> (Value, usize) {
    match value {
        Value::String(text) => {
            let json = text.trim_start().starts_with(['{', '[']).then(|| crate::wire::read_json(&text)).flatten();
            let Some(json) = json else { return (format!("{text} {marker}").into(), 1) };
            let (json, texts) = mark_texts(json, marker);
            (json.to_string().into(), texts)
        }
        Value::Array(items) => {
            let (items, texts): (Vec<Value>, Vec<usize>) =
                items.into_iter().map(|item| mark_texts(item, marker)).unzip();
            (items.into(), texts.iter().sum())
        }
        Value::Object(members) => {
            let mut texts = 0;
            let members = members.into_iter().map(|(name, member)| {
                let (member, more) = mark_texts(member, marker);
                texts += more;
                (name, member)
            });
            (Value::Object(members.collect()), texts)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (value, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_gets_the_marker_and_json_stays_json() {
        let result = json!({"content": [{"text": "{\"name\":\"Ann\",\"age\":3}"}], "page": "hello", "total": 1});
        let (marked, texts) = mark_texts(result, "M");
        assert_eq!(marked["content"][0]["text"], "{\"name\":\"Ann M\",\"age\":3}");
        assert_eq!((marked["page"].as_str(), texts), (Some("hello M"), 2));
    }
    #[test]
    fn a_run_that_only_reads_calls_listed_readers_only() {
        let offer =
            |tools: &[Value]| Catalog { tools: tools.iter().cloned().map(Tool::new).collect(), ..Catalog::default() };
        let reader = json!({"name": "fetch", "annotations": {"readOnlyHint": true}});
        let writer = json!({"name": "send", "annotations": {"readOnlyHint": false}});
        let (untrusted, protected) = (offer(std::slice::from_ref(&reader)), offer(&[reader.clone(), writer]));
        for (called, expected) in [
            (vec![(true, "fetch"), (false, "fetch")], None),
            (vec![(true, "fetch"), (false, "send")], Some("send")),
            // The other server has it, and this one does not list it.
            (vec![(true, "send")], Some("send")),
            (vec![(false, "unlisted")], Some("unlisted")),
        ] {
            assert_eq!(first_writer(called.clone().into_iter(), &untrusted, &protected), expected, "{called:?}");
        }
    }
}
