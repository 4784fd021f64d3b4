//! Files that are read whole, and how large they may be: a device, or what somebody else wrote, must not fill the memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Take};
use std::path::Path;

/// The most bytes of what people write: suites, rows, registries, baselines, certificates.
pub const WRITTEN: u64 = 64 << 20;

/// The most bytes of what this program writes: recordings of runs.
pub const RECORDED: u64 = 1 << 30;

/// The bytes of a file that has at most so many.
///
/// # Errors
///
/// Fails as [`open`] does, and where a device gives more bytes.
pub fn read_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open(path, most + 1)?;
    let expected = file.get_ref().metadata().map_or(0, |about| about.len().min(most));
    bytes.reserve(usize::try_from(expected).unwrap_or(0));
    let length = file.read_to_end(&mut bytes)?;
    if length as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

/// A file of which at most so many bytes are read.
///
/// # Errors
///
/// Fails where the system refuses, with [`ErrorKind::FileTooLarge`] where there are more, and for a named pipe: opening
/// one lasts until somebody writes to it.
pub fn open(path: &Path, most: u64) -> io::Result<Take<File>> {
    if is_named_pipe(path) {
        return Err(io::Error::new(ErrorKind::Unsupported, "it is a pipe; save its output to a file first"));
    }
    let file = File::open(path)?;
    let is_larger = file.metadata().is_ok_and(|about| about.is_file() && about.len() > most);
    if is_larger { Err(too_large(most)) } else { Ok(file.take(most)) }
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {} MiB", most >> 20))
}

/// A path leads to a pipe that was not opened for this process, as a shell does for `<(…)`.
#[cfg(unix)]
pub fn is_named_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let is_open_already = path.starts_with("/dev") || path.starts_with("/proc");
    !is_open_already && std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

/// A path leads to a pipe that was not opened for this process, as a shell does for `<(…)`.
#[cfg(not(unix))]
pub fn is_named_pipe(_: &Path) -> bool {
    false
}

/// The text of a file that has at most so many bytes.
///
/// # Errors
///
/// Fails as [`read_bytes`] does, and with [`ErrorKind::InvalidData`] where the bytes are no UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_bytes(path, most)?).map_err(|_| ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let length = read_text(&here, WRITTEN).unwrap().len() as u64;
        assert!(read_bytes(&here, length).is_ok());
        assert_eq!(read_bytes(&here, length - 1).unwrap_err().kind(), ErrorKind::FileTooLarge);
        #[cfg(unix)]
        assert_eq!(read_bytes(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string(), "it has more than 1 MiB");
    }
}
