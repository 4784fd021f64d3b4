//! Challenges of servers that want another token (RFC 9110, 11.2; RFC 6750, 3).

/// A parameter of a challenge, such as `scope`; of a value that is cut off, what is there.
pub fn challenge_parameter(challenge: &str, name: &str) -> Option<String> {
    let (_, mut rest) = challenge.trim().split_once(' ')?;
    loop {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        let (key, after) = rest.split_once('=')?;
        let (value, after) = read_value(after.trim_start());
        if key.trim().rsplit(' ').next()?.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = after;
    }
}

/// A value, quoted or not, and what follows it.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_whether_quoted_or_not() {
        let whole = r#"Bearer realm="a, b", error=invalid_token, scope="read \"x\" write""#;
        for (challenge, name, expected) in [
            (whole, "realm", Some("a, b")),
            (whole, "ERROR", Some("invalid_token")),
            (whole, "scope", Some(r#"read "x" write"#)),
            (whole, "resource_metadata", None),
            ("Bearer", "scope", None),
            (r#"Bearer scope="read"#, "scope", Some("read")),
            (r#"Bearer scope="a\"#, "scope", Some("a")),
            (r#"Bearer Scope="a""#, "scope", Some("a")),
            (r#"Bearer myscope="b", scope="c""#, "scope", Some("c")),
            (r#"Basic realm="x", Bearer scope="read""#, "scope", Some("read")),
        ] {
            assert_eq!(challenge_parameter(challenge, name).as_deref(), expected, "{name} in {challenge}");
        }
    }
}
