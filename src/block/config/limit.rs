//! A number of calls that a setting allows: so many are served, and the next ones are not.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::LimitClaim;
use super::sides::{SideAnswer, Sides, Stopped, names};
use crate::check::pause_within;
use crate::event::Finding;
use crate::session::Session;
use crate::source::duration_text;

/// How much longer than the time of a limit is waited for new calls to be served.
const MARGIN: Duration = Duration::from_millis(200);

pub(crate) async fn judge(sides: &mut Sides<'_>, claim: &LimitClaim) -> Result<String, Stopped> {
    if let Some(session) = sides.without().await? {
        for number in 1..=claim.calls + 1 {
            let answer = call(sides, &session, claim, number).await?;
            if !answer.is_served {
                return Err(sides.refused_without(&answer));
            }
        }
        sides.end(session).await?;
    }
    let session = sides.with().await?;
    let found = with(sides, &session, claim).await?;
    if let Some(found) = found {
        session.mark_exit_reported();
        sides.end(session).await?;
        return Err(Stopped::Failed(vec![found]));
    }
    sides.end(session).await?;
    let calls =
        if claim.calls == 1 { "1 call was served".to_owned() } else { format!("{} calls were served", claim.calls) };
    Ok(match claim.per {
        Some(per) => format!(
            "{calls} within {}, a further one was refused, and one was served after that time",
            duration_text(per)
        ),
        None => format!("{calls}, and further ones were refused"),
    })
}

/// The calls with the setting: as many as are allowed, then as many again, of which none may be served; of a
/// rate some must be refused.
async fn with(sides: &mut Sides<'_>, session: &Session, claim: &LimitClaim) -> Result<Option<Finding>, Stopped> {
    let setting = sides.setting_text();
    let begun = Instant::now();
    for number in 1..=claim.calls {
        let answer = call(sides, session, claim, number).await?;
        if !answer.is_served {
            return Err(Stopped::Inconclusive(format!(
                "with the setting, call {number} of the {} that `calls` allows is refused, so it cannot be told where the \
                 limit is: {} is answered {}; say with `calls` how many are served by a server that has served none yet, \
                 and if it keeps its data, start it with a store of its own",
                claim.calls,
                sides.told(&answer),
                sides.received(&answer)
            )));
        }
    }
    let mut last_served = None;
    let mut is_refused = false;
    // A rate may be counted in windows, of which the calls may have met two.
    let most = 2 * claim.calls + usize::from(claim.per.is_some());
    for number in claim.calls + 1..=most {
        let answer = call(sides, session, claim, number).await?;
        if answer.is_served {
            last_served = Some((number, answer));
        } else {
            is_refused = true;
        }
    }
    if let Some(per) = claim.per {
        return rate(sides, session, claim, RateSeen { per, begun, last_served, is_refused }).await;
    }
    Ok(last_served.map(|(number, answer)| {
        let message = format!(
            "started with {setting}, the server serves {number} calls, of which only {} are allowed",
            claim.calls
        );
        sides.finding("limit-exceeded", message, &answer)
    }))
}

/// The outcome of the calls within one window.
struct RateSeen {
    per: Duration,
    begun: Instant,
    last_served: Option<(usize, SideAnswer)>,
    is_refused: bool,
}

/// A rate: some of twice as many calls must be refused if they were made in time, and later calls are served.
async fn rate(
    sides: &mut Sides<'_>,
    session: &Session,
    claim: &LimitClaim,
    RateSeen { per, begun, last_served, is_refused }: RateSeen,
) -> Result<Option<Finding>, Stopped> {
    let within = duration_text(per);
    if begun.elapsed() >= per && !is_refused {
        let took = duration_text(begun.elapsed());
        return Err(Stopped::Inconclusive(format!("the calls took {took}, longer than the {within} of the limit")));
    }
    if let (false, Some((number, answer))) = (is_refused, last_served) {
        let setting = sides.setting_text();
        let message = format!(
            "started with {setting}, the server serves {number} calls within {within}, of which only {} are allowed",
            claim.calls
        );
        return Ok(Some(sides.finding("limit-exceeded", message, &answer)));
    }
    let Some(pause) = pause_within(sides.deadline, per + MARGIN) else {
        return Err(Stopped::Inconclusive(format!("there is no time to wait for {within}; raise `time`")));
    };
    sleep(pause).await;
    let answer = call(sides, session, claim, 2 * claim.calls + 2).await?;
    if answer.is_served {
        return Ok(None);
    }
    let message = format!("{within} after the limit was reached, {} is still refused", sides.told(&answer));
    Ok(Some(sides.finding("limit-not-lifted", message, &answer)))
}

async fn call(
    sides: &mut Sides<'_>,
    session: &Session,
    claim: &LimitClaim,
    number: usize,
) -> Result<SideAnswer, Stopped> {
    sides.ask(session, &claim.step, &names("number", number)).await
}
