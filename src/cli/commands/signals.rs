//! Ctrl-C and SIGTERM: the first asks the run to end well, the second ends it at once, the third ends the program.
//!
//! Listens in a thread of its own for as long as the program lives, so that nothing can keep a signal from being heard.

use tokio::sync::watch;

/// How urgently the user wants the run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// Not at all.
    None,
    /// After cleaning up.
    Soon,
    /// At once; reports are still written.
    Now,
}

/// Listens from now on; `stop` is told of the first signal, the receiver of each.
pub(super) fn listen(stop: watch::Sender<bool>) -> watch::Receiver<Urgency> {
    let (sender, receiver) = watch::channel(Urgency::None);
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async move {
            survive_full_files();
            wait().await;
            tell("stopping: teardown runs, then reports are written; again to end at once");
            // Whoever runs holds the other ends.
            let _ = stop.send(true);
            let _ = sender.send(Urgency::Soon);
            wait().await;
            tell("ending at once; again to leave without reports");
            let _ = sender.send(Urgency::Now);
            wait().await;
            #[expect(clippy::exit, reason = "the user asked three times: nothing may hold up the end any more")]
            std::process::exit(130);
        });
    });
    receiver
}

#[expect(clippy::print_stderr, reason = "whoever pressed Ctrl-C waits for an answer")]
fn tell(words: &str) {
    eprintln!("\n{words}");
}

#[cfg(unix)]
async fn wait() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut hangup)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup())) else {
        return drop(tokio::signal::ctrl_c().await);
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
        _ = hangup.recv() => {}
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

#[cfg(not(unix))]
async fn wait() {
    // Without signals there is nothing to wait for.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
