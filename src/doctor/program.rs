//! The program of a server: the file that a start would run.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Examination;
use crate::source::{file, nearest, visible_line};
use crate::transport::program::{self, file_names, is_program};
use crate::transport::stdio::ServerCommand;

const NAME: &str = "program";

/// The bytes of a script in which its first line is looked for.
const FIRST_LINE: usize = 256;

/// The largest description of a package that is read, in bytes.
const MOST_OF_PACKAGE: u64 = 1 << 20;

/// Endings that people write of programs, in lower case.
const WINDOWS_ENDINGS: [&str; 4] = [".exe", ".cmd", ".bat", ".com"];

/// Files of a folder that start a server, and what runs them.
const ENTRIES: [(&str, &str); 8] = [
    ("dist/index.js", "node"),
    ("build/index.js", "node"),
    ("index.js", "node"),
    ("server.js", "node"),
    ("server.py", "python3"),
    ("main.py", "python3"),
    ("__main__.py", "python3"),
    ("src/index.ts", "npx tsx"),
];

/// The file that a program's name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramFile {
    /// A program that the system can run.
    Executable(PathBuf),
    /// A script whose interpreter, as its first line names it, is not there.
    WithoutInterpreter { path: PathBuf, interpreter: String },
    /// A file that may not be run.
    NotExecutable(PathBuf),
    /// A folder, with the command that starts what is in it, if one can be seen.
    Folder { path: PathBuf, starts_with: Option<String> },
    /// No file at this path.
    NoFile(PathBuf),
    /// No program of this name in the folders of `PATH`; `is_here` says that a file has it in the folder of the start,
    /// `similar` is the program there that was probably meant.
    NotInPath { is_here: bool, similar: Option<String> },
    /// The folder in which it should start is missing.
    NoWorkingFolder(PathBuf),
}

/// Looks for the program as the system does.
pub(crate) fn find_program(command: &ServerCommand) -> ProgramFile {
    let cwd = if command.cwd.as_os_str().is_empty() { Path::new(".") } else { command.cwd.as_path() };
    if !cwd.is_dir() {
        return ProgramFile::NoWorkingFolder(cwd.to_owned());
    }
    let path = Path::new(&command.program);
    let endings = program::endings(&command.env);
    let names = file_names(&command.program, &endings);
    if path.components().count() > 1 || path.is_absolute() || command.program.starts_with('.') {
        let direct = names.iter().map(|name| cwd.join(name)).find(|file| file.is_file());
        return file_at(&direct.unwrap_or_else(|| cwd.join(path)), command);
    }
    let folders = program::folders(&command.env);
    let found = folders
        .iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|file| file.is_file() && is_program(file, &endings));
    match found {
        Some(found) => file_at(&found, command),
        None if cwd.join(path).is_dir() => file_at(&cwd.join(path), command),
        None => {
            let is_here = names.iter().any(|name| cwd.join(name).is_file());
            let programs: BTreeSet<String> = folders.iter().flat_map(|folder| programs_in(folder, &endings)).collect();
            ProgramFile::NotInPath { is_here, similar: similar_program(&command.program, &programs) }
        }
    }
}

/// The names of the programs in a folder.
fn programs_in(folder: &Path, endings: &[String]) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let programs = entries.filter(|entry| is_program(&entry.path(), endings));
    programs.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The program that was probably meant by a name: the same with another ending, or one that is spelled nearly like it.
fn similar_program(asked: &str, programs: &BTreeSet<String>) -> Option<String> {
    let stem = |name: &str| WINDOWS_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending).map(str::to_owned));
    let lower = asked.to_lowercase();
    let asked_stem = stem(&lower).unwrap_or_else(|| lower.clone());
    let is_same = |name: &&String| {
        let name = name.to_lowercase();
        stem(&name).unwrap_or(name) == asked_stem
    };
    let same = programs.iter().find(is_same).map(String::as_str);
    // Short names are all alike.
    let is_long = asked_stem.chars().count() > 3;
    let near = || nearest(&asked_stem, programs.iter().map(String::as_str)).filter(|_| is_long);
    same.or_else(near).map(str::to_owned)
}

fn file_at(path: &Path, command: &ServerCommand) -> ProgramFile {
    let path = path.components().collect::<PathBuf>();
    if path.is_dir() {
        let package = file::read_text(&path.join("package.json"), MOST_OF_PACKAGE).ok();
        let declared = package.and_then(|text| entry_of_package(&text)).map(|file| (file, "node"));
        let usual = ENTRIES.iter().map(|(file, runner)| ((*file).to_owned(), *runner));
        let entry = declared.into_iter().chain(usual).find(|(file, _)| path.join(file).is_file());
        let starts_with = entry.map(|(file, runner)| format!("{runner} {}", path.join(file).display()));
        return ProgramFile::Folder { path, starts_with };
    }
    if !path.exists() {
        return ProgramFile::NoFile(path);
    }
    if !is_program(&path, &program::endings(&command.env)) {
        return ProgramFile::NotExecutable(path);
    }
    match interpreter_of(&first_line(&path)) {
        Some(interpreter) if !is_there(&interpreter, command) => ProgramFile::WithoutInterpreter { path, interpreter },
        Some(_) | None => ProgramFile::Executable(path),
    }
}

/// The file that a package of npm starts: its only or first program, or its main file.
fn entry_of_package(text: &str) -> Option<String> {
    let package: Value = serde_json::from_str(text).ok()?;
    let programs = &package["bin"];
    let first = programs.as_object().and_then(|programs| programs.values().next()).unwrap_or(programs);
    let entry = first.as_str().or(package["main"].as_str())?;
    Some(entry.trim_start_matches("./").to_owned())
}

fn is_there(interpreter: &str, command: &ServerCommand) -> bool {
    let path = Path::new(interpreter);
    path.is_absolute() && path.exists()
        || program::folders(&command.env).iter().any(|folder| folder.join(path).is_file())
}

fn first_line(path: &Path) -> String {
    let mut bytes = Vec::new();
    // A file that cannot be read has no line to look at, and may run all the same.
    let _ = fs::File::open(path).and_then(|file| file.take(FIRST_LINE as u64).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned()
}

/// The interpreter that the first line of a script names; with `env`, the one that it looks for.
fn interpreter_of(first_line: &str) -> Option<String> {
    let mut words = first_line.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?;
    if !program.ends_with("/env") {
        return Some(program.to_owned());
    }
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

/// Judges the program that was found under a name.
pub(crate) fn judge_program(asked: &str, found: &ProgramFile) -> Examination {
    let shown = |path: &Path| visible_line(&path.display().to_string()).into_owned();
    let asked = visible_line(asked);
    match found {
        ProgramFile::Executable(path) if Path::new(asked.as_ref()) == path => {
            Examination::fine(NAME, format!("`{asked}` is there, and may be run"))
        }
        ProgramFile::Executable(path) => Examination::fine(NAME, format!("`{asked}` is {}", shown(path))),
        ProgramFile::WithoutInterpreter { path, interpreter } => Examination::wrong(
            NAME,
            format!("`{}` is a script for `{}`, which is not there", shown(path), visible_line(interpreter)),
            format!("install `{0}`, or mend the first line of the script", visible_line(interpreter)),
        ),
        ProgramFile::NotExecutable(path) => Examination::wrong(
            NAME,
            format!("`{}` is a file that may not be run", shown(path)),
            "write its interpreter before it, such as `node` or `python3`; if it is a program, run `chmod +x` on it",
        ),
        ProgramFile::Folder { path, starts_with: Some(start) } => Examination::wrong(
            NAME,
            format!("`{}` is a folder, and no program", shown(path)),
            format!("start the server in it: `{}`", visible_line(start)),
        ),
        ProgramFile::Folder { path, starts_with: None } => Examination::wrong(
            NAME,
            format!("`{}` is a folder, and no program", shown(path)),
            "name the command that starts the server in it, such as `node FOLDER/dist/index.js`",
        ),
        ProgramFile::NoFile(path) => Examination::wrong(
            NAME,
            format!("there is no file `{}`", shown(path)),
            "mend the path; it is relative to the folder in which the server starts, which `--cwd` sets, and a server \
             that is compiled has to be built first",
        ),
        ProgramFile::NotInPath { is_here: true, .. } => Examination::wrong(
            NAME,
            format!("`{asked}` is in no folder of `PATH`, though a file here has this name"),
            format!(
                "write `./{asked}` if that file is the program, or its interpreter before it, such as `node {asked}`"
            ),
        ),
        ProgramFile::NotInPath { is_here: false, similar: Some(similar) } => Examination::wrong(
            NAME,
            format!("`{asked}` is in no folder of `PATH`"),
            format!(
                "did you mean `{}`, which is there? If not, install `{asked}`, or write its whole path",
                visible_line(similar)
            ),
        ),
        ProgramFile::NotInPath { is_here: false, similar: None } => Examination::wrong(
            NAME,
            format!("`{asked}` is in no folder of `PATH`"),
            format!(
                "install `{asked}`, or write its whole path; programs such as clients may have another `PATH` than your shell"
            ),
        ),
        ProgramFile::NoWorkingFolder(path) => Examination::wrong(
            NAME,
            format!("the folder `{}`, in which the server should start, does not exist", shown(path)),
            "mend `--cwd`, or `cwd` in the suite",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ExaminationVerdict;
    use super::*;

    #[test]
    fn interpreters() {
        for (line, expected) in [
            ("#!/bin/sh", Some("/bin/sh")),
            ("#! /usr/bin/python3 -u", Some("/usr/bin/python3")),
            ("#!/usr/bin/env node", Some("node")),
            ("#!/usr/bin/env -S NODE_ENV=test node --stack-size=1", Some("node")),
            ("\u{7f}ELF", None),
            ("#!", None),
            ("", None),
        ] {
            assert_eq!(interpreter_of(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn entries_of_packages() {
        for (text, expected) in [
            (r#"{"bin": {"serve": "./dist/cli.js"}, "main": "x.js"}"#, Some("dist/cli.js")),
            (r#"{"bin": "cli.js"}"#, Some("cli.js")),
            (r#"{"main": "index.mjs"}"#, Some("index.mjs")),
            ("{}", None),
            ("no JSON", None),
        ] {
            assert_eq!(entry_of_package(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_may_have_another_name() {
        let programs = ["node", "npx.cmd", "python3", "uvx", "ls", "Code.exe"].map(str::to_owned).into();
        for (asked, expected) in [
            ("node.exe", Some("node")),
            ("npx", Some("npx.cmd")),
            ("npx.exe", Some("npx.cmd")),
            ("pyhton3", Some("python3")),
            ("Python3.exe", Some("python3")),
            ("code", Some("Code.exe")),
            ("no-such-program-anywhere", None),
            ("lz", None),
        ] {
            assert_eq!(similar_program(asked, &programs).as_deref(), expected, "{asked}");
        }
    }

    #[test]
    fn every_file_that_is_no_program_has_a_cure() {
        let path = || PathBuf::from("/srv/app");
        for (found, verdict, words) in [
            (ProgramFile::Executable(path()), ExaminationVerdict::Fine, "`app` is /srv/app"),
            (ProgramFile::NotExecutable(path()), ExaminationVerdict::Wrong, "may not be run"),
            (ProgramFile::Folder { path: path(), starts_with: None }, ExaminationVerdict::Wrong, "is a folder"),
            (ProgramFile::NoFile(path()), ExaminationVerdict::Wrong, "there is no file `/srv/app`"),
            (
                ProgramFile::NotInPath { is_here: false, similar: None },
                ExaminationVerdict::Wrong,
                "`app` is in no folder of `PATH`",
            ),
            (
                ProgramFile::NotInPath { is_here: true, similar: None },
                ExaminationVerdict::Wrong,
                "a file here has this name",
            ),
            (ProgramFile::NoWorkingFolder(path()), ExaminationVerdict::Wrong, "does not exist"),
            (
                ProgramFile::WithoutInterpreter { path: path(), interpreter: "node".to_owned() },
                ExaminationVerdict::Wrong,
                "is a script for `node`",
            ),
        ] {
            let judged = judge_program("app", &found);
            assert_eq!((judged.verdict, judged.cure.is_some()), (verdict, verdict == ExaminationVerdict::Wrong));
            assert!(judged.sentence.contains(words), "{}", judged.sentence);
        }
    }
}
