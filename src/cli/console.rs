//! Text for people: data goes to standard output, everything else to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::ValueEnum;

use super::environment::Environment;
use super::exit::Exit;
use crate::source::{Color, Diagnostic, SourceFile, SourceId, Sources, Style, file, printable, render, render_all};
use crate::suite::why_unreadable;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set or `CLICOLOR` is 0.
    Auto,
    Always,
    Never,
}

/// The form of a list that a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The two streams, how to lay out text for them, and the environment of the program.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    /// For standard output.
    pub(crate) style: Style,
    /// For standard error.
    pub(crate) error_style: Style,
    /// The work that a mistake prevents, such as "nothing was run"; empty where finding mistakes is the work.
    undone: &'static str,
    pub(crate) environment: Environment,
}

/// The width for text that goes to a file.
const WIDTH_OF_FILES: usize = 100;

impl Console {
    pub(crate) fn new(when: ColorWhen, environment: Environment, undone: &'static str) -> Self {
        let style = |is_terminal: bool| {
            let color = match when {
                ColorWhen::Always => Color::Always,
                ColorWhen::Auto if wants_color(&environment, is_terminal) => Color::Always,
                ColorWhen::Auto | ColorWhen::Never => Color::Never,
            };
            Style::new(color, environment.width.unwrap_or(WIDTH_OF_FILES))
        };
        let (style, error_style) = (style(environment.output_is_terminal), style(io::stderr().is_terminal()));
        Self { style, error_style, undone, environment }
    }

    /// The style of a document: for a file without colours, for a terminal as it supports.
    pub(crate) fn style_for(&self, path: &Path) -> Style {
        if path == Path::new("-") { self.style } else { Style::new(Color::Never, WIDTH_OF_FILES) }
    }

    /// Writes data to standard output; a reader that went away is no error.
    pub(crate) fn data(&self, text: &str) -> Exit {
        self.part(text).err().unwrap_or(Exit::Passed)
    }

    /// Writes a part of the data; fails where nobody reads the rest.
    pub(crate) fn part(&self, text: &str) -> Result<(), Exit> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(printable(text, self.style.color).as_bytes()).and_then(|()| stdout.flush()).map_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Exit::Passed;
            }
            self.fail(Exit::Environment, format!("cannot write to standard output: {error}"), None)
        })
    }

    /// Empties the screen, where standard output is one; what scrolled out of it stays.
    pub(crate) fn clear_screen(&self) {
        if self.environment.output_is_terminal && self.environment.get("TERM") != Some("dumb") {
            let _ = io::stdout().lock().write_all(b"\x1b[2J\x1b[H");
        }
    }

    /// Writes a message for the user.
    pub(crate) fn note(&self, text: &str) {
        self.write(&format!("{text}\n"));
    }

    fn write(&self, text: &str) {
        let _ = io::stderr().lock().write_all(printable(text, self.error_style.color).as_bytes());
    }

    /// Writes an error that has no place in a file.
    pub(crate) fn error(&self, message: impl Display, help: Option<&str>) {
        let mut diagnostic = Diagnostic::without_place("error", message.to_string());
        diagnostic.help = help.map(str::to_owned);
        let text = render(&diagnostic, &Sources::default(), self.error_style);
        self.write(&text.replacen("error[error]", "error", 1));
    }

    /// Writes an error that ends the command, and returns the exit code.
    pub(crate) fn fail(&self, exit: Exit, message: impl Display, help: Option<&str>) -> Exit {
        self.error(message, help);
        exit
    }

    /// Shows diagnostics in the order of the files, and how many there are.
    pub(crate) fn diagnostics(&self, found: &[Diagnostic], sources: &Sources) {
        let text = render_all(found, sources, self.undone, self.error_style);
        self.write(&text);
    }

    /// Shows mistakes that end the command, and returns the exit code.
    pub(crate) fn refuse(&self, mistakes: &[Diagnostic], sources: &Sources) -> Exit {
        self.diagnostics(mistakes, sources);
        Exit::Usage
    }

    /// Reads a file that a flag names; `noun` says which one in the error.
    pub(crate) fn read(
        &self,
        noun: &str,
        path: &Path,
        most: u64,
        help: Option<&str>,
    ) -> Result<(Sources, SourceId), Exit> {
        let text = file::read_text(path, most).map_err(|error| {
            let message = format!("cannot read the {noun} `{}`: {}", path.display(), why_unreadable(&error));
            self.fail(Exit::Usage, message, help)
        })?;
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new(path.display().to_string(), text));
        Ok((sources, id))
    }
}

fn wants_color(environment: &Environment, is_terminal: bool) -> bool {
    if environment.get("NO_COLOR").is_some() || environment.get("TERM") == Some("dumb") {
        return false;
    }
    if environment.get("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    is_terminal && environment.get("CLICOLOR") != Some("0")
}
