use std::time::Duration;

use super::*;

fn failed(failure: FailureReason) -> CallFailure {
    CallFailure {
        reason: failure,
        method: "initialize".to_owned(),
        frame: Some(3),
        violation: None,
        stderr: vec!["panicked".to_owned()],
        stray: Vec::new(),
        alive: true,
        is_local: true,
        lack: None,
    }
}

#[test]
fn findings_name_the_limit_of_the_suite() {
    let silent = failed(FailureReason::Timeout(Duration::from_secs(30)));
    let finding = Finding::from(&silent);
    assert_eq!((finding.class, finding.frame), (Some(FailureClass::Timeout), Some(3)));
    assert_eq!(finding.message, "`initialize` got no answer within 30 s");
    assert_eq!(finding.evidence[0], ("server".to_owned(), "still running".to_owned()));
    let finding = Finding::from(&OpenFailure::Handshake(silent));
    assert_eq!(finding.message, "the server did not get ready within 30 s (`start_timeout`)");
}

#[test]
fn evidence_stands_in_its_order() {
    let refusal = HttpRefusal {
        code: 429,
        status: "429 Too Many Requests".to_owned(),
        retry_after: Some("7".to_owned()),
        excerpt: "slow down".to_owned(),
        ..HttpRefusal::default()
    };
    let finding = Finding::from(&failed(FailureReason::Http(HttpFailure::Status(refusal))));
    let names: Vec<&str> = finding.evidence.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["retry-after", "body", "stderr"]);
}
