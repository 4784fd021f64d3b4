//! Takes secrets out of everything that leaves the program, by value and in the forms in which values travel.

mod cut;
mod fields;
mod forms;
mod guess;
mod marks;
mod spelled;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use parking_lot::RwLock;
use serde_json::Value;

use self::cut::{holds, telling, telling_end, without_beginnings, without_endings};
use self::fields::without_secret_members;
pub use self::fields::{hold_a_secret, holds_a_secret, may_name_a_secret};
pub use self::forms::{base64, from_base64, percent_encode};
pub use self::guess::{is_secret, option_secrets, reads_drawn, user_of};
pub use self::marks::{Part, RESTORED_FROM, mark, parts, variable};
use self::spelled::Spelled;

/// Stands in the place of a secret.
pub const MASK: &str = "[redacted]";

/// Values shorter than this are no secrets: masking them would make every report unreadable.
const SHORTEST: usize = 4;

/// The longest secret of a server that is looked for as a whole, in bytes; of a longer one only the beginning is.
const LONGEST: usize = 16 << 10;

/// The most lines of a secret of a server that are looked for one by one.
const MOST_LINES: usize = 200;

/// The number of characters of a secret that reveal too much.
const TELLING: usize = 8;

/// Parts of the names of headers and parameters whose values are secret.
const SECRET_NAMES: [&str; 8] =
    ["authorization", "cookie", "api-key", "apikey", "token", "secret", "password", "session"];

/// The name of a field of a login says that its value is secret, be it as short as it likes.
pub fn names_login_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let is_short = words.any(|word| ["pin", "otp", "totp"].contains(&word));
    is_short || ["pass", "pwd", "code"].iter().any(|part| name.contains(part)) || names_a_secret(&name)
}

/// A name, such as that of a header or of a parameter of an address, says that its value is secret.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// The values in the query of an address that are secret by their names, as they are written.
pub fn query_secrets(url: &str) -> impl Iterator<Item = &str> {
    let query = url.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, value)| names_a_secret(name) && !value.is_empty()).map(|(_, value)| value)
}

/// Knows every secret of a run; clones learn what one of them learns.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Arc<KnownSecrets>>>,
    /// Secrets that have a name, and the variables from which they are taken back; longest first.
    named: Arc<[(String, String)]>,
    /// Texts that are secret where they fill a field, such as a password that is an everyday word, and the variables from
    /// which they are taken back.
    fillings: Arc<[(String, String)]>,
}

/// Everything that is looked for.
#[derive(Debug, Clone, Default)]
struct KnownSecrets {
    /// Longest first, so that a secret that contains another is masked whole.
    forms: Vec<String>,
    /// The secrets themselves, and the lines of those that have several.
    secrets: Vec<String>,
    /// The forms of which a beginning says too much, each with the length of the shortest one that does.
    beginnings: Vec<(usize, String)>,
    /// The forms of which an end says too much, each with the place where the shortest one begins that does.
    endings: Vec<(usize, String)>,
    /// The secrets, for spellings that are too many to be listed.
    spelled: Vec<Spelled>,
    /// Shorter texts say nothing, in bytes.
    shortest: usize,
    /// The secrets that nothing gives back, since servers invented them.
    captured: Vec<String>,
    /// Finds the least of any form that says too much, all in one search: most texts hold none. Made when it is needed.
    revealing: OnceLock<Option<AhoCorasick>>,
}

impl KnownSecrets {
    fn learn(&mut self, secret: &str) {
        self.learn_lines(secret, usize::MAX);
    }

    /// Learns what a server gave, which may be a text without an end.
    fn learn_foreign(&mut self, secret: &str) {
        let end = (0..=LONGEST.min(secret.len())).rev().find(|at| secret.is_char_boundary(*at)).unwrap_or_default();
        self.learn_lines(&secret[..end], MOST_LINES);
    }

    fn learn_lines(&mut self, secret: &str, most_lines: usize) {
        // A recording has the mask in the place of what was captured.
        if secret == MASK || self.secrets.iter().any(|known| known == secret) {
            return;
        }
        let lines = secret.lines().take(most_lines).map(str::trim);
        let lines = lines.filter(|line| line.len() >= TELLING && *line != secret.trim());
        for value in lines.chain([secret]).filter(|value| value.len() >= SHORTEST) {
            self.forms.extend(forms::of(value));
            self.secrets.push(value.to_owned());
        }
        for known in [&mut self.forms, &mut self.secrets] {
            known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            known.dedup();
        }
        let of = |texts: &[String], place: fn(&str) -> Option<usize>| {
            texts.iter().filter_map(|text| Some((place(text)?, text.clone()))).collect()
        };
        self.beginnings = of(&self.forms, telling);
        self.endings = of(&self.forms, telling_end);
        self.shortest = self.forms.last().map_or(0, |form| form.len().min(TELLING));
        self.spelled = self.secrets.iter().map(|secret| Spelled::of(secret)).collect();
        self.revealing = OnceLock::new();
    }

    /// A text may hold a form, or a beginning or an end of one that says too much.
    fn may_be_in(&self, text: &str) -> bool {
        let least = |form: &String| telling(form).unwrap_or(form.len());
        let beginnings = self.forms.iter().map(|form| &form[..least(form)]);
        let endings = self.endings.iter().map(|(place, form)| &form[*place..]);
        let build = || {
            // Secrets are few and learned one by one: an automaton that is quickly made beats one that is quickly asked.
            let mut builder = AhoCorasick::builder();
            builder.kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(beginnings.chain(endings)).ok()
        };
        self.revealing.get_or_init(build).as_ref().is_none_or(|revealing| revealing.is_match(text))
    }
}

impl Redactor {
    /// Knows these values in all their spellings: in base64 and hexadecimal digits, in another case, and escaped for JSON,
    /// HTML, addresses or mail.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut known = KnownSecrets::default();
        secrets.into_iter().for_each(|secret| known.learn(&secret));
        Self { known: Arc::new(RwLock::new(Arc::new(known))), ..Self::default() }
    }

    /// Knows these values as well, each under a name by which it can be asked for later; what one of both learns from
    /// here on, the other knows.
    #[must_use]
    pub fn naming(&self, secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut named: Vec<(String, String)> = Vec::new();
        for (name, value) in secrets.into_iter().filter(|(_, value)| value.len() >= SHORTEST) {
            add_named(&mut named, &[], &name, value);
        }
        for (value, _) in &named {
            self.learn(value);
        }
        named.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Self { known: Arc::clone(&self.known), named: named.into(), fillings: Arc::clone(&self.fillings) }
    }

    /// Takes these texts for secrets where they are the whole text of a field, each under the name of its field.
    #[must_use]
    pub fn filling(self, fields: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut fillings = Vec::new();
        for (name, text) in fields {
            add_named(&mut fillings, &self.named, &name, text);
        }
        Self { fillings: fillings.into(), ..self }
    }

    /// Replaces each secret that has a name by a mark, and masks the others: with the secrets, the text can be restored
    /// from its [`parts`]. Called once for a text; nothing in it is taken for a mark.
    pub fn restorable(&self, text: &str) -> String {
        self.filled_from(text).unwrap_or_else(|| self.with_literals(text))
    }

    fn with_literals(&self, text: &str) -> String {
        with_marks(&self.named, text, &|part| marks::literal(&self.text(part)))
    }

    /// Replaces each secret that has a name by a template, and masks the others.
    pub fn in_templates(&self, text: &str) -> String {
        self.filled_from(text).unwrap_or_else(|| with_marks(&self.named, text, &|part| self.text(part)))
    }

    /// The mark of a text that is secret where it fills a field.
    fn filled_from(&self, text: &str) -> Option<String> {
        let (_, variable) = self.fillings.iter().find(|(filling, _)| filling == text)?;
        Some(mark(variable))
    }

    /// Masks the secrets in a result of [`Self::restorable`] that were learned since.
    pub fn still_restorable(&self, text: &str) -> String {
        marks::around(text, &|part| self.text(part))
    }

    /// Knows this value too, in all its forms, from here on.
    pub fn learn(&self, secret: &str) {
        let mut known = self.known.write();
        Arc::make_mut(&mut known).learn(secret);
    }

    /// Knows a value that a server gave; of one that is very long, only the beginning.
    pub fn learn_foreign(&self, secret: &str) {
        let mut known = self.known.write();
        Arc::make_mut(&mut known).learn_foreign(secret);
    }

    /// Knows every text and number in this value of an answer, from here on.
    pub fn capture(&self, value: &Value) {
        match value {
            Value::String(text) => self.capture_text(text),
            Value::Number(number) => self.capture_text(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.capture(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.capture(field)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn capture_text(&self, secret: &str) {
        let mut known = self.known.write();
        if secret.len() >= SHORTEST && !known.captured.iter().any(|captured| captured == secret) {
            let known = Arc::make_mut(&mut known);
            known.learn_foreign(secret);
            known.captured.push(secret.to_owned());
        }
    }

    /// Any secret was captured.
    pub fn has_captured(&self) -> bool {
        !self.secrets().captured.is_empty()
    }

    /// A value holds a secret that was captured, or its mask.
    pub fn holds_captured(&self, value: &Value) -> bool {
        let known = self.secrets();
        let tells = |text: &str| known.captured.iter().any(|secret| text.contains(secret.as_str()));
        !known.captured.is_empty() && any_text(value, &|text| text.contains(MASK) || tells(text))
    }

    /// A copy that knows the same secrets, and shares none that it learns later.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { known: Arc::new(RwLock::new(self.secrets())), ..self.clone() }
    }

    fn secrets(&self) -> Arc<KnownSecrets> {
        Arc::clone(&self.known.read())
    }

    /// The text without secrets, the parts of secrets that were cut in two, and the members of JSON whose names say that
    /// they are secret.
    pub fn text(&self, text: &str) -> String {
        without_secret_members(self.without_known(text))
    }

    fn without_known(&self, text: &str) -> String {
        let known = self.secrets();
        if known.forms.is_empty() || text.len() < known.shortest {
            return text.to_owned();
        }
        let without_spelled = |text: String| {
            let spelled = spelled::find(&text, &known.spelled);
            mask(text, &spelled)
        };
        if !known.may_be_in(text) {
            return without_spelled(text.to_owned());
        }
        // Whole forms first: the beginning of one form may be the whole beginning of another.
        let whole = known.forms.iter().fold(text.to_owned(), |text, form| {
            if holds(&text, form) { text.replace(form.as_str(), MASK) } else { text }
        });
        without_endings(without_beginnings(without_spelled(whole), &known.beginnings), &known.endings)
    }

    /// A text has a whole secret, in any of its forms.
    pub fn is_in(&self, text: &str) -> bool {
        let known = self.secrets();
        known.forms.iter().any(|form| text.contains(form.as_str())) || !spelled::find(text, &known.spelled).is_empty()
    }

    /// The value without secrets, keys included, and without the texts of fields whose names say that they are secret.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let field = |(name, value): (String, Value)| {
                    let is_secret = value.as_str().is_some_and(|text| holds_a_secret(&name, text));
                    (self.text(&name), if is_secret { MASK.into() } else { self.value(value) })
                };
                Value::Object(fields.into_iter().map(field).collect())
            }
            Value::Number(number) if self.secrets().forms.iter().any(|form| *form == number.to_string()) => MASK.into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}

/// Gives a value a variable of its own, unless it has one.
fn add_named(named: &mut Vec<(String, String)>, others: &[(String, String)], name: &str, value: String) {
    let name = variable(name);
    let known = || named.iter().chain(others);
    if known().any(|(known, _)| *known == value) {
        return;
    }
    let plain = |variable: &str| variable.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()) == name;
    let times = known().filter(|(_, variable)| plain(variable)).count();
    named.push((value, if times == 0 { name } else { format!("{name}_{}", times + 1) }));
}

/// The predicate holds for any text or number in a value.
fn any_text(value: &Value, is_so: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_so(text),
        Value::Number(number) => is_so(&number.to_string()),
        Value::Array(items) => items.iter().any(|item| any_text(item, is_so)),
        Value::Object(fields) => fields.iter().any(|(name, field)| is_so(name) || any_text(field, is_so)),
        Value::Null | Value::Bool(_) => false,
    }
}

/// A text may have been this one before its secrets were masked: a mask can stand for anything.
pub fn may_be(masked: &str, text: &str) -> bool {
    let Some((first, rest)) = masked.split_once(MASK) else { return masked == text };
    let (middle, last) = rest.rsplit_once(MASK).unwrap_or(("", rest));
    let between = text.strip_prefix(first).and_then(|text| text.strip_suffix(last));
    let found = between
        .and_then(|text| middle.split(MASK).try_fold(text, |text, part| text.split_once(part).map(|(_, later)| later)));
    found.is_some()
}

/// The text with marks for secrets, the first ones first; what is between them changes.
fn with_marks(named: &[(String, String)], text: &str, between: &dyn Fn(&str) -> String) -> String {
    let Some(((value, variable), others)) = named.split_first() else { return between(text) };
    let parts = text.split(value.as_str()).map(|part| with_marks(others, part, between));
    parts.collect::<Vec<_>>().join(&mark(variable))
}

/// A text with masks in these places.
fn mask(text: String, places: &[Range<usize>]) -> String {
    if places.is_empty() {
        return text;
    }
    let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
    for place in places {
        masked = masked + &text[at..place.start] + MASK;
        at = place.end;
    }
    masked + &text[at..]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::forms::{as_utf16, hexadecimal};
    use super::*;

    #[test]
    fn a_secret_without_an_end_is_known_by_its_beginning() {
        let long = (0..10_000).map(|number| format!("k{number:05}")).collect::<Vec<_>>().concat();
        let lines = "a-line-of-a-secret\n".repeat(100_000);
        // The end of what is looked for is between two bytes of a character.
        let accents = format!("k{}", "é".repeat(LONGEST));
        for (secret, shown) in [(&long, &long[..100]), (&lines, "a-line-of-a-secret"), (&accents, "ké")] {
            let redactor = Redactor::default();
            redactor.learn_foreign(secret);
            let masked = redactor.text(secret);
            assert!(!masked.contains(shown), "{}", &masked[..40]);
        }
        let of_user = Redactor::new([long.clone()]);
        assert_eq!(of_user.text(&format!("a {long} b")), format!("a {MASK} b"), "what the suite says is known whole");
    }

    #[test]
    fn names_of_fields_say_what_a_login_keeps_secret() {
        for (name, expected) in [
            ("password", true),
            ("passwd", true),
            ("Passcode", true),
            ("otp", true),
            ("card-pin", true),
            ("code", true),
            ("csrf_token", true),
            ("username", false),
            ("email", false),
            ("decision", false),
            ("opinion", false),
            ("", false),
        ] {
            assert_eq!(names_login_secret(name), expected, "{name}");
        }
    }

    #[test]
    fn short_values_are_found_at_every_offset_of_base64() {
        for secret in ["pa55", "hunter", "s3cr&t!"] {
            let redactor = Redactor::new([secret.to_owned()]);
            for before in ["", "u", "us", "use", "user"] {
                for after in ["", ":", ":x", ":xy"] {
                    let encoded = base64(format!("{before}{secret}{after}").as_bytes());
                    assert!(redactor.text(&encoded).contains(MASK), "{before}{secret}{after}: {encoded}");
                }
            }
        }
    }

    #[test]
    fn what_is_masked_can_have_been_anything() {
        let check =
            |masked: &str, text: &str, expected: bool| assert_eq!(may_be(masked, text), expected, "{masked} {text}");
        check("ann", "ann", true);
        check("ann", "anna", false);
        check("opens with [redacted]", "opens with sesame", true);
        check("opens with [redacted]", "closes with sesame", false);
        check("a [redacted] c", "a c", false);
        check("[redacted] b [redacted]", "1 b 2", true);
        check("[redacted] b [redacted]", "1 c 2", false);
        check("a[redacted][redacted]b", "ab", true);
        check("x [redacted]", "x [redacted]", true);
    }

    #[test]
    fn every_form_is_masked() {
        let redactor = Redactor::new(["s3cr&t/\"value".to_owned()]);
        for text in [
            "x s3cr&t/\"value y".to_owned(),
            base64(b"s3cr&t/\"value"),
            format!("Basic {}", base64(b"user:s3cr&t/\"value")),
            percent_encode("s3cr&t/\"value"),
            json!({"a": "s3cr&t/\"value"}).to_string(),
            "s3cr%26t%2f%22value".to_owned(),
            "s3cr&amp;t/&quot;value".to_owned(),
            hexadecimal("s3cr&t/\"value").to_uppercase(),
        ] {
            let masked = redactor.text(&text);
            assert!(masked.contains(MASK), "{text} -> {masked}");
        }
        assert_eq!(redactor.text("cut: s3cr&t/\"v…"), format!("cut: {MASK}…"));
        assert_eq!(redactor.text("r&t/\"value was cut"), format!("{MASK} was cut"));
        assert_eq!(
            redactor.text("{\"text\":\"r&t/\\\"value\"}\nr&t/\"value"),
            format!("{{\"text\":\"{MASK}\"}}\n{MASK}")
        );
        assert_eq!(redactor.text("s3cr&t/\"v@lue"), format!("{MASK}@lue"));
        let key = Redactor::new(["sk-live-4242-abcd-efgh-ijklm".to_owned()]);
        for cut in 1..12 {
            for before in ["key=", "(", "", "x: '", "of", "\\\""] {
                let text = format!("{before}{} b", &"sk-live-4242-abcd-efgh-ijklm"[cut..]);
                assert!(!key.text(&text).contains("efgh-ijklm"), "{text}: {}", key.text(&text));
            }
        }
        let accents = "pässwört-für-ännchen";
        let escaped = as_utf16(accents, |_| true);
        let ascii = accents.replace('ä', "\\u00e4").replace('ö', "\\u00f6").replace('ü', "\\u00fc");
        let known = Redactor::new([accents.to_owned()]);
        for inner in [accents, &escaped, &ascii, &escaped.to_uppercase().replace("\\U", "\\u")] {
            for outer in ["", "{\"k\": \"", "{\"key\":\"", "[\""] {
                let json = format!("{outer}{inner}\"}}");
                for text in [json.clone(), Value::from(json.as_str()).to_string(), base64(json.as_bytes())] {
                    assert!(known.text(&text).contains(MASK), "{text}");
                }
            }
        }
        let long = Redactor::new(["hunter2-is-the-secret-of-all".to_owned()]);
        assert_eq!(long.text("a hunter2-is-7he-secret-of-all b"), format!("a {MASK}7{MASK} b"));
        let sentence = Redactor::new(["not so secret".to_owned()]);
        assert_eq!(sentence.text("echo secret"), "echo secret", "the end of another word and a word of its own");
        assert_eq!(sentence.text("knot so secret"), format!("k{MASK}"));
        assert_eq!(sentence.text("x so secret"), format!("x{MASK}"));
        assert_eq!(redactor.text("S3CR\\u0026T\\/%22value"), MASK);
        let alike = Redactor::new(["hunter2-s3cr&t/value".to_owned()]);
        assert_eq!(alike.text("a hunter2-s3cr&t/value b"), format!("a {MASK} b"));
        assert_eq!(alike.text("a hunter2-s3cr&t/v b"), format!("a {MASK} b"));
        assert_eq!(alike.text("a hunter2-s3cr%26t b"), format!("a {MASK} b"));
        assert_eq!(redactor.text("s3cr is short"), "s3cr is short");
        let lines = Redactor::new(["-----BEGIN-----\nMIIEpemline1\n-----END-----".to_owned()]);
        assert_eq!(lines.text("+MIIEpemline1"), format!("+{MASK}"));
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(redactor.value(json!([{"k": "s3cr&t/\"value"}, 1])), json!([{"k": MASK}, 1]));
        assert_eq!(Redactor::new(["1".to_owned()]).text("1"), "1");
        let known = Redactor::default().naming([("token".to_owned(), "hunter2-is-it".to_owned())]);
        assert_eq!(known.restorable("a hunter2-is-it b"), "a {{ env.MCPROVE_SECRET_TOKEN }} b");
        assert_eq!(known.restorable(&base64(b"hunter2-is-it")), MASK);
        let forged = "a {{ env.MCPROVE_SECRET_TOKEN }} b";
        assert_eq!(parts(&known.restorable(forged)), [Part::Literal(forged.into())]);
        assert_eq!(
            known.in_templates(&format!("{forged} hunter2-is-it")),
            format!("{forged} {}", &forged[2..forged.len() - 2])
        );
        let odd = Redactor::default()
            .naming([("a".to_owned(), "SECRET".to_owned()), ("b".to_owned(), "a SECRET".to_owned())]);
        let said = odd.restorable("a SECRET of SECRET");
        assert_eq!(said, "{{ env.MCPROVE_SECRET_B }} of {{ env.MCPROVE_SECRET_A }}");
        odd.learn("MCPROVE");
        assert_eq!(odd.still_restorable(&said), said);
        let twin = lines.clone();
        lines.learn("token-7");
        assert_eq!(twin.text("Bearer token-7, line +MIIEpemline1"), format!("Bearer {MASK}, line +{MASK}"));
    }
}
