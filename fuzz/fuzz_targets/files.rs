//! A state or a fault profile, however odd, is read or refused; what is read as a state can be planned on.

#![no_main]
#![allow(dead_code, reason = "the readers belong to a binary, which uses more of them")]

/// The readers of files, without those of a cluster.
#[path = "../../crates/lockstep/src/input"]
mod input {
    pub mod changes;
    pub mod complaint;
    pub mod fault_profile;
    pub mod manifest;
    pub mod memory;
    pub mod moment;
    pub mod reader;
    pub mod roles;
    pub mod state_file;
    pub mod strangers;
    pub mod strikes;
    pub mod texts;
    pub mod theirs;
    pub mod units;
}
#[path = "../../crates/lockstep/src/show"]
mod show {
    pub mod words;
}

use std::sync::LazyLock;

use input::fault_profile::{About, Profile};
use libfuzzer_sys::fuzz_target;
use lockstep_core::model::Spec;
use lockstep_core::plan::plan;

/// Sets that the shipped states and profiles belong to.
static SETS: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let texts = [
        include_str!("../../examples/web.yaml"),
        include_str!("../../examples/prefill-decode-v2.yaml"),
        include_str!("../../examples/recreate-v2.yaml"),
    ];
    let read = |text: &str| lockstep_api::parse(text).map(|parsed| lockstep_api::lower(&parsed.set));
    texts.into_iter().filter_map(|text| read(text).ok()).collect()
});

fuzz_target!(|text: &str| {
    for spec in SETS.iter() {
        if let Ok((snapshot, now)) = input::state_file::parse("state", text, spec) {
            let _ = plan(spec, &snapshot, now);
        }
    }
    let from = SETS.first();
    for to in &SETS[1..] {
        // Files that a profile names are nowhere to be found.
        let about = About { from, to, folder: "no-such-folder".into() };
        let _ = Profile::parse("faults", text, &about).map(|profile| profile.may_hold(to));
    }
});
