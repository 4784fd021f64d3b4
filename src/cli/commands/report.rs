//! `mcprove report`: a recorded run as any other document.

use std::path::PathBuf;

use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::targets;
use crate::report::{self, Report, read_events, sink};
use crate::source::{SourceFile, Sources, file};
use crate::suite::why_unreadable;

/// Turns a recorded run into any other report.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArgs {
    /// The recording: what `--report ndjson=FILE` wrote.
    #[arg(value_name = "EVENTS")]
    events: PathBuf,
    /// The format: `text`, `junit`, `json`, `ndjson`, `github`, `markdown`, `tap` or `sarif`.
    #[arg(long = "as", value_name = "FORMAT", default_value = "text")]
    format: String,
    /// The file to write; standard output by default.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

pub(in crate::cli) fn report(args: &ReportArgs, output: &Output) -> Exit {
    let text = match file::read_text(&args.events, file::RECORDED) {
        Ok(text) => text,
        Err(error) => {
            output.error(&format!("cannot read `{}`: {}", args.events.display(), why_unreadable(&error)), None);
            return Exit::Usage;
        }
    };
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new(args.events.display().to_string(), text));
    let recording = match read_events(id, &sources) {
        Ok(recording) => recording,
        Err(mistakes) => {
            output.diagnostics(&mistakes, &sources);
            return Exit::Usage;
        }
    };
    output.diagnostics(&recording.warnings, &sources);
    let format = match sink::parse_target(&format!("{}={}", args.format, args.output.display())) {
        Ok((format, _)) => format,
        Err(reason) => {
            output.error(&reason, None);
            return Exit::Usage;
        }
    };
    if let Err(reason) = targets::check([args.output.as_path()], [args.events.as_path()]) {
        output.error(&reason, None);
        return Exit::Usage;
    }
    let folded = Report::of(&recording.events);
    let document = report::render(format.name, &folded, &output.style_for(&args.output)).unwrap_or_default();
    match sink::write(&args.output, &document) {
        Ok(()) => Exit::Passed,
        Err(error) => {
            output.error(&error.to_string(), None);
            Exit::Environment
        }
    }
}
