//! Turns what transports and sessions noticed into findings: failed requests, failed starts, exits, broken rules.
//!
//! The client below knows its own errors only. Which failure class an error has, which evidence supports it, and which
//! key of a suite helps, is decided here and nowhere else.

mod injected;
mod mismatch;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

pub use self::injected::{judge_recovery, of_idle_fault, strikes_text};
pub use self::mismatch::{MISSING, of_mismatch};
use crate::event::{Code, EXIT, FailureClass, Finding, RequirementLevel, StepProblem};
use crate::plan::arguments::ConfigSource;
use crate::session::{CallFailure, FailureReason, OpenFailure, OwnedViolation, UnreportedExit};
use crate::transport::{ConnectError, HttpFailure, HttpRefusal};
use crate::wire::{Frame, ProtocolViolation, ReadLimit};

/// The evidence of an exit that names the case that spoke last.
pub const LAST_CASE: &str = "last case";

/// The evidence of an exit that names the cases whose requests were pending.
pub const CASES: &str = "cases";

/// The status with which a server limits how often it is called.
const TOO_MANY_REQUESTS: u16 = 429;

/// The most characters of a line that are quoted.
const QUOTED: usize = 300;

impl From<&CallFailure> for Finding {
    fn from(failed: &CallFailure) -> Self {
        let finding = match &failed.reason {
            FailureReason::Timeout(_) => {
                let server = match (failed.alive, failed.is_local) {
                    (false, _) => "gone",
                    (true, true) => "still running",
                    // Whether a process runs behind an address cannot be seen from here.
                    (true, false) => "",
                };
                let late = Self::failure(FailureClass::Timeout, failed.to_string()).with_evidence("server", server);
                match &failed.lack {
                    Some(words) => late.with_problem(StepProblem::SurroundingsLack(words.clone())),
                    None => late,
                }
            }
            FailureReason::Exited(exit) => {
                Self::failure(FailureClass::ProcessExited, failed.to_string()).with_evidence(EXIT, exit.to_string())
            }
            FailureReason::Protocol(_) | FailureReason::RefusedWhole(_) => {
                Self::failure(FailureClass::ProtocolError, failed.to_string())
            }
            FailureReason::NotRead(beyond) => {
                Self::new(beyond.code(), failed.to_string()).with_problem(StepProblem::AnswerNotRead)
            }
            FailureReason::Http(failure) => of_http(failure, &failed.method),
        };
        let finding = Self { frame: failed.frame, ..finding };
        let finding = match &failed.violation {
            Some(violation) => finding
                .with_problem(StepProblem::BrokenAnswer { code: Code::new(violation.code), frame: violation.frame }),
            None => finding,
        };
        with_output(finding, &failed.stderr, &failed.stray)
    }
}

/// A session that did not open; the help names what the user can write in the suite, or for `config_source` as a flag.
pub fn of_open_failure(failed: &OpenFailure, config_source: ConfigSource) -> Finding {
    match failed {
        OpenFailure::Connect(error) => of_connect(error, config_source),
        OpenFailure::Handshake(failure) => {
            let finding = Finding { message: failed.to_string(), ..Finding::from(failure) };
            match &failure.reason {
                FailureReason::Timeout(_) => with_start_timeout(finding, config_source),
                FailureReason::Http(reason) => {
                    let help = http_help(reason, config_source).map(Cow::into_owned);
                    Finding { help: help.or(finding.help), ..finding }
                }
                FailureReason::Exited(_) => {
                    let help =
                        failure.stderr.iter().any(|line| misses_script(line)).then(|| relative_to(config_source));
                    Finding { help: help.map(str::to_owned), ..finding }
                }
                FailureReason::Protocol(_) | FailureReason::RefusedWhole(_) | FailureReason::NotRead(_) => finding,
            }
        }
        OpenFailure::Refused { stderr, .. } => {
            with_output(Finding::failure(FailureClass::ProtocolError, failed.to_string()), stderr, &[])
        }
        OpenFailure::NotSpoken { .. } => Finding::failure(FailureClass::ProtocolError, failed.to_string()),
    }
}

/// A server that was not ready in time, with the way to give it more.
fn with_start_timeout(finding: Finding, config_source: ConfigSource) -> Finding {
    match config_source {
        ConfigSource::Suite => Finding { message: format!("{} (`start_timeout`)", finding.message), ..finding },
        ConfigSource::Flags => {
            let help = "a suite can give it more time: `run_options: { start_timeout: 60s }`";
            Finding { help: Some(help.to_owned()), ..finding }
        }
    }
}

/// Returns true if an interpreter says in this line that the script it was given as a path does not exist.
fn misses_script(line: &str) -> bool {
    let is_path = |name: &str| name.starts_with(['/', '.']) || name.get(1..3) == Some(":\\");
    let after = |words: &str| line.split_once(words).map(|(_, rest)| rest.trim_start_matches(['\'', '"']));
    after("Cannot find module ").is_some_and(is_path) || line.contains(": can't open file ")
}

/// The folders that paths in a command are relative to.
fn relative_to(config_source: ConfigSource) -> &'static str {
    match config_source {
        ConfigSource::Suite => "paths in `command` are relative to the suite's folder, or to `cwd`",
        ConfigSource::Flags => "paths in the command are relative to the current folder, or to `--cwd`",
    }
}

impl From<&UnreportedExit> for Finding {
    fn from(exited: &UnreportedExit) -> Self {
        let pending: Vec<String> = exited.pending.iter().map(ToString::to_string).collect();
        let finding = Self::failure(FailureClass::ProcessExited, exited.to_string())
            .with_evidence(EXIT, exited.exit.to_string())
            .with_evidence(LAST_CASE, exited.last_case.as_deref().unwrap_or_default())
            .with_evidence(CASES, pending.join("\n"));
        with_output(finding, &exited.stderr, &[])
    }
}

/// An exchange over HTTP that failed; `method` names the request.
pub fn of_http(failure: &HttpFailure, method: &str) -> Finding {
    let class = match failure {
        HttpFailure::TooLarge(_) => {
            let finding = Finding::new(ReadLimit::Length.code(), failure.message(method));
            return finding.with_problem(StepProblem::AnswerNotRead);
        }
        HttpFailure::ConnectionRefused { .. } | HttpFailure::Dns { .. } | HttpFailure::Unreachable { .. } => {
            FailureClass::ConnectionRefused
        }
        HttpFailure::Reset(_) | HttpFailure::ResetAgain(_) => FailureClass::ConnectionLost,
        HttpFailure::Tls(_) | HttpFailure::UntrustedCertificate(_) => FailureClass::TlsError,
        HttpFailure::Status(_) | HttpFailure::SessionLost(_) | HttpFailure::Redirect(_) => FailureClass::HttpStatus,
        HttpFailure::AuthRequired(_) | HttpFailure::TokenRefused(_) | HttpFailure::NoToken(_) => {
            FailureClass::AuthRequired
        }
        HttpFailure::ContentType { .. }
        | HttpFailure::NotJson { .. }
        | HttpFailure::NotAMessage { .. }
        | HttpFailure::Encoded(_)
        | HttpFailure::StreamEnded { .. }
        | HttpFailure::NotHttp(_)
        | HttpFailure::Endpoint(_) => FailureClass::ProtocolError,
    };
    let mut finding = Finding::failure(class, failure.message(method));
    if let HttpFailure::Status(refusal) = failure
        && refusal.code == TOO_MANY_REQUESTS
    {
        finding = finding.with_problem(StepProblem::CallsLimited(refusal.status.clone()));
    }
    if let HttpFailure::NoToken(none) = failure {
        finding.code = Code::new("no-token");
        finding = finding.with_problem(StepProblem::NoToken).with_evidence("asked", none.asked.join("\n"));
    }
    if let Some(HttpRefusal { retry_after, www_authenticate, .. }) = failure.refusal() {
        finding = finding
            .with_evidence("retry-after", retry_after.clone().unwrap_or_default())
            .with_evidence("www-authenticate", www_authenticate.clone().unwrap_or_default());
    }
    let finding = finding.with_evidence("body", failure.excerpt());
    Finding { help: http_help(failure, ConfigSource::Suite).map(Cow::into_owned), ..finding }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most failures have no remedy in a suite")]
fn http_help(failure: &HttpFailure, config_source: ConfigSource) -> Option<Cow<'static, str>> {
    let is_suite = config_source == ConfigSource::Suite;
    let help = match failure {
        HttpFailure::ConnectionRefused { .. } if is_suite => {
            "start the server first, or write its `command` beside the `url` and mcprove starts it"
        }
        HttpFailure::ConnectionRefused { .. } => {
            "start the server first; for a server over stdio, give its command after `--` instead"
        }
        HttpFailure::Dns { .. } => "check the name of the host in the address, and the network",
        HttpFailure::ResetAgain(_) => {
            "see the server's log, or that of a proxy before it, for why it ends the connection without a whole answer"
        }
        HttpFailure::AuthRequired(_) if !is_suite => {
            "log in with `mcprove login`, or give them with `--header 'Authorization: Bearer {{ env.TOKEN }}'`"
        }
        HttpFailure::AuthRequired(_) => "give them with `auth: { bearer: \"{{ env.TOKEN }}\" }`",
        HttpFailure::NotHttp(_) => {
            "see what listens there; the address of a server that speaks TLS begins with `https://`"
        }
        HttpFailure::TokenRefused(HttpRefusal { clock: Some(_), .. }) => {
            "set the clocks of the authorization server and of the server, for example with NTP"
        }
        HttpFailure::TokenRefused(_) => "see whether `scopes` and `resource` under `auth` are what it wants",
        HttpFailure::NoToken(none) => return Some(none.cure.clone()),
        HttpFailure::UntrustedCertificate(_) => "name the certificate that signed it with `tls: { ca: ./root.pem }`",
        _ => return None,
    };
    Some(help.into())
}

fn of_connect(error: &ConnectError, config_source: ConfigSource) -> Finding {
    match error {
        ConnectError::NotFound { program, path } => Finding {
            help: Some(where_it_is_looked_for(program, path.as_deref(), config_source)),
            ..Finding::failure(FailureClass::CommandNotFound, error.to_string())
        },
        ConnectError::NotStarted { .. } => Finding::failure(FailureClass::CommandNotFound, error.to_string()),
        ConnectError::BadAddress { .. } => Finding::new("bad-address", error.to_string()),
        ConnectError::NoCertificate => {
            Finding::new("bad-address", "the file of `tls: { ca }` holds no certificate in PEM")
        }
        ConnectError::PortTaken { .. } => Finding {
            help: Some(
                "stop the process that listens there, or let mcprove choose a free port: `url: \"http://127.0.0.1:{{ port }}/mcp\"`".to_owned(),
            ),
            ..Finding::new("port-taken", error.to_string())
        },
        ConnectError::NotListening { log, .. } => {
            let finding = Finding::failure(FailureClass::Timeout, error.to_string());
            with_output(with_start_timeout(finding, config_source), log, &[])
        }
    }
}

fn where_it_is_looked_for(program: &str, path: Option<&Path>, config_source: ConfigSource) -> String {
    match path {
        Some(path) => format!("it is looked for at `{}`; {}", path.display(), relative_to(config_source)),
        None => format!("install `{program}`, or write its path; it is not in PATH"),
    }
}

/// Broken rules of the protocol, each with the line that shows it.
pub fn of_violations(violations: &[OwnedViolation], frames: &[Frame]) -> Vec<Finding> {
    let finding = |owned: &OwnedViolation| {
        let frame = frames.iter().find(|frame| frame.seq == owned.violation.frame);
        of_violation(&owned.violation, &frame.map(Frame::text).unwrap_or_default())
    };
    violations.iter().map(finding).collect()
}

/// A broken rule of the protocol with the line that shows it.
pub fn of_violation(violation: &ProtocolViolation, line: &str) -> Finding {
    let class = match violation.rule {
        Some(_) => FailureClass::ProtocolError,
        None if violation.code == ProtocolViolation::CONNECTION_LOST => FailureClass::ConnectionLost,
        None => FailureClass::HttpStatus,
    };
    let finding = Finding {
        level: if violation.is_advice() { RequirementLevel::Should } else { RequirementLevel::Must },
        class: Some(class),
        path: violation.place.as_deref().map(str::to_owned),
        frame: Some(violation.frame),
        ..Finding::new(violation.code, violation.message.clone())
    };
    finding.with_evidence("the line", line.chars().take(QUOTED).collect::<String>())
}

fn with_output(finding: Finding, stderr: &[String], stray: &[String]) -> Finding {
    finding.with_evidence("stray output", stray.join("\n")).with_evidence("stderr", stderr.join("\n"))
}
