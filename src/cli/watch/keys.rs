//! The keys of a watch.

use std::io::{self, Read as _, Write as _};
use std::sync::mpsc::Sender;

use super::{Happening, RunState};
use crate::cli::terminal;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Run everything.
    All,
    /// Run what failed.
    Failed,
    /// Type a filter.
    Filter,
    /// Run everything and write the snapshots.
    Update,
    Quit,
    Help,
}

/// The bytes of each key, the key, its name, and its meaning.
const KEYS: [(&[u8], Key, &str, &str); 6] = [
    (b"\r\na", Key::All, "Enter, a", "run all suites"),
    (b"f", Key::Failed, "f", "run the tests that failed"),
    (b"t", Key::Filter, "t", "type a filter, as for `--filter`; an empty one runs all tests again"),
    (b"u", Key::Update, "u", "run all suites and write the snapshots that differ"),
    (b"q", Key::Quit, "q", "quit with the exit code of the last run"),
    (b"?h", Key::Help, "?", "show this"),
];

/// The keys in a line.
pub(super) const SHORT_HELP: &str = "Enter all, f failed, t filter, u update snapshots, q quit, ? help";

impl Key {
    /// The key of a byte; anything else means nothing.
    fn of_byte(byte: u8) -> Option<Self> {
        let byte = byte.to_ascii_lowercase();
        KEYS.iter().find(|(bytes, ..)| bytes.contains(&byte)).map(|(_, key, ..)| *key)
    }
}

/// The keys, one a line.
pub(super) fn long_help() -> String {
    let rows = KEYS.iter().map(|(_, _, name, meaning)| format!("  {name:<9} {meaning}"));
    rows.chain([format!("  {:<9} stop a run; without one, quit", "Ctrl-C")]).collect::<Vec<_>>().join("\n")
}

/// Reads keys until the end of input, which means nothing: only `q` and signals quit.
pub(super) fn read(sender: &Sender<Happening>, state: &RunState) {
    let mut byte = [0];
    while io::stdin().lock().read(&mut byte).is_ok_and(|length| length > 0) {
        let Some(key) = Key::of_byte(byte[0]) else { continue };
        if key == Key::Quit && state.is_running() {
            // The run ends as it does after Ctrl-C, and then the key is heard.
            terminal::send_interrupt();
        }
        if sender.send(Happening::Key(key)).is_err() {
            return;
        }
        if key == Key::Filter && sender.send(Happening::Filter(read_filter())).is_err() {
            return;
        }
    }
}

fn read_filter() -> String {
    terminal::in_lines(|| {
        let _ = write!(io::stderr().lock(), "filter: ");
        let mut line = String::new();
        let _ = io::stdin().read_line(&mut line);
        line.trim().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_keys() {
        for (bytes, expected) in [
            (&b"\r\naA"[..], Some(Key::All)),
            (b"fF", Some(Key::Failed)),
            (b"t", Some(Key::Filter)),
            (b"u", Some(Key::Update)),
            (b"qQ", Some(Key::Quit)),
            (b"?h", Some(Key::Help)),
            // Ctrl-C is a signal, Ctrl-D and arrows mean nothing.
            (b"\x03\x04\x1b[x \xff", None),
        ] {
            for byte in bytes {
                assert_eq!(Key::of_byte(*byte), expected, "{byte:#x}");
            }
        }
    }

    #[test]
    fn the_short_help_names_every_key() {
        for (_, key, name, _) in KEYS {
            assert!(SHORT_HELP.contains(name.split(',').next().unwrap_or_default()), "{key:?}");
        }
    }
}
