//! Ctrl-C and SIGTERM: the first asks the run to end well, the second ends the program.

use tokio::sync::watch;

/// Turns the first signal into a wish to stop, and the next into an end.
pub(super) async fn listen(wish: watch::Sender<bool>) {
    wait().await;
    // Whoever runs holds the other end.
    let _ = wish.send(true);
    wait().await;
    #[expect(clippy::exit, reason = "the user asked twice: nothing may hold up the end any more")]
    std::process::exit(130);
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

#[cfg(not(unix))]
async fn wait() {
    // Without signals there is nothing to wait for.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
