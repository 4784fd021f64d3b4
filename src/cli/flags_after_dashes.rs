//! Flags of mcprove that the user wrote after `--`, and which therefore go to the server.

/// Flags that launchers of servers, such as `docker`, `npx` and `uvx`, have as well.
const FLAGS_OF_LAUNCHERS: [&str; 14] = [
    "color", "cwd", "env", "filter", "format", "header", "help", "output", "parallel", "registry", "time", "timeout",
    "update", "yes",
];

/// A warning about flags of a command after `--`; `typed` are all words of the command line.
pub(crate) fn warning(commands: &clap::Command, typed: &[String]) -> Option<String> {
    let dashes = typed.iter().position(|word| word == "--")?;
    let (before, behind) = typed.split_at(dashes);
    let command = before.iter().skip(1).find_map(|word| commands.find_subcommand(word))?;
    let is_ours = |name: &str| {
        let mut flags = command.get_arguments().filter_map(clap::Arg::get_long);
        !FLAGS_OF_LAUNCHERS.contains(&name) && flags.any(|flag| flag == name)
    };
    let flags = behind.iter().skip(1).filter_map(|word| word.strip_prefix("--")?.split('=').next());
    let mut found: Vec<String> = flags.filter(|name| is_ours(name)).map(|name| format!("`--{name}`")).collect();
    found.dedup();
    let goes = if found.len() == 1 { "goes to the server, not to mcprove" } else { "go to the server, not to mcprove" };
    let them = if found.len() == 1 { "it" } else { "them" };
    let told =
        format!("warning: {} after `--` {goes}; to give {them} to mcprove, write {them} before `--`", found.join(", "));
    (!found.is_empty()).then_some(told)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    #[test]
    fn own_flags_after_dashes_are_warned_about() {
        let flags = ["against", "env", "report"].map(|flag| Arg::new(flag).long(flag));
        let commands = Command::new("mcprove").subcommand(Command::new("snapshot").args(flags));
        let told = |line: &str| {
            let typed: Vec<String> = line.split(' ').map(str::to_owned).collect();
            warning(&commands, &typed).map(|text| text.split(" after").next().unwrap_or_default().to_owned())
        };
        let check = |line: &str, expected: Option<&str>| assert_eq!(told(line).as_deref(), expected, "{line}");
        check("mcprove snapshot -- node s.js --against a.json", Some("warning: `--against`"));
        check("mcprove snapshot -- s --against=a --report json=b", Some("warning: `--against`, `--report`"));
        check("mcprove snapshot --against a.json -- node s.js --port 1", None);
        check("mcprove snapshot -- docker run --env A server", None);
        check("mcprove snapshot http://a/mcp --against a.json", None);
        check("mcprove -- snapshot --against", None);
    }
}
