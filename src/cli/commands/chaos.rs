//! `mcprove chaos demo`: what patterns of resilience are worth, simulated without a server.

use clap::{Args, Subcommand, ValueEnum};

use crate::chaos::{json, paired, published, text};
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// Simulates tool calls under faults, without a server and without a network.
#[derive(Debug, Args)]
pub(in crate::cli) struct ChaosArgs {
    #[command(subcommand)]
    command: ChaosCommand,
}

#[derive(Debug, Subcommand)]
enum ChaosCommand {
    Demo(DemoArgs),
}

/// Compares patterns of resilience: as mcp-chaos publishes it, and with the same faults for every pattern.
#[derive(Debug, Args)]
struct DemoArgs {
    /// The seed of the published table.
    #[arg(long, default_value = "42", value_name = "NUMBER")]
    seed: u32,
    /// The number of seeds of the second table.
    #[arg(long, default_value = "100", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=5000))]
    seeds: u32,
    /// The format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TableFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

pub(in crate::cli) fn chaos(args: &ChaosArgs, console: &Console) -> Exit {
    let ChaosCommand::Demo(demo) = &args.command;
    let (first, second) = (published(demo.seed), paired(demo.seeds));
    console.data(&match demo.format {
        TableFormat::Text => text(demo.seed, &first, demo.seeds, &second),
        TableFormat::Json => format!("{:#}\n", json(demo.seed, &first, demo.seeds, &second)),
    })
}
