//! Short texts made of longer ones, in the letters Kubernetes makes names of.

/// No vowels and no look-alikes, so that no words come out.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A number of 32 bits for a text (FNV-1a).
fn number(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// What names a template: the digits of a number, as letters.
pub(super) fn of(text: &str) -> String {
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    number(text).to_string().bytes().map(letter).collect()
}

/// Five letters that look as if drawn by lot, and are the same for the same text.
pub(super) fn lot(text: &str) -> String {
    let mut rest = u64::from(number(text)) << 32 | u64::from(number(&format!("{text}+")));
    let mut letters = String::new();
    for _ in 0..5 {
        let at = usize::try_from(rest % 27).unwrap_or_default();
        letters.push(char::from(LETTERS[at]));
        rest /= 27;
    }
    letters
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn they_look_like_real_ones() {
        let digest = of("a template");
        assert!((8..=10).contains(&digest.len()), "{digest}");
        assert!(digest.bytes().all(|letter| LETTERS.contains(&letter)), "{digest}");
        assert_ne!(digest, of("another template"));
        assert_eq!(lot("x").len(), 5);
        let lots: BTreeSet<String> = (0..500).map(|at| lot(&format!("uid/{at}"))).collect();
        assert_eq!(lots.len(), 500);
    }
}
