//! Settings that are their own grammar: one declaration is a struct, its table of keys and its reader.
//!
//! No key can be forgotten, since [`settings!`](macro@crate::settings) makes the table from the fields.

use std::collections::BTreeSet;
use std::time::Duration;

use super::grammar::{Key, Need, Shape, key, refuse_templates};
use super::scalar::plain;
use super::{Diagnostic, Located, Node, Value, parse_duration};

/// A type that is read from the value of a key.
pub trait Setting: Sized {
    /// The shape of the value.
    const SHAPE: Shape;

    /// Reads a value, and adds the mistakes that no shape shows to `found`; `None` for a value of another shape, which
    /// the grammar reports.
    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self>;

    /// The value of a key that is left out and has no default.
    fn absent() -> Option<Self> {
        None
    }

    /// Reads the value of a key in a mapping, or its default.
    fn of_key(key: &Key, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let written = node.get(key.name).and_then(|value| Self::decode(value, found));
        let mut default = || Self::decode(&Node { value: plain(key.default?.into()), span: node.span }, found);
        written.or_else(&mut default).or_else(Self::absent)
    }
}

impl<T: Setting> Setting for Option<T> {
    const SHAPE: Shape = T::SHAPE;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        T::decode(node, found).map(Some)
    }

    fn of_key(key: &Key, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(node.get(key.name).and_then(|value| T::decode(value, found)))
    }
}

impl<T: Setting> Setting for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        // Where one value may stand in place of a list, it is read as a list of one.
        let items = if let Value::List(items) = &node.value { items } else { std::slice::from_ref(node) };
        Some(items.iter().filter_map(|item| T::decode(item, found)).collect())
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Setting> Setting for Vec<(Located<String>, T)> {
    const SHAPE: Shape = Shape::Map(&T::SHAPE);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let entries = node.entries().iter();
        Some(entries.filter_map(|(name, value)| Some((name.clone(), T::decode(value, found)?))).collect())
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Setting + Ord> Setting for BTreeSet<T> {
    const SHAPE: Shape = Shape::Set(&T::SHAPE);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(node.items().iter().filter_map(|item| T::decode(item, found)).collect())
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Setting> Setting for Box<T> {
    const SHAPE: Shape = T::SHAPE;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        T::decode(node, found).map(Self::new)
    }
}

impl<T: Setting> Setting for Located<T> {
    const SHAPE: Shape = T::SHAPE;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(Self::new(T::decode(node, found)?, node.span))
    }
}

/// A value in which no template is filled in, so that none is allowed.
#[derive(Debug, Clone, Default)]
pub struct Plain<T>(pub T);

impl<T: Setting> Setting for Plain<T> {
    const SHAPE: Shape = T::SHAPE;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        refuse_templates(node, found);
        T::decode(node, found).map(Self)
    }

    fn absent() -> Option<Self> {
        T::absent().map(Self)
    }
}

impl Setting for bool {
    const SHAPE: Shape = Shape::Flag;

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        node.flag()
    }

    fn absent() -> Option<Self> {
        Some(false)
    }
}

impl Setting for Node {
    const SHAPE: Shape = Shape::Any;

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(node.clone())
    }
}

macro_rules! setting {
    ($($type:ty: $shape:ident, $read:expr;)+) => {
        $(impl Setting for $type {
            const SHAPE: Shape = Shape::$shape;

            fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
                $read(node)
            }
        })+
    };
}

setting! {
    u64: Whole, Node::whole;
    u32: Whole, |node: &Node| u32::try_from(node.whole()?).ok();
    usize: Whole, |node: &Node| usize::try_from(node.whole()?).ok();
    f64: Amount, |node: &Node| node.to_json().as_f64();
    Duration: Timeout, |node: &Node| parse_duration(node.text()?);
    String: Text, |node: &Node| node.text().map(str::to_owned);
}

impl Node {
    /// Reads the value of a key, of a type whose values are right as soon as their shape is; `None` if it is left out.
    pub fn setting<T: Setting>(&self, key: &str) -> Option<T> {
        T::decode(self.get(key)?, &mut Vec::new())
    }
}

impl Key {
    /// A key of a field; its name and sentence follow from the field.
    pub const fn of(shape: Shape) -> Self {
        key("", shape, "")
    }

    /// Names the key, and says what it is for.
    #[must_use]
    pub const fn named(self, name: &'static str, doc: &'static str) -> Self {
        Self { name, doc: doc.trim_ascii(), ..self }
    }

    /// Takes values of this shape.
    #[must_use]
    pub const fn shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// Takes whole numbers between these, both included.
    #[must_use]
    pub const fn range(self, least: u64, most: u64) -> Self {
        self.shape(Shape::Range(least, most))
    }

    /// Demands the key.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { need: Need::Required, ..self }
    }

    /// Demands the key or another alternative.
    #[must_use]
    pub const fn alternative(self) -> Self {
        Self { need: Need::Alternative, ..self }
    }
}

/// Declares a struct whose fields are the keys of a mapping.
///
/// Doc comments become the sentences of the grammar, and methods of [`Key`] behind `=>` say more about a key.
/// A field whose key is called otherwise says so with `as "key"`. `at span` adds the field `span`, the place of the
/// mapping; fields under `beside` are settings whose keys stand in the same mapping, and fields under `with` are no keys
/// and begin with their default.
#[macro_export]
macro_rules! settings {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (
        $(#[doc = $doc:literal])+ $(#[derive($($derive:ident),+)])?
        $vis:vis struct $type:ident as $name:literal $(, at $span:ident)? {
            $($(#[doc = $key_doc:literal])+ $key_vis:vis $field:ident $(as $key_name:literal)?: $field_type:ty
                $(=> $($method:ident($($argument:expr),*))+)?,)+
        } $(beside { $($(#[$part_meta:meta])* $part_vis:vis $part:ident: $part_type:ty,)+ })? $(with { $($(#[$more:meta])* $more_vis:vis $more_field:ident: $more_type:ty,)+ })?
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone $($(, $derive)+)?)]
        $vis struct $type {
            $(/// The place of the mapping.
            $vis $span: $crate::Span,)?
            $($(#[doc = $key_doc])+ $key_vis $field: $field_type,)+
            $($($(#[$part_meta])* $part_vis $part: $part_type,)+)?
            $($($(#[$more])* $more_vis $more_field: $more_type,)+)?
        }

        impl $type {
            /// The table of keys.
            $vis const KEYS: $crate::grammar::Object = $crate::grammar::Object {
                name: $name,
                doc: concat!($($doc),+).trim_ascii(),
                keys: &[Self::TABLE $($(, <$part_type>::TABLE)+)?],
            };

            /// The keys, but for those of other settings in the same mapping.
            $vis const TABLE: &'static [$crate::grammar::Key] = &[$(
                $crate::grammar::Key::of(<$field_type as $crate::settings::Setting>::SHAPE)
                    $($(.$method($($argument),*))+)?
                    .named($crate::settings!(@name $field $($key_name)?), concat!($($key_doc),+)),
            )+];
        }

        impl $crate::settings::Setting for $type {
            const SHAPE: $crate::grammar::Shape = $crate::grammar::Shape::Object(&Self::KEYS);

            fn decode(node: &$crate::Node, found: &mut Vec<$crate::Diagnostic>) -> Option<Self> {
                // `key: true` takes every default.
                if !matches!(node.value, $crate::Value::Bool(true) | $crate::Value::Map(_)) {
                    return None;
                }
                let [$($field),+] = Self::TABLE else { return None };
                // All are read before one that is missing ends it, so that every mistake is found.
                $(let $field = $crate::settings::Setting::of_key($field, node, found);)+
                $($(let $part = $crate::settings::Setting::decode(node, found);)+)?
                Some(Self {
                    $($span: node.span,)?
                    $($field: $field?,)+
                    $($($part: $part?,)+)?
                    $($($more_field: Default::default(),)+)?
                })
            }
        }
    };
}

/// Declares an enum whose values are words in a file.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $type:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $type { $($(#[$variant_meta])* $variant,)+ }

        impl $type {
            /// Every value, in the order of the declaration.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The words in files, in the order of the values.
            $vis const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word in files.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The value that a word names.
            $vis fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == word)
            }
        }

        impl $crate::settings::Setting for $type {
            const SHAPE: $crate::grammar::Shape = $crate::grammar::Shape::Choice(Self::WORDS);

            fn decode(node: &$crate::Node, _: &mut Vec<$crate::Diagnostic>) -> Option<Self> {
                Self::parse(node.text()?)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::super::grammar::check;
    use super::super::{SourceFile, Sources, parse};
    use super::*;

    choice! {
        /// A check.
        enum Check {
            /// Calls.
            Calls = "calls",
            /// Lists.
            Lists = "lists",
        }
    }

    settings! {
        /// More settings.
        struct More as "more" {
            /// The words.
            words: Vec<(Located<String>, Plain<String>)>,
        }
    }

    settings! {
        /// Settings for a test,
        /// in two lines.
        struct Settings as "a test", at span {
            /// The number of calls.
            calls: usize => range(1, 8) default("4"),
            /// The checks.
            checks: BTreeSet<Check>,
            /// The time.
            time: Option<Duration> => default("5s"),
            /// The names.
            names: Vec<String> => cure("write a list") beside(&["calls"]),
            /// The title.
            title: Located<String> => required(),
            /// The years.
            time_in_years as "for": Option<u64>,
        } beside {
            /// More of them.
            more: More,
        } with {
            log: Vec<u8>,
        }
    }

    fn read(text: &str) -> Option<Settings> {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("s.yml", text.to_owned()));
        let node = parse(&sources, id).unwrap();
        assert!(check(&node, &Settings::SHAPE).is_empty(), "{text}");
        let mut found = Vec::new();
        let settings = Settings::decode(&node, &mut found);
        assert!(found.is_empty(), "{found:?}");
        settings
    }

    #[test]
    fn fields_are_keys_with_defaults() {
        let text = "{ title: a, checks: [lists, calls], names: [b], calls: 2, for: 3, words: { c: d } }";
        let settings = read(text).unwrap();
        assert_eq!((settings.time_in_years, settings.more.words[0].1.0.as_str()), (Some(3), "d"));
        assert_eq!((settings.calls, settings.names, settings.title.value.as_str()), (2, vec!["b".to_owned()], "a"));
        assert_eq!(settings.checks, Check::ALL.into());
        let settings = read("title: a").unwrap();
        assert_eq!((settings.calls, settings.time, settings.log.len(), settings.span.start), (4, None, 0, 0));
    }

    #[test]
    fn fields_are_lines_of_the_table() {
        assert_eq!((Settings::KEYS.name, Settings::KEYS.doc), ("a test", "Settings for a test, in two lines."));
        let names: Vec<&str> = Settings::KEYS.all_keys().map(|key| key.name).collect();
        assert_eq!(names, ["calls", "checks", "time", "names", "title", "for", "words"]);
        let Shape::Object(keys) = Settings::SHAPE else { panic!("settings are a mapping") };
        let needs: Vec<Need> = keys.all_keys().map(|key| key.need).collect();
        assert_eq!(needs[4], Need::Required);
    }
}
