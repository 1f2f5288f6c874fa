//! The roles a file may name.

use lockstep_core::model::Spec;

use crate::show::words;

/// The roles there are, in words.
pub fn known(specs: &[&Spec]) -> String {
    let mut names: Vec<&str> = specs.iter().flat_map(|s| &s.roles).map(|role| role.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    format!("there is {}", words::list(&names))
}
