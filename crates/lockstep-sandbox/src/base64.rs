//! Base64, as it stands in objects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a text; none if it is no base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Bytes as a text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
