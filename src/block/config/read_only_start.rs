//! Servers whose start says that they are read-only, in an option such as `--read-only` or a variable such as
//! `NOTES_READ_ONLY=true`.

use super::SettingStart;
use crate::suite::{Server, StartChanges};

/// Words that switch something on, and off.
const ON: [&str; 5] = ["true", "1", "yes", "on", "enabled"];
const OFF: [&str; 5] = ["false", "0", "no", "off", "disabled"];

/// Programs whose own options speak of a container, and not of the server in it.
const CONTAINERS: [&str; 3] = ["docker", "podman", "nerdctl"];

/// The words of a start that make a server read-only, and the start without them.
pub(crate) fn find(server: &Server) -> Option<SettingStart> {
    let mut without = StartChanges::default();
    let mut words = Vec::new();
    for (name, value) in &server.env {
        let value = value.to_text();
        if is_mode(&value) || is_name(&name.value) && is_one_of(&ON, &value) {
            words.push(format!("{}={value}", name.value));
            without.without_variables.push(name.value.clone());
        }
    }
    let command: Vec<String> = server.command().unwrap_or_default().iter().map(crate::source::Node::to_text).collect();
    for place in options(&command).flatten() {
        words.push(command[place].clone());
        without.without_words.push(place);
    }
    (!words.is_empty()).then(|| SettingStart::Given { words: words.join(" "), without })
}

/// The places of the options that say so, each with that of a value behind it.
fn options(command: &[String]) -> impl Iterator<Item = Vec<usize>> {
    let program = command.first().map_or("", |program| program.rsplit('/').next().unwrap_or_default());
    let first = if CONTAINERS.contains(&program) { command.len() } else { 1 };
    (first..command.len()).filter_map(move |place| {
        let option = command[place].strip_prefix('-')?.trim_start_matches('-');
        let (name, inner) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let behind = command.get(place + 1).map_or("", String::as_str);
        match inner {
            Some(value) => (is_mode(value) || is_name(name) && is_one_of(&ON, value)).then(|| vec![place]),
            None if is_name(name) && is_one_of(&OFF, behind) => None,
            None if is_mode(behind) || is_name(name) && is_one_of(&ON, behind) => Some(vec![place, place + 1]),
            None => is_name(name).then(|| vec![place]),
        }
    })
}

fn is_one_of(words: &[&str], value: &str) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// `read-only` itself, as the value of a mode.
fn is_mode(value: &str) -> bool {
    ["read-only", "readonly"].contains(&plain(value).as_str())
}

/// A name that ends in `read-only` or `read-only-mode`, and does not begin by denying it.
fn is_name(name: &str) -> bool {
    let name = plain(name);
    let name = name.strip_suffix("-mode").unwrap_or(&name);
    let before = ["read-only", "readonly"].into_iter().find_map(|word| name.strip_suffix(word));
    let denied = ["no", "not", "non", "disable", "without"];
    before.is_some_and(|before| {
        let mut words = before.trim_end_matches('-').split('-');
        (before.is_empty() || before.ends_with('-')) && !words.any(|word| denied.contains(&word))
    })
}

fn plain(text: &str) -> String {
    text.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_make_a_server_read_only_are_found_with_their_values() {
        for (command, places) in [
            ("server --read-only", &[1][..]),
            ("npx -y notes --readonly --port 80", &[3]),
            ("server -read_only=true", &[1]),
            ("server --read-only yes notes.db", &[1, 2]),
            ("server --read-only notes.db", &[1]),
            ("server --mode read-only", &[1, 2]),
            ("server --access=readonly", &[1]),
            ("server --db-read-only-mode", &[1]),
            // Switched off, or something else.
            ("server --read-only false", &[]),
            ("server --read-only=0", &[]),
            ("server --no-read-only", &[]),
            ("server --read-only-root /srv", &[]),
            ("server --already-only", &[]),
            ("server read-only", &[]),
            ("read-only --port 80", &[]),
            ("docker run --read-only notes", &[]),
            ("/usr/bin/podman run --read-only notes", &[]),
            ("", &[]),
        ] {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            let found: Vec<usize> = options(&words).flatten().collect();
            assert_eq!(found, places, "{command}");
        }
    }

    #[test]
    fn names_of_variables_end_in_what_they_mean() {
        for (name, is_meant) in [
            ("READ_ONLY", true),
            ("GRAPH_DEFAULT_READONLY", true),
            ("NOTES_READ_ONLY_MODE", true),
            ("READONLY_USER", false),
            ("DISABLE_READ_ONLY", false),
            ("THREADONLY", false),
            ("MODE", false),
        ] {
            assert_eq!(is_name(name), is_meant, "{name}");
        }
    }
}
