//! How a workload is split over clusters: a ResourceBinding, or what was said on the command line.

use std::collections::BTreeSet;

use lockstep_api::Document;
use serde_json::Value;

use super::super::complaint::{BadInput, Complaint};
use super::super::reader::{Place, Reader};
use super::Found;
use super::clusters::Clusters;
use super::workload::Workload;
use crate::show::words;

/// The versions a binding may be written in: Karmada's own, and that of the proposal.
const VERSIONS: [&str; 2] = ["work.karmada.io/v1alpha2", "karmada.io/v1alpha2"];

/// A split.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The binding.
    pub object: Value,
    /// Where it is from.
    place: String,
}

/// The split before the change, if anything stands before it, and the one after it. Where only one is given, it is
/// both.
pub fn pair(
    before: &Found,
    after: &Found,
    from: Option<&Workload>,
    to: &Workload,
    clusters: Option<&Clusters>,
) -> Result<(Option<Binding>, Binding), BadInput> {
    let said = clusters.map(|it| Binding { object: it.to_binding(), place: "--clusters".to_owned() });
    let (old, new) = (read(before, to)?, read(after, to)?);
    let wished = said.or(new).or_else(|| old.clone());
    let Some(wished) = wished else {
        let message = "nothing says how it is split over clusters: give a ResourceBinding (-f binding.yaml, or in the \
                       same file), or --clusters member1=4,member2=6";
        return Err(BadInput(vec![Complaint::of_file(&to.file, message)]));
    };
    let stands = from.map(|from| (from, old.unwrap_or_else(|| wished.clone())));
    let mut wrong: Vec<Complaint> = Vec::new();
    wrong.extend(adds_up(&wished, to));
    wrong.extend(stands.as_ref().filter(|_| wrong.is_empty()).and_then(|(from, split)| adds_up(split, from)));
    wrong.extend(stands.as_ref().and_then(|(_, split)| leaves(split, &wished)));
    if wrong.is_empty() { Ok((stands.map(|(_, split)| split), wished)) } else { Err(BadInput(wrong)) }
}

/// The binding of some files, if there is one that is of this workload or says of none.
fn read(found: &Found, of: &Workload) -> Result<Option<Binding>, BadInput> {
    let is_of = |value: &Value| {
        let resource = &value["spec"]["resource"];
        let same = |name: &str, is: &str| resource[name].as_str().is_none_or(|said| said == is);
        same("kind", &of.kind.kind) && same("name", &of.name)
    };
    let mut found = found.bindings.iter().filter(|(_, _, value)| is_of(value));
    let Some((file, document, value)) = found.next() else { return Ok(None) };
    if let Some((file, ..)) = found.next() {
        let message = format!("a second ResourceBinding of {}; one is expected", of.called());
        return Err(BadInput(vec![Complaint::of_file(file, message)]));
    }
    check(file, document, value).map(|()| Some(Binding { object: value.clone(), place: file.clone() }))
}

fn check(file: &str, document: &Document, value: &Value) -> Result<(), BadInput> {
    let mut reader = Reader::new(file, document);
    let root = Place::root(value);
    match root.get("apiVersion") {
        Some(at) if VERSIONS.iter().any(|it| at.value == it) => {}
        Some(at) => reader.refuse(&at, format!("must be {}", VERSIONS.join(" or "))),
        None => reader.refuse(&root, format!("apiVersion is required: {}", VERSIONS.join(" or "))),
    }
    let spec = root.get("spec");
    let list = spec.as_ref().and_then(|spec| spec.get("clusters"));
    let all = spec.as_ref().and_then(|spec| spec.get("replicas"));
    let all = all.map(|at| reader.number(&at));
    let items = list.as_ref().map(|at| reader.list(at)).unwrap_or_default();
    if items.is_empty() {
        let at = list.or(spec).unwrap_or(root);
        reader.refuse(&at, "spec.clusters names no cluster: it is not scheduled yet");
    }
    let mut named = BTreeSet::new();
    for item in items {
        let replicas = item.get("replicas").map(|at| reader.number(&at));
        if replicas.is_none() && all.is_none() {
            reader.refuse(&item, "replicas is required, here or as spec.replicas for each");
        }
        let Some(at) = item.get("name") else {
            reader.refuse(&item, "name is required: which cluster");
            continue;
        };
        if let Some(name) = reader.text(&at)
            && !named.insert(name)
        {
            reader.refuse(&at, "is named twice; each cluster is named once");
        }
    }
    reader.close(Some(()))
}

/// The largest workload that is played: far above any, far below any memory.
const MOST_PODS: u64 = 100_000;

/// Whether every cluster has all replicas: where it says so, or where that is what the numbers are.
fn is_duplicated(split: &Binding, replicas: u32) -> bool {
    let scheduling = &split.object["spec"]["placement"]["replicaScheduling"]["replicaSchedulingType"];
    let clusters = lockstep_federation::binding::clusters(&split.object);
    let each_has_all = clusters.iter().all(|it| it.replicas == replicas);
    match scheduling.as_str() {
        Some(said) => said == "Duplicated",
        None => each_has_all,
    }
}

fn adds_up(split: &Binding, of: &Workload) -> Option<Complaint> {
    let (replicas, path) = (of.replicas(), &of.kind.replicas);
    let clusters = lockstep_federation::binding::clusters(&split.object);
    let sum: u64 = clusters.iter().map(|it| u64::from(it.replicas)).sum();
    if sum > MOST_PODS {
        let message = format!("spec.clusters: {sum} pods in all; up to {MOST_PODS} can be played");
        return Some(Complaint::of_file(&split.place, message));
    }
    if sum == u64::from(replicas) || is_duplicated(split, replicas) {
        return None;
    }
    let each: Vec<String> = clusters.iter().map(|it| format!("{} {}", it.cluster, it.replicas)).collect();
    let message = format!(
        "spec.clusters: {sum}: {} make {sum}, but {path} of {} in {} is {replicas}: both must be the same number",
        words::list(&each),
        of.called(),
        of.file
    );
    Some(Complaint::of_file(&split.place, message))
}

/// Karmada deletes the Work of a cluster that leaves, and with it its pods.
fn leaves(old: &Binding, new: &Binding) -> Option<Complaint> {
    let stays = lockstep_federation::binding::clusters(&new.object);
    let gone = lockstep_federation::binding::clusters(&old.object);
    let gone = gone.iter().find(|it| stays.iter().all(|other| other.cluster != it.cluster))?;
    let message = format!(
        "{} leaves the binding: Karmada deletes its {} at once, whether they can be spared or not; \
         give it 0 replicas first, and it is emptied as the others take over",
        gone.cluster,
        words::count(gone.replicas, "pod")
    );
    Some(Complaint::of_file(&new.place, message))
}
