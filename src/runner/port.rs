//! Ports for servers that are started here.
//!
//! Between the moment when a port is found free and the moment when the server listens at it, anybody may take it: the
//! server then ends for a reason that is not its own, or a test talks to somebody else's server. So ports are drawn
//! from those that no system hands out by itself, and no two runs hold the same one.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Below what systems hand out by themselves: from 32768 on Linux, from 49152 elsewhere. From 30000 on, clusters
/// redirect ports at which nobody listens.
const FIRST: u16 = 20_000;

/// The number of ports that are drawn from.
const COUNT: u16 = 10_000;

/// A port on which nobody listens, and which nobody else draws while this is kept.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _claim: PortClaim,
}

impl Port {
    /// Draws one.
    ///
    /// # Errors
    ///
    /// All are taken, with what the system says of the last.
    pub(crate) fn draw() -> io::Result<Self> {
        let from = RandomState::new().hash_one(());
        let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
        for step in 0..u64::from(COUNT) {
            let offset = from.wrapping_add(step) % u64::from(COUNT);
            match Self::claim(FIRST + u16::try_from(offset).unwrap_or_default()) {
                Ok(port) => return Ok(port),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// The number of it.
    pub(crate) const fn number(&self) -> u16 {
        self.number
    }

    fn claim(number: u16) -> io::Result<Self> {
        let claim = claim_name(number)?;
        nobody_listens(number)?;
        Ok(Self { number, _claim: claim })
    }
}

fn nobody_listens(number: u16) -> io::Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, number)).map(drop)
}

/// Tells other runs that a port is drawn: a name that is in no folder and goes with this process.
#[cfg(target_os = "linux")]
type PortClaim = std::os::unix::net::UnixListener;

#[cfg(target_os = "linux")]
fn claim_name(number: u16) -> io::Result<PortClaim> {
    use std::os::linux::net::SocketAddrExt as _;

    let name = format!("mcprove-port-{number}");
    PortClaim::bind_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)
}

/// Elsewhere there are no such names.
#[cfg(not(target_os = "linux"))]
type PortClaim = ();

#[cfg(not(target_os = "linux"))]
fn claim_name(_: u16) -> io::Result<PortClaim> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_port_is_drawn_twice() -> io::Result<()> {
        let ports = (0..500).map(|_| Port::draw()).collect::<io::Result<Vec<_>>>()?;
        let numbers: BTreeSet<u16> = ports.iter().map(Port::number).collect();
        assert!(numbers.len() == ports.len() && numbers.iter().all(|number| (20_000..30_000).contains(number)));
        Ok(())
    }

    #[test]
    fn ports_that_somebody_has_are_not_drawn() -> io::Result<()> {
        let port = Port::draw()?;
        assert!(cfg!(not(target_os = "linux")) || Port::claim(port.number()).is_err());
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number()))?;
        assert!(nobody_listens(port.number()).is_err());
        Ok(())
    }
}
