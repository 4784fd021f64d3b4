//! Delta debugging: which items of a list can be left out.

/// The smallest list found that `keep` still accepts; no single item of it can be left out unless `keep` gave up.
///
/// `keep` is asked about parts of `items` in their order, never about all of them.
pub fn ddmin<T: Clone>(items: Vec<T>, keep: &mut dyn FnMut(&[T]) -> bool) -> Vec<T> {
    if items.is_empty() || keep(&[]) {
        return Vec::new();
    }
    let (mut kept, mut parts) = (items, 2);
    while kept.len() > 1 {
        let size = kept.len().div_ceil(parts);
        let starts: Vec<usize> = (0..kept.len()).step_by(size).collect();
        let smaller = starts.into_iter().find_map(|start| {
            let end = (start + size).min(kept.len());
            let rest = [&kept[..start], &kept[end..]].concat();
            keep(&rest).then_some(rest)
        });
        match smaller {
            Some(rest) => {
                kept = rest;
                parts = (parts - 1).max(2);
            }
            None if size == 1 => break,
            None => parts = (parts * 2).min(kept.len()),
        }
    }
    kept
}

/// The next question of a search whose questions take time to answer: the search begins again with the known answers.
/// `None` where it has no more questions.
pub fn next_question<T: ?Sized + ToOwned>(
    answers: &[bool],
    search: impl FnOnce(&mut dyn FnMut(&T) -> bool),
) -> Option<T::Owned> {
    let (mut at, mut next) = (0, None);
    search(&mut |candidate| {
        if next.is_some() {
            return false;
        }
        let answer = answers.get(at).copied();
        at += 1;
        if answer.is_none() {
            next = Some(candidate.to_owned());
        }
        answer.unwrap_or(false)
    });
    next
}

/// Delta debugging whose questions take time to answer, or are too many to be asked all.
#[derive(Debug)]
pub struct SlowDdmin<T> {
    items: Vec<T>,
    answers: Vec<bool>,
}

impl<T: Clone> SlowDdmin<T> {
    /// Begins with a list of which nothing is known.
    pub fn new(items: Vec<T>) -> Self {
        Self { items, answers: Vec::new() }
    }

    /// The next part of the list to try; `None` where nothing more can be left out.
    pub fn next_part(&self) -> Option<Vec<T>> {
        next_question::<[T]>(&self.answers, |ask| drop(ddmin(self.items.clone(), &mut |part| ask(part))))
    }

    /// Takes note of whether the last part is enough.
    pub fn answer(&mut self, is_enough: bool) {
        self.answers.push(is_enough);
    }

    /// The number of answers so far.
    pub fn answers(&self) -> usize {
        self.answers.len()
    }

    /// The smallest list that is known to be enough.
    pub fn smallest(self) -> Vec<T> {
        let mut known = self.answers.into_iter();
        ddmin(self.items, &mut |_| known.next().unwrap_or(false))
    }
}

#[cfg(test)]
mod tests {
    use super::{SlowDdmin, ddmin};

    #[test]
    fn questions_that_take_time_lead_to_the_same_list() {
        for (most, expected) in [(usize::MAX, vec![3, 50]), (0, (0..100).collect()), (2, (50..100).collect())] {
            let needed = if most == 2 { vec![70] } else { vec![3, 50] };
            let mut search = SlowDdmin::new((0..100).collect::<Vec<u32>>());
            while search.answers() < most
                && let Some(part) = search.next_part()
            {
                search.answer(needed.iter().all(|item| part.contains(item)));
            }
            assert_eq!(search.smallest(), expected, "at most {most} questions");
        }
    }

    fn check(length: u32, needed: &[u32], most: usize) {
        let mut asked = 0;
        let kept = ddmin((0..length).collect(), &mut |rest| {
            asked += 1;
            needed.iter().all(|item| rest.contains(item))
        });
        assert_eq!(kept, needed, "of {length}");
        assert!(asked <= most, "{asked} questions for {needed:?} of {length}");
    }

    #[test]
    fn what_is_needed_is_left() {
        check(0, &[], 0);
        check(1, &[], 1);
        check(1, &[0], 1);
        check(100, &[], 1);
        check(100, &[99], 40);
        check(100, &[3, 50], 60);
        check(64, &[0, 1, 2, 3], 60);
        check(5, &[0, 1, 2, 3, 4], 20);
        check(1000, &[7, 300, 301, 999], 250);
    }

    #[test]
    fn counts_are_found_too() {
        let mut questions = 0;
        let kept = ddmin(vec!["a"; 40], &mut |rest| {
            questions += 1;
            rest.len() >= 4
        });
        assert_eq!(kept.len(), 4);
        assert!(questions < 60, "{questions}");
    }
}
