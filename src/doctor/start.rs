//! The start of a server over stdio: it stays, its standard output is clean, and it answers `initialize`.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use super::Examination;
use crate::diagnosis;
use crate::plan::arguments::ConfigSource;
use crate::session::{CallFailure, FailureReason, OpenFailure, ServerIdentity};
use crate::source::{duration_text, shorten, visible_line};
use crate::transport::ServerExit;
use crate::wire::{Channel, Direction, Frame};

const START: &str = "start";
const OUTPUT: &str = "output";
const INITIALIZE: &str = "initialize";

/// The time to get ready above which some clients have given up.
const SLOW_START: Duration = Duration::from_secs(10);

/// The number of lines of the server's that are quoted.
const QUOTED_LINES: usize = 4;

/// The number of characters of a line that are quoted; the last one often says what to do.
const QUOTED: usize = 300;

/// Lines as they may be quoted: the last ones that say something.
pub(crate) fn last_lines(lines: &[String]) -> Vec<String> {
    let full: Vec<&String> = lines.iter().filter(|line| !line.trim().is_empty()).collect();
    let last = &full[full.len().saturating_sub(QUOTED_LINES)..];
    last.iter().map(|line| shorten(&visible_line(line.trim_end()), QUOTED)).collect()
}

/// Judges whether the process started and stayed; `failed` is why it opened no session, if it did not.
pub(crate) fn judge_start(failed: Option<&OpenFailure>, config_source: ConfigSource) -> Examination {
    match failed {
        Some(failed @ OpenFailure::Connect(_)) => {
            let found = diagnosis::of_open_failure(failed, config_source);
            let cure = found.help.unwrap_or_else(|| "mend the command that starts the server".to_owned());
            Examination::wrong(START, found.message, cure)
        }
        Some(
            failed @ OpenFailure::Handshake(CallFailure { reason: FailureReason::Exited(exit), stderr, stray, .. }),
        ) => {
            let written: Vec<String> = stderr.iter().chain(stray).cloned().collect();
            let help = diagnosis::of_open_failure(failed, config_source).help;
            let cure = help.unwrap_or_else(|| cure_of_exit(*exit, &written));
            let sentence = format!("the server ended before it answered `initialize`, with {exit}");
            Examination::wrong(START, sentence, cure).with_evidence(last_lines(stderr))
        }
        Some(OpenFailure::Handshake(_) | OpenFailure::Refused { .. } | OpenFailure::NotSpoken { .. }) | None => {
            Examination::fine(START, "the program starts, and stays")
        }
    }
}

/// The cure for a server that ended, by its exit where its lines show no known cause.
fn cure_of_exit(exit: ServerExit, written: &[String]) -> String {
    if let Some(cure) = cure_of_lines(written) {
        return cure;
    }
    match exit {
        ServerExit::Status(0) if written.is_empty() => {
            "name the program of a server: one over stdio reads standard input until that ends, and this program did not"
        }
        ServerExit::Signal(_) | ServerExit::Panicked => {
            "look for why the system or the program itself ended it, such as too little memory"
        }
        ServerExit::Status(_) | ServerExit::Unknown | ServerExit::NotListening | ServerExit::Returned => {
            "run the command in a terminal, and mend what it reports; a server over stdio stays until its input ends"
        }
    }
    .to_owned()
}

/// The cure of a cause that the lines of a server name which ended: a package, a port, words of the command.
pub(crate) fn cure_of_lines(written: &[String]) -> Option<String> {
    let line = |words: &str| written.iter().find(|line| line.to_lowercase().contains(words));
    let quoted = |line: &String| line.split(['\'', '"', '`']).nth(1).map(|name| visible_line(name).into_owned());
    if let Some(name) = line("no module named").and_then(quoted) {
        return Some(match name.split_once('.') {
            Some((package, _)) => format!(
                "install the version of `{package}` that the server was written for: the one that is there has no `{name}`, or \
                 there is none"
            ),
            None => format!(
                "install `{name}` for the Python that starts here, or name another Python, such as `.venv/bin/python`"
            ),
        });
    }
    if let Some(name) = line("cannot find module").or(line("cannot find package")).and_then(quoted) {
        return Some(format!("install `{name}`: run `npm install` in the folder of the server"));
    }
    let known = [
        ("usage:", "complete the command: the lines say which words the program takes"),
        (
            "syntaxerror",
            "see the place that the lines show; it may need a newer interpreter than the one that starts here",
        ),
        ("address already in use", "end the other process at its port; a server over stdio needs no port"),
    ];
    known.into_iter().find(|(words, _)| line(words).is_some()).map(|(_, cure)| cure.to_owned())
}

/// The standard output of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServerOutput {
    /// When the first line came, since the start.
    pub first: Option<Duration>,
    /// Lines that are no messages.
    pub stray: Vec<String>,
}

impl ServerOutput {
    pub(crate) fn of(frames: &[Frame]) -> Self {
        let is_output = |frame: &&Frame| frame.direction == Direction::Received && frame.channel == Channel::Protocol;
        let lines = || frames.iter().filter(is_output);
        let is_message = |frame: &Frame| frame.json().is_ok_and(|json| json.get("jsonrpc").is_some());
        let is_looked_at = |frame: &&Frame| frame.beyond().is_none() && frame.is_whole();
        let stray = lines().filter(is_looked_at).filter(|frame| !is_message(frame)).map(Frame::text);
        Self { first: lines().next().map(|frame| frame.at), stray: stray.collect() }
    }

    /// The lines that are no messages and came after those of an earlier look.
    pub(crate) fn since(self, earlier: usize) -> Self {
        Self { stray: self.stray.into_iter().skip(earlier).collect(), ..self }
    }
}

/// Judges the standard output of a server.
pub(crate) fn judge_output(output: &ServerOutput) -> Option<Examination> {
    let first = output.first?;
    let judged = if output.stray.is_empty() {
        Examination::fine(OUTPUT, format!("the first line on standard output came after {}", duration_text(first)))
    } else {
        let sentence = match output.stray.len() {
            1 => "1 line on standard output is no message of JSON-RPC".to_owned(),
            lines => format!("{lines} lines on standard output are no messages of JSON-RPC"),
        };
        Examination::wrong(
            OUTPUT,
            sentence,
            "write banners and logs to standard error: clients read every line of standard output as a message, and some end the session",
        )
        .with_evidence(output.stray.iter().take(2).map(|line| shorten(&visible_line(line), QUOTED)).collect())
    };
    Some(judged.with_figure("first_output_ms", first.as_millis()))
}

/// Judges lines that are no messages and came once the session was open; `None` where there are none.
pub(crate) fn judge_late_output(output: &ServerOutput) -> Option<Examination> {
    let judged = judge_output(output).filter(|_| !output.stray.is_empty())?;
    let sentence = format!("{}, and came after the answer to `initialize`", judged.sentence);
    Some(Examination { sentence, figures: BTreeMap::new(), ..judged })
}

/// Judges the answer to `initialize`.
pub(crate) fn judge_initialize(
    opened: Result<&ServerIdentity, &OpenFailure>,
    output: &ServerOutput,
    config_source: ConfigSource,
) -> Examination {
    let failed = match opened {
        Ok(server) => return judge_ready(server),
        Err(failed) => failed,
    };
    let found = diagnosis::of_open_failure(failed, config_source);
    let stderr: &[String] = match failed {
        OpenFailure::Handshake(failure) => &failure.stderr,
        OpenFailure::Refused { stderr, .. } => stderr,
        OpenFailure::Connect(_) | OpenFailure::NotSpoken { .. } => &[],
    };
    let written = || stderr.iter().chain(&output.stray);
    let is_late = matches!(failed, OpenFailure::Handshake(failure) if failure.is_timeout());
    let cure = if let Some(url) = written().find_map(|line| own_address(line)) {
        format!("it says that it listens at {url}: examine that with `mcprove doctor {url}`")
    } else if is_late && output.first.is_none() {
        "it wrote nothing to standard output: it may wait for something else, or be no server over stdio; one over HTTP is \
         named by its URL"
            .to_owned()
    } else if found.message.contains("sends back") {
        "name the command of a server; this program repeats what it reads".to_owned()
    } else {
        found.help.unwrap_or_else(|| {
            "answer `initialize` with `protocolVersion`, `capabilities` and `serverInfo`; see the server's log"
                .to_owned()
        })
    };
    Examination::wrong(INITIALIZE, found.message, cure).with_evidence(last_lines(stderr))
}

fn judge_ready(server: &ServerIdentity) -> Examination {
    let name = server.implementation.as_deref().unwrap_or("a server without a name");
    let (name, ready) = (shorten(&visible_line(name), 80), duration_text(server.ready));
    let sentence = format!("{name} speaks {}, and was ready after {ready}", server.revision);
    let judged = if server.ready > SLOW_START {
        let cure = "start faster, or install it first where it is fetched at every start, as by `npx` and `uvx`: some \
                    clients give up after 10 s";
        Examination::doubtful(INITIALIZE, sentence, cure)
    } else {
        Examination::fine(INITIALIZE, sentence)
    };
    judged.with_figure("ready_ms", server.ready.as_millis())
}

/// The address on this machine that a line names.
fn own_address(line: &str) -> Option<String> {
    #[expect(clippy::unwrap_used, reason = "the pattern is constant")]
    static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::\d{1,5})?(?:/[\w./-]*)?").unwrap()
    });
    ADDRESS.find(line).map(|found| found.as_str().replace("0.0.0.0", "127.0.0.1").trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::ExaminationVerdict;
    use super::*;

    fn exited(exit: ServerExit, stderr: &[&str]) -> OpenFailure {
        OpenFailure::Handshake(CallFailure {
            reason: FailureReason::Exited(exit),
            method: "initialize".to_owned(),
            frame: None,
            violation: None,
            stderr: stderr.iter().map(|line| (*line).to_owned()).collect(),
            stray: Vec::new(),
            alive: false,
            is_local: true,
            lack: None,
        })
    }

    #[test]
    fn the_cure_of_an_exit_comes_from_what_was_written() {
        for (failed, words) in [
            (exited(ServerExit::Status(0), &[]), "name the program of a server"),
            (exited(ServerExit::Status(1), &[]), "run the command in a terminal"),
            (
                exited(ServerExit::Status(1), &["ModuleNotFoundError: No module named 'mcp'"]),
                "install `mcp` for the Python",
            ),
            (exited(ServerExit::Status(1), &["Error: Cannot find package 'zod' imported from /x"]), "install `zod`"),
            (
                exited(ServerExit::Status(1), &["Error: listen EADDRINUSE: address already in use :::3000"]),
                "end the other process",
            ),
            (exited(ServerExit::Status(1), &["No module named 'mcp.server.fastmcp'"]), "the version of `mcp`"),
            (exited(ServerExit::Status(2), &["usage: serve {stdio,http}", "error: transport"]), "complete the command"),
            (exited(ServerExit::Signal(9), &[]), "too little memory"),
            (exited(ServerExit::Status(2), &["python3: can't open file '/x/y.py'"]), "relative to the current folder"),
        ] {
            let judged = judge_start(Some(&failed), ConfigSource::Flags);
            assert_eq!(judged.verdict, ExaminationVerdict::Wrong);
            assert!(judged.cure.as_deref().unwrap_or_default().contains(words), "{judged:?}");
        }
        assert_eq!(judge_start(None, ConfigSource::Flags).verdict, ExaminationVerdict::Fine);
    }

    #[test]
    fn lines_of_output_that_are_no_messages_are_wrong() {
        let first = Some(Duration::from_millis(5));
        let stray = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        for (output, expected) in [
            (ServerOutput::default(), None),
            (ServerOutput { first, stray: stray(&[]) }, Some((ExaminationVerdict::Fine, "came after 5 ms"))),
            (
                ServerOutput { first, stray: stray(&["Ready!"]) },
                Some((ExaminationVerdict::Wrong, "1 line on standard output is no message of")),
            ),
            (
                ServerOutput { first, stray: stray(&["Ready!", "v1"]) },
                Some((ExaminationVerdict::Wrong, "2 lines on standard output are no messages")),
            ),
        ] {
            let judged = judge_output(&output);
            assert_eq!(judged.as_ref().map(|judged| judged.verdict), expected.map(|(verdict, _)| verdict));
            let sentence = judged.map(|judged| judged.sentence).unwrap_or_default();
            assert!(sentence.contains(expected.map_or("", |(_, words)| words)), "{sentence}");
        }
    }

    #[test]
    fn lines_that_come_later_are_wrong_as_well() {
        let output = |lines: &[&str]| ServerOutput {
            first: Some(Duration::from_millis(5)),
            stray: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        for (lines, earlier, expected) in [
            (&[][..], 0, None),
            (&["Ready!"], 1, None),
            (&["Ready!", "listing tools"], 1, Some(("1 line", "listing tools"))),
            (&["listing tools", "done"], 0, Some(("2 lines", "listing tools"))),
        ] {
            let judged = judge_late_output(&output(lines).since(earlier));
            let words = judged.as_ref().map(|judged| (judged.sentence.as_str(), judged.evidence[0].as_str()));
            let is_same = match (words, expected) {
                (Some((sentence, line)), Some((count, first))) => sentence.starts_with(count) && line == first,
                (None, None) => true,
                _ => false,
            };
            assert!(is_same, "{lines:?} {earlier}: {judged:?}");
        }
    }

    #[test]
    fn addresses_of_this_machine() {
        for (line, expected) in [
            ("Server running at http://localhost:3000/mcp", Some("http://localhost:3000/mcp")),
            ("Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)", Some("http://127.0.0.1:8000")),
            ("see https://example.com/docs", None),
            ("ready", None),
        ] {
            assert_eq!(own_address(line).as_deref(), expected, "{line}");
        }
    }
}
