//! Properties: what must hold whatever is put in.

use crate::source::{Located, Node, Span};

/// The generated values of a property, and the number of rounds.
#[derive(Debug, Clone)]
pub struct Property {
    /// Its place in the suite.
    pub span: Span,
    /// The generators by the name that templates use.
    pub generate: Vec<(Located<String>, Generated)>,
    /// The number of rounds; `None` leaves it to what is generated.
    pub cases: Option<u32>,
    /// The seed of all draws.
    pub seed: u64,
    /// The severity of a violation, as one word.
    pub severity: Option<String>,
    /// Why it matters.
    pub why: Option<String>,
    /// Faults of the demo server that break this property.
    pub broken: Option<Node>,
    /// The settings that the demo server and the suite need to show it.
    pub reference: Option<Node>,
}

/// The source of the values of one name; nodes are unfilled.
#[derive(Debug, Clone)]
pub enum Generated {
    /// They fit this JSON Schema.
    Schema(Node),
    /// They are the items of this list, one after another.
    Each(Node),
    /// They are arguments of a tool.
    Arguments(Box<Arguments>),
}

/// Arguments of a tool, made from its input schema.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// The tool's name.
    pub tool: Node,
    /// Arguments that are the same in every round.
    pub with: Option<Node>,
    /// The kind of arguments.
    pub kind: ArgumentKind,
}

/// The kind of generated arguments.
#[derive(Debug, Clone)]
pub enum ArgumentKind {
    /// They fit the schema.
    Valid,
    /// Each breaks the schema in one way.
    Invalid,
    /// Valid ones, with one of these values in place of one parameter.
    Put {
        /// A list of values.
        values: Node,
        /// An expression over `parameter` that picks parameters; all that take the value where there is none.
        into: Option<Located<String>>,
    },
}

impl Property {
    /// The names that its steps may use beside those of every test.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let puts = self.generate.iter().any(|(_, generated)| generated.puts());
        let of_put = if puts { &["payload", "parameter"][..] } else { &[] };
        let generated = self.generate.iter().map(|(name, _)| name.value.as_str());
        generated.chain(of_put.iter().copied()).chain(["round"])
    }
}

impl Generated {
    /// Returns true if its values go through a list of payloads.
    pub fn puts(&self) -> bool {
        matches!(self, Self::Arguments(arguments) if matches!(arguments.kind, ArgumentKind::Put { .. }))
    }
}
