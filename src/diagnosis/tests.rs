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
    let failure = OpenFailure::Handshake(silent);
    let finding = of_open_failure(&failure, ConfigSource::Suite);
    assert_eq!(finding.message, "the server did not get ready within 30 s (`start_timeout`)");
    let finding = of_open_failure(&failure, ConfigSource::Flags);
    assert_eq!(finding.message, "the server did not get ready within 30 s");
    assert_eq!(finding.help.as_deref(), Some("a suite can give it more time: `run_options: { start_timeout: 60s }`"));
}

/// What helps is said in the words of the command that was typed.
#[test]
fn help_fits_the_command() {
    let help = |reason: HttpFailure, source| {
        let failure = OpenFailure::Handshake(failed(FailureReason::Http(reason)));
        of_open_failure(&failure, source).help.unwrap_or_default()
    };
    let required = || HttpFailure::AuthRequired(HttpRefusal::default());
    assert_eq!(help(required(), ConfigSource::Suite), "give them with `auth: { bearer: \"{{ env.TOKEN }}\" }`");
    let flags = "log in with `mcprove login`, or give them with `--header 'Authorization: Bearer {{ env.TOKEN }}'`";
    assert_eq!(help(required(), ConfigSource::Flags), flags);
}

#[test]
fn scripts_that_are_missing() {
    for line in [
        "Error: Cannot find module '/srv/dist/index.js'",
        "python3: can't open file '/srv/server.py': [Errno 2] No such file or directory",
    ] {
        assert!(misses_script(line), "{line}");
    }
    for line in ["Error: Cannot find module 'express'", "ModuleNotFoundError: No module named 'mcp'", "panicked"] {
        assert!(!misses_script(line), "{line}");
    }
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
    let limited = StepProblem::CallsLimited("429 Too Many Requests".to_owned());
    assert_eq!(finding.step_problem.as_deref(), Some(&limited));
}
