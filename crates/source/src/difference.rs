//! The lines in which two texts differ.

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// Which of the two texts has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineSide {
    /// Both have it.
    Both,
    /// Only the first has it.
    Before,
    /// Only the second has it.
    After,
}

impl LineSide {
    /// The sign of such lines in the output of `diff -u`.
    pub const fn sign(self) -> char {
        match self {
            Self::Both => ' ',
            Self::Before => '-',
            Self::After => '+',
        }
    }
}

/// The lines that change `before` into `after`, each with the side that has it.
///
/// Changes that lie close to each other form one group, which begins and ends with up to `context` lines that both
/// sides have. Equal sides have no groups.
/// The work is bounded: where texts differ a lot, heuristics of GNU diff give up the shortest difference for a quick one.
pub fn difference<'a>(before: &[&'a str], after: &[&'a str], context: usize) -> Vec<Vec<(LineSide, &'a str)>> {
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let diff = Diff::compute(Algorithm::Myers, &input);
    let mut groups: Vec<Vec<Hunk>> = Vec::new();
    for hunk in diff.hunks() {
        let is_close = |last: &Hunk| (hunk.before.start - last.before.end) as usize <= 2 * context;
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(is_close) => group.push(hunk),
            _ => groups.push(vec![hunk]),
        }
    }
    groups.iter().map(|hunks| lines(hunks, (before, after), context)).collect()
}

fn lines<'a>(hunks: &[Hunk], (before, after): (&[&'a str], &[&'a str]), context: usize) -> Vec<(LineSide, &'a str)> {
    let both = |from: usize, to: usize| before[from..to].iter().map(|line| (LineSide::Both, *line));
    let mut lines = Vec::new();
    let mut done = hunks.first().map_or(0, |first| (first.before.start as usize).saturating_sub(context));
    for hunk in hunks {
        let (old, new) = (hunk.before.start as usize..hunk.before.end as usize, &hunk.after);
        lines.extend(both(done, old.start));
        lines.extend(before[old.clone()].iter().map(|line| (LineSide::Before, *line)));
        lines.extend(after[new.start as usize..new.end as usize].iter().map(|line| (LineSide::After, *line)));
        done = old.end;
    }
    lines.extend(both(done, before.len().min(done + context)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let lines = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        let (before, after) = (before.to_owned().leak(), after.to_owned().leak());
        let groups = difference(&lines(before), &lines(after), 1);
        let describe = |group: &Vec<(LineSide, &str)>| {
            group.iter().map(|(side, line)| format!("{}{line}", side.sign())).collect::<Vec<_>>().join(" ")
        };
        groups.iter().map(describe).collect::<Vec<_>>().join(" @@ ")
    }

    #[test]
    fn groups_hold_what_differs_and_a_little_around_it() {
        assert_eq!(shown("a b c", "a b c"), "");
        assert_eq!(shown("a b c d e", "a b x d e"), " b -c +x  d");
        assert_eq!(shown("a b c d e f", "x b c d e y"), "-a +x  b @@  e -f +y");
        assert_eq!(shown("a b c d", "x b c y"), "-a +x  b  c -d +y");
        assert_eq!(shown("a", "a b"), " a +b");
    }
}
