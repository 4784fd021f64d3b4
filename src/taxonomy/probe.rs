//! The kinds of checks that exercise leaves, and what plans them.

/// A kind of check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The token that suites, registries and `--probe` use.
    pub id: &'static str,
    /// Its effect in one sentence.
    pub meaning: &'static str,
    /// The key of a suite that plans it.
    pub block: &'static str,
    /// Other keys that plan it, as far as a case runs with them.
    pub others: &'static [&'static str],
}

/// The probes that every registry may name.
pub const PROBES: &[Probe] = &[
    define("compliance", "checks the sentences of the specification one by one", "compliance:"),
    define("conformance", "checks whole sessions against the specification", "compliance:"),
    define("security", "scans the server and tries known attacks", "security:").or(&["trust_boundary:"]),
    define(
        "trust-boundary",
        "carries data across a security boundary and looks for it on the other side",
        "trust_boundary:",
    ),
    define("fault-recovery", "disturbs the session and watches the recovery", "timeouts:").or(&[
        "inject:",
        "faults:",
        "campaign:",
        "cancel:",
    ]),
    define("negative-path", "sends calls that the server must refuse", "negative_path:"),
    define("output-schema", "compares results with the declared output schema", "output_schema:"),
    define(
        "test-isolation",
        "gives every case a fresh server, or all cases the same one, or compares states",
        "restart_policy: per_test",
    )
    .or(&["restart_policy: never", "state:"]),
    define("agent", "lets a model work with the tools", "agents:"),
    define("tool-selection", "checks the choice of tools by a model of `agents:`", "trajectory:").or(&[
        "golden_path:",
        "distractors:",
        "equal_function:",
    ]),
    define("fuzz", "calls tools with generated arguments", "fuzz:"),
    define("schema-lint", "checks the declared schemas", "schema_lint:"),
    define("exec-policy", "tries to exceed configured limits", "config:"),
];

/// The common probe with that token.
pub fn probe(id: &str) -> Option<&'static Probe> {
    PROBES.iter().find(|probe| probe.id == id)
}

const fn define(id: &'static str, meaning: &'static str, block: &'static str) -> Probe {
    Probe { id, meaning, block, others: &[] }
}

impl Probe {
    const fn or(self, others: &'static [&'static str]) -> Self {
        Self { others, ..self }
    }
}
