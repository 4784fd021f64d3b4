//! Where text for people goes: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use clap::ValueEnum;

use super::environment::Environment;
use super::exit::Exit;
use crate::source::{Color, Diagnostic, Sources, Style, render, render_all};

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set or `CLICOLOR` is 0.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The two streams and how to lay out text for them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    /// For standard output.
    pub(super) style: Style,
    /// For standard error.
    pub(super) error_style: Style,
    /// What mistakes keep the command from doing, in words; empty where its work is to find them.
    pub(super) undone: &'static str,
}

/// The width for text that goes to a file.
const WIDTH_OF_FILES: usize = 100;

impl Output {
    pub(super) fn new(when: ColorWhen, environment: &Environment, undone: &'static str) -> Self {
        let style = |is_terminal: bool| {
            let color = match when {
                ColorWhen::Always => Color::Always,
                ColorWhen::Auto if wants_color(environment, is_terminal) => Color::Always,
                ColorWhen::Auto | ColorWhen::Never => Color::Never,
            };
            Style::new(color, environment.width.unwrap_or(WIDTH_OF_FILES))
        };
        Self { style: style(environment.output_is_terminal), error_style: style(io::stderr().is_terminal()), undone }
    }

    /// How to lay out a document: for a file without colours, whatever the terminal can show.
    pub(super) fn style_for(&self, path: &std::path::Path) -> Style {
        if path == std::path::Path::new("-") { self.style } else { Style::new(Color::Never, WIDTH_OF_FILES) }
    }

    /// Writes data to standard output; a reader that went away is no error, any other failure is told.
    pub(super) fn data(&self, text: &str) -> Exit {
        match self.part(text) {
            ControlFlow::Break(exit) => exit,
            ControlFlow::Continue(()) => Exit::Passed,
        }
    }

    /// Like [`Self::data`] for whoever has more to write later; breaks where nobody can read it.
    pub(super) fn part(&self, text: &str) -> ControlFlow<Exit> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ControlFlow::Break(Exit::Passed),
            Err(error) => {
                self.error(&format!("cannot write to standard output: {error}"), None);
                ControlFlow::Break(Exit::Environment)
            }
        }
    }

    /// Writes a message for the user.
    #[expect(clippy::unused_self, reason = "whoever writes must have been given the right to")]
    pub(super) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Writes an error that has no place in a file.
    pub(super) fn error(&self, message: &str, help: Option<&str>) {
        let mut diagnostic = Diagnostic::without_place("error", message);
        diagnostic.help = help.map(str::to_owned);
        let text = render(&diagnostic, &Sources::default(), self.error_style);
        let _ = io::stderr().lock().write_all(text.replacen("error[error]", "error", 1).as_bytes());
    }

    /// Shows diagnostics in the order of the files, and how many there are.
    pub(super) fn diagnostics(&self, found: &[Diagnostic], sources: &Sources) {
        let text = render_all(found, sources, self.undone, self.error_style);
        let _ = io::stderr().lock().write_all(text.as_bytes());
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
