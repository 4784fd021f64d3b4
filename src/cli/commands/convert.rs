//! `mcprove convert`: prints the suite that stands for a file of another tool.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::invariants::convert as convert_invariants;
use crate::source::file::WRITTEN;
use crate::source::yaml_writer;

/// Prints a suite made from the `invariants.yaml` of mcp-wallfacer.
///
/// Invariants and sequences become properties. Each part without a counterpart is reported, and is a skipped test of the
/// suite.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The file of invariants, of version 1, 2 or 3.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The value of a parameter that the file declares, in place of its default; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_parameter)]
    param: Vec<(String, String)>,
}

fn parse_parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write a parameter as `NAME=VALUE`")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

pub(crate) fn convert(args: &ConvertArgs, console: &Console) -> Result<Exit, Exit> {
    let help = "name the file of invariants, such as `invariants.yaml`";
    let (mut sources, id) = console.read("file", &args.file, WRITTEN, Some(help))?;
    let text = sources.file(id).text.clone();
    let given: BTreeMap<String, String> = args.param.iter().cloned().collect();
    let name = args.file.display().to_string();
    let converted = convert_invariants(&name, &text, &given, &mut sources);
    let converted = converted.map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    if !converted.left_out.is_empty() {
        console.diagnostics(&converted.left_out, &sources);
    }
    Ok(console.data(&format!(
        "# Converted from {name}. Name the server with `server:`, or include this file in a suite that does.\n{}",
        yaml_writer::block(&converted.suite, 0)
    )))
}
