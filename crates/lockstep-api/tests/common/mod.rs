//! Manifests for tests, and what is said about them.

#![allow(dead_code)]

use lockstep_api::parse;

const TEMPLATE: &str = "{spec: {containers: [{name: main, image: 'vllm:1'}]}}";

/// A manifest from what stands below `spec:`; `$T` is a pod template.
pub fn manifest(spec: &str) -> String {
    let spec = spec.replace("$T", TEMPLATE);
    format!(
        "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {{name: llama}}\nspec:\n  {spec}\n"
    )
}

/// The same with two decode and four prefill.
pub fn with_roles(spec: &str) -> String {
    manifest(&format!(
        "{spec}\n  roles: [{{name: decode, replicas: 2, template: $T}}, {{name: prefill, replicas: 4, template: $T}}]"
    ))
}

/// Everything that is said about a manifest: errors with `!`, or warnings with `?` before them.
pub fn complaints(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(parsed) => parsed.warnings.iter().map(|problem| format!("? {problem}")).collect(),
        Err(problems) => problems.iter().map(|problem| format!("! {problem}")).collect(),
    }
}
