//! Objects of kinds that nobody here knows, in files without any that somebody does.

use std::cmp::Reverse;

use k8s_openapi::Resource;
use lockstep_api::budget::PodUnavailableBudget;
use lockstep_api::{API_VERSION, Document, KIND, Problem};
use serde_json::Value;

use super::complaint::Complaint;
use super::theirs;

/// What is to be said of a file in which nothing becomes a set; nothing if it holds a set, be it a misspelt one, or no
/// Kubernetes objects at all.
pub fn read(file: &str, text: &str) -> Vec<Complaint> {
    let Ok(documents) = Document::all(text) else { return Vec::new() };
    let objects: Vec<Value> = documents.iter().map(Document::to_json).collect();
    if objects.iter().any(|object| !is_of_others(object)) {
        return Vec::new();
    }
    let alone = objects.len() == 1;
    let told = |(document, object): (&Document, &Value)| {
        let problem = problem(object, alone)?;
        let line = document.line_of(&problem.path);
        Some(Complaint::error(file, Problem { line, ..problem }))
    };
    documents.iter().zip(&objects).filter_map(told).collect()
}

/// An object that says what it is, and is none of ours.
fn is_of_others(object: &Value) -> bool {
    let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
    let ours = [KIND, PodUnavailableBudget::KIND];
    let group = API_VERSION.split('/').next().unwrap_or_default();
    version.is_some_and(|version| version.split('/').next() != Some(group))
        && kind.is_some_and(|kind| !ours.contains(&kind))
}

/// What may be written here: kind, and group and version.
fn known() -> Vec<(String, String)> {
    let theirs = lockstep_dialects::ALL.into_iter().flat_map(|dialect| dialect.kinds());
    let theirs =
        theirs.filter(|kind| kind.becomes_set).map(|kind| (kind.kind.to_owned(), kind.api_version()));
    std::iter::once((KIND.to_owned(), API_VERSION.to_owned())).chain(theirs).collect()
}

/// What is wrong with an object: alone, or among others that may rightly stand beside a set.
fn problem(object: &Value, alone: bool) -> Option<Problem> {
    let (version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
    let say = |path: &str, value: &str, message: String| {
        let value = Some(Value::from(value).to_string());
        Some(Problem { path: path.to_owned(), value, message, line: None })
    };
    if theirs::is_known(object) {
        let message = "becomes no set by itself; it is read beside the objects of the same file that do";
        return say("kind", kind, message.to_owned()).filter(|_| alone);
    }
    let group = |version: &str| version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let mut known = known();
    if let Some((_, right)) = known.iter().find(|(known, _)| known == kind) {
        return say("apiVersion", version, format!("{kind} is known here as {right}"));
    }
    if !alone && known.iter().all(|(_, known)| group(known) != group(version)) {
        return None;
    }
    let alike = |known: &str| known.chars().zip(kind.chars()).take_while(|(a, b)| a == b).count();
    known.sort_by_key(|(kind, known)| (group(known) != group(version), Reverse(alike(kind))));
    let known: Vec<String> = known.iter().map(|(kind, version)| format!("{kind} ({version})")).collect();
    say("kind", kind, format!("not known here as one of {version}; known are {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(objects: &[(&str, &str)]) -> Vec<String> {
        let text = |(version, kind): &(&str, &str)| format!("apiVersion: {version}\nkind: {kind}\n");
        let texts: Vec<String> = objects.iter().map(text).collect();
        read("f", &texts.join("---\n")).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_nobody_knows_is_said_with_what_is_known_the_nearest_first() {
        for (version, kind, told) in [
            (
                "grove.io/v1alpha1",
                "PodGangSet",
                "f:2: error: kind: \"PodGangSet\": not known here as one of grove.io/v1alpha1; known are PodCliqueSet \
                 (grove.io/v1alpha1), ",
            ),
            (
                "workload.kthena.io/v1alpha1",
                "ModelServing",
                "f:1: error: apiVersion: \"workload.kthena.io/v1alpha1\": ModelServing is known here as \
                 workload.serving.volcano.sh/v1alpha1",
            ),
            (
                "workloads.x-k8s.io/v1alpha2",
                "RoleBaseGroup",
                "f:2: error: kind: \"RoleBaseGroup\": not known here as one of workloads.x-k8s.io/v1alpha2; known are \
                 RoleBasedGroup (workloads.x-k8s.io/v1alpha2), RoleBasedGroupSet (",
            ),
            (
                "grove.io/v1alpha1",
                "ClusterTopologyBinding",
                "f:2: error: kind: \"ClusterTopologyBinding\": becomes no set by itself",
            ),
        ] {
            let all = said(&[(version, kind)]);
            assert!(all.len() == 1 && all[0].starts_with(told), "{all:#?}");
        }
        let known = said(&[("apps/v1", "Deployment")]).concat();
        assert!(known.contains("LockstepSet (lockstep.dev/v1alpha1)"), "{known}");
    }

    #[test]
    fn of_several_only_what_looks_like_one_that_is_known() {
        let both = said(&[("v1", "Namespace"), ("core.grove.io/v1alpha1", "PodCliqueSet")]);
        assert_eq!(
            both,
            [
                "f:4: error: apiVersion: \"core.grove.io/v1alpha1\": PodCliqueSet is known here as grove.io/v1alpha1"
            ]
        );
        assert_eq!(said(&[("v1", "Namespace"), ("v1", "Service")]), Vec::<String>::new());
    }

    #[test]
    fn a_misspelt_set_is_not_for_here() {
        for (version, kind) in [("lockstep.dev/v1alpha1", "LockstpSet"), ("lockstep.io/v1", "LockstepSet")] {
            assert_eq!(said(&[(version, kind)]), Vec::<String>::new(), "{kind}");
        }
    }
}
