//! Files of environment variables, a `NAME=value` on each line.

/// The variables of an `.env` file; lines that set none are passed over, as clients do.
pub(crate) fn variables(text: &str) -> Vec<(String, String)> {
    text.trim_start_matches('\u{feff}').lines().filter_map(variable).collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || name.starts_with('#') || name.contains(char::is_whitespace) {
        return None;
    }
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let (within, _) = value.strip_prefix(quote)?.split_once(quote)?;
        Some(within)
    });
    let bare = || value.split_once(" #").map_or(value, |(value, _)| value.trim_end());
    Some((name.to_owned(), quoted.unwrap_or_else(bare).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_set_variables() {
        for (line, expected) in [
            ("A=b", Some(("A", "b"))),
            ("  export A = b # why", Some(("A", "b"))),
            ("A=\"b # c\"", Some(("A", "b # c"))),
            ("A='b c'", Some(("A", "b c"))),
            ("A=", Some(("A", ""))),
            ("A=b=c", Some(("A", "b=c"))),
            ("# A=b", None),
            ("", None),
            ("a sentence = no variable", None),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(variables(line).pop(), expected, "{line:?}");
        }
    }
}
