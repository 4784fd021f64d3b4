//! The client's answers to requests of the server.

use serde_json::{Map, Value, json};

/// Answers taken in turn; whoever asks beyond the last one is declined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientAnswers {
    /// To `sampling/createMessage`.
    pub sampling: Option<Vec<Value>>,
    /// To `elicitation/create` with a form.
    pub forms: Option<Vec<Value>>,
    /// To `elicitation/create` with a URL, which nobody opens.
    pub urls: Option<Vec<Value>>,
    /// To `roots/list`.
    pub roots: Option<Vec<Value>>,
    /// The server has asked for the roots, and got them.
    pub has_given_roots: bool,
    turns: Turns,
}

/// The number of questions of each kind so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Turns {
    sampling: usize,
    forms: usize,
    urls: usize,
}

impl ClientAnswers {
    /// Answers from filled values: a list is taken in turn, anything else is the answer to every question. Those with
    /// `mode: url` are for URLs, and the others for forms. Roots are as `roots/list` has them.
    pub fn new(sampling: Option<Value>, elicitation: Option<Value>, roots: Option<Vec<Value>>) -> Self {
        let list = |value: Value| if let Value::Array(items) = value { items } else { vec![value] };
        let is_url = |answer: &Value| answer["mode"] == "url";
        let (urls, forms): (Vec<Value>, Vec<Value>) =
            elicitation.map(list).unwrap_or_default().into_iter().partition(is_url);
        let given = |answers: Vec<Value>| Some(answers).filter(|answers| !answers.is_empty());
        let (forms, urls) = (given(forms), given(urls));
        Self { sampling: sampling.map(list), forms, urls, roots, ..Self::default() }
    }

    /// The client capabilities that these answers need.
    pub fn capabilities(&self) -> Value {
        let elicitation = match (&self.forms, &self.urls) {
            (None, None) => None,
            // Revisions without modes know nothing but forms.
            (Some(_), None) => Some(json!({})),
            (None, Some(_)) => Some(json!({ "url": {} })),
            (Some(_), Some(_)) => Some(json!({ "form": {}, "url": {} })),
        };
        let sampling = self
            .sampling
            .as_ref()
            .map(|answers| if answers.iter().any(calls_tools) { json!({ "tools": {} }) } else { json!({}) });
        let roots = self.roots.as_ref().map(|_| json!({}));
        let offered = [("roots", roots), ("sampling", sampling), ("elicitation", elicitation)];
        let offered = offered.into_iter().filter_map(|(name, offered)| Some((name.to_owned(), offered?)));
        Value::Object(offered.collect::<Map<_, _>>())
    }

    /// The result or error with which a request of the server is answered.
    pub fn answer(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        match method {
            "ping" => Ok(json!({})),
            "roots/list" => match &self.roots {
                Some(roots) => {
                    self.has_given_roots = true;
                    Ok(json!({"roots": roots}))
                }
                None => Err(not_offered(method)),
            },
            "sampling/createMessage" => match next(self.sampling.as_deref(), &mut self.turns.sampling) {
                Some(answer) => Ok(sampling_result(answer)),
                None if self.sampling.is_some() => Err(json!({"code": -1, "message": "the user declined the request"})),
                None => Err(not_offered(method)),
            },
            "elicitation/create" => {
                let answer = if params["mode"] == "url" {
                    next(self.urls.as_deref(), &mut self.turns.urls)
                } else {
                    next(self.forms.as_deref(), &mut self.turns.forms)
                };
                Ok(answer.map_or_else(|| json!({"action": "decline"}), elicitation_result))
            }
            _ => Err(not_offered(method)),
        }
    }
}

/// The answer whose turn it is; a single answer serves for ever.
fn next<'a>(answers: Option<&'a [Value]>, turn: &mut usize) -> Option<&'a Value> {
    let answers = answers?;
    let at = if answers.len() == 1 { 0 } else { *turn };
    *turn += 1;
    answers.get(at)
}

/// The error for a request that the client does not know.
pub(crate) fn not_offered(method: &str) -> Value {
    json!({"code": -32601, "message": format!("the client does not offer `{method}`")})
}

/// A whole result is taken as it is; anything else is what the model says.
fn sampling_result(answer: &Value) -> Value {
    if answer.get("content").is_some() {
        return answer.clone();
    }
    let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "scripted", "stopReason": "endTurn"})
}

/// A model answers with calls of tools (2025-11-25, client/sampling, tools in sampling).
fn calls_tools(answer: &Value) -> bool {
    let content = &answer["content"];
    let mut blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice).iter();
    blocks.any(|block| block["type"] == "tool_use")
}

/// A whole result is taken as it is, without the mode of the questions that it is for; anything else is the content of an
/// accepted form.
fn elicitation_result(answer: &Value) -> Value {
    if answer.get("action").is_none() {
        return json!({"action": "accept", "content": answer});
    }
    let mut result = answer.clone();
    if let Some(members) = result.as_object_mut() {
        members.shift_remove("mode");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_turn_and_run_out() {
        let roots = vec![json!({"uri": "file:///a"})];
        let mut answers = ClientAnswers::new(None, Some(json!([{"n": 1}, {"action": "cancel"}])), Some(roots));
        let mut ask = |method: &str| answers.answer(method, &Value::Null);
        assert_eq!(ask("elicitation/create"), Ok(json!({"action": "accept", "content": {"n": 1}})));
        assert_eq!(ask("elicitation/create"), Ok(json!({"action": "cancel"})));
        assert_eq!(ask("elicitation/create"), Ok(json!({"action": "decline"})));
        assert_eq!(ask("roots/list"), Ok(json!({"roots": [{"uri": "file:///a"}]})));
        assert_eq!(ask("sampling/createMessage").unwrap_err()["code"], -32601);
        assert!(answers.has_given_roots);
        assert_eq!(answers.capabilities(), json!({"roots": {}, "elicitation": {}}));
    }

    #[test]
    fn urls_and_forms_have_answers_of_their_own() {
        let (form, url) = (json!({"mode": "form"}), json!({"mode": "url"}));
        let written = json!([{"n": 1}, {"mode": "url", "action": "accept"}, {"mode": "url", "action": "cancel"}]);
        let mut answers = ClientAnswers::new(None, Some(written), None);
        assert_eq!(answers.capabilities(), json!({"elicitation": {"form": {}, "url": {}}}));
        let mut ask = |params: &Value| answers.answer("elicitation/create", params).unwrap();
        assert_eq!(ask(&url), json!({"action": "accept"}));
        assert_eq!(ask(&form), json!({"action": "accept", "content": {"n": 1}}));
        assert_eq!(ask(&Value::Null), json!({"action": "accept", "content": {"n": 1}}), "a form without a mode");
        assert_eq!(ask(&url), json!({"action": "cancel"}));
        assert_eq!(ask(&url), json!({"action": "decline"}));
    }

    #[test]
    fn what_is_answered_is_declared() {
        let call =
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "add", "input": {}}]});
        let url = json!({"mode": "url", "action": "accept"});
        for (sampling, elicitation, expected) in [
            (None, None, json!({})),
            (Some(json!("text")), None, json!({"sampling": {}})),
            (Some(json!(["text", call.clone()])), None, json!({"sampling": {"tools": {}}})),
            (Some(json!({"content": call["content"][0]})), None, json!({"sampling": {"tools": {}}})),
            (None, Some(url.clone()), json!({"elicitation": {"url": {}}})),
            (None, Some(json!([url.clone(), url])), json!({"elicitation": {"url": {}}})),
        ] {
            let text = format!("{sampling:?} {elicitation:?}");
            assert_eq!(ClientAnswers::new(sampling, elicitation, None).capabilities(), expected, "{text}");
        }
    }
}
