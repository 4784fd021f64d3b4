//! Settings with which a server must not start.

use super::sides::{Sides, Stopped};
use crate::event::{FailureClass, Finding};
use crate::plan::generated::bare;
use crate::session::Session;
use crate::source::beginning;
use crate::source::template::Names;
use crate::suite::Action;

/// How much of standard error is shown, in characters.
const SHOWN: usize = 300;

pub(crate) async fn judge(sides: &mut Sides<'_>) -> Result<String, Stopped> {
    if let Some(session) = sides.without().await? {
        // A server that starts and then serves nothing is no witness.
        let alive = bare(Action::Alive, sides.span());
        let answer = sides.ask(&session, &alive, &Names::new()).await?;
        if !answer.is_served {
            return Err(sides.refused_without(&answer));
        }
        sides.end(session).await?;
    }
    let session = match sides.try_with().await {
        Ok(session) => session,
        Err(found) => return refused(found),
    };
    let told = explained(sides, &session);
    session.mark_exit_reported();
    sides.end(session).await?;
    if let Some(line) = told {
        return Ok(format!("the server starts, and says on standard error: {line}"));
    }
    let setting = sides.setting_text();
    let message = format!("the server starts with {setting}, and does not say that the value is invalid");
    let help =
        "have the server exit with an error that names the setting, or say on standard error what it uses instead";
    let found = Finding::new("invalid-setting-accepted", message);
    Err(Stopped::Failed(vec![Finding { help: Some(help.to_owned()), ..found }]))
}

/// A server that ended during its start has refused the value; one that hangs has said nothing.
fn refused(found: Finding) -> Result<String, Stopped> {
    match found.class {
        Some(FailureClass::ProcessExited) => {
            let exit = found.exit().unwrap_or("an error").to_owned();
            Ok(format!("the server ended during its start: {exit}"))
        }
        Some(FailureClass::ProtocolError) => Ok(format!("the server refused the handshake: {}", found.message)),
        Some(FailureClass::Timeout) => {
            Err(Stopped::Inconclusive(format!("the server neither started nor ended: {}", found.message)))
        }
        Some(_) | None => Err(Stopped::Unavailable(Box::new(found))),
    }
}

/// The line of standard error that names a word of the setting.
fn explained(sides: &Sides<'_>, session: &Session) -> Option<String> {
    let words: Vec<String> = sides.setting_words();
    let lines = session.stderr_tail();
    let line = lines.iter().find(|line| {
        let line = line.to_lowercase();
        words.iter().any(|word| word.len() > 1 && line.contains(&word.to_lowercase()))
    });
    line.map(|line| format!("`{}`", beginning(line, SHOWN)))
}
