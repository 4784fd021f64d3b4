//! `mcprove convert`: prints the suite that stands for files of another tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use walkdir::WalkDir;

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::convert::{ConvertOptions, ConvertedCounts, ConvertedSuite, convert as convert_files};
use crate::source::file::{WRITTEN, read_text};
use crate::source::{Diagnostic, SourceFile, SourceId, Sources, visible_line};
use crate::suite::why_unreadable;

/// Prints a suite made from the tests of another tool.
///
/// The tools are mcp-assert, mcptest, mcp-probe, mcp-autotest, mcp-wallfacer and Postman; files are told apart by their
/// content. Several files, or a folder of them, become one suite. Each part without a counterpart is reported, and is a
/// comment or a skipped test of the suite.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Files of one tool, or folders of them.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The folder of files that tests use, relative to the suite: `--fixture` of mcp-assert.
    #[arg(long, value_name = "FOLDER")]
    fixture: Option<String>,
    /// The value of a parameter that a file of invariants declares, in place of its default; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_parameter)]
    param: Vec<(String, String)>,
}

fn parse_parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write a parameter as `NAME=VALUE`")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

pub(crate) fn convert(args: &ConvertArgs, console: &Console) -> Result<Exit, Exit> {
    let mut sources = Sources::default();
    let (mut ids, mut in_folders) = (Vec::new(), BTreeSet::new());
    for file in files(args, console)? {
        let text = read_text(&file, WRITTEN).map_err(|error| {
            let message = format!("cannot read the file `{}`: {}", file.display(), why_unreadable(&error));
            console.fail(Exit::Usage, message, Some("name a file with tests of another tool, such as `tests.yaml`"))
        })?;
        let id = sources.add(SourceFile::new(file.display().to_string(), text));
        ids.push(id);
        if !args.files.contains(&file) {
            in_folders.insert(id);
        }
    }
    let name = args.files[0].display().to_string();
    let parameters: BTreeMap<String, String> = args.param.iter().cloned().collect();
    let fixture = args.fixture.clone();
    let options = ConvertOptions { name: suite_name(&args.files[0]), parameters, fixture, in_folders };
    let converted = convert_files(&ids, &options, &mut sources);
    let converted = converted.map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    if !converted.left_out.is_empty() {
        console.diagnostics(&once_for_all_files(&converted.left_out, &sources), &sources);
    }
    let more = match args.files.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let add_server = " Name the server with `server:`, or include this file in a suite that does.";
    let server = if converted.has_server { "" } else { add_server };
    let name = visible_line(&name);
    console.part(&format!("# Converted from {name}{more}.{server}\n{}", converted.text))?;
    console.note(&summary(&converted, console.environment.output_is_terminal));
    Ok(Exit::Passed)
}

/// The warnings, of which those that say the same of several files stand at the first of them.
fn once_for_all_files(left_out: &[Diagnostic], sources: &Sources) -> Vec<Diagnostic> {
    let mut files: BTreeMap<&str, Vec<SourceId>> = BTreeMap::new();
    let mut shown = Vec::new();
    for warning in left_out {
        let Some(file) = warning.label.as_ref().map(|label| label.span.source) else { continue };
        let of_message = files.entry(&warning.message).or_default();
        if !of_message.contains(&file) {
            of_message.push(file);
        }
        if of_message.first() == Some(&file) {
            shown.push(warning.clone());
        }
    }
    let others = |warning: &Diagnostic| {
        let others = files.get(warning.message.as_str())?.get(1..)?;
        let name = &sources.file(*others.first()?).name;
        Some(match others.len() {
            1 => format!("the same in {name}"),
            more => format!("the same in {more} more files, such as {name}"),
        })
    };
    shown
        .into_iter()
        .map(|warning| {
            let help = others(&warning);
            warning.with_help(help)
        })
        .collect()
}

/// How much was converted, and what to do next.
fn summary(converted: &ConvertedSuite, is_shown: bool) -> String {
    let ConvertedCounts { all, whole, in_part } = converted.tests;
    let noun = if all == 1 { "test" } else { "tests" };
    let mut parts = vec![format!("{whole} whole")];
    parts.extend((in_part > 0).then(|| format!("{in_part} in part")));
    parts.extend((all > whole + in_part).then(|| format!("{} skipped", all - whole - in_part)));
    let why = if converted.left_out.is_empty() { "" } else { "; `# not converted` in the suite says why" };
    let save = if is_shown {
        "save this as a file, for example `suite.yml`, and look at it with"
    } else {
        "look at the suite with"
    };
    format!(
        "{all} {noun} of {} converted: {}{why}\nnext: {save} `mcprove check suite.yml`, and run it with `mcprove run suite.yml`",
        converted.tool,
        parts.join(", "),
    )
}

/// The files that are named, and those of named folders: YAML and JSON, as deep as one folder below. Files that tests use
/// are no tests.
fn files(args: &ConvertArgs, console: &Console) -> Result<Vec<PathBuf>, Exit> {
    let fixture = args.fixture.as_ref().map(Path::new);
    let is_fixture = |file: &Path| fixture.is_some_and(|fixture| file.starts_with(fixture));
    let mut files = Vec::new();
    for path in &args.files {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = WalkDir::new(path).max_depth(2).sort_by_file_name().into_iter().filter_map(Result::ok);
        let before = files.len();
        let found = entries.map(walkdir::DirEntry::into_path);
        files.extend(found.filter(|file| file.is_file() && is_yaml_or_json(file) && !is_fixture(file)));
        if files.len() == before {
            let message = format!("the folder `{}` holds no YAML and no JSON", path.display());
            return Err(console.fail(Exit::Usage, message, None));
        }
    }
    Ok(files)
}

fn is_yaml_or_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["yml", "yaml", "json"].iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The name of a file without its ending, or that of a folder.
fn suite_name(path: &Path) -> String {
    let name = path.file_stem().or_else(|| path.file_name()).unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
