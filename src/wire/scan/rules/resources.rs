//! The addresses in the lists of resources and of templates.

use serde_json::Value;

use super::super::super::format::is_uri_template;
use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::content::address;
use super::{AnsweredRequest, items};
use crate::wire::Members;

/// Judges the addresses of a list.
pub(super) fn judge(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    match asked.method {
        "resources/list" => items(result, "resources").for_each(|resource| address(look, resource.member("uri"))),
        "resources/templates/list" => {
            let listed = items(result, "resourceTemplates").filter_map(|one| one.member("uriTemplate"));
            for template in listed.filter_map(Value::as_str) {
                look.require(ScanRule::BadUriTemplate, is_uri_template(template), || {
                    format!("a resource template is `{template}`, which is not a URI template")
                });
            }
        }
        _ => {}
    }
}
