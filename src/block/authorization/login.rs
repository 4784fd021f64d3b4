//! Forms of login pages, as a program fills them in: no script runs.

use std::sync::LazyLock;

use regex::Regex;
use reqwest::Url;
use serde_json::{Map, Value};

/// A form that is filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilledForm {
    /// The address to which it is sent.
    pub(crate) action: Url,
    /// True if it is posted.
    pub(crate) is_post: bool,
    pub(crate) fields: Vec<(String, String)>,
    /// True if a field got a value of the suite.
    pub(crate) is_login: bool,
}

#[expect(clippy::unwrap_used, reason = "the patterns are constant")]
static FORM: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?is)<form\b([^>]*)>(.*?)</form\s*>").unwrap());
#[expect(clippy::unwrap_used, reason = "the patterns are constant")]
static FIELD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?is)<(input|button)\b([^>]*)>").unwrap());
#[expect(clippy::unwrap_used, reason = "the patterns are constant")]
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?is)([a-z][a-z-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?"#).unwrap());

/// The form of a page with values of the suite in its fields: the first that has such a field, or else the first of all.
pub(crate) fn fill_form(page: &str, at: &Url, login: &Map<String, Value>) -> Option<FilledForm> {
    let forms: Vec<FilledForm> =
        FORM.captures_iter(page).filter_map(|form| fill(&form[1], &form[2], at, login)).collect();
    let best = forms.iter().position(|form| form.is_login).unwrap_or_default();
    forms.into_iter().nth(best)
}

fn fill(head: &str, body: &str, at: &Url, login: &Map<String, Value>) -> Option<FilledForm> {
    let action = attribute(head, "action").filter(|action| !action.is_empty());
    let action = action.map_or_else(|| Some(at.clone()), |action| at.join(&action).ok())?;
    let is_post = attribute(head, "method").is_some_and(|method| method.eq_ignore_ascii_case("post"));
    let (mut fields, mut buttons, mut is_login) = (Vec::new(), Vec::new(), false);
    for field in FIELD.captures_iter(body) {
        let (tag, attributes) = (field[1].to_ascii_lowercase(), &field[2]);
        let Some(name) = attribute(attributes, "name") else { continue };
        let own = attribute(attributes, "value").unwrap_or_default();
        let given = login.get(&name).and_then(Value::as_str).map(str::to_owned);
        let usual = if tag == "button" { "submit" } else { "text" };
        let kind = attribute(attributes, "type").unwrap_or_else(|| usual.to_owned()).to_ascii_lowercase();
        match kind.as_str() {
            "submit" | "image" => buttons.push((name, own)),
            "button" | "reset" | "file" => {}
            "checkbox" | "radio" => {
                let is_chosen =
                    given.as_ref().map_or_else(|| has_attribute(attributes, "checked"), |given| *given == own);
                is_login |= given.is_some();
                if is_chosen {
                    fields.push((name, own));
                }
            }
            _ => {
                is_login |= given.is_some();
                fields.push((name, given.unwrap_or(own)));
            }
        }
    }
    let is_named = |(name, value): &&(String, String)| login.get(name).and_then(Value::as_str) == Some(value);
    let named = buttons.iter().find(is_named);
    is_login |= named.is_some();
    fields.extend(named.or_else(|| buttons.first()).cloned());
    Some(FilledForm { action, is_post, fields, is_login })
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let found = ATTRIBUTE.captures_iter(attributes).find(|found| found[1].eq_ignore_ascii_case(name))?;
    let value = found.get(2).or(found.get(3)).or(found.get(4));
    Some(value.map(|value| unescape(value.as_str())).unwrap_or_default())
}

fn has_attribute(attributes: &str, name: &str) -> bool {
    attribute(attributes, name).is_some()
}

/// The text that an attribute stands for; references of other characters are left as they are.
fn unescape(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&#x2F;", "/")
        .replace("&#47;", "/")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_are_filled_as_a_browser_does() {
        let at: Url = "http://a.example/login?x=1".parse().unwrap();
        let given = json!({ "username": "ann", "password": "p&q", "decision": "allow", "keep": "1" });
        let login = given.as_object().unwrap();
        let page = r#"<form action="/search"><input name="q"></form>
            <FORM METHOD='post' action="/in?a=1&amp;b=2"><input type=hidden name=csrf value="t&quot;1"><input name=username>
            <input name='password' type='password' value=''><input type="checkbox" name="keep" value="1">
            <input type="checkbox" name="news" value="yes"><button name="decision" value="deny">No</button>
            <button name="decision" value="allow">Yes</button><input disabled></FORM>"#;
        let form = fill_form(page, &at, login).unwrap();
        let fields: Vec<_> = form.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(fields, ["csrf=t\"1", "username=ann", "password=p&q", "keep=1", "decision=allow"]);
        assert_eq!((form.action.as_str(), form.is_post, form.is_login), ("http://a.example/in?a=1&b=2", true, true));

        let consent = r#"<form method="post"><input type="submit" name="ok" value="Go on"><input type="submit" name="no"></form>"#;
        let form = fill_form(consent, &at, login).unwrap();
        assert_eq!(form.fields, [("ok".to_owned(), "Go on".to_owned())]);
        assert_eq!((form.action.as_str(), form.is_login), (at.as_str(), false));
        for page in ["", "<form", "<form action='http://['></form>", "<p>no</p>"] {
            assert_eq!(fill_form(page, &at, login), None, "{page}");
        }
    }
}
