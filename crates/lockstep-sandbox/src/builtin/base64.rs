//! Bytes as text.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base 64.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut written = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            written.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    written
}

/// The bytes that stand in base 64; what is none of its digits does not count.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let digits: Vec<usize> = digits.collect();
    let mut bytes = Vec::new();
    for chunk in digits.chunks(4) {
        let bits = chunk.iter().enumerate().fold(0, |bits, (place, digit)| bits | digit << (18 - 6 * place));
        let whole = [bits >> 16, bits >> 8, bits].map(|part| u8::try_from(part & 0xff).unwrap_or_default());
        bytes.extend_from_slice(&whole[..chunk.len().saturating_sub(1)]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (bytes, written) in
            [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")]
        {
            assert_eq!(encode(bytes.as_bytes()), written);
            assert_eq!(decode(written), bytes.as_bytes());
        }
    }
}
