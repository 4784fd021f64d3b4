//! `mcprove login` and `mcprove logout`: a person logs in to a server, once, and ends that.

use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};

use super::visiting::{plan_of, plan_of_server};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb, is_suite};
use crate::event::Finding;
use crate::plan::Plan;
use crate::redact::{MASK, query_secrets};
use crate::runner::{LoginPlace, Options, Stop, login_places};
use crate::source::visible_line;
use crate::suite::AdHocCommand;
use crate::transport::http::{
    HttpAddress, KeptLogin, LOGINS_FILE, LoginFile, LoginFileError, LoginPrompt, TokenSource,
};
use crate::wire;

const LOGIN: Verb = Verb { command: AdHocCommand::Login, does: "log in to" };
const LOGOUT: Verb = Verb { command: AdHocCommand::Logout, does: "log out of" };

/// Logs in to a server with a browser, once: suites and commands use the token and refresh it.
///
/// The login is kept in `~/.mcprove/logins.json`, which only you can read. Where there is no browser, the variable
/// `MCPROVE_LOGINS` holds the content of that file.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server: a URL, a suite whose `auth` has no `login`, or a server of it (`suite.yml:NAME`).
    #[arg(value_name = "SERVER")]
    words: Vec<String>,
    /// Logs in for this user of the suite, where the server has several.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The id of a client that the authorization server knows; without it, mcprove registers itself.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The authorization server, if the server does not name it.
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// A scope to ask for; may be given several times, and is what the server wants by default.
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Shows a code for a browser on any machine, in place of an address for one on this machine.
    #[arg(long, requires = "client_id")]
    device: bool,
    /// Lists the logins that are kept.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Ends the login to a server: the authorization server revokes it, and mcprove forgets it.
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// The server: a URL, a suite, or a server of it (`suite.yml:NAME`).
    #[arg(value_name = "SERVER")]
    words: Vec<String>,
    /// Logs out this user of the suite, where the server has several.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn login(args: &LoginArgs, console: &Console) -> Result<Exit, Exit> {
    if args.list {
        return list(console);
    }
    if let ([word], Some(flag)) = (args.words.as_slice(), args.flag_of_auth())
        && !word.contains("://")
    {
        let message = format!("`{flag}` is about a server of the command line, and `{word}` has its own");
        return Err(console.fail(Exit::Usage, message, Some("write into `auth` of the suite what the flag says")));
    }
    let plan = plan(LOGIN, &args.words, &args.server, &args.auth(), console)?;
    let places = places(&plan, args.user.as_deref(), console)?;
    in_runtime(console, "nobody logged in", async {
        for address in &places {
            log_in(address, console).await?;
        }
        Ok(Exit::Passed)
    })
}

pub(crate) fn logout(args: &LogoutArgs, console: &Console) -> Result<Exit, Exit> {
    let auth = json!({"authorization_code": {}});
    let plan = plan(LOGOUT, &args.words, &args.server, &auth, console)?;
    let places = places(&plan, args.user.as_deref(), console)?;
    let file = LoginFile::of(&console.environment.variables);
    in_runtime(console, "nobody logged out", async {
        let (mut missing, mut ended) = (None, Vec::new());
        for address in &places {
            let Some(tokens) = &address.tokens else { continue };
            let (name, user) = name_of(address);
            let login = file.find(&name, user.as_deref()).map_err(|why| unusable(&why, console))?;
            match login {
                Some(login) => ended.push(log_out(&login, address, tokens, &file, console).await),
                None => missing = missing.or_else(|| Some(public(&tokens.masked(&name)))),
            }
        }
        if let Some(name) = missing.filter(|_| ended.is_empty()) {
            let message = format!("nobody has logged in to `{name}`");
            return Err(console.fail(Exit::Nothing, message, Some("see `mcprove login --list`")));
        }
        ended.into_iter().collect::<Result<(), Exit>>()?;
        Ok(Exit::Passed)
    })
}

impl LoginArgs {
    /// The `auth` of a server that no suite describes.
    fn auth(&self) -> Value {
        let mut members = Map::new();
        members.extend(self.client_id.as_ref().map(|id| ("client_id".to_owned(), json!(id))));
        members.extend(self.issuer.as_ref().map(|issuer| ("issuer".to_owned(), json!(issuer))));
        if !self.scope.is_empty() {
            members.insert("scopes".to_owned(), json!(self.scope));
        }
        let grant = if self.device { "device_code" } else { "authorization_code" };
        json!({ grant: members })
    }

    /// A flag that says of a server what a suite says itself.
    fn flag_of_auth(&self) -> Option<&'static str> {
        [
            ("--client-id", self.client_id.is_some()),
            ("--issuer", self.issuer.is_some()),
            ("--scope", !self.scope.is_empty()),
            ("--device", self.device),
        ]
        .into_iter()
        .find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

/// The plan of the servers; one that no suite describes gets this `auth`.
fn plan(verb: Verb, words: &[String], server: &ServerArgs, auth: &Value, console: &Console) -> Result<Plan, Exit> {
    // Its cases are never run.
    let members = Map::from_iter([("schema_lint".to_owned(), json!({}))]);
    if words.first().is_some_and(|word| words.len() == 1 && is_suite(word)) {
        return plan_of(verb, words, server, members, console);
    }
    let mut target = server.target(verb, words, console)?;
    target.set_auth(auth);
    plan_of_server(target, members, console)
}

/// Where somebody logs in; an error where nobody does.
fn places(plan: &Plan, user: Option<&str>, console: &Console) -> Result<Vec<HttpAddress>, Exit> {
    let (_wish, stop) = Stop::new();
    let environment = Arc::clone(&console.environment.variables);
    let options = Options { environment, ..Options::new(0, stop) };
    let mut addresses = Vec::new();
    let mut refused: Option<(String, Finding)> = None;
    for LoginPlace { server, address } in login_places(plan, &options, user) {
        match address {
            Ok(address) => addresses.push(address),
            Err(found) => refused = refused.or(Some((server, found))),
        }
    }
    match refused {
        Some((server, found)) if addresses.is_empty() => {
            let message = format!("nobody logs in to `{}`: {}", visible_line(&server), found.message);
            Err(console.fail(Exit::Usage, message, found.help.as_deref()))
        }
        Some(_) | None => Ok(addresses),
    }
}

/// Does something that a signal ends.
fn in_runtime(console: &Console, undone: &str, work: impl Future<Output = Result<Exit, Exit>>) -> Result<Exit, Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let no_runtime = |_| console.fail(Exit::Internal, "the system provides no async runtime", None);
    runtime.map_err(no_runtime)?.block_on(async {
        tokio::select! {
            done = work => done,
            _ = tokio::signal::ctrl_c() => {
                Err(console.fail(Exit::Interrupted, format!("{undone}: the command was interrupted"), None))
            }
        }
    })
}

/// The name of the login to a server, and its user.
fn name_of(address: &HttpAddress) -> (String, Option<String>) {
    let url = wire::address(&address.url).ok();
    let tokens = address.tokens.as_ref().zip(url);
    tokens.map_or_else(
        || (address.url.clone(), None),
        |(tokens, url)| (tokens.login_name(&url), tokens.login_user().map(str::to_owned)),
    )
}

async fn log_in(address: &HttpAddress, console: &Console) -> Result<(), Exit> {
    let Some(tokens) = &address.tokens else { return Ok(()) };
    let (name, user) = name_of(address);
    let server = public(&tokens.masked(&name)) + &user.map(|user| format!("` as `{user}")).unwrap_or_default();
    let tell = |prompt: LoginPrompt<'_>| {
        let ask = match prompt {
            LoginPrompt::Open(url) => format!("open this address in a browser on this machine:\n\n  {url}\n"),
            LoginPrompt::Enter { address, code } => {
                format!(
                    "open this address in any browser:\n\n  {address}\n\nand enter this code:\n\n  {}\n",
                    visible_line(code)
                )
            }
        };
        console.note(&format!("to log in to `{server}`, {ask}\nwaiting for at most 10 min; Ctrl-C ends it"));
    };
    let login = tokens.log_in(address, &tell).await.map_err(|none| {
        let exit = console.fail(Exit::Environment, format!("nobody logged in: {}", none.reason), Some(&none.cure));
        if !none.asked.is_empty() {
            console.note(&format!("asked: {}", none.asked.join("\n       ")));
        }
        exit
    })?;
    let rest = if login.is_renewable() {
        ""
    } else {
        "; the authorization server gave no refresh token, so that the login ends with its token"
    };
    let text = format!("logged in to `{server}` at `{}`; kept in `{LOGINS_FILE}`{rest}\n", visible_line(&login.issuer));
    console.part(&text)
}

async fn log_out(
    login: &KeptLogin,
    address: &HttpAddress,
    tokens: &TokenSource,
    file: &LoginFile,
    console: &Console,
) -> Result<(), Exit> {
    let revoked = tokens.revoke(login, address).await;
    file.forget(login).await.map_err(|why| unusable(&why, console))?;
    let server = public(&tokens.masked(&login.server));
    let rest = match revoked {
        Ok(true) => "the authorization server has revoked the login",
        Ok(false) => {
            "the authorization server names no safe address to revoke it at, so its tokens end with their time"
        }
        Err(why) => {
            let message = format!("mcprove has forgotten the login to `{server}`, but it was not revoked: {why}");
            let help = "revoke it at the authorization server, or wait until its tokens end";
            return Err(console.fail(Exit::Environment, message, Some(help)));
        }
    };
    console.part(&format!("logged out of `{server}`; {rest}\n"))
}

/// The name of a server in one line, without the secrets in its query.
fn public(name: &str) -> String {
    let bare = query_secrets(name).fold(name.to_owned(), |text, secret| text.replace(secret, MASK));
    visible_line(&bare).into_owned()
}

fn unusable(error: &LoginFileError, console: &Console) -> Exit {
    console.fail(Exit::Environment, &error.reason, Some(error.cure))
}

fn list(console: &Console) -> Result<Exit, Exit> {
    let logins = LoginFile::of(&console.environment.variables).logins();
    let logins = logins.map_err(|why| unusable(&why, console))?;
    if logins.is_empty() {
        return Err(console.fail(Exit::Nothing, "no login is kept", Some("log in with `mcprove login SERVER`")));
    }
    let line = |login: &KeptLogin| {
        let user = login.user.as_ref().map(|user| format!(" as {user}")).unwrap_or_default();
        let state = match (login.is_renewable(), login.has_expired()) {
            (true, _) => "is refreshed",
            (false, false) => "ends with its token",
            (false, true) => "has ended",
        };
        let rest = format!("{user}  at {}, {state}", login.issuer);
        format!("{}{}\n", public(&login.server), visible_line(&rest))
    };
    Ok(console.data(&logins.iter().map(line).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::public;

    #[test]
    fn secrets_of_a_query_are_not_printed() {
        for (name, expected) in [
            ("https://a.test/mcp", "https://a.test/mcp"),
            ("https://a.test/mcp?api_key=k-4711", "https://a.test/mcp?api_key=[redacted]"),
            ("https://a.test/mcp?page=7&token=t-4711", "https://a.test/mcp?page=7&token=[redacted]"),
        ] {
            assert_eq!(public(name), expected);
        }
    }
}
