//! `mcprove report`: turns a recorded run into any report.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;

use super::proving::RecordingFile;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::written_files;
use crate::event::Event;
use crate::files::FilePlace;
use crate::prove::file::is_recording;
use crate::report::{self, Report, format_names, read_events, sink};
use crate::source::file::{RECORDED, open};
use crate::source::{SourceFile, SourceId, Sources};

/// Turns a recorded run into any other report.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The recorded run: the file that `--record FILE` or `--report ndjson=FILE` wrote; of several, `html` shows the latest
    /// with the others as its history.
    #[arg(value_name = "RECORDING", required = true)]
    recordings: Vec<PathBuf>,
    #[arg(long = "as", value_name = "FORMAT", default_value = "text", help = format!("The format: {}", format_names()))]
    format: String,
    /// The file to write; standard output by default.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: FilePlace,
}

pub(crate) fn report(args: &ReportArgs, console: &Console) -> Result<Exit, Exit> {
    let usage = |reason, help| console.fail(Exit::Usage, reason, help);
    let target = sink::parse_target(&format!("{}={}", args.format, args.output.display()));
    let (format, _) = target.map_err(|reason| usage(reason, None))?;
    let inputs = args.recordings.iter().map(PathBuf::as_path);
    written_files::check([&*args.output], inputs).map_err(|reason| usage(reason, None))?;
    if args.recordings.len() > 1 && format.name != HISTORIC {
        let reason = format!("`{}` shows one run, and {} recordings were named", format.name, args.recordings.len());
        return Err(usage(reason, Some("name one of them, or make a page of all of them with `--as html`")));
    }
    let mut runs = Vec::new();
    for recording in &args.recordings {
        runs.push(folded(recording, console)?);
    }
    // Patterns of a shell name files in the order of the alphabet.
    runs.sort_by_key(|run| run.run_started().map(|started| started.started_unix_ms));
    let latest = runs.pop().unwrap_or_default().after(runs);
    let document = report::render(format.name, &latest, &console.style_for(&args.output)).unwrap_or_default();
    sink::write(&args.output, &document).map_err(|error| {
        let error = sink::SinkError { option: Some("--output FILE"), ..error };
        console.fail(Exit::Environment, error, None)
    })?;
    Ok(Exit::Passed)
}

/// The format that shows a run beside earlier ones.
const HISTORIC: &str = "html";

fn folded(recording: &Path, console: &Console) -> Result<Report, Exit> {
    Ok(Report::of(&recorded_run(recording, console)?))
}

/// The events of a recorded run, whichever way it was recorded.
pub(crate) fn recorded_run(recording: &Path, console: &Console) -> Result<Vec<Event>, Exit> {
    let (sources, id) = read(recording, console)?;
    let recorded = read_events(id, &sources).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    console.diagnostics(&recorded.warnings, &sources);
    Ok(recorded.events)
}

/// The events, from a file of events or out of the recording of a run.
fn read(path: &Path, console: &Console) -> Result<(Sources, SourceId), Exit> {
    let begins_as_recording = |file| BufReader::new(file).fill_buf().is_ok_and(is_recording);
    // What is no file can be read only once.
    if !path.is_file() || !open(path, RECORDED).is_ok_and(begins_as_recording) {
        return console.read("recording", path, RECORDED, None);
    }
    recorded_events(path, console)
}

/// The events in the recording of a run.
pub(crate) fn recorded_events(path: &Path, console: &Console) -> Result<(Sources, SourceId), Exit> {
    let events = RecordingFile::open(path, console)?.events(console)?;
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new(path.display().to_string(), events));
    Ok((sources, id))
}
