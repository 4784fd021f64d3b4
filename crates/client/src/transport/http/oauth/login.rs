//! A login without a browser: pages are asked for one at a time, the forms of the suite are filled in, and the redirect that
//! ends the login is read and never followed.

use std::fmt;

use reqwest::Url;

use super::TokenGrant;
use super::asking::{Asking, OAuthAnswer, Problem, form_body, is_here, is_local, is_secure, names_host};
use super::code::{REQUEST_CURE, ends_login};
use super::cookies::CookieJar;
use super::discovery::Found;
use super::form::{Form, forms_of};
use crate::source::visible_line;

/// The number of pages and redirects of one login.
const MAX_PAGES: usize = 20;

/// The number of fields that a message names.
const MOST_SHOWN: usize = 12;

/// The values that a form of a login gets.
#[derive(Clone, Default)]
pub struct LoginForm {
    /// Names of fields, or of a button, with their values.
    pub fields: Vec<(String, String)>,
}

impl fmt::Debug for LoginForm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.fields.iter().map(|(name, _)| name.as_str()).collect();
        formatter.debug_struct("LoginForm").field("fields", &names).finish_non_exhaustive()
    }
}

impl LoginForm {
    /// The first form of a page that has its fields; one without fields takes the first that is sent by POST, or else the
    /// first. The code of a device goes into the field of that name.
    fn find<'a>(
        &self,
        forms: &'a [Form],
        code: Option<&(String, String)>,
    ) -> Option<(&'a Form, Vec<(String, String)>)> {
        let filled = |form: &Form| {
            let is_asked = |(name, _): &&(String, String)| {
                let is_given = self.fields.iter().any(|(given, _)| given == name);
                !is_given && form.shown_names().contains(&name.as_str())
            };
            let given: Vec<_> = self.fields.iter().chain(code.filter(is_asked)).cloned().collect();
            form.filled(&given)
        };
        let posted = forms.iter().filter(|form| form.is_post || !self.fields.is_empty());
        posted.chain(forms).find_map(|form| Some((form, filled(form)?)))
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|(name, _)| name.as_str()).collect();
        names.join("`, `")
    }
}

/// A login on its way.
pub(crate) struct Login<'a> {
    asking: &'a Asking<'a>,
    forms: &'a [LoginForm],
    place: LoginPlace<'a>,
}

/// Where a login begins and ends, and where it may lead in between.
pub(crate) struct LoginPlace<'a> {
    /// The first page.
    pub(crate) start: Url,
    pub(crate) end: LoginEnd<'a>,
    /// The hosts to which it may lead; one of this machine allows all of its addresses.
    pub(crate) hosts: Vec<String>,
    /// The issuer that the suite names.
    pub(crate) issuer: Option<Url>,
    /// The field for the code of a device, with the code.
    pub(crate) code: Option<(String, String)>,
}

/// What ends a login.
pub(crate) enum LoginEnd<'a> {
    /// A redirect to this address.
    Redirect(&'a Url),
    /// The answer to the last form.
    LastForm,
}

/// The hosts to which a login may lead: those of the authorization server, those that the suite names, and the server.
pub(crate) fn hosts(named: &[String], grant: &TokenGrant, found: &Found, ends: &[&Url]) -> Vec<String> {
    // An issuer that only the tested server names has the hosts that `permit_login` allows.
    let issuers = [grant.issuer.as_ref().map(|_| &found.server.issuer), grant.issuer.as_ref()].into_iter().flatten();
    let hosts = issuers.filter_map(|issuer| Url::parse(issuer).ok()?.host_str().map(str::to_owned));
    let hosts = hosts.chain(ends.iter().filter_map(|end| end.host_str().map(str::to_owned)));
    hosts.chain(named.iter().cloned()).collect()
}

/// The next request of a login.
struct Step {
    url: Url,
    /// The body of a form that is posted.
    form: Option<String>,
}

const PAGE_CURE: &str =
    "mcprove fills in forms and runs no script; for another login send a token with `auth: { bearer: … }`";

impl<'a> Login<'a> {
    pub(crate) fn new(asking: &'a Asking<'a>, forms: &'a [LoginForm], place: LoginPlace<'a>) -> Self {
        Self { asking, forms, place }
    }

    /// The redirect that ends the login, or the last page.
    pub(crate) async fn walk(&self) -> Result<Url, Problem> {
        let mut jar = CookieJar::default();
        let mut step = Step { url: self.place.start.clone(), form: None };
        let mut sent = 0;
        for _ in 0..MAX_PAGES {
            self.permit(&step.url)?;
            let answer = self.asking.page(&step.url, step.form.as_deref(), jar.header(&step.url)).await?;
            jar.store(&step.url, &answer.headers, |cookie| self.asking.redactor.learn_foreign(cookie));
            if let Some(location) = answer.location() {
                let next =
                    step.url.join(location).map_err(|_| Problem::of(format!("{} to no URL", answer.summary())))?;
                if let LoginEnd::Redirect(redirect_uri) = self.place.end
                    && ends_login(&next, redirect_uri)
                {
                    return Ok(next);
                }
                step = redirected(&answer, &step, next)?;
                continue;
            }
            if self.is_done(&answer, sent) {
                return Ok(step.url);
            }
            step = self.answer(&answer, &step.url, sent)?;
            sent += 1;
        }
        let message =
            format!("the login has not ended after {MAX_PAGES} pages; the last one was `{}`", without_query(&step.url));
        Err(Problem::of(message))
    }

    /// The last form was sent, and nobody asks for it again.
    fn is_done(&self, answer: &OAuthAnswer, sent: usize) -> bool {
        let is_last = matches!(self.place.end, LoginEnd::LastForm) && sent == self.forms.len() && answer.is_success();
        let asks = |last| asks_again(last, None, &forms_of(&String::from_utf8_lossy(&answer.body)));
        is_last && !self.forms.last().is_some_and(asks)
    }

    /// Fills in the next form of the suite; `sent` forms were sent before.
    fn answer(&self, answer: &OAuthAnswer, page: &Url, sent: usize) -> Result<Step, Problem> {
        let text = String::from_utf8_lossy(&answer.body);
        let forms = forms_of(&text);
        let (last, next) = (sent.checked_sub(1).and_then(|last| self.forms.get(last)), self.forms.get(sent));
        if let Some(last) = last.filter(|last| asks_again(last, next, &forms)) {
            let message = format!("the page asks for `{}` again: {}", last.names(), answer.summary());
            return Err(Problem::of(message).with_cure("check the values under `login`"));
        }
        if forms.is_empty() {
            let message = format!("{}, and the page has no form", answer.summary());
            let cure = if answer.is_success() { PAGE_CURE } else { REQUEST_CURE };
            return Err(Problem::of(message).with_cure(cure));
        }
        let Some(next) = next else {
            let fields = shown(&forms);
            let message = format!("the login leads to another page, which asks for {fields}: {}", answer.summary());
            return Err(
                Problem::of(message).with_cure("add its form to the list under `login`, for example `- form: {}`")
            );
        };
        let Some((form, filled)) = next.find(&forms, self.place.code.as_ref()) else {
            let message = format!(
                "no form of the page asks for `{}`, but for {}: {}",
                next.names(),
                shown(&forms),
                answer.summary()
            );
            return Err(Problem::of(message)
                .with_cure("write the names of the fields as the page has them under `login: { form }`"));
        };
        if form.is_multipart {
            return Err(Problem::of(format!("the form of `{}` is sent as `multipart/form-data`", answer.title))
                .with_cure(PAGE_CURE));
        }
        // An empty action is the page itself.
        let mut url = page
            .join(&form.action)
            .map_err(|_| Problem::of(format!("the form of `{}` is sent to no URL", answer.title)))?;
        if let LoginEnd::Redirect(redirect_uri) = self.place.end
            && ends_login(&url, redirect_uri)
        {
            let message = format!(
                "the form of `{}` sends the code to the client; mcprove reads it from a redirect",
                answer.title
            );
            return Err(Problem::of(message).with_cure(REQUEST_CURE));
        }
        let body = form_body(filled.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if form.is_post {
            return Ok(Step { url, form: Some(body) });
        }
        url.set_query(Some(&body));
        Ok(Step { url, form: None })
    }

    /// Goes on only where the suite or the authorization server leads: over TLS, on this machine, or at the issuer that the
    /// suite names itself.
    fn permit(&self, url: &Url) -> Result<(), Problem> {
        let shown = without_query(url);
        let stays_here = is_here(url) && self.place.hosts.iter().any(|named| is_local(named));
        if !stays_here && !self.place.hosts.iter().any(|named| names_host(named, url)) {
            let message = format!("the login leads to another host, `{shown}`; it is not followed");
            return Err(Problem::of(message).with_cure("if the host belongs to the login, name it under `login_hosts`"));
        }
        let is_issuer = self.place.issuer.as_ref().is_some_and(|issuer| issuer.origin() == url.origin());
        if is_secure(url) || is_issuer {
            return Ok(());
        }
        Err(Problem::of(format!("the login leads to `{shown}`, which has no TLS")))
    }
}

/// The request that a redirect asks for: a form goes on only where the status says so, and only to the same origin.
fn redirected(answer: &OAuthAnswer, from: &Step, next: Url) -> Result<Step, Problem> {
    let form = from.form.clone().filter(|_| matches!(answer.status, 307 | 308));
    if form.is_some() && next.origin() != from.url.origin() {
        let message =
            format!("{} to `{}`, which would get the values of the form", answer.summary(), without_query(&next));
        return Err(Problem::of(message));
    }
    Ok(Step { url: next, form })
}

/// The page asks for what was sent already, and not for anything else that the next form has.
fn asks_again(last: &LoginForm, next: Option<&LoginForm>, forms: &[Form]) -> bool {
    let has = |form: &Form, wanted: &LoginForm| {
        let names = form.shown_names();
        !wanted.fields.is_empty() && wanted.fields.iter().all(|(name, _)| names.contains(&name.as_str()))
    };
    let is_new = |next: &&LoginForm| next.fields.iter().any(|field| !last.fields.contains(field));
    let goes_on = next.filter(is_new).is_some_and(|next| next.find(forms, None).is_some());
    !goes_on && forms.iter().any(|form| has(form, last))
}

/// What the forms of a page ask for.
fn shown(forms: &[Form]) -> String {
    let names = forms.iter().flat_map(Form::shown_names).take(MOST_SHOWN);
    let names: Vec<String> = names.map(|name| format!("`{}`", visible_line(name))).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// An address as it is shown: queries of logins have secrets.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    visible_line(url.as_str()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(fields: &[(&str, &str)]) -> LoginForm {
        LoginForm { fields: fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect() }
    }

    #[test]
    fn a_page_that_comes_again_is_noticed() {
        let name = form(&[("user", "ann")]);
        let password = form(&[("pw", "secret")]);
        let both = form(&[("user", "ann"), ("pw", "secret")]);
        let allow = form(&[("do", "allow")]);
        let login = "<form method=post><input name=user><input name=pw type=password></form>";
        let named = "<form method=post><input type=hidden name=user value=ann><input name=pw type=password></form>";
        let consent = "<form method=post><button name=do value=allow>Yes</button></form>";
        let check = |last: &LoginForm, next: Option<&LoginForm>, page: &str, expected: bool| {
            assert_eq!(asks_again(last, next, &forms_of(page)), expected, "{last:?} {next:?} {page}");
        };
        check(&both, None, login, true);
        check(&both, Some(&allow), login, true);
        check(&both, Some(&form(&[])), login, true);
        check(&both, Some(&allow), consent, false);
        check(&name, Some(&password), named, false);
        check(&name, Some(&password), login, false);
        check(&password, None, named, true);
        check(&form(&[]), None, consent, false);
    }
}
