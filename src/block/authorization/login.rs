//! Forms of login pages, filled in with what the suite gives.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use reqwest::Url;
use serde_json::{Map, Value};

use crate::transport::http::{Form, forms_of};

/// Whether users can log in, by the address where they do and their name: a wrong password is not tried for every rule, since that could
/// lock the user out.
#[derive(Debug, Default)]
pub(crate) struct KnownLogins(Mutex<BTreeMap<String, KnownLogin>>);

#[derive(Debug)]
enum KnownLogin {
    Works,
    Fails(String),
}

impl KnownLogins {
    /// Why logins fail there; `None` where they work, or nobody has tried.
    pub(crate) fn failure(&self, key: &str) -> Option<String> {
        match self.0.lock().get(key) {
            Some(KnownLogin::Fails(why)) => Some(why.clone()),
            Some(KnownLogin::Works) | None => None,
        }
    }

    /// Takes note of a login that came to its end.
    pub(crate) fn keep_success(&self, key: &str) {
        self.0.lock().insert(key.to_owned(), KnownLogin::Works);
    }

    /// Takes note of a login that failed, unless an earlier one worked.
    pub(crate) fn keep_failure(&self, key: &str, why: &str) {
        self.0.lock().entry(key.to_owned()).or_insert_with(|| KnownLogin::Fails(why.to_owned()));
    }
}

/// A form that is filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilledForm {
    /// The address to which it is sent.
    pub(crate) action: Url,
    /// True if it is posted.
    pub(crate) is_post: bool,
    pub(crate) fields: Vec<(String, String)>,
    /// The fields and buttons that got a value of the suite.
    pub(crate) given: Vec<String>,
    /// It asks for a password.
    pub(crate) has_password: bool,
}

/// The form of a page with values of the suite in its fields: the first that has such a field, or else the first of all.
pub(crate) fn fill_form(page: &str, at: &Url, login: &Map<String, Value>) -> Option<FilledForm> {
    let forms: Vec<FilledForm> = forms_of(page).iter().filter_map(|form| fill(form, at, login)).collect();
    let best = forms.iter().position(|form| !form.given.is_empty()).unwrap_or_default();
    forms.into_iter().nth(best)
}

fn fill(form: &Form, at: &Url, login: &Map<String, Value>) -> Option<FilledForm> {
    let texts = login.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    // A button of this name may have another value on this page.
    let given: Vec<(String, String)> = texts.filter(|one| form.takes(one)).collect();
    let fields = form.filled(&given)?;
    let given = given.into_iter().map(|(name, _)| name).collect();
    let action = at.join(&form.action).ok()?;
    Some(FilledForm { action, is_post: form.is_post, fields, given, has_password: form.has_password })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_login_that_worked_once_fails_for_another_reason() {
        let (one, other) = ("http://a.example/login ann", "http://a.example/login ben");
        let known = KnownLogins::default();
        known.keep_failure(one, "again");
        assert_eq!((known.failure(one).as_deref(), known.failure(other)), (Some("again"), None));
        known.keep_success(one);
        known.keep_failure(one, "again");
        assert_eq!(known.failure(one), None);
    }

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
        assert_eq!(
            (form.action.as_str(), form.is_post, form.has_password),
            ("http://a.example/in?a=1&b=2", true, true)
        );
        assert_eq!(form.given, ["username", "password", "decision", "keep"]);

        let consent = r#"<form method="post"><input type="submit" name="ok" value="Go on"><input type="submit" name="no"></form>"#;
        let form = fill_form(consent, &at, login).unwrap();
        assert_eq!(form.fields, [("ok".to_owned(), "Go on".to_owned())]);
        assert_eq!((form.action.as_str(), form.given.is_empty()), (at.as_str(), true));

        // The button of another page.
        let first =
            r#"<form method="post"><input name="username"><button name="decision" value="next">Next</button></form>"#;
        let form = fill_form(first, &at, login).unwrap();
        assert_eq!(
            form.fields,
            [("username".to_owned(), "ann".to_owned()), ("decision".to_owned(), "next".to_owned())]
        );
        for page in ["", "<form action='http://['></form>", "<p>no</p>"] {
            assert_eq!(fill_form(page, &at, login), None, "{page}");
        }
    }
}
