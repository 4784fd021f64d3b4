//! What a server offers and answers, for people who look at it before they write a suite.
//!
//! Functions from lists, schemas and messages to text, and from words to arguments. Knows no suite, no case and no run.
//! Start reading in `ShownOffer`.

mod answer;
mod arguments;
mod checkup;
mod form;
mod offer;
mod signature;

pub(crate) use self::answer::answer_text;
pub(crate) use self::arguments::read_arguments;
pub(crate) use self::checkup::checkup_text;
pub(crate) use self::form::{ArgumentQuestion, questions};
pub(crate) use self::offer::ShownOffer;
pub(crate) use self::signature::Signature;
