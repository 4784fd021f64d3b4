//! Writes the reference of a grammar: a section for each mapping with known keys, a line for each key.
//!
//! Made from the tables that check files, so a key that the reference does not have does not exist.

use std::fmt::Write as _;

use super::grammar::{Key, Need, Object, Shape};

/// The reference of `root` and of every mapping below it in Markdown, each under a heading of the third level.
pub fn manual(root: &'static Object) -> String {
    ManualReference::new(root).page("")
}

/// The reference of a grammar, divided among pages; a mapping that was given no page stands on the page `""`.
#[derive(Debug)]
pub struct ManualReference {
    /// Every mapping with known keys, in the order in which a reader of the tables meets them, with its page.
    sections: Vec<(&'static Object, Option<&'static str>)>,
}

impl ManualReference {
    /// A reference of `root` and of every mapping below it.
    pub fn new(root: &'static Object) -> Self {
        let mut objects = Vec::new();
        collect(root, &mut objects);
        Self { sections: objects.into_iter().map(|object| (object, None)).collect() }
    }

    /// Puts a mapping on a page, unless it has one.
    pub fn place(&mut self, object: &'static Object, page: &'static str) {
        let section = self.sections.iter_mut().find(|(known, _)| known.name == object.name);
        if let Some((_, home)) = section {
            home.get_or_insert(page);
        }
    }

    /// Puts a mapping and those below it on a page, unless they have one.
    pub fn place_all(&mut self, object: &'static Object, page: &'static str) {
        let mut objects = Vec::new();
        collect(object, &mut objects);
        for object in objects {
            self.place(object, page);
        }
    }

    /// The sections of one page; links lead to the others.
    pub fn page(&self, page: &str) -> String {
        let mut listed = Vec::new();
        let sections = self.sections.iter().map(|&(object, home)| (home, self.section(object, page, &mut listed)));
        sections.filter(|(home, _)| home.unwrap_or_default() == page).map(|(_, section)| section).collect()
    }

    fn section(&self, object: &'static Object, page: &str, listed: &mut Vec<ListedGroup>) -> String {
        let mut text = format!("\n### {}\n\n{}\n", heading(object), object.doc);
        let mut own = Vec::new();
        let mut elsewhere: Vec<(&Object, Vec<String>)> = Vec::new();
        for group in object.keys {
            let Some((_, home)) = listed.iter().find(|(known, _)| is_same(known, group)) else {
                own.extend(group.iter());
                continue;
            };
            let names = group.iter().map(|key| format!("`{}`", key.name));
            match elsewhere.iter_mut().find(|(known, _)| known.name == home.name) {
                Some((_, known)) => known.extend(names),
                None => elsewhere.push((home, names.collect())),
            }
        }
        if !own.is_empty() {
            text.push_str("\n| key | value | meaning |\n| --- | --- | --- |\n");
        }
        for key in own {
            let _ = writeln!(text, "{}", self.row(key, object, page));
        }
        for (home, names) in elsewhere {
            let _ = writeln!(text, "\nAlso, as in {}: {}.", self.link(home, page), names.join(", "));
        }
        listed.extend(object.keys.iter().map(|group| (*group, object)));
        text
    }

    fn row(&self, key: &Key, object: &Object, page: &str) -> String {
        let need = if key.need == Need::Required { " (required)" } else { "" };
        let default = key.default.map(|default| format!(", by default `{default}`")).unwrap_or_default();
        let value = self.words(&key.shape, page) + &default;
        let cells = [format!("`{}`{need}", key.name), value, key.doc.to_owned() + &relations(key, object)];
        format!("| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
    }

    fn words(&self, shape: &Shape, page: &str) -> String {
        match shape {
            Shape::Any | Shape::Except(_) => "anything".to_owned(),
            Shape::Null => "nothing".to_owned(),
            Shape::Text => "text".to_owned(),
            Shape::Flag => "`true` or `false`".to_owned(),
            Shape::True => "`true`".to_owned(),
            Shape::Whole | Shape::Range(..) | Shape::Number | Shape::Amount | Shape::Share => {
                shape.words().trim_start_matches("a ").to_owned()
            }
            Shape::Duration | Shape::Time | Shape::Timeout => "duration".to_owned(),
            Shape::Choice(choices) => choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", "),
            Shape::Template => "template".to_owned(),
            Shape::List(Shape::Any) => "list".to_owned(),
            Shape::List(Shape::Choice(choices)) | Shape::Set(Shape::Choice(choices)) => {
                format!("list of {}", self.words(&Shape::Choice(choices), page))
            }
            Shape::List(inner) | Shape::Set(inner) => format!("list: {}", self.words(inner, page)),
            Shape::NonEmpty(inner) => self.words(inner, page),
            Shape::Map(Shape::Any) => "mapping".to_owned(),
            Shape::Map(inner) => format!("mapping of names to: {}", self.words(inner, page)),
            Shape::Object(object) => self.link(object, page),
            Shape::Recursive(object) => self.link(object(), page),
            Shape::Either(_) | Shape::ByKey(..) => {
                shape.parts().iter().map(|shape| self.words(shape, page)).collect::<Vec<_>>().join(", or ")
            }
        }
    }

    fn link(&self, object: &Object, page: &str) -> String {
        let section = self.sections.iter().find(|(known, _)| known.name == object.name);
        let home = section.and_then(|(_, home)| *home).unwrap_or_default();
        let file = if home == page { "" } else { home };
        format!("[{}]({file}#{})", object.name, object.name.replace(' ', "-"))
    }
}

/// Every mapping with known keys, in the order in which a reader of the tables meets them.
fn collect(object: &'static Object, objects: &mut Vec<&'static Object>) {
    if objects.iter().any(|known| known.name == object.name) {
        return;
    }
    objects.push(object);
    for key in object.all_keys() {
        within(&key.shape, objects);
        key.shape_beside.iter().for_each(|(_, shape)| within(shape, objects));
    }
}

fn within(shape: &Shape, objects: &mut Vec<&'static Object>) {
    if let Some(object) = shape.object() {
        collect(object, objects);
    }
    shape.parts().iter().for_each(|part| within(part, objects));
}

/// The relations of a key to the keys beside it; long lists are left out.
fn relations(key: &Key, object: &Object) -> String {
    let names = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let rivals = key.choice.map(|choice| object.of_choice(choice)).unwrap_or_default();
    let rivals = rivals.into_iter().filter(|name| *name != key.name);
    let unless = key.unless.as_ref().map(|(name, shape)| {
        if let Shape::Choice([word]) = shape {
            format!("{name}: {word}")
        } else if let Shape::True = shape {
            format!("{name}: true")
        } else if let Shape::Except([word]) = shape {
            format!("{name}` other than `{word}")
        } else {
            (*name).to_owned()
        }
    });
    let excluded: Vec<&str> = key.without.iter().copied().chain(rivals).chain(unless.as_deref()).collect();
    let sentence = |words: &str, keys: &[&str]| {
        if (1..9).contains(&keys.len()) { format!(" {words} {}.", names(keys)) } else { String::new() }
    };
    sentence("Only together with", key.beside) + &sentence("Not together with", &excluded)
}

/// A group of keys and the mapping in whose section it stands.
type ListedGroup = (&'static [Key], &'static Object);

/// Two groups are one; the compiler may keep several copies of a static one.
fn is_same(one: &[Key], other: &[Key]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one.name, one.doc) == (other.name, other.doc))
}

/// A name with an article is a noun, any other one is typed as it is.
fn heading(object: &Object) -> String {
    let mut letters = object.name.chars();
    match letters.next() {
        Some(first) if object.name.contains(' ') => first.to_uppercase().chain(letters).collect(),
        _ => format!("`{}`", object.name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::{key, required};
    use super::*;

    static SHARED: &[Key] = &[key("wait", Shape::Duration, "Waits.")];
    static INNER: Object = Object {
        name: "a step",
        doc: "One step.",
        keys: &[SHARED, &[key("again", Shape::Either(&[Shape::Object(&INNER), Shape::Flag]), "Once more.")]],
    };
    static OUTER: Object = Object {
        name: "tests",
        doc: "All tests.",
        keys: &[&[required("steps", Shape::List(&Shape::Object(&INNER)), "a | b")], SHARED],
    };

    #[test]
    fn every_key_stands_once() {
        let expected = "\n### `tests`\n\nAll tests.\n\n| key | value | meaning |\n| --- | --- | --- |\n\
            | `steps` (required) | list: [a step](#a-step) | a \\| b |\n| `wait` | duration | Waits. |\n\
            \n### A step\n\nOne step.\n\n| key | value | meaning |\n| --- | --- | --- |\n\
            | `again` | [a step](#a-step), or `true` or `false` | Once more. |\n\
            \nAlso, as in [tests](#tests): `wait`.\n";
        assert_eq!(manual(&OUTER), expected);
    }

    #[test]
    fn links_lead_to_other_pages() {
        let mut reference = ManualReference::new(&OUTER);
        reference.place_all(&INNER, "steps.md");
        assert!(reference.page("").contains("| `steps` (required) | list: [a step](steps.md#a-step) | a \\| b |"));
        assert!(reference.page("steps.md").ends_with("\nAlso, as in [tests](#tests): `wait`.\n"));
    }
}
