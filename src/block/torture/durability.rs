//! Kills the server in the middle of writes and starts it again: what it had confirmed must still be there.
//!
//! Only for what outlives a clean end and a new start, which is tried first. The writes are made one after another, so that
//! nothing but the kill can have lost one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::clients::{Clients, NumberedAnswer, NumberedCalls};
use super::finding::{pass, result_with};
use super::reads::{Read, Readers, missing_everywhere, torn_record};
use super::reproduction::{ReproducedLoad, reproduction};
use super::template::ArgumentTemplate;
use super::writes::{WriteStudy, WritingArguments};
use super::{Torture, TortureCheck};
use crate::check::canary::Canaries;
use crate::check::{CheckEnd, CheckLimits, Confirmation};
use crate::event::{CheckResult, Exchange, Finding, FindingKind, Reason, RequirementLevel};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::duration_text;

/// The number of times that a server is killed for a tool; one more time for each of these where a loss has shown once.
const KILLS: u32 = 6;

/// The number of writes that are confirmed before each kill.
const CONFIRMED: usize = 3;

/// The number of times that a server is started again which ends at its start after a kill, and the time before each.
const STARTS: u32 = 3;
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// The time for which it must have failed to start to count as broken where the time of the case is over before.
const UNSTARTABLE: Duration = Duration::from_secs(5);

/// The time that a restarted server may take to show everything.
const LOADING: Duration = Duration::from_secs(1);

/// Writes of several tools, and kills.
#[derive(Debug)]
pub(crate) struct DurabilityCheck {
    pub(crate) settings: Arc<Torture>,
    pub(crate) tools: Vec<String>,
}

impl Check for DurabilityCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            let limits = CheckLimits::new(self.settings.max_time, "raise `max_time`, or name fewer `tools`");
            let mut trial =
                DurabilityTrial { check: self, context: &context, limits, kept: Vec::new(), kills: 0, confirmed: 0 };
            trial.run().await
        })
    }

    fn may_damage_store(&self) -> bool {
        true
    }
}

/// The kills of a case.
struct DurabilityTrial<'a> {
    check: &'a DurabilityCheck,
    context: &'a CheckContext<'a>,
    limits: CheckLimits,
    /// The last write that outlived a kill, and a read that shows it, by title.
    kept: Vec<Exchange>,
    kills: u32,
    /// The number of writes that were confirmed before them.
    confirmed: usize,
}

/// A tool whose writes can be read.
struct DurableTool {
    name: String,
    canaries: Canaries,
    learned: WritingArguments,
    /// Writes before a clean end.
    control: Vec<NumberedAnswer>,
    /// Writes that outlived earlier kills.
    earlier: Vec<NumberedAnswer>,
    /// After a clean end, each write is shown whole or not at all.
    shows_whole_texts: bool,
}

impl DurableTool {
    /// The median time of a write.
    fn usual_time(&self) -> Duration {
        let mut times: Vec<Duration> = self.control.iter().map(|write| write.reply.elapsed).collect();
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

/// The effect of a kill on a tool's data.
#[derive(Clone)]
struct KillDamage {
    kind: DamageKind,
    /// When it was killed, to be continued after `killed `.
    moment: String,
    lost: usize,
    confirmed: usize,
    /// The last write that was confirmed, and a read after the restart.
    calls: Vec<Exchange>,
}

/// The number of kills that did damage, and of all kills, in which case.
#[derive(Clone, Copy)]
struct DamageReport<'a> {
    context: &'a CheckContext<'a>,
    settings: &'a Torture,
    losses: u32,
    kills: u32,
}

/// Confirmed writes that a kill has lost.
#[derive(Debug, PartialEq, Eq)]
struct LostWrites {
    kind: DamageKind,
    /// The number of those that were confirmed just before.
    lost: usize,
}

impl LostWrites {
    /// Those among the writes that no read shows any more; `control` had outlived a restart before, `confirmed` had not.
    fn among(missing: &BTreeSet<u64>, control: &BTreeSet<u64>, confirmed: &BTreeSet<u64>) -> Option<Self> {
        let kind = match (missing.is_empty(), missing.is_disjoint(control)) {
            (true, _) => return None,
            (false, false) => DamageKind::AllLost,
            (false, true) => DamageKind::ConfirmedLost,
        };
        Some(Self { kind, lost: missing.intersection(confirmed).count() })
    }
}

/// The result where so many kills have lost none of so many writes of these tools, which outlive a restart.
fn result_without_loss(tools: &[&str], kills: u32, confirmed: usize, kept: Vec<Exchange>) -> CheckResult {
    if tools.is_empty() {
        return CheckResult::not_applicable("the server keeps nothing across a restart".to_owned());
    }
    if kills == 0 || confirmed == 0 {
        return CheckResult::inconclusive("no write was confirmed after the restart".to_owned());
    }
    let names: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    let names = names.join(", ");
    let shown = format!("{confirmed} writes of {names}, confirmed before {kills} kills and shown after the restarts");
    pass(Reason::Measured(shown), kept)
}

/// True if more kills may tell whether writes are lost: one loss may be a coincidence.
fn needs_another_kill(kills: u32, losses: u32) -> bool {
    kills < KILLS || kills < 2 * KILLS && losses == 1
}

/// True if a server that did not start is not started again; `out_of_time` is for how long it was tried where the time of the
/// case is over. A start that hangs has had its whole time.
fn is_last_start(found: &Finding, tried: u32, out_of_time: Option<Duration>) -> bool {
    found.kind() == FindingKind::Hang || tried == STARTS || out_of_time.is_some_and(|time| time >= UNSTARTABLE)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum DamageKind {
    /// Writes that were confirmed just before are gone.
    ConfirmedLost,
    /// So are those that had outlived a restart.
    AllLost,
    /// The write that was under way is shown, but only this beginning of its text.
    InPart(String),
    /// The server does not start or answer any more, as this message says.
    Unusable(String),
}

impl DamageKind {
    /// A single write may be lost by coincidence.
    fn is_certain(&self, losses: u32) -> bool {
        *self != Self::ConfirmedLost || Confirmation::of_try(Ok(losses > 1)).is_seen_again()
    }
}

impl<'a> DurabilityTrial<'a> {
    async fn run(&mut self) -> CheckResult {
        self.try_all().await.unwrap_or_else(CheckEnd::into_result)
    }

    async fn try_all(&mut self) -> Result<CheckResult, CheckEnd> {
        let first = self.open().await?;
        let mut tools = Vec::new();
        for name in &self.check.tools {
            match self.prepare(&first, name).await {
                Ok(tool) => tools.extend(tool),
                // What it did wrong is the affair of the tool's own case.
                Err(_) if first.is_over() => break,
                Err(_) => {}
            }
        }
        self.close(first).await?;
        if tools.is_empty() {
            let why = "of the tools that may be called none writes what a read shows".to_owned();
            return Ok(CheckResult::not_applicable(why));
        }
        let mut server = self.open().await?;
        let mut durable = Vec::new();
        for tool in tools {
            durable.extend(self.outlives_restart(&server, tool).await?);
        }
        let mut worst: Option<CheckResult> = None;
        for tool in &mut durable {
            let found;
            (server, found) = match self.kill_again_and_again(server, tool).await {
                Ok(killed) => killed,
                // What was seen counts, also if the check ends then.
                Err(end) => return worst.ok_or(end),
            };
            worst = worst.or(found);
        }
        self.close(server).await?;
        if let Some(found) = worst {
            return Ok(found);
        }
        let names: Vec<&str> = durable.iter().map(|tool| tool.name.as_str()).collect();
        Ok(result_without_loss(&names, self.kills, self.confirmed, std::mem::take(&mut self.kept)))
    }

    async fn open(&self) -> Result<Clients<'a>, CheckEnd> {
        self.limits.spend(0)?;
        Clients::single(self.context, self.limits.clone()).await
    }

    /// Ends a server cleanly; one that had ended by itself fails the case.
    async fn close(&self, clients: Clients<'_>) -> Result<(), CheckEnd> {
        match clients.end().await {
            None => Ok(()),
            Some(found) => Err(CheckEnd::Failed(vec![found])),
        }
    }

    fn study<'b>(&'b self, clients: &'b Clients<'b>, tool: &'b str, canaries: Canaries) -> WriteStudy<'b> {
        WriteStudy { context: self.context, settings: &self.check.settings, tool, clients, canaries }
    }

    /// Writes with a tool what a read shows; `None` where none does.
    async fn prepare(&self, clients: &Clients<'_>, name: &str) -> Result<Option<DurableTool>, CheckEnd> {
        let tool = self.context.catalog.tool(name);
        let templates = tool.map(|tool| ArgumentTemplate::of_tool(tool, self.context));
        let Some(Ok(templates)) = templates else { return Ok(None) };
        let mut study = self.study(clients, name, Canaries::of_tool(self.check.settings.seed, name));
        let Ok(learned) = study.learn(&templates).await? else { return Ok(None) };
        let calls = study.next_calls(&learned.template, CONFIRMED);
        let control = clients.one_after_another(&calls).await?;
        let control: Vec<NumberedAnswer> = control.into_iter().filter(NumberedAnswer::is_served).collect();
        let canaries = study.canaries;
        let name = name.to_owned();
        let earlier = Vec::new();
        let tool = DurableTool { name, canaries, learned, control, earlier, shows_whole_texts: false };
        Ok((tool.control.len() == CONFIRMED).then_some(tool))
    }

    /// The tool with the reads that show its writes after a restart; `None` where none does.
    async fn outlives_restart(
        &self,
        clients: &Clients<'_>,
        tool: DurableTool,
    ) -> Result<Option<DurableTool>, CheckEnd> {
        let study = self.study(clients, &tool.name, tool.canaries.clone());
        let control: Vec<&NumberedAnswer> = tool.control.iter().collect();
        let backs = study.wait_until_visible(&tool.learned.reads, &control, LOADING).await?;
        let complete = tool.learned.reads.iter().zip(&backs).filter(|(_, back)| back.is_complete());
        let reads: Vec<Read> = complete.map(|(read, _)| read.clone()).collect();
        let is_kept = !reads.is_empty();
        let shows_whole_texts = is_kept && torn_record(clients, &reads, &tool.canaries).await?.is_none();
        let learned = WritingArguments { reads, ..tool.learned };
        Ok(is_kept.then_some(DurableTool { learned, shows_whole_texts, ..tool }))
    }

    /// Kills the server in one moment after another, and starts it again each time; hands back the last one.
    async fn kill_again_and_again(
        &mut self,
        mut server: Clients<'a>,
        tool: &mut DurableTool,
    ) -> Result<(Clients<'a>, Option<CheckResult>), CheckEnd> {
        let (mut first, mut losses, mut kills): (Option<KillDamage>, u32, u32) = (None, 0, 0);
        while needs_another_kill(kills, losses) {
            let damage;
            (server, damage) = self.kill_once(server, tool, kills % KILLS).await?;
            kills += 1;
            let Some(damage) = damage else { continue };
            losses += 1;
            let is_over = damage.kind != DamageKind::ConfirmedLost;
            let told = first.get_or_insert(damage);
            if is_over || losses > 1 {
                let result = told.result(&tool.name, self.report(losses, kills));
                return Ok((server, Some(result)));
            }
        }
        let result = first.map(|damage| damage.result(&tool.name, self.report(losses, kills)));
        Ok((server, result))
    }

    /// Writes, kills the server, starts it again and reads.
    async fn kill_once(
        &mut self,
        server: Clients<'a>,
        tool: &mut DurableTool,
        moment: u32,
    ) -> Result<(Clients<'a>, Option<KillDamage>), CheckEnd> {
        let calls = server.calls(&tool.name, &tool.learned.template, &mut tool.canaries, CONFIRMED + 1);
        let mut confirmed = Vec::new();
        for call in &calls.calls[..CONFIRMED] {
            confirmed.extend(server.call(&calls, *call).await?.filter(NumberedAnswer::is_served));
        }
        let delay = tool.usual_time() * moment / KILLS;
        let moment = if moment == 0 {
            server.kill().await;
            "right after a write was confirmed".to_owned()
        } else {
            let kill = async {
                sleep(delay).await;
                server.kill().await;
            };
            let (under_way, ()) = tokio::join!(server.call(&calls, calls.calls[CONFIRMED]), kill);
            // Usually the server is gone before it answers.
            confirmed.extend(under_way.ok().flatten().filter(NumberedAnswer::is_served));
            format!("{} after another write was sent", duration_text(delay))
        };
        self.kills += 1;
        self.confirmed += confirmed.len();
        // It was killed, so how it ended is nothing to tell.
        server.end().await;
        let write = confirmed.last().map(|write| write.exchange(&tool.name));
        let damage = |kind: DamageKind, lost: usize, read: Option<Exchange>| KillDamage {
            kind,
            moment: moment.clone(),
            lost,
            confirmed: confirmed.len(),
            calls: write.iter().cloned().chain(read).collect(),
        };
        let unusable = |why: String| {
            let told = damage(DamageKind::Unusable(why), confirmed.len(), None);
            CheckEnd::Decided(Box::new(told.result(&tool.name, self.report(1, self.kills))))
        };
        let restarted = match self.restart().await? {
            Ok(restarted) => restarted,
            Err(found) => return Err(unusable(format!("does not start any more: {}", found.message))),
        };
        let study = self.study(&restarted, &tool.name, tool.canaries.clone());
        let writes: Vec<&NumberedAnswer> = tool.control.iter().chain(&confirmed).collect();
        let backs = match study.wait_until_visible(&tool.learned.reads, &writes, LOADING).await {
            Ok(backs) => backs,
            Err(CheckEnd::Unanswered(failure)) => {
                let failure = Finding::from(&*failure);
                restarted.end().await;
                return Err(unusable(format!("does not answer any more: {}", failure.message)));
            }
            Err(end) => return Err(end),
        };
        let missing = missing_everywhere(&backs);
        let read = backs.into_iter().find_map(|back| back.call);
        let numbers = |writes: &[NumberedAnswer]| writes.iter().map(|write| write.number).collect();
        let found = LostWrites::among(&missing, &numbers(&tool.control), &numbers(&confirmed));
        if found.is_none()
            && tool.shows_whole_texts
            && let Some((torn, read)) = self.lasting_torn_record(&restarted, tool).await?
        {
            return Ok((restarted, Some(damage(DamageKind::InPart(torn), 0, Some(read)))));
        }
        let Some(LostWrites { kind, lost }) = found else {
            self.kept = write.into_iter().chain(read).collect();
            tool.earlier.extend(confirmed);
            return Ok((restarted, None));
        };
        let further = restarted.calls(&tool.name, &tool.learned.template, &mut tool.canaries, CONFIRMED);
        let all = writes.into_iter().chain(&tool.earlier).collect();
        if !shows_more(&study, &tool.learned.reads, &further, all).await? {
            return Err(CheckEnd::inconclusive(format!(
                "the reads that show what `{}` writes leave out some of it without a kill, too, as a list with pages does, so \
                 no loss could be seen; name a read that shows everything with `pairs`",
                tool.name
            )));
        }
        Ok((restarted, Some(damage(kind, lost, read))))
    }

    /// A write that a restarted server shows in part, and still does once it had time to load everything.
    async fn lasting_torn_record(
        &self,
        clients: &Clients<'_>,
        tool: &DurableTool,
    ) -> Result<Option<(String, Exchange)>, CheckEnd> {
        let (reads, canaries) = (&tool.learned.reads, &tool.canaries);
        if torn_record(clients, reads, canaries).await?.is_none() {
            return Ok(None);
        }
        clients.wait(LOADING).await;
        torn_record(clients, reads, canaries).await
    }

    fn report(&self, losses: u32, kills: u32) -> DamageReport<'_> {
        DamageReport { context: self.context, settings: &self.check.settings, losses, kills }
    }

    /// Starts a server after a kill, more than once where it ends at its start; `Err` says why it does not start.
    async fn restart(&self) -> Result<Result<Clients<'a>, Box<Finding>>, CheckEnd> {
        let begun = Instant::now();
        let out_of_time = || self.limits.is_over().then(|| begun.elapsed());
        let mut tried = 1;
        loop {
            match self.open().await {
                Ok(clients) => return Ok(Ok(clients)),
                Err(CheckEnd::Unavailable(found)) if is_last_start(&found, tried, out_of_time()) => {
                    return Ok(Err(found));
                }
                Err(CheckEnd::Unavailable(_)) => sleep(RESTART_PAUSE).await,
                Err(end) => return Err(end),
            }
            tried += 1;
        }
    }
}

/// Further writes are shown beside those of earlier ones that are shown already, as long as nothing is killed.
async fn shows_more(
    study: &WriteStudy<'_>,
    reads: &[Read],
    further: &NumberedCalls,
    mut writes: Vec<&NumberedAnswer>,
) -> Result<bool, CheckEnd> {
    let mut backs = Vec::new();
    for read in reads {
        let back = read.look_for(study.clients, &study.canaries, &writes, &BTreeSet::new(), Readers::Own).await?;
        backs.push(back);
    }
    let missing = missing_everywhere(&backs);
    writes.retain(|write| !missing.contains(&write.number));
    let more = study.clients.one_after_another(further).await?;
    writes.extend(more.iter().filter(|write| write.is_served()));
    let backs = study.wait_until_visible(reads, &writes, LOADING).await?;
    Ok(missing_everywhere(&backs).is_empty())
}

impl KillDamage {
    /// The result, where so many of so many kills did damage.
    fn result(&self, tool: &str, check: DamageReport<'_>) -> CheckResult {
        let DamageReport { context, settings, losses, kills } = check;
        let mut found = self.finding(tool, losses, kills).with_evidence("seed", settings.seed.to_string());
        let (code, check) = (found.code.clone(), TortureCheck::Durability);
        let replay = reproduction(context, settings, Some(tool), code, check, ReproducedLoad::ALONE);
        found.reproduction = Some(Box::new(replay));
        result_with(CheckEnd::failed(found), self.calls.clone())
    }

    fn finding(&self, tool: &str, losses: u32, kills: u32) -> Finding {
        let (code, message) = match &self.kind {
            DamageKind::ConfirmedLost => {
                ("confirmed-write-lost", format!("`{tool}` confirmed writes that are gone after the server was killed"))
            }
            DamageKind::AllLost => (
                "torn-store",
                format!(
                    "what `{tool}` wrote before an earlier restart is gone after the server was killed among later writes"
                ),
            ),
            DamageKind::InPart(_) => (
                "torn-store",
                format!("after the server was killed among writes of `{tool}`, it shows a record that is not whole"),
            ),
            DamageKind::Unusable(why) => {
                ("torn-store", format!("after the server was killed among writes of `{tool}`, it {why}"))
            }
        };
        let mut found = Finding::new(code, message).with_evidence("killed", self.moment.clone());
        match &self.kind {
            DamageKind::ConfirmedLost | DamageKind::AllLost => {
                let lost = format!("{} of {} writes confirmed before the kill", self.lost, self.confirmed);
                found = found.with_evidence("lost", lost);
            }
            DamageKind::InPart(torn) => {
                found = found.with_evidence("shown", format!("`{torn}`, and no more of its text"));
            }
            DamageKind::Unusable(_) => {}
        }
        let control = format!("{CONFIRMED} writes before a clean end are all shown after the restart");
        found =
            found.with_evidence("control", control).with_evidence("damaged", format!("by {losses} of {kills} kills"));
        found.help = Some(
            "confirm a write once it is in the store; write a new file and rename it over the old one, or use a database \
             with a journal"
                .to_owned(),
        );
        if !self.kind.is_certain(losses) {
            found.level = RequirementLevel::Should;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::event::Outcome;

    #[test]
    fn writes_that_had_outlived_a_restart_are_the_worst_to_lose() {
        let lost = |kind, lost| Some(LostWrites { kind, lost });
        for (missing, expected) in [
            (&[][..], None),
            (&[4], lost(DamageKind::ConfirmedLost, 1)),
            (&[4, 5, 6], lost(DamageKind::ConfirmedLost, 3)),
            (&[1], lost(DamageKind::AllLost, 0)),
            (&[1, 2, 3, 4, 5, 6], lost(DamageKind::AllLost, 3)),
        ] {
            let found = LostWrites::among(&missing.iter().copied().collect(), &[1, 2, 3].into(), &[4, 5, 6].into());
            assert_eq!(found, expected, "{missing:?}");
        }
    }

    #[test]
    fn a_loss_is_certain_when_a_second_kill_loses_again() {
        let unusable = || DamageKind::Unusable("does not start any more".to_owned());
        for (kind, losses, expected) in [
            (DamageKind::ConfirmedLost, 1, false),
            (DamageKind::ConfirmedLost, 2, true),
            (DamageKind::AllLost, 1, true),
            (DamageKind::InPart("zq1".to_owned()), 1, true),
            (unusable(), 1, true),
        ] {
            assert_eq!(kind.is_certain(losses), expected, "{kind:?} {losses}");
        }
    }

    #[test]
    fn a_single_loss_has_as_many_kills_again() {
        for (kills, losses, expected) in [
            (0, 0, true),
            (KILLS - 1, 0, true),
            (KILLS, 0, false),
            (KILLS, 1, true),
            (2 * KILLS - 1, 1, true),
            (2 * KILLS, 1, false),
            (KILLS, 2, false),
        ] {
            assert_eq!(needs_another_kill(kills, losses), expected, "{kills} {losses}");
        }
    }

    #[test]
    fn a_server_that_does_not_start_is_tried_again() {
        let (exit, hang) = (Finding::new("process-exited", "it ended"), Finding::new("timeout", "it hangs"));
        assert_eq!(hang.kind(), FindingKind::Hang);
        for (found, tried, out_of_time, expected) in [
            (&exit, 1, None, false),
            (&exit, STARTS, None, true),
            (&exit, 1, Some(Duration::from_secs(1)), false),
            (&exit, 1, Some(UNSTARTABLE), true),
            (&hang, 1, None, true),
        ] {
            assert_eq!(is_last_start(found, tried, out_of_time), expected, "{tried} {out_of_time:?}");
        }
    }

    #[test]
    fn a_finding_says_what_a_kill_has_done() {
        use RequirementLevel::{Must, Should};
        let damage = |kind, lost| {
            let moment = "right after a write was confirmed".to_owned();
            KillDamage { kind, moment, lost, confirmed: 3, calls: Vec::new() }
        };
        let unusable = || DamageKind::Unusable("does not start any more: it ended".to_owned());
        for (damage, losses, level, code, says, lost) in [
            (
                damage(DamageKind::ConfirmedLost, 1),
                1,
                Should,
                "confirmed-write-lost",
                "`add` confirmed writes that are gone",
                Some("1 of 3 writes confirmed before the kill"),
            ),
            (damage(DamageKind::ConfirmedLost, 3), 2, Must, "confirmed-write-lost", "are gone", Some("3 of 3 writes")),
            (
                damage(DamageKind::AllLost, 0),
                1,
                Must,
                "torn-store",
                "before an earlier restart is gone",
                Some("0 of 3"),
            ),
            (
                damage(DamageKind::InPart("zq1".to_owned()), 0),
                1,
                Must,
                "torn-store",
                "a record that is not whole",
                None,
            ),
            (damage(unusable(), 3), 1, Must, "torn-store", "it does not start any more: it ended", None),
        ] {
            let found = damage.finding("add", losses, 6);
            assert_eq!((found.level, found.code.as_str()), (level, code), "{:?}", damage.kind);
            assert!(found.message.contains(says), "{}", found.message);
            let evidence = |name: &str| found.evidence.iter().find(|(known, _)| known == name).map(|(_, text)| text);
            assert_eq!(evidence("lost").is_some(), lost.is_some(), "{:?}", damage.kind);
            assert!(evidence("lost").is_none_or(|text| lost.is_some_and(|lost| text.starts_with(lost))));
            assert_eq!(evidence("damaged"), Some(&format!("by {losses} of 6 kills")));
        }
    }

    #[test]
    fn kills_prove_something_only_where_writes_were_confirmed_before_them() {
        for (tools, kills, confirmed, outcome, says) in [
            (&["add"][..], 6, 18, Outcome::Passed, "18 writes of `add`, confirmed before 6 kills"),
            (&["add", "put"], 12, 36, Outcome::Passed, "36 writes of `add`, `put`, confirmed before 12 kills"),
            (&["add"], 1, 1, Outcome::Passed, "1 writes of `add`"),
            (&["add"], 0, 0, Outcome::Inconclusive, "no write was confirmed"),
            // It refuses every write once it was restarted.
            (&["add"], 6, 0, Outcome::Inconclusive, "no write was confirmed"),
            (&[], 0, 0, Outcome::Skipped, "keeps nothing across a restart"),
        ] {
            let result = result_without_loss(tools, kills, confirmed, Vec::new());
            let reason = result.reason.as_ref().map(ToString::to_string).unwrap_or_default();
            assert_eq!(result.outcome, outcome, "{tools:?} {kills} {confirmed}");
            assert!(reason.contains(says), "{reason}");
        }
    }

    #[test]
    fn the_usual_time_of_a_write_is_not_that_of_a_slow_one() {
        for (times, expected) in [(&[5, 900, 6][..], 6), (&[7], 7), (&[900, 5, 6, 8], 8), (&[], 0)] {
            let writes = times.iter().map(|time| NumberedAnswer::of_test(*time, &Value::Null));
            let tool = DurableTool {
                name: "add".to_owned(),
                canaries: Canaries::of_seed(7),
                learned: WritingArguments {
                    template: ArgumentTemplate::of_test(),
                    reads: Vec::new(),
                    slowest: Duration::ZERO,
                },
                control: writes.collect(),
                earlier: Vec::new(),
                shows_whole_texts: true,
            };
            assert_eq!(tool.usual_time(), Duration::from_millis(expected), "{times:?}");
        }
    }
}
