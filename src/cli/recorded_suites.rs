//! The suites that a recording holds, and whether a proof uses them or those on the disk.

use std::io;
use std::path::{Path, PathBuf};

use super::console::Console;
use super::paths;
use super::suites::{SuiteArgs, builtin_of, read_suite};
use crate::prove::file;
use crate::source::visible_line;
use crate::suite::normalize_path;

/// The suites of a recording, as they were when it was made, without secrets.
#[derive(Debug, Clone)]
pub(crate) struct RecordedSuites {
    /// The files of the suites.
    pub(crate) files: Vec<PathBuf>,
    /// The hash of the texts before their secrets were masked.
    pub(crate) fingerprint: String,
    /// The files of the suites, what they include, and their rows.
    pub(crate) texts: Vec<(PathBuf, String)>,
}

/// The suites on the disk beside those of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SuitesOnDisk {
    /// None of them is there.
    Missing,
    /// All of them, as they were recorded.
    Same,
    /// They were changed, or some of their files are missing.
    Different,
}

/// The suites that the command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedSuites {
    None,
    /// Only those of the recording, and none of them is on the disk.
    Recorded,
    /// Others, or files on the disk.
    Files,
}

/// The suites that a recording is proven with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SuitesOfProof {
    /// Those on the disk, which must be the recorded ones.
    OnDisk,
    /// Those that the recording holds.
    Recorded,
    /// The same, although those on the disk differ.
    RecordedInstead,
}

impl RecordedSuites {
    /// The text of a file of the suites; a built-in one is part of the program. Variables for servers are in no recording,
    /// and no server is started: their file is empty.
    pub(crate) fn read(&self, path: &Path) -> io::Result<String> {
        let recorded = self.texts.iter().find(|(known, _)| is_same_file(known, path)).map(|(_, text)| text.as_str());
        let missing = || io::Error::other("the recording does not hold it");
        let is_of_variables =
            !["yml", "yaml", "json", "jsonc", "csv"].iter().any(|end| path.extension().is_some_and(|own| own == *end));
        let known = recorded.or_else(|| builtin_of(path)).or_else(|| is_of_variables.then_some(""));
        known.map(str::to_owned).ok_or_else(missing)
    }

    fn on_disk(&self) -> SuitesOnDisk {
        if !self.files.iter().any(|suite| suite.exists()) {
            return SuitesOnDisk::Missing;
        }
        let texts: io::Result<Vec<String>> = self.texts.iter().map(|(path, _)| read_suite(path)).collect();
        let texts: Vec<String> = texts.unwrap_or_default().iter().map(|text| text.replace("\r\n", "\n")).collect();
        let is_same = file::fingerprint(texts.iter().map(String::as_str)) == self.fingerprint;
        if is_same { SuitesOnDisk::Same } else { SuitesOnDisk::Different }
    }

    fn named_by(&self, words: &[String]) -> NamedSuites {
        let named = paths::find(words).files;
        let is_recorded =
            |file: &PathBuf| !file.exists() && self.files.iter().any(|recorded| is_same_file(recorded, file));
        match words {
            [] => NamedSuites::None,
            _ if !named.is_empty() && named.iter().all(is_recorded) => NamedSuites::Recorded,
            _ => NamedSuites::Files,
        }
    }
}

/// Two spellings lead to one file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    normalize_path(one) == normalize_path(other)
}

/// Puts the suites of a recording in the place of files, unless those are meant.
pub(crate) fn choose(args: &mut SuiteArgs, recorded: RecordedSuites, console: &Console) {
    let choice = suites_of_proof(recorded.on_disk(), recorded.named_by(&args.paths));
    let names: Vec<String> = recorded.files.iter().map(|file| file.display().to_string()).collect();
    if choice == SuitesOfProof::RecordedInstead {
        let (suites, again) = (visible_line(&names.join(", ")).into_owned(), shell_words::join(&names));
        console.note(&format!(
            "the suite in the recording is used, since `{suites}` was changed after it; \
             `mcprove run {again} --record FILE` records the changed one"
        ));
    }
    // Cases have the names of the files as they were recorded.
    if choice != SuitesOfProof::OnDisk || args.paths.is_empty() {
        args.paths = names;
    }
    args.recorded = (choice != SuitesOfProof::OnDisk).then_some(recorded);
}

fn suites_of_proof(on_disk: SuitesOnDisk, named: NamedSuites) -> SuitesOfProof {
    match (named, on_disk) {
        (NamedSuites::Files, _) | (NamedSuites::None, SuitesOnDisk::Same) => SuitesOfProof::OnDisk,
        (NamedSuites::Recorded, _) | (NamedSuites::None, SuitesOnDisk::Missing) => SuitesOfProof::Recorded,
        (NamedSuites::None, SuitesOnDisk::Different) => SuitesOfProof::RecordedInstead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_suites_are_used_unless_those_on_the_disk_are_the_same_or_named() {
        for (named, on_disk, expected) in [
            (NamedSuites::None, SuitesOnDisk::Missing, SuitesOfProof::Recorded),
            (NamedSuites::None, SuitesOnDisk::Same, SuitesOfProof::OnDisk),
            (NamedSuites::None, SuitesOnDisk::Different, SuitesOfProof::RecordedInstead),
            (NamedSuites::Recorded, SuitesOnDisk::Missing, SuitesOfProof::Recorded),
            (NamedSuites::Files, SuitesOnDisk::Missing, SuitesOfProof::OnDisk),
            (NamedSuites::Files, SuitesOnDisk::Different, SuitesOfProof::OnDisk),
        ] {
            assert_eq!(suites_of_proof(on_disk, named), expected, "{named:?} {on_disk:?}");
        }
    }
}
