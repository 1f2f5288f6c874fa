//! Draws that come out the same every time: from a name instead of a die.

/// A number that depends on nothing but the words, well spread (FNV-1a with a finishing mix).
pub(crate) fn number(words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for word in words {
        // A byte that no text contains keeps "a","bc" apart from "ab","c".
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_give_the_same_number_and_others_do_not() {
        assert_eq!(number(&["a", "bc"]), number(&["a", "bc"]));
        assert_ne!(number(&["a", "bc"]), number(&["ab", "c"]));
    }
}
