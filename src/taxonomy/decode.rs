//! From located nodes to a [`Registry`], with every mistake at once.
//!
//! The grammar speaks first, about keys and types; what it found wrong is read as empty here and not complained about
//! again.

use std::collections::BTreeMap;

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{
    Diagnostic, Located, Node, SourceId, Sources, Span, Value, did_you_mean, grammar, nearest, parse, settings,
};

use super::model::{Family, Leaf, Transport};
use super::{PROBES, Registry, probe};

/// A registry file.
pub const REGISTRY: Shape = WrittenRegistry::SHAPE;

/// The JSON Schema of a registry; for editors.
pub fn json_schema() -> serde_json::Value {
    REGISTRY.json_schema_file("registry", "mcprove registry of faults")
}

settings! {
    /// The faults that coverage counts.
    pub(crate) struct WrittenRegistry as "a registry" {
        /// The version of the registry, such as `1.0.0`; it stands in every report.
        version: Option<String>,
        /// The categories of faults, in the order of reports.
        families: Vec<Family> => required(),
        /// The faults; the id of each names its family.
        leaves: Vec<Leaf> => required(),
        /// Probes of your own, each with its meaning.
        probes: Vec<(Located<String>, String)>,
    }
}

pub(crate) fn load(sources: &Sources, source: SourceId) -> Result<Registry, Vec<Diagnostic>> {
    let root = parse(sources, source).map_err(|mistake| vec![mistake])?;
    let mut mistakes = grammar::check(&root, &REGISTRY);
    let written = WrittenRegistry::decode(&root, &mut mistakes);
    let mut check = RegistryCheck { mistakes, ids: BTreeMap::new() };
    let shared = check.registry(&root);
    match written {
        Some(written) if check.mistakes.is_empty() => Ok(written.registry(shared)),
        Some(_) | None => {
            check.mistakes.sort_by_key(|mistake| mistake.label.as_ref().map(|label| label.span.start));
            Err(check.mistakes)
        }
    }
}

impl WrittenRegistry {
    /// The registry, with each leaf in its family; `shared` are variants of others by the leaf that shares them.
    fn registry(self, mut shared: BTreeMap<String, Vec<String>>) -> Registry {
        let own_probes = self.probes.into_iter().map(|(name, meaning)| (name.value, meaning)).collect();
        let mut registry = Registry { own_probes, families: self.families, ..Registry::default() };
        registry.taxonomy.version = self.version.unwrap_or_default();
        let families: Vec<String> = registry.families.iter().map(|family| family.id.clone()).collect();
        for mut leaf in self.leaves {
            leaf.shared = shared.remove(&leaf.id).unwrap_or_default();
            for transports in leaf.variants.iter_mut().map(|variant| &mut variant.transports) {
                if transports.is_empty() {
                    transports.extend(Transport::ALL);
                }
                transports.sort();
                transports.dedup();
            }
            if let Some(family) = family_of(&leaf.id, families.iter().map(String::as_str)) {
                registry.families[family].leaves.push(leaf);
            }
        }
        registry
    }
}

/// The index of the family that the id of a leaf names.
fn family_of<'a>(leaf: &str, families: impl Iterator<Item = &'a str>) -> Option<usize> {
    let rest = leaf.strip_prefix("FAULT-").unwrap_or_default();
    let is_named =
        |id: &str| rest.strip_prefix(id).and_then(|name| name.strip_prefix('-')).is_some_and(|name| !name.is_empty());
    // The longest wins: `FAULT-TOOL-CHAIN-LOOP` belongs to `TOOL-CHAIN` where there is one.
    let named = families.enumerate().filter(|(_, id)| is_named(id));
    named.max_by_key(|(_, id)| id.len()).map(|(at, _)| at)
}

/// The mistakes that neither the grammar nor a single value shows.
struct RegistryCheck {
    mistakes: Vec<Diagnostic>,
    /// The first definition of each id, by the kind of its owner.
    ids: BTreeMap<(&'static str, String), Span>,
}

impl RegistryCheck {
    /// Checks the file; returns the variants of others by the id of the leaf that shares them.
    fn registry(&mut self, root: &Node) -> BTreeMap<String, Vec<String>> {
        let own_probes = root.get("probes").map(Node::entries).unwrap_or_default();
        for (name, _) in own_probes.iter().filter(|(name, _)| probe(&name.value).is_some()) {
            self.mistakes.push(
                Diagnostic::error("duplicate-id", format!("the probe `{}` is built in", name.value), name.span)
                    .with_help("name it in `probes:` of a leaf; it needs no declaration".to_owned()),
            );
        }
        for node in items(root, "families") {
            self.id("family", node);
            let is_negative = node.setting::<f64>("weight").is_some_and(|weight| weight < 0.0);
            let weight = node.get("weight").filter(|_| is_negative);
            self.mistakes.extend(
                weight.map(|weight| Diagnostic::error("bad-weight", "a weight cannot be negative", weight.span)),
            );
        }
        let probes: Vec<&str> =
            PROBES.iter().map(|probe| probe.id).chain(own_probes.iter().map(|(name, _)| name.value.as_str())).collect();
        for leaf in items(root, "leaves") {
            self.id("leaf", leaf);
            self.probes(leaf, &probes);
            self.place(leaf, items(root, "families"));
            for variant in items(leaf, "variants") {
                self.variant(variant);
            }
        }
        self.shared_variants(root)
    }

    fn probes(&mut self, leaf: &Node, probes: &[&str]) {
        let named = items(leaf, "probes");
        if let Some(list) = leaf.get("probes").filter(|list| matches!(list.value, Value::List(_)) && named.is_empty()) {
            self.mistakes.push(
                Diagnostic::error("no-probe", "a leaf needs at least one probe", list.span)
                    .with_help("without one no suite could ever cover it".to_owned()),
            );
        }
        let tokens = named.iter().filter_map(Node::located_text);
        for token in tokens.filter(|token| !probes.contains(&token.value.as_str())) {
            let help = match nearest(&token.value, probes.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("declare it with its meaning: `probes: {{ {}: … }}` in this file", token.value),
            };
            let message = format!("there is no probe `{}`", token.value);
            self.mistakes.push(Diagnostic::error("unknown-probe", message, token.span).with_help(help));
        }
    }

    fn variant(&mut self, node: &Node) {
        self.id("variant", node);
        self.refuse_empty(node, "revisions");
        self.refuse_empty(node, "transports");
        for mutant in items(node, "mutants") {
            self.id("mutant", mutant);
            let is_possible = |hears: &&Node| node.get("live").is_some() && hears.text() == Some("twice");
            let about_requests = ["hears", "process", "unread"].iter().filter_map(|key| mutant.get(key));
            for hears in about_requests.filter(|hears| !is_possible(hears)) {
                let message = "a mutant changes what was recorded, and that server has heard the message already";
                self.mistakes.push(
                    Diagnostic::error("useless-key", message, hears.span)
                        .with_help("change what comes: `answers`, `before` or `after`".to_owned()),
                );
            }
            if let (Some(answers), Some(_)) = (mutant.get("answers"), mutant.get("start")) {
                let message = "a mutant changes what comes or how the server starts";
                self.mistakes.push(
                    Diagnostic::error("two-ways", message, answers.span).with_help("write two mutants".to_owned()),
                );
            }
        }
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
    fn shared_variants(&mut self, root: &Node) -> BTreeMap<String, Vec<String>> {
        let mut shared: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let leaves: Vec<String> = items(root, "leaves").iter().map(|leaf| id_of(leaf).value).collect();
        for variant in items(root, "leaves").iter().flat_map(|leaf| items(leaf, "variants")) {
            for other in items(variant, "also").iter().filter_map(Node::located_text) {
                if !leaves.contains(&other.value) {
                    self.mistakes.push(
                        Diagnostic::error("unknown-leaf", format!("there is no leaf `{}`", other.value), other.span)
                            .with_help(did_you_mean(&other.value, leaves.iter().map(String::as_str))),
                    );
                }
                shared.entry(other.value).or_default().push(id_of(variant).value);
            }
        }
        shared
    }

    /// Checks that the id of a leaf names a family.
    fn place(&mut self, leaf: &Node, families: &[Node]) {
        let Located { value: id, span } = id_of(leaf);
        let known: Vec<String> = families.iter().map(|family| id_of(family).value).collect();
        if id.is_empty() || family_of(&id, known.iter().map(String::as_str)).is_some() {
            return;
        }
        let mut ids: Vec<String> = known.iter().map(|family| format!("`FAULT-{family}-…`")).collect();
        ids.dedup();
        self.mistakes.push(
            Diagnostic::error("unknown-family", format!("`{id}` names no family of this registry"), span)
                .with_help((!ids.is_empty()).then(|| format!("a leaf starts with one of {}", ids.join(", ")))),
        );
    }

    /// Refuses an id that is taken or badly written.
    fn id(&mut self, kind: &'static str, node: &Node) {
        let Some(Located { value: id, span }) = node.get("id").and_then(Node::located_text) else { return };
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
