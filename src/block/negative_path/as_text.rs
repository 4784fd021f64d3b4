//! Numbers and booleans as text, as language models write them: a server may read them all the same.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::generate::{Breach, Generator, InvalidValue};

/// Arguments in which one that is a number or a boolean is written as text, derived from those of wrong types.
pub(crate) fn with_text(found: &[InvalidValue], base: &Json, generator: &Generator) -> Vec<InvalidValue> {
    let mut places = BTreeSet::new();
    let is_typed = |violation: &&InvalidValue| {
        let is_argument = violation.at.matches('/').count() == 1;
        is_argument && matches!(violation.breach, Breach::WrongType | Breach::NoAlternative)
    };
    let of = |wrong: &InvalidValue| {
        let with = |value: Json| {
            let mut whole = wrong.value.clone();
            *whole.pointer_mut(&wrong.at)? = value;
            Some(whole)
        };
        let own = base.pointer(&wrong.at).filter(|value| value.is_number() || value.is_boolean());
        let tried = own.cloned().into_iter().chain([1.into(), 10.into(), 100.into(), true.into()]);
        let right =
            tried.into_iter().find(|value| with(value.clone()).is_some_and(|whole| generator.is_valid(&whole)))?;
        let text = right.to_string();
        let value = with(text.clone().into()).filter(|whole| !generator.is_valid(whole))?;
        let (keyword, at) = ("type".to_owned(), wrong.at.clone());
        Some(InvalidValue { breach: Breach::WrongType, keyword, says: format!("`{text}` is text"), at, value })
    };
    found.iter().filter(is_typed).filter(|violation| places.insert(&violation.at)).filter_map(of).collect()
}

/// A text stands for a number or a boolean, and servers that read texts find one in it.
pub(crate) fn is_readable(violation: &InvalidValue) -> bool {
    let sent = violation.value.pointer(&violation.at).and_then(Json::as_str);
    violation.breach == Breach::WrongType
        && sent.is_some_and(|text| text.parse::<f64>().is_ok() || ["true", "false"].contains(&text))
}
