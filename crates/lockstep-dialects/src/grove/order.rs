//! Start orders of cliques, as start orders of roles, and inside a scaling group of members.

use std::collections::{BTreeMap, BTreeSet};

use super::form::Form;
use super::spec::StartupType;
use crate::findings::Findings;

/// A clique that starts after another, and where it is said.
struct After {
    clique: String,
    other: String,
    at: String,
}

/// Who starts after whom.
pub(super) struct Orders {
    /// For each part, which parts it starts after.
    pub parts: Vec<Vec<usize>>,
    /// For cliques of a scaling group, which cliques of it they start after.
    pub cliques: BTreeMap<String, Vec<String>>,
}

/// Reads the start order.
pub(super) fn starts_after(form: &Form<'_>, found: &mut Findings<'_>) -> Orders {
    let said = match form.startup() {
        StartupType::AnyOrder => {
            unused(form, found);
            Vec::new()
        }
        StartupType::InOrder => {
            unused(form, found);
            listed(form)
        }
        StartupType::Explicit => explicit(form, found),
    };
    let cliques = inside(form, &said);
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); form.parts.len()];
    for After { clique, other, at } in said {
        let (Some(this), Some(that)) = (form.part_of(&clique), form.part_of(&other)) else { continue };
        let name = form.parts[this].name;
        if this == that {
            continue;
        }
        if reaches(&order, that, this) {
            let other = form.parts[that].name;
            let message = format!("has no effect: {other} waits for {name} already, and starts as a whole");
            found.warn(at, message);
        } else if !order[this].contains(&that) {
            order[this].push(that);
        }
    }
    Orders { parts: order, cliques }
}

/// What the order means inside each scaling group: a clique that starts after one outside of it starts after all of the
/// group that that one starts after. One that is idle passes the turn on.
fn inside(form: &Form<'_>, said: &[After]) -> BTreeMap<String, Vec<String>> {
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for After { clique, other, .. } in said {
        named.entry(clique).or_default().push(other);
    }
    let mut orders = BTreeMap::new();
    for part in form.parts.iter().filter(|part| part.group.is_some()) {
        let stands: Vec<&str> = part.members().map(|clique| clique.template.name.as_str()).collect();
        for clique in &stands {
            let mut open: Vec<&str> = named.get(clique).cloned().unwrap_or_default();
            let mut seen: BTreeSet<&str> = BTreeSet::from([*clique]);
            let mut before: BTreeSet<usize> = BTreeSet::new();
            while let Some(name) = open.pop() {
                if !seen.insert(name) {
                    continue;
                }
                match stands.iter().position(|other| *other == name) {
                    Some(other) => {
                        before.insert(other);
                    }
                    None => open.extend(named.get(name).into_iter().flatten()),
                }
            }
            if !before.is_empty() {
                let before = before.into_iter().map(|other| stands[other].to_owned()).collect();
                orders.insert((*clique).to_owned(), before);
            }
        }
    }
    orders
}

/// Whether `from` waits for `to`, directly or not.
fn reaches(order: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(part) = open.pop() {
        if part == to {
            return true;
        }
        if seen.insert(part) {
            open.extend(&order[part]);
        }
    }
    false
}

fn unused(form: &Form<'_>, found: &mut Findings<'_>) {
    for (_, clique) in form.cliques().filter(|(_, clique)| !clique.template.spec.starts_after.is_empty()) {
        found.warn(
            format!("{}.spec.startsAfter", clique.at),
            "has no effect without cliqueStartupType: CliqueStartupTypeExplicit",
        );
    }
}

/// Each clique after the one before it.
fn listed(form: &Form<'_>) -> Vec<After> {
    let names: Vec<&str> = form.spec.template.cliques.iter().map(|clique| clique.name.as_str()).collect();
    let after = |pair: &[&str]| After {
        clique: pair[1].to_owned(),
        other: pair[0].to_owned(),
        at: "spec.template.cliqueStartupType".to_owned(),
    };
    names.windows(2).map(after).collect()
}

/// What each clique says itself: every name known, none twice, and no circle.
fn explicit(form: &Form<'_>, found: &mut Findings<'_>) -> Vec<After> {
    let cliques = &form.spec.template.cliques;
    let mut said = Vec::new();
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); cliques.len()];
    for (i, clique) in cliques.iter().enumerate() {
        for (k, other) in clique.spec.starts_after.iter().enumerate() {
            let at = format!("spec.template.cliques[{i}].spec.startsAfter[{k}]");
            let Some(that) = cliques.iter().position(|it| it.name == *other) else {
                let names: Vec<&str> = cliques.iter().map(|it| it.name.as_str()).collect();
                found.error(at, format!("no such clique; the cliques are {}", names.join(", ")));
                continue;
            };
            if that == i {
                found.error(at, "a clique cannot start after itself");
            } else if order[i].contains(&that) {
                found.error(at, "listed twice");
            } else if reaches(&order, that, i) {
                found.error(
                    at,
                    format!("a circle that could never start: {other} starts after {}", clique.name),
                );
            } else {
                order[i].push(that);
                said.push(After { clique: clique.name.clone(), other: other.clone(), at });
            }
        }
    }
    said
}
