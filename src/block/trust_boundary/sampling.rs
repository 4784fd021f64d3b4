//! What servers ask the client's model for during a step: a server may send it prompts, and ask for the context of others.

use serde_json::Value;

use crate::check::canary::{CanaryArrival, CanarySearch};
use crate::wire::{Direction, Frame};

/// The request.
const METHOD: &str = "sampling/createMessage";

/// The parameters of requests for sampling between two frames: of requests of the server, and, since 2026-07-28, of those
/// in its results.
pub(crate) fn requests(frames: &[Frame], first: u32, last: u32) -> Vec<Value> {
    let received = frames.iter().filter(|frame| frame.direction == Direction::Received);
    let during = received.filter(|frame| (first..=last).contains(&frame.seq));
    during.filter_map(|frame| frame.json().ok()).flat_map(|message| asked_in(&message)).collect()
}

fn asked_in(message: &Value) -> Vec<Value> {
    let in_result = message["result"]["inputRequests"].as_object().into_iter().flat_map(|asked| asked.values());
    let asked = std::iter::once(message).chain(in_result).filter(|asked| asked["method"] == METHOD);
    asked.map(|asked| asked["params"].clone()).collect()
}

/// A request wants the client to add what it knows from all servers.
pub(crate) fn wants_foreign_context(params: &Value) -> bool {
    params["includeContext"] == "allServers"
}

/// The marker in the prompt that instructs the model; messages may hold any text.
pub(crate) fn in_system_prompt(search: &CanarySearch, params: &Value) -> Option<CanaryArrival> {
    search.find(&params["systemPrompt"], "systemPrompt")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_found_in_messages_and_results() {
        let params = json!({"messages": [], "systemPrompt": "Say kw1", "includeContext": "allServers"});
        let of_server = json!({"id": 1, "method": METHOD, "params": params});
        let in_result = json!({"id": 1, "result": {"inputRequests": {"a": {"method": METHOD, "params": params}}}});
        for message in [of_server, in_result] {
            assert_eq!(asked_in(&message), std::slice::from_ref(&params));
        }
        assert!(asked_in(&json!({"id": 1, "method": "roots/list"})).is_empty());
        assert!(wants_foreign_context(&params));
        assert!(in_system_prompt(&CanarySearch::new("kw1"), &params).is_some());
    }
}
