//! Texts that each appear in one call only, so that a text that comes back tells which call it was sent with.

/// How many digits number a call.
const DIGITS: usize = 8;

/// Makes and finds tokens.
#[derive(Debug, Clone)]
pub(crate) struct Canaries {
    prefix: String,
}

impl Canaries {
    /// Canaries that follow from a number.
    pub(crate) fn new(seed: u64) -> Self {
        Self { prefix: format!("zq{:08x}v", (seed ^ (seed >> 32)) & 0xffff_ffff) }
    }

    /// How many characters a token has.
    pub(crate) fn length(&self) -> usize {
        self.prefix.len() + DIGITS
    }

    /// The token of a call.
    pub(crate) fn of(&self, call: u64) -> String {
        format!("{}{:08x}", self.prefix, call & 0xffff_ffff)
    }

    /// Whether a text has a token of any call.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.prefix)
    }

    /// The calls whose tokens a text has, in order, each once.
    pub(crate) fn calls_in(&self, text: &str) -> Vec<u64> {
        let numbers = text.match_indices(&self.prefix).filter_map(|(at, _)| {
            let digits = text.get(at + self.prefix.len()..at + self.length())?;
            u64::from_str_radix(digits, 16).ok()
        });
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_call() {
        let tokens = Canaries::new(7);
        let check = |text: &str, expected: &[u64]| assert_eq!(tokens.calls_in(text), expected, "{text}");
        check("nothing", &[]);
        check(&format!("a{}b{} {}", tokens.of(18), tokens.of(3), tokens.of(18)), &[3, 18]);
        check(&tokens.of(18)[..12], &[]);
        check(&Canaries::new(8).of(3), &[]);
        assert_eq!(tokens.of(5).len(), tokens.length());
    }
}
