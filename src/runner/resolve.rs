//! From a server as written to a server that can be reached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::port::Port;
use super::store_move::StoreMove;
use super::{InProcess, Tamper, finding};
use crate::event::Finding;
use crate::redact::Redactor;
use crate::session::{ClientAnswers, client_root};
use crate::source::template::{Names, TemplateError, Unfilled, fill, text_of};
use crate::source::{Located, Node, file};
use crate::suite::{self, Answers, Auth, Http, HttpFlavour, HttpUser, Server, ServerKind, why_unreadable};
use crate::testserver;
use crate::transport::environment::{is_passed_on, is_same_name};
use crate::transport::http::{
    self, AssertionAlgorithm, AssertionKey, AuthorizationCode, ClientProof, DeviceCode, HttpAddress, HttpTransport,
    LoginFile, LoginForm, PersonLogin, TokenFlow, TokenGrant, TokenSource, TrustedRoots,
};
use crate::transport::stdio::ServerCommand;
use crate::transport::{ConnectError, Link, memory, stdio};

/// The number of bytes that may wait between this program and a server inside it.
const MEMORY_BUFFER: usize = 256 << 10;

/// A server, ready to be connected to.
#[derive(Debug, Clone)]
pub(crate) enum Reachable {
    /// A program.
    Command(ServerCommand),
    /// The demo server, in process.
    Demo,
    /// A server of whoever runs the suite, in process.
    InProcess(InProcess),
    /// A server over HTTP that runs already.
    Http(HttpAddress),
    /// A server over HTTP that is started for every connection, with a port of its own.
    Served(Box<Served>),
}

/// The program that a connection to a fresh server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starts {
    /// A process, and the connection is its streams.
    WithStream,
    /// A process that listens at an address.
    WithAddress,
    /// No process.
    Nothing,
}

/// The settings that start a server over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    server: Server,
    names: Names,
    environment: BTreeMap<String, String>,
    redactor: Redactor,
    /// The change to its start that a replay of faults asks for, and the id of its target.
    tamper: Option<(Tamper, String)>,
    /// The copy that takes the place of its store.
    moving: Option<StoreMove>,
}

/// Fills in a server's templates; `Err` says what is missing.
pub(crate) fn server(
    server: &Server,
    names: &Names,
    environment: &BTreeMap<String, String>,
    redactor: &Redactor,
) -> Result<Reachable, Finding> {
    match &server.kind {
        ServerKind::Builtin(_) => Ok(Reachable::Demo),
        ServerKind::Command(words) => command(server, words, names, environment).map(Reachable::Command),
        ServerKind::Url(http) if http.command.is_none() => {
            address(server, http, http.default_user(), names, environment, redactor).map(Reachable::Http)
        }
        ServerKind::Url(_) => {
            let (server, names, environment) = (server.clone(), names.clone(), environment.clone());
            let started = Served { server, names, environment, redactor: redactor.clone(), tamper: None, moving: None };
            // Unfilled templates are reported before anything starts.
            started.with_port(1)?;
            Ok(Reachable::Served(Box::new(started)))
        }
    }
}

impl Reachable {
    /// The program that a connection to it starts.
    pub(crate) fn starts(&self) -> Starts {
        match self {
            Self::Command(_) => Starts::WithStream,
            Self::Served(_) => Starts::WithAddress,
            Self::Demo | Self::InProcess(_) | Self::Http(_) => Starts::Nothing,
        }
    }

    /// Returns true if every session has the same server, which nobody starts for it.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Lets somebody change how the server is started, if it is.
    pub(crate) fn with_tamper(mut self, tamper: &Tamper, target: &str) -> Self {
        match &mut self {
            Self::Command(command) => tamper.start(target, command),
            Self::Served(served) => served.tamper = Some((tamper.clone(), target.to_owned())),
            Self::Demo | Self::InProcess(_) | Self::Http(_) => {}
        }
        self
    }

    /// The server with a copy in the place of its store; fails where the server is not told of it.
    pub(crate) fn at_copy(mut self, settings: &Server, moving: &StoreMove) -> Result<Self, Finding> {
        match &mut self {
            Self::Command(command) => *command = at_copy(command, settings, moving)?,
            Self::Served(served) => {
                served.moving = Some(moving.clone());
                // Told before anything starts.
                served.with_port(1)?;
            }
            Self::Demo | Self::InProcess(_) | Self::Http(_) => {}
        }
        Ok(self)
    }
}

/// The command with a copy in the place of the store.
fn at_copy(command: &ServerCommand, server: &Server, moving: &StoreMove) -> Result<ServerCommand, Finding> {
    let is_own = |name: &str| {
        let is_given = server.env.iter().any(|(own, _)| own.value == name);
        is_given || !server.inherit_env && !is_passed_on(name)
    };
    moving.apply(command, &is_own).ok_or_else(|| Finding {
        help: Some(UNTOLD_HELP.to_owned()),
        ..Finding::new(
            "bad-store",
            "nothing tells the server of its `store`: its command, `env` and `cwd` do not name it",
        )
    })
}

/// The cure where a server is not told of its copy.
pub(crate) const UNTOLD_HELP: &str = "write the path of the store where the server is told of it, or `{{ store }}`, which is the \
                                      path of the copy; a server that keeps its data in the folder in which it starts has \
                                      that folder as `cwd` and as `store`";

impl Served {
    /// The program as it is started with one port and with another.
    pub(crate) fn two_starts(&self) -> Option<(ServerCommand, ServerCommand)> {
        let start = |port: u16| self.with_port(port).ok().map(|(command, _)| command);
        start(1).zip(start(2))
    }

    /// The program and the address for one start.
    fn with_port(&self, port: u16) -> Result<(ServerCommand, HttpAddress), Finding> {
        let ServerKind::Url(http) = &self.server.kind else {
            return Err(finding::of_template(&TemplateError::Invalid("the server has no `url`".to_owned())));
        };
        let mut names = self.names.clone();
        names.insert("port".to_owned(), port.into());
        let words = http.command.as_deref().unwrap_or_default();
        let mut command = command(&self.server, words, &names, &self.environment)?;
        if let Some((tamper, target)) = &self.tamper {
            tamper.start(target, &mut command);
        }
        if let Some(moving) = &self.moving {
            command = at_copy(&command, &self.server, moving)?;
        }
        let user = http.default_user();
        Ok((command, address(&self.server, http, user, &names, &self.environment, &self.redactor)?))
    }
}

fn fill_text(server: &Server, node: &Node, names: &Names) -> Result<String, Finding> {
    fill(node, names).map(|node| text_of(&node.to_json())).map_err(|unfilled| {
        let found = finding::of_template(&unfilled.reason);
        let TemplateError::NoVariable(name) = &unfilled.reason else { return found };
        let Some(input) = server.inputs.get(name) else { return found };
        Finding { help: Some(format!("set the environment variable `{name}`; {input}")), ..found }
    })
}

fn command(
    server: &Server,
    words: &[Node],
    names: &Names,
    environment: &BTreeMap<String, String>,
) -> Result<ServerCommand, Finding> {
    let mut words = words.iter().map(|word| fill_text(server, word, names)).collect::<Result<Vec<_>, _>>()?.into_iter();
    let mut env: BTreeMap<String, String> = if server.inherit_env {
        environment.clone()
    } else {
        let kept = environment.iter().filter(|(name, _)| is_passed_on(name));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    for (name, value) in &server.env {
        env.retain(|inherited, _| !is_same_name(inherited, &name.value));
        env.insert(name.value.clone(), fill_text(server, value, names)?);
    }
    let cwd = server.cwd.as_ref().map(|cwd| fill_text(server, cwd, names)).transpose()?.map(PathBuf::from);
    Ok(ServerCommand {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        env: env.into_iter().collect(),
        cwd: cwd.map_or_else(|| server.folder.clone(), |cwd| server.folder.join(cwd)),
    })
}

/// The address of a server that is reached already, for one of its users; `Err` says what is missing.
pub(crate) fn address_of_user(
    server: &Server,
    reached: &HttpAddress,
    user: &str,
    names: &Names,
    environment: &BTreeMap<String, String>,
    redactor: &Redactor,
) -> Result<HttpAddress, Finding> {
    let ServerKind::Url(http) = &server.kind else { return Ok(reached.clone()) };
    let user = http.users.iter().find(|known| known.name.value == user);
    let mut names = names.clone();
    if let Some(port) = reached.url.parse().ok().and_then(|url: reqwest::Url| url.port_or_known_default()) {
        names.entry("port".to_owned()).or_insert(port.into());
    }
    Ok(HttpAddress { exit: reached.exit.clone(), ..address(server, http, user, &names, environment, redactor)? })
}

/// The address of a server at which a person logs in, for the server or for one of its users; `Err` says why nobody does.
pub(crate) fn login_address(
    server: &Server,
    user: Option<&str>,
    names: &Names,
    environment: &BTreeMap<String, String>,
    redactor: &Redactor,
) -> Result<HttpAddress, Finding> {
    let nobody =
        |message: &str, help: &str| Finding { help: Some(help.to_owned()), ..Finding::new("no-token", message) };
    let ServerKind::Url(http) = &server.kind else {
        return Err(nobody("the server has no address, and takes no tokens", "name a server with a `url`"));
    };
    let known = user.map(|user| http.users.iter().find(|known| known.name.value == user));
    if matches!(known, Some(None)) {
        return Err(nobody("the server has no such user", "name one of its `users`"));
    }
    let user = known.flatten().or_else(|| http.default_user());
    let at_port = |port: u16| {
        let mut names = names.clone();
        if http.command.is_some() {
            names.insert("port".to_owned(), port.into());
        }
        address(server, http, user, &names, environment, redactor)
    };
    let (reached, again) = (at_port(1)?, at_port(2)?);
    let Some(tokens) = &reached.tokens else {
        let help = "write `auth: { authorization_code: {} }` for it in the suite";
        return Err(nobody("the suite asks for no login to the server", help));
    };
    if !tokens.is_of_person() {
        return Err(nobody(
            "the suite gets the token of the server itself, so that nobody has to log in",
            "leave out `login` under `auth`, so that a person logs in",
        ));
    }
    if reached.url != again.url && !tokens.is_independent_of_address() {
        return Err(nobody(
            "mcprove starts the server, at another port each time",
            "write `issuer` and `resource` under `auth`, or start the server yourself, at a fixed port in `url`",
        ));
    }
    Ok(reached)
}

/// The address with the credentials of a user, which take the place of those of the server.
fn address(
    server: &Server,
    written: &Http,
    user: Option<&HttpUser>,
    names: &Names,
    environment: &BTreeMap<String, String>,
    redactor: &Redactor,
) -> Result<HttpAddress, Finding> {
    let own = user.map(|user| &user.credentials);
    let names_user = |name: &str| name.eq_ignore_ascii_case("authorization");
    let is_replaced = |name: &str| {
        own.is_some_and(|own| {
            names_user(name) && own.auth.is_some()
                || own.headers.iter().any(|(other, _)| other.value.eq_ignore_ascii_case(name))
        })
    };
    let header = |(name, value): &(Located<String>, Node)| Ok((name.value.clone(), fill_text(server, value, names)?));
    let kept = written.credentials.headers.iter().filter(|(name, _)| !is_replaced(&name.value));
    let headers = kept.chain(own.iter().flat_map(|own| &own.headers));
    let mut headers = headers.map(header).collect::<Result<Vec<_>, Finding>>()?;
    let mut tokens = None;
    let of_server = written.credentials.auth.as_ref().filter(|_| !is_replaced("authorization"));
    let mut url = fill_text(server, &written.url, names)?;
    let of_url = http::userinfo(&url);
    if let Some(of_url) = &of_url {
        url.clone_from(&of_url.url);
    }
    let of_user = own.and_then(|own| own.auth.as_ref());
    let person = || PersonLogin {
        file: LoginFile::of(environment),
        user: user.filter(|_| of_user.is_some()).map(|user| user.name.value.clone()),
        command: login_command(server, &url, user.filter(|_| of_user.is_some())),
    };
    match of_user.or(of_server) {
        Some(Auth::Bearer(token)) => {
            headers.push(("authorization".to_owned(), format!("Bearer {}", fill_text(server, token, names)?)));
        }
        Some(Auth::ClientCredentials(client)) => {
            let grant = client_credentials(server, client, names, redactor)?;
            tokens = Some(Arc::new(TokenSource::new(grant, redactor.clone())));
        }
        Some(Auth::AuthorizationCode(code)) => {
            let person = code.login.is_empty().then(person);
            let grant = TokenGrant { person, ..authorization_code(server, code, names)? };
            tokens = Some(Arc::new(TokenSource::new(grant, redactor.clone())));
        }
        Some(Auth::DeviceCode(code)) => {
            let person = code.login.is_empty().then(person);
            let grant = TokenGrant { person, ..device_code(server, code, names)? };
            tokens = Some(Arc::new(TokenSource::new(grant, redactor.clone())));
        }
        None => {}
    }
    if let Some(of_url) = of_url
        && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    {
        headers.push(("authorization".to_owned(), of_url.header));
    }
    Ok(HttpAddress {
        url,
        headers,
        tokens,
        flavour: match written.flavour {
            HttpFlavour::Auto => HttpTransport::Auto,
            HttpFlavour::Streamable => HttpTransport::Streamable,
            HttpFlavour::OldSse => HttpTransport::OldSse,
        },
        exit: None,
        tls: written
            .ca
            .as_ref()
            .map_or(Ok(TrustedRoots::System), |ca| roots(server, &fill_text(server, ca, names)?))?,
    })
}

/// The command with which a person logs in to a server.
fn login_command(server: &Server, url: &str, user: Option<&HttpUser>) -> String {
    let named = if server.named.is_empty() { shell_words::quote(url) } else { server.named.as_str().into() };
    let user = user.map(|user| format!(" --user {}", shell_words::quote(&user.name.value))).unwrap_or_default();
    format!("mcprove login {named}{user}")
}

fn client_credentials(
    server: &Server,
    written: &suite::ClientCredentials,
    names: &Names,
    redactor: &Redactor,
) -> Result<TokenGrant, Finding> {
    let text = |node: &Option<Node>| node.as_ref().map(|node| fill_text(server, node, names)).transpose();
    let proof = match (text(&written.client_secret)?, text(&written.private_key)?) {
        (Some(secret), _) => ClientProof::Secret(secret),
        (None, Some(key)) => {
            let algorithm = written.algorithm.as_deref().and_then(AssertionAlgorithm::named);
            ClientProof::PrivateKey(Arc::new(private_key(server, &key, algorithm, text(&written.key_id)?, redactor)?))
        }
        (None, None) => ClientProof::Nothing,
    };
    Ok(TokenGrant {
        issuer: text(&written.issuer)?,
        token_url: text(&written.token_url)?,
        client_id: Some(fill_text(server, &written.client_id, names)?),
        proof,
        scopes: written.scopes.iter().map(|scope| fill_text(server, scope, names)).collect::<Result<_, _>>()?,
        resource: text(&written.resource)?,
        flow: TokenFlow::ClientCredentials,
        person: None,
    })
}

fn authorization_code(
    server: &Server,
    written: &suite::AuthorizationCode,
    names: &Names,
) -> Result<TokenGrant, Finding> {
    let text = |node: &Option<Node>| node.as_ref().map(|node| fill_text(server, node, names)).transpose();
    let texts = |nodes: &[Node]| nodes.iter().map(|node| fill_text(server, node, names)).collect::<Result<_, _>>();
    Ok(TokenGrant {
        issuer: text(&written.issuer)?,
        token_url: None,
        client_id: text(&written.client_id)?,
        proof: text(&written.client_secret)?.map_or(ClientProof::Nothing, ClientProof::Secret),
        scopes: texts(&written.scopes)?,
        resource: text(&written.resource)?,
        flow: TokenFlow::AuthorizationCode(AuthorizationCode {
            redirect_uri: text(&written.redirect_uri)?,
            login: login_forms(server, &written.login, names)?,
            login_hosts: texts(&written.login_hosts)?,
        }),
        person: None,
    })
}

fn device_code(server: &Server, written: &suite::DeviceCode, names: &Names) -> Result<TokenGrant, Finding> {
    let text = |node: &Option<Node>| node.as_ref().map(|node| fill_text(server, node, names)).transpose();
    let texts = |nodes: &[Node]| nodes.iter().map(|node| fill_text(server, node, names)).collect::<Result<_, _>>();
    Ok(TokenGrant {
        issuer: text(&written.issuer)?,
        token_url: None,
        client_id: Some(fill_text(server, &written.client_id, names)?),
        proof: text(&written.client_secret)?.map_or(ClientProof::Nothing, ClientProof::Secret),
        scopes: texts(&written.scopes)?,
        resource: text(&written.resource)?,
        flow: TokenFlow::DeviceCode(DeviceCode {
            login: login_forms(server, &written.login, names)?,
            login_hosts: texts(&written.login_hosts)?,
        }),
        person: None,
    })
}

/// The forms of a login with their values.
fn login_forms(server: &Server, steps: &[suite::LoginStep], names: &Names) -> Result<Vec<LoginForm>, Finding> {
    let field = |(name, value): &(Located<String>, Node)| Ok((name.value.clone(), fill_text(server, value, names)?));
    let form = |step: &suite::LoginStep| {
        Ok(LoginForm { fields: step.form.iter().map(field).collect::<Result<_, Finding>>()? })
    };
    steps.iter().map(form).collect()
}

/// The key in a text, or in the file that it names.
fn private_key(
    server: &Server,
    written: &str,
    algorithm: Option<AssertionAlgorithm>,
    id: Option<String>,
    redactor: &Redactor,
) -> Result<AssertionKey, Finding> {
    let bad =
        |what: &str, why: &str| Finding::new("bad-private-key", format!("{what} under `auth` cannot be used: {why}"));
    if written.contains("-----BEGIN") {
        return AssertionKey::new(written, algorithm, id).map_err(|why| bad("`private_key`", &why));
    }
    let what = format!("`private_key: {written}`");
    let unreadable = |error: std::io::Error| Finding {
        help: Some("the path is relative to the suite's file".to_owned()),
        ..bad(&what, &why_unreadable(&error))
    };
    let pem = file::read_bytes(&server.folder.join(written), file::WRITTEN).map_err(unreadable)?;
    let pem = String::from_utf8_lossy(&pem);
    redactor.learn(&pem);
    AssertionKey::new(&pem, algorithm, id).map_err(|why| bad(&what, &why))
}

fn roots(server: &Server, named: &str) -> Result<TrustedRoots, Finding> {
    let unreadable = |error: std::io::Error| {
        let message = format!("`{named}` under `tls: {{ ca }}` cannot be read: {}", why_unreadable(&error));
        Finding {
            help: Some("the path is relative to the suite's file".to_owned()),
            ..Finding::new("bad-certificate", message)
        }
    };
    file::read_bytes(&server.folder.join(named), file::WRITTEN).map(TrustedRoots::Roots).map_err(unreadable)
}

/// Connects to a fresh server; one over HTTP that is started here has `within` to listen.
pub(crate) async fn connect(server: &Reachable, within: Duration) -> Result<Link, ConnectError> {
    match server {
        Reachable::Command(command) => stdio::spawn(command),
        Reachable::InProcess(server) => Ok(server.connect()),
        Reachable::Http(address) => http::connect(address),
        Reachable::Served(started) => {
            let bad = |reason: String| ConnectError::BadAddress { reason };
            // Kept until the server listens.
            let port = Port::draw().map_err(|error| bad(format!("no port is free: {error}")))?;
            let (command, address) = started.with_port(port.number()).map_err(|found| bad(found.message))?;
            http::start(&command, &address, within).await
        }
        Reachable::Demo => {
            let (ours, theirs) = tokio::io::duplex(MEMORY_BUFFER);
            let (reader, writer) = tokio::io::split(theirs);
            // The demo ends when this side closes; what it says then interests nobody.
            tokio::spawn(async move { drop(testserver::serve(reader, writer).await) });
            let (reader, writer) = tokio::io::split(ours);
            Ok(memory::connect(reader, writer))
        }
    }
}

/// Fills in what the client answers; folders among the roots are relative to that of the suite, and those in the store are
/// those in its copy.
pub(crate) fn answers(
    answers: &Answers,
    names: &Names,
    suite_folder: &Path,
    moving: Option<&StoreMove>,
) -> Result<ClientAnswers, Unfilled> {
    let filled = |node: &Option<_>| node.as_ref().map(|node| fill(node, names).map(|node| node.to_json())).transpose();
    let roots = filled(&answers.roots)?.map(|roots| {
        let written = roots.as_array().map(Vec::as_slice).unwrap_or_default();
        let moved = |root: &Value| moving?.written_path(root.as_str()?, suite_folder)?.to_str().map(Value::from);
        written.iter().map(|root| client_root(&moved(root).unwrap_or_else(|| root.clone()), suite_folder)).collect()
    });
    Ok(ClientAnswers::new(filled(&answers.sampling)?, filled(&answers.elicitation)?, roots))
}
