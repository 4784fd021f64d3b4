//! `--filter`: a small language over names, tags and the rest, with one meaning everywhere.
//!
//! `tag(smoke) & !name(/slow/)`, `users and not server(staging)`; a bare word is part of a name.

use std::borrow::Cow;

use regex::Regex;

use super::case::{Body, Case};
use super::target::Target;
use crate::redact;
use crate::source::{Diagnostic, SourceFile, Sources, Span, did_you_mean};
use crate::suite::Suite;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Filter {
    expression: FilterExpression,
    text: String,
}

#[derive(Debug, Clone)]
enum FilterExpression {
    Any(Vec<FilterExpression>),
    All(Vec<FilterExpression>),
    Not(Box<FilterExpression>),
    Atom(Field, Text),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
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

/// The fields by name, for parsing and for help, and what each is called in a sentence.
const FIELDS: [(&str, Field, &str); 9] = [
    ("name", Field::Name, "a name with"),
    ("tag", Field::Tag, "the tag"),
    ("server", Field::Server, "the server"),
    ("revision", Field::Revision, "the revision"),
    ("suite", Field::Suite, "a suite named"),
    ("file", Field::File, "a file named"),
    ("probe", Field::Probe, "the probe"),
    ("variant", Field::Variant, "the variant"),
    ("id", Field::Id, "an id with"),
];

/// Something that a filter wants a case to have.
pub(crate) struct FilterWord<'a> {
    pub(crate) word: &'a Text,
    pub(crate) field: Field,
    /// Its name in a sentence.
    pub(crate) noun: &'static str,
}

#[derive(Debug, Clone)]
pub(crate) enum Text {
    Part(String),
    Whole(String),
    Pattern(Regex),
}

impl Text {
    fn matches(&self, value: &str) -> bool {
        match self {
            Self::Part(part) => value.contains(part.as_str()),
            Self::Whole(whole) => redact::may_be(whole, value),
            Self::Pattern(pattern) => pattern.is_match(value),
        }
    }

    /// As it was typed, without what marks its kind.
    pub(crate) fn as_typed(&self) -> &str {
        match self {
            Self::Part(text) | Self::Whole(text) => text,
            Self::Pattern(pattern) => pattern.as_str(),
        }
    }
}

impl Field {
    /// Returns true if what a template becomes has it too.
    pub(crate) fn is_settled(self) -> bool {
        matches!(self, Self::Tag | Self::Server | Self::Revision | Self::Suite | Self::File | Self::Probe)
    }

    /// Returns true if its values are words: a part of one is no match.
    pub(crate) fn is_word(self) -> bool {
        matches!(self, Self::Tag | Self::Probe | Self::Variant | Self::Server | Self::Revision)
    }

    /// The properties of a case that filters look at.
    pub(crate) fn values<'a>(self, case: &'a Case, suite: &'a Suite, target: &'a Target) -> Vec<Cow<'a, str>> {
        let one = |text: &'a str| vec![Cow::Borrowed(text)];
        match self {
            Self::Name => {
                let row = case.row.as_ref().map(|row| Cow::Owned(format!("{}[{row}]", case.name)));
                one(&case.name).into_iter().chain(row).collect()
            }
            Self::Tag => case.tags.iter().map(Into::into).collect(),
            Self::Probe => case.probes.iter().map(Into::into).collect(),
            Self::Variant => case.variants.iter().chain(&*case.claims).map(Into::into).collect(),
            Self::Server => one(&target.server),
            Self::Revision => one(target.protocol.as_str()),
            Self::Suite => one(&suite.name.value),
            Self::File => one(&case.place.file),
            Self::Id => one(&case.id),
        }
    }

    /// Returns true if a value is what was asked for.
    pub(crate) fn fits(self, text: &Text, value: &str) -> bool {
        if self.is_word() { whole(text, value) } else { text.matches(value) }
    }
}

impl Filter {
    /// The name under which sources hold expressions.
    pub(super) const SOURCE: &str = "<--filter>";

    /// The expression as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads an expression; the diagnostic points into `sources`, where the expression is remembered.
    pub fn parse(text: &str, sources: &mut Sources) -> Result<Self, Diagnostic> {
        let source = sources.add(SourceFile::new(Self::SOURCE, text));
        let mut parser = Parser { text, at: 0, deep: 0 };
        let parsed = parser.any().and_then(|expression| match parser.rest() {
            "" => Ok(Self { expression, text: text.to_owned() }),
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

    /// The words that a matching case must have; negated ones are left out.
    pub(crate) fn required_words(&self) -> Vec<FilterWord<'_>> {
        let mut required_words = Vec::new();
        collect_required_words(&self.expression, &mut required_words);
        required_words
    }

    /// Returns true if a case is meant; `None` where that depends on what a template will become.
    pub(crate) fn matches(&self, case: &Case, suite: &Suite, target: &Target) -> Option<bool> {
        matches(&self.expression, case, suite, target)
    }
}

fn matches(expression: &FilterExpression, case: &Case, suite: &Suite, target: &Target) -> Option<bool> {
    let verdicts =
        |parts: &[FilterExpression]| parts.iter().map(|part| matches(part, case, suite, target)).collect::<Vec<_>>();
    match expression {
        FilterExpression::Any(parts) => combine(&verdicts(parts), true),
        FilterExpression::All(parts) => combine(&verdicts(parts), false),
        FilterExpression::Not(part) => matches(part, case, suite, target).map(|verdict| !verdict),
        FilterExpression::Atom(field, text) => {
            let is_template = matches!(case.body, Body::Template(_));
            let fits = || field.values(case, suite, target).iter().any(|value| field.fits(text, value));
            (field.is_settled() || !is_template).then(fits)
        }
    }
}

fn collect_required_words<'a>(expression: &'a FilterExpression, required_words: &mut Vec<FilterWord<'a>>) {
    match expression {
        FilterExpression::Any(parts) | FilterExpression::All(parts) => {
            for part in parts {
                collect_required_words(part, required_words);
            }
        }
        FilterExpression::Not(_) => {}
        FilterExpression::Atom(field, word) => {
            let noun = FIELDS.iter().find(|(_, known, _)| known == field).map_or("", |(_, _, noun)| *noun);
            required_words.push(FilterWord { word, field: *field, noun });
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

fn whole(text: &Text, value: &str) -> bool {
    match text {
        Text::Part(word) | Text::Whole(word) => word == value,
        Text::Pattern(pattern) => pattern.is_match(value),
    }
}

struct FilterProblem {
    start: usize,
    end: usize,
    message: String,
    help: Option<String>,
}

/// The greatest depth of parentheses and negations: each takes a piece of the stack.
const DEEPEST: usize = 100;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    deep: usize,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<FilterExpression, FilterProblem> {
        let mut parts = vec![self.all()?];
        while self.takes(&["|", "or"]) {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { FilterExpression::Any(parts) })
    }

    fn all(&mut self) -> Result<FilterExpression, FilterProblem> {
        let mut parts = vec![self.one()?];
        while self.takes(&["&", "and"]) {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { FilterExpression::All(parts) })
    }

    fn one(&mut self) -> Result<FilterExpression, FilterProblem> {
        self.deep += 1;
        if self.deep > DEEPEST {
            return Err(self.problem("the expression is nested too deep"));
        }
        let one = self.nested_expression();
        self.deep -= 1;
        one
    }

    fn nested_expression(&mut self) -> Result<FilterExpression, FilterProblem> {
        if self.takes(&["!", "not"]) {
            return Ok(FilterExpression::Not(Box::new(self.one()?)));
        }
        if self.takes(&["("]) {
            let inner = self.any()?;
            return if self.takes(&[")"]) { Ok(inner) } else { Err(self.problem("a `)` is missing here")) };
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<FilterExpression, FilterProblem> {
        let rest = self.rest();
        let length = rest.find(|c: char| c.is_whitespace() || "()&|!".contains(c)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.problem("a name or `tag(…)` is missing here"));
        }
        let (start, word) = (self.at, &rest[..length]);
        self.at += length;
        if !self.rest().starts_with('(') {
            return Ok(FilterExpression::Atom(Field::Name, Text::Part(word.to_owned())));
        }
        let Some((_, field, _)) = FIELDS.iter().find(|(name, _, _)| *name == word) else {
            let help = did_you_mean(word, FIELDS.iter().map(|(name, _, _)| *name));
            return Err(FilterProblem {
                start,
                end: start + length,
                message: format!("there is no `{word}(…)`"),
                help,
            });
        };
        self.at += 1;
        let inside = &self.text[self.at..];
        let is_pattern = inside.starts_with('/');
        let closing = if is_pattern { inside[1..].find("/)").map(|at| at + 2) } else { inside.find(')') };
        let Some(closing) = closing else { return Err(self.problem("a `)` is missing here")) };
        let text = self.read_text(&inside[..closing])?;
        self.at += closing + 1;
        Ok(FilterExpression::Atom(*field, text))
    }

    fn read_text(&self, text: &str) -> Result<Text, FilterProblem> {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            return Regex::new(pattern).map(Text::Pattern).map_err(|_| {
                let message = format!("`{pattern}` is not a valid regular expression");
                FilterProblem { start: self.at + 1, end: self.at + 1 + pattern.len(), message, help: None }
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

    fn problem(&self, message: &str) -> FilterProblem {
        let start = self.at.min(self.text.len());
        let end = self.text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
        FilterProblem { start, end, message: message.to_owned(), help: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_ends() {
        let check = |text: &str, is_good: bool| {
            assert_eq!(Filter::parse(text, &mut Sources::default()).is_ok(), is_good, "{text:.60}");
        };
        for (open, close) in [("(", ")"), ("!", ""), ("not ", "")] {
            check(&format!("{}users{}", open.repeat(50), close.repeat(50)), true);
            check(&format!("{}users{}", open.repeat(100_000), close.repeat(100_000)), false);
        }
    }
}
