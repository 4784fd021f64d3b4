//! `mcprove run --update`: shows how snapshots would change, asks, and writes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style as Look};
use clap::Args;
use tokio::sync::watch;

use super::signals::Urgency;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::files::{Access, FolderPlace};
use crate::recorded::{self, Roots};
use crate::report::sink::SinkError;
use crate::runner::{Purpose, SnapshotChange, SnapshotNews, Summary};
use crate::source::{Color, LineSide, Style, difference, visible, visible_line};

/// The number of lines of a difference that are shown.
const LINES: usize = 120;

/// The use of snapshots in a run.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Writes the snapshots that answers are compared with (`snapshot` in suites): shows each difference and asks; refused in CI.
    #[arg(long)]
    pub(crate) update: bool,
    /// With `--update`, writes without asking.
    #[arg(long, requires = "update")]
    pub(crate) yes: bool,
}

/// The permission to write snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// None, since `--update` is not given.
    None,
    /// Each, if the user agrees.
    Ask,
    /// All of them.
    Given,
}

impl Consent {
    pub(crate) fn of(asked: &UpdateArgs, console: &Console) -> Result<Self, Exit> {
        let (message, help) = if !asked.update {
            return Ok(Self::None);
        } else if console.environment.is_ci {
            ("`--update` writes no snapshots in CI", "run it on your machine, check the differences and commit them")
        } else if asked.yes {
            return Ok(Self::Given);
        } else if console.environment.can_ask {
            return Ok(Self::Ask);
        } else {
            ("`--update` asks before it writes, and there is no terminal to ask on", "add `--yes` to write everything")
        };
        Err(console.fail(Exit::Usage, message, Some(help)))
    }

    /// Returns how the runner treats differences.
    pub(crate) fn purpose(self) -> Purpose {
        if self == Self::None { Purpose::Compare } else { Purpose::Update }
    }
}

/// The folders of the suites and of their snapshots, as they were before a server ran.
pub(crate) struct SuiteFolders {
    /// By the folder of the snapshots: the folder of the suite, and the path from there, links followed.
    recordings: BTreeMap<PathBuf, (FolderPlace, io::Result<PathBuf>)>,
}

impl SuiteFolders {
    pub(crate) fn new(roots: &Roots) -> Self {
        let found = |(folder, suite): (&PathBuf, &PathBuf)| {
            (folder.clone(), (FolderPlace::resolve(suite), recorded::inside(folder, suite)))
        };
        Self { recordings: roots.iter().map(found).collect() }
    }

    /// The folder of the suite to which a file belongs, and the path from there to the file, in which no folder may have
    /// become a link.
    fn place_of(&self, file: &Path) -> io::Result<(&FolderPlace, PathBuf)> {
        if let Some((suite, below)) = file.parent().and_then(|folder| self.recordings.get(folder)) {
            let below = below.as_ref().map_err(|error| recorded::outside(&error.to_string()))?;
            recorded::inside(file, suite)?;
            return Ok((suite, below.join(file.file_name().unwrap_or_default())));
        }
        // Recordings of models stand where the suite says, within its folder.
        let mut suites = self.recordings.values().map(|(suite, _)| suite);
        let of_models = suites.find_map(|suite| Some((suite, file.strip_prefix(&**suite).ok()?.to_owned())));
        of_models.ok_or_else(|| recorded::outside("it is in no folder of these suites"))
    }
}

/// Writes what the user agrees to; what stays different counts as failed.
pub(crate) fn update(
    consent: Consent,
    summary: &mut Summary,
    roots: &SuiteFolders,
    mut urgency: watch::Receiver<Urgency>,
    console: &Console,
) -> Result<(), Exit> {
    let SnapshotNews { changes, conflicts, stale } = std::mem::take(&mut summary.snapshots);
    if consent == Consent::None {
        return Ok(());
    }
    if summary.interrupted {
        console.note("the run was interrupted, so no snapshot was written");
        return Ok(());
    }
    for (file, cases) in conflicts {
        let words = format!("these cases got different answers for `{}`: {}", file.display(), cases.join(", "));
        console.error(visible_line(&words), Some("add `per: server` or `per: revision`, or fix the difference"));
        summary.failed += cases.len();
        summary.not_passed.extend(cases);
    }
    let file_changes =
        changes.into_iter().map(FileChange::Write).chain(stale.into_iter().map(FileChange::Remove)).collect();
    let mut failed = Ok(());
    let mut apply = |file_change: &FileChange| {
        let done = file_change.apply(roots).map_err(|problem| console.fail(Exit::Environment, problem, None));
        failed = failed.and(done);
        done.is_ok()
    };
    let (mut say, mut read_line) = (|text: &str| console.note(text), || read_line(&mut urgency));
    let mut dialogue = UpdateDialogue { say: &mut say, read_line: &mut read_line, apply: &mut apply };
    for change in review_changes(file_changes, consent, console.error_style, &mut dialogue) {
        summary.failed += change.cases.len();
        summary.not_passed.extend(change.cases);
    }
    failed
}

/// A snapshot file that is to be written or removed.
#[derive(Debug, PartialEq)]
enum FileChange {
    Write(SnapshotChange),
    Remove(PathBuf),
}

/// The two ends of a conversation, and what follows from it.
struct UpdateDialogue<'a> {
    say: &'a mut dyn FnMut(&str),
    /// The next line; `None` where nobody answers any more.
    read_line: &'a mut dyn FnMut() -> Option<String>,
    /// Tells whether it was done.
    apply: &'a mut dyn FnMut(&FileChange) -> bool,
}

#[derive(Clone, Copy, PartialEq)]
enum UserAnswer {
    Yes,
    No,
    All,
    Quit,
}

/// Shows every change and applies it where the user agrees; returns the snapshots that were not written.
fn review_changes(
    file_changes: Vec<FileChange>,
    consent: Consent,
    style: Style,
    dialogue: &mut UpdateDialogue<'_>,
) -> Vec<SnapshotChange> {
    let mut standing = (consent == Consent::Given).then_some(UserAnswer::All);
    let mut left = Vec::new();
    for file_change in file_changes {
        if standing != Some(UserAnswer::Quit) {
            (dialogue.say)(&file_change.preview(style));
        }
        let answer = standing.unwrap_or_else(|| ask_user(&file_change, dialogue));
        if matches!(answer, UserAnswer::All | UserAnswer::Quit) {
            standing = Some(answer);
        }
        if matches!(answer, UserAnswer::Yes | UserAnswer::All) {
            if (dialogue.apply)(&file_change) {
                (dialogue.say)(&file_change.summary());
            }
            continue;
        }
        match file_change {
            FileChange::Write(change) => left.push(change),
            FileChange::Remove(_) => {}
        }
    }
    if !left.is_empty() {
        let (count, noun) = (left.len(), if left.len() == 1 { "snapshot was" } else { "snapshots were" });
        (dialogue.say)(&format!("{count} {noun} not written; the answers still differ"));
    }
    left
}

/// Asks until the answer is one; silence is a wish to stop.
fn ask_user(file_change: &FileChange, dialogue: &mut UpdateDialogue<'_>) -> UserAnswer {
    let verb = match file_change {
        FileChange::Write(_) => "write",
        FileChange::Remove(_) => "remove",
    };
    loop {
        (dialogue.say)(&format!("{verb}? [y]es, [n]o, [a]ll, [q]uit"));
        let Some(line) = (dialogue.read_line)() else { return UserAnswer::Quit };
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return UserAnswer::Yes,
            "n" | "no" => return UserAnswer::No,
            "a" | "all" => return UserAnswer::All,
            "q" | "quit" => return UserAnswer::Quit,
            _ => (dialogue.say)("please type y, n, a or q"),
        }
    }
}

impl FileChange {
    /// Writes or removes the file, but never outside of the folders of the suites.
    fn apply(&self, suites: &SuiteFolders) -> Result<(), SinkError> {
        let (Self::Write(SnapshotChange { file, .. }) | Self::Remove(file)) = self;
        let apply = || {
            let (suite, below) = suites.place_of(file)?;
            let (folder, name) = (below.parent().unwrap_or(Path::new("")), below.file_name().unwrap_or_default());
            if let Self::Write(change) = self {
                let folder = folder.iter().fold(suite.clone(), |place, part| place.below(part));
                return folder.create(Access::Shared)?.replace(name, change.wanted.as_bytes(), Access::Shared);
            }
            let suite = suite.open()?;
            suite.open_below(folder)?.remove_file(name)?;
            // The folders go with their last file.
            let _ = folder.ancestors().take(2).try_for_each(|emptied| {
                let name = emptied.file_name().ok_or(io::ErrorKind::NotFound)?;
                suite.open_below(emptied.parent().unwrap_or(Path::new("")))?.remove_folder(name)
            });
            Ok(())
        };
        apply().map_err(|reason| SinkError { path: file.clone(), reason, option: None })
    }

    /// The message after the change.
    fn summary(&self) -> String {
        match self {
            Self::Write(change) => format!("wrote `{}`", change.file.display()),
            Self::Remove(file) => format!("removed `{}`", file.display()),
        }
    }

    /// The message before the change, with the difference.
    fn preview(&self, style: Style) -> String {
        match self {
            Self::Write(SnapshotChange { file, known, wanted, .. }) => {
                let kind = if known.is_some() { "changed" } else { "new" };
                let difference = shown_difference(known.as_deref().unwrap_or_default(), wanted, style);
                format!("{kind} snapshot `{}`\n{difference}", file.display())
            }
            Self::Remove(file) => format!("no test uses the snapshot `{}`", file.display()),
        }
    }
}

/// The difference in the manner of `diff -u`, without its first lines.
fn shown_difference(known: &str, wanted: &str, style: Style) -> String {
    let (known, wanted): (Vec<&str>, Vec<&str>) = (known.lines().collect(), wanted.lines().collect());
    let lines: Vec<(LineSide, &str)> = difference(&known, &wanted, 3).concat();
    let shown = lines.iter().take(LINES);
    let mut shown: Vec<String> =
        shown.map(|(side, line)| paint(&visible(&format!("{}{line}", side.sign())), style)).collect();
    if lines.len() > LINES {
        shown.push(format!("… {} more lines", lines.len() - LINES));
    }
    shown.join("\n")
}

fn paint(line: &str, style: Style) -> String {
    let color = match line.chars().next() {
        Some('-') => AnsiColor::Red,
        Some('+') => AnsiColor::Green,
        Some(_) | None => return line.to_owned(),
    };
    let look = Look::new().fg_color(Some(color.into()));
    if style.color == Color::Never { line.to_owned() } else { format!("{look}{line}{look:#}") }
}

/// Reads a line of the user; `None` at the end of input and after Ctrl-C.
fn read_line(urgency: &mut watch::Receiver<Urgency>) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // Reading cannot be broken off, so it is done where nobody waits for its end.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let _ = sender.send(read.ok().filter(|length| *length > 0).map(|_| line));
    });
    runtime.block_on(async {
        tokio::select! {
            line = receiver => line.ok().flatten(),
            _ = urgency.wait_for(|urgency| *urgency != Urgency::None) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str) -> FileChange {
        let known = (name == "b").then(|| "{\n  \"a\": 1\n}\n".to_owned());
        let wanted = "{\n  \"a\": 2\n}\n".to_owned();
        FileChange::Write(SnapshotChange { file: name.into(), cases: vec![format!("case {name}")], known, wanted })
    }

    /// The files that are written or removed, those that are left, and everything that is said.
    fn played(consent: Consent, typed: &[&str]) -> (String, String, String) {
        let file_changes = vec![change("a"), change("b"), change("c"), FileChange::Remove("d".into())];
        let (mut done, mut said) = (Vec::new(), Vec::new());
        let mut lines = typed.iter().map(|line| (*line).to_owned());
        let mut dialogue = UpdateDialogue {
            say: &mut |text| said.push(text.to_owned()),
            read_line: &mut || lines.next(),
            apply: &mut |file_change| {
                done.push(match file_change {
                    FileChange::Write(change) => change.file.display().to_string(),
                    FileChange::Remove(file) => format!("-{}", file.display()),
                });
                true
            },
        };
        let left = review_changes(file_changes, consent, Style::new(Color::Never, 80), &mut dialogue);
        let left = left.iter().map(|change| change.file.display().to_string()).collect();
        (done.concat(), left, said.join("\n"))
    }

    #[test]
    fn answers_decide() {
        let check = |typed: &[&str], done: &str, left: &str| {
            let (did, stayed, _) = played(Consent::Ask, typed);
            assert_eq!((did.as_str(), stayed.as_str()), (done, left), "{typed:?}");
        };
        check(&["y\n", "y\n", "y\n", "y\n"], "abc-d", "");
        check(&["yes\r\n", "N\n", " y \n", "n\n"], "ac", "b");
        check(&["n\n", "a\n"], "bc-d", "a");
        check(&["y\n", "q\n"], "a", "bc");
        check(&["what?\n", "\n", "y\n", "q\n"], "a", "bc");
        check(&[], "", "abc");
        assert_eq!(played(Consent::Given, &[]).0, "abc-d");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_becomes_a_link_during_the_run_is_not_written_to() {
        let folder = std::env::temp_dir().join(format!("mcprove-update-{}", std::process::id()));
        let (suite, other) = (folder.join("suite"), folder.join("suite/other"));
        let (snapshots, by_models) = (suite.join("snapshots"), suite.join("models"));
        for made in [&other, &snapshots, &by_models] {
            std::fs::create_dir_all(made).unwrap();
        }
        let places = SuiteFolders::new(&Roots::from([(snapshots.clone(), suite)]));
        let written = |file: PathBuf| {
            let change = SnapshotChange { file, cases: Vec::new(), known: None, wanted: "1\n".to_owned() };
            FileChange::Write(change).apply(&places).is_ok()
        };
        let write_both = || (written(snapshots.join("a.json")), written(by_models.join("a.json")));
        assert_eq!(write_both(), (true, true));
        for replaced in [&snapshots, &by_models] {
            std::fs::remove_dir_all(replaced).unwrap();
            std::os::unix::fs::symlink(&other, replaced).unwrap();
        }
        assert_eq!(write_both(), (false, false));
        assert!(FileChange::Remove(snapshots.join("a.json")).apply(&places).is_err());
        assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0);
        assert!(!written(folder.join("elsewhere.json")));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_shown() {
        let (_, _, said) = played(Consent::Ask, &["maybe\n", "n\n", "y\n", "q\n"]);
        let question = "write? [y]es, [n]o, [a]ll, [q]uit";
        let new = |name: &str| format!("new snapshot `{name}`\n+{{\n+  \"a\": 2\n+}}\n{question}");
        let changed = format!("changed snapshot `b`\n {{\n-  \"a\": 1\n+  \"a\": 2\n }}\n{question}");
        let end = "2 snapshots were not written; the answers still differ";
        let told = [&new("a"), "please type y, n, a or q", question, &changed, "wrote `b`", &new("c"), end];
        assert_eq!(said, told.join("\n"));
        assert!(shown_difference("1\n", "2\n", Style::new(Color::Always, 80)).contains("\u{1b}[31m-1\u{1b}[0m"));
        assert_eq!(shown_difference("a\r\nb\r\n", "a\nb\n", Style::new(Color::Never, 80)), "");
    }
}
