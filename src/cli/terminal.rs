//! The terminal's input: keys without Enter while a watch waits for them, and the way back on every exit.
//!
//! Ctrl-C stays a signal. What the terminal was like is remembered for the whole program, because a run that does not stop
//! ends it from another thread.

#[cfg(unix)]
pub(crate) use self::unix::{in_lines, restore, send_interrupt, take_keys};

/// Gives the terminal back when it is dropped, also in a panic.
#[derive(Debug)]
pub(crate) struct KeyMode(());

impl Drop for KeyMode {
    fn drop(&mut self) {
        restore();
    }
}

#[cfg(unix)]
mod unix {
    use std::io;

    use parking_lot::Mutex;
    use rustix::process::{Signal, getpgrp, getpid, kill_process};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr,
    };

    use super::KeyMode;

    /// The terminal as it was; `None` while nothing is changed.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// Lets keys be read one by one and unseen; `None` where standard input is no terminal, or another program has it.
    pub(crate) fn take_keys() -> Option<KeyMode> {
        let input = io::stdin();
        // A program in the background that changes the terminal is stopped.
        if !isatty(&input) || tcgetpgrp(&input).ok()? != getpgrp() {
            return None;
        }
        let mut before = BEFORE.lock();
        let found = tcgetattr(&input).ok()?;
        read_keys(&found).ok()?;
        *before = Some(found);
        Some(KeyMode(()))
    }

    fn read_keys(before: &Termios) -> rustix::io::Result<()> {
        let mut wanted = before.clone();
        wanted.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
        wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &wanted)
    }

    /// Reads as lines are read, with the terminal's own editing, and then keys again, unless the terminal was given back
    /// meanwhile.
    pub(crate) fn in_lines<T>(read: impl FnOnce() -> T) -> T {
        if let Some(before) = &*BEFORE.lock() {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
        let done = read();
        if let Some(before) = &*BEFORE.lock() {
            let _ = read_keys(before);
        }
        done
    }

    /// Gives the terminal back as it was, if it was changed.
    pub(crate) fn restore() {
        if let Some(before) = BEFORE.lock().take() {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        }
    }

    /// Does what Ctrl-C does, to this process alone.
    pub(crate) fn send_interrupt() {
        let _ = kill_process(getpid(), Signal::INT);
    }
}

/// Elsewhere, keys are not read.
#[cfg(not(unix))]
pub(crate) fn take_keys() -> Option<KeyMode> {
    None
}

#[cfg(not(unix))]
pub(crate) fn in_lines<T>(read: impl FnOnce() -> T) -> T {
    read()
}

#[cfg(not(unix))]
pub(crate) fn restore() {}

#[cfg(not(unix))]
pub(crate) fn send_interrupt() {}
