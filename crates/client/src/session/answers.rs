//! The client's answers to requests of the server.

use serde_json::{Map, Value, json};

/// Answers taken in turn; whoever asks beyond the last one is declined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientAnswers {
    /// To `sampling/createMessage`.
    pub sampling: Option<Vec<Value>>,
    /// To `elicitation/create`.
    pub elicitation: Option<Vec<Value>>,
    /// To `roots/list`.
    pub roots: Option<Vec<Value>>,
    /// The server has asked for the roots, and got them.
    pub has_given_roots: bool,
    turn: (usize, usize),
}

impl ClientAnswers {
    /// Answers from filled values: a list is taken in turn, anything else is the answer to every question.
    /// Roots are as `roots/list` has them.
    pub fn new(sampling: Option<Value>, elicitation: Option<Value>, roots: Option<Vec<Value>>) -> Self {
        let list = |value: Value| if let Value::Array(items) = value { items } else { vec![value] };
        Self { sampling: sampling.map(list), elicitation: elicitation.map(list), roots, ..Self::default() }
    }

    /// The client capabilities that these answers need.
    pub fn capabilities(&self) -> Value {
        let offered = [
            ("roots", self.roots.is_some()),
            ("sampling", self.sampling.is_some()),
            ("elicitation", self.elicitation.is_some()),
        ];
        let offered = offered.into_iter().filter(|(_, is_offered)| *is_offered);
        Value::Object(offered.map(|(name, _)| (name.to_owned(), json!({}))).collect::<Map<_, _>>())
    }

    /// The result or error with which a request of the server is answered.
    pub fn answer(&mut self, method: &str) -> Result<Value, Value> {
        match method {
            "ping" => Ok(json!({})),
            "roots/list" => match &self.roots {
                Some(roots) => {
                    self.has_given_roots = true;
                    Ok(json!({"roots": roots}))
                }
                None => Err(not_offered(method)),
            },
            "sampling/createMessage" => match next(self.sampling.as_deref(), &mut self.turn.0) {
                Some(answer) => Ok(sampling_result(answer)),
                None if self.sampling.is_some() => Err(json!({"code": -1, "message": "the user declined the request"})),
                None => Err(not_offered(method)),
            },
            "elicitation/create" => match next(self.elicitation.as_deref(), &mut self.turn.1) {
                Some(answer) => Ok(elicitation_result(answer)),
                None => Ok(json!({"action": "decline"})),
            },
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

/// A whole result is taken as it is; anything else is the content of an accepted form.
fn elicitation_result(answer: &Value) -> Value {
    if answer.get("action").is_some() { answer.clone() } else { json!({"action": "accept", "content": answer}) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_turn_and_run_out() {
        let roots = vec![json!({"uri": "file:///a"})];
        let mut answers = ClientAnswers::new(None, Some(json!([{"n": 1}, {"action": "cancel"}])), Some(roots));
        let mut ask = |method: &str| answers.answer(method);
        assert_eq!(ask("elicitation/create"), Ok(json!({"action": "accept", "content": {"n": 1}})));
        assert_eq!(ask("elicitation/create"), Ok(json!({"action": "cancel"})));
        assert_eq!(ask("elicitation/create"), Ok(json!({"action": "decline"})));
        assert_eq!(ask("roots/list"), Ok(json!({"roots": [{"uri": "file:///a"}]})));
        assert_eq!(ask("sampling/createMessage").unwrap_err()["code"], -32601);
        assert!(answers.has_given_roots);
        assert_eq!(answers.capabilities(), json!({"roots": {}, "elicitation": {}}));
    }
}
