//! The table of shapes: what it says of one revision.

use std::sync::OnceLock;

use super::rules::{MemberBreaches, rules_of};
use crate::wire::Revision;

const TABLE: &str = include_str!("table.txt");

/// The demand on a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MessageShape {
    Any,
    Null,
    Boolean,
    Object,
    Number {
        is_whole: bool,
        least: Option<f64>,
        most: Option<f64>,
    },
    Text(Option<TextForm>),
    /// One of these texts.
    Words(Box<[&'static str]>),
    List {
        items: Box<MessageShape>,
        most: Option<usize>,
    },
    /// An object of which every member has the same shape.
    Map(Box<MessageShape>),
    /// The definition at that place of [`Shapes::definitions`].
    Defined(usize),
    OneOf(Box<[MessageShape]>),
}

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextForm {
    Base64,
    Uri,
    UriTemplate,
    MediaType,
    Timestamp,
}

/// A named object, or another name for a shape.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    /// What it stands for, where it is no object with members of its own.
    pub(crate) alias: Option<MessageShape>,
    /// In the order of their names.
    pub(crate) members: Box<[Member]>,
    /// The shape of members without a name in the table.
    pub(crate) others: Option<MessageShape>,
}

/// A member of an object.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) is_required: bool,
    pub(crate) shape: MessageShape,
    pub(crate) rules: MemberBreaches,
}

/// The shapes of one revision.
#[derive(Debug)]
pub(crate) struct Shapes {
    pub(crate) revision: Revision,
    pub(crate) definitions: Vec<Definition>,
}

impl Shapes {
    /// The shapes of a revision.
    pub(crate) fn of(revision: Revision) -> &'static Self {
        static SHAPES: [OnceLock<Shapes>; Revision::ALL.len()] = [const { OnceLock::new() }; Revision::ALL.len()];
        SHAPES[revision as usize].get_or_init(|| Self::parse(revision))
    }

    fn parse(revision: Revision) -> Self {
        let letter = b"abcde"[revision as usize] as char;
        let mut groups: Vec<(&str, Vec<DefinitionLine>)> = Vec::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            match line.strip_prefix(' ') {
                None => groups.push((line, Vec::new())),
                Some(row) => {
                    let row = DefinitionLine::parse(row).filter(|row| row.revisions.contains(letter));
                    if let (Some((_, rows)), Some(row)) = (groups.last_mut(), row) {
                        rows.push(row);
                    }
                }
            }
        }
        groups.retain(|(_, rows)| !rows.is_empty());
        let names: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
        let definitions = groups.iter().map(|(name, rows)| Definition::parse(name, rows, &names)).collect();
        Self { revision, definitions }
    }

    /// The definition of that name.
    pub(crate) fn definition(&self, name: &str) -> Option<&Definition> {
        let at = self.definitions.binary_search_by_key(&name, |definition| definition.name).ok()?;
        self.definitions.get(at)
    }

    /// The shape of that name in a table: `results`, `requests` and `notifications` by method, `errors` by code.
    pub(crate) fn entry(&self, table: &str, name: &str) -> Option<&MessageShape> {
        Some(&self.definition(table)?.member(name)?.shape)
    }

    /// The shape of a definition.
    pub(crate) fn named_shape(&self, name: &str) -> Option<MessageShape> {
        self.definitions.binary_search_by_key(&name, |definition| definition.name).ok().map(MessageShape::Defined)
    }
}

impl Definition {
    fn parse(name: &'static str, rows: &[DefinitionLine], names: &[&str]) -> Self {
        let shape_of = |row: &DefinitionLine| ShapeReader { rest: row.kind, names }.parse();
        let special = |mark: &str| rows.iter().find(|row| row.member == mark).map(shape_of);
        let mut members: Vec<Member> = rows
            .iter()
            .filter(|row| row.member != "=" && row.member != "*")
            .map(|row| {
                let member = row.member.strip_suffix('!').unwrap_or(row.member);
                let (rules, form) = rules_of(name, member);
                let shape = match (shape_of(row), form) {
                    (MessageShape::Text(None), form) => MessageShape::Text(form),
                    (shape, _) => shape,
                };
                Member { name: member, is_required: row.member.ends_with('!'), shape, rules }
            })
            .collect();
        members.sort_by_key(|member| member.name);
        Self { name, alias: special("="), members: members.into(), others: special("*") }
    }

    /// The member of that name.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        let at = self.members.binary_search_by_key(&name, |member| member.name).ok()?;
        self.members.get(at)
    }

    /// The name of the published definition, of which this may be a part.
    pub(crate) fn published_name(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }
}

/// A line of a definition.
struct DefinitionLine {
    revisions: &'static str,
    member: &'static str,
    kind: &'static str,
}

impl DefinitionLine {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        Some(Self { revisions: words.next()?, member: words.next()?, kind: words.next()? })
    }
}

/// Reads a type in the words of the table.
struct ShapeReader<'a> {
    rest: &'static str,
    names: &'a [&'a str],
}

impl ShapeReader<'_> {
    fn parse(&mut self) -> MessageShape {
        let mut alternatives = vec![self.read_one()];
        while self.take("|") {
            alternatives.push(self.read_one());
        }
        let words: Option<Vec<&str>> = alternatives
            .iter()
            .map(|shape| if let MessageShape::Words(words) = shape { words.first().copied() } else { None })
            .collect();
        match (words, alternatives.len()) {
            (Some(words), _) => MessageShape::Words(words.into()),
            (None, 1) => alternatives.remove(0),
            (None, _) => MessageShape::OneOf(alternatives.into()),
        }
    }

    fn read_one(&mut self) -> MessageShape {
        if self.take("[") {
            let items = Box::new(self.parse());
            self.take("]");
            return MessageShape::List { items, most: self.range().1.parse().ok() };
        }
        if self.take("{") {
            let values = Box::new(self.parse());
            self.take("}");
            return MessageShape::Map(values);
        }
        if self.take("\"") {
            let word = self.until(|c| c == '"');
            self.take("\"");
            return MessageShape::Words([word].into());
        }
        let name = self.until(|c| matches!(c, '|' | ']' | '}' | '(' | ':'));
        if let Ok(at) = self.names.binary_search(&name) {
            return MessageShape::Defined(at);
        }
        match name {
            "null" => MessageShape::Null,
            "boolean" => MessageShape::Boolean,
            "object" => MessageShape::Object,
            "string" => MessageShape::Text(self.form()),
            "number" | "integer" => {
                let (least, most) = self.range();
                MessageShape::Number { is_whole: name == "integer", least: least.parse().ok(), most: most.parse().ok() }
            }
            _ => MessageShape::Any,
        }
    }

    fn form(&mut self) -> Option<TextForm> {
        if !self.take(":") {
            return None;
        }
        match self.until(|c| matches!(c, '|' | ']' | '}')) {
            "byte" => Some(TextForm::Base64),
            "uri" => Some(TextForm::Uri),
            "uri-template" => Some(TextForm::UriTemplate),
            _ => None,
        }
    }

    /// The least and the most, empty where there is no such limit.
    fn range(&mut self) -> (&'static str, &'static str) {
        if !self.take("(") {
            return ("", "");
        }
        let text = self.until(|c| c == ')');
        self.take(")");
        text.split_once("..").unwrap_or((text, ""))
    }

    fn take(&mut self, mark: &str) -> bool {
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn until(&mut self, is_end: impl Fn(char) -> bool) -> &'static str {
        let (text, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = rest;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::walk::MOST_MEMBERS;
    use super::*;

    #[test]
    fn every_row_of_the_table_is_understood() {
        let known = ["any", "null", "boolean", "object", "string", "number", "integer"];
        let forms = ["byte", "uri", "uri-template"];
        let names: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with(['#', ' '])).collect();
        assert!(names.is_sorted(), "definitions are found by their names");
        for line in TABLE.lines().filter(|line| line.starts_with(' ')) {
            let row = DefinitionLine::parse(&line[1..]).unwrap_or_else(|| panic!("{line}"));
            assert!(row.revisions.chars().all(|c| ('a'..='e').contains(&c)), "{line}");
            let outside_of_quotes: String = row.kind.split('"').step_by(2).collect();
            for word in outside_of_quotes.split(|c: char| "|[]{}".contains(c)).filter(|word| !word.is_empty()) {
                let word = word.split('(').next().unwrap_or(word);
                let (name, form) = word.split_once(':').unwrap_or((word, "uri"));
                let is_known = name.is_empty() || known.contains(&name) || names.contains(&name);
                assert!(is_known && forms.contains(&form), "{line}: {word}");
            }
        }
        for revision in Revision::ALL {
            let shapes = Shapes::of(revision);
            assert!(shapes.definitions.iter().all(|one| one.members.len() <= MOST_MEMBERS), "{revision}");
            let used = shapes.definitions.iter().flat_map(|one| one.members.iter().map(|member| &member.shape));
            assert!(
                !used
                    .clone()
                    .any(|shape| matches!(shape, MessageShape::OneOf(all) if all.contains(&MessageShape::Any)))
            );
            assert!(
                shapes.entry("results", "tools/call").is_some() && shapes.named_shape("Result").is_some(),
                "{revision}"
            );
        }
    }

    #[test]
    fn what_the_revisions_say_is_what_was_published() {
        let shape = |revision, definition: &str, member: &str| {
            let found = Shapes::of(revision).definition(definition).and_then(|one| one.member(member));
            found.map(|member| (member.is_required, member.shape.clone()))
        };
        let (oldest, newest) = (Revision::V2024_11_05, Revision::V2026_07_28);
        assert_eq!(shape(oldest, "TextContent", "text"), Some((true, MessageShape::Text(None))));
        assert_eq!(shape(oldest, "CallToolResult", "structuredContent"), None);
        assert_eq!(
            shape(Revision::V2025_06_18, "CallToolResult", "structuredContent"),
            Some((false, MessageShape::Object))
        );
        assert_eq!(shape(newest, "CallToolResult", "structuredContent"), None);
        let whole = MessageShape::Number { is_whole: true, least: Some(0.0), most: None };
        assert_eq!(shape(newest, "ListToolsResult", "ttlMs"), Some((true, whole)));
        assert_eq!(shape(oldest, "AudioContent", "data"), None);
        assert_eq!(shape(newest, "ImageContent", "data"), Some((true, MessageShape::Text(Some(TextForm::Base64)))));
        assert_eq!(shape(newest, "Role", "="), None);
        let role = Shapes::of(newest).definition("Role").and_then(|role| role.alias.clone());
        assert_eq!(role, Some(MessageShape::Words(["assistant", "user"].into())));
    }
}
