//! The names that templates can use in a run, and which of their values are secret.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value as Json, json};

use super::Options;
use super::store_move::STORE_MARK;
use crate::plan::{Plan, SuitePlan};
use crate::redact::{
    RESTORED_FROM, Redactor, holds_a_secret, is_secret, may_name_a_secret, names_login_secret, option_secrets,
    query_secrets, reads_drawn,
};
use crate::source::template::{Names, Unfilled, fill, text_of};
use crate::source::{Node, SourceId, parse, parse_jsonc};
use crate::suite::{Auth, LoginStep, Server, ServerKind, Suite, is_builtin};
use crate::transport::http::userinfo;

/// The names that templates of a plan may read beside those of their suite.
pub(crate) struct GivenNames {
    /// The variables of the environment that the plan mentions; templates need no others.
    variables: BTreeMap<String, String>,
    /// The folder of the run, if the plan mentions it.
    pub(crate) run_folder: Option<PathBuf>,
}

impl GivenNames {
    pub(crate) fn of(plan: &Plan, options: &Options) -> Self {
        let run_folder = mentions_run_folder(plan).then(|| options.run_folder.path().to_owned());
        Self { variables: mentioned_variables(plan, &options.environment), run_folder }
    }
}

/// Returns true if a text of a plan may read `run.dir`.
fn mentions_run_folder(plan: &Plan) -> bool {
    plan.sources.texts().any(|text| text.contains("run.dir"))
}

/// The given names and the suite's variables, filled in their order.
pub(crate) fn of_suite(suite: &Suite, given: &GivenNames) -> Result<Names, Unfilled> {
    let variables = given.variables.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))).collect();
    let mut names = Names::from_iter([("env".to_owned(), Json::Object(variables))]);
    if let Some(folder) = &given.run_folder {
        names.insert("run".to_owned(), json!({ "dir": folder.display().to_string() }));
    }
    for (name, node) in &suite.variables {
        let value = fill(node, &names)?.to_json();
        names.insert(name.value.clone(), value);
    }
    Ok(names)
}

/// Those variables of the environment that the texts of a plan mention.
fn mentioned_variables(plan: &Plan, environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    for name in mentioned_names(plan) {
        if let Some(value) = environment.get(&name) {
            kept.insert(name, value.clone());
        }
    }
    kept
}

fn mentioned_names(plan: &Plan) -> BTreeSet<String> {
    let written = plan.sources.texts().flat_map(mentions).filter(|mention| !mention.is_comment);
    let mut names: BTreeSet<String> = written.map(|mention| mention.name).collect();
    // Other files name variables in their own ways.
    let described = plan.suites.iter().flat_map(|planned| planned.suite.servers.values());
    described.filter(|server| server.is_described).for_each(|server| names.extend(described_variables(server)));
    names
}

/// The variables that the description of a server in another file reads.
fn described_variables(server: &Server) -> BTreeSet<String> {
    let mut nodes: Vec<&Node> = server.env.iter().map(|(_, value)| value).chain(&server.cwd).collect();
    match &server.kind {
        ServerKind::Command(words) => nodes.extend(words),
        ServerKind::Url(http) => {
            nodes.push(&http.url);
            nodes.extend(http.command.iter().flatten());
            nodes.extend(http.credentials.headers.iter().map(|(_, value)| value));
        }
        ServerKind::Builtin(_) => {}
    }
    nodes.into_iter().filter_map(Node::text).flat_map(variables_in).collect()
}

/// The names for the start of a server: with a store, `store` is the copy that is made for it.
pub(crate) fn of_server(server: &Server, names: &Names) -> Names {
    let mut names = names.clone();
    if server.store.is_some() {
        names.insert("store".to_owned(), STORE_MARK.into());
    }
    names
}

/// The variables of the environment that the templates of a text read.
pub fn variables_in(text: &str) -> BTreeSet<String> {
    mentions(text).map(|mention| mention.name).collect()
}

/// A place that reads a variable of the environment.
struct Mention {
    name: String,
    /// True if it stands in a comment, which reads nothing.
    is_comment: bool,
}

fn mentions(text: &str) -> impl Iterator<Item = Mention> {
    #[expect(clippy::unwrap_used, reason = "the pattern is constant")]
    static MENTION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\benv[ \t]*(?:\.[ \t]*|\[[ \t]*["'])([A-Za-z_][A-Za-z0-9_]*)"#).unwrap());
    // Most files mention none, and need no pattern.
    let found = text.contains("env").then(|| MENTION.captures_iter(text)).into_iter().flatten();
    found.map(|found| {
        let before = found.get(0).map(|whole| &text[..whole.start()]).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Mention { name: found[1].to_owned(), is_comment: line.trim_start().starts_with('#') }
    })
}

/// Knows every secret of a run: what the plan reads from the environment, what `secrets:` names, and what is learned
/// under the same options.
pub fn redactor(plan: &Plan, options: &Options) -> Redactor {
    let given = GivenNames::of(plan, options);
    // A value that stands in the name of a suite, for everybody to see, is masked only if it reads like a secret.
    let is_seen = |value: &str| plan.suites.iter().any(|planned| planned.suite.file.contains(value));
    let hidden = given.variables.clone().into_iter().filter(|(name, value)| !is_seen(value) || is_secret(name, value));
    let mut secrets: Vec<(String, String)> = hidden.map(|(name, value)| (original_name(name), value)).collect();
    for planned in &plan.suites {
        let Ok(names) = of_suite(&planned.suite, &given) else { continue };
        for server in planned.suite.servers.values() {
            let written = |name: &str| server.env.iter().find(|(known, _)| known.value == name).map(|(_, value)| value);
            secrets.extend(server.secrets.iter().filter_map(|name| match written(name) {
                Some(value) => Some((name.clone(), text_of(&fill(value, &names).ok()?.to_json()))),
                None => Some((name.clone(), options.environment.get(name)?.clone())),
            }));
            secrets.extend(credentials(server, &names).into_iter().map(|value| ("CREDENTIAL".to_owned(), value)));
            secrets.extend(in_words(server, &names).into_iter().map(|value| ("CREDENTIAL".to_owned(), value)));
        }
        secrets.extend(hinted_tokens(planned, &names).into_iter().map(|value| ("HINT".to_owned(), value)));
    }
    // Whoever is given a whole address tells the password alone.
    let within = |(name, value): &(String, String)| {
        let passwords = userinfo(value).map(|user| user.passwords).unwrap_or_default();
        passwords.into_iter().map(|password| (name.clone(), password)).collect::<Vec<_>>()
    };
    let within: Vec<_> = secrets.iter().flat_map(within).collect();
    let own_files = plan.sources.ids().filter(|source| !is_builtin(plan.sources.file(*source)));
    let written: Vec<_> = own_files.flat_map(|source| written_secrets(plan, source)).collect();
    // An everyday word is a secret only where it fills a field.
    let drawn = written.iter().filter(|(_, text)| reads_drawn(text)).cloned();
    options.secrets.naming(secrets.into_iter().chain(within).chain(drawn)).filling(written)
}

/// The texts in a file that fill fields whose names say that they are secret, each with the name.
fn written_secrets(plan: &Plan, source: SourceId) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if may_name_a_secret(&plan.sources.file(source).text)
        && let Ok(whole) = parse(&plan.sources, source).or_else(|_| parse_jsonc(&plan.sources, source))
    {
        add_secrets(&whole.to_json(), &mut found);
    }
    found
}

fn add_secrets(value: &Json, found: &mut Vec<(String, String)>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| add_secrets(item, found)),
        Json::Object(fields) => {
            for (name, field) in fields {
                match field.as_str().filter(|text| holds_a_secret(name, text)) {
                    Some(text) => found.push((name.clone(), text.to_owned())),
                    None => add_secrets(field, found),
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// A secret that was taken back under a name keeps that name.
fn original_name(name: String) -> String {
    name.strip_prefix(RESTORED_FROM).map(str::to_owned).unwrap_or(name)
}

/// Tokens with which rules are tested.
fn hinted_tokens(planned: &SuitePlan, names: &Names) -> Vec<String> {
    let hints = planned.blocks.iter().filter_map(|block| block.settings.hints()).flatten();
    let tokens = hints.filter(|(name, _)| name.contains("token"));
    tokens.filter_map(|(_, value)| Some(text_of(&fill(value, names).ok()?.to_json()))).collect()
}

/// Credentials among the words of a command: those of addresses, and values of options that read as if they were drawn. An
/// everyday word is none, since it stands elsewhere, too.
fn in_words(server: &Server, names: &Names) -> Vec<String> {
    let ServerKind::Command(words) = &server.kind else { return Vec::new() };
    let words: Vec<String> =
        words.iter().filter_map(|word| Some(text_of(&fill(word, names).ok()?.to_json()))).collect();
    let of_address = |word: &String| {
        let passwords = userinfo(word).map(|user| user.passwords).unwrap_or_default();
        passwords.into_iter().chain(query_secrets(word).map(str::to_owned)).collect::<Vec<_>>()
    };
    let of_addresses = words.iter().filter(|word| word.contains("://")).flat_map(of_address);
    let written: Vec<&str> = words.iter().map(String::as_str).collect();
    let of_options = option_secrets(&written).into_iter().filter(|value| reads_drawn(value)).map(str::to_owned);
    of_addresses.chain(of_options).collect()
}

/// Values of headers and of `auth` that are credentials, whole and without the word for their kind.
fn credentials(server: &Server, names: &Names) -> Vec<String> {
    let ServerKind::Url(http) = &server.kind else { return Vec::new() };
    let values = http.all_credentials().flat_map(|held| &held.headers).filter_map(|(name, value)| {
        let value = text_of(&fill(value, names).ok()?.to_json());
        is_secret(&name.value, &value).then_some(value)
    });
    let wanted =
        http.all_credentials().filter_map(|held| held.auth.as_ref()).flat_map(|auth| auth_secrets(auth, names));
    let mut with_port = names.clone();
    with_port.entry("port".to_owned()).or_insert(1.into());
    let url = fill(&http.url, &with_port).ok().map(|url| text_of(&url.to_json()));
    let asked: Vec<String> = url.iter().flat_map(|url| query_secrets(url)).map(str::to_owned).collect();
    let user = url.and_then(|url| userinfo(&url));
    let user = user.into_iter().flat_map(|user| user.passwords.into_iter().chain([user.header]));
    values
        .chain(wanted)
        .chain(user)
        .chain(asked)
        .flat_map(|value| {
            value
                .split_once(' ')
                .map(|(_, rest)| rest.trim().to_owned())
                .into_iter()
                .chain([value.clone()])
                .collect::<Vec<_>>()
        })
        .collect()
}

/// What `auth` holds that nobody may see: tokens, secrets, keys, and the values of a login that its fields say are secret.
fn auth_secrets(auth: &Auth, names: &Names) -> Vec<String> {
    let text = |node: &Node| Some(text_of(&fill(node, names).ok()?.to_json()));
    match auth {
        Auth::Bearer(token) => text(token).into_iter().collect(),
        Auth::ClientCredentials(written) => {
            let key = written.private_key.as_ref().and_then(text).filter(|key| key.contains("-----BEGIN"));
            written.client_secret.as_ref().and_then(text).into_iter().chain(key).collect()
        }
        Auth::AuthorizationCode(written) => login_secrets(written.client_secret.as_ref(), &written.login, names),
        Auth::DeviceCode(written) => login_secrets(written.client_secret.as_ref(), &written.login, names),
    }
}

/// The secret of a client, and the values of its login that are secret by the names of their fields.
fn login_secrets(secret: Option<&Node>, login: &[LoginStep], names: &Names) -> Vec<String> {
    let text = |node: &Node| Some(text_of(&fill(node, names).ok()?.to_json()));
    let fields = login.iter().flat_map(|step| &step.form);
    let values = fields.filter_map(|(name, value)| {
        text(value).filter(|value| names_login_secret(&name.value) || is_secret(&name.value, value))
    });
    secret.and_then(text).into_iter().chain(values).collect()
}

/// Fills the arguments that the suite gives for tools, wherever a case finds them in the server's offer. Arguments that
/// come from the server's own schemas stay as they are: a server must not have templates filled.
pub(crate) fn fill_given_arguments(names: &mut Names, suite: &Suite) {
    if !names.contains_key("offer") {
        return;
    }
    for (tool, given) in &suite.arguments {
        let Ok(filled) = fill(given, names) else { continue };
        let (written, filled) = (given.to_json(), filled.to_json());
        let Some(offer) = names.get_mut("offer").filter(|_| written != filled) else { continue };
        if offer["call"]["name"] == **tool && offer["call"]["arguments"] == written {
            offer["call"]["arguments"].clone_from(&filled);
        }
        if let Some(arguments) = offer["arguments"].get_mut(tool).filter(|known| **known == written) {
            *arguments = filled;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_those_that_templates_read() {
        for (text, expected) in [
            ("{{ env.TOKEN }}", &["TOKEN"][..]),
            ("{{ env['TOKEN'] }} and {{ env [ \"OTHER\" ] }}", &["OTHER", "TOKEN"]),
            ("{{ env . SPACED }}", &["SPACED"]),
            ("inherit_env: true", &[]),
            ("{{ environment.TOKEN }}", &[]),
            ("env: {}", &[]),
        ] {
            assert_eq!(variables_in(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
        let text = "# {{ env.OLD }}\nurl: {{ env.URL }} # {{ env.LATE }}";
        let read: Vec<String> = mentions(text).filter(|one| !one.is_comment).map(|one| one.name).collect();
        assert_eq!(read, ["URL", "LATE"], "only a line that begins with `#` reads nothing");
    }

    #[test]
    fn fields_that_are_named_like_secrets_are_found_at_any_depth() {
        let written = json!({
            "servers": { "users": { "env": { "API_TOKEN": "t0k3n-of-users", "LANG": "en_GB" } } },
            "tests": [{ "call": "log_in", "args": { "password": "hunter-22-stapler", "name": "ann" } }],
            "token": { "kind": "bearer" },
        });
        let mut found = Vec::new();
        add_secrets(&written, &mut found);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(found, [("API_TOKEN", "t0k3n-of-users"), ("password", "hunter-22-stapler")]);
    }

    #[test]
    fn a_secret_keeps_the_name_under_which_it_was_taken_back() {
        assert_eq!(original_name(format!("{RESTORED_FROM}TOKEN")), "TOKEN");
        assert_eq!(original_name("TOKEN".to_owned()), "TOKEN");
    }
}
