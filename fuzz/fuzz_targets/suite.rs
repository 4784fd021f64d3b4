//! The YAML decoder and everything behind it: any bytes become a plan, or mistakes that can be shown.
//!
//! What follows the first line `%%%` is the text of every other file that the suite names.
#![no_main]

use std::io;
use std::path::Path;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use mcprove::block::load;
use mcprove::plan::{Selection, build, collect_declaration};
use mcprove::source::{Color, Diagnostic, Sources, Style, render};
use mcprove::suite::Files;
use mcprove::taxonomy::Registry;

/// One suite, and one text for all other files.
struct Two<'a> {
    suite: &'a str,
    other: Option<&'a str>,
}

impl Files for Two<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == Path::new("suite.yml") {
            return Ok(self.suite.to_owned());
        }
        self.other.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (suite, other) = text.split_once("\n%%%\n").map_or((text, None), |(suite, other)| (suite, Some(other)));
    let mut sources = Sources::default();
    let mut warnings = Vec::new();
    let loaded = load(Path::new("suite.yml"), &Two { suite, other }, &mut sources, &mut warnings);
    show(&warnings, &sources);
    match loaded {
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "a refused suite says why");
            show(&mistakes, &sources);
        }
        Ok(suite) => {
            let sources = Arc::new(sources);
            match build(vec![suite], Selection::default(), Registry::builtin(), Arc::clone(&sources)) {
                Ok(plan) => drop(collect_declaration(plan.cases())),
                Err(mistakes) => show(&mistakes, &sources),
            }
        }
    }
});

fn show(found: &[Diagnostic], sources: &Sources) {
    for diagnostic in found {
        for color in [Color::Never, Color::Always] {
            assert!(!render(diagnostic, sources, Style::new(color, 80)).is_empty());
        }
    }
}
