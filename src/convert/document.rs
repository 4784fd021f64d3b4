//! Documents of the files that are converted, and their comments.

use crate::source::{
    Diagnostic, Located, Node, SourceId, Sources, Span, parse_documents, parse_jsonc, visible_line, yaml_comments,
};

/// A YAML document or a file of JSON.
pub(crate) struct Document {
    pub(crate) root: Node,
    /// The comments from the end of the document before to its own end.
    pub(crate) comments: Comments,
}

/// The documents of a file.
///
/// # Errors
///
/// A mistake in the syntax.
pub(crate) fn documents(sources: &Sources, source: SourceId) -> Result<Vec<Document>, Diagnostic> {
    if sources.file(source).text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        let root = parse_jsonc(sources, source)?;
        return Ok(vec![Document { root, comments: Comments(Vec::new()) }]);
    }
    let comments = yaml_comments(sources, source);
    let roots = parse_documents(sources, source)?;
    let mut documents = Vec::new();
    let mut comments = comments.into_iter().peekable();
    let mut roots = roots.into_iter().peekable();
    while let Some(root) = roots.next() {
        let end = if roots.peek().is_some() { end_of_line(sources, root.span) } else { u32::MAX };
        let own = std::iter::from_fn(|| comments.next_if(|comment| comment.span.end <= end)).collect();
        documents.push(Document { root, comments: Comments(own) });
    }
    Ok(documents)
}

/// Comments in the order of the file.
pub(crate) struct Comments(Vec<Located<String>>);

impl Comments {
    /// Those between two places, the second included.
    pub(crate) fn between(&self, from: u32, to: u32) -> Vec<String> {
        self.texts(|at| from < at && at <= to)
    }

    /// Those that are within none of these ranges.
    pub(crate) fn outside(&self, ranges: &[(u32, u32)]) -> Vec<String> {
        self.texts(|at| !ranges.iter().any(|(from, to)| *from < at && at <= *to))
    }

    fn texts(&self, is_wanted: impl Fn(u32) -> bool) -> Vec<String> {
        let wanted = self.0.iter().filter(|comment| is_wanted(comment.span.end));
        // The schema that an editor reads there is one of the other tool.
        let own = wanted.filter(|comment| !comment.value.trim_start().starts_with("yaml-language-server:"));
        own.filter(|comment| !comment.value.is_empty())
            .map(|comment| visible_line(&comment.value).into_owned())
            .collect()
    }
}

/// The ranges of a list's items, each from the end of the one before to the end of its own last line.
pub(crate) fn item_ranges(sources: &Sources, list: Span, items: &[Node]) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    let mut from = list.end;
    for item in items {
        let to = end_of_line(sources, item.span);
        ranges.push((from, to));
        from = to;
    }
    ranges
}

/// The end of the line on which a part ends.
pub(crate) fn end_of_line(sources: &Sources, span: Span) -> u32 {
    let file = sources.file(span.source);
    let (line, _) = file.position(span.end as usize);
    u32::try_from(file.line_start(line + 1)).unwrap_or(u32::MAX)
}
