//! `mcprove report`: turns a recorded run into any report.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;

use super::proving::RecordingFile;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::written_files;
use crate::files::FilePlace;
use crate::prove::file::is_recording;
use crate::report::{self, Report, format_names, read_events, sink};
use crate::source::file::{RECORDED, open};
use crate::source::{SourceFile, SourceId, Sources};

/// Turns a recorded run into any other report.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The recorded run: the file that `--record FILE` or `--report ndjson=FILE` wrote.
    #[arg(value_name = "RECORDING")]
    events: PathBuf,
    #[arg(long = "as", value_name = "FORMAT", default_value = "text", help = format!("The format: {}", format_names()))]
    format: String,
    /// The file to write; standard output by default.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: FilePlace,
}

pub(crate) fn report(args: &ReportArgs, console: &Console) -> Result<Exit, Exit> {
    let (sources, id) = read(&args.events, console)?;
    let recording = read_events(id, &sources).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    console.diagnostics(&recording.warnings, &sources);
    let usage = |reason| console.fail(Exit::Usage, reason, None);
    let target = sink::parse_target(&format!("{}={}", args.format, args.output.display()));
    let (format, _) = target.map_err(usage)?;
    written_files::check([&*args.output], [args.events.as_path()]).map_err(usage)?;
    let folded = Report::of(&recording.events);
    let document = report::render(format.name, &folded, &console.style_for(&args.output)).unwrap_or_default();
    sink::write(&args.output, &document).map_err(|error| console.fail(Exit::Environment, error, None))?;
    Ok(Exit::Passed)
}

/// The events, from a file of events or out of the recording of a run.
fn read(path: &Path, console: &Console) -> Result<(Sources, SourceId), Exit> {
    let begins_as_recording = |file| BufReader::new(file).fill_buf().is_ok_and(is_recording);
    // What is no file can be read only once.
    if !path.is_file() || !open(path, RECORDED).is_ok_and(begins_as_recording) {
        return console.read("recording", path, RECORDED, None);
    }
    let events = RecordingFile::open(path, console)?.events(console)?;
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new(path.display().to_string(), events));
    Ok((sources, id))
}
