//! A fresh folder, the real program in it, and what a user sees.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::env::{join_paths, split_paths};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use regex::Regex;

mod real;

pub(crate) use self::real::{alone_with, has_browser, is_installed, tell};

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_mcprove");

/// After this long without a word the program counts as hung: a way out for the test, no measure of speed.
const PATIENCE: Duration = Duration::from_secs(180);

/// After this long a process that was killed counts as alive.
const BURIAL: Duration = Duration::from_secs(5);

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder of the repository with a name that ends so, in order.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    walkdir::WalkDir::new(root().join(folder))
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|end| end == extension))
        .collect()
}

/// Makes a link to a folder.
fn link_folder(target: &Path, link: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, link).unwrap();
    #[cfg(windows)]
    std::os::windows::fs::symlink_dir(target, link).unwrap();
}

/// A folder of its own, laid out like `tests/`: `servers/` beside whatever the test puts there.
pub(crate) struct Scene {
    root: PathBuf,
    /// Where commands run.
    pub(crate) folder: PathBuf,
}

impl Scene {
    /// An empty folder at a path such as `hostile/wrong-id`; the path must be unique among all tests.
    pub(crate) fn new(path: &str) -> Self {
        Self::named(path, &path.replace('/', "-"))
    }

    /// An empty folder without `servers/` beside it.
    pub(crate) fn bare(path: &str) -> Self {
        Self::empty(path, &path.replace('/', "-"))
    }

    fn named(path: &str, name: &str) -> Self {
        let scene = Self::empty(path, name);
        // Not copied: what Python has compiled once stays valid.
        link_folder(&self::root().join("tests/servers"), &scene.root.join("servers"));
        scene
    }

    fn empty(path: &str, name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("it").join(name);
        let _ = fs::remove_dir_all(&root);
        let folder = root.join(path);
        fs::create_dir_all(&folder).unwrap();
        Self { root, folder }
    }

    /// The same, with the files of `tests/{path}`.
    pub(crate) fn of(path: &str) -> Self {
        Self::copied(path, &path.replace('/', "-"))
    }

    /// The same under a name of its own, for files that several tests use.
    pub(crate) fn copied(path: &str, name: &str) -> Self {
        let scene = Self::named(path, name);
        copy(&self::root().join("tests").join(path), &scene.folder);
        scene
    }

    /// Removes the folder, for scenes whose name differs from run to run.
    pub(crate) fn remove(self) {
        fs::remove_dir_all(self.root).unwrap();
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }

    /// Runs `mcprove` with arguments that contain no quotes.
    pub(crate) fn run(&self, arguments: &str) -> Seen {
        self.line(&format!("mcprove {arguments}"))
    }

    /// Runs one command line: `mcprove …` or `sh -c …` with variables before it, `show FILE`, or `list FOLDER`.
    pub(crate) fn line(&self, line: &str) -> Seen {
        let words = shell_words::split(line).unwrap();
        let variables: Vec<(&str, &str)> = words.iter().map_while(|word| word.split_once('=')).collect();
        let (program, arguments) = words[variables.len()..].split_first().unwrap();
        let shown =
            |stdout| Seen { line: line.to_owned(), stdout, stderr: String::new(), progress: String::new(), status: 0 };
        match program.as_str() {
            "show" => shown(fs::read_to_string(self.folder.join(&arguments[0])).unwrap_or_else(|why| why.to_string())),
            "list" => shown(self.names(&arguments[0])),
            "sh" => self.start("sh", line, arguments, &variables).finish(),
            _ => self.start(PROGRAM, line, arguments, &variables).finish(),
        }
    }

    /// The files below a folder, one a line.
    fn names(&self, folder: &str) -> String {
        let files = walkdir::WalkDir::new(self.folder.join(folder)).sort_by_file_name().into_iter();
        let files = files.map(Result::unwrap).filter(|entry| entry.file_type().is_file());
        files.map(|file| file.path().strip_prefix(&self.folder).unwrap().display().to_string() + "\n").collect()
    }

    /// Starts `mcprove` with arguments that contain no quotes, and does not wait for it.
    pub(crate) fn begin(&self, arguments: &str) -> Running {
        self.begin_with(arguments, &[])
    }

    /// The same with more variables in its environment.
    pub(crate) fn begin_with(&self, arguments: &str, variables: &[(&str, &str)]) -> Running {
        let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        self.start(PROGRAM, &format!("mcprove {arguments}"), &words, variables)
    }

    /// The same with both streams in one, in the order in which they are written.
    pub(crate) fn begin_joined(&self, arguments: &str, variables: &[(&str, &str)]) -> Running {
        let shell = ["-c", "exec \"$MCPROVE\" \"$@\" 2>&1", "sh"].map(str::to_owned);
        let words: Vec<String> = shell.into_iter().chain(arguments.split(' ').map(str::to_owned)).collect();
        self.start("sh", &format!("mcprove {arguments}"), &words, variables)
    }

    /// Starts a line of a shell, which begins with variables or a program, and does not wait for it.
    pub(crate) fn begin_line(&self, line: &str) -> Running {
        self.start("sh", line, &["-c".to_owned(), format!("exec env {line}")], &[])
    }

    /// Starts `mcprove serve` with arguments that contain no quotes, over HTTP at a port that is free.
    pub(crate) fn serve(&self, arguments: &str) -> Served {
        let words = format!("serve {arguments} --http 127.0.0.1:0");
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut child = self.command(PROGRAM, &words, &[]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("serving ").map(str::to_owned);
        let served = Served { child, url: url.unwrap_or_default() };
        assert!(!served.url.is_empty(), "`mcprove {}` says `{line}` instead of where it is", words.join(" "));
        served
    }

    /// Starts `mcprove` with arguments that contain no quotes, for a test that writes to it and reads from it.
    pub(crate) fn talk(&self, arguments: &str) -> Child {
        let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        self.command(PROGRAM, &words, &[]).stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
    }

    fn start(&self, program: &str, line: &str, arguments: &[String], variables: &[(&str, &str)]) -> Running {
        let mut child = self.command(program, arguments, variables).spawn().unwrap();
        let (sender, said) = channel();
        drain(child.stdout.take().unwrap(), Stream::Stdout, sender.clone());
        drain(child.stderr.take().unwrap(), Stream::Stderr, sender);
        let guard = EndWithPanic(child.id());
        Running { line: line.to_owned(), child, said, unread: Vec::new(), _guard: guard }
    }

    fn command(&self, program: &str, arguments: &[String], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", path())
            .env("HOME", self.home())
            .env("MCPROVE", PROGRAM)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Servers inherit HOME, so it marks every process that a run starts, and those that they start.
    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Waits until something is so, for what happens in other processes; fails when that takes for ever.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let since = Instant::now();
        while !is_so() {
            assert!(since.elapsed() < PATIENCE, "in {}: {what}", self.folder.display());
            std::thread::yield_now();
        }
    }

    /// Asserts that no process that a run of this scene started is left.
    pub(crate) fn assert_nothing_survives(&self) {
        self.assert_survivors(0);
    }

    /// Asserts that one of them is left, which the test talks to.
    pub(crate) fn assert_one_survives(&self) {
        self.assert_survivors(1);
    }

    fn assert_survivors(&self, count: usize) {
        let mark = format!("HOME={}", self.home().display());
        let since = Instant::now();
        // The kernel may need a moment to bury what was killed.
        while survivors(&mark).len() > count && since.elapsed() < BURIAL {
            std::thread::yield_now();
        }
        let left = survivors(&mark);
        assert!(left.len() == count, "these processes survived the run in {}: {left:?}", self.folder.display());
    }
}

/// A command that is under way.
pub(crate) struct Running {
    line: String,
    child: Child,
    said: Receiver<(Stream, Vec<u8>)>,
    /// What came after the last words that were waited for.
    unread: Vec<u8>,
    _guard: EndWithPanic,
}

/// Ends a process when a test fails: a watch would go on for ever.
struct EndWithPanic(u32);

impl Drop for EndWithPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = Command::new("kill").args(["-s", "KILL", &self.0.to_string()]).status();
        }
    }
}

/// Where a command writes.
#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

impl Running {
    /// Waits for words of a command whose streams are one; returns everything up to them.
    pub(crate) fn until(&mut self, words: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.unread).into_owned();
            if let Some((before, after)) = text.split_once(words) {
                self.unread = after.as_bytes().to_vec();
                return format!("{before}{words}");
            }
            match self.said.recv_timeout(PATIENCE) {
                Ok((_, piece)) => self.unread.extend(piece),
                Err(why) => {
                    let _ = self.child.kill();
                    panic!("`{}` does not say `{words}` ({why}), but:\n{text}", self.line);
                }
            }
        }
    }

    /// Sends a signal such as `INT`; the standard library has no way to.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success(), "`kill -s {name}` reaches `{}`", self.line);
    }

    /// Sends a signal again and again until it ends; one that comes while the last is looked at is not counted.
    pub(crate) fn signal_until_it_ends(mut self, name: &str) -> Seen {
        let since = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < PATIENCE, "`{}` does not end", self.line);
            self.signal(name);
        }
        self.finish()
    }

    /// Waits for the end; returns too how much memory it took at most, in MiB, that of its servers not counted.
    pub(crate) fn finish_weighed(mut self) -> (Seen, u64) {
        let status = format!("/proc/{}/status", self.child.id());
        let mut peak = 0;
        while self.child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            peak = peak.max(kibibytes.unwrap_or(0) >> 10);
            std::thread::yield_now();
        }
        (self.finish(), peak)
    }

    /// Waits for the end.
    pub(crate) fn finish(mut self) -> Seen {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok((Stream::Stdout, piece)) => stdout.extend(piece),
                Ok((Stream::Stderr, piece)) => stderr.extend(piece),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill().unwrap();
                    panic!("`{}` does not end, and says nothing", self.line);
                }
            }
        }
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        // How far a run was after some seconds depends on the machine.
        let (progress, stderr) = stderr.split_inclusive('\n').partition(|line| line.starts_with("… "));
        Seen { line: self.line, stdout, stderr, progress, status }
    }
}

/// A server of ours, which ends with this.
pub(crate) struct Served {
    child: Child,
    /// Where it is.
    pub(crate) url: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a command showed and how it ended.
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What was said of a run while it lasted.
    pub(crate) progress: String,
    pub(crate) status: i32,
}

impl Seen {
    /// All of it in one text, without what differs from run to run, and without the line about coverage that ends most
    /// runs: few tests are about it, and every new probe changes it.
    pub(crate) fn text(&self) -> String {
        static COVERAGE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?m)^  coverage[:,](.|\n  )*?`--coverage`\s+shows\s+where\n\n?").unwrap());
        COVERAGE.replace_all(&self.text_with_coverage(), "").into_owned()
    }

    /// All of it in one text, without what differs from run to run.
    pub(crate) fn text_with_coverage(&self) -> String {
        let mut text = format!("$ {}\n", self.line);
        for (name, output) in [("", &self.stdout), ("stderr", &self.stderr)] {
            let bare = redact(output.trim_end());
            if !bare.is_empty() && !name.is_empty() {
                writeln!(text, "--- {name}").unwrap();
            }
            if !bare.is_empty() {
                writeln!(text, "{bare}").unwrap();
            }
        }
        writeln!(text, "--- exit {}", self.status).unwrap();
        text
    }
}

/// Compares with the snapshot of that name in `tests/snapshots`.
pub(crate) fn snapshot(name: &str, text: &str) {
    snapshot_in("tests/snapshots", name, text);
}

/// Compares with the snapshot of that name in a folder of the repository.
pub(crate) fn snapshot_in(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// What differs from run to run and from machine to machine, in order.
static REDACTIONS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let scenes = regex::escape(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("it").display().to_string());
    [
        (format!(r"{scenes}/[\w.-]+"), "[SCENE]"),
        (regex::escape(&root().display().to_string()), "[ROOT]"),
        // How much of a path is left depends on the length of the folder in front of it.
        (r#"\[(?:SCENE|ROOT)\][^\s"]*…"#.to_owned(), "[SCENE]…"),
        // Where a long path breaks depends on the length of the folder in front of it.
        (r"it is looked for at `[^`]*`;[^`]*`--cwd`".to_owned(), "it is looked for at `[PATH]`; […]"),
        // What is left of a long request depends on the length of the time beside it.
        (r"(?m)^(  sent   .{40}).*… {2,}(frame \d+)".to_owned(), "$1…  $2"),
        // Which line comes first can be a race between two answers.
        (r"frame: \d+; `--transcript".to_owned(), "frame: [FRAME]; `--transcript"),
        // Texts that no other run has.
        (r"kw[0-9a-f]{8}q[0-9a-f]{3}".to_owned(), "[CANARY]"),
        (r"kw[0-9a-f]{8}\b".to_owned(), "[CANARY BEGINNING]"),
        (r"\bt-[0-9a-f]{6}\b".to_owned(), "[TICKET]"),
        // Texts of calls that run at the same time, and how often was looked for them.
        (r"zq[0-9a-f]{7}r[0-9a-f]{4}v[0-9a-f]{6}".to_owned(), "[CANARY]"),
        (r"(sent   tools/call (?:add_note|list_notes) \S+) +frame \d+".to_owned(), "$1  frame [FRAME]"),
        // A store that has been waited for is read at some late frame.
        (r"(sent   tools/call get_note \S+) +frame \d{3,}".to_owned(), "$1  frame [FRAME]"),
        (r#"(sent   tools/call \{"id":"n\d+"\}) +frame \d+"#.to_owned(), "$1  frame [FRAME]"),
        (r#""id":\d+(,"result":\{"content":\[\{"type":"text","text":"\{\\"notes)"#.to_owned(), r#""id":[NUMBER]$1"#),
        // Which kill does damage is a race with a write.
        (r"shown: `zq[0-9a-z]+`, and no more".to_owned(), "shown: `[PART]`, and no more"),
        (r"damaged: by \d of \d+ kills".to_owned(), "damaged: by [NUMBER] of [NUMBER] kills"),
        (
            r"unanswered: \d+ of \d+ calls; \d+ answers".to_owned(),
            "unanswered: [NUMBER] of [NUMBER] calls; [NUMBER] answers",
        ),
        (r"; \d+ calls are enough".to_owned(), "; [NUMBER] calls are enough"),
        // Which tools a walk misses depends on who walks at the same time.
        (r"(missing|too often): `\w+`(, `\w+`)*".to_owned(), "$1: [TOOLS]"),
        (r"walks: \d+ of \d+ at a time".to_owned(), "walks: [NUMBER] of [NUMBER] at a time"),
        (r"\d+( starts of servers in all, .*\n  ✗ (?:killed|early|late|stuck))".to_owned(), "[NUMBER]$1"),
        (r#"(\\?")n\d\d(\\?")"#.to_owned(), "${1}n[NUMBER]$2"),
        // Which of equal calls was the slowest.
        (r"(sent   tools/call slow \{\} +)frame \d+".to_owned(), "${1}frame [FRAME]"),
        (r"\b\d+(\.\d+)? calls/s".to_owned(), "[RATE] calls/s"),
        (r"(?m)  \d+(\.\d\d)?( +\d+(\.\d+)? (?:µs|ms|s)){4}$".to_owned(), "  [RATE]  [TIMES]"),
        (r"calls/s +p50 +p95 +p99 +max".to_owned(), "calls/s  p50  p95  p99  max"),
        // Times of different length move what stands before them in a column.
        (r" {2,}((?:frame \d+, )?)\d+(\.\d+)? (µs|ms|s|min \d+ s)((?m:$)|\\n)".to_owned(), "  ${1}[TIME]${4}"),
        (r"\b\d+(\.\d+)? (µs|ms|s|min \d+ s)\b".to_owned(), "[TIME]"),
        // What a monitor says begins with the time of day.
        (r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  ".to_owned(), "[NOW]  "),
        (r#"(time|timestamp|uuid)="[^"]*""#.to_owned(), r#"$1="[$1]""#),
        (r#""((?:duration|elapsed|ready)_us|started_unix_ms)": ?\d+"#.to_owned(), r#""$1":0"#),
        (r"\b127\.0\.0\.1:\d{4,5}".to_owned(), "127.0.0.1:[PORT]"),
        // Where programs are.
        (r"`(python3|cat|false|true)` is\s+(?:\[ROOT\])?/[\w./-]+".to_owned(), "`$1` is [PATH]"),
        // How many processes are alive at that moment is a race.
        (
            r"\d+ other processes of (`\w+`) are running \(pids [^)]*\)".to_owned(),
            "1 other process of $1 is running (pid [NUMBER])",
        ),
        (r"\b(pid|port) \d+".to_owned(), "$1 [NUMBER]"),
        (r"\b(mcprove|mcprove-demo) \d+\.\d+\.\d+".to_owned(), "$1 [VERSION]"),
    ]
    .into_iter()
    .map(|(pattern, replacement)| (Regex::new(&pattern).unwrap(), replacement))
    .collect()
});

fn redact(text: &str) -> String {
    REDACTIONS.iter().fold(text.to_owned(), |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
}

/// Copies the files and folders of a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Reads a stream to its end in a thread, so that the caller can give up.
/// Reads what a command writes to one stream, in pieces as they come.
fn drain(mut from: impl Read + Send + 'static, stream: Stream, sender: Sender<(Stream, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = from.read(&mut buffer).unwrap();
            if length == 0 || sender.send((stream, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// The processes whose environment holds a text; none where the system has no /proc.
fn survivors(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| {
            fs::read(process.path().join("environ")).is_ok_and(|environment| {
                environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
            })
        })
        .map(|process| fs::read_to_string(process.path().join("cmdline")).unwrap_or_default().replace('\0', " "))
        .collect()
}

/// Where programs are, Python first: under its name there is often a script that looks for it, which takes several
/// times as long as most servers here take to start.
pub(crate) fn path() -> OsString {
    let first = root().join("tests/real/venv/bin");
    let others = env::path();
    join_paths(iter::once(first).chain(split_paths(&others))).unwrap()
}

/// Runs Python.
pub(crate) fn python() -> Command {
    let mut command = Command::new("python3");
    command.env("PATH", path());
    command
}

/// Whether files that are made from the code, or from what tests saw, are to be written anew: `UPDATE=1`.
pub(crate) fn is_update() -> bool {
    env::is_set("UPDATE")
}

/// Whether everything is to be tested, also what takes long and seldom shows anything: `MCPROVE_FULL=1`.
pub(crate) fn is_full() -> bool {
    env::is_set("MCPROVE_FULL")
}

#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
mod env {
    /// Where programs are; servers need it, too.
    pub(super) fn path() -> super::OsString {
        std::env::var_os("PATH").unwrap_or_default()
    }

    pub(super) fn is_set(name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| value == "1")
    }
}
