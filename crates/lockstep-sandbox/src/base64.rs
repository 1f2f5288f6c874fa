//! Base64, as it stands in objects.

use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};
use base64::{DecodeError, Engine as _};

/// In addresses; like Go, it does not mind bits that are left over.
const FOR_ADDRESSES: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The bytes of a text; none if it is no base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// The bytes of a text as it stands in addresses; or where it is wrong.
pub(crate) fn decode_url(text: &str) -> Result<Vec<u8>, usize> {
    FOR_ADDRESSES.decode(text).map_err(|error| match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
        _ => text.len(),
    })
}

/// Bytes as a text for addresses.
pub(crate) fn encode_url(bytes: &[u8]) -> String {
    FOR_ADDRESSES.encode(bytes)
}

/// Bytes as a text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
