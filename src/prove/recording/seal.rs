//! Lines of JSON that are sealed one after the other: each together with all before it, so that none can be changed, left out
//! or added without being noticed. The seal keeps out accidents, and no forger.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::source::{FNV, fnv, hash_text};

/// The beginning of the seal of a line.
const MARK: &str = ",\"seal\":\"";

/// The seal of the lines so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seal(u64);

/// Why a line has no seal that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokenSeal {
    /// The end of the line is missing.
    Cut,
    /// The line, or one before it, is another one than was sealed.
    Changed,
}

impl Seal {
    /// Takes the seal off the next line, which is an object again then.
    pub(crate) fn take_off(&mut self, line: &str) -> Result<String, BrokenSeal> {
        let (body, mark) = line.rsplit_once(MARK).filter(|(_, mark)| mark.ends_with('}')).ok_or(BrokenSeal::Cut)?;
        self.add(body);
        let is_whole = mark.strip_suffix("\"}").is_some_and(|mark| mark == self.to_string());
        if is_whole { Ok(format!("{body}}}")) } else { Err(BrokenSeal::Changed) }
    }

    fn add(&mut self, body: &str) {
        self.0 = fnv(FNV ^ self.0.rotate_left(17), body.as_bytes());
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&hash_text(self.0))
    }
}

/// Writes objects as sealed lines.
#[derive(Debug, Default)]
pub(crate) struct SealedWriter {
    pub(crate) text: String,
    seal: Seal,
}

impl SealedWriter {
    /// Adds a line; `line` is a map or a variant with one name, as JSON has them.
    pub(crate) fn line(&mut self, line: impl Serialize) {
        // Lines are maps with names for keys, which JSON has.
        let text = serde_json::to_string(&line).unwrap_or_default();
        let body = text.strip_suffix('}').unwrap_or(&text);
        self.seal.add(body);
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "{body}{MARK}{}\"}}", self.seal);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_line_is_changed_unnoticed() {
        let mut writer = SealedWriter::default();
        for line in [json!({"a": 1}), json!({"b": ",\"seal\":\"x\"}"})] {
            writer.line(line);
        }
        let lines: Vec<&str> = writer.text.lines().collect();
        let cut = &lines[0][..lines[0].len() - 1];
        let other = lines[0].replace("1,", "2,");
        for (lines, expected) in [
            (vec![lines[0], lines[1]], Ok(r#"{"b":",\"seal\":\"x\"}"}"#.to_owned())),
            (vec![lines[1]], Err(BrokenSeal::Changed)),
            (vec![other.as_str()], Err(BrokenSeal::Changed)),
            (vec![cut], Err(BrokenSeal::Cut)),
            (vec!["{}"], Err(BrokenSeal::Cut)),
            (vec![""], Err(BrokenSeal::Cut)),
        ] {
            let mut seal = Seal::default();
            let mut found: Vec<_> = lines.iter().map(|line| seal.take_off(line)).collect();
            assert_eq!(found.pop(), Some(expected), "{lines:?}");
        }
    }
}
