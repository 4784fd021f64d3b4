//! Paths of files in words that are the same on every system: with `/` between their parts, and as addresses (RFC 8089).

use std::fmt::Write as _;

/// How a system writes paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStyle {
    /// `/home/ann/a.yml`; a `\` is a letter like others.
    Unix,
    /// `C:\Users\ann\a.yml`, also with `/`.
    Windows,
}

impl PathStyle {
    /// The style of this system.
    pub const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };

    /// A path with `/` between its parts, which every system reads.
    pub fn with_slashes(self, path: &str) -> String {
        match self {
            Self::Unix => path.to_owned(),
            // What begins so has no other separator.
            Self::Windows if path.starts_with(r"\\?\") => path.to_owned(),
            Self::Windows => path.replace('\\', "/"),
        }
    }

    /// The address of a file, and `None` for a path that begins nowhere.
    pub fn file_uri(self, path: &str) -> Option<String> {
        match self {
            Self::Unix => path.starts_with('/').then(|| format!("file://{}", encode(path))),
            Self::Windows => {
                let path = path.strip_prefix(r"\\?\").unwrap_or(path).replace('\\', "/");
                if path.starts_with("//") {
                    return Some(format!("file:{}", encode(&path)));
                }
                let (drive, rest) = path.split_once(':')?;
                let is_drive = drive.len() == 1 && drive.starts_with(|letter: char| letter.is_ascii_alphabetic());
                (is_drive && rest.starts_with('/')).then(|| format!("file:///{drive}:{}", encode(rest)))
            }
        }
    }

    /// A path that begins nowhere, as a part of an address.
    pub fn relative_uri(self, path: &str) -> String {
        encode(&self.with_slashes(path))
    }

    /// The path in the decoded address of a file, without `file://`; `None` where it is one of another machine.
    pub fn path_of_uri(self, decoded: &str) -> Option<&str> {
        let from_root = decoded.strip_prefix('/')?;
        match self {
            Self::Unix => Some(decoded),
            Self::Windows => (from_root.get(1..3) == Some(":/")).then_some(from_root),
        }
    }
}

/// Escapes all that is not plain in an address (RFC 3986, section 2.3).
fn encode(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::PathStyle::{Unix, Windows};

    #[test]
    fn addresses_of_files() {
        for (style, path, expected) in [
            (Unix, "/a/b c/ä.yml", Some("file:///a/b%20c/%C3%A4.yml")),
            (Unix, r"/a\b.yml", Some("file:///a%5Cb.yml")),
            (Unix, "a.yml", None),
            (Unix, "C:/a.yml", None),
            (Windows, r"C:\suites\a b.yml", Some("file:///C:/suites/a%20b.yml")),
            (Windows, "d:/a.yml", Some("file:///d:/a.yml")),
            (Windows, r"\\?\C:\a.yml", Some("file:///C:/a.yml")),
            (Windows, r"\\server\share\a.yml", Some("file://server/share/a.yml")),
            (Windows, r"suites\a.yml", None),
            // Relative to what is current on a drive.
            (Windows, "C:a.yml", None),
            (Windows, r"\a.yml", None),
        ] {
            assert_eq!(style.file_uri(path).as_deref(), expected, "{style:?} {path}");
        }
    }

    #[test]
    fn relative_paths_have_slashes() {
        for (style, path, slashes, uri) in [
            (Unix, "suites/a.yml", "suites/a.yml", "suites/a.yml"),
            (Unix, r"a\b#1.yml", r"a\b#1.yml", "a%5Cb%231.yml"),
            (Windows, r"suites\sub\a.yml", "suites/sub/a.yml", "suites/sub/a.yml"),
            (Windows, r"..\a.yml", "../a.yml", "../a.yml"),
            (Windows, r"\\?\C:\a.yml", r"\\?\C:\a.yml", "%5C%5C%3F%5CC%3A%5Ca.yml"),
        ] {
            assert_eq!(
                (style.with_slashes(path).as_str(), style.relative_uri(path).as_str()),
                (slashes, uri),
                "{path}"
            );
        }
    }

    #[test]
    fn addresses_lead_to_paths_of_this_machine() {
        for (style, decoded, expected) in [
            (Unix, "/a/s.yml", Some("/a/s.yml")),
            (Unix, "/c:/s.yml", Some("/c:/s.yml")),
            (Unix, "host/share/s.yml", None),
            (Windows, "/c:/a/s.yml", Some("c:/a/s.yml")),
            (Windows, "/a/s.yml", None),
            (Windows, "host/share/s.yml", None),
        ] {
            assert_eq!(style.path_of_uri(decoded), expected, "{style:?} {decoded}");
        }
    }
}
