use super::*;
use crate::fault::{AnswerLoss, FaultPlayer, LiveRequest};

#[test]
fn a_server_that_stalls_says_nothing_more_and_hears_nothing_until_faults_end() {
    let stall = fault("on: { tools: quiet }\nanswers: [stall]").unwrap();
    let player = FaultPlayer::new(vec![stall]);
    let ask = |scope: &str, id: u64, tool: &str| {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
        let bytes = call.to_string().into_bytes();
        let exchange = player.match_request(LiveRequest::new(&bytes, scope.to_owned(), None));
        let is_heard = player.hear(&exchange, &bytes).bytes.is_some();
        let answer = answered(&json!(id), &text("done"));
        let changed = player.answer(&exchange, is_heard.then_some(answer));
        (is_heard, changed.loss)
    };
    let sent = |scope: &str| {
        let sent = json!({"method": "notifications/message", "params": {}});
        player.change_sent(None, scope, answered(&json!(0), &sent)).loss
    };
    let never = Some(AnswerLoss::Never);
    assert_eq!((ask("a", 1, "loud"), sent("a")), ((true, None), None));
    assert_eq!((ask("a", 2, "quiet"), sent("a")), ((true, never), never));
    assert_eq!((ask("a", 3, "loud"), sent("a")), ((false, never), never));
    assert_eq!((ask("b", 1, "loud"), sent("b")), ((true, None), None));
    player.heal();
    assert_eq!((ask("a", 4, "loud"), sent("a")), ((true, None), None));
}

/// The changes of equal calls, each in a session of its own or all in one: the time of the answer, or that none comes.
fn struck_in_sessions(seed: u64, sessions: usize) -> Vec<Option<std::time::Duration>> {
    let lost = fault("on: { share: 0.5 }\nanswers: never").unwrap().with_draws(seed, "");
    let late = fault("answers: { jitter: 1s }").unwrap().with_draws(seed, "");
    let player = FaultPlayer::new(vec![lost, late]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get"}}).to_string();
    let calls = (0..30).map(|number| {
        let scope = format!("session {}", number % sessions);
        let exchange = player.match_request(LiveRequest::new(call.as_bytes(), scope, None));
        let changed = player.answer(&exchange, Some(answered(&json!(1), &text("done"))));
        changed.loss.is_none().then(|| changed.delay())
    });
    calls.collect()
}

#[test]
fn sessions_have_no_part_in_draws() {
    let of_one = struck_in_sessions(7, 1);
    assert_eq!(of_one, struck_in_sessions(7, 3));
    assert_ne!(of_one, struck_in_sessions(8, 1));
    let mut delays: Vec<_> = of_one.iter().flatten().collect();
    let answered = delays.len();
    delays.sort();
    delays.dedup();
    assert_eq!(delays.len(), answered, "each of equal calls has a delay of its own");
    assert!((5..25).contains(&answered), "{answered}");
}

#[test]
fn a_storm_of_requests_has_ids_of_its_own() {
    let storm = fault("hears: { times: 3 }").unwrap();
    let player = FaultPlayer::new(vec![storm]);
    let hear = |message: &Value| {
        let bytes = message.to_string().into_bytes();
        let exchange = player.match_request(LiveRequest::new(&bytes, String::new(), None));
        player.hear(&exchange, &bytes)
    };
    let params = json!({"name": "get", "_meta": {"progressToken": 7, "mcprove/task": "t"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for ids in [["mcprove-1", "mcprove-2"], ["mcprove-3", "mcprove-4"]] {
        let heard = hear(&call);
        assert_eq!((heard.count(), heard.bytes), (3, Some(call.to_string().into_bytes())));
        let of_copies: Vec<Value> =
            heard.copies.iter().map(|copy| serde_json::from_slice(&copy.bytes).unwrap()).collect();
        for (copy, id) in of_copies.iter().zip(ids) {
            let params = json!({"name": "get", "_meta": {"mcprove/task": "t"}});
            assert_eq!(*copy, json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        }
    }
    let heard = hear(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((heard.count(), heard.copies[0].id.clone()), (3, None));
}
