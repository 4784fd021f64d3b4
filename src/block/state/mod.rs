//! `state:`, texts that one session or run writes and another one must not see.
//!
//! [`cases`] plans a case for each kind of isolation; [`check`] opens the sessions and comes to a verdict. [`caller`] puts
//! canaries into arguments, [`search`] sends them and looks for them, [`seen`] holds what was found, [`finding`] words the
//! leaks, and [`verdict`] says what follows where there are none.
//!
//! A server may share its data by design, so a leak fails only if the suite says that the data is isolated, or if no
//! server could mean it; everything else is a warning. See [`IsolationKind`] and [`finding::Claim`].

mod caller;
mod cases;
mod check;
mod finding;
mod foreign;
mod foreign_tasks;
mod places;
mod residue;
mod resumption;
mod search;
mod seen;
mod session_ids;
mod shared_caches;
mod store;
mod store_file;
mod subscriptions;
mod user_sessions;
mod verdict;
pub(crate) mod wrong_ids;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use self::residue::CallEnding;
use self::store_file::stays_in_folder;
use super::Kind;
use crate::check::CheckLimits;
use crate::check::visit::ShownText;
use crate::files::FolderPlace;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, Span, choice, settings};
use crate::suite::{BlockReader, Server, ServerKind, Suite, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "state",
        Shape::Either(&[Shape::Flag, StateSettings::SHAPE]),
        "Writes texts in one session or run, and looks for them in another one.",
    ),
    probes: &["test-isolation"],
    example: "state: { isolation: [sessions], shared: [publish_note] }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Texts that one session or run writes and another one must not see; `state: true` looks at sessions, and warns of
    /// data that may be shared by design.
    struct StateSettings as "state", at span {
        /// The isolation that the server promises: a text of one session that another session shows, a text of one run
        /// that the next run shows, or a text of one of the server's `users` that another one is shown, is a failure. By
        /// default sessions are looked at, unless `residue` or `store` is written, and data that a tool stores is a
        /// warning, since a server may share it by design.
        isolation: BTreeSet<IsolationKind>,
        /// Tools and resources whose data is meant to be shared: others may see what these tools write, and these tools
        /// and resources may show what others wrote. Names and URIs, and patterns such as `publish_*` and `notes://*`.
        shared: Option<ToolSelection>,
        /// The tools: all by default, or a list of names and patterns such as `get_*`.
        tools: ToolSelection,
        /// Whether calls that the server refuses, or that are cancelled, must leave everything as it was that its reading
        /// tools and resources show. It takes tools that may be called although they change data.
        residue: bool => default("false"),
        /// The file in which the server keeps its data, in the folder of the suite: between two runs it gets a broken line,
        /// then a line that is cut off. The server must show the other records, or an error; afterwards the file is as it
        /// was before. It takes `scratch: true`.
        store: Option<Node> => shape(Shape::NonEmpty(&Shape::Text)),
        /// The time for each kind of isolation.
        time: Duration => default("60s"),
    } with {
        /// The kinds that the suite names, so that the server promises them.
        promised: BTreeSet<IsolationKind>,
        /// The place of `users` under `isolation`.
        users: Option<Span>,
        /// The folder of the suite, found before a server runs that could put a link in its place; only with `store`.
        folder: Option<FolderPlace>,
    }
}

choice! {
    /// Two places that must not see one another's data.
    enum IsolationKind {
        /// Two sessions of one server, or two of its processes where a process has one session.
        Sessions = "sessions",
        /// A server, and the one that is started after its end.
        Runs = "runs",
        /// Two users of one server over HTTP, and the tasks of one of them; since 2026-07-28, answers that caches may share,
        /// too.
        Users = "users",
    }
}

impl StateSettings {
    /// The limits of a check that begins now.
    fn limits(&self) -> CheckLimits {
        CheckLimits::new(self.time, "raise `time` or select `tools`")
    }
}

impl IsolationKind {
    /// The variant that its case judges.
    fn judges(self) -> &'static str {
        match self {
            Self::Sessions | Self::Users => "STATE-CROSS-SESSION-LEAK",
            Self::Runs => "STATE-CROSS-RUN-LEAK",
        }
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let mut settings = StateSettings::decode(node, reader.mistakes())?;
    let outside = settings.store.as_ref().and_then(Node::located_text).filter(|path| !stays_in_folder(&path.value));
    if let Some(path) = outside {
        let message = format!("`{}` is not in the folder of the suite", path.value);
        let help = "write a path from the folder of the suite, without `..`, and let the server keep its data there";
        reader.report(Diagnostic::error("bad-name", message, path.span).with_help(help.to_owned()));
    }
    settings.folder = settings.store.as_ref().map(|_| FolderPlace::resolve(reader.folder()));
    let mut words = node.get("isolation").map(Node::items).unwrap_or_default().iter();
    settings.users = words.find(|word| word.text() == Some(IsolationKind::Users.as_str())).map(|word| word.span);
    settings.promised.clone_from(&settings.isolation);
    if settings.promised.is_empty() && !settings.residue && settings.store.is_none() {
        settings.isolation = [IsolationKind::Sessions].into();
    }
    Some(Arc::new(settings))
}

impl SuiteSettings for StateSettings {
    fn check(&self, suite: &Suite, found: &mut Vec<Diagnostic>) {
        let Some(span) = self.users else { return };
        // A suite without servers gets them from the command line, or from one that includes it.
        if suite.servers.is_empty() || suite.servers.values().any(|server| users_of(server) > 1) {
            return;
        }
        let message = "`isolation: [users]` takes a server with two users, and the suite has none";
        let help = "give a server with a `url` the credentials of two users, for example `users: { ann: { auth: { bearer: \
                    \"{{ env.ANN_TOKEN }}\" } }, bob: { auth: { bearer: \"{{ env.BOB_TOKEN }}\" } } }`";
        found.push(Diagnostic::error("missing-key", message, span).with_help(help.to_owned()));
    }
}

/// The number of users that the suite names for a server.
fn users_of(server: &Server) -> usize {
    match &server.kind {
        ServerKind::Url(http) => http.users.len(),
        ServerKind::Command(_) | ServerKind::Builtin(_) => 0,
    }
}

/// The variant that ids of sessions judge.
const SESSION_IDS: &str = "STATE-STALE-SESSION";

/// The variant that streams resumed in another session judge.
const RESUMED_STREAMS: &str = "STATE-CROSS-SESSION-LEAK";

/// The variant that updates of resources judge.
const SUBSCRIPTIONS: &str = "STATE-SUBSCRIPTION-LEAK";

/// The variant that a damaged data file judges.
const STORE: &str = "STATE-CORRUPT-STORE";

impl StateSettings {
    /// Returns true if the data of a tool or resource is meant to be shared.
    fn is_shared(&self, subject: &str) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.selects(subject))
    }

    /// The suite says that the server keeps these apart.
    fn promises(&self, isolation: IsolationKind) -> bool {
        self.promised.contains(&isolation)
    }

    /// A tool or resource may show what others wrote.
    fn shares(&self, shown: &ShownText) -> bool {
        let uri = shown.request.as_ref().and_then(|request| request.params["uri"].as_str());
        shown.tool.as_deref().or(uri).is_some_and(|subject| self.is_shared(subject))
    }
}

impl CaseSource for StateSettings {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer)
    }

    fn variants(&self, planner: &Planner<'_>) -> BTreeSet<String> {
        let isolation = self.isolation.iter().map(|isolation| isolation.judges());
        let residue = CallEnding::ALL.iter().filter(|_| self.residue).map(|ending| ending.judges());
        let ids = cases::looks_at_ids(planner, self).then_some(SESSION_IDS);
        let store = self.store.iter().map(|_| STORE);
        let streams = cases::resumes_streams(planner, self).then_some(RESUMED_STREAMS);
        let updates = self.isolation.contains(&IsolationKind::Sessions).then_some(SUBSCRIPTIONS);
        isolation.chain(residue).chain(ids).chain(streams).chain(updates).chain(store).map(str::to_owned).collect()
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::tests::settings;
    use crate::event::ReproductionCall;

    #[test]
    fn data_is_shared_where_the_suite_says_so() {
        let settings: StateSettings = settings("{ shared: [publish_*, \"notes://*\"] }");
        let read = |uri: &str| {
            let request = ReproductionCall::new("resources/read", json!({"uri": uri}));
            ShownText { tool: None, request: Some(request), ..ShownText::of_test("", "{}", true) }
        };
        let unasked = || ShownText { tool: None, request: None, ..ShownText::of_test("", "{}", false) };
        for (shown, expected) in [
            (ShownText::of_test("publish_note", "{}", true), true),
            (ShownText::of_test("get_note", "{}", true), false),
            (read("notes://7"), true),
            (read("users://7"), false),
            (unasked(), false),
        ] {
            assert_eq!(settings.shares(&shown), expected, "{shown:?}");
        }
        assert!(!StateSettings { shared: None, ..settings }.is_shared("publish_note"));
    }
}
