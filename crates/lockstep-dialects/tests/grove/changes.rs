//! Changes that a set cannot follow.

use crate::support::{grove, object};

const OLD: &str = "replicas: 1\ntemplate:\n  cliqueStartupType: CliqueStartupTypeExplicit\n  cliques:\n  - {name: a, spec: {roleName: ra, replicas: 3, minAvailable: 2, podSpec: $P}}\n  - {name: b, spec: {podSpec: $P, startsAfter: [a]}}\n  - {name: c, spec: {podSpec: $P}}\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [b], replicas: 2}]";

/// Edits, and what is said of them.
type Row = (&'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn rows() {
    let rows: &[Row] = &[
        (&[("replicas: 1", "replicas: 5")], &[]),
        (&[("replicas: 3", "replicas: 4")], &[]),
        (&[("replicas: 2}", "replicas: 3, updateStrategy: {maxSurge: 1}}")], &[]),
        (
            &[("minAvailable: 2", "minAvailable: 3")],
            &["spec.template.cliques[0].spec.minAvailable: 3: cannot be changed from 2"],
        ),
        (
            &[("roleName: ra", "roleName: rb")],
            &["spec.template.cliques[0].spec.roleName: \"rb\": cannot be changed from ra"],
        ),
        (
            &[("startsAfter: [a]", "startsAfter: [c]")],
            &["spec.template.cliques[1].spec.startsAfter: cannot be changed from a"],
        ),
        (
            &[("Explicit", "AnyOrder")],
            &[
                "spec.template.cliqueStartupType: \"CliqueStartupTypeAnyOrder\": cannot be changed from CliqueStartupTypeExplicit",
            ],
        ),
        (
            &[("name: c", "name: d")],
            &[
                "spec.template.cliques[2].name: \"d\": d cannot be added to a set that stands",
                "spec.template.cliques: c cannot be removed from a set that stands",
            ],
        ),
        (
            &[("cliqueNames: [b]", "cliqueNames: [b, c], minAvailable: 2")],
            &[
                "spec.template.podCliqueScalingGroups[0].cliqueNames: cannot be changed from b",
                "spec.template.podCliqueScalingGroups[0].minAvailable: 2: cannot be changed from 1",
            ],
        ),
        (
            &[("name: sg", "name: sh")],
            &[
                "spec.template.podCliqueScalingGroups[0].name: \"sh\": sh cannot be added to a set that stands",
                "spec.template.podCliqueScalingGroups: sg cannot be removed from a set that stands",
            ],
        ),
    ];
    for (edits, expected) in rows {
        let new = edits.iter().fold(OLD.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        let said: Vec<String> =
            grove().forbidden_changes(&object(OLD), &object(&new)).iter().map(ToString::to_string).collect();
        assert_eq!(&said, expected, "{edits:?}");
    }
}

#[test]
fn the_order_of_cliques_that_start_in_order() {
    let old = "replicas: 1\ntemplate:\n  cliqueStartupType: CliqueStartupTypeInOrder\n  cliques:\n  - {name: a, spec: {podSpec: $P}}\n  - {name: b, spec: {podSpec: $P}}";
    let new = old.replace("name: a", "name: x").replace("name: b", "name: a").replace("name: x", "name: b");
    let said = grove().forbidden_changes(&object(old), &object(&new));
    assert_eq!(said[0].to_string(), "spec.template.cliques: must stay in the order a, b");
    let any = |text: &str| text.replace("InOrder", "AnyOrder");
    assert_eq!(grove().forbidden_changes(&object(&any(old)), &object(&any(&new))), []);
}
