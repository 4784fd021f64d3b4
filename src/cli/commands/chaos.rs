//! `mcprove chaos`: faults at the tools of servers, and what patterns of resilience are worth, simulated without a server.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};

use super::chaos_run::{ChaosRunArgs, run_campaign};
use super::parsing::share;
use crate::chaos::{
    Correlation, NAMED, NamedPatterns, PlotAxis, SweepGrid, json, play_paired, play_published, plot, sweep, sweep_json,
    sweep_text, text,
};
use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;
use crate::files::FilePlace;
use crate::report::sink;

/// Strikes tools of servers with faults, or simulates calls under faults without a server.
#[derive(Debug, Args)]
pub(crate) struct ChaosArgs {
    #[command(subcommand)]
    command: ChaosCommand,
}

#[derive(Debug, Subcommand)]
enum ChaosCommand {
    Run(Box<ChaosRunArgs>),
    Demo(DemoArgs),
    Sweep(SweepArgs),
}

/// Compares patterns of resilience: as mcp-chaos publishes it, and with the same faults for every pattern.
#[derive(Debug, Args)]
struct DemoArgs {
    /// The seed of the published table.
    #[arg(long, default_value = "42", value_name = "NUMBER")]
    seed: u32,
    /// The number of seeds of the other tables.
    #[arg(long, default_value = "100", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=MOST_SEEDS))]
    seeds: u32,
    /// The format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
}

/// Compares patterns of resilience under many error rates, fan-outs and correlations, with the same faults for every
/// pattern.
#[derive(Debug, Args)]
struct SweepArgs {
    /// Shares of attempts that fail.
    #[arg(long, value_delimiter = ',', default_value = "0.01,0.02,0.05,0.1", value_name = "SHARE,…", value_parser = share)]
    error_rate: Vec<f64>,
    /// Numbers of calls of a task.
    #[arg(long, value_delimiter = ',', default_value = "2,4,8,16", value_name = "NUMBER,…", value_parser = fan_out)]
    fan_out: Vec<usize>,
    /// The grouping of errors: `independent`, `bursts:N` of N calls in a row, or `episodes:N` of a server for N
    /// tasks; their share is the same.
    #[arg(long, value_delimiter = ',', default_value = "independent,bursts:16,episodes:20", value_name = "KIND,…", value_parser = correlation)]
    correlation: Vec<Correlation>,
    /// Patterns to compare with `none`.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "retry-budget,degradation,breaker,latched-breaker,routing,hedging,all",
        value_name = "PATTERN,…",
        value_parser = PossibleValuesParser::new(NAMED.map(|named| named.name))
    )]
    pattern: Vec<String>,
    /// The share of attempts with a wrong answer, which the client does not notice.
    #[arg(long, default_value = "0", value_name = "SHARE", value_parser = share)]
    wrong: f64,
    /// The share of attempts that take longer than the deadline of a task.
    #[arg(long, default_value = "0", value_name = "SHARE", value_parser = share)]
    slow: f64,
    /// The number of seeds; how much they differ is a part of the intervals.
    #[arg(long, default_value = "100", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=MOST_SEEDS))]
    seeds: u32,
    /// Writes a plot of the blast radius as SVG; `-` prints it instead of the table.
    #[arg(long, value_name = "FILE")]
    svg: Option<FilePlace>,
    /// The values along the horizontal axis of the plot.
    #[arg(long, value_enum, default_value = "error-rate", value_name = "AXIS", requires = "svg")]
    x: HorizontalAxis,
    /// The format of the table.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HorizontalAxis {
    ErrorRate,
    FanOut,
}

const MOST_SEEDS: i64 = 5000;
const MOST_FAN_OUT: usize = 64;
/// The greatest length of bursts and episodes: what fits into a run of a seed.
const MOST_LENGTH: u32 = 1000;

impl ChaosArgs {
    /// True if servers are started.
    pub(crate) fn runs(&self) -> bool {
        matches!(self.command, ChaosCommand::Run(_))
    }
}

pub(crate) fn chaos(args: ChaosArgs, console: &Console) -> Result<Exit, Exit> {
    match args.command {
        ChaosCommand::Run(args) => run_campaign(*args, console),
        ChaosCommand::Demo(args) => Ok(run_demo(&args, console)),
        ChaosCommand::Sweep(args) => run_sweep(&args, console),
    }
}

fn run_demo(args: &DemoArgs, console: &Console) -> Exit {
    let (first, others) = (play_published(args.seed), play_paired(args.seeds));
    console.data(&match args.format {
        ListFormat::Text => text(args.seed, &first, args.seeds, &others),
        ListFormat::Json => format!("{:#}\n", json(args.seed, &first, args.seeds, &others)),
    })
}

fn run_sweep(args: &SweepArgs, console: &Console) -> Result<Exit, Exit> {
    let grid = args.grid();
    if let Some(mistake) = grid.mistake() {
        return Err(console.fail(Exit::Usage, mistake, None));
    }
    let found = sweep(grid);
    if let Some(path) = &args.svg {
        let axis = match args.x {
            HorizontalAxis::ErrorRate => PlotAxis::ErrorRate,
            HorizontalAxis::FanOut => PlotAxis::FanOut,
        };
        sink::write(path, &plot(&found, axis)).map_err(|error| console.fail(Exit::Environment, error, None))?;
        if **path == *Path::new("-") {
            return Ok(Exit::Passed);
        }
    }
    Ok(console.data(&match args.format {
        ListFormat::Text => sweep_text(&found),
        ListFormat::Json => format!("{:#}\n", sweep_json(&found)),
    }))
}

impl SweepArgs {
    /// The grid of the flags; `none` comes first, because the others are compared with it.
    fn grid(&self) -> SweepGrid {
        let others = self.pattern.iter().filter_map(|name| NamedPatterns::by_name(name));
        let others = others.filter(|named| **named != NAMED[0]);
        SweepGrid {
            correlations: self.correlation.clone(),
            error_rates: self.error_rate.clone(),
            fan_outs: self.fan_out.clone(),
            patterns: std::iter::once(&NAMED[0]).chain(others).collect(),
            wrong: self.wrong,
            slow: self.slow,
            seeds: self.seeds,
        }
    }
}

fn fan_out(text: &str) -> Result<usize, String> {
    let calls = text.parse().ok().filter(|calls| (1..=MOST_FAN_OUT).contains(calls));
    calls.ok_or_else(|| format!("invalid fan-out `{text}`; write a whole number from 1 to {MOST_FAN_OUT}"))
}

fn correlation(text: &str) -> Result<Correlation, String> {
    if text == "independent" {
        return Ok(Correlation::Independent);
    }
    let length = |number: &str| {
        let length = number.parse().ok().filter(|length| (1..=MOST_LENGTH).contains(length));
        length.ok_or_else(|| format!("invalid length `{number}`; write a whole number from 1 to {MOST_LENGTH}"))
    };
    match text.split_once(':') {
        Some(("bursts", number)) => length(number).map(Correlation::Bursts),
        Some(("episodes", number)) => length(number).map(Correlation::Episodes),
        Some(_) | None => {
            Err(format!("invalid correlation `{text}`; write `independent`, `bursts:16` or `episodes:20`"))
        }
    }
}
