//! Playing many seeds.

use std::collections::BTreeMap;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A number that the environment gives.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays seeds on every core. Returns those that went wrong, and says so at once.
pub fn play_all(
    from: u64,
    count: u64,
    fault_of: impl Fn(u64) -> Option<String> + Sync + RefUnwindSafe,
) -> BTreeMap<u64, String> {
    let next = AtomicU64::new(from);
    let wrong = Mutex::new(BTreeMap::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    let tried = catch_unwind(|| fault_of(seed));
                    if let Some(fault) = tried.unwrap_or_else(|_| Some("a panic".to_owned())) {
                        let words = fault.lines().take(3).collect::<Vec<_>>().join("\n");
                        eprintln!("seed {seed}: {words}");
                        wrong.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, fault);
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap_or_else(PoisonError::into_inner)
}
