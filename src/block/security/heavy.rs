//! Arguments of bounded size that cost a careless server far more than their size: deep nesting, long texts and lists,
//! patterns that backtrack, and documents whose entities expand.
//!
//! The sizes go on where the pack `large-payload` ends. Arguments are JSON as text: nothing on this side reads the nesting.

use serde_json::{Value, json};

use crate::plan::put::{Parameter, parameters};
use crate::source::words;

/// Depths to which lists and objects are nested; parsers have limits from 100 on.
const DEEP: [usize; 2] = [1000, 4096];

/// The length of texts, in characters.
const LONG: usize = 1 << 20;

/// The number of items in lists.
const WIDE: usize = 100_000;

/// The repetitions of a text that a pattern matches in many ways.
const REPEATED: usize = 48;

/// The text that all entities and aliases of a document stand for in the end.
pub(crate) const EXPANDED_TEXT: &str = "mcpr";

/// Each of so many entities stands for so many of the one before: a million of the first, which are 4 MB.
const ENTITIES: usize = 6;
const REFERENCES: usize = 10;

/// Stands in arguments where the nesting goes.
const MARK: &str = "mcprove-deep";

/// Words of the names of parameters that are patterns, or may be.
const PATTERN_WORDS: [&str; 9] =
    ["regex", "regexp", "pattern", "patterns", "query", "filter", "match", "grep", "expression"];

/// Words of the names of parameters in which a pattern may be looked for.
const SUBJECT_WORDS: [&str; 7] = ["text", "subject", "input", "content", "string", "value", "lines"];

const XML_WORDS: [&str; 8] = ["xml", "svg", "xhtml", "rss", "atom", "soap", "plist", "opml"];
const YAML_WORDS: [&str; 3] = ["yaml", "yml", "manifest"];

/// Patterns that backtracking engines try in more ways than there is time: on a subject of the letter `a`, and on any text
/// of some length.
const PATTERNS: [&str; 3] = ["(a+)+$", "^(.+)+\\x00$", "^(\\w+\\s?)*\\x00$"];

/// The characters that nested quantifiers of a schema's pattern may be about.
const REPEATABLE: [&str; 4] = ["a", "0", " ", "a."];

/// Arguments of a call, and what is heavy about them.
#[derive(Debug, Clone)]
pub(crate) struct HeavyArguments {
    /// The parameter; `None` for one that the schema does not have.
    pub(crate) parameter: Option<String>,
    /// Its description: `a text of 1048576 characters`.
    pub(crate) kind: String,
    /// All arguments, as JSON.
    pub(crate) text: String,
    /// A parser may refuse the whole message, and the server answer nothing.
    pub(crate) is_unreadable: bool,
    /// It is a document whose entities or aliases expand; only then a large answer proves anything.
    pub(crate) expands: bool,
}

impl HeavyArguments {
    /// The argument and what is heavy about it.
    pub(crate) fn cause(&self) -> String {
        match &self.parameter {
            Some(parameter) => format!("its argument `{parameter}` was {}", self.kind),
            None => format!("an argument that its schema does not have was {}", self.kind),
        }
    }
}

/// The heavy arguments of a tool, of which at most so many parameters are tried.
pub(crate) fn heavy_arguments(schema: &Value, base: &Value, most_parameters: usize) -> Vec<HeavyArguments> {
    let mut all = Vec::new();
    for parameter in parameters(schema, base).iter().take(most_parameters) {
        let mut add = |kind: String, arguments: Option<Value>, expands: bool| {
            let text = arguments.map(|arguments| arguments.to_string());
            let parameter = Some(parameter.name().to_owned());
            all.extend(text.map(|text| HeavyArguments { parameter, kind, text, is_unreadable: false, expands }));
        };
        for pattern in PATTERNS.iter().filter(|_| has_word(parameter, &PATTERN_WORDS)) {
            let kind = format!("the pattern `{pattern}`, which backtracks");
            let matched = with_subject(schema, base, parameter.name());
            add(kind, matched.and_then(|parameter| parameter.with(&json!(pattern))), false);
        }
        for text in REPEATABLE.iter().filter(|_| is_checked_by_nested_quantifiers(parameter.schema())) {
            let kind = format!("a text of {REPEATED} times `{text}` that the schema's `pattern` matches only nearly");
            add(kind, parameter.arguments_with(json!(format!("{}!", text.repeat(REPEATED)))), false);
        }
        for (kind, document) in documents(parameter) {
            add(kind, parameter.with(&json!(document)), true);
        }
        add(format!("a text of {LONG} characters"), parameter.with(&json!("x".repeat(LONG))), false);
        if parameter.schema()["type"] == "array" {
            let lists =
                [(0..WIDE).map(|at| json!(format!("x{at}"))).collect(), (0..WIDE).map(|at| json!(at)).collect()];
            let fitting = lists.into_iter().find_map(|list: Vec<Value>| parameter.with(&json!(list)));
            add(format!("a list of {WIDE} items"), fitting, false);
        }
        let lists = parameter.with(&json!([[[[MARK]]]]));
        let objects = parameter.with(&json!({"a": {"a": {"a": {"a": MARK}}}}));
        all.extend([lists, objects].into_iter().flatten().flat_map(|sample| nest(Some(parameter.name()), &sample)));
    }
    // JSON is read before any schema forbids an argument.
    let mut unknown = base.clone();
    unknown["mcprove_deep"] = MARK.into();
    all.extend(nest(None, &unknown));
    all
}

/// Arguments with nesting where the mark stands.
fn nest(parameter: Option<&str>, sample: &Value) -> Vec<HeavyArguments> {
    let sample = sample.to_string();
    let mark = json!(MARK).to_string();
    let in_objects = sample.contains(&format!("{{\"a\":{mark}}}"));
    let of = |depth: usize| {
        let (open, inmost, close, what) =
            if in_objects { ("{\"a\":", "1", "}", "objects") } else { ("[", "", "]", "lists") };
        let deep = format!("{}{inmost}{}", open.repeat(depth), close.repeat(depth));
        HeavyArguments {
            parameter: parameter.map(str::to_owned),
            kind: format!("{what} within {what}, {depth} deep"),
            text: sample.replace(&mark, &deep),
            is_unreadable: true,
            expands: false,
        }
    };
    DEEP.into_iter().map(of).collect()
}

fn has_word(parameter: &Parameter<'_>, wanted: &[&str]) -> bool {
    words(parameter.name()).iter().any(|word| wanted.contains(&word.as_str()))
}

/// The parameter of that name in arguments whose other texts are a subject, on which the first pattern backtracks.
fn with_subject<'a>(schema: &'a Value, base: &Value, name: &str) -> Option<Parameter<'a>> {
    let subject = json!(format!("{}!", "a".repeat(REPEATED)));
    let mut arguments = base.clone();
    for other in parameters(schema, base).iter().filter(|other| other.name() != name && has_word(other, &SUBJECT_WORDS))
    {
        other.put_into(&mut arguments, &subject);
    }
    parameters(schema, &arguments).into_iter().find(|parameter| parameter.name() == name)
}

/// A group that repeats something is repeated itself, as in `^(a+)+$`.
fn is_checked_by_nested_quantifiers(schema: &Value) -> bool {
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    let repeats = |text: &str| text.starts_with(['+', '*', '{']);
    let ends: Vec<usize> = pattern.match_indices(')').map(|(at, _)| at).collect();
    ends.iter().any(|end| {
        let group = &pattern[pattern[..*end].rfind('(').unwrap_or_default()..*end];
        repeats(&pattern[end + 1..]) && group.contains(['+', '*', '{'])
    })
}

/// Documents that are small, and are not once their entities are put in.
fn documents(parameter: &Parameter<'_>) -> Vec<(String, String)> {
    let schema = parameter.schema();
    let media = [&schema["format"], &schema["contentMediaType"]].map(|value| value.as_str().unwrap_or_default());
    let is = |wanted: &[&str]| {
        has_word(parameter, wanted)
            || media.iter().any(|media| words(media).iter().any(|word| wanted.contains(&word.as_str())))
    };
    let xml = is(&XML_WORDS).then(|| ("XML whose entities stand for 4 MB".to_owned(), xml_of_entities()));
    let yaml = is(&YAML_WORDS).then(|| ("YAML whose aliases stand for 4 MB".to_owned(), yaml_of_aliases()));
    xml.into_iter().chain(yaml).collect()
}

fn xml_of_entities() -> String {
    let entity = |at: usize| format!("<!ENTITY e{} \"{}\">", at + 1, format!("&e{at};").repeat(REFERENCES));
    let entities: String = (0..ENTITIES).map(entity).collect();
    format!("<?xml version=\"1.0\"?><!DOCTYPE m [<!ENTITY e0 \"{EXPANDED_TEXT}\">{entities}]><m>&e{ENTITIES};</m>")
}

fn yaml_of_aliases() -> String {
    let alias = |at: usize| format!("e{}: &e{} [{}]\n", at + 1, at + 1, vec![format!("*e{at}"); REFERENCES].join(", "));
    let aliases: String = (0..ENTITIES).map(alias).collect();
    format!("e0: &e0 {EXPANDED_TEXT}\n{aliases}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(properties: &Value, base: &Value) -> Vec<String> {
        let schema = json!({"type": "object", "properties": properties});
        let all = heavy_arguments(&schema, base, 6);
        assert!(all.iter().all(|heavy| heavy.text.len() < 2 * LONG), "all are bounded");
        all.into_iter().map(|heavy| format!("{}: {}", heavy.parameter.unwrap_or_default(), heavy.kind)).collect()
    }

    #[test]
    fn what_is_sent_follows_from_the_schema() {
        let base = json!({});
        let unknown = [": lists within lists, 1000 deep", ": lists within lists, 4096 deep"];
        assert_eq!(kinds(&json!({"id": {"type": "string", "maxLength": 9}}), &base), unknown);
        assert_eq!(kinds(&json!({"id": {"type": "string"}}), &base)[0], "id: a text of 1048576 characters");
        let list = kinds(&json!({"ids": {"type": "array", "items": {"type": "integer"}}}), &base);
        assert_eq!(list[0], "ids: a list of 100000 items");
        let any = kinds(&json!({"any": {"type": "object"}}), &base);
        assert_eq!(any[0], "any: objects within objects, 1000 deep");
        let checked = json!({"id": {"type": "string", "maxLength": 9, "pattern": "^([a-z]+)*$"}});
        assert_eq!(kinds(&checked, &base).len(), REPEATABLE.len() + unknown.len());
        let plain = json!({"id": {"type": "string", "maxLength": 9, "pattern": "^[a-z]+(-[a-z])*$"}});
        assert_eq!(kinds(&plain, &base), unknown);
        assert!(kinds(&json!({"svg": {"type": "string"}}), &base)[0].starts_with("svg: XML"));
    }

    #[test]
    fn patterns_get_a_subject() {
        let schema =
            json!({"type": "object", "properties": {"pattern": {"type": "string"}, "text": {"type": "string"}}});
        let all = heavy_arguments(&schema, &json!({"pattern": "x", "text": "y"}), 6);
        assert!(all[0].text.contains("aaaaaaaa!") && all[0].text.contains("(a+)+$"), "{}", all[0].text);
    }

    #[test]
    fn documents_expand_to_some_megabytes() {
        assert!(xml_of_entities().len() < 1000 && yaml_of_aliases().len() < 1000);
        let references: usize = [REFERENCES; ENTITIES].into_iter().product();
        assert_eq!(references * EXPANDED_TEXT.len(), 4_000_000);
    }

    #[test]
    fn nested_quantifiers_are_recognized() {
        for (pattern, is_nested) in [
            ("^(a+)+$", true),
            ("^([a-z]*)*$", true),
            ("(a{2,}){3}", true),
            ("^(a+)$", false),
            ("^(ab)+$", false),
            ("^a+b+$", false),
            ("", false),
        ] {
            assert_eq!(is_checked_by_nested_quantifiers(&json!({"pattern": pattern})), is_nested, "{pattern}");
        }
    }

    #[test]
    fn nesting_is_as_deep_as_it_says() {
        let [lists, _] = &nest(Some("any"), &json!({"any": [[MARK]]}))[..] else { panic!("two depths") };
        assert_eq!((lists.text.matches('[').count(), lists.text.matches(']').count()), (DEEP[0] + 2, DEEP[0] + 2));
        let [objects, _] = &nest(None, &json!({"any": {"a": MARK}}))[..] else { panic!("two depths") };
        assert_eq!(objects.text.matches("{\"a\":").count(), DEEP[0] + 1);
        assert!(objects.cause().starts_with("an argument that its schema does not have was objects within objects"));
    }
}
