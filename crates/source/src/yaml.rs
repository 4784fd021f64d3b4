//! Turns YAML text into a tree of located nodes; with `yaml_format` the only file that knows the YAML crate.
//!
//! Built from the parser's events: they carry exact places, and nothing is read twice. Repeated keys are kept and
//! reported by [`super::grammar`], so that one run names every mistake; only a mistake in the syntax itself stops at the
//! first. Hostile files end in an error: nesting, size and what aliases unfold to are limited.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Tag};

use super::scalar::{is_too_large, plain};
use super::{Diagnostic, Located, Node, SourceId, Sources, Span, Value, syntax};

/// The depth of mappings and lists; suites need about twelve.
const MAX_DEPTH: usize = 96;

/// The number of values in a file, those that aliases stand for included.
const MAX_NODES: usize = 1_000_000;

/// The number of bytes of text that may be copied for anchors and aliases.
const MAX_COPIED: usize = 16 << 20;

/// Reads a text of `sources` as one YAML document; an empty document is `Null`.
pub fn parse(sources: &Sources, source: SourceId) -> Result<Node, Diagnostic> {
    let reader = YamlReader::new(sources, source, Dialect::Suite);
    let empty = Node { value: Value::Null, span: reader.span(0, 0) };
    Ok(reader.documents()?.pop().unwrap_or(empty))
}

/// Reads a text of `sources` as YAML that another program wrote its own way: with any number of documents, and with tags
/// whose values are taken as texts.
///
/// # Errors
///
/// Fails with the first mistake in the syntax.
pub fn parse_documents(sources: &Sources, source: SourceId) -> Result<Vec<Node>, Diagnostic> {
    YamlReader::new(sources, source, Dialect::Foreign).documents()
}

/// The YAML that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// One document, without tags of others.
    Suite,
    /// What other programs write.
    Foreign,
}

struct YamlReader<'t> {
    parser: Parser<'t, granit_parser::StrInput<'t>>,
    text: &'t str,
    source: SourceId,
    dialect: Dialect,
    /// The values of anchors.
    anchors: BTreeMap<usize, (Node, CopySize)>,
    has_aliases: bool,
    nodes: usize,
    copied: usize,
}

/// The size of a copy.
#[derive(Clone, Copy)]
struct CopySize {
    nodes: usize,
    bytes: usize,
}

/// A collection whose end has not come yet.
struct Open {
    start: u32,
    anchor: usize,
    /// The number of values before it, to count those in it.
    before: usize,
    kind: NodeKind,
}

enum NodeKind {
    List(Vec<Node>),
    Map {
        entries: Vec<(Located<String>, Node)>,
        /// The key whose value comes next.
        key: Option<Located<String>>,
        /// The value of `<<`, added once all own keys are known.
        merge: Option<Node>,
    },
}

impl<'t> YamlReader<'t> {
    fn new(sources: &'t Sources, source: SourceId, dialect: Dialect) -> Self {
        let text = &sources.file(source).text;
        let mut options = Options::default();
        options.emit_comments = false;
        options.flow_nesting_limit = MAX_DEPTH;
        options.block_nesting_limit = MAX_DEPTH;
        Self {
            parser: Parser::new_from_str_with_options(text, options),
            text,
            source,
            dialect,
            anchors: BTreeMap::new(),
            has_aliases: false,
            nodes: 0,
            copied: 0,
        }
    }

    fn documents(mut self) -> Result<Vec<Node>, Diagnostic> {
        let mut open: Vec<Open> = Vec::new();
        let mut roots = Vec::new();
        while let Some(event) = self.parser.next_event() {
            let (event, place) = event.map_err(|error| self.syntax(&error))?;
            let (start, end) = (self.offset(place.start), self.offset(place.end));
            let finished = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let value = self.scalar(text, style, tag.as_deref(), start)?;
                    self.grow(1, start)?;
                    let node = Node { value, span: self.span(start, end) };
                    self.remember(anchor, &node, 1)?;
                    node
                }
                Event::SequenceStart(_, anchor, _) => {
                    self.open(&mut open, start, anchor, NodeKind::List(Vec::new()))?;
                    continue;
                }
                Event::MappingStart(_, anchor, _) => {
                    self.open(&mut open, start, anchor, NodeKind::Map { entries: Vec::new(), key: None, merge: None })?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(ended) => self.close(ended, end)?,
                    None => continue,
                },
                Event::Alias(anchor) => {
                    let Some((_, size)) = self.anchors.get(&anchor) else {
                        return Err(self.mistake("an alias refers to a value that contains it", start, end));
                    };
                    self.has_aliases = true;
                    self.copy(*size, start)?;
                    let (node, _) = &self.anchors[&anchor];
                    Node { span: self.span(start, end), value: node.value.clone() }
                }
                Event::DocumentStart(..) if !roots.is_empty() && self.dialect == Dialect::Suite => {
                    return Err(self.mistake("a second document starts here", start, end));
                }
                Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(..)
                | Event::DocumentEnd
                | Event::Anchor(..)
                | Event::UnresolvedAlias(_)
                | Event::Comment(..)
                | _ => continue,
            };
            match open.last_mut() {
                Some(parent) => self.add(parent, finished)?,
                None => roots.push(finished),
            }
        }
        Ok(roots)
    }

    fn open(&mut self, open: &mut Vec<Open>, start: u32, anchor: usize, kind: NodeKind) -> Result<(), Diagnostic> {
        self.grow(1, start)?;
        if open.len() >= MAX_DEPTH {
            return Err(self.mistake("it is nested too deeply", start, start));
        }
        open.push(Open { start, anchor, before: self.nodes - 1, kind });
        Ok(())
    }

    /// A collection ends with its last child, or with its closing bracket where it has one on the spot.
    fn close(&mut self, ended: Open, event_end: u32) -> Result<Node, Diagnostic> {
        let (value, last) = match ended.kind {
            NodeKind::List(mut items) => {
                let last = items.last().map(|item| item.span.end);
                items.shrink_to_fit();
                (Value::List(items), last)
            }
            NodeKind::Map { mut entries, merge, .. } => {
                let last = entries.last().map(|(key, node)| node.span.end.max(key.span.end));
                let last = last.max(merge.as_ref().map(|node| node.span.end));
                if let Some(node) = merge {
                    self.merge(&mut entries, node)?;
                }
                entries.shrink_to_fit();
                (Value::Map(entries), last)
            }
        };
        let is_flow = matches!(self.text.as_bytes().get(ended.start as usize), Some(b'[' | b'{'));
        let end = if is_flow { event_end } else { last.unwrap_or(event_end) };
        let node = Node { value, span: self.span(ended.start, end.max(ended.start)) };
        self.remember(ended.anchor, &node, self.nodes - ended.before)?;
        Ok(node)
    }

    fn add(&self, parent: &mut Open, node: Node) -> Result<(), Diagnostic> {
        match &mut parent.kind {
            NodeKind::List(items) => items.push(node),
            NodeKind::Map { entries, key, merge } => match key.take() {
                None => *key = Some(self.key(node)?),
                Some(key) if key.value == "<<" && self.text.as_bytes().get(key.span.start as usize) == Some(&b'<') => {
                    // More would be a repeated key, and merging them one by one could take for ever.
                    if merge.replace(node).is_some() {
                        let sentence = "a mapping has one `<<`; several mappings are merged by `<<: [*a, *b]`";
                        return Err(self.mistake(sentence, key.span.start, key.span.end));
                    }
                }
                Some(key) => {
                    // An absent value has no place of its own worth pointing at; the key has.
                    let is_absent = node.value == Value::Null && node.span.start == node.span.end;
                    let span = if is_absent { key.span } else { node.span };
                    entries.push((key, Node { span, ..node }));
                }
            },
        }
        Ok(())
    }

    fn key(&self, node: Node) -> Result<Located<String>, Diagnostic> {
        let text = match node.value {
            Value::Text(text) => text,
            Value::Number(_) | Value::Bool(_) | Value::Null => {
                self.text[node.span.start as usize..node.span.end as usize].to_owned()
            }
            Value::List(_) | Value::Map(_) => {
                let mistake = self.mistake("a key must be text", node.span.start, node.span.end);
                let is_template = self.text[..node.span.start as usize].ends_with('{');
                return Err(
                    mistake.with_help(is_template.then(|| "put quotes around a template: `\"{{ name }}\"`".into()))
                );
            }
        };
        Ok(Located::new(text, node.span))
    }

    /// `<<: *name` brings in entries that the mapping does not have itself.
    fn merge(&self, entries: &mut Vec<(Located<String>, Node)>, node: Node) -> Result<(), Diagnostic> {
        let sources = match node.value {
            Value::Map(_) => vec![node],
            Value::List(items) => items,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                return Err(self.mistake("`<<` takes a mapping", node.span.start, node.span.end));
            }
        };
        let mut known: BTreeSet<String> = entries.iter().map(|(key, _)| key.value.clone()).collect();
        for (key, value) in sources.iter().flat_map(Node::entries) {
            if known.insert(key.value.clone()) {
                entries.push((key.clone(), value.clone()));
            }
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, node: &Node, nodes: usize) -> Result<(), Diagnostic> {
        if anchor > 0 {
            let size = CopySize { nodes, bytes: node.bytes() };
            // The values are counted where they stand and where aliases repeat them.
            self.copy(CopySize { nodes: 0, ..size }, node.span.start)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(())
    }

    fn copy(&mut self, size: CopySize, at: u32) -> Result<(), Diagnostic> {
        self.copied += size.bytes;
        if self.copied > MAX_COPIED {
            return Err(self.mistake("its aliases expand to more than 16 MiB of text", at, at));
        }
        self.grow(size.nodes, at)
    }

    fn grow(&mut self, by: usize, at: u32) -> Result<(), Diagnostic> {
        self.nodes += by;
        if self.nodes > MAX_NODES {
            if self.has_aliases {
                return Err(self.mistake("its aliases expand to too many values", at, at));
            }
            let message = "the file has more than a million values";
            let mistake = Diagnostic::error("yaml-syntax", message, self.span(at, at));
            return Err(mistake.with_help("divide it into several files".to_owned()));
        }
        Ok(())
    }

    fn scalar(
        &self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        start: u32,
    ) -> Result<Value, Diagnostic> {
        let Some(tag) = tag else {
            if style != ScalarStyle::Plain {
                return Ok(Value::Text(text.into_owned()));
            }
            if is_too_large(&text) {
                let end = start + u32::try_from(text.len()).unwrap_or(0);
                return Err(self.mistake(
                    "this number needs more than 64 bits; quote it to keep its digits",
                    start,
                    end,
                ));
            }
            return Ok(plain(text));
        };
        match tag.core_suffix() {
            Some("str") => Ok(Value::Text(text.into_owned())),
            Some("int" | "float" | "bool" | "null") => Ok(plain(text)),
            _ if tag.parts() == ("", "!") || self.dialect == Dialect::Foreign => Ok(Value::Text(text.into_owned())),
            _ => Err(self.mistake(&format!("suites do not support the tag `{}`", tag.original()), start, start)),
        }
    }

    fn offset(&self, marker: granit_parser::Marker) -> u32 {
        let at = marker.byte_offset().unwrap_or(self.text.len()).min(self.text.len());
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    fn span(&self, start: u32, end: u32) -> Span {
        Span { source: self.source, start, end }
    }

    fn syntax(&self, error: &ScanError) -> Diagnostic {
        let at = self.offset(*error.marker());
        let message = error.to_string();
        let sentence = syntax::sentence(&message);
        // A tab is found where the text before it ends, but is what to show.
        let tab = self.text.get(at as usize..).filter(|_| sentence.contains("a tab")).and_then(|rest| rest.find('\t'));
        let at = at + u32::try_from(tab.unwrap_or(0)).unwrap_or(0);
        self.mistake(sentence, at, at).with_help(syntax::cure(sentence, self.text, at as usize))
    }

    fn mistake(&self, sentence: &str, start: u32, end: u32) -> Diagnostic {
        let from = start as usize;
        let one = self.text.get(from..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let end = end.max(start + u32::try_from(one).unwrap_or(0));
        Diagnostic::error("yaml-syntax", format!("the file is not valid YAML: {sentence}"), self.span(start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SourceFile;
    use super::*;

    fn read(text: &str) -> (Sources, Result<Node, Diagnostic>) {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("t.yml", text));
        let node = parse(&sources, id);
        (sources, node)
    }

    #[test]
    fn aliases_are_blamed_only_where_there_are_some() {
        let many = "- 1\n".repeat(MAX_NODES);
        let bomb = format!("- &a [{}]\n- *a\n", "1, ".repeat(MAX_NODES - 10));
        for (text, expected) in [
            (many, "the file has more than a million values"),
            (bomb, "the file is not valid YAML: its aliases expand to too many values"),
        ] {
            assert_eq!(read(&text).1.unwrap_err().message, expected);
        }
    }

    #[test]
    fn nodes_know_their_place() {
        let (sources, node) = read("a: 1\nlist:\n  - x: \"é\"\n    y: [1, zwei]\nend: ~\nflow: {k: v}\nlast:\n");
        let node = node.unwrap();
        let list = node.get("list").unwrap();
        assert_eq!(sources.text(list.items()[0].get("y").unwrap().items()[1].span), "zwei");
        assert_eq!(sources.text(list.items()[0].get("y").unwrap().span), "[1, zwei]");
        assert_eq!(sources.text(list.items()[0].get("x").unwrap().span), "\"é\"");
        assert_eq!(sources.text(list.items()[0].span), "x: \"é\"\n    y: [1, zwei]");
        assert_eq!(sources.text(node.get("flow").unwrap().span), "{k: v}");
        assert_eq!(sources.text(node.get("last").unwrap().span), "last");
        assert_eq!(sources.place(node.entries()[2].0.span), ("t.yml", 5, 1));
        assert_eq!(node.get("a").unwrap().to_json(), serde_json::json!(1));
    }

    #[test]
    fn line_ends_of_windows_change_no_value_and_no_place() {
        fn places(sources: &Sources, node: &Node, found: &mut Vec<(usize, usize)>) {
            let (_, line, column) = sources.place(node.span);
            found.push((line, column));
            for inner in node.items().iter().chain(node.entries().iter().map(|(_, inner)| inner)) {
                places(sources, inner, found);
            }
        }
        let see = |text: &str| {
            let (sources, node) = read(text);
            let node = node.unwrap();
            let mut found = Vec::new();
            places(&sources, &node, &mut found);
            (node.to_json(), found)
        };
        for text in [
            "a: 1 # one\nb:\n  - é: \"x\"\n    c: |\n      one\n        two\n\n      three\nd: last\n",
            "a: >-\n  one\n  two\n\n  three\nb: |+\n  kept\n\nc: { d: [1,\n  2], e: 'x\n\n  y' }\n",
            "# first\n\na: \"x\n  y\"\nb: plain\n  text\nc: ~",
        ] {
            assert_eq!(see(text), see(&text.replace('\n', "\r\n")), "{text}");
        }
    }

    #[test]
    fn types_are_kept_and_repeated_keys_too() {
        let (_, node) =
            read("{a: 007, b: yes, c: 1_000, d: 1e3, e: '1', a: 2, 5: x, f: .nan, g: 0x1F, h: -0.5, i: 1-2, j: 1.2.3}");
        let node = node.unwrap();
        assert_eq!(node.entries().len(), 12);
        assert_eq!(
            node.to_json(),
            serde_json::json!({
                "a": 2, "b": "yes", "c": "1_000", "d": 1000.0, "e": "1", "5": "x", "f": ".nan", "g": 31, "h": -0.5,
                "i": "1-2", "j": "1.2.3",
            })
        );
        assert_eq!(
            read("[!!str 1, 18446744073709551615, +3, 1.]").1.unwrap().to_json(),
            serde_json::json!(["1", u64::MAX, 3, 1.0])
        );
        assert_eq!(read("!secret x").1.unwrap_err().code, "yaml-syntax");
    }

    #[test]
    fn aliases_work_and_bombs_end() {
        let (_, node) = read("a: &x {k: 1, m: 0}\nb: *x\nc: {<<: *x, m: 3, l: 2}\nd: {<<: [*x, {z: 1}]}\n'<<': 5\n");
        let node = node.unwrap();
        assert_eq!(node.get("b").unwrap().to_json(), serde_json::json!({"k": 1, "m": 0}));
        assert_eq!(node.get("c").unwrap().to_json(), serde_json::json!({"m": 3, "k": 1, "l": 2}));
        assert_eq!(node.get("d").unwrap().to_json(), serde_json::json!({"k": 1, "m": 0, "z": 1}));
        assert_eq!(node.get("<<").unwrap().to_json(), serde_json::json!(5));
        let bomb = (1..30).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let line = vec![format!("*a{}", n - 1); 9].join(",");
            format!("{text}a{n}: &a{n} [{line}]\n")
        });
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 900].join(","));
        let keys = format!("a: &a {{ {}: 1 }}\nb: [{}]\n", "x".repeat(1000), vec!["*a"; 20_000].join(","));
        let nested = |depth: usize| {
            let open: Vec<String> = (0..depth).map(|n| format!("&a{n} [")).collect();
            format!("{}{}{}", open.concat(), "x".repeat(1 << 20), "]".repeat(depth))
        };
        assert!(read(&nested(10)).1.is_ok());
        for hostile in [
            long,
            keys,
            nested(50),
            bomb,
            "[".repeat(100_000),
            "a: [".repeat(200),
            "- ".repeat(5_000),
            "&a [*a]".to_owned(),
        ] {
            assert_eq!(read(&hostile).1.unwrap_err().code, "yaml-syntax");
        }
    }

    #[test]
    fn files_of_others_have_several_documents_and_tags() {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("t.yml", "a: !!re \"x+\"\n---\nb: [!own 1]\n--- {}\n"));
        let documents: Vec<_> = parse_documents(&sources, id).unwrap().iter().map(Node::to_json).collect();
        assert_eq!(documents, [serde_json::json!({"a": "x+"}), serde_json::json!({"b": ["1"]}), serde_json::json!({})]);
        let id = sources.add(SourceFile::new("empty.yml", "# nothing\n"));
        assert!(parse_documents(&sources, id).unwrap().is_empty());
    }

    #[test]
    fn a_syntax_error_points() {
        let (sources, node) = read("a: 1\nb: [1, 2\nc: 3\n");
        let diagnostic = node.unwrap_err();
        assert_eq!(sources.place(diagnostic.label.unwrap().span).1, 3, "{}", diagnostic.message);
        assert_eq!(read("").1.unwrap().value, Value::Null);
        assert_eq!(read("a: 1\n---\nb: 2\n").1.unwrap_err().code, "yaml-syntax");
    }
}
