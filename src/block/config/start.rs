//! Settings with which a server must not start.

use super::setting_sessions::SettingSessions;
use crate::check::CheckEnd;
use crate::check::evidence::finding_with_help;
use crate::event::{FailureClass, Finding};
use crate::plan::generated::bare;
use crate::source::beginning;
use crate::source::template::Names;
use crate::suite::Action;

/// The number of characters of standard error that are shown.
const SHOWN: usize = 300;

pub(crate) async fn judge(sessions: &mut SettingSessions<'_>) -> Result<String, CheckEnd> {
    if let Some(session) = sessions.without().await? {
        // A server that starts and then serves nothing is no witness.
        let alive = bare(Action::Alive, sessions.span());
        let answer = sessions.ask(&session, &alive, &Names::new()).await?;
        if !answer.is_served {
            return Err(sessions.refused_without(&answer));
        }
        sessions.end(session).await?;
    }
    let session = match sessions.try_with().await {
        Ok(session) => session,
        Err(found) => return judge_failed_start(found),
    };
    let line = line_about_setting(&sessions.setting_words(), &session.stderr_tail());
    session.mark_exit_reported();
    sessions.end(session).await?;
    if let Some(line) = line {
        return Ok(format!("the server starts, and says on standard error: {line}"));
    }
    let setting = sessions.setting_text();
    let message = format!("the server starts with {setting}, and does not say that the value is invalid");
    let help =
        "have the server exit with an error that names the setting, or say on standard error what it uses instead";
    Err(CheckEnd::failed(finding_with_help("invalid-setting-accepted", message, help)))
}

/// A server that ended during its start has refused the value; one that hangs has said nothing.
fn judge_failed_start(found: Finding) -> Result<String, CheckEnd> {
    match found.class {
        Some(FailureClass::ProcessExited) => {
            let exit = found.exit().unwrap_or("an error").to_owned();
            Ok(format!("the server ended during its start: {exit}"))
        }
        Some(FailureClass::ProtocolError) => Ok(format!("the server refused the handshake: {}", found.message)),
        Some(FailureClass::Timeout) => {
            Err(CheckEnd::inconclusive(format!("the server neither started nor ended: {}", found.message)))
        }
        Some(_) | None => Err(CheckEnd::unavailable(found)),
    }
}

/// The line of standard error that names a word of the setting.
fn line_about_setting(words: &[String], lines: &[String]) -> Option<String> {
    let line = lines.iter().find(|line| {
        let line = line.to_lowercase();
        words.iter().any(|word| names(&line, &word.to_lowercase()))
    });
    line.map(|line| format!("`{}`", beginning(line, SHOWN)))
}

/// The longest word that other words often have in them, in bytes.
const SHORT: usize = 3;

/// A line has a word of the setting: a number or a short word only by itself, since any line has those in others.
fn names(line: &str, word: &str) -> bool {
    if word.len() > 1 {
        let goes_on = |edge: Option<char>, next: Option<char>| {
            let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
            is_digit(edge) && is_digit(next) || word.len() <= SHORT && next.is_some_and(char::is_alphanumeric)
        };
        let (first, last) = (word.chars().next(), word.chars().next_back());
        return line.match_indices(word).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            !goes_on(first, before.chars().next_back()) && !goes_on(last, after.chars().next())
        });
    }
    let mut parts = line.split(|letter: char| letter.is_whitespace() || "=,;:()`'\"".contains(letter));
    parts.any(|part| {
        let is_number = |part: &str| part == word && word.bytes().all(|byte| byte.is_ascii_digit());
        !word.is_empty() && (part.strip_prefix('-') == Some(word) || is_number(part.trim_end_matches('.')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Outcome;

    #[test]
    fn only_an_end_refuses_a_value() {
        for (class, expected) in [
            (Some(FailureClass::ProcessExited), Ok("the server ended during its start")),
            (Some(FailureClass::ProtocolError), Ok("the server refused the handshake: no")),
            (Some(FailureClass::Timeout), Err(Outcome::Inconclusive)),
            (Some(FailureClass::CommandNotFound), Err(Outcome::Errored)),
            (None, Err(Outcome::Errored)),
        ] {
            let verdict = judge_failed_start(Finding { class, ..Finding::new("start", "no") });
            match (verdict, expected) {
                (Ok(note), Ok(expected)) => assert!(note.starts_with(expected), "{note}"),
                (Err(end), Err(outcome)) => assert_eq!(end.into_result().outcome, outcome, "{class:?}"),
                (verdict, _) => panic!("{class:?}: {verdict:?}"),
            }
        }
    }

    #[test]
    fn a_line_explains_a_setting_if_it_names_it() {
        let words = ["max-users", "-5", "x", "0"].map(str::to_owned);
        for (line, is_named) in [
            ("invalid value for --MAX-USERS", true),
            ("using 10 instead of -5", true),
            ("ready, listening on x", false),
            ("-x must be positive", true),
            ("there must be at least 1 user, got 0.", true),
            ("invalid number of users: \"0\"", true),
            ("listening on 0.0.0.0:8080", false),
            ("ready after 10 ms", false),
            ("", false),
        ] {
            let lines = ["starting".to_owned(), line.to_owned()];
            let expected = is_named.then(|| format!("`{line}`"));
            assert_eq!(line_about_setting(&words, &lines), expected, "{line}");
        }
    }

    #[test]
    fn a_word_within_another_one_explains_nothing() {
        for (word, line, is_named) in [
            ("100", "invalid limit 100", true),
            ("100", "limit=100: too large", true),
            ("100", "using 100ms instead", false),
            ("1000", "using 1000ms instead", true),
            ("100", "listening on port 31000", false),
            ("99", "started with pid 19923", false),
            ("1000", "at 10:00:00.100023", false),
            ("on", "connection is ready", false),
            ("on", "the value 'on' is invalid", true),
            ("on", "mode=on is unknown", true),
            ("max-users", "max-users: must be positive", true),
            ("mode", "unknown modes", true),
            ("v2", "protocol v25", false),
            ("v2", "unknown version v2", true),
        ] {
            let found = line_about_setting(&[word.to_owned()], &["starting".to_owned(), line.to_owned()]);
            assert_eq!(found.is_some(), is_named, "{word}: {line}");
        }
    }
}
