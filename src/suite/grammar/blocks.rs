//! Blocks: checks that mcprove derives.

use crate::source::shape::{Key, Object, Shape, key, required};

/// The kinds of block, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockKind {
    /// Checks against the specification.
    Compliance,
    /// Calls that must be refused.
    NegativePath,
    /// Structured content against declared schemas.
    OutputSchema,
    /// Quality of declared schemas.
    SchemaLint,
    /// Generated calls.
    Fuzz,
    /// Invariants over generated calls.
    Properties,
    /// Drift from a recorded server.
    Differential,
    /// State between sessions.
    State,
    /// Pipelining and other rough handling.
    Torture,
    /// Configuration that must be honoured.
    Config,
    /// Latency and throughput.
    Performance,
    /// Security probes.
    Security,
    /// Values that must not cross from server to server.
    TrustBoundary,
    /// Faults to plant in the traffic.
    Faults,
    /// Agents that use the server.
    Agents,
}

/// One line per block: its kind, its key, the probes that it plans, and whether it runs in this version.
#[derive(Debug)]
pub struct BlockEntry {
    /// The kind.
    pub kind: BlockKind,
    /// The key in the suite.
    pub key: &'static str,
    /// The probe tokens of its cases.
    pub probes: &'static [&'static str],
    /// Whether its cases can run.
    pub state: BlockState,
}

/// Whether a block's cases can run in this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// They run.
    Runs,
    /// They are planned and skipped.
    NotAvailableYet,
}

use BlockState::{NotAvailableYet, Runs};

/// Every block.
pub static BLOCKS: &[BlockEntry] = &[
    entry(BlockKind::Compliance, "compliance", &["compliance", "conformance"], Runs),
    entry(BlockKind::NegativePath, "negative_path", &["negative-path"], Runs),
    entry(BlockKind::OutputSchema, "output_schema", &["output-schema"], Runs),
    entry(BlockKind::SchemaLint, "schema_lint", &["schema-lint"], NotAvailableYet),
    entry(BlockKind::Fuzz, "fuzz", &["fuzz"], NotAvailableYet),
    entry(BlockKind::Properties, "properties", &[], Runs),
    entry(BlockKind::Differential, "differential", &[], NotAvailableYet),
    entry(BlockKind::State, "state", &["test-isolation"], NotAvailableYet),
    entry(BlockKind::Torture, "torture", &[], NotAvailableYet),
    entry(BlockKind::Config, "config", &["exec-policy"], NotAvailableYet),
    entry(BlockKind::Performance, "performance", &[], NotAvailableYet),
    entry(BlockKind::Security, "security", &["security"], NotAvailableYet),
    entry(BlockKind::TrustBoundary, "trust_boundary", &["security", "trust-boundary"], NotAvailableYet),
    entry(BlockKind::Faults, "faults", &["fault-recovery"], NotAvailableYet),
    entry(BlockKind::Agents, "agents", &["agent"], NotAvailableYet),
];

const fn entry(kind: BlockKind, key: &'static str, probes: &'static [&'static str], state: BlockState) -> BlockEntry {
    BlockEntry { kind, key, probes, state }
}

impl BlockKind {
    /// The block's line in the table.
    pub fn entry(self) -> &'static BlockEntry {
        &BLOCKS[self as usize]
    }
}

pub(super) static BLOCK_KEYS: &[Key] = &[
    key("compliance", Shape::Object(&super::rule::COMPLIANCE), "Checks the server against the specification."),
    key("negative_path", Shape::Object(&NEGATIVE_PATH), "Derives calls that must be refused from the tools' schemas."),
    key("output_schema", Shape::Object(&TOOLS_ONLY), "Checks structured content against the tools' declared schemas."),
    key(
        "schema_lint",
        Shape::Object(&TOOLS_ONLY),
        "Looks for schemas that are too loose or that model providers refuse.",
    ),
    key("fuzz", Shape::Object(&FUZZ), "Calls tools with generated arguments."),
    key(
        "properties",
        Shape::List(&Shape::Object(&super::property::PROPERTY)),
        "What must hold for all calls: tests whose steps run in rounds with generated values.",
    ),
    key("differential", Shape::Map(&Shape::Any), "Compares the server with a recorded one."),
    key("state", Shape::Map(&Shape::Any), "Checks that sessions do not leak into one another."),
    key("torture", Shape::Map(&Shape::Any), "Handles the server roughly."),
    key(
        "config",
        Shape::Either(&[Shape::List(&Shape::Any), Shape::Map(&Shape::Any)]),
        "Checks that configuration is honoured.",
    ),
    key("performance", Shape::Map(&Shape::Any), "Bounds on latency and throughput."),
    key("security", Shape::Object(&SECURITY), "Security probes and scans."),
    key(
        "trust_boundary",
        Shape::Either(&[Shape::Object(&TRUST_BOUNDARY), Shape::List(&Shape::Object(&TRUST_BOUNDARY))]),
        "Values of one server that must not steer another.",
    ),
    key("faults", Shape::List(&Shape::Object(&FAULT)), "Faults to plant in the traffic."),
    key("agents", Shape::List(&Shape::Object(&AGENT)), "Agents that must reach a goal with the server's tools."),
];

/// Which tools a block works on.
static TOOLS: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]);

pub(super) static NEGATIVE_PATH: Object = Object {
    name: "negative_path",
    doc: "Calls that must be refused; a refusal counts only where a valid call of the same tool was served.",
    keys: &[&[
        key("tools", TOOLS, "The tools: `\"*\"` for all, or a list of names and patterns such as `get_*`."),
        key(
            "checks",
            Shape::List(&Shape::Choice(&[
                "unknown_tool",
                "unknown_method",
                "missing_required",
                "wrong_type",
                "out_of_range",
                "malformed_envelope",
            ])),
            "Which checks; by default the first four, since the others are not available yet.",
        ),
    ]],
};

static TOOLS_ONLY: Object = Object {
    name: "a tool selection",
    doc: "Which tools a block works on.",
    keys: &[&[key("tools", TOOLS, "The tools: `\"*\"` for all, or a list of names and patterns such as `get_*`.")]],
};

static FUZZ: Object = Object {
    name: "fuzz",
    doc: "Generated calls.",
    keys: &[&[
        key("seed", Shape::Whole, "The seed; the same seed gives the same calls."),
        key("cases", Shape::Whole, "How many calls."),
        key("time", Shape::Duration, "How long."),
        key("tools", TOOLS, "The tools."),
    ]],
};

static SECURITY: Object = Object {
    name: "security",
    doc: "Security probes and scans.",
    keys: &[&[
        key("scan", Shape::Flag, "Whether to scan descriptions and results."),
        key("packs", Shape::List(&Shape::Text), "Which packs of probes."),
        key("tools", TOOLS, "The tools."),
    ]],
};

static TRUST_BOUNDARY: Object = Object {
    name: "trust_boundary",
    doc: "A value of one server that must not steer another.",
    keys: &[&[
        required("from", Shape::Text, "The server that is not trusted."),
        required("to", Shape::Text, "The server to protect."),
        key("tool", Shape::Text, "The tool to protect."),
        key("name", Shape::Text, "A name for reports."),
    ]],
};

static FAULT: Object = Object {
    name: "a fault",
    doc: "A fault to plant in the traffic.",
    keys: &[&[
        required("name", Shape::Text, "The fault's name, for `inject`."),
        required("type", Shape::Text, "What it does: `latency`, `lost_response`, …"),
        key("tools", TOOLS, "The tools it strikes."),
        key("added", Shape::Duration, "The delay that `latency` adds."),
        key("share", Shape::Number, "The share of calls that it strikes."),
        key("when", Shape::Choice(&["before", "instead", "after"]), "Whether the server acts before it strikes."),
        key("method", Shape::Text, "The method it strikes."),
        key("occurrence", Shape::Whole, "Which call it strikes."),
    ]],
};

static AGENT: Object = Object {
    name: "an agent",
    doc: "An agent that must reach a goal with the server's tools.",
    keys: &[&[
        required("name", Shape::Text, "A name for reports."),
        key("provider", Shape::Any, "Who plays the model."),
        key("prompt", Shape::Text, "The goal."),
        key("inject", Shape::List(&Shape::Text), "Faults of `faults:` to plant."),
        key("recovery", Shape::Any, "How soon the agent must recover."),
        key("trajectory", Shape::Any, "The calls that it must make."),
        key("golden_path", Shape::Any, "The ways that are good."),
        key("distractors", Shape::Any, "Tools that it must leave alone."),
        key("equal_function", Shape::Any, "Tools that serve alike."),
        key("expect", Shape::Any, "What must hold in the end."),
        key("skip", Shape::Either(&[Shape::Text, Shape::Flag]), "Why it is not run."),
        key("tags", Shape::List(&Shape::Text), "Words to select it by."),
    ]],
};
