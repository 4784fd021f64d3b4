//! URI templates (RFC 6570).

/// Whether a text is a URI template.
pub fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (literal, tail) = rest.split_at(at);
        let Some((expression, after)) = tail.strip_prefix('{').and_then(|tail| tail.split_once('}')) else {
            return false;
        };
        if !is_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_literal(rest)
}

fn is_literal(text: &str) -> bool {
    // The grammar leaves the apostrophe out by mistake (erratum 6937), and URIs may have it.
    let is_allowed = |c: char| !c.is_control() && !matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|');
    text.chars().all(is_allowed) && are_escapes_whole(text)
}

fn are_escapes_whole(text: &str) -> bool {
    let escapes = text.split('%').skip(1);
    escapes.map(str::as_bytes).all(|rest| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit))
}

fn is_expression(text: &str) -> bool {
    let variables = text.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(text);
    variables.split(',').all(is_variable)
}

fn is_variable(text: &str) -> bool {
    if let Some(name) = text.strip_suffix('*') {
        return is_name(name);
    }
    let Some((name, length)) = text.split_once(':') else { return is_name(text) };
    let is_length = (1..=4).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
    is_name(name) && is_length && !length.starts_with('0')
}

fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '%');
        !part.is_empty() && part.chars().all(is_of_name) && are_escapes_whole(part)
    };
    text.split('.').all(is_part)
}
