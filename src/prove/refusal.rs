//! The kinds of refusals of a tool: a server may handle one well and get another wrong, so each is a place of its own.

use std::sync::LazyLock;

use regex::Regex;

use crate::fault::{MessageExchange, is_valid_call};
use crate::wire::Catalog;

/// The kind of a refusal, as reports name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RefusalKind {
    /// The arguments are not those that the tool asks for.
    Arguments,
    /// What the arguments name does not exist.
    Unknown,
    /// The caller may not do it.
    Forbidden,
    /// Anything else.
    Other,
}

impl RefusalKind {
    /// The kind of the refusal that a call got; `None` if it was served, or if nothing came.
    pub(crate) fn of(exchange: &MessageExchange, catalog: &Catalog) -> Option<Self> {
        let answer = exchange.answer()?;
        let (error, result) = (answer.get("error"), &answer["result"]);
        if error.is_none() && result["isError"] != true {
            return None;
        }
        let tool = exchange.tool().and_then(|name| catalog.tool(name));
        if tool.is_some_and(|tool| !is_valid_call(tool, &exchange.params()["arguments"])) {
            return Some(Self::Arguments);
        }
        let blocks = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
        let texts: Vec<&str> = error.and_then(|error| error["message"].as_str()).into_iter().chain(blocks).collect();
        Some(kind_of(&texts.join("\n"), error.is_some_and(|error| error["code"] == -32602)))
    }

    /// The words for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "refused arguments",
            Self::Unknown => "unknown item",
            Self::Forbidden => "missing permission",
            Self::Other => "other failure",
        }
    }

    /// The name of a place in a refusal of that kind.
    pub(crate) fn name(self, field: &str) -> String {
        if field.is_empty() { self.as_str().to_owned() } else { format!("{}: {field}", self.as_str()) }
    }
}

fn kind_of(words: &str, is_of_parameters: bool) -> RefusalKind {
    #[expect(clippy::unwrap_used, reason = "the patterns are constant")]
    static FORBIDDEN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)permission|forbidden|denied|unauthori[sz]ed|not allowed|not permitted|read[- ]only").unwrap()
    });
    #[expect(clippy::unwrap_used, reason = "the patterns are constant")]
    static UNKNOWN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)not found|not exist|no such|unknown|cannot find|couldn't find|there is no|\bno \w+ (?:has|with|named|called)\b")
            .unwrap()
    });
    match () {
        () if FORBIDDEN.is_match(words) => RefusalKind::Forbidden,
        () if UNKNOWN.is_match(words) => RefusalKind::Unknown,
        () if is_of_parameters => RefusalKind::Arguments,
        () => RefusalKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart_by_their_words() {
        for (words, is_of_parameters, expected) in [
            ("user u9 not found", false, RefusalKind::Unknown),
            ("There is no room `r-x`", true, RefusalKind::Unknown),
            ("no user has the id u9", false, RefusalKind::Unknown),
            ("Permission denied", false, RefusalKind::Forbidden),
            ("the store is read-only", true, RefusalKind::Forbidden),
            ("`hours` is too large", true, RefusalKind::Arguments),
            ("the disk is full", false, RefusalKind::Other),
        ] {
            assert_eq!(kind_of(words, is_of_parameters), expected, "{words}");
        }
    }
}
