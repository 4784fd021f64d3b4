//! A shell that a faulty server hands its texts to. It knows quotes, substitutions, sums and separators, and three
//! commands: `echo`, `expr`, and `touch` for files that do not exist yet. No program is ever started.

use std::path::Path;

use super::security::create;

/// The greatest depth of substitutions.
const DEEPEST: usize = 8;

/// What `echo TEXT` prints, if the text makes the shell do anything.
pub(crate) fn echo(text: &str, folder: &Path) -> Option<String> {
    let mut shell = Shell { folder, has_executed: false };
    let printed = shell.run(&format!("echo {text}"), 0);
    shell.has_executed.then_some(printed)
}

struct Shell<'a> {
    folder: &'a Path,
    /// True if it did more than to print what it was given.
    has_executed: bool,
}

/// A command up to its end, and what separates it from the one before.
struct Command<'a> {
    text: &'a str,
    is_piped: bool,
}

impl Shell<'_> {
    /// Carries out all commands of a text; the output of the last one of a pipe counts.
    fn run(&mut self, text: &str, depth: usize) -> String {
        let mut printed: Vec<String> = Vec::new();
        for (number, command) in commands(text).into_iter().enumerate() {
            let output = self.execute(command.text, depth, depth > 0 || number > 0);
            if command.is_piped {
                printed.pop();
            }
            printed.extend(output);
        }
        printed.join("\n")
    }

    /// Carries out one command; what it prints, unless there is no such command.
    fn execute(&mut self, text: &str, depth: usize, is_own: bool) -> Option<String> {
        let text = self.expand(text, depth);
        let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let output = match name {
            "echo" => rest.trim().to_owned(),
            "expr" => sum(rest)?,
            "touch" => {
                create(&self.folder.join(rest.trim()), "");
                String::new()
            }
            _ => return None,
        };
        self.has_executed |= is_own;
        Some(output)
    }

    /// A command with its substitutions carried out, and without its quotation marks.
    fn expand(&mut self, text: &str, depth: usize) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        let mut is_quoted = false;
        while let Some(first) = rest.chars().next() {
            let substitution = Substitution::at(rest).filter(|_| depth < DEEPEST);
            if let Some(Substitution { inner, length, is_sum }) = substitution {
                let value = if is_sum { sum(inner) } else { Some(self.run(inner, depth + 1)) };
                self.has_executed |= is_sum && value.is_some();
                expanded += &value.unwrap_or_default();
                rest = &rest[length..];
            } else if let Some(literal) = literal(rest).filter(|_| !is_quoted) {
                expanded += literal;
                rest = &rest[literal.len() + 2..];
            } else {
                is_quoted ^= first == '"';
                expanded.extend((first != '"').then_some(first));
                rest = &rest[first.len_utf8()..];
            }
        }
        expanded
    }
}

/// A substitution at the beginning of a text.
struct Substitution<'a> {
    inner: &'a str,
    length: usize,
    is_sum: bool,
}

impl<'a> Substitution<'a> {
    fn at(text: &'a str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("$((") {
            let end = rest.find("))")?;
            return Some(Self { inner: &rest[..end], length: end + 5, is_sum: true });
        }
        if let Some(rest) = text.strip_prefix('`') {
            let end = rest.find('`')?;
            return Some(Self { inner: &rest[..end], length: end + 2, is_sum: false });
        }
        let rest = text.strip_prefix("$(")?;
        let mut open = 1_usize;
        let end = rest.char_indices().find_map(|(at, c)| {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            (open == 0).then_some(at)
        })?;
        Some(Self { inner: &rest[..end], length: end + 3, is_sum: false })
    }
}

/// The text between single quotes at the beginning.
fn literal(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('\'')?;
    rest.find('\'').map(|end| &rest[..end])
}

/// The commands of a text: separators in quotes and in substitutions separate nothing.
fn commands(text: &str) -> Vec<Command<'_>> {
    let mut all = Vec::new();
    let (mut begin, mut at, mut is_quoted, mut is_piped) = (0, 0, false, false);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if let Some(substitution) = Substitution::at(rest) {
            at += substitution.length;
        } else if let Some(literal) = literal(rest).filter(|_| !is_quoted) {
            at += literal.len() + 2;
        } else {
            if !is_quoted && [';', '|', '&', '\n'].contains(&first) {
                all.push(Command { text: &text[begin..at], is_piped });
                (begin, is_piped) = (at + 1, first == '|');
            }
            is_quoted ^= first == '"';
            at += first.len_utf8();
        }
    }
    all.push(Command { text: &text[begin..], is_piped });
    all
}

/// The value of two numbers with an operator between them.
fn sum(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let at = text.find(['+', '-', '*'])?;
    let (left, right) = (text[..at].parse::<i64>().ok()?, text[at + 1..].parse::<i64>().ok()?);
    let value = match &text[at..=at] {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        _ => left.checked_mul(right),
    };
    value.map(|value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_carried_out_as_by_a_shell() {
        for (text, printed) in [
            ("a$(echo mcp$((4100+37))rove)", Some("amcp4137rove")),
            ("`echo mcp$((4100+37))rove`", Some("mcp4137rove")),
            ("; echo mcp$((6*7))rove", Some("\nmcp42rove")),
            ("a | echo b", Some("b")),
            ("a & expr 4 + 3", Some("a\n7")),
            ("x\necho y", Some("x\ny")),
            ("\"$(echo in quotes)\"", Some("in quotes")),
            ("$(echo $(echo deep))", Some("deep")),
            ("'; echo in quotes; '", None),
            ("'$(echo in quotes)'", None),
            ("it's fine; really & truly | so", None),
            ("$(rm -rf /)", None),
            ("$(", None),
            ("`", None),
        ] {
            assert_eq!(echo(text, Path::new("/nowhere")).as_deref(), printed, "{text}");
        }
    }
}
