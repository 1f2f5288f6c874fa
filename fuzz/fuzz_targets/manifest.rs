//! A manifest, however odd, is read and lowered, or refused with a reason that can be shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstep_api::{check, lower, parse};

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(parsed) => {
            let spec = lower(&parsed.set);
            assert_eq!(spec.roles.len(), parsed.set.spec.roles.len());
            let again = check(&parsed.set).map(|again| again.set);
            assert_eq!(again, Ok(parsed.set), "written out and read again it is another");
        }
        Err(problems) => assert!(problems.iter().any(|problem| !problem.to_string().is_empty())),
    }
});
