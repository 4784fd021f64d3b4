//! Values that become part of an address as they are: a client that may choose an id then chooses the path or the query of
//! a request that the server makes with its own rights (CVE-2026-32871).
//!
//! Nothing follows unless unknown values are refused, with any other character behind or before the valid one, too. Nor does
//! anything follow for an argument that is a path: it may be written in many ways, and where it leads is judged elsewhere.

use serde_json::json;

use super::fetching::is_address;
use super::path::is_path;
use super::probed_tool::ProbedTool;
use crate::check::CheckEnd;
use crate::check::answer_pattern::AnswerPattern;
use crate::check::evidence::shown_call;
use crate::event::Finding;
use crate::plan::put::Parameter;
use crate::session::SessionReply;

/// A value that no server knows.
const UNKNOWN: &str = "zq7xkw";

/// The longest valid value that is an id.
const LONGEST: usize = 64;

/// Values around a valid one that mean another one wherever addresses have no part in it.
const OTHERS: [&str; 7] = [UNKNOWN, "VALIDzq7xkw", "VALID!", "VALID~", "VALID!x=1", "zq7xkw/VALID", "zq7xkw!VALID"];

/// Values that are the valid one, or lead somewhere else, only as parts of an address.
const ADDRESS_PARTS: [&str; 8] = [
    "zq7xkw/../VALID",
    "VALID/../VALID",
    "VALID?x=1",
    "VALID#",
    "VALID&x=1",
    "VALID/.",
    "VALID%2F..",
    "zq7xkw%2F..%2FVALID",
];

/// Words of descriptions of parameters that are paths, in lower case.
const DESCRIBED_PATHS: [&str; 12] = [
    "path",
    "paths",
    "pathname",
    "subpath",
    "endpoint",
    "endpoints",
    "route",
    "url",
    "uri",
    "file",
    "folder",
    "directory",
];

/// Tries parts of an address in a parameter, and reports those that are served.
pub(crate) async fn attack(probed: &mut ProbedTool<'_>, parameter: &Parameter<'_>) -> Result<(), CheckEnd> {
    let Some(valid) = parameter.text().filter(|valid| is_id(valid)) else { return Ok(()) };
    let about = parameter.schema()["description"].as_str().unwrap_or_default();
    if is_path(parameter) || is_address(parameter) || describes_path(about) {
        return Ok(());
    }
    let Some(pattern) = served_pattern(probed, parameter, valid).await? else { return Ok(()) };
    for text in OTHERS {
        let Some(reply) = send(probed, parameter, &text.replace("VALID", valid)).await? else { return Ok(()) };
        if reply.is_served() {
            return Ok(());
        }
    }
    let (mut served, mut first) = (Vec::new(), None);
    for text in ADDRESS_PARTS {
        let text = text.replace("VALID", valid);
        if let Some(reply) = send(probed, parameter, &text).await?.filter(SessionReply::is_served) {
            first.get_or_insert_with(|| {
                let is_same = pattern.matches(&reply.message) || pattern.matches_echo(&reply.message, &text, valid);
                (finding(&probed.subject(), parameter.name(), valid, &text, is_same), shown_call(&reply))
            });
            served.push(text);
        }
    }
    if let Some((found, call)) = first.filter(|_| !served.iter().all(|text| may_be_path(text))) {
        let texts: Vec<String> = served.iter().map(|text| format!("`{text}`")).collect();
        probed.note(found.with_evidence("served", texts.join(", ")), Some(call));
    }
    Ok(())
}

/// The description of a parameter says that its value is a path, of a file or of an API.
fn describes_path(about: &str) -> bool {
    let about = about.to_lowercase().replace("path parameter", "");
    let mut words = about.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| DESCRIBED_PATHS.contains(&word))
}

/// Another way to write a path of a file, or a place within what the value names. Only an address has a query, or is
/// decoded.
fn may_be_path(text: &str) -> bool {
    !text.contains(['?', '&', '%'])
}

/// Nothing in an id has a meaning in an address, or in the name of a file.
fn is_id(valid: &str) -> bool {
    (1..=LONGEST).contains(&valid.len())
        && valid.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_:@ ".contains(letter))
}

/// The answers to the valid value; `None` where it is refused.
async fn served_pattern(
    probed: &mut ProbedTool<'_>,
    parameter: &Parameter<'_>,
    valid: &str,
) -> Result<Option<AnswerPattern>, CheckEnd> {
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.extend(send(probed, parameter, valid).await?.filter(SessionReply::is_served));
    }
    let pattern = |answers: &[SessionReply]| AnswerPattern::of(&answers[0].message, &answers[1].message);
    Ok((answers.len() == 2).then(|| pattern(&answers)))
}

async fn send(
    probed: &mut ProbedTool<'_>,
    parameter: &Parameter<'_>,
    text: &str,
) -> Result<Option<SessionReply>, CheckEnd> {
    match parameter.with(&json!(text)) {
        Some(arguments) => probed.call(&arguments).await,
        None => Ok(None),
    }
}

fn finding(subject: &str, parameter: &str, valid: &str, text: &str, is_same: bool) -> Finding {
    let message = if is_same {
        format!(
            "`{subject}` puts its argument `{parameter}` into an address as it is: `{text}` is served like `{valid}`"
        )
    } else {
        format!(
            "`{subject}` seems to put its argument `{parameter}` into an address as it is: `{text}` is served, and other \
             unknown values are refused"
        )
    };
    let help =
        "encode the value before it becomes part of a path or query, and refuse `/`, `..`, `?`, `#` and `&` in it";
    let found = Finding::new("value-in-address", message).with_evidence("valid", valid.to_owned());
    Finding { help: Some(help.to_owned()), ..found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_are_attacked() {
        for (valid, expected) in [
            ("u1", true),
            ("user:7", true),
            ("today.md", false),
            ("a/b", false),
            ("", false),
            ("what is it?", false),
            (&"x".repeat(65), false),
        ] {
            assert_eq!(is_id(valid), expected, "{valid}");
        }
    }

    #[test]
    fn paths_are_no_ids() {
        for (about, expected) in [
            ("The path of the note, without its ending.", true),
            ("API endpoint below /v1", true),
            ("Name of the file", true),
            ("The id of the user (path parameter)", false),
            ("The pathology report's id", false),
            ("", false),
        ] {
            assert_eq!(describes_path(about), expected, "{about}");
        }
    }

    #[test]
    fn other_ways_to_write_a_path_prove_nothing() {
        let served_by = |accept: fn(&str) -> bool| ADDRESS_PARTS.into_iter().filter(move |text| accept(text));
        // A file, whose path is brought into one form; a title with a fragment; an address.
        assert!(served_by(|text| text.contains("/.")).all(may_be_path));
        assert!(served_by(|text| text.ends_with('#')).all(may_be_path));
        assert!(!served_by(|text| text.contains('?')).all(may_be_path));
        assert!(!served_by(|text| text.contains("%2F")).all(may_be_path));
    }

    #[test]
    fn a_finding_says_what_was_served() {
        for (is_same, expected) in [
            (true, "`get` puts its argument `id` into an address as it is: `u1#` is served like `u1`"),
            (
                false,
                "`get` seems to put its argument `id` into an address as it is: `u1#` is served, and other unknown values are \
                 refused",
            ),
        ] {
            assert_eq!(finding("get", "id", "u1", "u1#", is_same).message, expected);
        }
    }
}
