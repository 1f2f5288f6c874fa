//! How Karmada is told to say back what is in force, and never to go back to an older lease.
//!
//! A ResourceInterpreterCustomization per kind, with two scripts. `ReflectStatus` gives the workload's own status and,
//! beside it, the lease, the template's hash, the replicas and the strategy that are in force. `Retain` keeps what is
//! live when an older lease arrives late. Of a kind that it does not know Karmada is also told how many there are to be,
//! and how to add up what the members say of them.

use serde_json::{Value, json};

use crate::interpret::{self, Interpretation};
use crate::path::Path;
use crate::work::{AT_REST, GENERATION, RETAIN_REPLICAS};
use crate::{GIVEN_BACK, IN_FORCE, LEASE, TEMPLATE, lease_of};

/// The customization for a kind.
pub fn of(kind: &Interpretation) -> Value {
    let mut customizations = json!({
        "statusReflection": {"luaScript": reflect_script(kind)},
        "retention": {"luaScript": retain_script(kind)},
    });
    if !COUNTED_BY_KARMADA.contains(&kind.kind.as_str()) {
        customizations["replicaResource"] = json!({"luaScript": count_script(kind)});
        customizations["replicaRevision"] = json!({"luaScript": revise_script(kind)});
    }
    if is_added_up(kind) {
        customizations["statusAggregation"] = json!({"luaScript": aggregate_script()});
    }
    json!({
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name(kind), "labels": {"app.kubernetes.io/managed-by": "lockstep"}},
        "spec": {
            "target": {"apiVersion": kind.api_version, "kind": kind.kind},
            "customizations": customizations,
        },
    })
}

/// Of these Karmada knows by itself how many there are to be, and what its members say it adds up. Of others it would
/// give each cluster all of them, and say nothing of what became of them.
const COUNTED_BY_KARMADA: [&str; 3] = ["Deployment", "StatefulSet", "CloneSet"];

/// Whether we add up what members say. Of a kind that somebody brings along nobody here knows what its status means, and
/// Karmada may.
fn is_added_up(kind: &Interpretation) -> bool {
    !COUNTED_BY_KARMADA.contains(&kind.kind.as_str()) && interpret::built_in().contains(kind)
}

/// What it is called: two kinds of one word are of different groups.
pub fn name(kind: &Interpretation) -> String {
    let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    format!("lockstep-{}.{version}{group}", kind.kind.to_lowercase())
}

/// Where another customization speaks for the same kind as ours does; nowhere, if it is not in the way.
pub fn in_the_way(kind: &Interpretation, other: &Value) -> Vec<String> {
    let target = &other["spec"]["target"];
    let same = target["apiVersion"] == kind.api_version.as_str() && target["kind"] == kind.kind.as_str();
    if !same || other["metadata"]["name"] == name(kind).as_str() {
        return Vec::new();
    }
    let ours = of(kind);
    let ours = ours["spec"]["customizations"].as_object().into_iter().flat_map(|all| all.keys());
    ours.filter(|what| !other["spec"]["customizations"][what.as_str()].is_null()).cloned().collect()
}

fn reflect_script(kind: &Interpretation) -> String {
    let strategy: String = kind
        .strategy_paths()
        .map(|(field, path)| format!("  inForce.strategy.{} = {}\n", word(field), read("observedObj", path)))
        .collect();
    let at_rest = kind.at_rest.iter();
    let at_rest: String = at_rest
        .map(|condition| format!("  inForce.{AT_REST} = holds(observedObj, \"{condition}\")\n"))
        .collect();
    include_str!("lua/reflect.lua")
        .replace("$IN_FORCE", IN_FORCE)
        .replace("$LEASE", LEASE)
        .replace("$TEMPLATE", TEMPLATE)
        .replace("$GENERATION", GENERATION)
        .replace("$REPLICAS", &read("observedObj", &kind.replicas))
        .replace("  $STRATEGY\n", &strategy)
        .replace("  $AT_REST\n", &at_rest)
}

fn count_script(kind: &Interpretation) -> String {
    include_str!("lua/count.lua").replace("$REPLICAS", &read("observedObj", &kind.replicas))
}

/// What is added up over the members of a kind that Karmada does not know.
pub const ADDED_UP: [&str; 3] = ["replicas", "readyReplicas", "updatedReplicas"];

fn aggregate_script() -> String {
    include_str!("lua/aggregate.lua")
        .replace("$COUNTS", &ADDED_UP.map(|name| format!("\"{name}\"")).join(", "))
}

fn revise_script(kind: &Interpretation) -> String {
    include_str!("lua/revise.lua").replace("$NAMES", &quoted(&kind.replicas))
}

fn retain_script(kind: &Interpretation) -> String {
    let kept: String = kept_paths(kind).map(|path| format!("    {}\n", keep(path))).collect();
    include_str!("lua/retain.lua")
        .replace("$LEASE", LEASE)
        .replace("$GIVEN_BACK", GIVEN_BACK)
        .replace("$TEMPLATE", TEMPLATE)
        .replace("$GENERATION", GENERATION)
        .replace("    $KEEP\n", &kept)
        .replace("$REPLICAS", &keep(&kind.replicas))
}

/// What the script `Retain` leaves of what is to be applied, for whoever applies without Karmada: an older lease that
/// arrives late changes nothing of what a later one said.
pub fn retain(kind: &Interpretation, desired: &Value, observed: &Value) -> Value {
    let mut kept = desired.clone();
    if desired["metadata"]["labels"][RETAIN_REPLICAS] == "true" {
        kind.replicas.copy(observed, &mut kept);
    }
    let given_back = desired["metadata"]["annotations"][LEASE] == GIVEN_BACK;
    let is_older =
        lease_of(observed).is_some_and(|live| lease_of(desired).is_none_or(|incoming| incoming < live));
    if !is_older || given_back {
        return kept;
    }
    for path in kept_paths(kind) {
        path.copy(observed, &mut kept);
    }
    for name in [LEASE, TEMPLATE, GENERATION] {
        kept["metadata"]["annotations"][name] = observed["metadata"]["annotations"][name].clone();
    }
    kept
}

fn kept_paths(kind: &Interpretation) -> impl Iterator<Item = &Path> {
    kind.template.iter().chain([&kind.replicas]).chain(kind.strategy_paths().map(|(_, path)| path))
}

fn word(field: crate::interpret::Field) -> &'static str {
    use crate::interpret::Field;
    match field {
        Field::Paused => "paused",
        Field::Partition => "partition",
        Field::MaxUnavailable => "maxUnavailable",
        Field::MaxSurge => "maxSurge",
    }
}

fn quoted(path: &Path) -> String {
    path.names().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

fn read(object: &str, path: &Path) -> String {
    format!("read({object}, {{{}}})", quoted(path))
}

fn keep(path: &Path) -> String {
    format!("keep(desiredObj, observedObj, {{{}}})", quoted(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret;

    #[test]
    fn scripts_name_every_field() {
        for kind in interpret::built_in() {
            let made = of(kind);
            let scripts = &made["spec"]["customizations"];
            for script in ["statusReflection", "retention"] {
                let text = scripts[script]["luaScript"].as_str().unwrap();
                assert!(!text.contains('$'), "{text}");
                assert!(text.contains("\"maxUnavailable\""), "{text}");
            }
            let added_up = scripts["statusAggregation"]["luaScript"].as_str();
            assert_eq!(added_up.is_none(), COUNTED_BY_KARMADA.contains(&kind.kind.as_str()), "{}", kind.kind);
            assert!(added_up.is_none_or(|text| text.contains("{\"replicas\", ") && !text.contains('$')));
        }
    }

    #[test]
    fn an_older_lease_takes_nothing_back() {
        let kind = &interpret::built_in()[0];
        let workload = |lease: Option<&str>, replicas: u32, image: &str| {
            json!({
                "metadata": {"annotations": {LEASE: lease, TEMPLATE: image, GENERATION: "3"}, "labels": {"a": image}},
                "spec": {"replicas": replicas, "paused": replicas == 4, "template": {"image": image}},
            })
        };
        let live = workload(Some("7"), 4, "live");
        let rows = [
            (Some("6"), true),
            (None, true),
            (Some("7"), false),
            (Some("12"), false),
            (Some(GIVEN_BACK), false),
        ];
        for (incoming, kept) in rows {
            let desired = workload(incoming, 9, "incoming");
            let applied = retain(kind, &desired, &live);
            let expected = if kept { &live } else { &desired };
            for field in ["/spec", "/metadata/annotations"] {
                assert_eq!(applied.pointer(field), expected.pointer(field), "{incoming:?}");
            }
            assert_eq!(applied["metadata"]["labels"]["a"], "incoming", "what is no business of a lease");
        }
    }

    #[test]
    fn a_customization_of_somebody_else_is_known() {
        let kind = &interpret::built_in()[0];
        let mut other = of(kind);
        assert!(in_the_way(kind, &other).is_empty());
        other["metadata"]["name"] = json!("mine");
        assert_eq!(in_the_way(kind, &other), ["retention", "statusReflection"]);
        other["spec"]["customizations"] = json!({"healthInterpretation": {"luaScript": ""}});
        assert!(in_the_way(kind, &other).is_empty());
        other["spec"]["customizations"]["statusAggregation"] = json!({"luaScript": ""});
        assert!(in_the_way(kind, &other).is_empty(), "Karmada adds up Deployments, and so may anybody");
        let sets = interpret::built_in().iter().find(|kind| kind.kind == "LockstepSet").unwrap();
        other["spec"]["target"] = of(sets)["spec"]["target"].clone();
        assert_eq!(in_the_way(sets, &other), ["statusAggregation"]);
    }

    #[test]
    fn what_the_status_of_a_kind_of_ones_own_means_nobody_here_knows() {
        let mut own = interpret::built_in().iter().find(|kind| kind.kind == "LockstepSet").unwrap().clone();
        assert!(!of(&own)["spec"]["customizations"]["statusAggregation"].is_null());
        own.api_version = "example.com/v1".to_owned();
        let made = of(&own);
        assert!(made["spec"]["customizations"]["statusAggregation"].is_null());
        assert!(!made["spec"]["customizations"]["replicaResource"].is_null());
    }
}
