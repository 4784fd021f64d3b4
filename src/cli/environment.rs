//! The environment of the program, read once.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;

/// The surroundings.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// Every environment variable that is text.
    pub(crate) variables: Arc<BTreeMap<String, String>>,
    /// True if the user can be asked: standard input and standard error are a terminal.
    pub(crate) can_ask: bool,
    /// True if standard output is a terminal.
    pub(crate) output_is_terminal: bool,
    /// The width of that terminal, or of what `COLUMNS` says.
    pub(crate) width: Option<usize>,
    /// The number of processors that may be used.
    pub(crate) processors: usize,
    /// True if this runs in CI.
    pub(crate) is_ci: bool,
}

impl Environment {
    /// Looks around.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    pub(crate) fn read() -> Self {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let columns = variables.get("COLUMNS").and_then(|columns| columns.parse().ok());
        let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Self {
            can_ask: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            output_is_terminal: std::io::stdout().is_terminal(),
            width: terminal.or(columns),
            processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            is_ci: variables.get("CI").is_some_and(|value| !["", "false", "0"].contains(&value.as_str())),
            variables: Arc::new(variables),
        }
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}
