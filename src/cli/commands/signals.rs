//! Ctrl-C and SIGTERM: the first asks the run to end well, the second ends it at once, the third ends the program.
//!
//! Listens in a thread of its own for as long as the program lives, so that nothing can keep a signal from being heard.

use std::io::Write as _;

use tokio::sync::watch;

/// How urgently the user wants the run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// Not at all.
    None,
    /// After cleaning up.
    Soon,
    /// At once; reports are still written where there are any.
    Now,
}

/// What is still done once somebody has asked for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Teardown runs, and reports are written.
    Reports,
    /// Servers are ended, and nothing else is left to do.
    Plain,
}

impl Ending {
    /// What is said to the first signal, and to the second.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Reports => [
                "stopping: teardown runs, then reports are written; again to end at once",
                "ending at once; again to leave without reports",
            ],
            Self::Plain => [
                "stopping: what is under way is cut off, and servers are ended; again to end at once",
                "ending at once; again to leave without waiting for servers",
            ],
        }
    }
}

/// Listens once it returns; `stop` is told of the first signal, the receiver of each.
pub(super) fn listen(stop: watch::Sender<bool>, ending: Ending) -> watch::Receiver<Urgency> {
    let [soon, now] = ending.words();
    let (sender, receiver) = watch::channel(Urgency::None);
    let (ready, listening) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async move {
            survive_full_files();
            let Ok(mut signals) = Signals::new() else { return };
            // Whoever does not wait for it loses nothing but time.
            let _ = ready.send(());
            signals.next().await;
            // Whoever runs holds the other ends, and hears of it even if nobody reads what is said.
            let _ = stop.send(true);
            let _ = sender.send(Urgency::Soon);
            tell(soon);
            signals.next().await;
            let _ = sender.send(Urgency::Now);
            tell(now);
            signals.next().await;
            #[expect(clippy::exit, reason = "the user asked three times: nothing may hold up the end any more")]
            std::process::exit(130);
        });
    });
    // A signal that comes before it is listened for would end the program without a report, or be lost. Where the
    // system gives no thread or no signals, the channel closes.
    let _ = listening.recv();
    receiver
}

/// Whoever pressed Ctrl-C waits for an answer, unless there is nobody who reads it.
fn tell(words: &str) {
    let _ = writeln!(std::io::stderr().lock(), "\n{words}");
}

/// What is listened for, without a gap between one signal and the next.
#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let heard = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        let [interrupt, terminate, hangup] = heard;
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// A file that may not grow any more is a failed write to be told, not the end of the program.
#[cfg(unix)]
fn survive_full_files() {
    use tokio::signal::unix::{SignalKind, signal};
    /// `SIGXFSZ`, which has this number on every system that has it.
    const FILE_SIZE_LIMIT: i32 = 25;
    let _ = signal(SignalKind::from_raw(FILE_SIZE_LIMIT));
}

#[cfg(not(unix))]
fn survive_full_files() {}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
