//! Revisions of the protocol and the two eras they fall into.

use std::fmt;

use mcprove_source::choice;

/// The two ways in which the protocol talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// Up to 2025-11-25: `initialize` opens a session.
    Session,
    /// From 2026-07-28: no handshake, every request carries what it needs.
    Stateless,
}

choice! {
    /// A published revision of the protocol.
    #[derive(Hash)]
    pub enum Revision {
        /// 2024-11-05.
        V2024_11_05 = "2024-11-05",
        /// 2025-03-26.
        V2025_03_26 = "2025-03-26",
        /// 2025-06-18.
        V2025_06_18 = "2025-06-18",
        /// 2025-11-25.
        V2025_11_25 = "2025-11-25",
        /// 2026-07-28.
        V2026_07_28 = "2026-07-28",
    }
}

impl Revision {
    /// The newest revision with a handshake.
    pub const NEWEST_WITH_SESSION: Self = Self::V2025_11_25;

    /// The newest revision.
    pub const NEWEST: Self = Self::V2026_07_28;

    /// The era it belongs to.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Stateless } else { Era::Session }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
