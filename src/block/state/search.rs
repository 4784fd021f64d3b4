//! A round under way: canaries that one session is sent, and the search for them in another one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::StateSettings;
use super::caller::{CanaryCaller, visit};
use super::seen::{Leak, Seen, SentCanary};
use crate::check::answer_data::{AnswerData, value_for};
use crate::check::canary::Canaries;
use crate::check::visit::{ShownText, VisitRound};
use crate::plan::CheckContext;
use crate::session::Session;

/// The number of answers that show a canary and are kept, to be asked for elsewhere.
const MOST_READS: usize = 8;

/// A round under way.
pub(crate) struct Search<'a> {
    pub(crate) round: VisitRound<'a>,
    pub(crate) seen: Seen,
    pub(crate) canaries: Canaries,
    callers: &'a [CanaryCaller],
    settings: &'a StateSettings,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        context: &'a CheckContext<'a>,
        settings: &'a StateSettings,
        callers: &'a [CanaryCaller],
        seen: Seen,
    ) -> Self {
        let round = VisitRound::new(context, settings.limits());
        Self { round, seen, canaries: Canaries::random(), callers, settings }
    }

    /// The events of the round, which is over.
    pub(crate) async fn into_seen(self) -> Seen {
        let Self { mut round, seen, .. } = self;
        Seen {
            hang: if seen.leaks.is_empty() { round.find_silence().await } else { None },
            silent: round.silent(),
            failure: round.failure().map(|failure| failure.message),
            spent: round.limits.end_if_over(),
            frames: round.take_frames(),
            exit: round.exit(),
            ..seen
        }
    }

    /// Ends a session, and its server where that is its own.
    pub(crate) async fn close(&mut self, session: Session) {
        self.round.close(session).await;
    }

    /// Calls every tool with canaries, and notes which of them their own session shows.
    pub(crate) async fn write(&mut self, session: &Session) {
        self.call_with_canaries(session, |_| true).await;
        for shown in self.visit(session).await {
            let found = self.canaries.find(&shown.text);
            if found.is_empty() {
                continue;
            }
            self.seen.read_back.extend(found);
            let is_read = |tool: &str| self.callers.iter().any(|caller| caller.name == tool && caller.only_reads);
            let is_read = shown.request.is_some() && shown.tool.as_deref().is_none_or(is_read);
            if is_read && shown.is_served && self.seen.reads.len() < MOST_READS {
                self.seen.reads.push(shown);
            }
        }
        // The visit may have overwritten what it looked for.
        self.call_with_canaries(session, |caller| !caller.only_reads).await;
    }

    async fn call_with_canaries(&mut self, session: &Session, is_called: impl Fn(&CanaryCaller) -> bool) {
        for (tool, caller) in self.callers.iter().enumerate().filter(|(_, caller)| is_called(caller)) {
            for call in caller.canary_calls(&mut self.canaries) {
                if let Some(shown) = self.round.call(session, &caller.name, &call.arguments).await {
                    self.seen.written.push(SentCanary { tool, canary: call.canary, shown });
                }
            }
        }
    }

    /// Looks for canaries in a session that was sent none; `place` says where that is, such as `in the next run`.
    pub(crate) async fn look(&mut self, session: &Session, place: &str) {
        let visited = self.visit(session).await;
        if !visited.iter().any(|shown| shown.is_served) {
            self.seen.unserved.push(place.to_owned());
        }
        for shown in visited {
            self.note_leaks(&shown, place);
        }
    }

    /// Notes the canaries in something that must not have any.
    pub(crate) fn note_leaks(&mut self, shown: &ShownText, place: &str) {
        if self.settings.shares(shown) {
            return;
        }
        for canary in self.canaries.find(&shown.text) {
            let is_of_call = |written: &SentCanary| written.canary == canary && !self.callers[written.tool].is_shared;
            if let Some(written) = self.seen.written.iter().position(is_of_call) {
                let shown = shown.clone();
                self.seen.leaks.push(Leak { written, canary, shown, place: place.to_owned() });
            }
        }
    }

    /// Everything that a session shows.
    async fn visit(&mut self, session: &Session) -> Vec<ShownText> {
        let (canaries, answers) = (&self.canaries, answers_of(&self.seen.written));
        let mut shown =
            visit(&mut self.round, session, self.callers, &|caller| caller.lookups(canaries, &answers)).await;
        for uri in self.addresses(&answers) {
            shown.extend(self.round.ask(session, "resources/read", json!({"uri": uri}), None).await);
        }
        shown
    }

    /// The addresses that resource templates have for values of answers, none of them with a canary.
    fn addresses(&self, answers: &[Value]) -> BTreeSet<String> {
        let templates = self.round.context.catalog.resource_templates.iter();
        let templates = templates.filter_map(|template| template["uriTemplate"].as_str());
        let filled = templates.flat_map(|template| answers.iter().filter_map(|answer| address(template, answer)));
        filled.filter(|uri| self.canaries.find(uri).is_empty()).take(MOST_READS).collect()
    }
}

/// A URI template whose variables are plain names, filled from an answer; `None` where the answer has not all of them.
fn address(template: &str, answer: &Value) -> Option<String> {
    let mut uri = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, after) = behind.split_once('}')?;
        let value = value_for(name.strip_prefix('+').unwrap_or(name), answer)?;
        uri += before;
        uri += &value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        rest = after;
    }
    Some(uri + rest).filter(|uri| uri != template)
}

/// The values of answers to calls with canaries, for lookups by them.
fn answers_of(written: &[SentCanary]) -> Vec<Value> {
    let served = written.iter().filter(|written| written.shown.is_served);
    let data = served.map(|written| AnswerData::of_result(&written.shown.result()));
    data.flat_map(|data| data.values().cloned().collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_filled_from_answers() {
        let answer = json!({"user": {"id": "u7", "age": 3}, "name": "ann"});
        for (template, expected) in [
            ("users://{id}", Some("users://u7")),
            ("users://{user_id}/{+age}", Some("users://u7/3")),
            ("users://{name}/notes", Some("users://ann/notes")),
            ("users://{unknown}", None),
            ("users://{id", None),
            ("users://all", None),
        ] {
            assert_eq!(address(template, &answer).as_deref(), expected, "{template}");
        }
    }

    #[test]
    fn only_served_answers_are_looked_up() {
        let text = r#"{"result": {"structuredContent": {"id": 1}, "content": [{"text": "[2]"}, {"text": "3"}]}}"#;
        let sent = |is_served| {
            let shown = ShownText::of_test("add", text, is_served);
            SentCanary { tool: 0, canary: "kw1".to_owned(), shown }
        };
        assert_eq!(answers_of(&[sent(true), sent(false)]), [json!({"id": 1}), json!([2])]);
    }
}
