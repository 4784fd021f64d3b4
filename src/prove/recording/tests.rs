//! A recording that is written and read is the same; one that was touched is refused.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::file::{RecordedParts, RecordedText, RecordingHeader, RecordingReader, fingerprint, write};
use super::*;
use crate::fault::{ClientMessage, ServerEnd, ServerReply};
use crate::transport::{Owner, TransportKind};
use crate::wire::HttpHead;

fn recording() -> RunRecording {
    let reply = |content: ReplyContent| ServerReply { after: Duration::from_micros(1500), content, http: None };
    let head = HttpHead { status: 404, headers: vec![("retry-after".to_owned(), "1".to_owned())] };
    let exchange = |sent: ClientMessage, replies: Vec<ServerReply>| MessageExchange {
        owner: Owner::of_case("a.yml::t@s/auto"),
        session: 1,
        occurrence: 2,
        sent,
        replies,
    };
    let message = |id| ClientMessage::Message { id, method: "tools/call".to_owned(), params: json!({"name": "add"}) };
    let answer = json!({"jsonrpc": "2.0", "id": 3, "result": {"text": "\",\"seal\":\"0\"}"}});
    let target = TargetRecording {
        file: "a.yml".to_owned(),
        server: "s".to_owned(),
        transport: TransportKind::Stdio,
        revision: "2025-11-25".to_owned(),
        exchanges: vec![
            exchange(
                message(Some(json!(3))),
                vec![reply(ReplyContent::Message(answer)), reply(ReplyContent::Stderr(b"warn".to_vec()))],
            ),
            exchange(
                message(None),
                vec![reply(ReplyContent::Bytes(vec![0xff, 0x00])), reply(ReplyContent::Ended(ServerEnd::Signal(9)))],
            ),
            exchange(
                ClientMessage::Raw(b"{".to_vec()),
                vec![reply(ReplyContent::Ended(ServerEnd::Closed)), reply(ReplyContent::Stalled)],
            ),
            exchange(
                ClientMessage::Raw(vec![0xfe]),
                vec![
                    ServerReply { http: Some(Arc::new(head)), ..reply(ReplyContent::Torn(b"x".to_vec())) },
                    reply(ReplyContent::Ended(ServerEnd::Status(3))),
                ],
            ),
        ],
        unplayable: [(Owner::of_case("a.yml::u@s/auto"), "it speaks HTTP by itself".to_owned())].into(),
    };
    let case = |id: &str, outcome| RecordedCase { id: id.to_owned(), outcome, attempts: 1 };
    RunRecording {
        targets: [("a.yml@s/auto".to_owned(), target)].into(),
        cases: vec![case("a.yml::t@s/auto", Outcome::Passed), case("a.yml::u@s/auto", Outcome::Inconclusive)],
        ..RunRecording::default()
    }
}

const EVENTS: &str = "{\"case-started\":{\"text\":\"\\\",\\\"seal\\\":\\\"0\\\"}\"}}\n{\"run-finished\":{}}\n";

fn written() -> (String, String) {
    let print = fingerprint(["suite: a\n"].into_iter());
    let header = RecordingHeader {
        taxonomy: "1.1.0".to_owned(),
        suites: vec!["a.yml".to_owned()],
        fingerprint: print.clone(),
        environment: vec!["TOKEN".to_owned()],
        ..RecordingHeader::default()
    };
    let texts = [RecordedText { file: "a.yml".to_owned(), text: "suite: a\n".to_owned() }];
    (write(&header, RecordedParts { texts: &texts, recording: &recording(), events: EVENTS }), print)
}

fn parse_recording(text: &str, fingerprint: &str) -> Result<RunRecording, String> {
    super::file::parse_recording(RecordingReader::new(text.as_bytes())?, fingerprint)
}

#[test]
fn what_is_written_can_be_read() {
    let (text, print) = written();
    let read = parse_recording(&text, &print).unwrap();
    assert_ne!(read.seal, Seal::default());
    assert_eq!(RunRecording { seal: Seal::default(), ..read }, recording());
    let reader = || RecordingReader::new(text.as_bytes()).unwrap();
    assert_eq!(reader().events().as_deref(), Ok(EVENTS));
    let RecordingHeader { taxonomy, suites, environment, .. } = reader().header;
    assert_eq!((taxonomy.as_str(), suites, environment), ("1.1.0", vec!["a.yml".to_owned()], vec!["TOKEN".to_owned()]));
    assert_eq!(reader().require_this_program(), Ok(()));
    assert!(text.contains("suite: a\\n"), "{text}");
}

#[test]
fn what_was_touched_is_refused() {
    let (text, print) = written();
    let check = |text: &str, expected: &str| {
        let refusal = parse_recording(text, &print).unwrap_err();
        assert!(refusal.contains(expected), "{refusal}");
    };
    let lines: Vec<&str> = text.lines().collect();
    check("", "it is no recording");
    check("suite: a\ntests: []\n", "it is no recording");
    check(&text.replacen("\"add\"", "\"sub\"", 1), "line 4 was changed");
    check(&text.replacen("\"passed\"", "\"failed\"", 1), "line 8 was changed");
    check(&[&lines[..4], &lines[5..]].concat().join("\n"), "line 5 was changed");
    check(&lines[..lines.len() - 1].join("\n"), "its end is missing");
    check(&text[..text.len() - 40], "its end is missing");
    check(&format!("{text}{}", lines[3]), &format!("line {} was changed", lines.len() + 1));
    check(&text.replacen("\"recording\":3", "\"recording\":9", 1), "it has format 9, was made by mcprove");
    let other = fingerprint(["suite: b\n"].into_iter());
    assert!(parse_recording(&text, &other).unwrap_err().contains("another suite"));
    let newer = RecordingReader::new("{\"recording\":3,\"program\":\"mcprove 9\\u001b[2J\"}".as_bytes()).unwrap();
    assert!(newer.require_this_program().unwrap_err().contains("made by mcprove 9\\u{1b}[2J"));
}

#[test]
fn texts_are_told_apart() {
    let check = |a: &[&str], b: &[&str]| {
        assert_ne!(fingerprint(a.iter().copied()), fingerprint(b.iter().copied()), "{a:?} {b:?}");
    };
    check(&["ab"], &["a", "b"]);
    check(&["a", "b"], &["b", "a"]);
    check(&[], &[""]);
}

#[test]
fn a_recording_says_what_it_lacks() {
    let case = |name: &str| Owner::of_case(name);
    for (unplayable, expected) in [
        (vec![], None),
        (vec![(case("a"), "it speaks HTTP by itself, in a raw step")], None),
        (vec![(Owner::Session, NOT_WHOLE)], None),
        (
            vec![(case("a"), NOT_WHOLE), (Owner::Session, NOT_WHOLE)],
            Some("lacks messages of 1 case: a session is kept"),
        ),
        (vec![(case("a"), NOT_WHOLE), (case("b"), NOT_WHOLE)], Some("lacks messages of 2 cases: a session is kept")),
    ] {
        let unplayable = unplayable.into_iter().map(|(owner, reason)| (owner, reason.to_owned())).collect();
        let target = TargetRecording { unplayable, ..TargetRecording::default() };
        let run = RunRecording { targets: [("t".to_owned(), target)].into(), ..RunRecording::default() };
        let told = run.lack();
        assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
        assert!(told.unwrap_or_default().starts_with(expected.unwrap_or_default()));
    }
}
