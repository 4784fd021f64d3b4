//! The severity of a request of a foreign page that is served: it is high where the page may read the answers and the
//! server has tools that may write.

use serde_json::Value;

use super::raw::header_values;
use crate::event::{Finding, RequirementLevel, Severity};
use crate::source::template::Names;
use crate::suite::RawHttp;
use crate::wire::Catalog;

/// The header by which a server allows pages of an origin to read its answer.
const ALLOWED_ORIGIN: &str = "access-control-allow-origin";

/// Gives findings about a served request with a foreign `Origin` their severity.
pub(crate) fn weigh(
    found: Vec<Finding>,
    request: &RawHttp,
    names: &Names,
    answer: &Value,
    catalog: &Catalog,
) -> Vec<Finding> {
    let Some(exposed) = sent_origin(request, names).and_then(|sent| exposure(&sent, answer, catalog)) else {
        return found;
    };
    let weigh = |found: Finding| match (found.level, found.severity) {
        (RequirementLevel::Must, None) => Finding { severity: Some(Severity::High), ..found }
            .with_evidence("allowed", format!("{ALLOWED_ORIGIN}: {}", exposed.allowed))
            .with_evidence("may write", exposed.tool.clone()),
        _ => found,
    };
    found.into_iter().map(weigh).collect()
}

/// The reason for which a served foreign request is dangerous.
#[derive(Debug, PartialEq, Eq)]
struct Exposure {
    /// The origins that may read the answer.
    allowed: String,
    /// The first tool that may write.
    tool: String,
}

/// The danger of an answer to a request with such an `Origin`; `None` where the page cannot read it, or nothing writes.
fn exposure(sent: &str, answer: &Value, catalog: &Catalog) -> Option<Exposure> {
    let status = answer["status"].as_u64()?;
    let allowed = answer["headers"][ALLOWED_ORIGIN].as_str()?.trim();
    let is_allowed = allowed == "*" || allowed.eq_ignore_ascii_case(sent);
    let tool = catalog.tools.iter().find(|tool| !tool.only_reads())?;
    let is_exposed = (200..300).contains(&status) && is_allowed;
    is_exposed.then(|| Exposure { allowed: allowed.to_owned(), tool: tool.name.clone() })
}

/// The `Origin` that a request names.
fn sent_origin(request: &RawHttp, names: &Names) -> Option<String> {
    let (_, value) = request.headers.iter().find(|(name, _)| name.value.eq_ignore_ascii_case("origin"))?;
    let values = header_values(&value.0, names).ok()?;
    String::from_utf8(values.into_iter().next()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::Tool;

    #[test]
    fn a_page_that_reads_answers_of_a_server_that_writes_is_dangerous() {
        let tool =
            |name: &str, reads: Option<bool>| Tool::new(json!({"name": name, "annotations": {"readOnlyHint": reads}}));
        let writing = Catalog { tools: vec![tool("list", Some(true)), tool("save", None)], ..Catalog::default() };
        let reading = Catalog { tools: vec![tool("list", Some(true))], ..Catalog::default() };
        let evil = "http://evil.example";
        for (what, status, allowed, catalog, expected) in [
            ("every origin", 200, Some("*"), &writing, Some("*")),
            ("the foreign one", 200, Some(evil), &writing, Some(evil)),
            ("an accepted message", 202, Some("*"), &writing, Some("*")),
            ("its own origin", 200, Some("http://localhost:3000"), &writing, None),
            ("none", 200, None, &writing, None),
            ("every origin, of a refusal", 500, Some("*"), &writing, None),
            ("every origin, and nothing writes", 200, Some("*"), &reading, None),
            ("every origin, and there are no tools", 200, Some("*"), &Catalog::default(), None),
        ] {
            let answer = json!({"status": status, "headers": {ALLOWED_ORIGIN: allowed}});
            let found = exposure(evil, &answer, catalog);
            assert_eq!(found.as_ref().map(|found| found.allowed.as_str()), expected, "{what}");
            assert!(found.is_none_or(|found| found.tool == "save"), "{what}");
        }
    }
}
