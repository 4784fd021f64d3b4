//! Calls as the results of checks show them.

use crate::event::{CallPurpose, CheckResult, Exchange, Outcome, Phase, Reason, RefusedCall};
use crate::plan::CheckContext;
use crate::plan::arguments::ConfigSource;
use crate::session::SessionReply;
use crate::source::beginning_of_json;

/// How much of a message is shown, in characters.
pub(crate) const SHOWN: usize = 600;

/// How much of a refusal is shown, so that there is room for the help behind it.
const SHOWN_REFUSAL: usize = 240;

/// The result where no valid call of a tool was served.
pub(crate) fn refused(context: &CheckContext<'_>, tool: &str, refusal: Option<&SessionReply>) -> CheckResult {
    refused_with_help(tool, refusal, ConfigSource::of(context.suite).help_to_give_arguments(tool))
}

/// The same where `help` says how to give arguments, to be continued after `give valid arguments `.
pub(crate) fn refused_with_help(tool: &str, refusal: Option<&SessionReply>, help: String) -> CheckResult {
    let call = RefusedCall {
        call: format!("tools/call {tool}"),
        answer: refusal.map(|reply| beginning_of_json(&*reply.message, SHOWN_REFUSAL)).unwrap_or_default(),
        help,
        purpose: CallPurpose::Check,
    };
    CheckResult::because(Outcome::Inconclusive, Reason::ValidCallRefused(call))
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
