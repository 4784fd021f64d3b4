//! Which values are taken for secret where nobody says whether they are.
//!
//! Masking an everyday word would spoil every report, and schemas in recordings: `production`, `8080` and `eu-west-1`
//! stay legible unless their name says that they are secret.

use super::names_a_secret;

/// Words of names beside the parts of [`names_a_secret`].
const WORDS: [&str; 6] = ["credential", "credentials", "key", "pass", "passwd", "pwd"];

/// Values that say no more than yes or no.
pub(crate) const SWITCHES: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "null", "none"];

/// Shorter values are versions, codes and numbers more often than secrets, in characters.
const SHORT: usize = 8;

/// Pieces with fewer characters are part of everyday names: `v1`, `eu`.
const PIECE: usize = 4;

/// Runs of as many letters are no words any more.
const LONG_WORD: usize = 16;

/// A longer name between two slashes may be drawn.
const LONGEST_FOLDER: usize = 20;

/// The literal value of a header or of a variable must not appear anywhere: its name says so, or it reads as if it was
/// drawn rather than chosen.
pub fn is_secret(name: &str, value: &str) -> bool {
    let is_switch = SWITCHES.contains(&value.to_ascii_lowercase().as_str());
    let is_number = value.len() < SHORT && value.bytes().all(|byte| byte.is_ascii_digit());
    !is_switch && !is_number && (is_named(name) || reads_drawn(value))
}

fn is_named(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    names_a_secret(name) || words.any(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

/// A value reads as if it was drawn rather than chosen.
pub fn reads_drawn(value: &str) -> bool {
    let is_word = |piece: &str| {
        let (length, is_of) = (piece.chars().count(), |kind: fn(char) -> bool| piece.chars().all(kind));
        length < PIECE || is_of(|c| c.is_ascii_digit()) || length < LONG_WORD && is_of(char::is_alphabetic)
    };
    let is_everyday = value.chars().count() < SHORT || value.split(|c: char| !c.is_alphanumeric()).all(is_word);
    !is_everyday && !is_path(value) || user_of(value).is_some()
}

/// The values of options among the words of a command whose names say that they are secret: `--api-key VALUE` and
/// `--api-key=VALUE`. A template is none.
pub fn option_secrets<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let option = |word: &'a str| word.strip_prefix("--");
    let apart = words.windows(2).filter_map(|pair| Some((option(pair[0])?, pair[1])));
    let apart = apart.filter(|(name, value)| !name.contains('=') && !value.starts_with('-'));
    let joined = words.iter().filter_map(|word| option(word)?.split_once('='));
    let secret = apart.chain(joined).filter(|(name, value)| !value.contains("{{") && is_secret(name, value));
    secret.map(|(_, value)| value).filter(|value| !value.is_empty()).collect()
}

/// A path of this machine: folders have names, and what is drawn has no slash for long.
fn is_path(value: &str) -> bool {
    let begins = ["/", "~/", "./", "../"].iter().any(|start| value.starts_with(start));
    begins && value.matches('/').count() > 1 && value.split('/').all(|name| name.chars().count() <= LONGEST_FOLDER)
}

/// The part of an address that says who asks, without the `@` behind it.
pub fn user_of(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest[..end].rfind('@').map(|at| &rest[..at]).filter(|user| !user.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_command_that_hold_secrets() {
        let check = |words: &str, expected: &[&str]| {
            assert_eq!(option_secrets(&words.split(' ').collect::<Vec<_>>()), expected, "{words}");
        };
        check("npx server --api-key letmein --port 8080", &["letmein"]);
        check("npx server --api-key=letmein run", &["letmein"]);
        check("npx server --api-key --verbose", &[]);
        check("npx server --api-key {{env.KEY}} --token={{env.KEY}} --token=", &[]);
        check("npx server --mode production api-key letmein", &[]);
    }

    #[test]
    fn what_reads_like_a_secret_is_one() {
        for (name, value) in [
            ("API_TOKEN", "abc"),
            ("STRIPE_KEY", "correct-horse"),
            ("DB_PASS", "letmein"),
            ("Authorization", "Bearer abc"),
            ("X", "hunter2-is-secret"),
            ("X", "550e8400-e29b-41d4-a716-446655440000"),
            ("X", "abcdefghijklmnopqrst"),
            ("X", "/9j4AAQSkZJRgABAQEAYABgAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQN"),
            ("TOKEN_FILE", "/run/tokens/a"),
            ("DATABASE_URL", "postgres://ann:letmein@db/users"),
        ] {
            assert!(is_secret(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("NODE_ENV", "production"),
            ("DEBUG", "1"),
            ("MAX_TOKENS", "4096"),
            ("USE_TOKEN", "true"),
            ("LANG", "en_US.UTF-8"),
            ("REGION", "eu-west-1"),
            ("REVISION", "2025-11-25"),
            ("BASE_URL", "http://localhost:8080/api/v1"),
            ("MONKEY", "banana"),
            ("GIT_BASE_DIR", "/srv/audits/gitc2/data"),
        ] {
            assert!(!is_secret(name, value), "{name}={value}");
        }
    }

    #[test]
    fn an_address_names_who_asks() {
        let check = |address: &str, expected: Option<&str>| assert_eq!(user_of(address), expected, "{address}");
        check("http://ann:pa55@a/mcp", Some("ann:pa55"));
        check("http://ann:p@ss@a/mcp", Some("ann:p@ss"));
        check("http://a/mcp?to=ann@b", None);
        check("http://a@", Some("a"));
        check("ann@b", None);
        check("http://@a", None);
    }
}
