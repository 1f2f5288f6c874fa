//! Changes that a set cannot follow.

use serde_json::Value;

use super::form::Form;
use super::spec::{PodCliqueSetSpec, StartupType};
use crate::findings::Findings;

/// Everything that was changed and must not be. `old` was accepted; `new` is looked at by others too.
pub(super) fn forbidden(
    old: (&Value, &PodCliqueSetSpec),
    new: (&Value, &PodCliqueSetSpec),
    found: &mut Findings<'_>,
) {
    // What either of them says of itself is told elsewhere.
    let (old, new) = (form(old), form(new));
    composition(&old, &new, found);
    if old.startup() != new.startup() {
        found.error(
            "spec.template.cliqueStartupType",
            format!("cannot be changed from CliqueStartupType{:?}", old.startup()),
        );
    }
    cliques(&old, &new, found);
    groups(&old, &new, found);
}

fn form<'a>((object, spec): (&'a Value, &'a PodCliqueSetSpec)) -> Form<'a> {
    Form::of(object, spec, &mut Findings::new(object))
}

/// The same cliques and scaling groups, and where the order of cliques means something, in the same order.
fn composition(old: &Form<'_>, new: &Form<'_>, found: &mut Findings<'_>) {
    let cliques = |form: &Form<'_>| -> Vec<String> {
        form.spec.template.cliques.iter().map(|clique| clique.name.clone()).collect()
    };
    let groups = |form: &Form<'_>| -> Vec<String> {
        form.spec.template.pod_clique_scaling_groups.iter().map(|group| group.name.clone()).collect()
    };
    let lists = [
        ("spec.template.cliques", cliques(old), cliques(new)),
        ("spec.template.podCliqueScalingGroups", groups(old), groups(new)),
    ];
    for (at, before, after) in lists {
        for (i, name) in after.iter().enumerate().filter(|(_, name)| !before.contains(name)) {
            found.error(format!("{at}[{i}].name"), format!("{name} cannot be added to a set that stands"));
        }
        for name in before.iter().filter(|name| !after.contains(name)) {
            found.error(at, format!("{name} cannot be removed from a set that stands"));
        }
    }
    let (before, after) = (cliques(old), cliques(new));
    let same = before.len() == after.len() && before.iter().all(|name| after.contains(name));
    if same && before != after && new.startup() == StartupType::InOrder {
        found.error("spec.template.cliques", format!("must stay in the order {}", before.join(", ")));
    }
}

fn cliques(old: &Form<'_>, new: &Form<'_>, found: &mut Findings<'_>) {
    for (_, clique) in new.cliques() {
        let name = &clique.template.name;
        let Some((_, before)) = old.cliques().find(|(_, it)| it.template.name == *name) else { continue };
        let (was, is) = (&before.template.spec, &clique.template.spec);
        if let (Some(was), Some(is)) = (&was.role_name, &is.role_name)
            && was != is
        {
            found.error(format!("{}.spec.roleName", clique.at), format!("cannot be changed from {was}"));
        }
        // A minimum that was never given follows the number of pods.
        if was.min_available != is.min_available && before.min_available.value != clique.min_available.value {
            let was = before.min_available.value;
            found.error(clique.min_available.at.clone(), format!("cannot be changed from {was}"));
        }
        if was.starts_after != is.starts_after && new.startup() == StartupType::Explicit {
            let was =
                if was.starts_after.is_empty() { "nothing".to_owned() } else { was.starts_after.join(", ") };
            found.error(format!("{}.spec.startsAfter", clique.at), format!("cannot be changed from {was}"));
        }
    }
}

fn groups(old: &Form<'_>, new: &Form<'_>, found: &mut Findings<'_>) {
    for part in new.parts.iter().filter(|part| part.group.is_some()) {
        let Some(before) = old.parts.iter().find(|it| it.group.is_some() && it.name == part.name) else {
            continue;
        };
        let names = |part: &super::form::Part<'_>| -> Vec<String> {
            part.cliques.iter().map(|clique| clique.template.name.clone()).collect()
        };
        if names(before) != names(part) {
            let was = names(before).join(", ");
            found.error(format!("{}.cliqueNames", part.at), format!("cannot be changed from {was}"));
        }
        if before.min_available.value != part.min_available.value {
            let was = before.min_available.value;
            found.error(part.min_available.at.clone(), format!("cannot be changed from {was}"));
        }
    }
}
