//! Files of other tools as suites of mcprove.
//!
//! A file says by its content which tool it is for; each tool has a module here, and none knows another. What mcprove
//! cannot say stands as a comment beside the test that lacks it, and is reported. Pure: texts become a text. Start reading
//! in [`convert`].

mod autotest;
mod document;
mod left_out;
mod mcp_assert;
mod mcptest;
mod postman;
mod probe;
mod references;
mod suite_parts;
mod wallfacer;

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Diagnostic, SourceId, Sources};

use self::document::{Document, documents};
use self::left_out::LeftOut;
use self::suite_parts::SuiteParts;

/// The most documents that become one suite; they are compared with each other.
const MAX_DOCUMENTS: usize = 5000;

/// What the command line adds to the files.
#[derive(Debug, Default)]
pub struct ConvertOptions {
    /// The name of the suite, where the files have none.
    pub name: String,
    /// Values of the parameters of a file of invariants.
    pub parameters: BTreeMap<String, String>,
    /// The folder of files that tests use, relative to the suite.
    pub fixture: Option<String>,
    /// The files that nobody named: those of a folder. One that no tool is known for is passed over.
    pub in_folders: BTreeSet<SourceId>,
}

/// A converted file.
pub struct ConvertedSuite {
    /// The tool that the files are for.
    pub tool: &'static str,
    /// The suite says how to reach its server.
    pub has_server: bool,
    /// The text of the suite.
    pub text: String,
    /// Warnings about everything that it leaves out.
    pub left_out: Vec<Diagnostic>,
    /// Its tests and properties.
    pub tests: ConvertedCounts,
}

/// How many tests and properties a suite has.
pub struct ConvertedCounts {
    /// All of them, with those of which nothing has a counterpart.
    pub all: usize,
    /// Those that lack nothing.
    pub whole: usize,
    /// Those that run, and lack something.
    pub in_part: usize,
}

/// Makes one suite of the documents of a tool, or finds mistakes.
type ConvertDocuments = fn(&[Document], &Sources, &ConvertOptions) -> Result<SuiteParts, Vec<Diagnostic>>;

/// A kind of file.
struct Format {
    /// The tool that reads it.
    tool: &'static str,
    /// Its files are recognised by this.
    recognises: fn(&Document) -> bool,
    /// Makes one suite of all files.
    convert: ConvertDocuments,
}

/// Every kind of file, but for those of mcp-wallfacer, whose text is filled in before it is YAML.
const FORMATS: [Format; 5] = [mcp_assert::FORMAT, mcptest::FORMAT, probe::FORMAT, autotest::FORMAT, postman::FORMAT];

/// Makes one suite of files that are all of one kind.
///
/// # Errors
///
/// Mistakes in the files: they cannot be read, no tool is recognised, or they are for several.
pub fn convert(
    files: &[SourceId],
    options: &ConvertOptions,
    sources: &mut Sources,
) -> Result<ConvertedSuite, Vec<Diagnostic>> {
    let (invariants, others): (Vec<SourceId>, Vec<SourceId>) =
        files.iter().copied().partition(|file| wallfacer::recognises(&sources.file(*file).text));
    if let (true, Some(name)) = (invariants.is_empty(), options.parameters.keys().next()) {
        let message = format!("only a file of invariants has parameters such as `{name}`");
        return Err(vec![Diagnostic::without_place("bad-invariants", message)]);
    }
    let mut read = read_documents(&others, sources)?;
    let is_known = |document: &Document| FORMATS.iter().any(|format| (format.recognises)(document));
    let is_optional = |document: &Document| options.in_folders.contains(&document.root.span.source);
    let mut passed_over = Vec::new();
    if !invariants.is_empty() || read.iter().any(is_known) {
        let unknown = read.extract_if(.., |document| is_optional(document) && !is_known(document));
        let why = "no tool is known whose tests look like this";
        passed_over.extend(unknown.map(|document| LeftOut::new("file", document.root.span, why)));
    }
    let (tool, mut parts) = if let Some(first) = invariants.first() {
        refuse_other_tools(&read, *first, sources)?;
        (wallfacer::TOOL, wallfacer::convert(&invariants, options, sources)?)
    } else {
        let format = format_of(&read).map_err(|mistake| vec![mistake])?;
        (format.tool, (format.convert)(&read, sources, options)?)
    };
    parts.left_out.extend(passed_over);
    Ok(parts.into_suite(sources, tool))
}

/// The documents of all files.
fn read_documents(files: &[SourceId], sources: &Sources) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let mut read = Vec::new();
    for file in files {
        read.extend(documents(sources, *file).map_err(|mistake| vec![mistake])?);
        if read.len() > MAX_DOCUMENTS {
            let message = format!("there are more than {MAX_DOCUMENTS} documents");
            let help = "convert them in several parts".to_owned();
            return Err(vec![Diagnostic::without_place("unknown-format", message).with_help(help)]);
        }
    }
    Ok(read)
}

/// A mistake if there are documents beside files of invariants.
fn refuse_other_tools(read: &[Document], invariants: SourceId, sources: &Sources) -> Result<(), Vec<Diagnostic>> {
    let Some(other) = read.first() else { return Ok(()) };
    let format = format_of(read).map_err(|mistake| vec![mistake])?;
    let name = &sources.file(invariants).name;
    let message = format!("this file is for {}, and `{name}` for {}", format.tool, wallfacer::TOOL);
    let mixed = Diagnostic::error("unknown-format", message, other.root.span);
    Err(vec![mixed.with_help("convert the files of one tool at a time".to_owned())])
}

/// The one kind of all documents.
fn format_of(read: &[Document]) -> Result<&'static Format, Diagnostic> {
    let mut first: Option<(&'static Format, &Document)> = None;
    for document in read {
        let Some(format) = FORMATS.iter().find(|format| (format.recognises)(document)) else {
            return Err(unknown_format(document));
        };
        match first {
            None => first = Some((format, document)),
            Some((other, at)) if other.tool != format.tool => {
                let message = format!("this file is for {}, and another one for {}", format.tool, other.tool);
                let mixed = Diagnostic::error("unknown-format", message, document.root.span);
                let help = "convert the files of one tool at a time".to_owned();
                return Err(mixed.with_other(at.root.span, "the other one is here").with_help(help));
            }
            Some(_) => {}
        }
    }
    let nothing = || Diagnostic::without_place("unknown-format", "the file is empty");
    first.map(|(format, _)| format).ok_or_else(nothing)
}

fn unknown_format(document: &Document) -> Diagnostic {
    let tools: Vec<&str> = FORMATS.iter().map(|format| format.tool).chain([wallfacer::TOOL]).collect();
    let message = "no tool is known whose tests look like this";
    let help = format!("`convert` reads the files of {}", tools.join(", "));
    Diagnostic::error("unknown-format", message, document.root.span).with_help(help)
}

#[cfg(test)]
mod tests;
