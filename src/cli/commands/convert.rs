//! `mcprove convert`: prints the suite that stands for files of another tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use walkdir::WalkDir;

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::convert::{ConvertOptions, convert as convert_files};
use crate::source::file::{WRITTEN, read_text};
use crate::source::{SourceFile, Sources, visible_line};
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
    for file in files(&args.files, console)? {
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
        console.diagnostics(&converted.left_out, &sources);
    }
    let more = match args.files.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let add_server = " Name the server with `server:`, or include this file in a suite that does.";
    let server = if converted.has_server { "" } else { add_server };
    let name = visible_line(&name);
    Ok(console.data(&format!("# Converted from {name}{more}.{server}\n{}", converted.text)))
}

/// The files that are named, and those of named folders: YAML and JSON, as deep as one folder below.
fn files(named: &[PathBuf], console: &Console) -> Result<Vec<PathBuf>, Exit> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = WalkDir::new(path).max_depth(2).sort_by_file_name().into_iter().filter_map(Result::ok);
        let before = files.len();
        files.extend(entries.map(walkdir::DirEntry::into_path).filter(|file| file.is_file() && is_yaml_or_json(file)));
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
