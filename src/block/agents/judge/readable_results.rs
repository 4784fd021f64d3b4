//! `readable_results:`, results in which a model finds something to read.

use serde_json::Value;

use super::{JudgedView, Judgement};
use crate::block::agents::run::{AgentCall, AgentRun};
use crate::check::answer_data::kinds_of;
use crate::event::Finding;
use crate::source::Span;

/// Kinds of content that models of all large providers read.
const READABLE: [&str; 3] = ["text", "image", "audio"];

/// Every served result has a text or a medium that models read.
#[derive(Debug)]
pub(crate) struct ReadableResults(pub(crate) Span);

impl Judgement for ReadableResults {
    fn variants(&self) -> Vec<&'static str> {
        vec!["PROVIDER-RESULT-UNUSABLE"]
    }

    fn is_about_model(&self) -> bool {
        false
    }

    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        let unreadable =
            run.calls.iter().filter(|call| is_answered(call)).find(|call| !is_readable(&call.result.message));
        let found = unreadable.map(|call| {
            let message =
                format!("the answer to `{}` has no text, image or audio, so a model reads nothing", call.name);
            let help = Some("say in a text what was done, or what was found".to_owned());
            Finding { help, ..view.finding("unreadable-result", message, self.0, "every result") }
        });
        found.into_iter().collect()
    }

    fn reason_not_judged(&self, run: &AgentRun) -> Option<String> {
        let is_served = run.calls.iter().any(|call| is_answered(call) && !call.result.is_error);
        (!is_served).then(|| "no call was served, so there is no result to read".to_owned())
    }
}

/// A server answered the call in a way that the client can read.
fn is_answered(call: &AgentCall) -> bool {
    call.reached_tool().is_some() && call.failure.is_none()
}

fn is_readable(message: &Value) -> bool {
    if message.get("error").is_some() {
        return true;
    }
    kinds_of(&message["result"]).any(|kind| READABLE.contains(&kind))
}
