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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::block::agents::tests::{Scene, answered, decoy, run_of};

    #[test]
    fn a_model_finds_something_to_read_in_every_result() {
        let link = json!({ "type": "resource_link", "uri": "file:///a", "name": "a" });
        for (result, is_read) in [
            (json!({ "content": [{ "type": "text", "text": "found" }] }), true),
            (json!({ "content": [{ "type": "image", "data": "", "mimeType": "image/png" }] }), true),
            (json!({ "content": [{ "type": "text", "text": "" }, { "type": "audio", "data": "" }] }), true),
            (json!({ "content": [{ "type": "text", "text": "" }] }), false),
            (json!({ "content": [] }), false),
            (json!({ "content": [link] }), false),
            // Models of large providers do not read structured content alone.
            (json!({ "content": [], "structuredContent": { "id": 1 } }), false),
        ] {
            let scene = Scene::new("true");
            let run = run_of(vec![answered("get", json!({}), json!({ "result": result }))]);
            let found = ReadableResults(scene.node.span).judge(&run, &scene.view());
            assert_eq!(found.is_empty(), is_read, "{result}");
        }
    }

    #[test]
    fn calls_without_a_result_show_nothing() {
        let scene = Scene::new("true");
        let judgement = ReadableResults(scene.node.span);
        let error = answered("get", json!({}), json!({ "error": { "code": -32602, "message": "no such id" } }));
        let refused = run_of(vec![error, decoy("other")]);
        assert!(judgement.judge(&refused, &scene.view()).is_empty());
        assert!(judgement.reason_not_judged(&refused).is_some());
        let served = run_of(vec![answered("get", json!({}), json!({ "result": { "content": [] } }))]);
        assert!(judgement.reason_not_judged(&served).is_none());
    }
}
