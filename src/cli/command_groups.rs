//! The commands in groups, as `mcprove --help` lists them.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::styling::Styles;

use super::HELP_WIDTH;
use crate::report::terminal;

/// Every command in the group in which somebody looks for it; a test holds that none is missing.
const GROUPS: [CommandGroup; 6] = [
    CommandGroup { title: "Start here", commands: &["doctor", "ci", "audit", "init"] },
    CommandGroup {
        title: "Ask a server",
        commands: &["tools", "call", "read", "prompt", "complete", "login", "logout"],
    },
    CommandGroup {
        title: "Write and run suites",
        commands: &["run", "monitor", "check", "plan", "fmt", "snapshot", "convert"],
    },
    CommandGroup { title: "Find faults without a suite", commands: &["compliance", "lint", "fuzz", "chaos"] },
    CommandGroup {
        title: "Prove, report and share",
        commands: &["prove", "grow", "fault-coverage", "report", "merge", "diff", "findings", "explain"],
    },
    CommandGroup {
        title: "Tools for clients, editors and agents",
        commands: &["serve", "mock", "relay", "lsp", "schema", "completions", "man"],
    },
];

/// The narrowest help: below it, names of commands and what they do stand on lines of their own.
const NARROWEST: usize = 50;

/// Commands that belong together.
struct CommandGroup {
    title: &'static str,
    commands: &'static [&'static str],
}

/// The command line whose help lists the commands in groups, in lines of that width.
pub(super) fn with_groups(root: Command, width: usize) -> Command {
    let styles = Styles::default();
    let heading = |title: &str| format!("{0}{title}:{0:#}\n", styles.get_header());
    let groups: String = GROUPS.iter().map(|group| heading(group.title) + &lines(&root, group, width) + "\n").collect();
    let options = heading("Options");
    root.help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{options}{{options}}"))
}

/// The commands of a group, each with what it does.
fn lines(root: &Command, group: &CommandGroup, width: usize) -> String {
    let literal = Styles::default();
    let literal = literal.get_literal();
    let all = GROUPS.iter().flat_map(|group| group.commands);
    let column = all.map(|name| name.len()).max().unwrap_or(0) + 4;
    let column = if width < NARROWEST { 6 } else { column };
    let mut text = String::new();
    for command in group.commands.iter().filter_map(|name| root.find_subcommand(name)) {
        let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default());
        let gap = match column.checked_sub(name.len() + 2) {
            Some(gap) if width >= NARROWEST => " ".repeat(gap),
            Some(_) | None => format!("\n{}", " ".repeat(column)),
        };
        let about = terminal::wrap(&about, width.min(HELP_WIDTH) - column).join(&format!("\n{}", " ".repeat(column)));
        let _ = writeln!(text, "  {literal}{name}{literal:#}{gap}{about}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::CliArguments;

    #[test]
    fn every_command_is_in_one_group() {
        let root = CliArguments::command();
        let mut offered: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        offered.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, offered, "a command is in no group, or in two, in src/cli/command_groups.rs");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [40, 60, 80, HELP_WIDTH] {
            let text = with_groups(CliArguments::command(), width).term_width(width).render_help().to_string();
            let widest = text.lines().map(terminal::columns).max();
            assert!(widest <= Some(width), "{width}: {text}");
        }
    }
}
