//! The choice among additions: the fewest that notice the most.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Something that could be added to a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The gaps that it closes.
    pub(crate) closes: BTreeSet<usize>,
    /// The lines that it takes.
    pub(crate) lines: usize,
}

/// A chosen candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Its index.
    pub(crate) candidate: usize,
    /// The gaps that it closes, and none before it does.
    pub(crate) closes: Vec<usize>,
}

/// Chooses, one after the other, the candidate that closes the greatest weight of open gaps, and of several the shortest;
/// what the later ones make superfluous is left out.
pub(crate) fn choose(weights: &[u64], candidates: &[Candidate]) -> Vec<Choice> {
    let all: Vec<usize> = (0..candidates.len()).collect();
    let mut kept: Vec<usize> = greedy(weights, candidates, &all).iter().map(|choice| choice.candidate).collect();
    for at in (0..kept.len()).rev() {
        let is_closed = |gap: &usize| {
            kept.iter().enumerate().any(|(other, one)| other != at && candidates[*one].closes.contains(gap))
        };
        if candidates[kept[at]].closes.iter().all(is_closed) {
            kept.remove(at);
        }
    }
    greedy(weights, candidates, &kept)
}

fn greedy(weights: &[u64], candidates: &[Candidate], among: &[usize]) -> Vec<Choice> {
    let mut gains: Vec<u64> = vec![0; candidates.len()];
    let mut closing: Vec<Vec<usize>> = vec![Vec::new(); weights.len()];
    for candidate in among {
        for gap in &candidates[*candidate].closes {
            gains[*candidate] += weights[*gap];
            closing[*gap].push(*candidate);
        }
    }
    let mut chosen = Vec::new();
    loop {
        // Of equals the shortest, and of these the first.
        let worth =
            |candidate: &&usize| (gains[**candidate], Reverse(candidates[**candidate].lines), Reverse(**candidate));
        let best = among.iter().max_by_key(worth).copied().filter(|best| gains[*best] > 0);
        let Some(best) = best else { return chosen };
        let closes: Vec<usize> =
            candidates[best].closes.iter().copied().filter(|gap| !closing[*gap].is_empty()).collect();
        for gap in &closes {
            for candidate in std::mem::take(&mut closing[*gap]) {
                gains[candidate] -= weights[*gap];
            }
        }
        chosen.push(Choice { candidate: best, closes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chosen candidates with the gaps that they close, from candidates as gaps and lines.
    fn chosen(weights: &[u64], candidates: &[(&[usize], usize)]) -> Vec<(usize, Vec<usize>)> {
        let candidates: Vec<Candidate> = candidates
            .iter()
            .map(|(closes, lines)| Candidate { closes: closes.iter().copied().collect(), lines: *lines })
            .collect();
        choose(weights, &candidates).into_iter().map(|choice| (choice.candidate, choice.closes)).collect()
    }

    #[test]
    fn one_that_covers_all_comes_before_those_that_cover_one_each() {
        let one = [1; 3];
        assert_eq!(chosen(&one, &[(&[0], 2), (&[1], 2), (&[2], 2), (&[0, 1, 2], 4)]), [(3, vec![0, 1, 2])]);
    }

    #[test]
    fn the_heavier_gap_is_closed_first() {
        assert_eq!(chosen(&[1, 5], &[(&[0], 2), (&[1], 2)]), [(1, vec![1]), (0, vec![0])]);
    }

    #[test]
    fn of_equals_the_shortest_and_then_the_first_is_chosen() {
        assert_eq!(chosen(&[1], &[(&[0], 8), (&[0], 2), (&[0], 2)]), [(1, vec![0])]);
    }

    #[test]
    fn what_later_ones_make_superfluous_is_left_out() {
        // The first closes most, and the two after it close all of that, too.
        let candidates: [(&[usize], usize); 3] = [(&[1, 2, 3, 4], 2), (&[0, 1, 2], 2), (&[3, 4, 5], 2)];
        assert_eq!(chosen(&[1; 6], &candidates), [(1, vec![0, 1, 2]), (2, vec![3, 4, 5])]);
    }

    #[test]
    fn what_closes_nothing_is_never_chosen() {
        assert_eq!(chosen(&[0, 1], &[(&[0], 1), (&[], 1)]), []);
        assert_eq!(chosen(&[], &[]), []);
    }
}
