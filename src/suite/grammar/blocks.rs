//! Blocks: checks that mcprove derives.

use crate::drift::NAMES;
use crate::lint::{self, Provider};
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
    entry(BlockKind::SchemaLint, "schema_lint", &["schema-lint"], Runs),
    entry(BlockKind::Fuzz, "fuzz", &["fuzz"], Runs),
    entry(BlockKind::Properties, "properties", &[], Runs),
    entry(BlockKind::Differential, "differential", &[], Runs),
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

    /// A block of this kind as one line says it; `None` where it does not run yet.
    pub fn example(self) -> Option<&'static str> {
        match self {
            Self::Compliance => Some("compliance: { level: must }"),
            Self::NegativePath => Some("negative_path: { tools: \"*\" }"),
            Self::OutputSchema => Some("output_schema: { tools: \"*\" }"),
            Self::SchemaLint => Some("schema_lint: { level: warning }"),
            Self::Fuzz => Some("fuzz: { cases: 100 }"),
            Self::Properties => {
                Some("properties: [{ name: words come back, generate: { word: { type: string } }, … }]")
            }
            Self::Differential => Some("differential: { snapshot: recorded.json }"),
            Self::State
            | Self::Torture
            | Self::Config
            | Self::Performance
            | Self::Security
            | Self::TrustBoundary
            | Self::Faults
            | Self::Agents => None,
        }
    }
}

pub(super) static BLOCK_KEYS: &[Key] = &[
    key("compliance", Shape::Object(&super::rule::COMPLIANCE), "Checks the server against the specification."),
    key("negative_path", Shape::Object(&NEGATIVE_PATH), "Derives calls that must be refused from the tools' schemas."),
    key("output_schema", Shape::Object(&TOOLS_ONLY), "Checks structured content against the tools' declared schemas."),
    key(
        "schema_lint",
        Shape::Object(&SCHEMA_LINT),
        "Looks for tools whose schemas, names and descriptions are wrong, too loose or too long, or that model providers refuse.",
    ),
    key("fuzz", Shape::Object(&FUZZ), "Calls tools with generated arguments."),
    key(
        "properties",
        Shape::List(&Shape::Object(&super::property::PROPERTY)),
        "What must hold for all calls: tests whose steps run in rounds with generated values.",
    ),
    key("differential", Shape::Object(&DIFFERENTIAL), "Compares the server with a recorded one."),
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
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key(
            "checks",
            Shape::List(&Shape::Choice(&[
                "unknown_tool",
                "unknown_method",
                "missing_required",
                "wrong_type",
                "out_of_range",
                "extra_property",
                "malformed_envelope",
            ])),
            "Which checks; all by default, in a test all but `unknown_method` and `malformed_envelope`, which are about \
             the server as a whole.",
        ),
        key("cases", Shape::Whole, "How many calls of each tool at most, of each kind some; 24 by default."),
    ]],
};

static TOOLS_ONLY: Object = Object {
    name: "a tool selection",
    doc: "Which tools a block works on.",
    keys: &[&[key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`.")]],
};

static SCHEMA_LINT: Object = Object {
    name: "schema_lint",
    doc: "What is wrong, loose or costly about the tools as they are listed; no tool is called.",
    keys: &[&[
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key(
            "providers",
            Shape::List(&Shape::Choice(Provider::NAMES)),
            "Model providers that must take the tools: what one of these refuses fails. By default it is a warning for `openai`, `anthropic` and `gemini`.",
        ),
        key(
            "level",
            Shape::Choice(lint::Level::NAMES),
            "The least that becomes a case; `warning` by default, which leaves advice to the summary.",
        ),
        key(
            "allow",
            Shape::Map(&Shape::Either(&[Shape::Text, Shape::Map(&Shape::Text)])),
            "Lints that may find something, with the reason: for all tools, or tool by tool.",
        ),
        key("max_tokens", Shape::Whole, "The most tokens that the list may cost, by estimate; 25000 by default."),
    ]],
};

static FUZZ: Object = Object {
    name: "fuzz",
    doc: "Generated calls: a case for each tool, each with servers of its own.",
    keys: &[&[
        key("seed", Shape::Whole, "The seed, by default 0; the same seed gives the same calls."),
        key("cases", Shape::Whole, "How many calls for each tool, by default 200 where no `time` is given."),
        key("time", Shape::Time, "How long each tool is called, such as `30s`; it ends with whichever comes first."),
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key("block", TOOLS, "Tools that are not called although they are selected: names and patterns."),
        key("in_flight", Shape::Whole, "How many calls are under way at a time, 1 to 32, by default 8."),
        key(
            "max_string",
            Shape::Whole,
            "The longest text in characters, by default 4096; transports of servers refuse very long messages.",
        ),
        key("invalid", Shape::Number, "The share of calls that break the schema, from 0 to 1, by default 0.2."),
    ]],
};

static DIFFERENTIAL: Object = Object {
    name: "differential",
    doc: "The server against a recorded one.",
    keys: &[&[
        required("snapshot", Shape::Text, "The recorded server: a file that `mcprove snapshot` writes."),
        key(
            "fail_on",
            Shape::Choice(&["breaking", "compatible", "cosmetic"]),
            "The mildest change that fails a case; `breaking` by default.",
        ),
        key("answers", Shape::Flag, "Whether recorded calls are made again; they are by default."),
        key("tools", TOOLS, "The tools; all by default."),
        key("ignore", Shape::List(&Shape::Object(&IGNORED)), "Changes that are meant."),
    ]],
};

static IGNORED: Object = Object {
    name: "an ignored change",
    doc: "A change that is meant; with both `at` and `what`, both must fit.",
    keys: &[&[
        key("at", Shape::Text, "Where: `tools/add/input/limit`; `*` stands for anything."),
        key("what", Shape::Choice(NAMES), "What kind of change."),
        required("reason", Shape::Text, "Why it is meant."),
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
        key("added", Shape::Time, "The delay that `latency` adds."),
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
