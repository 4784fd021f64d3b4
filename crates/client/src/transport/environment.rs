//! The variables of the environment, as servers get them. On Windows, their names have no case.

/// The variables of our environment that every server inherits.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "LANG", "TMPDIR", "SystemRoot", "PATHEXT", "TEMP", "USERPROFILE"];

/// Those that it inherits on Windows, too: without them `npx` and `uvx` find no folder for what they download, and scripts
/// no interpreter.
const PASSED_ON_WINDOWS: [&str; 12] = [
    "APPDATA",
    "ComSpec",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "ProgramData",
    "ProgramFiles",
    "SystemDrive",
    "TMP",
    "USERNAME",
];

/// The variable that holds the folder of the user.
pub const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// Every server inherits the variable.
pub fn is_passed_on(name: &str) -> bool {
    let of_system: &[&str] = if cfg!(windows) { &PASSED_ON_WINDOWS } else { &[] };
    PASSED_ON.iter().chain(of_system).any(|known| is_same_name(known, name))
}

/// Two names stand for one variable.
pub fn is_same_name(one: &str, other: &str) -> bool {
    one == other || cfg!(windows) && one.eq_ignore_ascii_case(other)
}

/// The value of a variable.
pub fn value_of<'a>(variables: &'a [(String, String)], name: &str) -> Option<&'a str> {
    variables.iter().find(|(known, _)| is_same_name(known, name)).map(|(_, value)| value.as_str())
}
