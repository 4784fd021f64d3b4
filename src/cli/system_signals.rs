//! The signals that this program hears: those of Unix, and what the console of Windows tells its programs.
//!
//! A program that starts this one may have no signals to send: then it writes to standard input instead.

use std::future::poll_fn;
use std::io::Read as _;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use tokio::sync::watch;

pub(crate) use self::system::survive_full_files;

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemSignal {
    /// The user pressed Ctrl-C.
    Interrupt,
    /// The program shall end.
    Terminate,
    /// The terminal is gone, or somebody asks a service to read its files again.
    #[cfg_attr(windows, expect(dead_code, reason = "the console has nothing like it"))]
    Hangup,
}

impl SystemSignal {
    /// Its number, as another program gets it (POSIX).
    pub(crate) const fn number(self) -> i32 {
        match self {
            Self::Hangup => 1,
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }
}

/// Tells whether a signal came.
type Heard = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<()>> + Send>;

/// Listens without a gap between one signal and the next.
pub(crate) struct SystemSignals {
    heard: Vec<(SystemSignal, Heard)>,
    input: Option<watch::Receiver<u64>>,
}

impl SystemSignals {
    /// Listens from now on; needs a runtime. A signal that the system does not give does what it does to any program.
    pub(crate) fn listen() -> Self {
        Self { heard: system::heard(), input: INPUT.get().map(watch::Sender::subscribe) }
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> SystemSignal {
        let Self { heard, input } = self;
        let signal = poll_fn(|context| {
            let came = heard.iter_mut().find_map(|(meaning, heard)| heard(context).is_ready().then_some(*meaning));
            came.map_or(Poll::Pending, Poll::Ready)
        });
        match input {
            Some(input) => tokio::select! {
                signal = signal => signal,
                Ok(()) = input.changed() => SystemSignal::Interrupt,
            },
            None => signal.await,
        }
    }
}

/// How often standard input said that the program shall stop, where it is heard.
static INPUT: OnceLock<watch::Sender<u64>> = OnceLock::new();

/// Takes each byte on standard input, and its end, for a Ctrl-C; `exit` ends the program where nobody listens, as a signal
/// would.
pub(crate) fn hear_input(exit: fn() -> !) {
    let sender = INPUT.get_or_init(|| watch::channel(0).0);
    std::thread::spawn(move || {
        let is_open = || matches!(std::io::stdin().read(&mut [0]), Ok(1..));
        loop {
            let goes_on = is_open();
            if sender.receiver_count() == 0 {
                exit();
            }
            sender.send_modify(|times| *times += 1);
            if !goes_on {
                return;
            }
        }
    });
}

#[cfg(unix)]
mod system {
    use tokio::signal::unix::{SignalKind, signal};

    use super::{Context, Heard, SystemSignal};

    pub(super) fn heard() -> Vec<(SystemSignal, Heard)> {
        let kinds = [
            (SystemSignal::Interrupt, SignalKind::interrupt()),
            (SystemSignal::Terminate, SignalKind::terminate()),
            (SystemSignal::Hangup, SignalKind::hangup()),
        ];
        let listen = |(meaning, kind)| {
            let mut heard = signal(kind).ok()?;
            Some((meaning, Box::new(move |context: &mut Context<'_>| heard.poll_recv(context)) as Heard))
        };
        kinds.into_iter().filter_map(listen).collect()
    }

    /// A file that may not grow any more is a failed write to be told, not the end of the program.
    pub(crate) fn survive_full_files() {
        /// `SIGXFSZ`, which has this number on every system that has it.
        const FILE_SIZE_LIMIT: i32 = 25;
        let _ = signal(SignalKind::from_raw(FILE_SIZE_LIMIT));
    }
}

#[cfg(windows)]
mod system {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};

    use super::{Context, Heard, SystemSignal};

    pub(super) fn heard() -> Vec<(SystemSignal, Heard)> {
        let interrupt = ctrl_c().map(|mut heard| Box::new(move |now: &mut Context<'_>| heard.poll_recv(now)) as Heard);
        let stop = ctrl_break().map(|mut heard| Box::new(move |now: &mut Context<'_>| heard.poll_recv(now)) as Heard);
        // The system waits some seconds before it ends a program whose window is closed.
        let close = ctrl_close().map(|mut heard| Box::new(move |now: &mut Context<'_>| heard.poll_recv(now)) as Heard);
        let end = ctrl_shutdown().map(|mut heard| Box::new(move |now: &mut Context<'_>| heard.poll_recv(now)) as Heard);
        let kinds = [
            (SystemSignal::Interrupt, interrupt),
            (SystemSignal::Interrupt, stop),
            (SystemSignal::Terminate, close),
            (SystemSignal::Terminate, end),
        ];
        kinds.into_iter().filter_map(|(meaning, heard)| Some((meaning, heard.ok()?))).collect()
    }

    /// There is no signal for that here.
    pub(crate) fn survive_full_files() {}
}
