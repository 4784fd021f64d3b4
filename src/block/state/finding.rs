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
    /// The claim of a round; `is_promised` says that the suite names the isolation.
    pub(crate) fn of(isolation: IsolationKind, is_promised: bool, seen: &Seen, has_credentials: bool) -> Self {
        Self {
            isolation,
            // A promise about sessions says nothing of a revision that has none.
            is_promised: is_promised && !seen.is_stateless,
            clients: match &seen.without_sessions {
                Some(_) => ClientKind::Anonymous,
                None if seen.is_http => ClientKind::Sessions,
                None => ClientKind::Processes,
            },
            has_credentials,
        }
    }

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
    // Other letters may have another length in lower case.
    let Some(at) = text.to_ascii_lowercase().find(canary) else { return String::new() };
    let edge = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let (from, to) = (edge(at.saturating_sub(AROUND)), edge(at + canary.len() + AROUND));
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    format!("{before}{}{after}", &text[from..to])
}

#[cfg(test)]
mod tests {
    use super::super::seen::SentCanary;
    use super::*;

    #[test]
    fn a_canary_is_shown_with_its_surroundings() {
        let long = format!("{}kw1{}", "ä".repeat(60), "b".repeat(60));
        assert_eq!(around(&long, "kw1"), format!("…{}kw1{}…", "ä".repeat(10), "b".repeat(20)));
        assert_eq!(around("a KW1 b", "kw1"), "a KW1 b");
        // These letters are longer in lower case than in upper case.
        assert_eq!(around(&format!("{}kw1", "İ".repeat(40)), "kw1"), format!("…{}kw1", "İ".repeat(10)));
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

    #[test]
    fn a_claim_follows_from_what_tells_clients_apart() {
        let sessions = |without_sessions: Option<&str>, is_stateless| Seen {
            is_http: true,
            is_stateless,
            without_sessions: without_sessions.map(str::to_owned),
            ..Seen::default()
        };
        for (server, seen, is_promised, clients, remains_promised) in [
            ("over pipes", Seen::default(), true, ClientKind::Processes, true),
            ("with session ids", sessions(None, false), true, ClientKind::Sessions, true),
            ("without session ids", sessions(Some("no ids"), false), true, ClientKind::Anonymous, true),
            ("of 2026-07-28", sessions(Some("no sessions"), true), true, ClientKind::Anonymous, false),
            ("that promises nothing", sessions(None, false), false, ClientKind::Sessions, false),
        ] {
            let claim = Claim::of(IsolationKind::Sessions, is_promised, &seen, false);
            assert_eq!((claim.clients, claim.is_promised), (clients, remains_promised), "a server {server}");
        }
    }

    #[test]
    fn stored_data_of_anonymous_clients_is_nobodys() {
        let (reader, writer) = (CanaryCaller::of_test("search", true), CanaryCaller::of_test("add", false));
        for (clients, is_promised, has_credentials, of_reader, of_writer) in [
            (ClientKind::Anonymous, false, false, true, false),
            // All of them may be one user, whose searches are kept.
            (ClientKind::Anonymous, false, true, false, false),
            (ClientKind::Anonymous, true, true, true, true),
            (ClientKind::Sessions, false, true, true, true),
            (ClientKind::Processes, false, false, true, true),
        ] {
            let claim = Claim { isolation: IsolationKind::Sessions, is_promised, clients, has_credentials };
            assert_eq!((claim.judges(&reader), claim.judges(&writer)), (of_reader, of_writer), "{claim:?}");
        }
    }

    /// The findings about texts of `add` that these answers show in another place.
    fn found(claim: Claim, shown: Vec<ShownText>) -> (Vec<Finding>, Vec<Exchange>) {
        let callers = [CanaryCaller::of_test("add", false), CanaryCaller::of_test("search", true)];
        let written =
            vec![SentCanary { tool: 0, canary: "kw1".to_owned(), shown: ShownText::of_test("add", "", true) }];
        let place = || "in another session".to_owned();
        let leak = |shown| Leak { written: 0, canary: "kw1".to_owned(), shown, place: place() };
        let seen = Seen { written, leaks: shown.into_iter().map(leak).collect(), ..Seen::default() };
        let mut exchanges = Vec::new();
        let found = findings(claim, &callers, &seen, &Ok(&seen), &mut exchanges);
        (found, exchanges)
    }

    fn promised(isolation: IsolationKind, clients: ClientKind) -> Claim {
        Claim { isolation, is_promised: true, clients, has_credentials: false }
    }

    #[test]
    fn one_finding_for_a_tool_names_everything_that_shows_its_texts() {
        let unasked = || ShownText { request: None, ..ShownText::of_test("log", "a kw1 line", false) };
        let asked = || ShownText::of_test("search", "a kw1 hit", true);
        let claim = promised(IsolationKind::Sessions, ClientKind::Sessions);
        for (shows, shown, subject, exchanges) in [
            ("an answer", vec![asked()], "`search`", 2),
            ("a message that nobody asked for", vec![unasked()], "`log`", 1),
            // The answer can be asked for again, so it is the one that is accused.
            ("a message, then an answer", vec![unasked(), asked()], "`search`", 2),
            ("the same answer twice", vec![asked(), asked()], "`search`", 2),
        ] {
            let (found, shown_exchanges) = found(claim, shown);
            assert_eq!((found.len(), shown_exchanges.len()), (1, exchanges), "{shows}");
            assert!(found[0].message.contains(subject), "{shows}: {}", found[0].message);
            assert_eq!(found[0].exchange, Some(exchanges - 1), "{shows}");
        }
        let (found, _) = found(claim, vec![unasked(), asked()]);
        let places = found[0].evidence.iter().find(|(name, _)| name == "shown by").map(|(_, text)| text.as_str());
        assert_eq!(places, Some("in another session: `log`, `search`"));
    }

    #[test]
    fn help_names_the_tools_that_may_be_meant_to_share() {
        let unpromised = Claim { is_promised: false, ..promised(IsolationKind::Runs, ClientKind::Processes) };
        for (claim, reader, help) in [
            (
                promised(IsolationKind::Sessions, ClientKind::Sessions),
                "search",
                "keep the data of sessions apart; if it is meant to be seen there, say `shared: [add]` or `shared: [search]`",
            ),
            (
                promised(IsolationKind::Users, ClientKind::Sessions),
                "add",
                "keep the data of users apart; if it is meant to be seen there, say `shared: [add]`",
            ),
            (
                unpromised,
                "add",
                "if it is meant to be seen there, say `shared: [add]`; if not, keep the data of runs apart, and have this \
                 fail with `isolation: [runs]`",
            ),
        ] {
            let (found, _) = found(claim, vec![ShownText::of_test(reader, "kw1", true)]);
            assert_eq!(found[0].help.as_deref(), Some(help), "{claim:?}");
        }
    }

    #[test]
    fn a_leak_is_replayed_where_a_replay_could_see_it() {
        use ClientKind::{Processes, Sessions};
        let asked = || ShownText::of_test("search", "kw1", true);
        for (isolation, clients, shown, is_replayed) in [
            (IsolationKind::Sessions, Sessions, asked(), true),
            (IsolationKind::Sessions, Processes, asked(), true),
            (IsolationKind::Runs, Processes, asked(), true),
            // Sessions of a replay are those of one run.
            (IsolationKind::Runs, Sessions, asked(), false),
            (IsolationKind::Users, Sessions, asked(), false),
            (IsolationKind::Sessions, Sessions, ShownText { request: None, ..asked() }, false),
        ] {
            let (found, _) = found(promised(isolation, clients), vec![shown]);
            assert_eq!(found[0].reproduction.is_some(), is_replayed, "{isolation:?} {clients:?}");
        }
    }
}
