//! The contents of a registry: families, leaves and variants.

use serde::{Deserialize, Serialize};

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, Value, choice, settings};
use crate::wire::Revision;

use super::builtin;
use super::mutant::{Mutant, Mutants};

settings! {
    /// A category of faults.
    #[derive(PartialEq)]
    pub struct Family as "a family" {
        /// A name in capital letters, such as `TOOL`.
        pub id: String => required(),
        /// What it is about.
        pub name: String => required(),
        /// How often it fails in practice, against the other families.
        pub weight: f64 => shape(Shape::Number) required(),
        /// What a suite must have for the family to apply.
        pub needs: Option<FamilyNeed>,
    } with {
        /// Its faults.
        pub leaves: Vec<Leaf>,
    }
}

settings! {
    /// One fault.
    #[derive(PartialEq)]
    pub struct Leaf as "a leaf" {
        /// `FAULT-<FAMILY>-<NAME>`.
        pub id: String => required(),
        /// What goes wrong.
        pub meaning: String => required(),
        /// The kinds of checks that exercise it.
        pub probes: Vec<String> => required(),
        /// The suite that shows how to exercise it.
        pub example: Option<String>,
        /// Papers, advisories and the like.
        pub references: Vec<String>,
        /// The ways in which it shows.
        pub variants: Vec<Variant> => required(),
    } with {
        /// Variants of other leaves that show this one too; they are counted there.
        pub shared: Vec<String>,
    }
}

settings! {
    /// One way in which a leaf shows.
    #[derive(PartialEq)]
    pub struct Variant as "a variant" {
        /// A name in capital letters.
        pub id: String => required(),
        /// What goes wrong.
        pub meaning: String => required(),
        /// How bad it is.
        pub severity: VariantSeverity => required(),
        /// How firmly it may be judged.
        pub holds: Holds => required(),
        /// Where it can occur.
        pub revisions: Revisions,
        /// What it can occur over; both if left out.
        pub transports: Vec<Transport>,
        /// How to bring it about.
        pub provoke: String => required(),
        /// How a healthy server differs.
        pub oracle: String => required(),
        /// What it takes to imitate it.
        pub tier: Tier => required(),
        /// How it is imitated.
        pub imitation: Option<String>,
        /// Why nothing proves it; its mutants, if any, show a part of it.
        pub unplanted: Option<String>,
        /// What it takes and a recording does not have, such as two sessions at a time; with `--live`, its mutants are
        /// tried everywhere at once, by the cases that judge its leaf.
        pub live: Option<String>,
        /// Other leaves that it shows too; it is counted once.
        pub also: Vec<String>,
        /// Its imitations one by one.
        pub mutants: Mutants,
    }
}

/// The protocol revisions in which a variant can occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revisions {
    /// All of them, the ones to come included.
    All,
    /// These.
    Only(Vec<Revision>),
}

impl Setting for Revisions {
    const SHAPE: Shape = Shape::Either(&[Shape::Choice(&["all"]), <Vec<Revision>>::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let is_listed = matches!(node.value, Value::List(_));
        if is_listed { Setting::decode(node, found).map(Self::Only) } else { Self::absent() }
    }

    fn absent() -> Option<Self> {
        Some(Self::All)
    }
}

choice! {
    /// The severity of a variant where it occurs.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum VariantSeverity {
        /// Data is lost, leaked or wrong, or the server dies.
        Critical = "critical",
        /// Callers are misled or stopped.
        High = "high",
        /// Callers can work around it.
        Medium = "medium",
        /// Callers hardly notice.
        Low = "low",
    }
}

choice! {
    /// The certainty with which a variant may be judged.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Holds {
        /// The specification demands otherwise.
        Must = "must",
        /// The specification recommends otherwise.
        Should = "should",
        /// Experience says otherwise.
        Heuristic = "heuristic",
    }
}

choice! {
    /// The means that an imitation of a variant needs.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    pub enum Tier {
        /// A change to single frames.
        #[serde(rename = "W")]
        Frames = "W",
        /// A change that remembers earlier frames.
        #[serde(rename = "S")]
        Memory = "S",
        /// Control over how the server starts and ends.
        #[serde(rename = "L")]
        Launch = "L",
        /// A companion, such as a canary file or a second server.
        #[serde(rename = "C")]
        Companion = "C",
        /// Nothing imitates it.
        #[serde(rename = "N")]
        Impossible = "N",
    }
}

choice! {
    /// A transport.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Transport {
        /// The standard streams of a child process.
        Stdio = "stdio",
        /// Streamable HTTP.
        Http = "http",
    }
}

choice! {
    /// The key that a suite must have for a family to apply.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum FamilyNeed {
        /// A model that works with the tools.
        Agents = "agents",
    }
}

impl Variant {
    /// Its imitations one by one.
    pub fn mutants(&self) -> &[Mutant] {
        match &self.mutants {
            Mutants::Listed(mutants) => mutants,
            Mutants::BuiltIn => builtin::mutants(&self.id),
        }
    }

    /// The variant can occur over a transport in a revision.
    ///
    /// An empty text stands for an unknown transport or revision, `auto` for a revision not yet agreed on. A transport
    /// without a word in registries, such as memory, can show every variant that is bound to none.
    pub fn holds_for(&self, transport: &str, revision: &str) -> bool {
        let unbound = self.transports.len() == Transport::WORDS.len();
        let carried = unbound || transport.is_empty() || self.transports.iter().any(|t| t.as_str() == transport);
        carried && self.revisions.contains(revision)
    }
}

impl Revisions {
    /// A revision is, or may turn out to be, among them.
    pub fn contains(&self, revision: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(listed) => ["", "auto"].contains(&revision) || listed.iter().any(|one| one.as_str() == revision),
        }
    }
}
