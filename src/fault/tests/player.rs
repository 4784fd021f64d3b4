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
