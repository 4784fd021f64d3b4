//! Values that arguments usually take by their names, where neither schema nor server says anything.

use crate::source::words;

/// Words of an argument's name, and values for it.
const USUAL: [(&[&str], &[&str]); 36] = [
    (&["sql", "statement"], &["SELECT 1"]),
    (&["query"], &["SELECT 1", "a"]),
    (&["expression", "expr", "formula", "equation", "math", "calculation"], &["1 + 1"]),
    (&["timezone", "tz", "zone"], &["UTC", "Europe/London"]),
    (&["date", "day"], &["2025-01-15"]),
    (&["start", "from", "since", "after", "begin"], &["2025-01-15", "2025-01-15T10:00:00Z", "0"]),
    (&["end", "until", "before", "to"], &["2025-01-16", "2025-01-16T10:00:00Z", "1"]),
    (&["datetime", "timestamp"], &["2025-01-15T10:00:00Z", "1736935200"]),
    (&["time"], &["12:00", "2025-01-15T10:00:00Z"]),
    (&["year"], &["2025"]),
    (&["month"], &["1", "2025-01"]),
    (&["cron", "schedule"], &["0 0 * * *"]),
    (&["language", "lang", "locale"], &["en", "python"]),
    (&["currency"], &["USD"]),
    (&["country"], &["US"]),
    (&["city", "location", "place", "address"], &["London"]),
    (&["email", "mail"], &["a@example.com"]),
    (&["regex", "pattern"], &["a", "*"]),
    (&["glob"], &["*"]),
    (&["json", "object", "payload", "body"], &["{}", "[]"]),
    (&["jsonpath"], &["$"]),
    (&["xml", "svg"], &["<a/>"]),
    (&["html"], &["<p>a</p>"]),
    (&["yaml"], &["a: 1"]),
    (&["csv"], &["a,b\n1,2"]),
    (&["markdown", "md"], &["# a"]),
    (&["mermaid", "diagram"], &["graph TD\n  A --> B"]),
    (&["selector", "css"], &["body"]),
    (&["color", "colour"], &["#336699"]),
    (&["base64", "encoded"], &["aGVsbG8="]),
    (&["encoding", "charset"], &["utf-8"]),
    (&["mime", "mimetype", "media"], &["text/plain"]),
    (&["uuid", "guid"], &["123e4567-e89b-42d3-a456-426614174000"]),
    (&["code", "script", "snippet"], &["1 + 1", "print(1)"]),
    (&["index", "idx"], &["0"]),
    (&["revision", "rev", "ref", "commit", "sha", "target"], &["HEAD"]),
];

/// Usual values of an argument, the likeliest first; `subject` is the description of the tool.
pub(crate) fn usual_values(argument: &str, subject: &str) -> Vec<&'static str> {
    let argument = words(argument);
    let speaks_of_sql = ["sql", "database", "table"].iter().any(|word| subject.to_lowercase().contains(word));
    let fits =
        |(names, _): &&(&[&str], &'static [&'static str])| argument.iter().any(|word| names.contains(&word.as_str()));
    let found = USUAL.iter().filter(fits).flat_map(|(_, values)| values.iter().copied());
    found.filter(|value| speaks_of_sql || *value != "SELECT 1" || argument.iter().any(|word| word == "sql")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_usual() {
        for (argument, subject, expected) in [
            ("sqlQuery", "", Some("SELECT 1")),
            ("query", "Runs a query on the database", Some("SELECT 1")),
            ("query", "Searches notes", Some("a")),
            ("source_timezone", "", Some("UTC")),
            ("startDate", "", Some("2025-01-15")),
            ("revision", "Shows a commit", Some("HEAD")),
            ("weight", "", None),
        ] {
            assert_eq!(usual_values(argument, subject).first().copied(), expected, "{argument}");
        }
    }
}
