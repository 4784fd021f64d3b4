//! From located nodes to a [`Registry`], with every mistake at once.
//!
//! The grammar speaks first, about keys and types; what it found wrong is read as empty here and not complained about
//! again.

use std::collections::BTreeMap;

use crate::fault;
use crate::source::{Diagnostic, Located, Node, SourceId, Sources, Span, Value, did_you_mean, grammar, nearest, parse};
use crate::wire::Revision;

use super::model::{Family, Holds, Leaf, Mutant, Mutants, Need, Offer, Revisions, Severity, Tier, Transport, Variant};
use super::start::Start;
use super::{REGISTRY, Registry, probe, start};

pub(crate) fn load(sources: &Sources, source: SourceId) -> Result<Registry, Vec<Diagnostic>> {
    let root = parse(sources, source).map_err(|mistake| vec![mistake])?;
    let mut decoder = RegistryDecoder { mistakes: grammar::check(&root, &REGISTRY), ids: BTreeMap::new() };
    let registry = decoder.registry(&root);
    if decoder.mistakes.is_empty() {
        return Ok(registry);
    }
    decoder.mistakes.sort_by_key(|mistake| mistake.label.as_ref().map(|label| label.span.start));
    Err(decoder.mistakes)
}

struct RegistryDecoder {
    mistakes: Vec<Diagnostic>,
    /// The first definition of each id, by the kind of its owner.
    ids: BTreeMap<(&'static str, String), Span>,
}

impl RegistryDecoder {
    fn registry(&mut self, root: &Node) -> Registry {
        let mut registry = Registry { own_probes: self.own_probes(root), ..Registry::default() };
        registry.taxonomy.version = text(root, "version");
        registry.families = items(root, "families").iter().map(|node| self.family(node)).collect();
        let leaves: Vec<(Span, Leaf)> =
            items(root, "leaves").iter().map(|node| (id_of(node).span, self.leaf(node, &registry))).collect();
        let shared = self.shared_variants(root, &leaves);
        for (span, mut leaf) in leaves {
            leaf.shared = shared.get(&leaf.id).cloned().unwrap_or_default();
            self.place(leaf, span, &mut registry.families);
        }
        registry
    }

    fn own_probes(&mut self, root: &Node) -> BTreeMap<String, String> {
        let declared = root.get("probes").map(Node::entries).unwrap_or_default();
        for (name, _) in declared.iter().filter(|(name, _)| probe(&name.value).is_some()) {
            self.mistakes.push(
                Diagnostic::error("duplicate-id", format!("the probe `{}` is built in", name.value), name.span)
                    .with_help("name it in `probes:` of a leaf; it needs no declaration".to_owned()),
            );
        }
        declared
            .iter()
            .map(|(name, meaning)| (name.value.clone(), meaning.text().unwrap_or_default().to_owned()))
            .collect()
    }

    fn family(&mut self, node: &Node) -> Family {
        let weight = node.get("weight").map_or(0.0, number);
        if weight < 0.0 {
            let span = node.get("weight").map_or(node.span, |weight| weight.span);
            self.mistakes.push(Diagnostic::error("bad-weight", "a weight cannot be negative", span));
        }
        Family {
            id: self.id("family", node),
            name: text(node, "name"),
            weight,
            needs: word(node, "needs", Need::from_word),
            leaves: Vec::new(),
        }
    }

    fn leaf(&mut self, node: &Node, registry: &Registry) -> Leaf {
        Leaf {
            id: self.id("leaf", node),
            meaning: text(node, "meaning"),
            probes: self.probes(node, registry),
            example: optional_text(node, "example"),
            references: texts(node, "references"),
            variants: items(node, "variants").iter().map(|variant| self.variant(variant)).collect(),
            shared: Vec::new(),
        }
    }

    fn probes(&mut self, leaf: &Node, registry: &Registry) -> Vec<String> {
        let named = items(leaf, "probes");
        if let Some(list) = leaf.get("probes").filter(|list| matches!(list.value, Value::List(_)) && named.is_empty()) {
            self.mistakes.push(
                Diagnostic::error("no-probe", "a leaf needs at least one probe", list.span)
                    .with_help("without one no suite could ever cover it".to_owned()),
            );
        }
        for token in named.iter().filter_map(Node::located_text) {
            if !registry.probes().any(|one| one == token.value) {
                let help = match nearest(&token.value, registry.probes()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("declare it with its meaning: `probes: {{ {}: … }}` in this file", token.value),
                };
                self.mistakes.push(
                    Diagnostic::error("unknown-probe", format!("there is no probe `{}`", token.value), token.span)
                        .with_help(help),
                );
            }
        }
        named.iter().filter_map(|node| node.text().map(str::to_owned)).collect()
    }

    fn variant(&mut self, node: &Node) -> Variant {
        self.refuse_empty(node, "revisions");
        self.refuse_empty(node, "transports");
        let mut transports: Vec<Transport> =
            items(node, "transports").iter().filter_map(Node::text).filter_map(Transport::from_word).collect();
        transports.sort();
        transports.dedup();
        let is_live = node.get("live").is_some();
        Variant {
            id: self.id("variant", node),
            meaning: text(node, "meaning"),
            severity: word(node, "severity", Severity::from_word).unwrap_or(Severity::Low),
            holds: word(node, "holds", Holds::from_word).unwrap_or(Holds::Heuristic),
            revisions: match node.get("revisions").map(|node| &node.value) {
                Some(Value::List(listed)) => {
                    Revisions::Only(listed.iter().filter_map(Node::text).filter_map(Revision::parse).collect())
                }
                _ => Revisions::All,
            },
            transports: if transports.is_empty() { vec![Transport::Stdio, Transport::Http] } else { transports },
            provoke: text(node, "provoke"),
            oracle: text(node, "oracle"),
            tier: word(node, "tier", Tier::from_word).unwrap_or(Tier::Impossible),
            imitation: optional_text(node, "imitation"),
            unplanted: optional_text(node, "unplanted"),
            live: optional_text(node, "live"),
            also: texts(node, "also"),
            mutants: Mutants::Listed(
                items(node, "mutants").iter().map(|mutant| self.mutant(mutant, is_live)).collect(),
            ),
        }
    }

    fn mutant(&mut self, node: &Node, is_live: bool) -> Mutant {
        let id = self.id("mutant", node);
        let is_possible = |hears: &&Node| is_live && hears.text() == Some("twice");
        let about_requests = ["hears", "process", "unread"].iter().filter_map(|key| node.get(key));
        for hears in about_requests.filter(|hears| !is_possible(hears)) {
            let message = "a mutant changes what was recorded, and that server has heard the message already";
            self.mistakes.push(
                Diagnostic::error("useless-key", message, hears.span)
                    .with_help("change what comes: `answers`, `before` or `after`".to_owned()),
            );
        }
        Mutant {
            meaning: text(node, "meaning"),
            fault: fault::decode(&id, node, &mut self.mistakes),
            start: self.start(&id, node),
            shown_by: node.get("shown_by").map(|shown| fault::decode_match(&id, shown, &mut self.mistakes)),
            needs: items(node, "needs").iter().filter_map(Node::text).filter_map(Offer::from_word).collect(),
            at_once: node.get("at_once").is_some(),
            id,
        }
    }

    fn start(&mut self, id: &str, mutant: &Node) -> Option<Start> {
        let node = mutant.get("start")?;
        if let Some(answers) = mutant.get("answers") {
            self.mistakes.push(
                Diagnostic::error("two-ways", "a mutant changes what comes or how the server starts", answers.span)
                    .with_help("write two mutants".to_owned()),
            );
        }
        Some(start::decode(id, node, &mut self.mistakes))
    }

    fn refuse_empty(&mut self, variant: &Node, key: &str) {
        if let Some(Node { value: Value::List(items), span }) = variant.get(key)
            && items.is_empty()
        {
            self.mistakes.push(
                Diagnostic::error("empty-list", format!("with no {key} the variant could occur nowhere"), *span)
                    .with_help(format!("leave `{key}` out for all of them")),
            );
        }
    }

    /// The variants that other leaves share, by the id of the leaf.
    fn shared_variants(&mut self, root: &Node, leaves: &[(Span, Leaf)]) -> BTreeMap<String, Vec<String>> {
        let mut shared: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for variant in items(root, "leaves").iter().flat_map(|leaf| items(leaf, "variants")) {
            for other in items(variant, "also").iter().filter_map(Node::located_text) {
                if !leaves.iter().any(|(_, leaf)| leaf.id == other.value) {
                    self.mistakes.push(
                        Diagnostic::error("unknown-leaf", format!("there is no leaf `{}`", other.value), other.span)
                            .with_help(did_you_mean(&other.value, leaves.iter().map(|(_, leaf)| leaf.id.as_str()))),
                    );
                }
                shared.entry(other.value).or_default().push(id_of(variant).value);
            }
        }
        shared
    }

    /// Puts a leaf under the family that its id names.
    fn place(&mut self, leaf: Leaf, span: Span, families: &mut [Family]) {
        if leaf.id.is_empty() {
            return;
        }
        let rest = leaf.id.strip_prefix("FAULT-").unwrap_or_default();
        let named = |family: &&mut Family| {
            rest.strip_prefix(&family.id).and_then(|name| name.strip_prefix('-')).is_some_and(|name| !name.is_empty())
        };
        // The longest wins: `FAULT-TOOL-CHAIN-LOOP` belongs to `TOOL-CHAIN` where there is one.
        if let Some(family) = families.iter_mut().filter(named).max_by_key(|family| family.id.len()) {
            family.leaves.push(leaf);
            return;
        }
        let mut ids: Vec<String> = families.iter().map(|family| format!("`FAULT-{}-…`", family.id)).collect();
        ids.dedup();
        self.mistakes.push(
            Diagnostic::error("unknown-family", format!("`{}` names no family of this registry", leaf.id), span)
                .with_help((!ids.is_empty()).then(|| format!("a leaf starts with one of {}", ids.join(", ")))),
        );
    }

    /// The id of a thing; refuses one that is taken or badly written.
    fn id(&mut self, kind: &'static str, node: &Node) -> String {
        let Located { value: id, span } = id_of(node);
        if node.get("id").and_then(Node::text).is_none() {
            return id;
        }
        if !is_well_written(kind, &id) {
            self.mistakes.push(
                Diagnostic::error("bad-id", format!("`{id}` is no name for a {kind}"), span)
                    .with_help("capital letters and digits, in parts joined by `-`".to_owned()),
            );
        } else if let Some(first) = self.ids.insert((kind, id.clone()), span) {
            self.mistakes.push(
                Diagnostic::error("duplicate-id", format!("there are two {} called `{id}`", plural(kind)), span)
                    .with_label(span, "named again here")
                    .with_other(first, "the first one is here"),
            );
        }
        id
    }
}

fn is_well_written(kind: &str, id: &str) -> bool {
    let free = kind == "mutant";
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    if free { !id.trim().is_empty() } else { id.split('-').all(part) }
}

fn plural(kind: &str) -> &str {
    match kind {
        "family" => "families",
        "leaf" => "leaves",
        "variant" => "variants",
        _ => "mutants",
    }
}

fn id_of(node: &Node) -> Located<String> {
    node.get("id").and_then(Node::located_text).unwrap_or_else(|| Located::new(String::new(), node.span))
}

fn items<'a>(node: &'a Node, key: &str) -> &'a [Node] {
    node.get(key).map(Node::items).unwrap_or_default()
}

fn text(node: &Node, key: &str) -> String {
    optional_text(node, key).unwrap_or_default()
}

fn optional_text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::text).map(str::to_owned)
}

fn texts(node: &Node, key: &str) -> Vec<String> {
    items(node, key).iter().filter_map(|item| item.text().map(str::to_owned)).collect()
}

fn word<T>(node: &Node, key: &str, read: fn(&str) -> Option<T>) -> Option<T> {
    node.get(key).and_then(Node::text).and_then(read)
}

fn number(node: &Node) -> f64 {
    if let Value::Number(number) = &node.value { number.as_f64().unwrap_or_default() } else { 0.0 }
}
