//! The size of the segments of a connection, on systems that let a program choose it.

use tokio::net::TcpSocket;

/// Makes the segments of a connection small; where that cannot be said, they stay as they are.
#[cfg(unix)]
pub(super) fn limit_segments(socket: &TcpSocket, bytes: u32) {
    let _ = socket2::SockRef::from(socket).set_tcp_mss(bytes);
}

/// Makes the segments of a connection small: Windows does not let a program choose.
#[cfg(windows)]
pub(super) fn limit_segments(_: &TcpSocket, _: u32) {}
