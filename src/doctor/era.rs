//! `server/discover`, with which clients of the newer era begin.

use super::Examination;
use crate::diagnosis;
use crate::plan::arguments::ConfigSource;
use crate::session::{CallFailure, FailureReason, OpenFailure, ServerIdentity};
use crate::source::{duration_text, shorten, visible_line};
use crate::wire::Revision;

const DISCOVER: &str = "server/discover";
const REVISION: &str = "revision";
const SECOND: &str = "second start";

/// The cure of a server that does not refuse what it does not know.
const REFUSE: &str = "answer a method that the server does not know with the error -32601, before `initialize`, too: newer \
                      clients ask `server/discover` first";

/// Judges the answer to `server/discover`; `speaks_older` says that `initialize` was answered.
pub(crate) fn judge_discovery(
    opened: Result<&ServerIdentity, &OpenFailure>,
    speaks_older: bool,
    config_source: ConfigSource,
) -> Examination {
    let failed = match opened {
        Ok(server) if speaks_older => {
            return Examination::fine(DISCOVER, format!("it speaks {}, too", server.revision));
        }
        Ok(server) => return Examination::fine(DISCOVER, format!("it speaks {}", server.revision)),
        Err(failed) => failed,
    };
    let is_of_older = match failed {
        OpenFailure::NotSpoken { .. } => true,
        OpenFailure::Handshake(CallFailure { reason: FailureReason::Http(failure), .. }) => {
            matches!(failure.bare_status(), Some(400 | 404 | 405 | 406 | 415))
        }
        OpenFailure::Handshake(_) | OpenFailure::Connect(_) | OpenFailure::Refused { .. } => false,
    };
    if is_of_older && speaks_older {
        return Examination::fine(DISCOVER, "refused, as by every server that speaks up to 2025-11-25");
    }
    let message = diagnosis::of_open_failure(failed, config_source).message;
    match failed {
        OpenFailure::Handshake(CallFailure { reason: FailureReason::Exited(_), .. }) => {
            Examination::doubtful(DISCOVER, "the server ends when this is its first request", REFUSE)
        }
        OpenFailure::Handshake(failure) if failure.is_timeout() => {
            Examination::doubtful(DISCOVER, "it got no answer, and newer clients wait for one", REFUSE)
        }
        OpenFailure::Connect(_)
        | OpenFailure::Handshake(_)
        | OpenFailure::Refused { .. }
        | OpenFailure::NotSpoken { .. } => Examination::doubtful(DISCOVER, message, REFUSE),
    }
}

/// Judges a server that refuses `initialize` and speaks the newer era.
pub(crate) fn judge_newer_only(server: &ServerIdentity) -> Examination {
    let name = server.implementation.as_deref().unwrap_or("a server without a name");
    let sentence = format!(
        "{} refuses it, and was ready after {}: it speaks {} only",
        shorten(&visible_line(name), 80),
        duration_text(server.ready),
        server.revision
    );
    Examination::fine("initialize", sentence).with_figure("ready_ms", server.ready.as_millis())
}

/// Judges whether a server speaks the revision that somebody asked for.
pub(crate) fn judge_revision(wanted: Revision, spoken: &[Revision]) -> Examination {
    if spoken.contains(&wanted) {
        return Examination::fine(REVISION, format!("it speaks {wanted}, as was asked for"));
    }
    let spoken: Vec<&str> = spoken.iter().map(|revision| revision.as_str()).collect();
    let sentence = format!("it speaks {}, and not {wanted}", spoken.join(" and "));
    Examination::wrong(REVISION, sentence, "leave out `--revision`, or teach the server that revision")
}

/// Judges whether a second session opens while the first one is open.
pub(crate) fn judge_second(
    name: &'static str,
    failed: Option<&OpenFailure>,
    config_source: ConfigSource,
) -> Examination {
    match failed {
        None if name == SECOND => Examination::fine(name, "a second process answers while the first one runs"),
        None => Examination::fine(name, "a second session answers beside the first one"),
        Some(failed) => {
            let found = diagnosis::of_open_failure(failed, config_source);
            let stderr = found.evidence.iter().filter(|(name, _)| name == "stderr");
            let lines: Vec<String> = stderr.flat_map(|(_, text)| text.lines().map(str::to_owned)).collect();
            Examination::doubtful(
                name,
                format!("beside the first one, it did not get ready: {}", visible_line(&found.message)),
                "let several run at a time: people open two windows, and clients start a server for each; a port, a lock or a \
                 file that only one can have is the usual reason",
            )
            .with_evidence(super::start::last_lines(&lines))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ExaminationVerdict;
    use super::*;
    use crate::session::OpenFailure;
    use crate::transport::ServerExit;

    fn failed(reason: FailureReason) -> OpenFailure {
        OpenFailure::Handshake(CallFailure {
            reason,
            method: "server/discover".to_owned(),
            frame: None,
            violation: None,
            stderr: Vec::new(),
            stray: Vec::new(),
            alive: true,
            is_local: true,
            lack: None,
        })
    }

    #[test]
    fn servers_of_the_older_era_refuse_it() {
        let older = OpenFailure::NotSpoken { asked: Revision::NEWEST, speaks: "an older revision".to_owned() };
        for (failure, verdict) in [
            (older, ExaminationVerdict::Fine),
            (failed(FailureReason::Exited(ServerExit::Status(1))), ExaminationVerdict::Doubtful),
            (failed(FailureReason::Timeout(std::time::Duration::from_secs(5))), ExaminationVerdict::Doubtful),
        ] {
            assert_eq!(judge_discovery(Err(&failure), true, ConfigSource::Flags).verdict, verdict, "{failure:?}");
        }
    }

    #[test]
    fn a_revision_that_was_asked_for_is_spoken() {
        let spoken = [Revision::NEWEST_WITH_SESSION];
        assert_eq!(judge_revision(Revision::NEWEST_WITH_SESSION, &spoken).verdict, ExaminationVerdict::Fine);
        let wrong = judge_revision(Revision::NEWEST, &spoken);
        assert_eq!(
            (wrong.verdict, wrong.sentence.as_str()),
            (ExaminationVerdict::Wrong, "it speaks 2025-11-25, and not 2026-07-28")
        );
    }
}
