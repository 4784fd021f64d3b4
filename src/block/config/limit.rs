//! A number of calls that a setting allows: so many are served, and the next ones are not.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::LimitClaim;
use super::setting_sessions::{SettingAnswer, SettingSessions, names};
use crate::check::CheckEnd;
use crate::event::Finding;
use crate::session::Session;
use crate::source::duration_text;

/// The time beyond that of a limit after which new calls must be served.
const MARGIN: Duration = Duration::from_millis(200);

pub(crate) async fn judge(sessions: &mut SettingSessions<'_>, claim: &LimitClaim) -> Result<String, CheckEnd> {
    if let Some(session) = sessions.without().await? {
        for number in 1..=claim.calls + 1 {
            let answer = call(sessions, &session, claim, number).await?;
            if !answer.is_served {
                return Err(sessions.refused_without(&answer));
            }
        }
        sessions.end(session).await?;
    }
    let session = sessions.with().await?;
    if let Some(found) = call_with_setting(sessions, &session, claim).await? {
        return Err(sessions.fail(session, vec![found]).await);
    }
    sessions.end(session).await?;
    Ok(note(claim))
}

/// The observation where a limit is kept.
fn note(claim: &LimitClaim) -> String {
    let calls =
        if claim.calls == 1 { "1 call was served".to_owned() } else { format!("{} calls were served", claim.calls) };
    match claim.per {
        Some(per) => format!(
            "{calls} within {}, a further one was refused, and one was served after that time",
            duration_text(per)
        ),
        None => format!("{calls}, and further ones were refused"),
    }
}

/// The calls with the setting: as many as are allowed, then as many again, of which none may be served; of a
/// rate some must be refused.
async fn call_with_setting(
    sessions: &mut SettingSessions<'_>,
    session: &Session,
    claim: &LimitClaim,
) -> Result<Option<Finding>, CheckEnd> {
    let setting = sessions.setting_text();
    let begun = Instant::now();
    for number in 1..=claim.calls {
        let answer = call(sessions, session, claim, number).await?;
        if !answer.is_served {
            return Err(CheckEnd::inconclusive(format!(
                "with the setting, call {number} of the {} that `calls` allows is refused, so it cannot be told where the \
                 limit is: {} is answered {}; say with `calls` how many are served by a server that has served none yet, \
                 and if it keeps its data, start it with a store of its own",
                claim.calls,
                sessions.call_text(&answer),
                sessions.answer_text(&answer)
            )));
        }
    }
    let mut last_served = None;
    let mut is_refused = false;
    // A rate may be counted in windows, of which the calls may have met two.
    let most = 2 * claim.calls + usize::from(claim.per.is_some());
    for number in claim.calls + 1..=most {
        let answer = call(sessions, session, claim, number).await?;
        if answer.is_served {
            last_served = Some((number, answer));
        } else {
            is_refused = true;
        }
    }
    let within = claim.per.map(duration_text);
    let seen = SeenLimit {
        last_served: last_served.as_ref().map(|(number, _)| *number),
        is_refused,
        elapsed: begun.elapsed(),
    };
    match seen.judge(claim) {
        LimitVerdict::Kept => {}
        LimitVerdict::TooSlow => {
            let (took, within) = (duration_text(seen.elapsed), within.unwrap_or_default());
            return Err(CheckEnd::inconclusive(format!(
                "the calls took {took}, longer than the {within} of the limit"
            )));
        }
        LimitVerdict::Exceeded => {
            let within = within.map(|within| format!(" within {within}")).unwrap_or_default();
            return Ok(last_served.map(|(number, answer)| {
                let message = format!(
                    "started with {setting}, the server serves {number} calls{within}, of which only {} are allowed",
                    claim.calls
                );
                sessions.finding("limit-exceeded", message, &answer)
            }));
        }
    }
    match claim.per {
        Some(per) => limit_not_lifted(sessions, session, claim, per).await,
        None => Ok(None),
    }
}

/// The outcome of the calls beyond those that a limit allows.
struct SeenLimit {
    /// The number of the last one that was served.
    last_served: Option<usize>,
    is_refused: bool,
    /// The time since the first call.
    elapsed: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitVerdict {
    Kept,
    Exceeded,
    /// All were served, and the time of a rate had passed meanwhile.
    TooSlow,
}

impl SeenLimit {
    /// Of a number no further call may be served; of a rate some must be refused if the calls were made in time.
    fn judge(&self, claim: &LimitClaim) -> LimitVerdict {
        match claim.per {
            Some(per) if self.elapsed >= per && !self.is_refused => LimitVerdict::TooSlow,
            Some(_) if self.is_refused => LimitVerdict::Kept,
            _ if self.last_served.is_some() => LimitVerdict::Exceeded,
            _ => LimitVerdict::Kept,
        }
    }
}

/// The finding where calls are still refused after the time of a rate.
async fn limit_not_lifted(
    sessions: &mut SettingSessions<'_>,
    session: &Session,
    claim: &LimitClaim,
    per: Duration,
) -> Result<Option<Finding>, CheckEnd> {
    let within = duration_text(per);
    let Some(pause) = sessions.run.limits.pause(per + MARGIN) else {
        return Err(CheckEnd::inconclusive(format!("there is no time to wait for {within}; raise `time`")));
    };
    sleep(pause).await;
    let answer = call(sessions, session, claim, 2 * claim.calls + 2).await?;
    if answer.is_served {
        return Ok(None);
    }
    let message = format!("{within} after the limit was reached, {} is still refused", sessions.call_text(&answer));
    Ok(Some(sessions.finding("limit-not-lifted", message, &answer)))
}

async fn call(
    sessions: &mut SettingSessions<'_>,
    session: &Session,
    claim: &LimitClaim,
    number: usize,
) -> Result<SettingAnswer, CheckEnd> {
    sessions.ask(session, &claim.step, &names("number", number)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::generated::bare;
    use crate::source::{SourceFile, Sources, Span};
    use crate::suite::Action;

    fn claim(calls: usize, per: Option<Duration>) -> LimitClaim {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", ""));
        LimitClaim { step: bare(Action::Alive, Span { source, start: 0, end: 0 }), calls, per }
    }

    #[test]
    fn a_limit_that_is_kept_is_told_with_its_time() {
        let minute = Some(Duration::from_secs(60));
        for (calls, per, expected) in [
            (1, None, "1 call was served, and further ones were refused"),
            (3, None, "3 calls were served, and further ones were refused"),
            (
                3,
                minute,
                "3 calls were served within 1 min 0 s, a further one was refused, and one was served after that time",
            ),
        ] {
            assert_eq!(note(&claim(calls, per)), expected);
        }
    }

    #[test]
    fn a_number_is_exact_and_a_rate_must_refuse_in_time() {
        let second = Duration::from_secs(1);
        for (per, last_served, is_refused, elapsed, expected) in [
            (None, None, true, 0, LimitVerdict::Kept),
            (None, Some(6), true, 0, LimitVerdict::Exceeded),
            (None, Some(6), false, 0, LimitVerdict::Exceeded),
            (Some(second), Some(6), true, 0, LimitVerdict::Kept),
            (Some(second), None, true, 2, LimitVerdict::Kept),
            (Some(second), Some(7), false, 0, LimitVerdict::Exceeded),
            (Some(second), Some(7), false, 2, LimitVerdict::TooSlow),
        ] {
            let claim = claim(3, per);
            let seen = SeenLimit { last_served, is_refused, elapsed: Duration::from_secs(elapsed) };
            assert_eq!(seen.judge(&claim), expected, "{per:?} {last_served:?} {is_refused} {elapsed}");
        }
    }
}
