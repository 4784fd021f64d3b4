//! Leaks as findings: one for each tool whose texts leaked.

use std::collections::{BTreeMap, BTreeSet};

use super::IsolationKind;
use super::caller::CanaryCaller;
use super::seen::{ForeignRequest, Leak, Seen};
use crate::check::evidence::{finding_with_help, list_of_names};
use crate::check::visit::ShownText;
use crate::check::{CheckEnd, Confirmation};
use crate::event::{Code, Exchange, Finding, FindingKind, Reproduction, ReproductionCheck, RequirementLevel, Severity};

/// The number of bytes of an answer that are shown on both sides of a canary.
const AROUND: usize = 20;

/// The promises of the suite about isolation, and the knowledge of the server about its clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) isolation: IsolationKind,
    /// The suite names the isolation, so that the server promises it.
    pub(crate) is_promised: bool,
    pub(crate) clients: ClientKind,
    /// The client says who it is, so that its sessions may be those of one user.
    pub(crate) has_credentials: bool,
}

/// What tells the clients of a server apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientKind {
    /// Each has a process of its own.
    Processes,
    /// Their session ids over HTTP.
    Sessions,
    /// Nothing over HTTP, so that they share what is stored.
    Anonymous,
}

impl Claim {
    /// The level of a leak of a tool's texts. Stored data may be shared by design, and so may be the history of one user;
    /// what an anonymous client sends to a tool that declares to change nothing belongs to nobody else.
    fn level(self, writer: &CanaryCaller) -> RequirementLevel {
        let is_anonymous = self.clients != ClientKind::Processes && !self.has_credentials;
        if self.is_promised || (is_anonymous && writer.declares_reading) {
            RequirementLevel::Must
        } else {
            RequirementLevel::Should
        }
    }

    /// Returns true if a leak of a tool's texts is a finding: clients of a server without sessions share what it stores.
    fn judges(self, writer: &CanaryCaller) -> bool {
        self.clients != ClientKind::Anonymous || self.level(writer) == RequirementLevel::Must
    }
}

/// A finding for each tool whose texts leaked; adds the exchanges that show it.
pub(crate) fn findings(
    claim: Claim,
    callers: &[CanaryCaller],
    first: &Seen,
    again: &Result<&Seen, CheckEnd>,
    exchanges: &mut Vec<Exchange>,
) -> Vec<Finding> {
    let tool_of = |seen: &Seen, leak: &Leak| seen.written[leak.written].tool;
    let tools: BTreeSet<usize> = first.leaks.iter().map(|leak| tool_of(first, leak)).collect();
    let judged = tools.into_iter().filter(|tool| claim.judges(&callers[*tool]));
    let each = judged.filter_map(|tool| {
        let shows = |again: &&Seen| again.leaks.iter().any(|leak| tool_of(again, leak) == tool);
        // The sessions that were opened last show it.
        let seen = again.as_ref().ok().copied().filter(shows).unwrap_or(first);
        let leaks: Vec<&Leak> = seen.leaks.iter().filter(|leak| tool_of(seen, leak) == tool).collect();
        let of_tool = ToolLeaks { claim, caller: &callers[tool], seen, leaks: &leaks };
        of_tool.finding(&Confirmation::of_try(again.as_ref().map(shows).map_err(Clone::clone)), exchanges)
    });
    each.collect()
}

/// The leaks of one tool's texts.
struct ToolLeaks<'a> {
    claim: Claim,
    caller: &'a CanaryCaller,
    seen: &'a Seen,
    leaks: &'a [&'a Leak],
}

impl ToolLeaks<'_> {
    fn finding(&self, confirmation: &Confirmation, exchanges: &mut Vec<Exchange>) -> Option<Finding> {
        // The answer to a request can be asked for again.
        let leak = self.leaks.iter().find(|leak| leak.shown.request.is_some()).or(self.leaks.first())?;
        let written = &self.seen.written[leak.written].shown;
        let (writer, Leak { canary, shown, place, .. }) = (&self.caller.name, leak);
        let message =
            format!("{} {place} shows `{canary}`, which only a call of `{writer}` was sent with", shown.place);
        exchanges.push(written.exchange.clone());
        if shown.request.is_some() {
            exchanges.push(shown.exchange.clone());
        }
        let level = self.claim.level(self.caller);
        let is_must = confirmation.level(level) == RequirementLevel::Must;
        let severity = if is_must { Severity::Critical } else { Severity::Low };
        let mut found = Finding {
            level,
            exchange: Some(exchanges.len() - 1),
            frame: shown.exchange.answer_frame,
            help: Some(self.help(shown)),
            severity: Some(severity),
            reproduction: self.reproduction(written, shown, canary).map(Box::new),
            ..Finding::new(Code::STATE_LEAK, message)
        };
        found = found
            .with_evidence(
                "written by",
                format!("{writer} {}, frame {} of its session", written.exchange.sent, written.exchange.frame),
            )
            .with_evidence("shown as", around(&shown.text, canary))
            .with_evidence("shown by", self.places());
        Some(confirmation.weigh(found, "with another text in new sessions"))
    }

    /// Everything that shows a text of the tool, a line for each session that does.
    fn places(&self) -> String {
        let mut by_place: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for leak in self.leaks {
            by_place.entry(&leak.place).or_default().insert(leak.shown.subject());
        }
        let line = |(place, shown): (&&str, &BTreeSet<&str>)| {
            format!("{place}: {}", list_of_names(&shown.iter().collect::<Vec<_>>()))
        };
        by_place.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn help(&self, shown: &ShownText) -> String {
        let isolation = self.claim.isolation.as_str();
        let either = match &shown.tool {
            Some(reader) if *reader != self.caller.name => format!(" or `shared: [{reader}]`"),
            Some(_) | None => String::new(),
        };
        let meant = format!("if it is meant to be seen there, say `shared: [{}]`{either}", self.caller.name);
        if self.claim.is_promised {
            format!("keep the data of {isolation} apart; {meant}")
        } else {
            format!(
                "{meant}; if not, keep the data of {isolation} apart, and have this fail with `isolation: [{isolation}]`"
            )
        }
    }

    /// The call that writes and the request that shows it; `None` where a replay could not see it.
    fn reproduction(&self, written: &ShownText, shown: &ShownText, canary: &str) -> Option<Reproduction> {
        let calls = [written.request.clone()?, shown.request.clone()?];
        // A replay has sessions side by side; over HTTP they are those of one run.
        let is_replayable = match self.claim.isolation {
            IsolationKind::Sessions => true,
            IsolationKind::Runs => self.claim.clients == ClientKind::Processes,
            IsolationKind::Users => false,
        };
        is_replayable.then(|| Reproduction {
            kind: FindingKind::StateLeak,
            tool: shown.tool.clone(),
            sessions: calls.map(|call| vec![call]).into(),
            check: ReproductionCheck::Holds(canary.to_owned()),
            doubt: None,
        })
    }
}

/// The finding about a request that was served in the session of another user; adds the exchange that shows it.
pub(crate) fn foreign_session(served: &ForeignRequest, exchanges: &mut Vec<Exchange>) -> Finding {
    let ForeignRequest { exchange, sender, owner } = served;
    exchanges.push(exchange.clone());
    let message = format!("a request of the user `{sender}` with the session id of `{owner}` was served");
    let help = "bind a session to the user who opened it, and answer requests of others with status 404, as if there were \
                no such session";
    Finding {
        level: RequirementLevel::Should,
        exchange: Some(exchanges.len() - 1),
        frame: exchange.answer_frame,
        ..finding_with_help("foreign-session", message, help)
    }
    .with_evidence("expected", "status 404, as for an id that the server never gave")
}

/// The finding about two sessions that have the same id, and so are one.
pub(crate) fn shared_session_id(id: &str) -> Finding {
    let help = "give every session an id of its own that is drawn at random, such as a UUID of version 4";
    let message = format!("two sessions that are open at the same time have the same id `{id}`");
    Finding { severity: Some(Severity::High), ..finding_with_help("session-id", message, help) }
}

/// The text around a canary.
pub(crate) fn around(text: &str, canary: &str) -> String {
    let Some(at) = text.to_lowercase().find(canary) else { return String::new() };
    let edge = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let (from, to) = (edge(at.saturating_sub(AROUND)), edge(at + canary.len() + AROUND));
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    format!("{before}{}{after}", &text[from..to])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_shown_with_its_surroundings() {
        let long = format!("{}kw1{}", "ä".repeat(60), "b".repeat(60));
        assert_eq!(around(&long, "kw1"), format!("…{}kw1{}…", "ä".repeat(10), "b".repeat(20)));
        assert_eq!(around("a KW1 b", "kw1"), "a KW1 b");
        assert_eq!(around("a", "kw1"), "");
    }

    #[test]
    fn a_leak_fails_only_where_no_server_could_mean_it() {
        use RequirementLevel::{Must, Should};
        let (reader, writer) = (CanaryCaller::of_test("get", true), CanaryCaller::of_test("add", false));
        let claim = |is_promised, is_http, has_credentials| Claim {
            isolation: IsolationKind::Sessions,
            is_promised,
            clients: if is_http { ClientKind::Sessions } else { ClientKind::Processes },
            has_credentials,
        };
        for (claim, of_reader, of_writer) in [
            (claim(true, false, false), Must, Must),
            (claim(true, true, true), Must, Must),
            (claim(false, true, false), Must, Should),
            (claim(false, true, true), Should, Should),
            (claim(false, false, false), Should, Should),
        ] {
            assert_eq!((claim.level(&reader), claim.level(&writer)), (of_reader, of_writer), "{claim:?}");
        }
    }
}
