//! Files that a command would write: no two to one place, and none over what it reads, or over a suite; what would
//! change in one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::console::Console;
use super::exit::Exit;
use crate::files::{FilePlace, is_same_file, real_path};
use crate::report::Format;
use crate::report::sink;
use crate::source::{difference, visible};

/// Refuses to write a suite where a file is.
pub(crate) fn spare(file: &FilePlace, help: &str, console: &Console) -> Result<(), Exit> {
    if !file.exists() && !file.is_symlink() {
        return Ok(());
    }
    Err(console.fail(Exit::Usage, format!("no suite was written: `{}` is there already", file.display()), Some(help)))
}

/// The number of unchanged lines around a difference.
const CONTEXT: usize = 3;

/// The lines in which a file would change, in the manner of `diff -u`; empty where it would not.
pub(crate) fn shown_difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let groups = difference(&before, &after, CONTEXT);
    let shown = groups.iter().map(|lines| {
        let lines = lines.iter().map(|(side, line)| format!("{}{}\n", side.sign(), visible(line)));
        lines.collect::<String>()
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The files of reports: where one stands for a file of each server, all of these.
pub(crate) fn of_reports<'a>(
    reports: &'a [(Format, FilePlace)],
    servers: &'a BTreeSet<&'a str>,
) -> impl Iterator<Item = PathBuf> + 'a {
    reports.iter().flat_map(move |(_, place)| -> Vec<PathBuf> {
        if sink::is_by_server(place) {
            servers.iter().map(|server| sink::place_of_server(place, server).to_path_buf()).collect()
        } else {
            vec![place.to_path_buf()]
        }
    })
}

/// Says what is wrong with the places that documents are written to; `inputs` are the files that are read.
pub(crate) fn check<'a>(
    targets: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), String> {
    let inputs: Vec<PathBuf> = inputs.into_iter().map(place).collect();
    let mut taken: Vec<PathBuf> = Vec::new();
    for path in targets {
        let place = place(path);
        if place.is_dir() {
            return Err(format!("`{}` is a folder; name a file in it", path.display()));
        }
        // A device such as `/dev/null` is not overwritten.
        if place.exists() && !place.is_file() {
            continue;
        }
        if inputs.iter().any(|input| *input == place || is_same_file(input, &place)) {
            return Err(format!(
                "`{}` is an input of this run and would be overwritten; write to another file",
                path.display()
            ));
        }
        if taken.contains(&place) {
            return Err(match path.to_str() {
                Some("-") => "two documents cannot both go to standard output; write one of them to a file".to_owned(),
                _ => format!("two documents would be written to `{}`; give each a file of its own", path.display()),
            });
        }
        taken.push(place);
    }
    Ok(())
}

/// One spelling for each place, whether or not there is a file.
fn place(path: &Path) -> PathBuf {
    if path == Path::new("-") {
        return path.to_owned();
    }
    if let Ok(known) = real_path(path) {
        return known;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = real_path(folder).or_else(|_| std::path::absolute(folder));
    folder.unwrap_or_default().join(path.file_name().unwrap_or_default())
}
