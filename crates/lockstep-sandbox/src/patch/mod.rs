//! Patches, other than server-side apply.

mod json;
mod strategic;

pub use self::json::{JsonPatchError, json, merge};
pub use self::strategic::{StrategicError, strategic};
