//! Every faulty server against the correct one: a fixed conversation, and what differs.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::client::{Era, meta};
use crate::demo::faulty::{ABSENT, DemoFault, FaultEnvironment, FaultyServer, all, find, transports};
use crate::demo::{ServeError, Settings, serve_with};
use crate::source::difference;
use crate::taxonomy::{Registry, Transport};

const SCRIPT: &str = include_str!("faulty.txt");

/// After so much silence, on a clock that does not run by itself, nothing more is to come.
const SILENCE: Duration = Duration::from_secs(20);

/// What comes sooner came at once.
const LATE: Duration = Duration::from_millis(100);

/// Where snapshots of a difference stop.
const SHOWN: usize = 8;

#[test]
fn every_variant_has_a_server_or_a_reason() {
    let registry = Registry::builtin();
    let mut known: Vec<&str> = registry.variants().map(|variant| variant.id.as_str()).collect();
    let mut here: Vec<&str> =
        all().map(|entry| entry.variant).chain(ABSENT.iter().map(|(variant, _)| *variant)).collect();
    known.sort_unstable();
    here.sort_unstable();
    assert_eq!(here, known);
    for leaf in registry.leaves() {
        assert!(leaf.variants.iter().any(|variant| find(&variant.id).is_some()), "{} has no server", leaf.id);
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_shows() {
    let sound = everything(None, Era::Legacy).await;
    let (mut page, mut same) = (String::new(), Vec::new());
    for entry in over_streams().filter(|entry| entry.variant != "SECURITY-SSRF") {
        let faulty = everything(Some(entry), Era::Legacy).await;
        let difference = changed_lines(&sound, &faulty);
        if difference.is_empty() {
            same.push(entry.variant);
        }
        let _ = writeln!(page, "{} {}\n{difference}", entry.variant, entry.wrong);
    }
    insta::assert_snapshot!(page);
    assert_eq!(same, [""; 0], "these behave like the correct server");
}

#[tokio::test(start_paused = true)]
async fn faults_show_in_the_newer_era_too() {
    let sound = everything(None, Era::Modern).await;
    let bound = ["SECURITY-SSRF", "PROTO-REQUEST-BEFORE-INIT", "PROTO-VERSION-NEGOTIATION"];
    let mut same = Vec::new();
    for entry in over_streams().filter(|entry| !bound.contains(&entry.variant)) {
        if everything(Some(entry), Era::Modern).await == sound {
            same.push(entry.variant);
        }
    }
    assert_eq!(same, [""; 0], "these behave like the correct server");
}

#[tokio::test]
async fn a_fetched_page_is_the_one_of_its_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/secret", listener.local_addr().unwrap());
    let site = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\ninside").unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let mut talk = Talk::start(DemoFault::of(find("SECURITY-SSRF").unwrap(), nowhere()), Settings::default());
    talk.send(&with_meta(json!({ "id": 1, "method": "resources/read", "params": { "uri": uri } }))).await;
    let mut answer = String::new();
    talk.reader.read_line(&mut answer).await.unwrap();
    assert!(answer.contains("inside"), "{answer}");
    assert!(site.join().unwrap().starts_with("GET /secret"));
}

/// The faulty servers over standard streams.
fn over_streams() -> impl Iterator<Item = &'static FaultyServer> {
    all().filter(|entry| transports(entry).contains(&Transport::Stdio))
}

fn nowhere() -> FaultEnvironment {
    FaultEnvironment { folder: PathBuf::from("."), secret: "the secret".to_owned() }
}

/// All that a server does in the script, then in a second session, after a restart, and under settings.
async fn everything(entry: Option<&'static FaultyServer>, era: Era) -> String {
    let name = entry.map_or("none", |entry| entry.variant);
    let root = std::env::temp_dir().join(format!("mcprove-{}-{era:?}-{name}", std::process::id()));
    let folder = root.join("state");
    fs::create_dir_all(&folder).unwrap();
    fs::write(root.join("canary"), "a file outside").unwrap();
    let fault = || {
        let environment = FaultEnvironment { folder: folder.clone(), secret: "the secret".to_owned() };
        entry.map_or_else(DemoFault::none, |entry| DemoFault::of(entry, environment))
    };
    let first = fault();
    let mut log = converse(("", &folder), first.clone(), Settings::default(), &script(era, SCRIPT, &folder)).await;
    let later = "# lists all users\n{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"list_users\"}}";
    let later = script(Era::Modern, later, &folder);
    log += &converse(("in another session ", &folder), first.clone(), Settings::default(), &later).await;
    let _ = writeln!(log, "holds on to {} bytes", first.inside.leaked_bytes());
    log += &converse(("in the next run ", &folder), fault(), Settings::default(), &later).await;
    let settings = Settings {
        max_users: Some("1".to_owned()),
        domain: Some("example.com".to_owned()),
        blocked: Some("root".to_owned()),
        ..Settings::default()
    };
    log += &converse(("under settings ", &folder), fault(), settings, &script(Era::Modern, SETTINGS, &folder)).await;
    let read_only = Settings { read_only: true, ..Settings::default() };
    log += &converse(("when read-only ", &folder), fault(), read_only, &script(Era::Modern, SETTINGS, &folder)).await;
    let wrong = Settings { max_users: Some("many".to_owned()), ..Settings::default() };
    log += &converse(("under a setting that makes no sense ", &folder), fault(), wrong, &later).await;
    for file in fs::read_dir(&folder).unwrap() {
        let _ = writeln!(log, "leaves a file `{}`", file.unwrap().file_name().display());
    }
    fs::remove_dir_all(root).unwrap();
    log
}

const SETTINGS: &str = r#"# creates a root in other case
{"id":1,"method":"tools/call","params":{"name":"create_user","arguments":{"name":"Root","email":"root@example.com"}}}

# creates a user elsewhere
{"id":2,"method":"tools/call","params":{"name":"create_user","arguments":{"name":"Ann","email":"ann@example.org"}}}

# creates a user
{"id":3,"method":"tools/call","params":{"name":"create_user","arguments":{"name":"Ann","email":"ann@example.com"}}}

# creates a second user
{"id":4,"method":"tools/call","params":{"name":"create_user","arguments":{"name":"Bob","email":"bob@example.com"}}}

# creates a third user
{"id":5,"method":"tools/call","params":{"name":"create_user","arguments":{"name":"Cid","email":"cid@example.com"}}}"#;

/// The moves of a script: a title, and the lines to send at once.
fn script(era: Era, text: &str, folder: &Path) -> Vec<(String, Vec<String>)> {
    let blocks = text.trim_end().split("\n\n").map(|block| {
        let (title, lines) = block.split_once('\n').unwrap();
        let folder = folder.display().to_string().replace('\\', "/");
        let lines = lines.lines().map(|line| line.replace("FOLDER", &folder).replace("LONG", &"long ".repeat(500)));
        let lines = lines.map(|line| line.replace("DEEP", &format!("{}{}", "[".repeat(600), "]".repeat(600))));
        let lines = lines.map(|line| match serde_json::from_str::<Value>(&line) {
            Ok(message) if era == Era::Modern && message["method"] != "initialize" => with_meta(message),
            Ok(mut message) => {
                message["jsonrpc"] = "2.0".into();
                message.to_string()
            }
            Err(_) => line,
        });
        (title.trim_start_matches("# ").to_owned(), lines.collect())
    });
    blocks.collect()
}

/// A message that names its revision.
fn with_meta(mut message: Value) -> String {
    let mut whole = meta();
    if let Some(given) = message["params"]["_meta"].as_object() {
        whole.as_object_mut().unwrap().extend(given.clone());
    }
    message["params"]["_meta"] = whole;
    message["jsonrpc"] = "2.0".into();
    message.to_string()
}

/// One conversation in lines, one for each value that came.
async fn converse(
    (where_, folder): (&str, &Path),
    fault: DemoFault,
    settings: Settings,
    script: &[(String, Vec<String>)],
) -> String {
    let mut log = String::new();
    let mut talk = Talk::start(fault, settings);
    // Before texts are cut, or what is cut would depend on where the folder is.
    talk.hidden = folder.display().to_string().replace('\\', "/");
    for (title, lines) in script {
        for line in lines {
            talk.send(line).await;
        }
        talk.log(&mut log, &format!("{where_}{title}")).await;
    }
    let _ = talk.writer.shutdown().await;
    talk.log(&mut log, &format!("{where_}ends its input")).await;
    let end = match timeout(SILENCE, talk.server).await {
        Err(_) => "the server stays".to_owned(),
        Ok(Ok(Ok(()))) => "the server ends".to_owned(),
        Ok(Ok(Err(error))) => format!("the server ends: {error}"),
        Ok(Err(error)) => panic!("{error}"),
    };
    let _ = writeln!(log, "{where_}{end}");
    log
}

/// A conversation under way.
struct Talk {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    server: JoinHandle<Result<(), ServeError>>,
    /// What is written down as `FOLDER`.
    hidden: String,
}

impl Talk {
    fn start(fault: DemoFault, settings: Settings) -> Self {
        let (client, server) = duplex(1024 * 1024);
        let (server_reader, server_writer) = split(server);
        let (reader, writer) = split(client);
        let server = tokio::spawn(serve_with(settings, fault, server_reader, server_writer));
        Self { reader: BufReader::new(reader), writer, server, hidden: String::new() }
    }

    /// Sends a line; a server that is gone reads nothing.
    async fn send(&mut self, line: &str) {
        let _ = self.writer.write_all(format!("{line}\n").as_bytes()).await;
    }

    /// Writes down all that comes until there is silence.
    async fn log(&mut self, log: &mut String, title: &str) {
        let start = Instant::now();
        let mut number = 0;
        let mut line = String::new();
        while let Ok(Ok(length)) = timeout(SILENCE, self.reader.read_line(&mut line)).await {
            if length == 0 {
                let _ = writeln!(log, "{title}: nothing more comes");
                return;
            }
            number += 1;
            let late = start.elapsed();
            if late >= LATE {
                let _ = writeln!(log, "{title}, message {number} comes after {} ms", late.as_millis());
            }
            if !self.hidden.is_empty() {
                line = line.replace(&self.hidden, "FOLDER");
            }
            match serde_json::from_str(&line) {
                Ok(message) => leaves(log, &format!("{title}, message {number}:"), &message),
                Err(_) => {
                    let _ = writeln!(log, "{title}, message {number}: {}", line.trim_end());
                }
            }
            line.clear();
        }
        if number == 0 {
            let _ = writeln!(log, "{title}: silence");
        }
    }
}

/// One line for each value in a message.
fn leaves(log: &mut String, path: &str, value: &Value) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| leaves(log, &format!("{path} {name}"), value));
        }
        Value::Array(elements) if !elements.is_empty() => {
            elements.iter().enumerate().for_each(|(index, value)| leaves(log, &format!("{path} {index}"), value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            let shown: String = text.chars().take(120).collect();
            let rest = text.len() - shown.len();
            let rest = if rest == 0 { String::new() } else { format!(" … {rest} more") };
            let _ = writeln!(log, "{path} = {shown}{rest}");
        }
    }
}

/// The lines that only one of the two has.
fn changed_lines(sound: &str, faulty: &str) -> String {
    let (sound, faulty): (Vec<&str>, Vec<&str>) = (sound.lines().collect(), faulty.lines().collect());
    let changed: Vec<String> = difference(&sound, &faulty, 0)
        .concat()
        .iter()
        .map(|(side, line)| format!("{} {line}\n", side.sign()))
        .collect();
    let rest = changed.len().saturating_sub(SHOWN);
    let mut text: String = changed.into_iter().take(SHOWN).collect();
    if rest > 0 {
        let _ = writeln!(text, "  … and {rest} more");
    }
    text
}
