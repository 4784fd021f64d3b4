//! What mcprove knows of the protocol: messages, and texts and values in them.
//!
//! Functions from bytes, texts and values to values; knows nothing about connections or suites.
//! Start reading in [`wire`].

#[doc(hidden)]
pub mod apps;
#[doc(hidden)]
pub mod generate;
#[doc(hidden)]
pub mod html;
#[doc(hidden)]
pub mod injection;
#[doc(hidden)]
pub mod path;
#[doc(hidden)]
pub mod redact;
#[doc(hidden)]
pub mod reliability;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod wire;

use mcprove_source as source;
