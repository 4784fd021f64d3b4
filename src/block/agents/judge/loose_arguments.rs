//! `loose_arguments:`, arguments as models write them are understood, or refused with a reason.

use super::{JudgedView, Judgement};
use crate::block::agents::loose::{LooseCall, LooseVerdict};
use crate::block::agents::run::AgentRun;
use crate::event::{Code, Finding};
use crate::source::{Span, shorten};

/// Calls that were made again are served alike, or refused with a reason.
#[derive(Debug)]
pub(crate) struct LooseArguments(pub(crate) Span);

impl Judgement for LooseArguments {
    fn variants(&self) -> Vec<&'static str> {
        vec!["PROVIDER-STRICT-ARG-TYPES"]
    }

    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        run.loose.iter().filter_map(|call| self.finding(call, view)).collect()
    }

    fn reason_not_judged(&self, run: &AgentRun) -> Option<String> {
        let why = "no call was made again with loose arguments: none was served by a tool that may be called again";
        run.loose.is_empty().then(|| why.to_owned())
    }
}

impl LooseArguments {
    fn finding(&self, call: &LooseCall, view: &JudgedView<'_>) -> Option<Finding> {
        let LooseCall { tool, form, arguments, answer, verdict } = call;
        let (code, message, help) = match verdict {
            LooseVerdict::Understood => return None,
            LooseVerdict::Misunderstood => (
                Code::new("loose-arguments-misunderstood"),
                format!("`{tool}` serves {form}, and answers something else than before"),
                "convert such arguments to their type, or refuse them",
            ),
            LooseVerdict::Unexplained => (
                Code::new("loose-arguments-unexplained"),
                format!("`{tool}` refuses {form} without saying which argument is wrong"),
                "name the argument and its type, so that a model can correct the call",
            ),
            LooseVerdict::Unanswered(found) => (
                found.code.clone(),
                format!("`{tool}` with {form}: {}", found.message),
                "answer such calls with an error",
            ),
        };
        let found = view.finding(code, message, self.0, "arguments as models write them");
        let found = Finding { help: Some(help.to_owned()), ..found };
        Some(found.with_evidence("arguments", arguments.to_string()).with_evidence("answer", shorten(answer, 200)))
    }
}
