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

use crate::source::{Diagnostic, SourceId, Sources, yaml_writer};

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
    if let [file] = files
        && wallfacer::recognises(&sources.file(*file).text)
    {
        let converted = wallfacer::convert(*file, &options.parameters, sources)?;
        let (text, left_out) = (yaml_writer::block(&converted.suite, 0), converted.left_out);
        return Ok(ConvertedSuite { tool: wallfacer::TOOL, has_server: false, text, left_out });
    }
    if let Some(name) = options.parameters.keys().next() {
        let message = format!("only a file of invariants has parameters such as `{name}`");
        return Err(vec![Diagnostic::without_place("bad-invariants", message)]);
    }
    let mut read = Vec::new();
    for file in files {
        read.extend(documents(sources, *file).map_err(|mistake| vec![mistake])?);
        if read.len() > MAX_DOCUMENTS {
            let message = format!("there are more than {MAX_DOCUMENTS} documents");
            let help = "convert them in several parts".to_owned();
            return Err(vec![Diagnostic::without_place("unknown-format", message).with_help(help)]);
        }
    }
    let is_known = |document: &Document| FORMATS.iter().any(|format| (format.recognises)(document));
    let is_optional = |document: &Document| options.in_folders.contains(&document.root.span.source);
    let mut passed_over = Vec::new();
    if read.iter().any(is_known) {
        let unknown = read.extract_if(.., |document| is_optional(document) && !is_known(document));
        let why = "no tool is known whose tests look like this";
        passed_over.extend(unknown.map(|document| LeftOut::new("file", document.root.span, why)));
    }
    let format = format_of(&read).map_err(|mistake| vec![mistake])?;
    let mut parts = (format.convert)(&read, sources, options)?;
    parts.left_out.extend(passed_over);
    Ok(parts.into_suite(sources, format.tool))
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
