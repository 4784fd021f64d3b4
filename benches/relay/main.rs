//! What a relay costs, beside a plain byte relay: `cargo bench --bench relay`.
//!
//! A client calls an echo server, directly and through relays, in blocks by turns; medians are printed. Everything runs
//! in processes of its own: `--echo` makes this program the server, `--copy` the byte relay. Over HTTP the client keeps
//! its connection. Nothing here passes or fails: `docs/performance.md` quotes what it prints.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark may stop at the first surprise, prints, and rounds"
)]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

const BLOCKS: usize = 40;
const CALLS: usize = 50;
/// Calls for the throughput, and how many of them are under way at once.
const MANY: usize = 100_000;
const WINDOW: usize = 64;

const PLAN: &str = "faults:\n  - { name: elsewhere, type: lost_response, tools: [no_such_tool] }\n";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        // `cargo test --benches` asks for a quick look only.
        Some("--test") => {}
        Some("--echo") => echo(),
        Some("--echo-http") => echo_http(),
        Some("--copy") => copy(&arguments[2..]),
        _ => {
            over_stdio();
            over_http();
        }
    }
}

/// Answers every line with a result of about its size.
fn echo() {
    let (mut input, mut output) = (BufReader::new(io::stdin().lock()), io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line).unwrap() > 0 {
        output.write_all(answer(&line).as_bytes()).unwrap();
        line.clear();
    }
}

fn answer(line: &str) -> String {
    let id: String = line.split("\"id\":").nth(1).unwrap_or("0").chars().take_while(char::is_ascii_digit).collect();
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"hello hello hello\"}}]}}}}\n"
    )
}

fn call(id: usize) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"message\":\"hello {id}\"}}}}}}\n"
    )
}

/// A relay of two threads that copy bytes.
fn copy(command: &[String]) {
    let mut child =
        Command::new(&command[0]).args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    std::thread::spawn(move || pump(io::stdin(), to));
    pump(from, io::stdout());
    child.wait().unwrap();
}

fn pump(mut from: impl Read, mut to: impl Write) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece) {
        to.write_all(&piece[..read]).unwrap();
        to.flush().unwrap();
    }
}

/// A process at the other end of two pipes.
struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    fn start(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Microseconds of a call.
    fn call(&mut self, id: usize) -> f64 {
        let (line, mut answer) = (call(id), String::new());
        let begun = Instant::now();
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        self.output.read_line(&mut answer).unwrap();
        begun.elapsed().as_secs_f64() * 1e6
    }

    /// Calls in a second.
    fn throughput(&mut self) -> f64 {
        let mut input = self.input.take().unwrap();
        let (room, asked) = std::sync::mpsc::sync_channel(WINDOW);
        let begun = Instant::now();
        let writing = std::thread::spawn(move || {
            for id in 0..MANY {
                room.send(()).unwrap();
                input.write_all(call(id).as_bytes()).unwrap();
            }
            input
        });
        let mut answer = String::new();
        for _ in 0..MANY {
            answer.clear();
            self.output.read_line(&mut answer).unwrap();
            asked.recv().unwrap();
        }
        let took = begun.elapsed();
        self.input = Some(writing.join().unwrap());
        MANY as f64 / took.as_secs_f64()
    }

    fn end(mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn plan() -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("relay-plan.yml");
    fs::write(&path, PLAN).unwrap();
    path.display().to_string()
}

fn over_stdio() {
    let (own, program) = (std::env::current_exe().unwrap().display().to_string(), env!("CARGO_BIN_EXE_mcprove"));
    let plan = plan();
    let arms = [
        ("direct", words(&[&own, "--echo"])),
        ("byte relay", words(&[&own, "--copy", &own, "--echo"])),
        ("mcprove relay", words(&[program, "relay", "stdio", "--", &own, "--echo"])),
        ("mcprove relay --plan", words(&[program, "relay", "stdio", "--quiet", "--plan", &plan, "--", &own, "--echo"])),
    ];
    let mut peers: Vec<Peer> = arms.iter().map(|(_, command)| Peer::start(command)).collect();
    let mut times = vec![Vec::new(); arms.len()];
    for block in 0..BLOCKS {
        for (peer, times) in peers.iter_mut().zip(&mut times) {
            let block: Vec<f64> = (0..CALLS).map(|at| peer.call(block * CALLS + at)).collect();
            // The first block of a process warms it.
            times.extend(block);
        }
    }
    println!("over stdio, {} calls each, one at a time, median in microseconds", BLOCKS * CALLS);
    let direct = median(&mut times[0]);
    for ((name, _), times) in arms.iter().zip(&mut times) {
        let median = median(times);
        println!("  {name:22} {median:7.0}   {:+.0}", median - direct);
    }
    println!("over stdio, {MANY} calls, {WINDOW} at a time, calls in a second");
    for ((name, _), mut peer) in arms.iter().zip(peers) {
        println!("  {name:22} {:9.0}", peer.throughput());
        peer.end();
    }
}

/// Answers every POST with a whole answer, on connections that stay open.
fn echo_http() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        std::thread::spawn(move || {
            stream.set_nodelay(true).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while let Some(body) = read_message(&mut reader) {
                let body = answer(&body);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        });
    }
}

/// The body of a message with a declared length.
fn read_message(reader: &mut impl BufRead) -> Option<String> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

fn over_http() {
    let (own, program) = (std::env::current_exe().unwrap(), env!("CARGO_BIN_EXE_mcprove"));
    let mut server = Command::new(own).arg("--echo-http").stdout(Stdio::piped()).spawn().unwrap();
    let mut upstream = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut upstream).unwrap();
    let upstream = upstream.trim_end().to_owned();
    let (url, plan) = (format!("http://{upstream}/mcp"), plan());
    let relays = [
        ("mcprove relay", vec!["relay", "http", "--upstream", &url]),
        ("mcprove relay --plan", vec!["relay", "http", "--quiet", "--plan", &plan, "--upstream", &url]),
    ];
    let mut running: Vec<Child> = Vec::new();
    let mut arms = vec![("direct", upstream.clone())];
    for (name, arguments) in &relays {
        let mut relay = Command::new(program).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(relay.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
        arms.push((name, address.to_owned()));
        running.push(relay);
    }
    let mut streams: Vec<(TcpStream, BufReader<TcpStream>)> = arms
        .iter()
        .map(|(_, address)| {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            let reader = BufReader::new(stream.try_clone().unwrap());
            (stream, reader)
        })
        .collect();
    let mut times = vec![Vec::new(); arms.len()];
    for block in 0..BLOCKS {
        for (((stream, reader), times), (_, address)) in streams.iter_mut().zip(&mut times).zip(&arms) {
            for at in 0..CALLS {
                let body = call(block * CALLS + at);
                let head = format!("POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n", body.len());
                let begun = Instant::now();
                stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
                read_message(reader).unwrap();
                times.push(begun.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    println!("over HTTP, {} calls each, one at a time, median in microseconds", BLOCKS * CALLS);
    let direct = median(&mut times[0]);
    for ((name, _), times) in arms.iter().zip(&mut times) {
        let median = median(times);
        println!("  {name:22} {median:7.0}   {:+.0}", median - direct);
    }
    for mut child in running.into_iter().chain([server]) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
