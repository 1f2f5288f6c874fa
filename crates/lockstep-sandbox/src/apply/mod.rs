//! Who owns which fields, and what becomes of an object when somebody applies or updates it.

mod cap;
mod compare;
mod managers;
mod merge;
mod prune;
mod versions;
mod walk;

pub use self::compare::{Comparison, compare};
pub use self::managers::{
    Conflict, Entry, Managers, ManagersError, NotApplied, Operation, Who, Writing, Written,
};
pub use self::merge::merge;
pub use self::prune::prune;
pub use self::versions::{Versioned, Versions};
pub use self::walk::fields_of;
