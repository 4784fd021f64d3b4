//! Both ends of JSON that is too long to be shown, written without ever holding the whole of it.

use std::collections::VecDeque;
use std::io::{self, Write};

use serde::Serialize;

/// Both ends of a text, and how long it is.
#[derive(Debug)]
pub struct Ends {
    /// Its beginning, or all of it where it is no longer than was asked for.
    pub head: String,
    /// Its end, where it is longer.
    pub tail: String,
    /// The number of bytes.
    pub bytes: usize,
    /// The number of characters.
    pub characters: usize,
}

impl Ends {
    /// Those of a value's compact JSON: at most so many characters from its beginning and from its end.
    pub fn of_json(value: &impl Serialize, head: usize, tail: usize) -> Self {
        let mut writer = BoundedText {
            head: Vec::new(),
            tail: VecDeque::new(),
            rooms: (head.saturating_mul(4), tail.saturating_mul(4)),
            bytes: 0,
            characters: 0,
        };
        // It takes everything, and values are JSON.
        let _ = serde_json::to_writer(&mut writer, value);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (start, end) = (text(&writer.head), text(writer.tail.make_contiguous()));
        let skipped = end.chars().count().saturating_sub(tail);
        Self {
            head: start.chars().take(head).collect(),
            tail: end.chars().skip(skipped).collect(),
            bytes: writer.bytes,
            characters: writer.characters,
        }
    }
}

/// The beginning of a value's compact JSON, of so many characters, and how many bytes it has in all where it has more.
pub fn beginning_of_json(value: &impl Serialize, most: usize) -> String {
    let Ends { head, bytes, characters, .. } = Ends::of_json(value, most, 0);
    if characters > most { format!("{head}… ({bytes} bytes in all)") } else { head }
}

struct BoundedText {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    rooms: (usize, usize),
    bytes: usize,
    characters: usize,
}

impl Write for BoundedText {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.bytes += piece.len();
        self.characters += piece.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        let room = self.rooms.0 - self.head.len();
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        if self.rooms.1 > 0 {
            self.tail.extend(&piece[piece.len().saturating_sub(self.rooms.1)..]);
            let surplus = self.tail.len().saturating_sub(self.rooms.1);
            self.tail.drain(..surplus);
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::beginning;
    use super::*;

    #[test]
    fn both_ends_are_those_of_the_whole() {
        for value in [json!(null), json!("short"), json!(["漢é👩".repeat(100), {"a": [1, 2, "é\n"]}])] {
            let whole = value.to_string();
            for most in [1, 5, 7, 64, 10_000] {
                assert_eq!(beginning_of_json(&value, most), beginning(&whole, most));
                let ends = Ends::of_json(&value, most, 5);
                assert_eq!((ends.bytes, ends.characters), (whole.len(), whole.chars().count()));
                let last: Vec<char> = whole.chars().collect();
                assert_eq!(ends.tail, last[last.len().saturating_sub(5)..].iter().collect::<String>());
            }
        }
    }
}
