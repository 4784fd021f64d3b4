//! Somebody in front of servers in this process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use super::*;
use crate::fault;
use crate::redact::Redactor;
use crate::source::{SourceFile, Sources, parse};
use crate::transport::{Incoming, Link, MessageForm, MessageRole, Outgoing, OutgoingMessage, Owner, memory};
use crate::wire::{Catalog, Era};

/// The end of a server once its input has ended.
type End = fn() -> Result<(), String>;

/// A server that says some bytes after the first line and ends once its input does, with what it received as its last words.
fn server(says: &[u8], end: End) -> Link {
    let says = says.to_vec();
    memory::host(move |stream| async move {
        let (reader, mut writer) = tokio::io::split(stream);
        let (mut reader, mut context) = (BufReader::new(reader), Vec::new());
        let failed = |error: std::io::Error| error.to_string();
        reader.read_until(b'\n', &mut context).await.map_err(failed)?;
        writer.write_all(&says).await.map_err(failed)?;
        reader.read_to_end(&mut context).await.map_err(failed)?;
        writer.shutdown().await.map_err(failed)?;
        end()?;
        Err(format!("heard {}", String::from_utf8_lossy(&context)))
    })
}

fn fault(yaml: &str) -> Fault {
    named("f", yaml)
}

fn named(name: &str, yaml: &str) -> Fault {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("fault.yml", yaml));
    let node = parse(&sources, source).unwrap();
    let mut mistakes = Vec::new();
    let fault = fault::decode(name, &node, &mut mistakes).unwrap();
    assert!(mistakes.is_empty(), "{mistakes:?}");
    fault
}

/// The same link with a mutant in front of it.
fn fronted(link: Link, fault: Fault) -> Link {
    let recorded = RecordedConversation::new(Catalog::default(), Value::Null, Vec::new(), Redactor::default());
    let fault_context = FaultContext::new(fault, recorded, BTreeSet::new(), Arc::default());
    play_on_link(link, FaultInjector::new(fault_context, "target"))
}

fn request(id: i64, method: &str) -> Outgoing {
    let bytes = json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string().into_bytes();
    let (owner, headers) = (Owner::of_case("case"), Vec::new());
    Outgoing::Message(OutgoingMessage {
        bytes,
        owner,
        frame: 1,
        headers,
        role: MessageRole::Request,
        era: Era::Stateless,
        form: MessageForm::Whole,
    })
}

/// Everything that comes when some messages are sent and the input is closed.
async fn context(link: Link, sent: &[Outgoing]) -> Vec<Incoming> {
    let Link { outgoing, mut incoming, stop, .. } = link;
    for message in sent {
        outgoing.send(message.clone()).unwrap();
    }
    drop(outgoing);
    let mut context = Vec::new();
    // A server that stalls says nothing more; the runtime does not wait for it.
    while let Ok(Some(one)) = timeout(Duration::from_secs(60), incoming.recv()).await {
        let is_last = matches!(one, Incoming::Exited(_));
        context.push(one);
        if is_last {
            break;
        }
    }
    stop.stop().await;
    context
}

#[tokio::test(start_paused = true)]
async fn what_is_not_struck_passes_byte_by_byte() {
    let long = |length: usize| {
        let text = json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "é".repeat(length / 2)}}).to_string();
        format!("{text}\n").into_bytes()
    };
    let fine: End = || Ok(());
    let told: [(Vec<u8>, End); 12] = [
        (b"{\"jsonrpc\": \"2.0\" ,\"id\":1,\"result\":{\"b\":1.0,\"a\":1e2,\"a\":2}}\n".to_vec(), fine),
        (long(100 << 10), fine),
        (long(16 << 20), fine),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},7]\n".to_vec(), fine),
        (b"Listening on port 3000\n\n  \n\xff\xfe\r\n{\"torn\": \n".to_vec(), fine),
        // The server asks with the id that the client uses.
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
                .to_vec(),
            fine,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n".to_vec(),
            fine,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".to_vec(),
            fine,
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\nnull\n42\n".to_vec(), fine),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"resu".to_vec(), fine),
        (Vec::new(), || Err("crashed".to_owned())),
        (b"{}\n".to_vec(), || panic!("it fell over")),
    ];
    let raw = Outgoing::Raw { pieces: vec![b"{\"id\"".to_vec(), b":\n\xff\n".to_vec()], owner: Owner::of_case("case") };
    let sent = [request(1, "tools/list"), raw, request(2, "ping")];
    for (says, end) in told {
        let plain = context(server(&says, end), &sent).await;
        assert!(matches!(plain.last(), Some(Incoming::Exited(_))), "{plain:?}");
        let idle = fault("on: { method: prompts/get }\nanswers: [never]");
        let fronted = context(fronted(server(&says, end), idle), &sent).await;
        let start: String = String::from_utf8_lossy(&says).chars().take(80).collect();
        assert!(fronted == plain, "{start}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_mutant_strikes_what_it_is_about_and_nothing_else() {
    let said = b"{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n{\"jsonrpc\":\"2.0\",\"id\":2, \"result\":{\"b\":1}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n";
    let sent = [request(1, "tools/list"), request(2, "ping")];
    let check = async |answers: &str, expected: &[&str]| {
        let yaml = format!("on: {{ method: tools/list }}\nanswers: [{answers}]");
        let context = context(fronted(server(said, || Ok(())), fault(&yaml)), &sent).await;
        let lines = context.iter().filter_map(|one| match one {
            Incoming::Line(line) => Some(String::from_utf8_lossy(line).into_owned()),
            Incoming::Closed => Some("closed".to_owned()),
            Incoming::Exited(exit) => Some(exit.to_string()),
            Incoming::TornLine(_)
            | Incoming::EndlessLine
            | Incoming::Stderr(_)
            | Incoming::Message { .. }
            | Incoming::Undelivered { .. }
            | Incoming::Refused { .. }
            | Incoming::Speaks(_)
            | Incoming::Lost(_) => None,
        });
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{answers}");
    };
    let (first, second) =
        ("{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "{\"jsonrpc\":\"2.0\",\"id\":2, \"result\":{\"b\":1}}");
    let end = "the end of its task";
    check("never", &[first, second, "closed", end]).await;
    check(
        "{ set: { result.a: 2 } }",
        &[first, second, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":2}}", "closed", end],
    )
    .await;
    check("{ end: { status: 3 } }", &[first, second, "closed", "exit status 3"]).await;
}

/// The cases that a fault with a share strikes in a run of that many cases at a time, with other faults before it.
fn struck(parallel: usize, faults: &[&str]) -> BTreeSet<String> {
    let rows = (0..200).fold(String::new(), |rows, n| rows + &format!("      - {{ n: {n} }}\n"));
    let tests = format!(
        "tests:\n  - name: sums\n    call: add\n    args: {{ a: '{{{{ n % 50 }}}}', b: 1 }}\n    expect: []\n    rows:\n{rows}"
    );
    let log: Vec<Arc<Mutex<ReplayLog>>> = faults.iter().map(|_| Arc::default()).collect();
    let faults: Vec<Fault> =
        faults.iter().enumerate().map(|(at, yaml)| named(&format!("f{}", faults.len() - at), yaml)).collect();
    let logs = log.clone();
    let tamper = Tamper::new(
        |_, _| {},
        move |target, link| {
            let mut link = link;
            for (fault, log) in faults.iter().zip(&logs) {
                let recorded =
                    RecordedConversation::new(Catalog::default(), Value::Null, Vec::new(), Redactor::default());
                let fault_context = FaultContext::new(fault.clone(), recorded, BTreeSet::new(), Arc::clone(log));
                link = play_on_link(link, FaultInjector::new(fault_context, target));
            }
            link
        },
    );
    let options = Options { parallel: Some(parallel), tamper: Some(tamper), ..super::super::tests::options() };
    super::super::tests::recorded(&super::super::tests::plan(&tests), &options);
    let last = log.last().unwrap().lock();
    last.struck.iter().map(|moment| moment.owner.to_string()).collect()
}

#[test]
fn the_same_calls_are_struck_at_any_concurrency_and_beside_other_faults() {
    let fifth = "{ on: { method: tools/call, share: 0.2 }, answers: [{ set: { result.isError: true } }] }";
    let never = "{ on: { method: tools/call, share: 0.0 }, answers: [never] }";
    let alone = struck(1, &[fifth]);
    assert!((20..=60).contains(&alone.len()), "{} of 200", alone.len());
    for (parallel, faults) in [(8, &[fifth][..]), (64, &[fifth]), (1, &[never, fifth]), (64, &[never, fifth])] {
        assert_eq!(struck(parallel, faults), alone, "{parallel} at a time, {} faults", faults.len());
    }
}
