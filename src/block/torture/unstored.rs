//! Writes that are confirmed and lost, one after another: each replaces the last, or none is ever shown.
//!
//! What a tool means is known by its name only, so a list counts that by its name lists what the tool creates, and that takes
//! no arguments by which it could leave something out. A store that is slow, has pages, or says that it will do the work
//! later is left alone.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::clients::NumberedAnswer;
use super::finding::show;
use super::identifiers::identifier_of_write;
use super::reads::{Read, ReadBack};
use super::template::ArgumentTemplate;
use super::writes::{POLLING, WriteStudy};
use crate::check::answer_data::AnswerData;
use crate::check::evidence::{exchange, finding_with_help};
use crate::check::{CheckEnd, lists_what_is_created};
use crate::event::{CheckResult, Exchange, Finding, Outcome};
use crate::session::SessionReply;
use crate::source::words;
use crate::wire::{Tool, read_json};

/// The time in which a confirmed write must be listed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The fewest writes of which only the last one is shown.
const FEWEST: usize = 3;

/// The number of items, or of lines of a text, from which a list may be cut off: the first ten, or the best ones.
const FULL: usize = 10;

/// Members of an answer with which a list goes on elsewhere.
const PAGES: [&str; 6] = ["cursor", "next", "page", "offset", "more", "limit"];

/// Words of a store that does the work later.
const LATER: [&str; 18] = [
    "queue",
    "queued",
    "enqueued",
    "buffered",
    "deferred",
    "background",
    "soon",
    "eventually",
    "pending",
    "draft",
    "review",
    "approval",
    "moderation",
    "schedule",
    "scheduled",
    "later",
    "accepted",
    "processing",
];

const CODE: &str = "lost-update";

/// The facts about writes one after another of which no read shows all.
struct ReplacedFacts {
    /// The writes in their order.
    written: Vec<u64>,
    /// The part of them that each read shows.
    shown: Vec<BTreeSet<u64>>,
    /// The answers to the writes name records of their own.
    has_own_identifiers: bool,
    /// A read lists by its name what the tool creates, and every argument of the calls was a text of its own.
    is_list_of_created: bool,
    has_pages: bool,
}

impl ReplacedFacts {
    /// Every read that shows any of them shows the last one alone.
    fn is_replaced(&self) -> bool {
        let last = self.written.iter().copied().max().into_iter().collect::<BTreeSet<_>>();
        let showing: Vec<_> = self.shown.iter().filter(|shown| !shown.is_empty()).collect();
        self.written.len() >= FEWEST
            && !showing.is_empty()
            && showing.iter().all(|shown| **shown == last)
            && !self.has_pages
            && (self.has_own_identifiers || self.is_list_of_created)
    }
}

/// The result of a check that ends with writes that are lost, and the calls that show it.
fn failed_with(finding: Finding, calls: impl Iterator<Item = Exchange>) -> CheckResult {
    let mut result = CheckResult::new(Outcome::Failed);
    show(finding, calls.collect(), &mut result);
    result
}

impl WriteStudy<'_> {
    /// The failure of writes one after another that replace each other.
    pub(crate) fn judge_replaced(
        &self,
        template: &ArgumentTemplate,
        reads: &[Read],
        writes: &[&NumberedAnswer],
        backs: &[ReadBack],
    ) -> Option<CheckResult> {
        let tool = self.tool;
        let identifiers: BTreeSet<String> =
            writes.iter().filter_map(|write| identifier_of_write(write, tool, &self.canaries)).collect();
        let is_list = |read: &Read| read.shows_all() && lists_what_is_created(read.name(), tool);
        let shows_list = reads.iter().zip(backs).any(|(read, back)| is_list(read) && !back.shown.is_empty());
        let calls: Vec<Exchange> = backs.iter().filter_map(|back| back.call.clone()).collect();
        let facts = ReplacedFacts {
            written: writes.iter().map(|write| write.number).collect(),
            shown: backs.iter().map(|back| back.shown.keys().copied().collect()).collect(),
            has_own_identifiers: identifiers.len() == writes.len(),
            is_list_of_created: shows_list && has_only_own_texts(&template.with(MARK)),
            has_pages: calls.iter().any(|call| names_any(&call.received, &PAGES)),
        };
        if !facts.is_replaced() {
            return None;
        }
        let names: BTreeSet<&str> = reads.iter().map(Read::name).collect();
        let is_one = names.len() == 1;
        let names = names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        let message = format!(
            "of {} writes of `{tool}` one after another, each confirmed, {names} show{} the last one only",
            writes.len(),
            if is_one { "s" } else { "" },
        );
        let help = "keep each record under an identifier of its own, and add to the store instead of replacing it";
        let control = if facts.has_own_identifiers {
            "each answer names a record of its own"
        } else {
            "the tool adds by its name, and the list takes no text by which it could leave something out"
        };
        let finding = finding_with_help(CODE, message, help)
            .with_evidence("lost", format!("{} of {} confirmed writes", writes.len() - 1, writes.len()))
            .with_evidence("control", control);
        let first = writes.first().map(|write| write.exchange(tool));
        Some(failed_with(finding, first.into_iter().chain(calls)))
    }

    /// Writes once more, and looks for so long in the list of what the tool creates.
    pub(crate) async fn find_unstored(&mut self, template: &ArgumentTemplate) -> Result<Option<CheckResult>, CheckEnd> {
        let Some(list) = self.complete_list() else { return Ok(None) };
        let Some(before) = self.read_list(&list).await? else { return Ok(None) };
        let call = self.next_calls(template, 1);
        let Some(write) = self.clients.one_after_another(&call).await?.into_iter().find(NumberedAnswer::is_served)
        else {
            return Ok(None);
        };
        let canary = self.canaries.of(write.number);
        let until = Instant::now() + PATIENCE;
        let mut after = before.clone();
        while Instant::now() < until {
            self.clients.wait(POLLING).await;
            let Some(read) = self.read_list(&list).await? else { return Ok(None) };
            after = read;
            if result_text(&after).contains(&canary) {
                return Ok(None);
            }
        }
        let asked = self.ask_for_record(&write).await?;
        let facts = UnstoredFacts {
            is_unchanged: result_text(&before) == result_text(&after),
            may_be_elsewhere: names_any(&result_text(&after), &PAGES)
                || names_any(write.text(), &LATER)
                || longest_list(&after.message["result"]) >= FULL,
            has_only_own_texts: has_only_own_texts(&template.with(MARK)),
            record: asked.as_ref().map(|asked| result_text(asked).contains(&canary)),
        };
        if !facts.is_lost() {
            return Ok(None);
        }
        let (tool, list) = (self.tool, list.name().to_owned());
        let message = format!(
            "`{tool}` confirms a write, and `{list}`, which takes no arguments, shows after {} s what it showed before",
            PATIENCE.as_secs()
        );
        let help =
            "store what a call confirms before it is confirmed, or answer with `isError: true` if it cannot be stored";
        let finding = finding_with_help(CODE, message, help)
            .with_evidence("expected", format!("`{canary}`, which the call was sent with"))
            .with_evidence("control", facts.control(&list, &after));
        let read = asked.map(|reply| exchange("tools/call", &reply));
        let calls = [Some(write.exchange(tool)), Some(exchange(&format!("tools/call {list}"), &after)), read];
        Ok(Some(failed_with(finding, calls.into_iter().flatten())))
    }

    /// The list of what the tool creates, where it takes no arguments by which it could leave something out.
    fn complete_list(&self) -> Option<Read> {
        let lists = |tool: &&Tool| tool.only_reads() && lists_what_is_created(&tool.name, self.tool);
        let list = self.context.catalog.tools.iter().filter(|tool| tool.takes_no_arguments()).find(lists)?;
        let candidates = Read::candidates(self.context, self.settings, self.tool);
        candidates.into_iter().find(|read| read.shows_all() && read.name() == list.name)
    }

    async fn read_list(&self, list: &Read) -> Result<Option<SessionReply>, CheckEnd> {
        let Some(request) = list.request("", None) else { return Ok(None) };
        Ok(self.clients.request(0, request).await?.filter(SessionReply::is_served))
    }

    /// Asks a reading tool for the record that the answer to a write names; `None` where it names none, or nothing reads it.
    async fn ask_for_record(&self, write: &NumberedAnswer) -> Result<Option<SessionReply>, CheckEnd> {
        let canary = self.canaries.of(write.number);
        for read in Read::candidates(self.context, self.settings, self.tool) {
            if read.shows_one_record()
                && let Some(request) = read.request(&canary, Some(write))
            {
                return self.clients.request(write.session, request).await;
            }
        }
        Ok(None)
    }
}

/// The facts about a write that a list of everything does not show.
#[derive(Debug, Clone, Copy)]
struct UnstoredFacts {
    /// The list answers as it did before the write.
    is_unchanged: bool,
    /// The list has pages or may be full, or the answer to the write says that the work is done later.
    may_be_elsewhere: bool,
    /// Every argument of the call was a text of its own, so that none could keep the record out of the list.
    has_only_own_texts: bool,
    /// The record that the answer names can be asked for, and shows the text or not.
    record: Option<bool>,
}

impl UnstoredFacts {
    /// The record that was confirmed is not there, or nothing can have kept it out of the list.
    fn is_lost(self) -> bool {
        let is_open = self.is_unchanged && !self.may_be_elsewhere;
        is_open && (self.record == Some(false) || self.record.is_none() && self.has_only_own_texts)
    }

    fn control(self, list: &str, shown: &SessionReply) -> String {
        match (has_records(shown), self.record) {
            (true, _) => format!("`{list}` shows other records"),
            (false, Some(_)) => "the record that the answer names is asked for, and does not show the text".to_owned(),
            (false, None) => format!("`{list}` is served, and nothing that was sent chooses what it lists"),
        }
    }
}

/// Stands for the text of a call.
const MARK: &str = "zq";

/// Every text of these arguments is that of the call, and nothing else chooses a record.
fn has_only_own_texts(arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => text.contains(MARK),
        Value::Bool(_) | Value::Null => true,
        Value::Number(_) => false,
        Value::Array(items) => items.iter().all(has_only_own_texts),
        Value::Object(members) => members.values().all(has_only_own_texts),
    }
}

/// A text has one of these words, as a word or a part of a member's name.
fn names_any(text: &str, wanted: &[&str]) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .flat_map(words)
        .any(|word| wanted.contains(&word.as_str()))
}

/// An answer has a list with items.
fn has_records(reply: &SessionReply) -> bool {
    fn has_items(value: &Value) -> bool {
        match value {
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => members.values().any(has_items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    AnswerData::of(&reply.message).values().any(has_items)
}

/// The most items of a list in a result, or lines of a text in it.
fn longest_list(result: &Value) -> usize {
    match result {
        Value::Array(items) => items.iter().map(longest_list).fold(items.len(), usize::max),
        Value::Object(members) => members.values().map(longest_list).max().unwrap_or_default(),
        Value::String(text) => read_json(text).as_ref().map_or_else(|| text.lines().count(), longest_list),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn result_text(reply: &SessionReply) -> String {
    if reply.is_served() { reply.message["result"].to_string() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::tests::reply;

    #[test]
    fn writes_are_replaced_where_only_the_last_is_shown_of_records_of_their_own() {
        let facts = |shown: &[&[u64]], has_own_identifiers, is_list_of_created| ReplacedFacts {
            written: vec![1, 2, 3],
            shown: shown.iter().map(|shown| shown.iter().copied().collect()).collect(),
            has_own_identifiers,
            is_list_of_created,
            has_pages: false,
        };
        for (facts, expected) in [
            (facts(&[&[3]], true, false), true),
            (facts(&[&[3], &[]], false, true), true),
            // A value that is set: the answers name nothing, and the name of no tool says that it adds.
            (facts(&[&[3]], false, false), false),
            // Another read shows more, a list shows the first, or nothing is shown.
            (facts(&[&[3], &[1, 2, 3]], true, true), false),
            (facts(&[&[1]], true, true), false),
            (facts(&[&[2, 3]], true, true), false),
            (facts(&[&[], &[]], true, true), false),
            (ReplacedFacts { has_pages: true, ..facts(&[&[3]], true, true) }, false),
            (ReplacedFacts { written: vec![2, 3], ..facts(&[&[3]], true, true) }, false),
        ] {
            assert_eq!(facts.is_replaced(), expected, "{:?}", facts.shown);
        }
    }

    #[test]
    fn a_write_is_not_stored_where_a_list_of_everything_is_as_before() {
        let facts =
            UnstoredFacts { is_unchanged: true, may_be_elsewhere: false, has_only_own_texts: true, record: None };
        for (facts, expected) in [
            (facts, true),
            (UnstoredFacts { record: Some(false), ..facts }, true),
            (UnstoredFacts { has_only_own_texts: false, record: Some(false), ..facts }, true),
            // An event of another day need not be listed.
            (UnstoredFacts { has_only_own_texts: false, ..facts }, false),
            (UnstoredFacts { record: Some(true), ..facts }, false),
            (UnstoredFacts { is_unchanged: false, ..facts }, false),
            (UnstoredFacts { may_be_elsewhere: true, ..facts }, false),
        ] {
            assert_eq!(facts.is_lost(), expected, "{facts:?}");
        }
    }

    #[test]
    fn a_list_is_as_long_as_its_items_or_lines() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        for (result, expected) in [
            (text("nothing"), 1),
            (text("one\ntwo\nthree"), 3),
            (text("[1, 2, 3, 4]"), 4),
            (json!({"content": [], "structuredContent": {"notes": [{"tags": [1, 2, 3]}, {}]}}), 3),
            (json!({"content": []}), 0),
        ] {
            assert_eq!(longest_list(&result), expected, "{result}");
        }
    }

    #[test]
    fn pages_and_delays_are_known_by_their_words() {
        for (text, wanted, expected) in [
            (r#"{"notes":[],"nextCursor":null}"#, &PAGES[..], true),
            (r#"{"notes":[],"has_more":false}"#, &PAGES, true),
            (r#"{"notes":[{"text":"a"}]}"#, &PAGES, false),
            ("queued as job 7", &LATER, true),
            ("Enqueued the note.", &LATER, true),
            ("Your note will be stored in the background", &LATER, true),
            ("{\"status\":\"write-deferred\"}", &LATER, true),
            ("Saved.", &LATER, false),
        ] {
            assert_eq!(names_any(text, wanted), expected, "{text}");
        }
    }

    #[test]
    fn another_text_or_number_may_choose_the_record() {
        for (arguments, expected) in [
            (json!({"text": "zq"}), true),
            (json!({"title": "zq", "body": "a zq", "pinned": false}), true),
            (json!({"text": "zq", "folder": "inbox"}), false),
            (json!({"text": "zq", "board": 1}), false),
        ] {
            assert_eq!(has_only_own_texts(&arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn a_list_that_shows_other_records_is_the_best_control() {
        let facts =
            UnstoredFacts { is_unchanged: true, may_be_elsewhere: false, has_only_own_texts: true, record: None };
        let list = |notes: Value| json!({"result": {"content": [], "structuredContent": notes}});
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        for (shown, record, says) in [
            (list(json!({"notes": [{"text": "a"}]})), None, "shows other records"),
            (list(json!({"notes": [{"text": "a"}]})), Some(false), "shows other records"),
            (list(json!({"page": {"notes": [1]}})), None, "shows other records"),
            (text("[{\"text\": \"a\"}]"), None, "shows other records"),
            (list(json!({"notes": []})), Some(false), "is asked for, and does not show the text"),
            (list(json!({"notes": []})), None, "nothing that was sent chooses"),
            // A sentence may say that there is nothing.
            (text("1 note"), None, "nothing that was sent chooses"),
        ] {
            let control = UnstoredFacts { record, ..facts }.control("list_notes", &reply(shown.clone()));
            assert!(control.contains(says), "{shown}: {control}");
        }
    }

    #[test]
    fn a_refused_list_shows_no_text() {
        for (message, is_empty) in [
            (json!({"result": {"content": [{"type": "text", "text": "zq1"}]}}), false),
            (json!({"result": {"content": [{"type": "text", "text": "no zq1"}], "isError": true}}), true),
            (json!({"error": {"code": -32602, "message": "zq1"}}), true),
        ] {
            assert_eq!(result_text(&reply(message.clone())).is_empty(), is_empty, "{message}");
        }
    }
}
