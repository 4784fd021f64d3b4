//! Writes documents where the user wants them.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::event::Event;
use crate::files::FilePlace;
use crate::source::{FNV, did_you_mean, fnv, hash_text};

use super::{FORMATS, Format, format, ndjson};

/// A document that could not be written.
#[derive(Debug, Error)]
#[error("failed to write `{}`: {reason}; {}", path.display(), advice(reason.kind(), *option))]
pub struct SinkError {
    /// The file or folder.
    pub path: PathBuf,
    /// Why.
    pub reason: io::Error,
    /// The option that names another place, with its value, where there is one.
    pub option: Option<&'static str>,
}

/// The option for reports.
const REPORT: Option<&str> = Some("--report FORMAT=FILE");

/// Reads what follows `--report`: a format, `=`, and a file or `-` for standard output.
///
/// # Errors
///
/// Fails with a sentence where there is no such format or no file.
pub fn parse_target(typed: &str) -> Result<(Format, FilePlace), String> {
    let (name, path) = typed.split_once('=').unwrap_or((typed, ""));
    let Some(format) = format(name) else {
        let help = did_you_mean(name, FORMATS.iter().map(|format| format.name)).unwrap_or_default();
        return Err(format!("unknown report format `{name}`; {help}"));
    };
    if path.is_empty() {
        return Err(format!("`{typed}` names no file; write `{name}=FILE`, or `{name}=-` for standard output"));
    }
    let (folder, _) = path.rsplit_once(['/', std::path::MAIN_SEPARATOR]).unwrap_or_default();
    if folder.contains(BY_SERVER) {
        return Err(format!("`{BY_SERVER}` stands for a server in the name of a file, not in that of a folder"));
    }
    if name == "ndjson" && path.contains(BY_SERVER) {
        return Err(format!("`ndjson` records the whole run; write it to one file, without `{BY_SERVER}`"));
    }
    Ok((format, FilePlace::resolve(Path::new(path))))
}

/// Stands for the name of each server in the name of a file.
const BY_SERVER: &str = "{server}";

/// Returns true if a place stands for a file of each server.
pub fn is_by_server(place: &Path) -> bool {
    place.file_name().is_some_and(|name| name.to_string_lossy().contains(BY_SERVER))
}

/// The file of a server: one whose name is that of no file, such as `io.github.example/users`, is told apart by a hash.
pub fn place_of_server(place: &FilePlace, server: &str) -> FilePlace {
    let pattern = place.file_name().unwrap_or_default().to_string_lossy();
    place.beside(pattern.replace(BY_SERVER, &file_name(server)).as_ref())
}

/// A name as files may have it everywhere.
fn file_name(server: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = server.chars().take(LONGEST_NAME).map(|c| if is_kept(c) { c } else { '_' }).collect();
    // A dot at the beginning hides a file, or stands for a folder.
    let plain = plain.strip_prefix('.').map_or_else(|| plain.clone(), |rest| format!("_{rest}"));
    if plain == server && !plain.is_empty() {
        return plain;
    }
    let hash = hash_text(fnv(FNV, server.as_bytes()));
    format!("{plain}-{}", &hash[..8])
}

/// The most characters of a server's name in that of a file.
const LONGEST_NAME: usize = 100;

/// Writes a document to a file or, for `-`, to standard output.
///
/// # Errors
///
/// Fails where the system refuses.
pub fn write(place: &FilePlace, document: &str) -> Result<(), SinkError> {
    let written = if !is_output(place) {
        place.write(document.as_bytes())
    } else if is_output_closed() {
        Err(io::Error::other("standard output is closed"))
    } else {
        io::stdout().lock().write_all(document.as_bytes())
    };
    written.map_err(|reason| SinkError { path: place.to_path_buf(), reason, option: REPORT })
}

fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// A recording that grows with the run, so that a run which is killed leaves what it saw.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    /// `None` for standard output.
    file: Option<File>,
}

impl EventLog {
    /// Begins a recording in a file, whose folders are created, or, for `-`, on standard output.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn create(place: &FilePlace) -> Result<Self, SinkError> {
        let file =
            if is_output(place) { Ok(None) } else { place.create_folder().and_then(|()| place.create()).map(Some) };
        let file = file.map_err(|reason| SinkError { path: place.to_path_buf(), reason, option: REPORT })?;
        Ok(Self { path: place.to_path_buf(), file })
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn write(&mut self, event: &Event) -> Result<(), SinkError> {
        let line = ndjson::line(event);
        let written = match &mut self.file {
            Some(file) => file.write_all(line.as_bytes()),
            None => io::stdout().lock().write_all(line.as_bytes()),
        };
        written.map_err(|reason| SinkError { path: self.path.clone(), reason, option: REPORT })
    }
}

/// Nothing can read standard output since it was closed when the program started.
///
/// The runtime opens `/dev/null` in its place, and that for reading as well, where whoever wants to hear nothing opens it
/// for writing.
#[cfg(unix)]
fn is_output_closed() -> bool {
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let Ok(output) = io::stdout().as_fd().try_clone_to_owned() else { return true };
    let mut output = File::from(output);
    let device =
        |found: io::Result<std::fs::Metadata>| found.ok().map(|found| found.rdev()).filter(|device| *device != 0);
    let is_null = device(output.metadata()).is_some_and(|own| device(std::fs::metadata("/dev/null")) == Some(own));
    is_null && output.read(&mut [0]).is_ok()
}

#[cfg(not(unix))]
fn is_output_closed() -> bool {
    false
}

fn advice(kind: ErrorKind, option: Option<&str>) -> String {
    let way = option.map(|option| format!(", with `{option}`")).unwrap_or_default();
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system has dozens of reasons, and new ones are added")]
    let words = match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            return format!("choose a folder that you may write to{way}");
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space or choose another disk",
        ErrorKind::IsADirectory => "name a file in that folder",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "a part of the path is a file; choose another folder",
        ErrorKind::InvalidFilename => "choose a shorter name",
        ErrorKind::BrokenPipe => "the reader has closed standard output",
        _ => return format!("choose another place{way}"),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_each_server() {
        for (server, expected) in [
            ("users", "users"),
            ("Users.2", "Users.2"),
            ("io.github.a/users", "io.github.a_users-3c25e50a"),
            ("io.github.a users", "io.github.a_users-ea869551"),
            ("..", "_.-07da1a07"),
            ("ü\n/../x", "___.._x-3f5cface"),
            ("", "-cbf29ce4"),
        ] {
            assert_eq!(file_name(server), expected);
        }
        for (typed, expected) in [
            ("junit=out/{server}.xml", ""),
            ("junit={server}/out.xml", "`{server}` stands for a server in the name of a file, not in that of a folder"),
            ("ndjson={server}.ndjson", "`ndjson` records the whole run; write it to one file, without `{server}`"),
        ] {
            assert_eq!(parse_target(typed).err().unwrap_or_default(), expected, "{typed}");
        }
        for (place, expected) in [("out/{server}.xml", true), ("out.xml", false), ("-", false)] {
            assert_eq!(is_by_server(Path::new(place)), expected, "{place}");
        }
    }

    #[test]
    fn advice_names_the_option() {
        for (kind, option, expected) in [
            (
                ErrorKind::ReadOnlyFilesystem,
                REPORT,
                "choose a folder that you may write to, with `--report FORMAT=FILE`",
            ),
            (ErrorKind::PermissionDenied, None, "choose a folder that you may write to"),
            (ErrorKind::Other, Some("--state-dir FOLDER"), "choose another place, with `--state-dir FOLDER`"),
            (ErrorKind::StorageFull, REPORT, "free some space or choose another disk"),
        ] {
            assert_eq!(advice(kind, option), expected);
        }
    }
}
