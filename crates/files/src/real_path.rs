//! Paths without links, as other programs take them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The longest path that every program of Windows can use, in UTF-16 units, without the zero behind it (`MAX_PATH`).
const LONGEST: usize = 259;

/// The whole path of what is there, without links and `..`.
///
/// The path that Windows gives begins with `\\?\`, with which `cmd` and many others cannot work; where the same path works
/// without, it has none.
///
/// # Errors
///
/// Fails where nothing is there, and where the system refuses.
pub fn real_path(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let real = fs::canonicalize(path)?;
    Ok(real.to_str().and_then(as_written).map_or(real, PathBuf::from))
}

/// A path that begins with `\\?\` as people write it; `None` for others, and where it would mean something else.
fn as_written(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    let written = match rest.strip_prefix(r"UNC\") {
        Some(share) => format!(r"\\{share}"),
        None if rest.as_bytes().get(1..3) == Some(br":\") => rest.to_owned(),
        None => return None,
    };
    // Without the beginning, dots and spaces at the end of a name are cut off, and some names are devices.
    let is_plain = |name: &str| {
        let stem = name.split('.').next().unwrap_or_default().to_ascii_uppercase();
        let is_device = ["CON", "PRN", "AUX", "NUL"].contains(&stem.as_str())
            || stem.len() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT"));
        !name.ends_with(['.', ' ']) && !is_device
    };
    (written.encode_utf16().count() <= LONGEST && written.split('\\').all(is_plain)).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_people_write_them() {
        let long = format!(r"\\?\C:\{}", "a".repeat(LONGEST));
        for (path, expected) in [
            (r"\\?\C:\Users\ann\suite", Some(r"C:\Users\ann\suite")),
            (r"\\?\C:\", Some(r"C:\")),
            (r"\\?\UNC\server\share\suite", Some(r"\\server\share\suite")),
            (r"C:\Users\ann", None),
            ("/home/ann", None),
            (r"\\?\Volume{b75e2c83-0000-0000-0000-602f00000000}\x", None),
            (r"\\?\C:\a.\b", None),
            (r"\\?\C:\a \b", None),
            (r"\\?\C:\a\aux.txt", None),
            (r"\\?\C:\a\com1", None),
            (r"\\?\C:\a\auxiliary\company", Some(r"C:\a\auxiliary\company")),
            (&long, None),
        ] {
            assert_eq!(as_written(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_there_has_a_whole_path() {
        let here = real_path(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert!(here.is_absolute() && !here.to_string_lossy().starts_with(r"\\?\"));
        assert!(real_path(here.join("nothing")).is_err());
    }
}
