//! Scans over HTTP: several streams that overtake each other, and answers that belong to a request by their stream.

use super::*;

/// Plays `>` lines as sent, `<N` lines as what came in the response to frame N, and `<-` lines as what came on a stream of
/// its own; returns the codes found.
fn check(era: Era, lines: &[&str], expected: &[&str]) {
    let mut transcript = Transcript::default();
    let mut scanner = Scanner::new(era);
    let http = Arc::new(HttpHead { status: 200, headers: Vec::new() });
    let mut codes = Vec::new();
    for line in lines {
        let line = line.replace("{%", r#"{"jsonrpc":"2.0""#);
        let (head, body) = line.split_at(line.find('{').unwrap());
        let frame: Frame = if head == ">" {
            transcript.record(Duration::ZERO, Direction::Sent, Channel::Protocol, body.as_bytes()).clone()
        } else {
            transcript.record_http(Duration::ZERO, &http, body.as_bytes()).clone()
        };
        let stream = head[1..].parse().map_or(MessageStream::Common, MessageStream::Response);
        codes.extend(scanner.watch_on(&frame, stream).into_iter().map(|violation| violation.code));
    }
    assert_eq!(codes, expected, "{lines:?}");
}

const CALL: &str = r#">{%,"id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}"#;

#[test]
fn progress_is_held_to_the_order_of_its_stream() {
    let half = |head: &str, progress: &str| {
        format!(
            r#"<{head}{{%,"method":"notifications/progress","params":{{"progressToken":1,"progress":{progress}}}}}"#
        )
    };
    let answer = r#"<1{%,"id":1,"result":{}}"#;
    check(Era::Session, &[CALL, &half("1", "1"), &half("1", "2"), answer], &[]);
    check(Era::Session, &[CALL, &half("1", "2"), &half("1", "1"), answer], &["progress-not-increasing"]);
    check(Era::Session, &[CALL, &half("-", "2"), &half("1", "1"), answer, &half("-", "3")], &[]);
    check(Era::Session, &[CALL, answer, &half("1", "1")], &["progress-after-answer"]);
}

#[test]
fn a_subscription_is_known_by_its_stream() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listen = format!(
        r#">{{%,"id":"s","method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":["a:b"]}},{meta}}}}}"#
    );
    let told = |method: &str| {
        format!(
            r#"<1{{%,"method":"notifications/{method}","params":{{"uri":"a:b","notifications":{{}},"_meta":{{"io.modelcontextprotocol/subscriptionId":"s"}}}}}}"#
        )
    };
    let (ack, updated) = (told("subscriptions/acknowledged"), told("resources/updated"));
    check(Era::Stateless, &[&listen, &ack, &updated], &[]);
    check(Era::Stateless, &[&listen, &updated], &["listen-unacknowledged"]);
    check(Era::Stateless, &[&listen, &ack, &told("tools/list_changed")], &["listen-unasked"]);
    let bare = r#"<1{%,"method":"notifications/resources/updated","params":{"uri":"a:b"}}"#;
    check(Era::Stateless, &[&listen, &ack, bare], &["listen-untagged"]);
    let log = r#"<1{%,"method":"notifications/message","params":{"level":"info","data":1}}"#;
    check(Era::Stateless, &[&listen, &ack, log], &["unasked-log", "listen-untagged", "listen-stray"]);
    let call = format!(r#">{{%,"id":2,"method":"tools/call","params":{{{meta}}}}}"#);
    check(Era::Stateless, &[&call, log], &["unasked-log"]);
}

#[test]
fn what_is_no_message_is_no_stray_output() {
    check(Era::Session, &["<-{]"], &["malformed-envelope"]);
}
