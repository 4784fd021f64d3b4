//! Addresses that other machines cannot reach.

use std::net::SocketAddr;

/// Reads the address at which something listens: what listens trusts everybody.
pub(crate) fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = text.strip_prefix("localhost:").map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let address: SocketAddr = address
        .parse()
        .map_err(|_| "invalid address; write an IP address and a port, such as `127.0.0.1:3000`".to_owned())?;
    if !address.ip().is_loopback() {
        return Err("other machines could reach this address, and every client is trusted; use `127.0.0.1` or `[::1]`"
            .to_owned());
    }
    Ok(address)
}
