//! Running pods and services of each dialect, one by one, as routers and start scripts know them.

mod grove;
mod kthena;
mod rbg;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use lockstep_api::label;
use lockstep_core::simulate::trace::End;
use serde_json::Value;

use crate::manifest::{with_tag, yaml};
use crate::row::{Deed, Row};
use crate::story::Story;

/// Labels or variables.
type Map = BTreeMap<String, String>;

/// What somebody relies on.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    hostname: Option<String>,
    subdomain: Option<String>,
    /// Those of the dialect.
    labels: Map,
    /// Ours, which come first, and then those of the template.
    env: Vec<Map>,
}

/// A service: whether it shows pods that are not ready, and whom it selects.
type Shown = (bool, Map);

fn map(pairs: &[(&str, &str)]) -> Map {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn with(mut map: Map, more: &[(&str, &str)]) -> Map {
    map.extend(self::map(more));
    map
}

/// A pod as it is found: its labels under these prefixes, and so many variables first.
fn found(pod: &Pod, prefixes: &[&str], ours: usize) -> Look {
    let spec = pod.spec.as_ref().expect("a spec");
    let theirs = |key: &str| prefixes.iter().any(|prefix| key.starts_with(prefix));
    let labels = pod.labels().iter().filter(|(key, _)| theirs(key));
    let mut env: Vec<(String, String)> = Vec::new();
    for (at, container) in spec.containers.iter().enumerate() {
        let of = container.env.iter().flatten();
        let of: Vec<_> = of.map(|it| (it.name.clone(), it.value.clone().unwrap_or_default())).collect();
        assert!(at == 0 || of[..ours] == env[..ours], "every container has the same: {of:?}");
        env = if at == 0 { of } else { env };
    }
    let rest = env.split_off(ours.min(env.len()));
    Look {
        hostname: spec.hostname.clone(),
        subdomain: spec.subdomain.clone(),
        labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect(),
        env: vec![env.into_iter().collect(), rest.into_iter().collect()],
    }
}

#[track_caller]
fn compare<T: std::fmt::Debug + PartialEq>(
    what: &str,
    found: &BTreeMap<String, T>,
    expected: &BTreeMap<String, T>,
) {
    let names = |all: &BTreeMap<String, T>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{what}");
    for (name, expected) in expected {
        assert_eq!(found.get(name), Some(expected), "{what} {name}");
    }
}

fn services(story: &Story) -> BTreeMap<String, Shown> {
    let shown = |service: &Service| {
        let spec = service.spec.clone().unwrap_or_default();
        assert_eq!(spec.cluster_ip.as_deref(), Some("None"), "{} is headless", service.name_any());
        let selector = spec.selector.unwrap_or_default();
        (service.name_any(), (spec.publish_not_ready_addresses == Some(true), selector))
    };
    story.services.iter().map(shown).collect()
}

/// Whom a service selects.
fn selected(story: &Story, service: &str) -> Vec<String> {
    let selector = services(story).remove(service).expect("it is there").1;
    let is = |pod: &&Pod| selector.iter().all(|(key, value)| pod.labels().get(key) == Some(value));
    story.pods.iter().filter(is).map(ResourceExt::name_any).collect()
}

/// The revision of a pod's role.
fn revision(story: &Story, pod: &str) -> String {
    label_of(story, pod, label::REVISION)
}

/// The revision of the whole set when the pod was made.
fn set_revision(story: &Story, pod: &str) -> String {
    label_of(story, pod, label::SET_REVISION)
}

fn label_of(story: &Story, pod: &str, label: &str) -> String {
    let pod = story.pods.iter().find(|it| it.name_any() == pod).unwrap_or_else(|| panic!("no pod {pod}"));
    pod.labels()[label].clone()
}

fn namespace(story: &Story) -> String {
    story.pods[0].namespace().expect("a namespace")
}

pub fn rows() -> Vec<Row> {
    let rolled = |name, object: Value, check| {
        let deeds = vec![
            Deed::Apply(object.clone(), End::Complete),
            Deed::Apply(with_tag(&object, "2"), End::Complete),
        ];
        Row::new(name, deeds, check)
    };
    vec![
        rolled("pods of a ModelServing", yaml(kthena::MODEL_SERVING), kthena::check),
        rolled("pods of a RoleBasedGroup", yaml(rbg::ROLE_BASED_GROUP), rbg::check),
        rolled("pods of a RoleBasedGroupSet", rbg::group_set(), rbg::check_set),
        rolled("pods of a PodCliqueSet", yaml(grove::POD_CLIQUE_SET), grove::check),
    ]
}
