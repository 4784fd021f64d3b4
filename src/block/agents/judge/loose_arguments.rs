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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::block::agents::tests::{Scene, calls, messages, run_of};

    #[test]
    fn only_a_wrong_or_silent_server_is_reported() {
        let timeout = Finding::new("timeout", "no answer within 5s");
        for (verdict, code, expected) in [
            (LooseVerdict::Understood, "", ""),
            (
                LooseVerdict::Misunderstood,
                "loose-arguments-misunderstood",
                "`get` serves numbers as text, and answers something else than before",
            ),
            (
                LooseVerdict::Unexplained,
                "loose-arguments-unexplained",
                "`get` refuses numbers as text without saying which argument is wrong",
            ),
            (LooseVerdict::Unanswered(Box::new(timeout)), "timeout", "`get` with numbers as text: no answer within 5s"),
        ] {
            let scene = Scene::new("true");
            let (tool, answer) = ("get".to_owned(), "no".to_owned());
            let loose = vec![LooseCall { tool, form: "numbers as text", arguments: json!({}), answer, verdict }];
            let run = AgentRun { loose, ..run_of(calls(&["get"])) };
            let judgement = LooseArguments(scene.node.span);
            let found = judgement.judge(&run, &scene.view());
            assert_eq!(messages(&found).concat(), expected);
            assert_eq!(found.iter().map(|finding| finding.code.as_str()).collect::<String>(), code);
            assert_eq!(judgement.reason_not_judged(&run), None);
        }
        let judgement = LooseArguments(Scene::new("true").node.span);
        assert!(judgement.reason_not_judged(&run_of(calls(&["get"]))).is_some(), "no call was made again");
    }
}
