//! `--filter`: a small language over names, tags and the rest, with one meaning everywhere.
//!
//! `tag(smoke) & !name(/slow/)`, `users and not server(staging)`; a bare word is part of a name.

use regex::Regex;

use super::case::{Body, Case, Lane};
use crate::source::{Diagnostic, SourceFile, Sources, Span, did_you_mean};
use crate::suite::Suite;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Filter(Expression);

#[derive(Debug, Clone)]
enum Expression {
    Any(Vec<Expression>),
    All(Vec<Expression>),
    Not(Box<Expression>),
    Atom(Field, Text),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Tag,
    Server,
    Revision,
    Suite,
    File,
    Probe,
    Variant,
    Id,
}

/// The fields by name, for parsing and for help.
const FIELDS: [(&str, Field); 9] = [
    ("name", Field::Name),
    ("tag", Field::Tag),
    ("server", Field::Server),
    ("revision", Field::Revision),
    ("suite", Field::Suite),
    ("file", Field::File),
    ("probe", Field::Probe),
    ("variant", Field::Variant),
    ("id", Field::Id),
];

#[derive(Debug, Clone)]
enum Text {
    Part(String),
    Whole(String),
    Pattern(Regex),
}

impl Text {
    fn matches(&self, value: &str) -> bool {
        match self {
            Self::Part(part) => value.contains(part.as_str()),
            Self::Whole(whole) => value == whole,
            Self::Pattern(pattern) => pattern.is_match(value),
        }
    }
}

impl Filter {
    /// Reads an expression; the diagnostic points into `sources`, where the expression is remembered.
    pub fn parse(text: &str, sources: &mut Sources) -> Result<Self, Diagnostic> {
        let source = sources.add(SourceFile::new("<--filter>", text));
        let mut parser = Parser { text, at: 0 };
        let parsed = parser.any().and_then(|expression| match parser.rest() {
            "" => Ok(Self(expression)),
            _ => Err(parser.problem("this is one too many")),
        });
        parsed.map_err(|problem| {
            let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            let span = Span { source, start: offset(problem.start), end: offset(problem.end) };
            Diagnostic::error("bad-filter", problem.message, span).with_help(
                problem.help.or_else(|| {
                    Some("for example `tag(smoke) & !name(/slow/)`; a bare word is part of a name".to_owned())
                }),
            )
        })
    }

    /// Whether a case is meant; `None` where that depends on what a template will become.
    pub(super) fn matches(&self, case: &Case, suite: &Suite, lane: &Lane) -> Option<bool> {
        matches(&self.0, case, suite, lane)
    }
}

fn matches(expression: &Expression, case: &Case, suite: &Suite, lane: &Lane) -> Option<bool> {
    let verdicts = |parts: &[Expression]| parts.iter().map(|part| matches(part, case, suite, lane)).collect::<Vec<_>>();
    match expression {
        Expression::Any(parts) => combine(&verdicts(parts), true),
        Expression::All(parts) => combine(&verdicts(parts), false),
        Expression::Not(part) => matches(part, case, suite, lane).map(|verdict| !verdict),
        Expression::Atom(field, text) => {
            let is_settled = matches!(
                field,
                Field::Tag | Field::Server | Field::Revision | Field::Suite | Field::File | Field::Probe
            );
            let is_template = matches!(case.body, Body::Template(_));
            (is_settled || !is_template).then(|| atom(*field, text, case, suite, lane))
        }
    }
}

/// One decisive verdict decides; without it, an open one leaves all open.
fn combine(verdicts: &[Option<bool>], decisive: bool) -> Option<bool> {
    if verdicts.contains(&Some(decisive)) {
        return Some(decisive);
    }
    if verdicts.contains(&None) { None } else { Some(!decisive) }
}

fn atom(field: Field, text: &Text, case: &Case, suite: &Suite, lane: &Lane) -> bool {
    match field {
        Field::Name => {
            let rows = case.row.as_ref().map(|row| format!("{}[{row}]", case.name));
            text.matches(&case.name) || rows.is_some_and(|named| text.matches(&named))
        }
        // A tag or a probe is a word: a part of one is no match.
        Field::Tag => case.tags.iter().any(|tag| whole(text, tag)),
        Field::Probe => case.probes.iter().any(|probe| whole(text, probe)),
        Field::Variant => case.variants.iter().any(|variant| whole(text, variant)),
        Field::Server => whole(text, &lane.server),
        Field::Revision => whole(text, lane.protocol.as_str()),
        Field::Suite => text.matches(&suite.name.value),
        Field::File => text.matches(&case.place.file),
        Field::Id => text.matches(&case.id),
    }
}

fn whole(text: &Text, value: &str) -> bool {
    match text {
        Text::Part(word) | Text::Whole(word) => word == value,
        Text::Pattern(pattern) => pattern.is_match(value),
    }
}

struct Problem {
    start: usize,
    end: usize,
    message: String,
    help: Option<String>,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<Expression, Problem> {
        let mut parts = vec![self.all()?];
        while self.takes(&["|", "or"]) {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Any(parts) })
    }

    fn all(&mut self) -> Result<Expression, Problem> {
        let mut parts = vec![self.one()?];
        while self.takes(&["&", "and"]) {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) })
    }

    fn one(&mut self) -> Result<Expression, Problem> {
        if self.takes(&["!", "not"]) {
            return Ok(Expression::Not(Box::new(self.one()?)));
        }
        if self.takes(&["("]) {
            let inner = self.any()?;
            return if self.takes(&[")"]) { Ok(inner) } else { Err(self.problem("a `)` is missing here")) };
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expression, Problem> {
        let rest = self.rest();
        let length = rest.find(|c: char| c.is_whitespace() || "()&|!".contains(c)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.problem("a name or `tag(…)` is missing here"));
        }
        let (start, word) = (self.at, &rest[..length]);
        self.at += length;
        if !self.rest().starts_with('(') {
            return Ok(Expression::Atom(Field::Name, Text::Part(word.to_owned())));
        }
        let Some((_, field)) = FIELDS.iter().find(|(name, _)| *name == word) else {
            let help = did_you_mean(word, FIELDS.iter().map(|(name, _)| *name));
            return Err(Problem { start, end: start + length, message: format!("there is no `{word}(…)`"), help });
        };
        self.at += 1;
        let inside = &self.text[self.at..];
        let is_pattern = inside.starts_with('/');
        let closing = if is_pattern { inside[1..].find("/)").map(|at| at + 2) } else { inside.find(')') };
        let Some(closing) = closing else { return Err(self.problem("a `)` is missing here")) };
        let text = self.read(&inside[..closing])?;
        self.at += closing + 1;
        Ok(Expression::Atom(*field, text))
    }

    fn read(&self, text: &str) -> Result<Text, Problem> {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            return Regex::new(pattern).map(Text::Pattern).map_err(|_| {
                let message = format!("`{pattern}` is no regular expression");
                Problem { start: self.at + 1, end: self.at + 1 + pattern.len(), message, help: None }
            });
        }
        match text.strip_prefix('=') {
            Some(whole) => Ok(Text::Whole(whole.to_owned())),
            None if text.is_empty() => Err(self.problem("the brackets are empty")),
            None => Ok(Text::Part(text.to_owned())),
        }
    }

    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn takes(&mut self, words: &[&str]) -> bool {
        let rest = self.rest();
        let found = words.iter().find(|word| {
            rest.strip_prefix(**word).is_some_and(|after| {
                // `or` is a word of its own, not the start of `orders`.
                !word.chars().all(char::is_alphabetic)
                    || after.is_empty()
                    || after.starts_with(|c: char| c.is_whitespace() || c == '(')
            })
        });
        self.at += found.map_or(0, |word| word.len());
        found.is_some()
    }

    fn problem(&self, message: &str) -> Problem {
        let start = self.at.min(self.text.len());
        let end = self.text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
        Problem { start, end, message: message.to_owned(), help: None }
    }
}
