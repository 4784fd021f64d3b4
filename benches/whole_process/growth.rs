//! How the cost of a command grows with the number of its cases: `MCPROVE_ONLY=growth`.
//!
//! Each line has time and memory for each number of cases, and the exponent between two of them: 1 is linear, 2 a square.
//! Small runs show less than 1, since an empty one costs something, too.

use std::fs;
use std::path::Path;

use super::{Cost, cost_of_floor, is_set, mcprove, median, peak, suite, suite_of, text};

/// The numbers of cases; ten times as many with `MCPROVE_FULL=1`.
const SIZES: [usize; 3] = [500, 5_000, 50_000];
const MOST: usize = 500_000;
/// The most cases in one file, so that a larger run has several.
const MOST_IN_FILE: usize = 50_000;
/// A proof runs every case for each mutant.
const PROVEN: [usize; 3] = [125, 250, 500];
/// The times that each is measured: once more than is counted, since the first warms up.
const RUNS: usize = 4;

/// Prints a line for each command.
pub(crate) fn grow(floor: &Path, scratch: &Path) {
    let mut sizes = SIZES.to_vec();
    sizes.extend(is_set("MCPROVE_FULL").then_some(MOST));
    let echo = text(&floor.join("target/release/echo_server"));
    let file = |what: &str, size: usize| format!("{what}-{size}.yml");
    let command = format!("[{echo:?}]");
    let files = |size: usize| {
        let cases = |number: usize| MOST_IN_FILE.min(size - number * MOST_IN_FILE);
        let files =
            (0..size.div_ceil(MOST_IN_FILE)).map(|number| (file(&format!("grown-{number}"), size), cases(number)));
        files.collect::<Vec<_>>()
    };
    for (name, cases) in sizes.iter().flat_map(|size| files(*size)) {
        fs::write(scratch.join(name), suite(&command, cases)).unwrap();
    }
    let of_suite = |words: &str, size: usize| {
        let names: Vec<String> = files(size).into_iter().map(|(name, _)| name).collect();
        words.replace("SUITE", &names.join(" ")).replace("SIZE", &size.to_string())
    };
    for words in ["check SUITE", "plan SUITE", "run SUITE"] {
        line(words, &sizes, |size| program(&of_suite(words, size), scratch));
    }
    line("floor of run", &sizes, |size| cost_of_floor(floor, size, &[&echo]));
    let reports = "--report ndjson=SIZE.ndjson --report junit=SIZE.xml --report json=SIZE.json";
    let words = format!("run SUITE {reports}");
    line("run SUITE, three reports", &sizes, |size| program(&of_suite(&words, size), scratch));
    line("report --as junit", &sizes, |size| {
        program(&format!("report {size}.ndjson --as junit -o {size}.xml"), scratch)
    });
    line("report --as html", &sizes, |size| {
        program(&format!("report {size}.ndjson --as html -o {size}.html"), scratch)
    });
    for size in &sizes {
        for part in 1..=2 {
            program(
                &of_suite(&format!("run SUITE --shard {part}/2 --report ndjson=SIZE-{part}.ndjson"), *size),
                scratch,
            );
        }
    }
    line("merge of two parts", &sizes, |size| program(&format!("merge {size}-1.ndjson {size}-2.ndjson"), scratch));
    let call = "call: add\n    args: { a: 1, b: 2 }\n    expect: [{ at: result.structuredContent.sum, equals: 3 }]\n";
    for size in PROVEN {
        fs::write(scratch.join(file("proven", size)), suite_of("{ builtin: demo }", size, call)).unwrap();
        program(&format!("run {} --record {size}.recording", file("proven", size)), scratch);
    }
    line("prove --mutant TOOL", &PROVEN, |size| {
        program(&format!("prove --recording {size}.recording --mutant TOOL"), scratch)
    });
}

fn program(words: &str, scratch: &Path) -> Cost {
    mcprove(&words.split(' ').collect::<Vec<_>>(), scratch)
}

fn line(title: &str, sizes: &[usize], cost: impl Fn(usize) -> Cost) {
    println!("{title}");
    let mut before: Option<(usize, f64, f64)> = None;
    for size in sizes {
        let costs: Vec<Cost> = (0..RUNS).map(|_| cost(*size)).skip(1).collect();
        let (time, memory) = (median(&costs), peak(&costs));
        let growth = before.map_or(String::new(), |(known, earlier, less)| {
            let exponent = (time / earlier).ln() / (*size as f64 / known as f64).ln();
            let each = (memory - less) * 1024.0 / (size - known) as f64;
            format!("  exponent {exponent:.2}, {each:.2} KiB more for each case")
        });
        println!("  {size:8} cases {time:10.1} ms {memory:8.1} MiB{growth}");
        before = Some((*size, time, memory));
    }
}
