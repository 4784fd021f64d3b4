//! Faults in the traffic between the client and a server: what stands on a link, and how a reply becomes something that comes
//! over a transport.

mod clock;
mod encoder;
mod link;

pub use self::clock::clock;
pub use self::encoder::{ReplyEncoder, RequestContext, asked_text, with_ids};
pub use self::link::{BegunExchange, LinkPlayer, SaidMessage, on_link, play_on_link};
