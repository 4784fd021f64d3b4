//! `security:`, known attacks, instructions to the model and secrets: packs of properties, and probes that prove an attack
//! by its effect.
//!
//! The packs are included as `include:` would include them; their cases have the probe `security` besides. [`cases`] plans
//! a case of each probe for every tool that it is about. [`path`] looks for ways out of a folder, [`execution`] for
//! arguments that are executed and [`address_part`] for those that become part of an address, [`fetching`] for addresses that are followed, [`exhaustion`] for arguments that use up the
//! server, and [`environment`] for a secret that shows; [`instructions`] reads how the server introduces itself.
//! [`root`] says which folder tools may use.
//! A probe finds something only where it sees an effect that nothing else has: a canary comes back, a file appears in a
//! folder that was fresh ([`outside`]), a visitor asks a [`listener`] for a path that nobody else knows.

mod address_part;
mod cases;
mod environment;
mod execution;
mod exhaustion;
mod fetching;
mod heavy;
mod instructions;
mod listener;
mod outside;
mod path;
mod probed_tool;
mod root;
mod secrets;
mod spelling;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::check::CheckLimits;
use crate::plan::arguments::server_folder;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, choice, settings};
use crate::suite::{BlockReader, Suite, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "security",
        Shape::Either(&[Shape::Flag, Shape::Object(&SecuritySettings::KEYS)]),
        "Tries known attacks on the server, and looks for secrets and for instructions to the model in its answers.",
    ),
    probes: &["security"],
    example: "security: { root: data/files }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Known attacks on the server, and searches of its answers; `security: true` makes all of them that need no
    /// further word.
    struct SecuritySettings as "security", at span {
        /// Whether to look for instructions to the model, as the pack `prompt-injection` does, and in the `instructions`
        /// of the server.
        scan: bool => default("true"),
        /// The attacks; by default `injection`, `path-traversal` and `secrets`. `ssrf` gives addresses of this machine
        /// to tools that take addresses, and warns of those that follow them. `exhaustion` sends arguments that use up
        /// a careless server, so that others who use it notice.
        packs: BTreeSet<AttackPack> => cure(
            "choose from `exhaustion`, `injection`, `path-traversal`, `secrets` and `ssrf`; `scan: true` runs the pack \
             `prompt-injection`, and `include: [builtin:packs/NAME]` any other"
        ),
        /// The folder that tools may use, relative to the suite's file. A folder with a canary is made beside it for
        /// the time of a case, and tools must not get there; on a server with `scratch: true`, a symbolic link to it is
        /// made in the folder. By default the first of the client's roots, for a server that asks for them, or the last
        /// folder in the server's `command`, for one that refuses another folder.
        root: Option<Node> => shape(Shape::Text),
        /// Whether tools must not fetch from this machine, so that one that does fails; otherwise it is a warning.
        forbid_loopback: bool => default("false"),
        /// Tools that are meant to fetch any address. Names and patterns such as `fetch_*`.
        fetches: Option<ToolSelection>,
        /// The tools that are attacked: all by default, or a list of names and patterns. A tool that is meant to run
        /// commands is left alone unless its name is in the list.
        tools: ToolSelection,
        /// The time for the attacks of one kind on one tool.
        time: Duration => default("60s"),
    }
}

/// The built-in suite behind `scan`.
const SCAN: &str = "builtin:packs/prompt-injection";

choice! {
    /// Attacks of one kind.
    enum AttackPack {
        Exhaustion = "exhaustion",
        Injection = "injection",
        PathTraversal = "path-traversal",
        Secrets = "secrets",
        Ssrf = "ssrf",
    }
}

impl AttackPack {
    /// The built-in suite with its properties.
    fn suite(self) -> Option<&'static str> {
        match self {
            Self::Exhaustion => Some("builtin:packs/large-payload"),
            Self::Injection => Some("builtin:packs/injection"),
            Self::PathTraversal => Some("builtin:packs/path-traversal"),
            Self::Secrets => Some("builtin:packs/secrets-leakage"),
            Self::Ssrf => None,
        }
    }

    /// The name of its probe in names of cases.
    fn title(self) -> &'static str {
        match self {
            Self::Exhaustion => "heavy arguments",
            Self::Injection => "executed arguments",
            Self::PathTraversal => "ways out of the folder",
            Self::Secrets => "environment",
            Self::Ssrf => "addresses of this machine",
        }
    }

    /// The variants that its probe judges.
    fn judges(self) -> &'static [&'static str] {
        match self {
            Self::Exhaustion => &["SECURITY-INPUT-HANG", "SECURITY-INPUT-CRASH"],
            Self::Injection => &["SECURITY-COMMAND-INJECTION", "SECURITY-ARGUMENT-INJECTION"],
            Self::PathTraversal => &["SECURITY-PATH-ESCAPE"],
            Self::Secrets => &["SECURITY-SECRET-LEAK"],
            Self::Ssrf => &["SECURITY-SSRF"],
        }
    }
}

impl SecuritySettings {
    /// The suite asks for a tool by its very name.
    fn names(&self, tool: &str) -> bool {
        matches!(&self.tools, ToolSelection::Named(patterns) if patterns.0.iter().any(|pattern| pattern.name.value == tool))
    }

    /// The packs whose probes can run in a suite: ways out of a folder take one, roots of the client, or a server that was
    /// started with one.
    fn attacks(&self, suite: &Suite) -> impl Iterator<Item = AttackPack> + '_ {
        let has_folder = self.root.is_some()
            || suite.answers.roots.is_some()
            || suite.servers.keys().any(|server| server_folder(suite, server).is_some());
        self.packs.iter().copied().filter(move |pack| *pack != AttackPack::PathTraversal || has_folder)
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let mut settings = SecuritySettings::decode(node, reader.mistakes())?;
    if settings.packs.is_empty() {
        settings.packs = [AttackPack::Injection, AttackPack::PathTraversal, AttackPack::Secrets].into();
    }
    report_useless(node, &settings.packs, reader);
    let suites = settings.packs.iter().filter_map(|pack| pack.suite());
    for suite in settings.scan.then_some(SCAN).into_iter().chain(suites) {
        reader.add_suite(&Located { value: suite.to_owned(), span: node.span }, KIND.probes);
    }
    Some(Arc::new(settings))
}

/// Reports keys that are about a pack that does not run.
fn report_useless(node: &Node, packs: &BTreeSet<AttackPack>, reader: &mut dyn BlockReader) {
    let useless = ["forbid_loopback", "fetches"].into_iter().filter(|_| !packs.contains(&AttackPack::Ssrf));
    for (name, value) in useless.filter_map(|name| Some((name, node.get(name)?))) {
        let message = format!("`{name}` has no effect without the pack `ssrf`");
        let help = "add `ssrf` to `packs`, or remove the key".to_owned();
        reader.report(Diagnostic::error("useless-key", message, value.span).with_help(help));
    }
}

impl SecuritySettings {
    fn limits(&self) -> CheckLimits {
        CheckLimits::new(self.time, "raise `time`").with_max_calls(probed_tool::MOST_CALLS)
    }
}

impl SuiteSettings for SecuritySettings {
    fn check(&self, suite: &Suite, found: &mut Vec<Diagnostic>) {
        found.extend(self.root.as_ref().and_then(|root| root::missing_folder(root, suite)));
    }
}

impl CaseSource for SecuritySettings {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn variants(&self, planner: &Planner<'_>) -> BTreeSet<String> {
        self.attacks(planner.suite).flat_map(AttackPack::judges).map(|variant| (*variant).to_owned()).collect()
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::block::tests::{check_lines, planned, read_suite};
    use crate::check::tests::settings;
    use crate::source::Sources;

    /// The cases of a suite on a server with these tools.
    fn lines(server: &str, block: &str, tools: &Value) -> Vec<String> {
        planned(&format!("{{ suite: s, {server}, security: {block} }}"), &[], tools)
    }

    #[test]
    fn each_attack_needs_a_tool_that_it_is_about_and_what_it_takes() {
        let tool = |name: &str, parameter: &str| {
            let schema = json!({"type": "object", "properties": {parameter: {"type": "string"}}});
            json!({"name": name, "annotations": {"readOnlyHint": true}, "inputSchema": schema})
        };
        let tools = json!([tool("greet", "who"), tool("show", "path"), tool("load", "url")]);
        let (process, roots) =
            ("servers: { a: { command: [a] } }", "servers: { a: { command: [a] } }, answers: { roots: [.] }");
        let run = |tool: &str| format!("security: executed arguments: {tool}: check");
        let out = |tool: &str| format!("security: ways out of the folder: {tool}: check");
        let fetch = |tool: &str| format!("security: addresses of this machine: {tool}: check");
        let instructions = || "security: instructions of the server: check".to_owned();
        let environment = || "security: environment: check".to_owned();
        let runs = || vec![run("greet"), run("show"), run("load")];
        let nothing = || vec!["security: ways out of the folder: check".to_owned()];
        for (server, block, expected) in [
            (process, "true", [vec![instructions()], runs(), vec![environment()]].concat()),
            (process, "{ scan: false, packs: [injection] }", runs()),
            (process, "{ scan: false, packs: [secrets] }", vec![environment()]),
            (process, "{ scan: false, packs: [injection], tools: [greet] }", vec![run("greet")]),
            // Nobody says which folder it may use.
            (process, "{ scan: false, packs: [path-traversal] }", vec![]),
            (process, "{ scan: false, packs: [path-traversal], root: . }", vec![out("show"), out("load")]),
            (roots, "{ scan: false, packs: [path-traversal] }", vec![out("show"), out("load")]),
            // Who names a folder is told that nothing is attacked.
            (process, "{ scan: false, packs: [path-traversal], root: ., tools: [greet] }", nothing()),
            (roots, "{ scan: false, packs: [path-traversal], tools: [greet] }", vec![]),
            (process, "{ scan: false, packs: [ssrf] }", vec![fetch("load")]),
            (process, "{ scan: false, packs: [ssrf], fetches: [load] }", vec![]),
            (
                process,
                "{ scan: false, packs: [injection], tools: [grete] }",
                vec!["security / grete: unknown-tool".to_owned()],
            ),
        ] {
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            check_lines(&format!("{server} {block}"), &lines(server, block, &tools), &expected);
        }
    }

    #[test]
    fn keys_about_a_pack_that_does_not_run_are_mistakes() {
        for (block, expected) in [
            ("{ packs: [ssrf], forbid_loopback: true }", &[][..]),
            ("{ packs: [ssrf, secrets], fetches: [get] }", &[]),
            ("{ forbid_loopback: true }", &["useless-key"]),
            ("{ packs: [secrets], forbid_loopback: true, fetches: [get] }", &["useless-key", "useless-key"]),
            ("{ packs: [injection] }", &[]),
        ] {
            let suite = format!("{{ suite: s, servers: {{ a: {{ command: [a] }} }}, security: {block} }}");
            let read = read_suite(&suite, &[], &mut Sources::default());
            let codes: Vec<&str> = read.err().into_iter().flatten().map(|found| found.code).collect();
            assert_eq!(codes, expected, "{block}");
        }
    }

    #[test]
    fn only_a_name_and_no_pattern_asks_for_a_tool() {
        for (text, tool, expected) in [
            ("{ tools: [run_command] }", "run_command", true),
            ("{ tools: [\"run_*\"] }", "run_command", false),
            ("{ tools: [\"run_*\", run_command] }", "run_command", true),
            ("{ tools: [run] }", "run_command", false),
            ("{ time: 1s }", "run_command", false),
        ] {
            assert_eq!(settings::<SecuritySettings>(text).names(tool), expected, "{text}");
        }
    }
}
