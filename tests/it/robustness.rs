//! Thousands of seeded slips in every suite that there is: the loader answers, whatever it reads.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use mcprove::block::load;
use mcprove::source::{Color, Sources, Style, file, render};
use mcprove::suite::Files;

use crate::harness::files;

/// How many changed versions of each file are read.
const ROUNDS: u64 = 60;

/// What slips into files: YAML's own marks, templates, expressions, and text that is hard on columns.
const TOKENS: [&str; 28] = [
    ":",
    ": ",
    "- ",
    "&a ",
    "*a",
    "<<: *a",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "# ",
    "\t",
    "\n",
    "\r\n",
    "---\n",
    "!!binary ",
    "{{",
    "}}",
    "{% for x in range(9) %}",
    "null",
    "-1",
    "1e999",
    "é\u{202e}\u{feff}",
    "\0",
];

/// One suite in memory, and the real files beside it.
struct Edited {
    path: PathBuf,
    text: String,
}

impl Files for Edited {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == self.path { Ok(self.text.clone()) } else { file::read_text(path, 1 << 20) }
    }
}

#[test]
fn the_loader_survives_every_slip() {
    let files = corpus();
    assert!(files.len() > 20, "the corpus is where it was");
    let halves: Vec<&[PathBuf]> = files.chunks(files.len().div_ceil(2)).collect();
    std::thread::scope(|scope| {
        for half in halves {
            scope.spawn(move || half.iter().for_each(|path| mutate(path)));
        }
    });
}

fn mutate(path: &Path) {
    // One suite is no UTF-8, which the loader says.
    let Ok(original) = fs::read_to_string(path) else { return };
    for seed in 1..=ROUNDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ original.len() as u64);
        let mut text = original.clone();
        for _ in 0..=random.below(3) {
            text = slip(&text, &mut random);
        }
        let edited = Edited { path: path.to_owned(), text };
        let result = catch_unwind(AssertUnwindSafe(|| read(&edited)));
        assert!(result.is_ok(), "seed {seed} on {} panics with the text\n{}", path.display(), edited.text);
    }
}

/// Loads the suite and shows every mistake, which walks all spans.
fn read(edited: &Edited) {
    let (mut sources, mut warnings) = (Sources::default(), Vec::new());
    let mistakes = load(&edited.path, edited, &mut sources, &mut warnings).err();
    if let Some(mistakes) = &mistakes {
        assert!(!mistakes.is_empty(), "a refusal says why");
    }
    for mistake in mistakes.iter().flatten().chain(&warnings) {
        // The YAML reader has a thread of its own; one that panics leaves no place behind.
        assert!(mistake.code != "yaml-syntax" || mistake.label.is_some(), "the YAML reader panicked");
        let style = Style::new(Color::Never, 80);
        assert!(render(mistake, &sources, style).contains(mistake.code));
    }
}

fn slip(text: &str, random: &mut Random) -> String {
    let (from, to) = (random.place(text), random.place(text));
    let (from, to) = (from.min(to), from.max(to));
    let near = boundary(text, from + random.below(12));
    match random.below(6) {
        0 => format!("{}{}", &text[..from], &text[near..]),
        1 => format!("{}{}", &text[..from], &text[to..]),
        2 => text[..from].to_owned(),
        3 => format!("{}{}{}", &text[..to], &text[from..near.max(from)], &text[to..]),
        4 => swap_lines(text, random),
        _ => format!("{}{}{}", &text[..from], TOKENS[random.below(TOKENS.len())], &text[from..]),
    }
}

fn swap_lines(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.len() > 1 {
        let (one, other) = (random.below(lines.len()), random.below(lines.len()));
        lines.swap(one, other);
    }
    lines.join("\n")
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        boundary(text, at)
    }
}

/// Every YAML file that ships or is tested with.
fn corpus() -> Vec<PathBuf> {
    ["examples", "suites", "tests/cases"].iter().flat_map(|folder| files(folder, "yml")).collect()
}
