//! Writes the tests that fail because of what a campaign found.

use std::path::Path;

use serde_json::{Value, json};

use crate::block::campaign;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::event::Section;
use crate::files::FilePlace;
use crate::plan::Plan;
use crate::prove::{FileRelation, head_including};
use crate::report::sink;
use crate::source::file::{WRITTEN, read_text};
use crate::source::yaml_writer;

/// The beginning of every file, so that no other is overwritten.
const MARK: &str = "# Faults that break a server of ";

/// Writes the tests of a campaign's sections; a file that was not written by this flag stays as it is.
pub(crate) fn write_failing_tests(
    path: &FilePlace,
    sections: &[Section],
    plan: &Plan,
    console: &Console,
) -> Result<(), Exit> {
    let [planned] = plan.suites.as_slice() else {
        let help = "run the campaign of one suite at a time";
        return Err(console.fail(Exit::Usage, "`--write` writes tests for one suite", Some(help)));
    };
    let of_campaigns = sections.iter().filter(|section| section.block == campaign::KEY);
    let mut tests: Vec<&Value> = Vec::new();
    for test in of_campaigns.filter_map(|section| section.data["tests"].as_array()).flatten() {
        // A server breaks in the same way in each of its revisions.
        if !tests.iter().any(|known| known["name"] == test["name"]) {
            tests.push(test);
        }
    }
    if tests.is_empty() {
        console.note(&format!("`{}` was not written: no fault broke a server", path.display()));
        return Ok(());
    }
    let known = read_text(path, WRITTEN).unwrap_or_default();
    if !known.is_empty() && !known.starts_with(MARK) {
        let help = "it was not written by `--write`; name another file, or move it away";
        return Err(console.fail(Exit::Usage, format!("`{}` already exists", path.display()), Some(help)));
    }
    let suite = &planned.suite;
    let name = format!("{}, faults that break it", suite.name.value);
    let head = head_including(suite, &name, FileRelation { path, here: Path::new("") }, None);
    let text = format!(
        "{MARK}`{}`; each test fails as long as it does.\n{}\ntests:\n{}",
        suite.file,
        yaml_writer::block(&head, 0),
        yaml_writer::block(&json!(tests), 2),
    );
    sink::write(path, &text).map_err(|error| console.fail(Exit::Environment, error, None))?;
    console.note(&format!("wrote `{0}`; `mcprove run {0}` runs it", path.display()));
    Ok(())
}
