//! Pages, as far as checks need them: a tolerant reader of tags, no parser of HTML.

/// The length of a reference such as `&#x1f600;` behind its `&`, in bytes.
const LONGEST_REFERENCE: usize = 9;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// What people read, with its references as they are written.
    Text(&'a str),
    /// A tag with the names of its attributes, all in small letters, and their values.
    Open(String, Vec<(String, String)>),
    /// The end of an element, by its name.
    Close(String),
    /// What stands in a script, a style, a template or a title.
    Raw(&'a str),
}

/// The parts of a page without comments and declarations. A tag that never ends reaches to the end of the page.
pub fn pieces(page: &str) -> Vec<Piece<'_>> {
    let lower = page.to_ascii_lowercase();
    let after = |from: usize, end: &str| lower[from..].find(end).map_or(page.len(), |at| from + at + end.len());
    let mut found = Vec::new();
    let mut at = 0;
    while at < page.len() {
        let Some(open) = page[at..].find('<').map(|open| at + open) else {
            found.push(Piece::Text(&page[at..]));
            break;
        };
        let rest = &page[open + 1..];
        let begins_tag = rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        if open > at || !begins_tag {
            let end = if begins_tag { open } else { open + 1 };
            found.push(Piece::Text(&page[at..end]));
            at = end;
            continue;
        }
        if rest.starts_with("!--") {
            at = after(open + 4, "-->");
            continue;
        }
        let (name, attributes, length) = tag(rest);
        at = open + 1 + length;
        if let Some(name) = name.strip_prefix('/') {
            found.push(Piece::Close(name.to_owned()));
            continue;
        }
        let is_raw = matches!(name.as_str(), "script" | "style" | "template" | "title");
        let close = is_raw.then(|| end_of_element(&name, &lower[at..]).map_or(page.len(), |close| at + close));
        found.push(Piece::Open(name, attributes));
        if let Some(close) = close {
            found.push(Piece::Raw(&page[at..close]));
            at = after(close, ">");
        }
    }
    found
}

/// Where an element ends whose content in small letters is at the beginning of a text; of these elements, only templates
/// hold others of their kind.
fn end_of_element(name: &str, text: &str) -> Option<usize> {
    let (open, close) = (format!("<{name}"), format!("</{name}"));
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        let end = at + text[at..].find(&close)?;
        depth += if name == "template" { text[at..end].matches(&open).count() } else { 0 };
        let Some(less) = depth.checked_sub(1) else { return Some(end) };
        (at, depth) = (end + close.len(), less);
    }
}

/// The name and the attributes of the tag at the beginning of a text behind its `<`, and the length of all that.
fn tag(text: &str) -> (String, Vec<(String, String)>, usize) {
    let is_end = |c: char| c.is_ascii_whitespace() || c == '>';
    let mut at = text.find(is_end).unwrap_or(text.len());
    let name = text[..at].trim_end_matches('/').to_ascii_lowercase();
    let mut attributes = Vec::new();
    loop {
        let rest = text[at..].trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        at = text.len() - rest.len();
        if rest.is_empty() {
            return (name, attributes, at);
        }
        if rest.starts_with('>') {
            return (name, attributes, at + 1);
        }
        // The first character belongs to the name, whatever it is, so that every turn goes on.
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let end =
            rest[first..].find(|c: char| is_end(c) || matches!(c, '=' | '/')).map_or(rest.len(), |end| first + end);
        let key = rest[..end].to_ascii_lowercase();
        at += end;
        let rest = text[at..].trim_start();
        let Some(value) = rest.strip_prefix('=').map(str::trim_start) else {
            attributes.push((key, String::new()));
            continue;
        };
        at = text.len() - value.len();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, length) = if let Some(quote) = quote {
            let inner = value[1..].find(quote).map_or(&value[1..], |end| &value[1..=end]);
            (inner, (inner.len() + 2).min(value.len()))
        } else {
            let inner = &value[..value.find(is_end).unwrap_or(value.len())];
            (inner, inner.len())
        };
        at += length;
        attributes.push((key, decoded(value)));
    }
}

/// A text in which references such as `&amp;` and `&#39;` stand for themselves.
pub fn decoded(text: &str) -> String {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded += before;
        let end = after.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';');
        let reference = end.and_then(|end| Some((character(&after[..end])?, &after[end + 1..])));
        let (c, after) = reference.unwrap_or(('&', after));
        decoded.push(c);
        rest = after;
    }
    decoded + rest
}

fn character(name: &str) -> Option<char> {
    let number = |digits: &str, radix: u32| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let digits = name.strip_prefix('#')?;
            digits.strip_prefix(['x', 'X']).map_or_else(|| number(digits, 10), |digits| number(digits, 16))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_pages() {
        let show = |page: &str| {
            let one = |piece: &Piece<'_>| match piece {
                Piece::Text(text) => format!("text {text}"),
                Piece::Open(name, attributes) => {
                    let attributes = attributes.iter().map(|(name, value)| format!(" {name}={value}"));
                    format!("open {name}{}", attributes.collect::<String>())
                }
                Piece::Close(name) => format!("close {name}"),
                Piece::Raw(text) => format!("raw {text}"),
            };
            pieces(page).iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let check = |page: &str, expected: &str| assert_eq!(show(page), expected, "{page}");
        check("<P Class='a'>x &amp; y</P>", "open p class=a, text x &amp; y, close p");
        check("<script src=/a?b=1&amp;c=2></script>x", "open script src=/a?b=1&c=2, raw , text x");
        check("<script>if (a < b) '<p>'</script >", "open script, raw if (a < b) '<p>'");
        check("<!-- <p> --><br/>", "open br");
        check("<title>a <b>", "open title, raw a <b>");
        check("<title><title></title>x", "open title, raw <title>, text x");
        check(
            "<template><template><p></template><p></TEMPLATE >x<template></template>",
            "open template, raw <template><p></template><p>, text x, open template, raw ",
        );
        check("<template><template></template>x", "open template, raw <template></template>x");
        check("1 < 2", "text 1 <, text  2");
    }
}
