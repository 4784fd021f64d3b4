//! Arguments in, exit code out.
//!
//! The only reader of the environment. Each command is a file under `commands` and turns what was typed into what the
//! layers below want.
//! Start reading in [`main`].

mod baseline;
mod calls;
mod command_groups;
mod commands;
mod console;
mod env_file;
mod environment;
mod exit;
mod flags_after_dashes;
mod kept;
mod kept_arguments;
mod loopback;
mod monitor_state;
mod paths;
mod recorded_suites;
mod server;
mod shard;
mod state;
mod suites;
mod system_signals;
mod terminal;
mod watch;
mod written_files;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};

use self::console::{ColorWhen, Console};
use self::environment::Environment;

use crate::source::visible_line;
use crate::taxonomy::Registry;
use crate::transport::orphans;

pub use self::exit::Exit;

/// The width of help for a reader whose terminal is wider, or unknown.
const HELP_WIDTH: usize = 100;

/// Runs test suites against MCP servers and scores which faults the suites would notice.
#[derive(Debug, Parser)]
#[command(name = "mcprove", version, disable_help_subcommand = true, max_term_width = HELP_WIDTH)]
struct CliArguments {
    #[command(subcommand)]
    command: CliCommand,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    color: ColorWhen,
    /// Reads environment variables for `{{ env.NAME }}` from a file of NAME=value lines; what is set already stays.
    #[arg(long, global = true, value_name = "FILE")]
    env_file: Vec<PathBuf>,
    /// Stops at each byte on standard input, and at its end, as at Ctrl-C: for a program that has no signals to send.
    #[arg(long, hide = true)]
    stop_by_input: bool,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Run(Box<commands::run_command::WatchedRunArgs>),
    #[command(mut_arg("paths", server::positional))]
    Compliance(Box<commands::compliance::ComplianceArgs>),
    #[command(mut_arg("paths", server::positional))]
    Lint(Box<commands::lint::LintArgs>),
    #[command(mut_arg("paths", server::positional))]
    Fuzz(Box<commands::fuzz::FuzzArgs>),
    Init(Box<commands::init::InitArgs>),
    Snapshot(Box<commands::snapshot::SnapshotArgs>),
    Tools(Box<commands::tools::ToolsArgs>),
    Doctor(Box<commands::doctor::DoctorArgs>),
    Login(Box<commands::login::LoginArgs>),
    Logout(Box<commands::login::LogoutArgs>),
    Call(Box<commands::ask::ToolCallArgs>),
    Read(Box<commands::ask::ReadArgs>),
    Prompt(Box<commands::ask::PromptArgs>),
    Complete(Box<commands::ask::CompleteArgs>),
    Prove(Box<commands::prove::ProveArgs>),
    Grow(Box<commands::grow::GrowArgs>),
    Check(commands::check::CheckArgs),
    Fmt(commands::fmt::FmtArgs),
    Plan(commands::plan::PlanArgs),
    Merge(Box<commands::merge::MergeArgs>),
    Report(commands::report::ReportArgs),
    Diff(commands::diff::DiffArgs),
    Explain(commands::explain::ExplainArgs),
    Findings(commands::findings::FindingsArgs),
    Convert(commands::convert::ConvertArgs),
    #[command(mut_arg("paths", server::positional))]
    Ci(Box<commands::ci::CiArgs>),
    #[command(mut_arg("paths", server::positional))]
    Audit(Box<commands::audit::AuditArgs>),
    FaultCoverage(commands::fault_coverage::FaultCoverageArgs),
    Chaos(commands::chaos::ChaosArgs),
    Relay(commands::relay::RelayArgs),
    Lsp(commands::lsp::LspArgs),
    Schema(commands::schema::SchemaArgs),
    Serve(commands::serve::ServeArgs),
    Mock(commands::mock::MockArgs),
    Monitor(Box<commands::monitor::MonitorArgs>),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
}

impl CliCommand {
    /// True if its words may be the command that starts a server.
    fn takes_a_server(&self) -> bool {
        matches!(
            self,
            Self::Compliance(_)
                | Self::Lint(_)
                | Self::Fuzz(_)
                | Self::Snapshot(_)
                | Self::Ci(_)
                | Self::Audit(_)
                | Self::Run(_)
                | Self::Prove(_)
                | Self::Tools(_)
                | Self::Doctor(_)
                | Self::Init(_)
        )
    }

    /// True if it reads suites from files, and compares them with the registry.
    fn reads_suites(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Prove(_) | Self::Plan(_) | Self::Check(_) | Self::FaultCoverage(_))
    }

    /// The sentence that says what a mistake prevented.
    fn nothing_done_text(&self) -> &'static str {
        match self {
            Self::Plan(_) => "nothing was planned",
            Self::Report(_) => "no document was written",
            Self::Merge(_) => "nothing was merged",
            Self::FaultCoverage(_) => "nothing was scored",
            Self::Chaos(args) if args.runs() => "nothing was run",
            Self::Convert(_) => "nothing was converted",
            Self::Check(_)
            | Self::Fmt(_)
            | Self::Chaos(_)
            | Self::Explain(_)
            | Self::Lsp(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Monitor(_)
            | Self::Findings(_) => "",
            Self::Prove(_) => "nothing was proven",
            Self::Grow(_) => "nothing was added",
            Self::Run(_) | Self::Serve(_) | Self::Mock(_) | Self::Relay(_) => "nothing was run",
            Self::Compliance(_) | Self::Lint(_) | Self::Ci(_) | Self::Audit(_) => "nothing was checked",
            Self::Fuzz(_) => "nothing was called",
            Self::Init(_) => "no suite was written",
            Self::Snapshot(_) => "nothing was recorded",
            Self::Diff(_) => "nothing was compared",
            Self::Tools(_) => "nothing was listed",
            Self::Doctor(_) => "nothing was examined",
            Self::Login(_) => "nobody logged in",
            Self::Logout(_) => "nobody logged out",
            Self::Call(_) | Self::Read(_) | Self::Prompt(_) | Self::Complete(_) => "nothing was asked",
        }
    }
}

/// Does what the command line says; the only caller is the program.
pub fn main() -> ExitCode {
    if let Some(answered) = commands::completions::answer_shell() {
        return answered;
    }
    let environment = Environment::read();
    let arguments = match CliArguments::try_parse().map_err(|error| with_groups_in_help(error, &environment)) {
        Ok(arguments) => arguments,
        Err(mut error) => {
            suggest_run(&mut error);
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Passed };
            // A closed pipe is the reader's choice.
            let _ = error.print();
            return code.into();
        }
    };
    let CliArguments { command, color, env_file, stop_by_input } = arguments;
    let mut console = Console::new(color, environment, command.nothing_done_text());
    if let Err(exit) = env_file::add_variables(&mut console, &env_file) {
        return exit.into();
    }
    let console = &console;
    if command.takes_a_server() {
        let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        flags_after_dashes::warning(&CliArguments::command(), &typed).inspect(|warning| console.note(warning));
    }
    if command.reads_suites() {
        // Reading the registry takes as long as reading a large suite; it is used after the suites are read.
        std::thread::spawn(|| Registry::builtin().families.len());
    }
    if stop_by_input {
        system_signals::hear_input(commands::signals::exit_interrupted);
    }
    orphans::adopt_orphans();
    let done = match command {
        CliCommand::Run(args) => commands::run_command::run_command(*args, console),
        CliCommand::Compliance(args) => commands::compliance::compliance(*args, console),
        CliCommand::Lint(args) => commands::lint::lint(*args, console),
        CliCommand::Fuzz(args) => commands::fuzz::fuzz(*args, console),
        CliCommand::Init(args) => commands::init::init(&args, console),
        CliCommand::Snapshot(args) => commands::snapshot::snapshot(&args, console),
        CliCommand::Tools(args) => commands::tools::tools(&args, console),
        CliCommand::Doctor(args) => commands::doctor::doctor(&args, console),
        CliCommand::Login(args) => commands::login::login(&args, console),
        CliCommand::Logout(args) => commands::login::logout(&args, console),
        CliCommand::Call(args) => commands::ask::call(*args, console),
        CliCommand::Read(args) => commands::ask::read(*args, console),
        CliCommand::Prompt(args) => commands::ask::prompt(*args, console),
        CliCommand::Complete(args) => commands::ask::complete(*args, console),
        CliCommand::Prove(args) => commands::prove::prove(*args, console),
        CliCommand::Grow(args) => commands::grow::grow(&args, console),
        CliCommand::Fmt(args) => commands::fmt::fmt(&args, console),
        CliCommand::Check(args) => commands::check::check(args, console),
        CliCommand::Plan(args) => commands::plan::plan(args, console),
        CliCommand::Merge(args) => commands::merge::merge_recordings(&args, console),
        CliCommand::Report(args) => commands::report::report(&args, console),
        CliCommand::Diff(args) => commands::diff::diff(&args, console),
        CliCommand::Explain(args) => commands::explain::explain(&args, console),
        CliCommand::Audit(args) => commands::audit::audit(*args, console),
        CliCommand::Ci(args) => commands::ci::ci(*args, console),
        CliCommand::Findings(args) => commands::findings::findings(&args, console),
        CliCommand::Convert(args) => commands::convert::convert(&args, console),
        CliCommand::FaultCoverage(args) => commands::fault_coverage::fault_coverage(args, console),
        CliCommand::Chaos(args) => commands::chaos::chaos(args, console),
        CliCommand::Relay(args) => return commands::relay::relay(&args, console),
        CliCommand::Lsp(args) => commands::lsp::lsp(&args, console),
        CliCommand::Schema(args) => Ok(commands::schema::schema(&args, console)),
        CliCommand::Serve(args) => commands::serve::serve(&args, console),
        CliCommand::Monitor(args) => commands::monitor::monitor(&args, console),
        CliCommand::Mock(args) => return commands::mock::mock(&args, console),
        CliCommand::Completions(args) => commands::completions::completions(&args, console),
        CliCommand::Man(args) => commands::man::man(&args, console),
    };
    report_orphans(console);
    done.unwrap_or_else(|exit| exit).into()
}

/// Reports processes that servers left running outside of their process groups.
fn report_orphans(console: &Console) {
    let ended: Vec<String> =
        orphans::take_killed_orphans().into_iter().map(|(name, count)| format!("{count} × `{name}`")).collect();
    if !ended.is_empty() {
        let ended = ended.join(", ");
        console.note(&visible_line(&format!("ended processes that servers left running after their exit: {ended}")));
    }
}

/// The same answer to the command line, with the commands in groups where it is help. They are put in groups only then,
/// since that takes a third of the time of `--version`.
fn with_groups_in_help(error: clap::Error, environment: &Environment) -> clap::Error {
    if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand) {
        return error;
    }
    let width = environment.width.unwrap_or(HELP_WIDTH);
    command_groups::with_groups(CliArguments::command(), width).try_get_matches().err().unwrap_or(error)
}

/// A file where a command belongs is most often meant for `run`.
fn suggest_run(error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    if word.contains(['.', '/']) {
        let tip = format!("to run suites, write `mcprove run {word}`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// The help text of every command, for the manual.
pub fn help() -> Vec<(String, String)> {
    let mut root = command_groups::with_groups(CliArguments::command(), HELP_WIDTH).term_width(HELP_WIDTH);
    root.build();
    let whole = (String::from("mcprove"), root.render_help().to_string());
    let each = root.get_subcommands_mut().map(|command| {
        (
            format!("mcprove {}", command.get_name()),
            command.clone().term_width(HELP_WIDTH).render_long_help().to_string(),
        )
    });
    std::iter::once(whole).chain(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clap checks it only with debug assertions: of two with one id, one takes the values of the other.
    #[test]
    fn arguments_of_a_command_have_ids_of_their_own() {
        fn shared(command: &clap::Command) -> Vec<String> {
            let ids: Vec<&str> = command.get_arguments().map(|argument| argument.get_id().as_str()).collect();
            let twice = ids.iter().enumerate().filter(|(at, id)| ids[..*at].contains(id));
            let own = twice.map(|(_, id)| format!("{} {id}", command.get_name()));
            own.chain(command.get_subcommands().flat_map(shared)).collect()
        }
        assert_eq!(shared(&CliArguments::command()), Vec::<String>::new());
    }
}
