//! Which cliques are in which scaling group.

use std::collections::BTreeMap;

use super::spec::{PodCliqueSetSpec, ScalingGroup};
use crate::findings::Findings;

/// For each scaling group the cliques in it, by their place. A clique is in one group at most.
pub(super) fn groups(spec: &PodCliqueSetSpec, found: &mut Findings<'_>) -> Vec<Vec<usize>> {
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut groups = Vec::new();
    for (g, group) in spec.template.pod_clique_scaling_groups.iter().enumerate() {
        let at = format!("spec.template.podCliqueScalingGroups[{g}].cliqueNames");
        let mut members = Vec::new();
        for (k, name) in names(spec, group, &at, found).iter().enumerate() {
            let place = format!("{at}[{k}]");
            let Some(i) = spec.template.cliques.iter().position(|clique| clique.name == *name) else {
                found.error(place, format!("no such clique; the cliques are {}", all(spec)));
                continue;
            };
            match taken.insert(i, g) {
                Some(other) if other == g => found.error(place, "listed twice"),
                Some(other) => {
                    let other = &spec.template.pod_clique_scaling_groups[other].name;
                    found.error(place, format!("is in scaling group {other} already"));
                }
                None => members.push(i),
            }
        }
        if members.is_empty() && !found.is_broken() {
            found.error(at, "at least one clique is needed");
        }
        groups.push(members);
    }
    groups
}

/// The names that are listed; if there is no list, the clique that is named like the group, or those whose names
/// start with its name.
fn names(spec: &PodCliqueSetSpec, group: &ScalingGroup, at: &str, found: &mut Findings<'_>) -> Vec<String> {
    if let Some(names) = &group.clique_names {
        return names.clone();
    }
    let cliques = spec.template.cliques.iter().map(|clique| clique.name.as_str());
    let prefix = format!("{}-", group.name);
    let alike: Vec<String> = match cliques.clone().find(|name| *name == group.name) {
        Some(same) => vec![same.to_owned()],
        None => cliques.filter(|name| name.starts_with(&prefix)).map(str::to_owned).collect(),
    };
    match alike.as_slice() {
        [] => found.error(at, format!("required: which of {}", all(spec))),
        some => found.warn(at, format!("not given: taken to be {}, by name", some.join(" and "))),
    }
    alike
}

fn all(spec: &PodCliqueSetSpec) -> String {
    spec.template.cliques.iter().map(|clique| clique.name.as_str()).collect::<Vec<_>>().join(", ")
}
