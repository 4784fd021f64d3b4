//! `config:`, what tools declare of themselves and what servers are configured to do, each seen to hold.
//!
//! [`hints`] calls tools that declare to change nothing, or nothing more the second time, and compares what the server
//! shows and what is in folders ([`watched_files`]). [`page_sizes`] counts what tools return for the size of a page. The
//! other checks start a server without a setting and with it ([`setting_sessions`]), one that the suite adds or one that
//! its start has ([`read_only_start`]): [`calls`] looks at calls that a setting refuses or changes, also with other booleans
//! and choices ([`switches`]), [`values`] at values that it forbids, in [`spellings`] of which each means the same,
//! [`limit`] at numbers, and [`start`] at values with which no server may start.
//!
//! A refusal proves nothing where the same call is refused without the setting: such a case is inconclusive.

mod calls;
mod cases;
mod grammar;
mod hints;
mod limit;
mod page_sizes;
mod read_only_start;
mod setting_sessions;
mod spellings;
mod start;
mod switches;
mod values;
mod watched_files;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use self::grammar::{ConfigKeys, SETTINGS};
use self::spellings::ValueKind;
use super::Kind;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, settings};
use crate::suite::{Server, StartChanges, Step, Suite, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "config",
        Shape::Either(&[Shape::Flag, ConfigKeys::SHAPE, SETTINGS]),
        "Checks that hints of tools are true, and that settings have the effect that they claim; a list has settings.",
    ),
    probes: &["exec-policy"],
    example: "config: [{ name: read-only mode, with: { args: [--read-only] }, read_only: true }]",
    decode: grammar::decode,
    decode_in_test: None,
};

/// The checks that the suite asks for.
#[derive(Debug, Clone)]
struct ConfigSettings {
    hints: Option<Arc<HintSettings>>,
    page_sizes: Option<Arc<PageSizeSettings>>,
    settings: Vec<Arc<ConfigSetting>>,
}

settings! {
    /// Which tools are called, and where changes are looked for.
    struct HintSettings as "hints", at span {
        /// The tools: all by default, or a list of names and patterns such as `get_*`.
        tools: ToolSelection,
        /// Tools whose answers are not compared, since they may differ after any call, such as a list of recent searches.
        ignore: Option<ToolSelection>,
        /// Folders and files whose content must not change either, relative to the suite's file.
        watch: Vec<Located<String>> => shape(Shape::NonEmpty(&Shape::List(&Shape::Text))),
        /// The time for each tool.
        time: Duration => default("60s"),
    }
}

settings! {
    /// Which tools are asked for pages, and which of their parameters is the size.
    struct PageSizeSettings as "page_sizes", at span {
        /// The tools: all by default, or a list of names and patterns such as `list_*`.
        tools: ToolSelection,
        /// Names of parameters that are page sizes, beside those that are known, such as `limit`, `page_size`, `per_page`
        /// and `max_results`; with `count`, which is known, too, there are only warnings unless it is named here.
        parameters: Vec<String> => shape(Shape::NonEmpty(&Shape::List(&Shape::Text))),
        /// The time for each tool.
        time: Duration => default("60s"),
    }
}

/// A setting, and what it claims.
#[derive(Debug, Clone)]
struct ConfigSetting {
    span: Span,
    name: String,
    /// The reason for which it is not checked, where the suite says so.
    skip: Option<String>,
    /// The way in which the server comes by it.
    start: SettingStart,
    claims: Vec<SettingClaim>,
    /// The time for each claim.
    time: Duration,
}

/// How a server comes by a setting.
#[derive(Debug, Clone)]
enum SettingStart {
    /// Its start is changed so, as the suite says here.
    Added { changes: StartChanges, span: Span },
    /// Its start has these words, and is without the setting once it is changed.
    Given { words: String, without: StartChanges },
    /// It has it in any case, so that there is no server without it.
    Always,
}

/// One thing that a setting claims.
#[derive(Debug, Clone)]
enum SettingClaim {
    /// Calls that it refuses, serves or changes.
    Calls(CallClaim),
    /// Values that it forbids.
    Values(ValueClaim),
    /// A number that it does not exceed.
    Limit(LimitClaim),
    /// With it, the server does not start.
    NoStart,
}

/// Calls with a setting and without it.
#[derive(Debug, Clone, Default)]
struct CallClaim {
    /// Served without the setting and with it.
    serves: Vec<Step>,
    /// Served without the setting, and refused with it.
    refuses: Vec<Step>,
    /// Answered as expected with the setting, and not without it.
    differs: Vec<Step>,
    /// The setting forbids all changes of data.
    read_only: bool,
}

/// Values of a call that are refused, and values that are served.
#[derive(Debug, Clone)]
struct ValueClaim {
    /// Everything but `served` is out of bounds, rather than `refused` alone.
    is_scope: bool,
    /// The call, with `{{ value }}`.
    step: Step,
    kind: ValueKind,
    /// Unfilled, like those that are served.
    refused: Vec<Node>,
    served: Vec<Node>,
}

/// A number of calls that are served.
#[derive(Debug, Clone)]
struct LimitClaim {
    /// The call; `{{ number }}` counts from 1.
    step: Step,
    calls: usize,
    /// The time in which so many are served; `None` if there are never more.
    per: Option<Duration>,
}

impl ConfigSettings {
    /// The setting that the start of a server already says it has, where hints are looked at: no tool changes anything.
    fn read_only_start(&self, server: &Server) -> Option<ConfigSetting> {
        let hints = self.hints.as_ref().filter(|hints| matches!(hints.tools, ToolSelection::All))?;
        let start = read_only_start::find(server)?;
        let claim = CallClaim { read_only: true, ..CallClaim::default() };
        Some(ConfigSetting {
            span: hints.span,
            name: "read-only start".to_owned(),
            skip: None,
            start,
            claims: vec![SettingClaim::Calls(claim)],
            time: hints.time,
        })
    }
}

impl ConfigSetting {
    /// The tools of which some call must be served, so that the server of the suite lists them; names with templates are
    /// left out. One that `serves` or `differs` names may come with the setting.
    fn listed_tools(&self) -> Vec<Located<String>> {
        let steps = self.claims.iter().flat_map(|claim| match claim {
            SettingClaim::Calls(claim) => claim.refuses.as_slice(),
            SettingClaim::Values(claim) => std::slice::from_ref(&claim.step),
            SettingClaim::Limit(claim) => std::slice::from_ref(&claim.step),
            SettingClaim::NoStart => &[],
        });
        steps
            .filter_map(|step| step.action.as_call()?.0.located_text())
            .filter(|name| !name.value.contains("{{"))
            .collect()
    }
}

impl SettingClaim {
    /// The word that tells the cases of one setting apart.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Calls(_) => "calls",
            Self::Values(ValueClaim { is_scope: true, .. }) => "scope",
            Self::Values(_) => "denied values",
            Self::Limit(_) => "limit",
            Self::NoStart => "does not start",
        }
    }

    /// The variant that its case judges.
    fn judges(&self) -> &'static str {
        match self {
            Self::Calls(CallClaim { read_only: true, .. }) => "CONFIG-READONLY-MODE",
            Self::Calls(_) => "CONFIG-SETTING-IGNORED",
            Self::Values(ValueClaim { is_scope: true, .. }) => "CONFIG-SCOPE-NOT-ENFORCED",
            Self::Values(_) => "CONFIG-DENYLIST-BYPASS",
            Self::Limit(_) => "CONFIG-LIMIT-NOT-ENFORCED",
            Self::NoStart => "CONFIG-INVALID-VALUE-ACCEPTED",
        }
    }
}

impl SuiteSettings for ConfigSettings {
    fn check(&self, suite: &Suite, found: &mut Vec<Diagnostic>) {
        // A suite without servers gets them from the command line, or from one that includes it.
        if suite.servers.is_empty() || suite.servers.values().any(Server::is_started) {
            return;
        }
        for setting in self.settings.iter().filter(|setting| setting.skip.is_none()) {
            let SettingStart::Added { span, .. } = setting.start else { continue };
            let message = "`with` adds to the start of a server, and mcprove starts none of this suite with a command";
            let help = "give the server's `command`; for the demo server `command: [mcprove, serve, demo]`, in place of \
                        `builtin: demo`";
            found.push(Diagnostic::error("misplaced-key", message, span).with_help(help.to_owned()));
        }
    }
}

impl CaseSource for ConfigSettings {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, self, offer.catalog)
    }

    fn variants(&self, planner: &Planner<'_>) -> BTreeSet<String> {
        let is_started = cases::takes_settings(planner);
        let of_settings = self.settings.iter().filter(|setting| setting.skip.is_none() && is_started);
        let claimed = of_settings.flat_map(|setting| setting.claims.iter().map(SettingClaim::judges));
        let hinted = self.hints.iter().flat_map(|_| hints::Hint::ALL.map(hints::Hint::judges));
        let sized = self.page_sizes.iter().map(|_| page_sizes::PAGE_SIZE);
        let scratch = cases::server(planner).filter(|server| server.scratch);
        let kept = scratch.and_then(|server| self.read_only_start(server));
        let claimed = claimed.chain(kept.iter().flat_map(|setting| setting.claims.iter().map(SettingClaim::judges)));
        claimed.chain(hinted).chain(sized).map(str::to_owned).collect()
    }

    fn calls(&self, tool: &str) -> bool {
        let is_hinted = self.hints.as_ref().is_some_and(|hints| hints.tools.selects(tool));
        is_hinted || self.page_sizes.as_ref().is_some_and(|sizes| sizes.tools.selects(tool))
    }

    fn start_changes(&self, server: &Server) -> Vec<StartChanges> {
        let changes = |setting: &ConfigSetting| match &setting.start {
            SettingStart::Added { changes, .. } | SettingStart::Given { without: changes, .. } => Some(changes.clone()),
            SettingStart::Always => None,
        };
        let kept = self.read_only_start(server);
        self.settings.iter().map(AsRef::as_ref).chain(&kept).filter_map(changes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::read_suite;
    use crate::source::Sources;

    #[test]
    fn tools_that_a_setting_needs_are_those_that_must_be_listed_without_it() {
        for (claims, listed) in [
            ("refuses: [{ call: add }, { call: remove }]", &["add", "remove"][..]),
            // They may come with the setting.
            ("serves: [{ call: get }], differs: [{ call: extra }]", &[]),
            ("refuses: [{ call: \"{{ env.TOOL }}\" }]", &[]),
            ("refuses: [{ read: \"notes://1\" }]", &[]),
            ("limit: { call: add, calls: 3 }", &["add"]),
            ("denies: { call: run, args: { line: \"{{ value }}\" }, values: [rm], allows: [ls] }", &["run"]),
            ("starts: false", &[]),
        ] {
            let setting = grammar::setting_of_test(&format!("{{ name: safe, with: {{ args: [--safe] }}, {claims} }}"));
            let names: Vec<String> = setting.listed_tools().into_iter().map(|name| name.value).collect();
            assert_eq!(names, listed, "{claims}");
        }
    }

    #[test]
    fn settings_are_for_a_server_that_is_started_here() {
        let setting = "{ name: safe, with: { args: [--safe] }, read_only: true }";
        let skipped = "{ name: safe, skip: later, with: { args: [--safe] }, read_only: true }";
        let without = "{ name: safe, limit: { call: get, calls: 3 } }";
        let (process, address) = ("a: { command: [a] }", "b: { url: \"http://127.0.0.1:1/mcp\" }");
        for (servers, setting, expected) in [
            (process.to_owned(), setting, &[][..]),
            (address.to_owned(), setting, &["misplaced-key"]),
            (address.to_owned(), skipped, &[]),
            (address.to_owned(), without, &[]),
            // Another server of the suite is started.
            (format!("{process}, {address}"), setting, &[]),
        ] {
            let suite = format!("{{ suite: s, servers: {{ {servers} }}, config: [{setting}] }}");
            let read = read_suite(&suite, &[], &mut Sources::default());
            let codes: Vec<&str> = read.err().into_iter().flatten().map(|found| found.code).collect();
            assert_eq!(codes, expected, "{servers}: {setting}");
        }
    }

    #[test]
    fn the_cases_of_a_setting_are_told_apart_by_their_claims() {
        for (claims, words, judges) in [
            ("read_only: true", &["calls"][..], &["CONFIG-READONLY-MODE"][..]),
            ("refuses: [{ call: add }]", &["calls"], &["CONFIG-SETTING-IGNORED"]),
            ("starts: false", &["does not start"], &["CONFIG-INVALID-VALUE-ACCEPTED"]),
            (
                "denies: { call: run, args: { line: \"{{ value }}\" }, values: [rm], allows: [ls] }",
                &["denied values"],
                &["CONFIG-DENYLIST-BYPASS"],
            ),
            (
                "refuses: [{ call: add }], limit: { call: get, calls: 3 }",
                &["calls", "limit"],
                &["CONFIG-SETTING-IGNORED", "CONFIG-LIMIT-NOT-ENFORCED"],
            ),
        ] {
            let setting = grammar::setting_of_test(&format!("{{ name: safe, with: {{ args: [--safe] }}, {claims} }}"));
            let of_claims: Vec<&str> = setting.claims.iter().map(SettingClaim::as_str).collect();
            let judged: Vec<&str> = setting.claims.iter().map(SettingClaim::judges).collect();
            assert_eq!((of_claims.as_slice(), judged.as_slice()), (words, judges), "{claims}");
        }
    }
}
