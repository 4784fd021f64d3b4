//! `mcprove fmt`: writes suites in one layout.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::paths::{self, SkippedLink};
use crate::cli::written_files::shown_difference;
use crate::files::{FilePlace, real_path};
use crate::report::sink::{self, SinkError};
use crate::source::file::{WRITTEN, read_text};
use crate::source::{Diagnostic, Node, SourceFile, SourceId, Sources, format_yaml, parse, visible_line};
use crate::suite::{builtin_name, normalize_path, why_unreadable};

/// Writes suites in one layout; comments, quotes and the order of keys stay.
///
/// Two columns for each level, lists below their key indented, `{ a: 1 }` and `[1, 2]`, one empty line at most, none at the
/// end. A file whose meaning would change is left alone.
#[derive(Debug, Args)]
pub(crate) struct FmtArgs {
    /// Suite files, folders, or patterns such as `suites/**/*.yml`; the current folder by default; `-` for standard input.
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Writes nothing, shows what would change, and exits with 1 if anything would.
    #[arg(long)]
    check: bool,
}

/// What became of a file.
enum Formatted {
    /// Its text in the layout.
    Changed(String),
    /// It has the layout.
    Same,
    /// The layout would change its meaning.
    LeftAlone,
}

pub(crate) fn fmt(args: &FmtArgs, console: &Console) -> Result<Exit, Exit> {
    if args.paths == ["-"] {
        return format_input(args.check, console);
    }
    let found = paths::find(&args.paths);
    let links: Vec<Diagnostic> = found.links.iter().map(SkippedLink::warning).collect();
    console.diagnostics(&links, &Sources::default());
    found.unmatched.iter().for_each(|reason| console.error(reason, None));
    if !found.unmatched.is_empty() {
        return Err(Exit::Nothing);
    }
    // Folders also hold other files whose names begin with an underscore.
    let is_part = |part: &PathBuf| read_text(part, WRITTEN).map_or(true, |text| paths::reads_like_a_suite(&text));
    let parts = found.parts.into_iter().filter(is_part);
    let files: Vec<PathBuf> = found.files.into_iter().chain(found.doubtful).chain(parts).collect();
    if files.is_empty() {
        found.only_parts.iter().for_each(|reason| console.error(reason, None));
        return Err(Exit::Nothing);
    }
    let mut sources = Sources::default();
    let mut mistakes = Vec::new();
    let (mut changed, mut unwritten) = (0, 0);
    // A reader who went away keeps no file from being formatted.
    let (mut told, mut written) = (Ok(()), Ok(()));
    for file in &files {
        let Some(source) = read(file, &mut sources, &mut mistakes) else { continue };
        match formatted(&sources, source) {
            Ok(Formatted::Changed(text)) => {
                let news = if args.check {
                    change(file, &sources.file(source).text, &text)
                } else if let Err(exit) = write(file, &text, console) {
                    written = Err(exit);
                    unwritten += 1;
                    continue;
                } else {
                    format!("formatted {}\n", visible_line(&file.display().to_string()))
                };
                changed += 1;
                told = told.and_then(|()| console.part(&news));
            }
            Ok(Formatted::Same) => {}
            Ok(Formatted::LeftAlone) => console.note(&left_alone(&file.display().to_string())),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let read = files.len() - mistakes.len() - unwritten;
    if read > 0 {
        told = told.and_then(|()| console.part(&total(read, changed, args.check)));
        let unformatted = unformatted_includes(&files);
        if !unformatted.is_empty() {
            console.note(&not_named(&unformatted));
        }
    }
    if !mistakes.is_empty() {
        console.diagnostics(&mistakes, &sources);
    }
    written?;
    if !mistakes.is_empty() {
        return Err(Exit::Usage);
    }
    if args.check && changed > 0 { Ok(Exit::Findings) } else { told.map(|()| Exit::Passed) }
}

/// Reads a file to format; a mistake is kept.
fn read(file: &Path, sources: &mut Sources, mistakes: &mut Vec<Diagnostic>) -> Option<SourceId> {
    let name = file.display().to_string();
    if let Some(builtin) = builtin_name(&name) {
        let message = format!("`builtin:{builtin}` is part of the program and cannot be written");
        mistakes.push(Diagnostic::without_place("missing-file", message));
        return None;
    }
    match read_text(file, WRITTEN) {
        // Nearly every text is YAML; only what says so, or reads like a suite, is meant to be.
        Ok(text) if !is_yaml(file) && !paths::reads_like_a_suite(&text) => {
            let message =
                format!("`{name}` does not read like a suite, and its name does not end in `.yml` or `.yaml`");
            mistakes.push(Diagnostic::without_place("missing-file", message));
            None
        }
        Ok(text) => Some(sources.add(SourceFile::new(name, text))),
        Err(error) => {
            let message = format!("cannot read `{name}`: {}", why_unreadable(&error));
            mistakes.push(Diagnostic::without_place("missing-file", message));
            None
        }
    }
}

/// The files that others include, directly or not, and that nobody named, as far as they have another layout.
fn unformatted_includes(files: &[PathBuf]) -> Vec<PathBuf> {
    let known = |path: &Path| real_path(path).unwrap_or_else(|_| path.to_owned());
    let mut seen: BTreeSet<PathBuf> = files.iter().map(|file| known(file)).collect();
    let mut open: Vec<PathBuf> = files.iter().rev().cloned().collect();
    let mut unformatted = Vec::new();
    while let Some(file) = open.pop() {
        let Ok(text) = read_text(&file, WRITTEN) else { continue };
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new(file.display().to_string(), text));
        let is_named = files.contains(&file);
        if !is_named && matches!(formatted(&sources, source), Ok(Formatted::Changed(_))) {
            unformatted.push(file.clone());
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let included = included_files(&sources, source).into_iter().map(|path| normalize_path(&folder.join(path)));
        open.extend(included.filter(|path| seen.insert(known(path))));
    }
    unformatted
}

/// The paths under `include`.
fn included_files(sources: &Sources, source: SourceId) -> Vec<String> {
    let Ok(root) = parse(sources, source) else { return Vec::new() };
    let written = root.get("include").map(Node::to_json).unwrap_or_default();
    let listed = written.as_array().into_iter().flatten().filter_map(|path| path.as_str());
    let each = written.as_str().into_iter().chain(listed);
    each.filter(|path| !path.starts_with("builtin:")).map(str::to_owned).collect()
}

/// The note about files that were included and not formatted.
fn not_named(files: &[PathBuf]) -> String {
    let name = |file: &PathBuf| visible_line(&file.display().to_string()).into_owned();
    match files {
        [only] => format!("`{}`, which a suite includes, is not in this layout; name it to format it", name(only)),
        [first, more @ ..] => format!(
            "`{}` and {} more, which suites include, are not in this layout; name them to format them",
            name(first),
            more.len()
        ),
        [] => String::new(),
    }
}

fn formatted(sources: &Sources, source: SourceId) -> Result<Formatted, Diagnostic> {
    Ok(match format_yaml(sources, source)? {
        Some(text) if text == sources.file(source).text => Formatted::Same,
        Some(text) => Formatted::Changed(text),
        None => Formatted::LeftAlone,
    })
}

fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}

/// What would change in a file.
fn change(file: &Path, before: &str, after: &str) -> String {
    let name = visible_line(&file.display().to_string()).into_owned();
    format!("--- {name}\n+++ {name}, formatted\n{}\n", shown_difference(before, after))
}

/// Writes a file in the layout, unless nobody may write it.
fn write(file: &Path, text: &str, console: &Console) -> Result<(), Exit> {
    let is_readonly = std::fs::metadata(file).is_ok_and(|found| found.permissions().readonly());
    let written = if is_readonly {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"))
    } else {
        FilePlace::resolve(file).write(text.as_bytes())
    };
    written.map_err(|reason| {
        let error = SinkError { path: file.to_owned(), reason, option: None };
        console.fail(Exit::Environment, error, None)
    })
}

/// Reads standard input, and writes it in the layout to standard output.
fn format_input(only_checks: bool, console: &Console) -> Result<Exit, Exit> {
    let mut text = String::new();
    let read = io::stdin().lock().take(WRITTEN + 1).read_to_string(&mut text);
    let read =
        read.and_then(|length| if length as u64 > WRITTEN { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) });
    read.map_err(|error| {
        console.fail(Exit::Usage, format!("cannot read standard input: {}", why_unreadable(&error)), None)
    })?;
    let name = "standard input";
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(name, text));
    let outcome = formatted(&sources, source).map_err(|mistake| console.refuse(&[mistake], &sources))?;
    if matches!(outcome, Formatted::LeftAlone) {
        console.note(&left_alone(name));
    }
    let before = &sources.file(source).text;
    match outcome {
        Formatted::Changed(text) if only_checks => {
            // A reader who went away does not make it right.
            let _ = console.part(&change(Path::new(name), before, &text));
            Ok(Exit::Findings)
        }
        Formatted::Same | Formatted::LeftAlone if only_checks => Ok(Exit::Passed),
        Formatted::Changed(text) => document(&text, console),
        Formatted::Same | Formatted::LeftAlone => document(before, console),
    }
}

/// Writes to standard output as it is: an editor puts it in the place of what it sent.
fn document(text: &str, console: &Console) -> Result<Exit, Exit> {
    match sink::write(&FilePlace::resolve(Path::new("-")), text) {
        Ok(()) => Ok(Exit::Passed),
        Err(error) if error.reason.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Passed),
        Err(error) => Err(console.fail(Exit::Environment, error, None)),
    }
}

fn left_alone(name: &str) -> String {
    visible_line(&format!("left `{name}` as it is: its YAML has parts that this layout cannot keep")).into_owned()
}

/// The last line: how many files there were, and how many changed.
fn total(files: usize, changed: usize, only_checks: bool) -> String {
    let noun = if files == 1 { "file" } else { "files" };
    match (changed, only_checks) {
        (0, _) => format!("{files} {noun} checked, nothing to change\n"),
        (1, true) => format!("1 of {files} {noun} would change; `mcprove fmt` without `--check` changes it\n"),
        (_, true) => {
            format!("{changed} of {files} {noun} would change; `mcprove fmt` without `--check` changes them\n")
        }
        (_, false) => format!("{changed} of {files} {noun} changed\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals() {
        assert_eq!(total(1, 0, false), "1 file checked, nothing to change\n");
        assert_eq!(total(3, 0, true), "3 files checked, nothing to change\n");
        assert_eq!(total(1, 1, true), "1 of 1 file would change; `mcprove fmt` without `--check` changes it\n");
        assert_eq!(total(3, 2, true), "2 of 3 files would change; `mcprove fmt` without `--check` changes them\n");
        assert_eq!(total(3, 2, false), "2 of 3 files changed\n");
    }
}
