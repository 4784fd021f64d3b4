//! The file that the name of a program leads to.
//!
//! Unix looks in the folders of `PATH` by itself. Windows does so for `.exe` only, while the programs of npm are `.cmd`:
//! there, the endings of `PATHEXT` are tried here.

use std::env::split_paths;
use std::path::{Path, PathBuf, absolute};

use super::environment::value_of;
use crate::files::may_run;

/// The endings of programs on Windows where `PATHEXT` is not set.
const USUAL_ENDINGS: &str = ".COM;.EXE;.BAT;.CMD";

/// The endings that make a file a program; none where its permissions do.
pub fn endings(variables: &[(String, String)]) -> Vec<String> {
    if !cfg!(windows) {
        return Vec::new();
    }
    let endings = value_of(variables, "PATHEXT").unwrap_or(USUAL_ENDINGS);
    endings.split(';').filter(|ending| !ending.is_empty()).map(str::to_owned).collect()
}

/// The file names that a program's name stands for: one without an ending has each of them.
pub fn file_names(program: &str, endings: &[String]) -> Vec<String> {
    let has_ending = |ending: &String| program.to_lowercase().ends_with(&ending.to_lowercase());
    if endings.is_empty() || endings.iter().any(has_ending) {
        return vec![program.to_owned()];
    }
    endings.iter().map(|ending| format!("{program}{ending}")).collect()
}

/// The system can run a file.
pub fn is_program(file: &Path, endings: &[String]) -> bool {
    let name = file.to_string_lossy().to_lowercase();
    may_run(file) && (endings.is_empty() || endings.iter().any(|ending| name.ends_with(&ending.to_lowercase())))
}

/// The folders in which programs are looked for, in their order.
pub fn folders(variables: &[(String, String)]) -> Vec<PathBuf> {
    split_paths(value_of(variables, "PATH").unwrap_or_default()).collect()
}

/// What to start for a name. A program with a path is meant relative to the folder in which it starts, whatever the system
/// would do.
pub fn locate(program: &str, cwd: &Path, variables: &[(String, String)]) -> PathBuf {
    let search = ProgramSearch { cwd, folders: &folders(variables), endings: &endings(variables) };
    search.locate(program, Path::is_file)
}

/// Where programs are looked for, and by which endings.
struct ProgramSearch<'a> {
    cwd: &'a Path,
    folders: &'a [PathBuf],
    endings: &'a [String],
}

impl ProgramSearch<'_> {
    fn locate(&self, program: &str, is_file: impl Fn(&Path) -> bool) -> PathBuf {
        let path = Path::new(program);
        let whole = if path.components().count() < 2 || path.is_absolute() {
            path.to_owned()
        } else {
            let joined = self.cwd.join(path);
            absolute(&joined).unwrap_or(joined)
        };
        let folders = if whole.components().count() < 2 { self.folders } else { &[PathBuf::new()] };
        let names = file_names(&whole.to_string_lossy(), self.endings);
        // Without endings, the system looks by itself, and knows what may be run.
        let looks = !self.endings.is_empty();
        let found = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        found.filter(|_| looks).find(|file| is_file(file)).unwrap_or(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_have_endings_on_windows() {
        let endings = [".COM", ".EXE", ".CMD"].map(str::to_owned);
        for (program, endings, expected) in [
            ("node", &[][..], &["node"][..]),
            ("node", &endings, &["node.COM", "node.EXE", "node.CMD"]),
            ("node.exe", &endings, &["node.exe"]),
            ("npx.CMD", &endings, &["npx.CMD"]),
            ("python3.11", &endings, &["python3.11.COM", "python3.11.EXE", "python3.11.CMD"]),
        ] {
            assert_eq!(file_names(program, endings), expected, "{program}");
        }
    }

    #[test]
    fn a_name_leads_to_the_first_file_that_is_a_program() {
        let root = absolute("root").unwrap();
        let [node, uv, here] = ["node", "uv", "here"].map(|folder| root.join(folder));
        // npm puts a script for other shells beside each of its programs.
        let files = [
            node.join("npx"),
            node.join("npx.CMD"),
            node.join("node.EXE"),
            uv.join("uvx.EXE"),
            uv.join("npx.EXE"),
            here.join("bin/serve.CMD"),
            here.join("local.EXE"),
        ];
        let endings = [".EXE", ".CMD"].map(str::to_owned);
        let search = ProgramSearch { cwd: &here, folders: &[node.clone(), uv.clone()], endings: &endings };
        let whole = uv.join("uvx").display().to_string();
        for (program, expected) in [
            ("npx", node.join("npx.CMD")),
            ("node", node.join("node.EXE")),
            ("uvx", uv.join("uvx.EXE")),
            ("uvx.EXE", uv.join("uvx.EXE")),
            ("bin/serve", here.join("bin/serve.CMD")),
            ("./local", here.join("local.EXE")),
            (whole.as_str(), uv.join("uvx.EXE")),
            // The folder of the start is not searched, and what is not there is left to the system.
            ("local", PathBuf::from("local")),
            ("server.py", PathBuf::from("server.py")),
        ] {
            assert_eq!(search.locate(program, |file| files.contains(&file.to_owned())), expected, "{program}");
        }
    }

    #[test]
    fn without_endings_the_system_looks() {
        let here = absolute("here").unwrap();
        let search = ProgramSearch { cwd: &here, folders: &[here.join("bin")], endings: &[] };
        for (program, expected) in [("npx", PathBuf::from("npx")), ("./serve", here.join("serve"))] {
            assert_eq!(search.locate(program, |_| true), expected, "{program}");
        }
    }
}
