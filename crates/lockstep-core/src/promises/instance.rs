//! One instance, as a trace told of it.

use crate::revision::Revision;

/// An instance.
#[derive(Debug, Clone, Copy)]
pub struct Instance {
    /// The role's revision.
    pub revision: Revision,
    /// The set's revision.
    pub set_revision: Revision,
    /// When it was created.
    pub created: u64,
    /// Ready since.
    pub ready_since: Option<u64>,
    /// The engine took a pod it could not spare; it had been ready since.
    pub taken: Option<u64>,
    /// The world took it at this time, and the engine may not know yet.
    pub lost_at: Option<u64>,
    /// It was ready when the world took it.
    pub was_ready: bool,
    /// On its way out.
    pub leaving: bool,
}

impl Instance {
    /// One that was created at this time.
    pub fn fresh(t: u64, revision: Revision, set_revision: Revision) -> Self {
        Self {
            revision,
            set_revision,
            created: t,
            ready_since: None,
            taken: None,
            lost_at: None,
            was_ready: false,
            leaving: false,
        }
    }

    /// As it was before the engine took the first pod of it.
    pub fn as_taken(self) -> Self {
        Self { ready_since: self.ready_since.or(self.taken), ..self }
    }
}
