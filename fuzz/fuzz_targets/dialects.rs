//! Objects of other projects, however odd, become sets, are converted and spoken of, or are refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstep_api::Document;
use lockstep_api::status::LockstepSetStatus;
use lockstep_dialects::{Seen, Served, World, of};
use serde_json::Value;

fuzz_target!(|text: &str| {
    let Ok(documents) = Document::all(text) else { return };
    let objects: Vec<Value> = documents.iter().map(Document::to_json).collect();
    let served = Served { pod_groups: true, volcano: true, pod_gangs: true };
    let world = World { objects: objects.clone(), served, partial: true };
    for object in &objects {
        let Some((dialect, kind)) = of(object) else { continue };
        let lowered = dialect.lower(object, &world);
        if let Err(problems) = &lowered {
            assert!(problems.iter().any(|problem| !problem.to_string().is_empty()));
        }
        let status = LockstepSetStatus::default();
        let lowered_or = lowered.as_ref().map_err(Vec::as_slice);
        let now = "2026-01-01T00:00:00Z";
        let seen = Seen { lowered: lowered_or, status: &status, current: true, lacking: &[], now };
        let _ = dialect.raise(object, &seen, &world);
        let _ = dialect.forbidden_changes(object, object);
        for version in kind.versions {
            let Ok(there) = dialect.convert(object, &format!("{}/{version}", kind.group)) else { continue };
            if let Ok(lowered) = &lowered {
                let again = dialect.lower(&there, &world).map(|again| again.set);
                assert_eq!(again.as_ref(), Ok(&lowered.set), "in {version} it is another");
            }
        }
    }
});
