//! `file`: a file in the folder of the run, after the answer.

use super::super::files::{FoundFile, RunFiles};
use super::super::mismatch::{Mismatch, MismatchKind};
use super::super::{read, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Object, Shape, alternative, key, required};
use crate::source::{Diagnostic, Located, Node, Span, shorten};

/// The most characters of a file that a mismatch shows.
const MOST_SHOWN: usize = 2000;

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "file",
        Shape::Object(&FILE),
        "A file or folder after the answer, in the copy of a store, in a fixture, or elsewhere in the folder of the run.",
    ),
    judges: |_| &[],
    build,
};

static FILE: Object = Object {
    name: "a file check",
    doc: "A file or folder in the folder of the run; links are not followed.",
    keys: &[&[
        required(
            "path",
            Shape::NonEmpty(&Shape::Text),
            "The path, such as `{{ store }}` or `{{ fixture }}/notes.json`.",
        )
        .cure("write for example `file: { path: \"{{ store }}\", contains: hello }`"),
        alternative("exists", read::FLAG, "Whether a file or folder is there.").cure("add for example `exists: true`"),
        alternative("contains", Shape::NonEmpty(&Shape::Text), "The file contains this text."),
        alternative("equals", Shape::Text, "The file holds this text and nothing else."),
        alternative(
            "unchanged",
            read::FLAG,
            "Whether the file, or everything in the folder, is as it was copied from the store or the fixture.",
        ),
    ]],
};

struct FileCheck {
    path: String,
    exists: Option<(bool, Span)>,
    contains: Option<(String, Span)>,
    equals: Option<(String, Span)>,
    unchanged: Option<(bool, Span)>,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let check = FileCheck::decode(key, node)?;
    Some(AnswerCheck::all(move |answer, found| {
        // A recording has no files.
        if let Some(files) = answer.files {
            check.check(files, found);
        }
    }))
}

impl FileCheck {
    /// Reads a check that holds no templates.
    fn decode(key: &Located<String>, node: &Node) -> Option<Self> {
        let flag = |name: &str| node.get(name).and_then(|value| Some((value.flag()?, value.span)));
        let text = |name: &str| node.get(name).and_then(|value| Some((read::text(value)?.to_owned(), value.span)));
        Some(Self {
            path: read::text(node.get("path")?)?.to_owned(),
            exists: flag("exists"),
            contains: text("contains"),
            equals: text("equals"),
            unchanged: flag("unchanged"),
            span: key.span,
        })
    }

    fn check(&self, files: &dyn RunFiles, found: &mut Vec<Mismatch>) {
        let short = files.short(&self.path);
        let mismatch =
            |span: Span, message: String, label: &str| Mismatch::new("file", span, message, label).with_path("file");
        let unseen = |span: Span, why: String, label: &str| Mismatch {
            kind: MismatchKind::Unseen,
            ..mismatch(span, why, label)
        };
        let there = match files.find(&self.path) {
            Ok(there) => there,
            Err(why) => return found.push(unseen(self.span, why, "cannot be looked at")),
        };
        let is_there = there != FoundFile::Nothing;
        match self.exists {
            Some((true, span)) if !is_there => {
                found.push(mismatch(span, format!("`{short}` does not exist after the answer"), "finds nothing"));
            }
            Some((false, span)) if is_there => {
                found.push(mismatch(span, format!("`{short}` exists after the answer"), "finds a file or folder"));
            }
            Some(_) | None => {}
        }
        let texts = [(&self.contains, "contain"), (&self.equals, "equal")];
        let wants_text = self.contains.is_some() || self.equals.is_some();
        let held = (wants_text && there == FoundFile::File).then(|| files.read(&self.path));
        for ((text, span), verb) in texts.into_iter().filter_map(|(text, verb)| Some((text.as_ref()?, verb))) {
            match (there, &held) {
                (FoundFile::File, None) => {}
                (FoundFile::File, Some(Err(why))) => found.push(unseen(*span, why.clone(), "cannot be read")),
                (FoundFile::File, Some(Ok(held))) if held == text || verb == "contain" && held.contains(text) => {}
                (FoundFile::File, Some(Ok(held))) => {
                    let held = shorten(held, MOST_SHOWN);
                    let label = format!("found {}", show::quote(&show::json_text(&held)));
                    let broken = mismatch(*span, format!("`{short}` does not {verb} the text"), &label);
                    found.push(broken.with_expected(show::json_text(text)).with_actual(show::json_text(&held)));
                }
                (FoundFile::Folder, _) => {
                    found.push(mismatch(*span, format!("`{short}` is a folder"), "expects a file"));
                }
                (FoundFile::Nothing, _) => {
                    found.push(mismatch(*span, format!("`{short}` does not exist after the answer"), "finds nothing"));
                }
            }
        }
        if let Some((is_kept, span)) = self.unchanged {
            match (files.change(&self.path), is_kept) {
                (Err(why), _) => found.push(unseen(span, why, "cannot be compared")),
                (Ok(Some(change)), true) => found.push(mismatch(span, change, "has changed")),
                (Ok(None), false) => {
                    found.push(mismatch(span, format!("`{short}` is as it was before"), "has not changed"));
                }
                (Ok(Some(_)), false) | (Ok(None), true) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::mismatch::GroupVerdict;
    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    /// A file that was changed, a folder that was not, and nothing else.
    #[derive(Debug)]
    struct Fake;

    impl RunFiles for Fake {
        fn find(&self, path: &str) -> Result<FoundFile, String> {
            match path {
                "file" | "unreadable" => Ok(FoundFile::File),
                "folder" => Ok(FoundFile::Folder),
                "outside" => Err("`outside` is elsewhere".to_owned()),
                _ => Ok(FoundFile::Nothing),
            }
        }

        fn read(&self, path: &str) -> Result<String, String> {
            if path == "file" { Ok("rain, snow".to_owned()) } else { Err("`unreadable` cannot be read".to_owned()) }
        }

        fn change(&self, path: &str) -> Result<Option<String>, String> {
            Ok((path == "file").then(|| "`file` was changed".to_owned()))
        }

        fn short<'a>(&self, path: &'a str) -> &'a str {
            path
        }
    }

    #[test]
    fn files_after_an_answer() {
        for (written, expected) in [
            ("path: file, exists: true, contains: snow", &[][..]),
            ("path: file, equals: 'rain, snow', unchanged: false", &[]),
            ("path: folder, exists: true, unchanged: true", &[]),
            ("path: none, exists: false", &[]),
            ("path: file, contains: fog", &["`file` does not contain the text"]),
            ("path: file, equals: rain", &["`file` does not equal the text"]),
            ("path: file, exists: false, unchanged: true", &["`file` exists after the answer", "`file` was changed"]),
            ("path: folder, contains: fog", &["`folder` is a folder"]),
            ("path: folder, unchanged: false", &["`folder` is as it was before"]),
            ("path: none, contains: fog", &["`none` does not exist after the answer"]),
            ("path: outside, exists: false", &["`outside` is elsewhere"]),
            ("path: unreadable, exists: true", &[]),
            ("path: unreadable, contains: fog", &["`unreadable` cannot be read"]),
        ] {
            let mut sources = Sources::default();
            let id = sources.add(SourceFile::new("s.yml", format!("file: {{ {written} }}")));
            let node = parse(&sources, id).unwrap();
            let [(key, value)] = node.entries() else { panic!("one key") };
            let check = FileCheck::decode(key, value).unwrap();
            let mut found = Vec::new();
            check.check(&Fake, &mut found);
            let messages: Vec<&str> = found.iter().map(|mismatch| mismatch.message.as_str()).collect();
            assert_eq!(messages, expected, "{written}");
        }
    }

    #[test]
    fn what_cannot_be_looked_at_says_nothing_of_the_opposite() {
        for (written, fails_negated) in [
            ("path: file, contains: fog", false),
            ("path: file, contains: rain", true),
            ("path: none, contains: fog", false),
            ("path: outside, contains: fog", true),
            ("path: unreadable, contains: fog", true),
        ] {
            let mut sources = Sources::default();
            let id = sources.add(SourceFile::new("s.yml", format!("file: {{ {written} }}")));
            let node = parse(&sources, id).unwrap();
            let [(key, value)] = node.entries() else { panic!("one key") };
            let mut found = Vec::new();
            FileCheck::decode(key, value).unwrap().check(&Fake, &mut found);
            let holds = || Mismatch::new("not", key.span, "it holds", "holds");
            assert_eq!(GroupVerdict::of(found).negate(holds).is_some(), fails_negated, "{written}");
        }
    }
}
