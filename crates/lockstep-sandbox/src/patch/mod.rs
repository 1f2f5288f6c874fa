//! Patches, other than server-side apply.

mod strategic;

pub use self::strategic::{StrategicError, strategic};
