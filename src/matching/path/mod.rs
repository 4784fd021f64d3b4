//! Paths into an answer: a dotted path such as `result.content[0].text`, or a JSONPath that starts with `$`.

mod dotted;
mod query;

use std::borrow::Cow;

use serde_json::Value as Json;

use self::dotted::Dotted;
use self::query::Query;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node};

/// A compiled path.
#[derive(Debug, Clone)]
pub struct ValuePath {
    text: String,
    way: PathSyntax,
}

#[derive(Debug, Clone)]
enum PathSyntax {
    Dotted(Dotted),
    Query(Query),
}

impl Setting for ValuePath {
    const SHAPE: Shape = Shape::Text;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Self::parse(node.text()?).map_err(|reason| found.push(Diagnostic::error("bad-path", reason, node.span))).ok()
    }
}

impl ValuePath {
    /// Compiles a path; the sentence says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let way = match text.strip_prefix('$') {
            None => PathSyntax::Dotted(Dotted::parse(text)?),
            Some("") => PathSyntax::Dotted(Dotted::default()),
            Some(rest) => {
                let query = Query::parse(text)?;
                // A query for one value is a dotted path, whose failures name the fields that are there.
                match query::is_singular(rest).then(|| Dotted::parse(rest.trim_start_matches('.'))) {
                    Some(Ok(dotted)) => PathSyntax::Dotted(dotted),
                    None | Some(Err(_)) => PathSyntax::Query(query),
                }
            }
        };
        Ok(Self { text: text.to_owned(), way })
    }

    /// The value at the path; the sentence says what is there instead.
    ///
    /// A JSONPath that can match several values gives the list of them.
    pub fn find<'v>(&self, value: &'v Json) -> Result<Cow<'v, Json>, String> {
        match &self.way {
            PathSyntax::Dotted(dotted) => dotted.find(value),
            PathSyntax::Query(query) => query.find(value).map(Cow::Owned),
        }
    }

    /// The slip for which the path can find nothing in this value, or miss anything: a mistyped name or a level that was
    /// left out, before its last step. `None` for a JSONPath that can match several values.
    pub fn slip(&self, value: &Json) -> Option<String> {
        match &self.way {
            PathSyntax::Dotted(dotted) => dotted.slip(value),
            PathSyntax::Query(_) => None,
        }
    }

    /// Changes every value at the path; the answer says how many there were.
    pub fn edit(&self, value: &mut Json, change: &mut dyn FnMut(&mut Json)) -> usize {
        match &self.way {
            PathSyntax::Dotted(dotted) => dotted.edit(value, change),
            PathSyntax::Query(query) => query.edit(value, change),
        }
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
