//! Seeded choices: the same seed and the same keys give the same choices, on every machine.
//!
//! Knows nothing about values; what is chosen between is the caller's business.

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Rng {
    origin: u64,
    state: u64,
}

impl Rng {
    /// Choices that follow from a seed.
    pub fn new(seed: u64) -> Self {
        let origin = scramble(seed ^ 0x5851_f42d_4c95_7f2d);
        Self { origin, state: origin }
    }

    /// Choices of their own, which follow from the seed and the key alone, however many were made before.
    #[must_use]
    pub fn fork(&self, key: impl RngKey) -> Self {
        let origin = scramble(self.origin.rotate_left(23) ^ key.fold_key());
        Self { origin, state: origin }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.state)
    }

    /// A number below `end`, and 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        let wide = u128::from(self.bits()) * u128::from(end);
        // The upper half of a product below `end << 64` fits wherever `end` does.
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.bits() % 100 < u64::from(percent)
    }

    /// One of several; `None` where there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// A fraction from 0 up to, but without, 1.
    pub fn fraction(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a fraction holds")]
        let upper = (self.bits() >> 11) as f64;
        upper / 9_007_199_254_740_992.0
    }
}

/// Keys of forks: texts and whole numbers.
pub trait RngKey {
    /// The key as a number that is the same on every machine.
    fn fold_key(&self) -> u64;
}

impl RngKey for str {
    fn fold_key(&self) -> u64 {
        let spread = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        scramble(self.bytes().fold(0xcbf2_9ce4_8422_2325, spread))
    }
}

impl RngKey for String {
    fn fold_key(&self) -> u64 {
        self.as_str().fold_key()
    }
}

impl<T: RngKey + ?Sized> RngKey for &T {
    fn fold_key(&self) -> u64 {
        (**self).fold_key()
    }
}

impl RngKey for u64 {
    fn fold_key(&self) -> u64 {
        scramble(*self)
    }
}

impl RngKey for usize {
    fn fold_key(&self) -> u64 {
        scramble(*self as u64)
    }
}

impl RngKey for u32 {
    fn fold_key(&self) -> u64 {
        scramble(u64::from(*self))
    }
}

impl RngKey for i32 {
    fn fold_key(&self) -> u64 {
        scramble(u64::from(self.unsigned_abs()) ^ (u64::from(self.is_negative()) << 63))
    }
}

/// Spreads a number over all 64 bits.
fn scramble(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_know_no_order() {
        let mut first = Rng::new(7);
        let before = first.fork("tool").bits();
        first.bits();
        assert_eq!(first.fork("tool").bits(), before);
        assert_ne!(first.fork("other").bits(), before);
        assert_eq!(first.fork(3).bits(), first.fork(3_u64).bits());
        assert_ne!(Rng::new(8).fork("tool").bits(), before);
    }

    #[test]
    fn choices_stay_in_bounds_and_reach_them() {
        let mut rng = Rng::new(1);
        let seen: std::collections::BTreeSet<usize> = (0..200).map(|_| rng.between(2, 5)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5]);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.pick::<u8>(&[]), None);
        assert!((0..100).all(|_| (0.0..1.0).contains(&rng.fraction())));
    }
}
