//! Tables in files of which every test holds one row: whoever reviews a change reads a table, and every row is a test.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::harness::{is_update, root};

/// A table in Markdown; the first cells of a row say which one it is.
pub(crate) struct Golden {
    /// The file, from the root of the repository.
    pub(crate) file: &'static str,
    /// The heading above the table.
    pub(crate) heading: &'static str,
}

impl Golden {
    /// Asserts that the row which begins with `key` is this one; with `UPDATE=1` it becomes this one.
    ///
    /// `keys` are those of all rows in their order.
    pub(crate) fn holds(&self, keys: &[String], key: &[&str], rest: &[&str]) {
        let (key, row) = (cells(key), cells(&[key, rest].concat()));
        let found = self.rows(&self.read()).into_iter().find(|row| row.starts_with(&key)).unwrap_or_default();
        if found == row {
            return;
        }
        let Self { file, heading } = self;
        assert!(
            is_update(),
            "in {file}, `{heading}`:\nwritten: {found}\nseen:    {row}\n`UPDATE=1` takes over what was seen"
        );
        self.update(keys, Some((&key, row)));
    }

    /// Writes the table anew, with another row in the place of one.
    fn update(&self, keys: &[String], changed: Option<(&str, String)>) {
        // Tests run side by side, and each writes its own row.
        let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden.lock")).unwrap();
        lock.lock().unwrap();
        let text = self.read();
        let rank = |row: &String| keys.iter().position(|key| row.starts_with(key));
        let mut rows = self.rows(&text);
        rows.retain(|row| rank(row).is_some() && !changed.as_ref().is_some_and(|(key, _)| row.starts_with(key)));
        rows.extend(changed.map(|(_, row)| row));
        rows.sort_by_key(rank);
        fs::write(self.path(), self.with_rows(&text, &rows)).unwrap();
    }

    /// Asserts that every row is one of these, in their order; with `UPDATE=1` those that are not are left out.
    pub(crate) fn has_only(&self, keys: &[String]) {
        if is_update() {
            return self.update(keys, None);
        }
        let rows = self.rows(&self.read());
        let strange: Vec<&String> = rows.iter().filter(|row| !keys.iter().any(|key| row.starts_with(key))).collect();
        assert!(strange.is_empty(), "no test has these rows of {}: {strange:?}", self.file);
        assert!(
            rows.is_sorted_by_key(|row| keys.iter().position(|key| row.starts_with(key))),
            "{}: the order",
            self.file
        );
    }

    fn path(&self) -> PathBuf {
        root().join(self.file)
    }

    fn read(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn rows(&self, text: &str) -> Vec<String> {
        let lines = text.lines().skip_while(|line| *line != self.heading).skip_while(|line| !line.starts_with("| ---"));
        lines.skip(1).take_while(|line| line.starts_with("| ")).map(str::to_owned).collect()
    }

    /// The same text with other rows.
    fn with_rows(&self, text: &str, rows: &[String]) -> String {
        let heading = format!("{}\n", self.heading);
        let start = text.find(&heading).unwrap_or_else(|| panic!("{} has no `{}`", self.file, self.heading));
        let rule = start + text[start..].find("\n| ---").unwrap() + 1;
        let first = rule + text[rule..].find('\n').unwrap() + 1;
        let old: usize =
            text[first..].split_inclusive('\n').take_while(|line| line.starts_with("| ")).map(str::len).sum();
        let new = rows.iter().fold(String::new(), |text, row| text + row + "\n");
        format!("{}{new}{}", &text[..first], &text[first + old..])
    }
}

/// How rows with these first cells begin.
pub(crate) fn cells(cells: &[&str]) -> String {
    cells.iter().fold("|".to_owned(), |row, cell| format!("{row} {} |", shown(cell)))
}

/// Markdown that shows a text as it is, in a cell.
fn shown(text: &str) -> String {
    let text = text.replace('\n', " ").replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
    text.replace('[', "\\[").replace('*', "\\*")
}
