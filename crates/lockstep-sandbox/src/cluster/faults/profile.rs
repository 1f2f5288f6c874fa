//! What may go wrong, as data.

use serde::{Deserialize, Serialize};

/// A length of time between two others, in milliseconds; both are included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The shortest.
    pub least: u64,
    /// The longest.
    pub most: u64,
}

impl Span {
    /// From one to the other.
    pub const fn new(least: u64, most: u64) -> Self {
        Self { least, most }
    }
}

/// What goes wrong between one client and the server, and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// How long a request is on its way.
    pub travel: Span,
    /// What happens to requests that read.
    pub reads: Vec<Chance>,
    /// What happens to requests that write.
    pub writes: Vec<Chance>,
    /// What happens to watches.
    pub watches: Watches,
    /// How old lists may be.
    pub lists: Lists,
    /// For how long all this goes on, in milliseconds; for ever if it does not say.
    pub lasts: Option<u64>,
}

/// Something that happens in so many of a thousand cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chance {
    /// How many of a thousand.
    pub permille: u32,
    /// What happens to them.
    pub fault: Fault,
}

impl Chance {
    /// So many of a thousand fare so.
    pub const fn of(permille: u32, fault: Fault) -> Self {
        Self { permille, fault }
    }
}

/// What may happen to a request. `applied` says whether the server did what was asked all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// 409: others write the object all the time, and the server gave up. Only of replacing and patching.
    Conflict,
    /// 429: the server has too much to do.
    Busy,
    /// 500.
    Failed {
        /// It was done.
        applied: bool,
    },
    /// 504: the server waited for its storage for too long.
    TimedOut {
        /// It was done.
        applied: bool,
    },
    /// The connection is reset.
    Reset {
        /// It was done.
        applied: bool,
    },
    /// There is never an answer, and the client gives up after some minutes, unless it is less patient.
    Silent {
        /// It was done.
        applied: bool,
    },
    /// It arrives later, whether or not anybody still waits for the answer.
    Late(Span),
}

/// What may happen to watches. What is watched is never lost and never out of order: no server does that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Watches {
    /// So many of a thousand events are held back, and all after them.
    pub held: u32,
    /// For how long.
    pub held_for: Span,
    /// How long a watch lives, before it ends, is reset, or is told that its version is too old.
    pub live: Option<Span>,
}

/// How old lists may be. A server that is asked for any version may answer with an old one; asked for one not older
/// than another, it answers with that or a later one; asked for none, with what stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Lists {
    /// So many of a thousand are old.
    pub stale: u32,
    /// By so many changes at most.
    pub behind: u64,
}
