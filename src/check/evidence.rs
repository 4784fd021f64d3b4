//! Calls as the results of checks show them.

use crate::event::{CallPurpose, CheckResult, Code, Exchange, Finding, Outcome, Phase, Reason, RefusedCall};
use crate::plan::CheckContext;
use crate::plan::arguments::ConfigSource;
use crate::session::SessionReply;
use crate::source::{beginning_of_json, shorten};

/// The number of characters of a message that are shown.
pub(crate) const SHOWN: usize = 600;

/// The number of characters of a refusal that are shown, so that there is room for the help behind it.
const SHOWN_REFUSAL: usize = 240;

/// The number of names that a sentence has.
const MOST_NAMES: usize = 5;

/// The result where no valid call of a tool was served, of which this is the last one.
pub(crate) fn refusal_result(context: &CheckContext<'_>, tool: &str, refusal: Option<&Exchange>) -> CheckResult {
    refusal_result_with_help(tool, refusal, ConfigSource::of(context.suite).help_to_give_arguments(tool))
}

/// The same where `help` says how to give arguments, to be continued after `give valid arguments `.
pub(crate) fn refusal_result_with_help(tool: &str, refusal: Option<&Exchange>, help: String) -> CheckResult {
    let answer = refusal.map(|exchange| shorten(&exchange.received, SHOWN_REFUSAL)).unwrap_or_default();
    CheckResult::because(Outcome::Inconclusive, valid_call_refused(tool, answer, help))
}

/// The reason for which nothing follows where a valid call of a tool has this answer.
pub(crate) fn valid_call_refused(tool: &str, answer: String, help: String) -> Reason {
    let call = format!("tools/call {tool}");
    let words = answer.clone();
    RefusedCall { call, answer, help, purpose: CallPurpose::Check }.reason(&words)
}

/// A finding that says what to do about it.
pub(crate) fn finding_with_help(code: impl Into<Code>, message: impl Into<String>, help: impl Into<String>) -> Finding {
    Finding { help: Some(help.into()), ..Finding::new(code, message) }
}

/// The first names of a list, in backticks.
pub(crate) fn list_of_names<T: AsRef<str>>(names: &[T]) -> String {
    let quoted: Vec<String> = names.iter().take(MOST_NAMES + 1).map(|name| format!("`{}`", name.as_ref())).collect();
    beginning_of_list(&quoted, names.len())
}

/// The first items of a list that has so many.
pub(crate) fn beginning_of_list(items: &[String], count: usize) -> String {
    let more = if count > MOST_NAMES { format!(" and {} more", count - MOST_NAMES) } else { String::new() };
    items[..items.len().min(MOST_NAMES)].join(", ") + &more
}

/// A number of items in words.
pub(crate) fn items_text(count: u64) -> String {
    if count == 1 { "1 item".to_owned() } else { format!("{count} items") }
}

/// A request and its answer as they are shown, which is all of a long answer that is kept.
pub(crate) fn exchange(title: &str, reply: &SessionReply) -> Exchange {
    Exchange {
        phase: Phase::Steps,
        title: title.to_owned(),
        tool: Exchange::tool_of(title, &reply.params),
        sent: beginning_of_json(reply.params.get("arguments").unwrap_or(&reply.params), SHOWN),
        received: beginning_of_json(&*reply.message, SHOWN),
        frame: reply.frame,
        answer_frame: Some(reply.answer_frame),
        elapsed_us: u64::try_from(reply.elapsed.as_micros()).unwrap_or(u64::MAX),
    }
}

/// A call of a tool, or a resource that was read, as it is shown, which is all of it that is kept.
pub(crate) fn shown_call(reply: &SessionReply) -> Exchange {
    match reply.params["name"].as_str() {
        Some(tool) => exchange(&format!("tools/call {tool}"), reply),
        None => exchange("resources/read", reply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(list_of_names(&["a", "b"]), "`a`, `b`");
        assert_eq!(list_of_names(&["a", "b", "c", "d", "e"]), "`a`, `b`, `c`, `d`, `e`");
        assert_eq!(list_of_names(&["a", "b", "c", "d", "e", "f", "g"]), "`a`, `b`, `c`, `d`, `e` and 2 more");
        assert_eq!(list_of_names::<&str>(&[]), "");
        assert_eq!((items_text(0), items_text(1)), ("0 items".to_owned(), "1 item".to_owned()));
    }
}
