//! Fields that a write loses: each text of a call is one of its own, and is looked for under the name of its argument.
//!
//! What a server makes of an argument is its own affair, so a field is lost only where the record of the write is shown, with
//! another text of the same call under the name of its argument, and nothing, or that other text, under the name of this one.
//! A list may leave out fields of its records, so that nothing in a list is a warning. Texts that stand in each other's place,
//! and the text of another call in the answer about this record, are wrong wherever they show.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Value, json};

use super::TortureCheck;
use super::clients::{Call, NumberedAnswer, ToolRequest};
use super::finding::show;
use super::reads::Read;
use super::reproduction::{ReproducedLoad, reproduction};
use super::writes::{SETTLING, WriteStudy, WritingArguments};
use crate::check::answer_data::{AnswerData, outermost_first};
use crate::check::evidence::{exchange, finding_with_help};
use crate::check::tool_arguments::TextPlace;
use crate::check::{CheckEnd, Confirmation};
use crate::event::{CheckResult, Exchange, Finding, Outcome, RequirementLevel};
use crate::redact::is_secret;
use crate::session::SessionReply;
use crate::source::words;

const CODE: &str = "lost-field";

/// A text that a call has in one of its arguments.
#[derive(Debug, Clone)]
struct FieldText {
    name: String,
    text: String,
    /// The schema requires the argument.
    is_required: bool,
}

/// A field whose text the record of a write does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldLoss {
    /// The argument.
    name: String,
    is_required: bool,
    /// The value that stands in its place.
    shown: Value,
    /// The argument whose text the same record shows.
    witness: String,
    kind: LossKind,
}

/// The value in the place of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LossKind {
    /// Nothing, or the text of another argument.
    Missing,
    /// The text of another argument, which has that of this one.
    Exchanged,
    /// The text of another call.
    Foreign,
}

/// Fields that were written, and the answers of reads to them.
struct FieldTrial {
    fields: Vec<FieldText>,
    write: NumberedAnswer,
    loss: Option<ShownLoss>,
}

/// A loss, and the read that shows it.
struct ShownLoss {
    loss: FieldLoss,
    read: Exchange,
    /// That read asks for this record alone.
    is_record: bool,
}

/// A field that two writes have lost.
pub(crate) struct LostField {
    pub(crate) finding: Finding,
    pub(crate) calls: Vec<Exchange>,
}

/// The answer of a read to a write.
pub(crate) struct ReadAnswer {
    pub(crate) result: Value,
    pub(crate) call: Exchange,
    /// The read asks for this record alone.
    pub(crate) is_record: bool,
}

impl LostField {
    /// The result of a case that found this, too.
    pub(crate) fn add_to(self, result: CheckResult) -> CheckResult {
        let outcome = match (result.outcome, self.finding.level) {
            (Outcome::Failed, _) | (_, RequirementLevel::Must) => Outcome::Failed,
            _ => Outcome::Warned,
        };
        let mut result = CheckResult { outcome, reason: None, ..result };
        show(self.finding, self.calls, &mut result);
        result
    }
}

/// Writes with a text of its own in each argument, and looks whether the reads show them all; a second write has to lose the
/// same field.
pub(crate) async fn find_lost_field(
    study: &mut WriteStudy<'_>,
    learned: &WritingArguments,
) -> Result<Option<LostField>, CheckEnd> {
    let Some(FieldTrial { fields, write, loss: Some(first) }) = write_fields(study, learned).await? else {
        return Ok(None);
    };
    let again = write_fields(study, learned).await?.and_then(|trial| trial.loss);
    let confirmation = Confirmation::of_try(Ok(again.is_some_and(|again| again.loss.name == first.loss.name)));
    if !confirmation.is_seen_again() {
        return Ok(None);
    }
    let (tool, loss) = (study.tool, &first.loss);
    let text = |name: &str| fields.iter().find(|field| field.name == name).map_or("", |field| field.text.as_str());
    let (name, witness) = (&loss.name, &loss.witness);
    let (message, help) = match loss.kind {
        LossKind::Missing => (
            format!("`{tool}` confirms a write and loses its argument `{name}`"),
            "store every argument that a call has, or refuse the call",
        ),
        LossKind::Exchanged => (
            format!("`{tool}` stores its arguments `{name}` and `{witness}` in each other's place"),
            "store every argument under its own name",
        ),
        LossKind::Foreign => (
            format!("the answer about a write of `{tool}` shows the text of another call as `{name}`"),
            "answer with the record that was asked for, and not with the one before",
        ),
    };
    let control = match loss.kind {
        LossKind::Foreign => String::new(),
        LossKind::Missing | LossKind::Exchanged => {
            format!(
                "the same answer has `{}` as `{}`",
                text(witness),
                if loss.kind == LossKind::Exchanged { name } else { witness }
            )
        }
    };
    let mut finding = finding_with_help(CODE, message, help)
        .with_evidence("expected", format!("`{}` as `{name}`", text(name)))
        .with_evidence("shown", json!({ name.as_str(): loss.shown }).to_string())
        .with_evidence("control", control)
        .with_evidence("seed", study.settings.seed.to_string());
    finding.level = level_of_loss(loss, first.is_record);
    let (check, load) = (TortureCheck::Calls, ReproducedLoad::ALONE);
    finding.reproduction = Some(Box::new(reproduction(study.context, study.settings, Some(tool), CODE, check, load)));
    let finding = confirmation.weigh(finding, "by a second write");
    Ok(Some(LostField { finding, calls: vec![write.exchange(tool), first.read] }))
}

/// The number of earlier runs whose data is passed over.
const MOST_EARLIER_RUNS: usize = 16;

/// A required argument is lost where the record itself lacks it, or a list has another text in its place, such as an empty
/// one; an optional argument, or one of which a list says nothing, may be left out.
fn level_of_loss(loss: &FieldLoss, is_record: bool) -> RequirementLevel {
    let is_certain = is_record || loss.shown.is_string();
    if loss.kind == LossKind::Foreign || loss.is_required && is_certain {
        RequirementLevel::Must
    } else {
        RequirementLevel::Should
    }
}

/// Writes once, with the texts of all arguments that the server takes together; `None` where that are fewer than two.
async fn write_fields(study: &mut WriteStudy<'_>, learned: &WritingArguments) -> Result<Option<FieldTrial>, CheckEnd> {
    let arguments = learned.template.arguments();
    let all = arguments.text_places();
    let present: Vec<TextPlace> = all.iter().filter(|place| place.is_present()).cloned().collect();
    for places in [all, present] {
        let Some(numbers) = take_unknown(study, learned, places.len()).await? else { return Ok(None) };
        let first = numbers.start;
        let texts: Vec<String> = numbers.map(|number| study.canaries.of(number)).collect();
        let made = arguments.with_texts(places.iter().zip(texts.iter().map(String::as_str)));
        let fields = fields_in(&made, &places, texts, &required_arguments(study));
        if fields.len() < 2 {
            continue;
        }
        let params = json!({"name": study.tool, "arguments": made});
        let request = ToolRequest { method: "tools/call", params };
        let call = Call { number: first, session: 0 };
        let write = study.clients.call_with(call, request).await?.filter(NumberedAnswer::is_served);
        let Some(write) = write else { continue };
        let mut loss = look_for_loss(study, learned, &fields, &write).await?;
        if loss.is_some() {
            study.clients.wait(SETTLING).await;
            loss = look_for_loss(study, learned, &fields, &write).await?;
        }
        return Ok(Some(FieldTrial { fields, write, loss }));
    }
    Ok(None)
}

pub(crate) fn required_arguments(study: &WriteStudy<'_>) -> BTreeSet<String> {
    let tool = study.context.catalog.tool(study.tool);
    let required = tool.and_then(|tool| tool.input_schema()["required"].as_array()).into_iter().flatten();
    required.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The arguments that have a text, and whose name says what a record calls it.
fn fields_in(
    arguments: &Value,
    places: &[TextPlace],
    texts: Vec<String>,
    required: &BTreeSet<String>,
) -> Vec<FieldText> {
    let sent = arguments.to_string();
    let named = places.iter().zip(texts).filter(|(place, text)| sent.contains(text) && !place.is_item());
    let field = |(place, text): (&TextPlace, String)| {
        let name = place.name();
        FieldText { is_required: place.is_outermost() && required.contains(&name), name, text }
    };
    named.map(field).collect()
}

/// Asks every read for a write, first those that show its record alone.
async fn look_for_loss(
    study: &WriteStudy<'_>,
    learned: &WritingArguments,
    fields: &[FieldText],
    write: &NumberedAnswer,
) -> Result<Option<ShownLoss>, CheckEnd> {
    let texts: Vec<String> = fields.iter().map(|field| field.text.clone()).collect();
    let mut answers = read_answers(study, learned, &texts, write).await?;
    let results: Vec<Value> = answers.iter().map(|answer| answer.result.clone()).collect();
    if let Some((at, loss)) = lost_field(fields, &results) {
        let ReadAnswer { call, is_record, .. } = answers.swap_remove(at);
        return Ok(Some(ShownLoss { loss, read: call, is_record }));
    }
    let own: Vec<u64> = fields.iter().flat_map(|field| study.canaries.calls_in(&field.text)).collect();
    let is_foreign = |text: &str| {
        let shown = study.canaries.calls_in(&text.to_lowercase());
        !shown.is_empty() && !shown.iter().any(|number| own.contains(number))
    };
    let written = write.reply.whole();
    let of_write = foreign_field(fields, &written.message["result"], &is_foreign);
    let foreign = of_write.map(|loss| (loss, write.exchange(study.tool)));
    let of_read = || {
        let records = answers.iter().filter(|answer| answer.is_record);
        { records }.find_map(|answer| Some((foreign_field(fields, &answer.result, &is_foreign)?, answer.call.clone())))
    };
    Ok(foreign.or_else(of_read).map(|(loss, read)| ShownLoss { loss, read, is_record: true }))
}

/// The numbers of so many canaries for which no read has an answer yet: a server may still have the data of an earlier
/// run, whose canaries are the same. `None` where there are none.
pub(crate) async fn take_unknown(
    study: &mut WriteStudy<'_>,
    learned: &WritingArguments,
    count: usize,
) -> Result<Option<Range<u64>>, CheckEnd> {
    for _ in 0..MOST_EARLIER_RUNS {
        let numbers = study.canaries.take(count);
        let mut is_known = false;
        for canary in numbers.clone().map(|number| study.canaries.of(number)) {
            for read in learned.reads.iter().filter(|read| matches!(read, Read::ByText { .. })) {
                let Some(request) = read.request(&canary, None) else { continue };
                let reply = study.clients.request(0, request).await?.filter(SessionReply::is_served);
                is_known |= reply.is_some_and(|reply| reply.message["result"].to_string().contains(&canary));
            }
        }
        if !is_known {
            return Ok(Some(numbers));
        }
    }
    Ok(None)
}

/// Asks every read for a write with these texts, first those that show its record alone.
pub(crate) async fn read_answers(
    study: &WriteStudy<'_>,
    learned: &WritingArguments,
    texts: &[String],
    write: &NumberedAnswer,
) -> Result<Vec<ReadAnswer>, CheckEnd> {
    let mut answers = Vec::new();
    let (records, lists): (Vec<&Read>, Vec<&Read>) = learned.reads.iter().partition(|read| read.shows_one_record());
    for read in records.into_iter().chain(lists) {
        // Only a read by text asks for one.
        let asked: Vec<&str> = match read {
            Read::ByText { .. } => texts.iter().map(String::as_str).collect(),
            Read::Tool { .. } | Read::Resource(_) | Read::ByAnswer { .. } => vec![study.canaries.beginning()],
        };
        for text in asked {
            let Some(request) = read.request(text, Some(write)) else { continue };
            let reply = study.clients.request(write.session, request).await?.filter(SessionReply::is_served);
            answers.extend(reply.map(|reply| ReadAnswer {
                result: reply.message["result"].clone(),
                call: exchange(&read.title(), &reply),
                is_record: read.shows_one_record(),
            }));
        }
    }
    Ok(answers)
}

/// The first field in whose place the record of an answer has the text of another call. A list has records of others.
fn foreign_field(fields: &[FieldText], answer: &Value, is_foreign: &dyn Fn(&str) -> bool) -> Option<FieldLoss> {
    let data = AnswerData::of_result(answer);
    let record = data.values().next().map(|value| inner_record(value, fields))?;
    fields.iter().find_map(|field| {
        let shown = member_of(record, &field.name).filter(|shown| shown.as_str().is_some_and(is_foreign))?;
        Some(FieldLoss {
            name: field.name.clone(),
            is_required: field.is_required,
            shown: shown.clone(),
            witness: String::new(),
            kind: LossKind::Foreign,
        })
    })
}

/// The record in an answer: itself, or its only member that is an object.
fn inner_record<'v>(value: &'v Value, fields: &[FieldText]) -> &'v Value {
    let is_record = fields.iter().any(|field| member_of(value, &field.name).is_some());
    let mut inner =
        value.as_object().into_iter().flatten().map(|(_, member)| member).filter(|member| member.is_object());
    match (is_record, inner.next(), inner.next()) {
        (false, Some(only), None) => only,
        _ => value,
    }
}

/// The member of a record that has the name of an argument, however its words are joined.
fn member_of<'v>(record: &'v Value, name: &str) -> Option<&'v Value> {
    let mut members = record.as_object()?.iter();
    members.find(|(own, _)| words(own) == words(name)).map(|(_, value)| value)
}

/// The first field that is lost, with the number of the answer that shows it.
fn lost_field(fields: &[FieldText], answers: &[Value]) -> Option<(usize, FieldLoss)> {
    let texts: Vec<String> = answers.iter().map(|answer| answer.to_string().to_lowercase()).collect();
    let is_shown = |field: &FieldText| texts.iter().any(|text| text.contains(&field.text));
    let exchanged = fields.iter().find_map(|field| {
        answers.iter().enumerate().find_map(|(at, answer)| {
            let data = AnswerData::of_result(answer);
            let loss = data.values().flat_map(outermost_first).find_map(|record| exchange_in(record, field, fields));
            Some((at, loss?))
        })
    });
    if exchanged.is_some() {
        return exchanged;
    }
    let missing = fields.iter().filter(|field| !is_shown(field) && !is_secret(&field.name, "text"));
    { missing }.find_map(|field| {
        answers.iter().enumerate().find_map(|(at, answer)| {
            let data = AnswerData::of_result(answer);
            let loss = data.values().flat_map(outermost_first).find_map(|record| loss_in(record, field, fields));
            Some((at, loss?))
        })
    })
}

/// A field that has the text of another one, which has that of this one.
fn exchange_in(record: &Value, field: &FieldText, fields: &[FieldText]) -> Option<FieldLoss> {
    let has = |name: &str, text: &str| member_of(record, name).and_then(Value::as_str) == Some(text);
    let others = fields.iter().filter(|other| other.name != field.name);
    let other = { others }.find(|other| has(&field.name, &other.text) && has(&other.name, &field.text))?;
    Some(FieldLoss {
        name: field.name.clone(),
        is_required: field.is_required,
        shown: other.text.clone().into(),
        witness: other.name.clone(),
        kind: LossKind::Exchanged,
    })
}

/// The loss that a record shows, if it is that of the write.
fn loss_in(record: &Value, field: &FieldText, fields: &[FieldText]) -> Option<FieldLoss> {
    let member = |name: &str| member_of(record, name);
    let others = || fields.iter().filter(|other| other.name != field.name);
    let is_in_place = |other: &&FieldText| member(&other.name).is_some_and(|value| has_text(value, &other.text));
    let witness = others().find(is_in_place)?;
    let shown = member(&field.name)?;
    let is_of_another = others().any(|other| shown.as_str() == Some(other.text.as_str()));
    (is_empty(shown) || is_of_another).then(|| FieldLoss {
        name: field.name.clone(),
        is_required: field.is_required,
        shown: shown.clone(),
        witness: witness.name.clone(),
        kind: LossKind::Missing,
    })
}

fn has_text(value: &Value, text: &str) -> bool {
    value.as_str().is_some_and(|value| value.to_lowercase().contains(text))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tool_arguments::ToolArguments;

    fn field(name: &str, text: &str) -> FieldText {
        FieldText { name: name.to_owned(), text: text.to_owned(), is_required: true }
    }

    fn note() -> Vec<FieldText> {
        vec![field("title", "zq1"), field("content", "zq2"), field("api_key", "zq3")]
    }

    fn record(record: &Value) -> Value {
        json!({"structuredContent": record, "content": []})
    }

    #[test]
    fn a_field_is_lost_where_its_record_has_nothing_in_its_place() {
        let in_text = json!({"content": [{"type": "text", "text": "{\"title\": \"zq1\", \"content\": \"\"}"}]});
        for (answers, expected) in [
            // Wrong.
            (vec![record(&json!({"title": "zq1", "content": ""}))], Some(json!(""))),
            (vec![record(&json!({"id": 7, "title": "zq1", "content": null}))], Some(json!(null))),
            (
                vec![record(&json!({"notes": [{"title": "x", "content": "y"}, {"title": "ZQ1", "content": " "}]}))],
                Some(json!(" ")),
            ),
            (vec![record(&json!({"Title": "zq1@example.com", "content": []}))], Some(json!([]))),
            (vec![record(&json!({"title": "zq1", "content": "zq1"}))], Some(json!("zq1"))),
            (vec![json!({"content": []}), in_text], Some(json!(""))),
            // Right.
            (vec![record(&json!({"title": "zq1", "content": "zq2"}))], None),
            (vec![record(&json!({"title": "zq1", "content": ""})), record(&json!({"body": "zq2"}))], None),
            (vec![record(&json!({"title": "zq1", "content": "", "text": "ZQ2"}))], None),
            (vec![record(&json!({"title": "zq1", "content": "zq2", "api_key": null}))], None),
            // Doubtful: the record may show only a part, be another one, or hold the text in another form.
            (vec![record(&json!({"title": "zq1"}))], None),
            (vec![record(&json!({"title": "zq9", "content": ""}))], None),
            (vec![record(&json!({"title": "zq1", "content": "5 characters"}))], None),
            (vec![record(&json!({"title": "zq1", "content": {"length": 9}}))], None),
            (vec![record(&json!({"name": "zq1", "content": ""}))], None),
            (vec![record(&json!({"title": {"text": "zq1"}, "content": ""}))], None),
            (vec![json!({"content": [{"type": "text", "text": "zq1: "}]})], None),
            (vec![], None),
        ] {
            let lost = lost_field(&note(), &answers);
            assert_eq!(lost.as_ref().map(|(_, loss)| loss.shown.clone()), expected, "{answers:?}");
            assert!(lost.is_none_or(|(_, loss)| loss.name == "content" && loss.witness == "title"));
        }
    }

    #[test]
    fn what_may_be_left_out_is_a_warning() {
        use RequirementLevel::{Must, Should};
        for (is_required, is_record, shown, expected) in [
            (true, true, json!(null), Must),
            (true, true, json!(""), Must),
            (true, false, json!(""), Must),
            (true, false, json!("zq1"), Must),
            (true, false, json!(null), Should),
            (true, false, json!([]), Should),
            (false, true, json!(""), Should),
        ] {
            let (name, witness, kind) = ("content".to_owned(), "title".to_owned(), LossKind::Missing);
            let loss = FieldLoss { name, is_required, shown, witness, kind };
            assert_eq!(level_of_loss(&loss, is_record), expected, "{is_record} {loss:?}");
        }
    }

    #[test]
    fn texts_in_each_others_place_are_exchanged() {
        for (shown, expected) in [
            (json!({"title": "zq2", "content": "zq1"}), Some(("title", LossKind::Exchanged))),
            (json!({"notes": [{"title": "zq2", "content": "zq1"}]}), Some(("title", LossKind::Exchanged))),
            (json!({"title": "zq1", "content": "zq2"}), None),
            (json!({"title": "zq2", "content": "zq9"}), None),
        ] {
            let lost = lost_field(&note(), &[record(&shown)]);
            assert_eq!(lost.as_ref().map(|(_, loss)| (loss.name.as_str(), loss.kind)), expected, "{shown}");
        }
    }

    #[test]
    fn a_record_must_not_have_the_text_of_another_call() {
        let is_foreign = |text: &str| text.starts_with("zq") && !["zq1", "zq2", "zq3"].contains(&text);
        for (shown, expected) in [
            (json!({"title": "zq9", "content": "zq2"}), Some("title")),
            (json!({"note": {"title": "zq1", "content": "zq9"}}), Some("content")),
            (json!({"title": "zq1", "content": "zq2"}), None),
            // Doubtful: a list has others, and so may a record of two.
            (json!({"notes": [{"title": "zq9"}]}), None),
            (json!({"before": {"title": "zq9"}, "after": {"title": "zq1"}}), None),
            (json!("zq9"), None),
        ] {
            let loss = foreign_field(&note(), &record(&shown), &is_foreign);
            assert_eq!(loss.map(|loss| loss.name).as_deref(), expected, "{shown}");
        }
    }

    #[test]
    fn the_answer_that_shows_a_loss_is_named() {
        let answers = [record(&json!({"count": 1})), record(&json!({"title": "zq1", "content": ""}))];
        assert_eq!(lost_field(&note(), &answers).map(|(at, _)| at), Some(1));
    }

    #[test]
    fn fields_are_the_named_texts_of_a_call() {
        let text = json!({"type": "string"});
        let properties = json!({
            "title": text,
            "author": {"type": "object", "properties": {"name": text}},
            "tags": {"type": "array", "items": text},
            "kind": {"enum": ["a"]},
            "note": text,
        });
        let schema = json!({"type": "object", "properties": properties});
        let base = json!({"title": "x", "author": {"name": "y"}, "tags": ["t"], "kind": "a"});
        let arguments = ToolArguments::of_test(Some(&schema), base);
        let places = arguments.text_places();
        let texts: Vec<String> = (0..places.len()).map(|at| format!("zq{at}")).collect();
        let made = arguments.with_texts(places.iter().zip(texts.iter().map(String::as_str)));
        let required = ["title", "name"].map(str::to_owned).into();
        let fields = fields_in(&made, &places, texts, &required);
        let fields: Vec<(&str, bool)> = fields.iter().map(|field| (field.name.as_str(), field.is_required)).collect();
        assert_eq!(fields, [("title", true), ("name", false), ("note", false)]);
    }

    #[test]
    fn a_loss_fails_what_has_passed() {
        use Outcome::{Failed, Inconclusive, Passed, Warned};
        for (outcome, level, expected) in [
            (Passed, RequirementLevel::Must, Failed),
            (Passed, RequirementLevel::Should, Warned),
            (Inconclusive, RequirementLevel::Must, Failed),
            (Inconclusive, RequirementLevel::Should, Warned),
            (Warned, RequirementLevel::Must, Failed),
            (Failed, RequirementLevel::Should, Failed),
        ] {
            let finding = Finding { level, ..Finding::new(CODE, "it is lost") };
            let result = LostField { finding, calls: Vec::new() }.add_to(CheckResult::new(outcome));
            assert_eq!((result.outcome, result.findings.len()), (expected, 1), "{outcome:?} {level:?}");
        }
    }
}
