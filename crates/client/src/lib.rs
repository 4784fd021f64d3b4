//! mcprove's MCP client, without an SDK, so that nothing that a server sends is repaired or hidden.
//!
//! [`transport`] moves bytes to and from a server and ends its processes; [`session`] is one conversation and keeps
//! every frame. Knows no suite and no finding. Start reading in [`session`].

#[doc(hidden)]
pub mod session;
#[doc(hidden)]
pub mod transport;

use mcprove_files as files;
use mcprove_protocol::{html, redact, wire};
use mcprove_source as source;
