//! The forms of a page, as far as a login without a browser needs them.
//!
//! Scripts are not run, so that forms that a script makes are not found.

use crate::html::{Piece, decoded, pieces};

/// The number of forms of a page that are looked at.
const MOST_FORMS: usize = 20;

/// The number of fields and of buttons of a form that are looked at.
const MOST_FIELDS: usize = 200;

/// A form of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Where it is sent; empty for the address of the page.
    pub action: String,
    /// It is sent in the body of a request.
    pub is_post: bool,
    /// It wants another encoding than that of addresses.
    pub is_multipart: bool,
    /// It asks for a password.
    pub has_password: bool,
    fields: Vec<Field>,
    /// Names and values of the buttons that send it; the name may be empty.
    buttons: Vec<(String, String)>,
}

/// A field of a form with the value that the page gives it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Field {
    name: String,
    value: String,
    kind: FieldKind,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// Nobody sees it.
    Hidden,
    /// Somebody fills it in.
    #[default]
    Shown,
    /// A box or one of several, which is not chosen.
    Unchosen,
}

impl Form {
    /// It has a field of this name, or a button of this name and value.
    pub fn takes(&self, one: &(String, String)) -> bool {
        self.buttons.contains(one) || self.fields.iter().any(|field| field.name == one.0)
    }

    /// The names of what somebody fills in or presses.
    pub(crate) fn shown_names(&self) -> Vec<&str> {
        let fields =
            self.fields.iter().filter(|field| field.kind != FieldKind::Hidden).map(|field| field.name.as_str());
        let mut names: Vec<&str> = fields.chain(self.buttons.iter().map(|(name, _)| name.as_str())).collect();
        names.retain(|name| !name.is_empty());
        names.dedup();
        names
    }

    /// Everything that is sent where somebody fills in these values, and presses the button among them or else the first one;
    /// `None` where the form does not have one of them.
    pub fn filled(&self, given: &[(String, String)]) -> Option<Vec<(String, String)>> {
        let value = |name: &str| given.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let mut sent: Vec<(String, String)> = Vec::new();
        for field in &self.fields {
            let is_sent = sent.iter().any(|(name, _)| *name == field.name);
            match value(&field.name) {
                Some(value) if !is_sent => sent.push((field.name.clone(), value.clone())),
                None if field.kind != FieldKind::Unchosen => sent.push((field.name.clone(), field.value.clone())),
                Some(_) | None => {}
            }
        }
        let pressed = self.buttons.iter().find(|button| given.contains(button)).or(self.buttons.first());
        sent.extend(pressed.filter(|(name, _)| !name.is_empty()).cloned());
        given.iter().all(|one| sent.contains(one)).then_some(sent)
    }
}

/// The forms of a page, in order.
pub fn forms_of(page: &str) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    let mut is_open = false;
    // A field whose value is the text behind its tag.
    let mut texts: Option<(&str, Field)> = None;
    for piece in pieces(page) {
        let (name, attributes) = match piece {
            Piece::Text(text) => {
                if let Some((_, field)) = &mut texts {
                    field.value += &decoded(text);
                }
                continue;
            }
            Piece::Close(name) => {
                let is_end = |(open, _): &mut (&str, Field)| name == *open || name == "select" || name == "form";
                if let Some((_, field)) = texts.take_if(is_end) {
                    add_field(&mut forms, field);
                }
                is_open = is_open && name != "form";
                continue;
            }
            Piece::Open(name, attributes) => (name, attributes),
            Piece::Raw(_) => continue,
        };
        let attribute =
            |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        let text = |wanted: &str| attribute(wanted).unwrap_or_default().to_owned();
        if name == "form" {
            if forms.len() == MOST_FORMS {
                break;
            }
            is_open = true;
            forms.push(Form {
                action: text("action").trim().to_owned(),
                is_post: text("method").eq_ignore_ascii_case("post"),
                is_multipart: text("enctype").eq_ignore_ascii_case("multipart/form-data"),
                ..Form::default()
            });
            continue;
        }
        let Some(form) = forms.last_mut().filter(|_| is_open) else { continue };
        if attribute("disabled").is_some() || form.fields.len() + form.buttons.len() >= MOST_FIELDS {
            continue;
        }
        let kind = text("type").to_ascii_lowercase();
        let field = |value: String, kind: FieldKind| Field { name: text("name"), value, kind };
        match (name.as_str(), kind.as_str()) {
            ("input", "submit" | "image") | ("button", "" | "submit") => {
                form.buttons.push((text("name"), text("value")));
            }
            ("input", "button" | "reset" | "file") => {}
            ("input", "hidden") => form.fields.push(field(text("value"), FieldKind::Hidden)),
            ("input", "checkbox" | "radio") => {
                let value = attribute("value").unwrap_or("on").to_owned();
                let is_chosen = attribute("checked").is_some();
                form.fields.push(field(value, if is_chosen { FieldKind::Shown } else { FieldKind::Unchosen }));
            }
            ("input", kind) => {
                form.has_password |= kind == "password";
                form.fields.push(field(text("value"), FieldKind::Shown));
            }
            ("textarea", _) => texts = Some(("textarea", field(String::new(), FieldKind::Shown))),
            ("select", _) => form.fields.push(field(String::new(), FieldKind::Shown)),
            ("option", _) => {
                // The first option is chosen, unless another one says that it is.
                if let Some(select) = form.fields.last_mut().filter(|select| select.kind == FieldKind::Shown)
                    && (select.value.is_empty() || attribute("selected").is_some())
                {
                    select.value = text("value");
                }
            }
            _ => {}
        }
    }
    for form in &mut forms {
        form.fields.retain(|field| !field.name.is_empty());
    }
    forms
}

fn add_field(forms: &mut [Form], field: Field) {
    if let Some(form) = forms.last_mut() {
        form.fields.push(field);
    }
}

/// The text of a page, on one line.
pub(crate) fn text_of(page: &str) -> String {
    let texts = pieces(page)
        .into_iter()
        .filter_map(|piece| if let Piece::Text(text) = piece { Some(decoded(text)) } else { None });
    let text = texts.collect::<Vec<_>>().join(" ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills in the first form that has these fields; what is sent is shown as in an address, behind the method and the action.
    fn check(page: &str, given: &[(&str, &str)], expected: Option<&str>) {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sent = forms_of(page).into_iter().find_map(|form| {
            let sent: Vec<String> =
                form.filled(&given)?.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let method = if form.is_post { "POST" } else { "GET" };
            Some(format!("{method} {} {}", form.action, sent.join("&")))
        });
        assert_eq!(sent.as_deref(), expected, "{page}");
    }

    #[test]
    fn forms_are_found_and_filled() {
        let login = r#"<!DOCTYPE html><title>a < b</title><form method="post" action="/login?a=1&amp;b=2">
            <input type=hidden name=csrf value='x"y'><input name="user"><INPUT TYPE="PASSWORD" NAME="pw"/>
            <button>Log in</button></form>"#;
        check(login, &[("user", "ann"), ("pw", "p&w")], Some("POST /login?a=1&b=2 csrf=x\"y&user=ann&pw=p&w"));
        check(login, &[("user", "ann"), ("email", "a")], None);
        check(login, &[], Some("POST /login?a=1&b=2 csrf=x\"y&user=&pw="));
        let two = "<form action=/search><input name=q></form><form method=POST><input name=user></form>";
        check(two, &[("user", "ann")], Some("POST  user=ann"));
        check(two, &[("q", "x")], Some("GET /search q=x"));
        check("<p>no form <input name=user></p>", &[("user", "ann")], None);
        check("<!-- <form><input name=user></form> -->", &[("user", "ann")], None);
        check("<script>'<form><input name=user>'</script>", &[("user", "ann")], None);
    }

    #[test]
    fn buttons_are_pressed() {
        let consent = "<form method=post><button name=do value=deny>No</button><button name=do value=allow>Yes</button>\
                       <button type=button name=do value=help>?</button></form>";
        check(consent, &[("do", "allow")], Some("POST  do=allow"));
        check(consent, &[], Some("POST  do=deny"));
        check(consent, &[("do", "help")], None);
        check("<form><input type=submit name=go value=Go></form>", &[], Some("GET  go=Go"));
        check("<form><input type=submit disabled name=go value=Go></form>", &[], Some("GET  "));
    }

    #[test]
    fn other_kinds_of_fields() {
        let choices = "<form><input type=checkbox name=a><input type=checkbox name=b checked value=2>\
                       <input type=radio name=r value=1><input type=radio name=r value=2 checked></form>";
        check(choices, &[], Some("GET  b=2&r=2"));
        check(choices, &[("a", "on"), ("r", "1")], Some("GET  a=on&b=2&r=1"));
        let select = "<form><select name=s><option value=1>A<option value=2 selected>B</select><select name=t><option value=3></select></form>";
        check(select, &[], Some("GET  s=2&t=3"));
        check("<form><textarea name=t>a &lt; b</textarea></form>", &[], Some("GET  t=a < b"));
        check("<form><input value=1><input name=f type=file></form>", &[], Some("GET  "));
    }

    #[test]
    fn broken_pages_end() {
        for page in [
            "<",
            "<form",
            "<form action",
            "<form action=",
            "<form action=\"",
            "<form a='<b",
            "<form =><input name=",
            "a<b>c</",
            "<!--",
            "<script>",
            "<form / / =x \"y\">",
            "&",
            "&#;",
            "&#xffffffff;",
            "<ä>",
            "</ä",
            "<form ä=ö>",
            "<form><textarea name=t>",
        ] {
            forms_of(page);
            text_of(page);
        }
        check("<form <input name=user>", &[], Some("GET  "));
        check("<form action=\"/a><input name=user>", &[], Some("GET /a><input name=user> "));
    }

    #[test]
    fn large_pages_are_read_in_one_go() {
        for piece in ["&", "<form>", "<input name=a>", "<", "<!--", "<a b='", "<a =", "&#39"] {
            let page = format!("<form>{}", piece.repeat((1 << 20) / piece.len()));
            assert!(forms_of(&page).len() <= MOST_FORMS);
            text_of(&page);
        }
    }

    #[test]
    fn texts_of_pages() {
        let check = |page: &str, expected: &str| assert_eq!(text_of(page), expected, "{page}");
        check(
            "<title>x</title><style>p { }</style><h1>Log&nbsp;in</h1>\n<p class='a'>Wrong password!",
            "Log in Wrong password!",
        );
        check("1 < 2 & 3 > 2", "1 < 2 & 3 > 2");
        check("caf&#233; &amp;&unknown;", "café &&unknown;");
    }
}
