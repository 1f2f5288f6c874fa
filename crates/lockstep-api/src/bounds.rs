//! How much of anything is accepted: the same in the reader of manifests and in the schema of the kind.

/// The largest count accepted anywhere.
pub(crate) const MOST: u32 = 100_000;
/// A year, in seconds.
pub(crate) const A_YEAR: u32 = 31_536_000;
/// The largest number of old revisions that are kept.
pub(crate) const MOST_HISTORY: u32 = 1000;
/// No list of ours is of use beyond this, and checks compare items with each other.
pub(crate) const LONGEST_LIST: usize = 1000;
/// The longest pod name, which is a host name too, and so the longest name of anything in it.
pub(crate) const LONGEST_NAME: usize = 63;
