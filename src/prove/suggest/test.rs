//! A test that fails with a mutant and passes without it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Survivor;
use super::answer::{ExchangeAnswer, ExchangeAnswerKind, ExpectationChecker, elsewhere};
use super::candidate::{CandidateExpectation, SuggestionContext};
use super::candidates::candidates;
use super::lists;
use super::prelude::{Prelude, may_write, prelude};
use super::tasks::MergedTasks;
use super::whole::whole;
use crate::fault::{MessageExchange, ServerReply};
use crate::source::template::is_template;
use crate::source::visible_line;
use crate::source::yaml_writer as yaml;
use crate::transport::Owner;
use crate::wire::ListKind;

/// The most characters in the name of a test, and in that of a value in it.
const LONGEST_NAME: usize = 70;
const LONGEST_VALUE: usize = 20;

/// The most expectations of single values that are suggested for one survivor.
const MOST: usize = 2;

/// A test that a suite should have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SuggestedTest {
    /// The thing that the server could do, without the end of the sentence.
    pub(crate) could: String,
    /// A list with a test, or a part of a suite.
    pub(crate) value: Value,
    /// Notes for the reader.
    pub(crate) notes: Vec<String>,
    /// Nothing in it is about this machine or this time.
    pub(crate) lasts: bool,
}

/// Tests, the best first; none where nothing that a suite can say today tells the two apart.
pub(crate) fn suggest(survivor: &Survivor<'_>) -> Vec<SuggestedTest> {
    let merged = MergedTasks::of(survivor);
    let as_call = merged.as_ref().map(|merged| merged.survivor(survivor));
    let survivor = as_call.as_ref().unwrap_or(survivor);
    if merged.as_ref().is_some_and(|merged| merged.is_after_end) {
        return suggest_second_look(survivor).into_iter().collect();
    }
    let exchange = survivor.exchange;
    match exchange.method() {
        Some("notifications/cancelled") => suggest_for_cancelled(survivor).into_iter().collect(),
        Some("initialize") => Vec::new(),
        // Before there was such a thing it is only asked to find out.
        Some("server/discover") if exchange.owner == Owner::Session && *survivor.recorded.revision < *"2026" => {
            Vec::new()
        }
        // Of a task that nothing came of, or that another session made.
        Some(method) if method.starts_with("tasks/") => Vec::new(),
        _ => suggest_for_answer(survivor).unwrap_or_default(),
    }
}

fn suggest_for_answer(survivor: &Survivor<'_>) -> Option<Vec<SuggestedTest>> {
    let exchange = survivor.exchange;
    let prelude = prelude(survivor.recorded, survivor.catalog, exchange)?;
    let healthy = ExchangeAnswer::of(&exchange.sent, &exchange.replies)?;
    let changed = ExchangeAnswer::of(&exchange.sent, survivor.changed)?;
    let list = ListKind::ALL.into_iter().find(|kind| prelude.step.get("list") == Some(&json!(kind.as_str())));
    let whole = list.and_then(|kind| lists::whole(survivor.catalog, kind, &healthy, &changed));
    let (healthy, changed) = whole.unwrap_or((healthy, changed));
    let others = match list {
        // A list that has several pages is one list in the suite, and the others are not put together here.
        Some(_) if exchange.params().get("cursor").is_some() => Vec::new(),
        _ => elsewhere(&survivor.recorded.exchanges, exchange, healthy.kind()),
    };
    let others: Vec<ExchangeAnswer> =
        others.into_iter().filter(|other| other.message["result"].get("nextCursor").is_none()).collect();
    let writes =
        survivor.recorded.exchanges.iter().any(|other| other.tool().is_some() && may_write(other, survivor.catalog));
    let (healthy, changed, known) = (&healthy, &changed, &prelude.known);
    let context = SuggestionContext { survivor, healthy, changed, others: &others, known, writes, list };
    let suggested = telling(&context, &prelude).into_iter().map(|candidate| {
        let notes = notes(&prelude, Some(&candidate));
        let could = format!("{} could {}", subject(exchange), candidate.could);
        let name = format!("{}: {}", title(exchange), candidate.about);
        let lasts = candidate.lasts();
        let expect = expectations(&context, candidate);
        SuggestedTest { could, value: json!([test(survivor, &prelude, &name, expect)]), notes, lasts }
    });
    Some(suggested.collect())
}

fn notes(prelude: &Prelude, candidate: Option<&CandidateExpectation>) -> Vec<String> {
    let cut = "more was done before this when it was recorded, and not all of it can be repeated here";
    let pinned =
        candidate.filter(|candidate| candidate.is_pinned() || candidate.may_depend_on_state).map(|candidate| {
            let state = if candidate.may_depend_on_state { ", and does not depend on earlier calls" } else { "" };
            format!("pinned: confirm that {} is right as recorded{state}", candidate.about)
        });
    prelude.is_cut.then(|| cut.to_owned()).into_iter().chain(pinned).collect()
}

/// The first expectations that hold for the healthy answer and its likes, and not for the changed one; then those of the
/// whole answer.
fn telling(context: &SuggestionContext<'_>, prelude: &Prelude) -> Vec<CandidateExpectation> {
    let exchange = context.survivor.exchange;
    let names = prelude.names();
    let checker = ExpectationChecker {
        method: exchange.method().unwrap_or("send"),
        params: exchange.params(),
        catalog: context.survivor.catalog,
        names: &names,
    };
    let tells = |candidate: &CandidateExpectation| {
        let holds = |answer: &ExchangeAnswer| checker.holds(&candidate.item, answer);
        holds(context.healthy) == Some(true)
            && holds(context.changed) == Some(false)
            && context.others.iter().all(|other| holds(other) == Some(true))
    };
    let found = candidates(context).into_iter().filter(tells).take(MOST);
    found.chain(whole(context).filter(tells)).collect()
}

/// The expectation, after one that says why where the tool simply fails.
fn expectations(context: &SuggestionContext<'_>, candidate: CandidateExpectation) -> Value {
    let looks_inside = ["at", "text", "readable_error"].iter().any(|key| candidate.item.get(key).is_some());
    let kind = match context.healthy.kind() {
        ExchangeAnswerKind::Served => Some(false),
        ExchangeAnswerKind::Failed => Some(true),
        ExchangeAnswerKind::Refused | ExchangeAnswerKind::Odd => None,
    };
    let before = kind.filter(|_| looks_inside && context.is_call()).map(|kind| json!({"is_error": kind}));
    before.into_iter().chain([candidate.item]).collect::<Vec<_>>().into()
}

fn test(survivor: &Survivor<'_>, prelude: &Prelude, name: &str, expect: Value) -> Value {
    let server = (survivor.target_count > 1).then(|| Value::from(survivor.recorded.server.as_str()));
    let mut test = Map::from_iter([("name".to_owned(), Value::from(short_name(name)))]);
    test.extend(server.map(|server| ("server".to_owned(), server)));
    let mut step = prelude.step.clone();
    step.insert("expect".to_owned(), expect);
    if prelude.earlier.is_empty() {
        test.extend(step);
    } else {
        let steps: Vec<Value> = prelude.earlier.iter().cloned().chain([step.into()]).collect();
        test.insert("steps".to_owned(), steps.into());
    }
    test.into()
}

/// A name that is one line, not too long, and no template.
fn short_name(name: &str) -> String {
    let mut name = cut(&visible_line(name), LONGEST_NAME);
    while is_template(&name) {
        name = name.replace("{{", "{").replace("{%", "{");
    }
    name.trim().to_owned()
}

/// As many whole words of a text as fit, with `…` for the others.
fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let words = text[..end].rfind(char::is_whitespace).filter(|at| *at > 0);
    format!("{}…", text[..words.unwrap_or(end)].trim_end_matches([' ', ':', ',']))
}

/// The request in a few words.
fn title(exchange: &MessageExchange) -> String {
    let params = exchange.params();
    let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
    match exchange.method() {
        Some("tools/call") => {
            let args = params["arguments"].as_object().into_iter().flatten();
            let args = args.filter(|(_, value)| !value.is_object() && !value.is_array()).take(3);
            let args = args.map(|(name, value)| match value.as_str() {
                Some(text) => format!("{name}={}", cut(text, LONGEST_VALUE)),
                None => format!("{name}={value}"),
            });
            [text("name")].into_iter().chain(args).collect::<Vec<_>>().join(" ")
        }
        Some("resources/read") => format!("reading {}", text("uri")),
        Some("prompts/get") => format!("prompt {}", text("name")),
        Some("completion/complete") => "completion".to_owned(),
        Some(method) => {
            let listed = ListKind::ALL.into_iter().find(|kind| kind.method() == method);
            listed.map_or(method.to_owned(), |kind| format!("list of {}", kind.as_str().replace('_', " ")))
        }
        None => "a raw message".to_owned(),
    }
}

/// The subject of the sentence about the fault.
fn subject(exchange: &MessageExchange) -> String {
    let params = exchange.params();
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    let quoted = |name: &str| format!("`{}`", visible_line(text(name)));
    match exchange.method() {
        Some("tools/call") if text("name").is_empty() => "a call without the name of a tool".to_owned(),
        Some("tools/call") => quoted("name"),
        Some("resources/read") => format!("reading {}", quoted("uri")),
        Some("prompts/get") => format!("the prompt {}", quoted("name")),
        Some(method) => format!("`{}`", visible_line(method)),
        None => "a raw message".to_owned(),
    }
}

/// A request that is taken back must stay without an answer.
fn suggest_for_cancelled(survivor: &Survivor<'_>) -> Option<SuggestedTest> {
    let (recorded, notice) = (survivor.recorded, survivor.exchange);
    let id = notice.params().get("requestId")?;
    let is_meant = |other: &&MessageExchange| {
        let asked_with = matches!(&other.sent, crate::fault::ClientMessage::Message { id: Some(own), .. } if own == id);
        other.owner == notice.owner && other.session == notice.session && asked_with
    };
    let request = recorded.exchanges.iter().rfind(is_meant)?;
    let mut prelude = prelude(recorded, survivor.catalog, request)?;
    let is_progress =
        |reply: &&ServerReply| reply.message().is_some_and(|message| message["method"] == "notifications/progress");
    let strays = |replies: &[ServerReply]| -> (usize, usize) {
        let answers = replies.iter().filter_map(ServerReply::response).filter(|message| message.get("id") == Some(id));
        (answers.count(), replies.iter().filter(is_progress).count())
    };
    let (was, is) = (strays(&notice.replies), strays(survivor.changed));
    let (expected, about, could) = if was.0 == 0 && is.0 > 0 {
        (json!({"at": "answered", "equals": false}), "no answer once cancelled", "answer what was cancelled")
    } else if was.1 == 0 && is.1 > 0 {
        let could = "report progress of what was cancelled";
        (json!({"at": "progress_after", "equals": 0}), "no progress once cancelled", could)
    } else {
        return None;
    };
    let reports = request.replies.iter().any(|reply| is_progress(&reply));
    let is_asked_for = prelude.step.remove("progress").is_some();
    let when = if reports && is_asked_for { json!({"progress": 1}) } else { json!({"after": WAIT}) };
    prelude.step.insert("cancel".to_owned(), when);
    let name = format!("{}: {about}", title(request));
    let value = json!([test(survivor, &prelude, &name, json!([expected]))]);
    let could = format!("{} could {could}", subject(request));
    Some(SuggestedTest { could, value, notes: notes(&prelude, None), lasts: true })
}

/// A task that has ended must be as it was when it is asked for again.
fn suggest_second_look(survivor: &Survivor<'_>) -> Option<SuggestedTest> {
    let exchange = survivor.exchange;
    let mut prelude = prelude(survivor.recorded, survivor.catalog, exchange)?;
    let is_cancelled = exchange.params()["task"]["cancel"] == true;
    let expected = match ExchangeAnswer::of(&exchange.sent, &exchange.replies)?.kind() {
        ExchangeAnswerKind::Served if is_cancelled => json!({"at": "result.status", "equals": "cancelled"}),
        ExchangeAnswerKind::Served => json!({"is_error": false}),
        ExchangeAnswerKind::Failed => json!({"is_error": true}),
        ExchangeAnswerKind::Refused => json!({"error": true}),
        ExchangeAnswerKind::Odd => return None,
    };
    let again = if is_cancelled { json!({"cancel": true, "again": true}) } else { json!({"again": true}) };
    prelude.step.insert("task".to_owned(), again);
    let name = format!("{}: the task stays as it ended", title(exchange));
    let value = json!([test(survivor, &prelude, &name, json!([expected]))]);
    let could = format!("{} could change or lose its task after the end", subject(exchange));
    Some(SuggestedTest { could, value, notes: notes(&prelude, None), lasts: true })
}

/// The time after which a request without progress is cancelled.
const WAIT: &str = "50ms";

impl SuggestedTest {
    /// The suggestion as YAML; `None` where it would not be read as it is meant.
    pub(crate) fn yaml(&self) -> Option<String> {
        let text = yaml::block(&self.value, 0);
        (yaml::read_value(&text).as_ref() == Some(&self.value)).then(|| {
            let notes = self.notes.iter().flat_map(|note| ["# ", note.as_str(), "\n"]);
            notes.chain([text.as_str()]).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_a_word() {
        for (text, most, expected) in [
            ("search: name", 20, "search: name"),
            ("search for everything", 20, "search for…"),
            ("search q=some long text: the text", 24, "search q=some long…"),
            ("search q=some long text: the text", 26, "search q=some long text…"),
            ("abcdefgh", 4, "abcd…"),
            ("日本語の 文字", 5, "日本語の…"),
        ] {
            assert_eq!(cut(text, most), expected, "{text}");
        }
    }
}
