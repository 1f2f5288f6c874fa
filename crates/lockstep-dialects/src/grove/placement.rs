//! Topology constraints, as pod affinity.
//!
//! A domain is a node label. Pods that are packed together have affinity to those that share their values of some
//! labels, which the API server fills in (`matchLabelKeys`). Of several domains that are required of a pod, pod affinity
//! can only hold one: the innermost.

use serde_json::{Map, Value, json};

use super::form::{Clique, Form, Part};
use super::identity::{CLIQUE, GROUP, GROUP_REPLICA, PART_OF, REPLICA};
use super::kinds;
use super::spec::{TopologyConstraint, TopologySpec};
use crate::findings::Findings;
use crate::world::World;

/// A constraint, where it is written, and the labels that tell apart what it packs.
#[derive(Clone)]
struct Level<'a> {
    constraint: &'a TopologyConstraint,
    at: String,
    keys: &'static [&'static str],
}

/// What came of looking for the node labels of all domains that a set names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// What was looked for and not found: where, and in a sentence.
    pub missing: Vec<(String, String)>,
    /// What nobody here can know: where, and what it takes.
    pub unknown: Vec<(String, String)>,
    /// Whether anything was looked for.
    pub asked: bool,
}

/// Why there is no node label for a domain.
enum Miss {
    /// There is none.
    None(String),
    /// There may be one: what it takes.
    Unknown(String),
}

/// One domain that pods of a clique are packed into.
struct Ask<'a> {
    level: Level<'a>,
    key: Result<String, Miss>,
    required: bool,
}

/// Every constraint that has something wrong with itself, or no effect.
pub(super) fn check(form: &Form<'_>, world: &World, found: &mut Findings<'_>) {
    let Known { missing, unknown, .. } = known(form, world);
    for (at, why) in missing {
        found.warn(at, format!("has no effect: {why}"));
    }
    for (at, what) in unknown {
        found.warn(at, format!("takes effect only where the cluster has {what}, which is not known here"));
    }
    for (at, why) in yielding(form, world) {
        found.warn(at, why);
    }
    for level in all(form) {
        let TopologyConstraint { topology_name, pack, pack_domain } = level.constraint;
        let required = pack.as_ref().and_then(|pack| pack.required.as_ref());
        let preferred = pack.as_ref().and_then(|pack| pack.preferred.as_ref());
        if required.is_some() && pack_domain.is_some() {
            found.error(
                format!("{}.packDomain", level.at),
                "the former name of pack.required; keep one of them",
            );
        } else if required.or(preferred).or(pack_domain.as_ref()).is_none() && topology_name.is_none() {
            found.warn(level.at, "has no effect: names neither a topology nor a domain");
        }
    }
}

/// Adds to a pod spec what the constraints above it ask for, as far as their domains are known.
pub(super) fn place(
    form: &Form<'_>,
    part: &Part<'_>,
    clique: &Clique<'_>,
    world: &World,
    pod_spec: &mut Value,
) {
    let asks = asks(form, part, clique, world);
    let innermost = asks.iter().rposition(|ask| ask.required && ask.key.is_ok());
    for (i, Ask { level, key, required }) in asks.iter().enumerate() {
        if let Ok(key) = key {
            add(pod_spec, &term(form, level, key), *required && innermost == Some(i));
        }
    }
}

/// What is required and only preferred, because a level below requires a domain, too: where, and in a sentence. A
/// scheduler takes pods as being near only if they match all that is required of a pod: of two levels the wider would
/// hold nothing as soon as a pod is the first of the narrower.
pub(super) fn yielding(form: &Form<'_>, world: &World) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, Vec<String>)> = Vec::new();
    for (part, clique) in form.cliques() {
        let holds = |ask: &Ask<'_>| ask.required && !matches!(ask.key, Err(Miss::None(_)));
        let mut required: Vec<String> =
            asks(form, part, clique, world).into_iter().filter(holds).map(|ask| ask.level.at).collect();
        let Some(inner) = required.pop() else { continue };
        for outer in required {
            match pairs.iter_mut().find(|(at, _)| *at == outer) {
                Some((_, below)) if below.contains(&inner) => {}
                Some((_, below)) => below.push(inner.clone()),
                None => pairs.push((outer, vec![inner.clone()])),
            }
        }
    }
    let told = |(at, below): (String, Vec<String>)| {
        let why = format!(
            "preferred, not required, for pods of which {} requires a domain, too: pod affinity holds one required \
             domain of a pod; both would take a scheduler that packs whole PodGangs",
            below.join(" or ")
        );
        (at, why)
    };
    pairs.into_iter().map(told).collect()
}

/// Every domain that the pods of a clique are packed into, the widest first.
fn asks<'a>(form: &Form<'a>, part: &Part<'a>, clique: &Clique<'a>, world: &World) -> Vec<Ask<'a>> {
    let mut all = Vec::new();
    for (level, name) in named(around(form, part, clique)) {
        for (domain, required) in domains(level.constraint) {
            all.push(Ask { level: level.clone(), key: key(world, name, domain), required });
        }
    }
    all
}

/// Whether the node labels of all domains are known.
pub(super) fn known(form: &Form<'_>, world: &World) -> Known {
    let mut known = Known::default();
    for (part, clique) in form.cliques() {
        for (level, name) in named(around(form, part, clique)) {
            known.asked = true;
            for (domain, _) in domains(level.constraint) {
                let (list, why) = match key(world, name, domain) {
                    Ok(_) => continue,
                    Err(Miss::None(why)) => (&mut known.missing, why),
                    Err(Miss::Unknown(what)) => (&mut known.unknown, what),
                };
                let said = (level.at.clone(), why);
                if !list.contains(&said) {
                    list.push(said);
                }
            }
        }
    }
    known
}

/// Each constraint with the topology it means: its own, or that of the level above.
fn named<'a>(levels: Vec<Level<'a>>) -> Vec<(Level<'a>, Option<&'a str>)> {
    let mut above = None;
    let own = |level: Level<'a>| {
        above = level.constraint.topology_name.as_deref().or(above);
        (level, above)
    };
    levels.into_iter().map(own).collect()
}

/// The constraints that hold for a clique, the widest first.
fn around<'a>(form: &Form<'a>, part: &Part<'a>, clique: &Clique<'a>) -> Vec<Level<'a>> {
    let level = |constraint: Option<&'a TopologyConstraint>, at: &str, keys| {
        constraint.map(|constraint| Level { constraint, at: format!("{at}.topologyConstraint"), keys })
    };
    let set = level(form.spec.template.topology_constraint.as_ref(), "spec.template", &[REPLICA]);
    let group = part.group.and_then(|group| group.topology_constraint.as_ref());
    let group = level(group, &part.at, &[GROUP, GROUP_REPLICA]);
    let clique = level(clique.template.topology_constraint.as_ref(), &clique.at, &[CLIQUE]);
    [set, group, clique].into_iter().flatten().collect()
}

/// All constraints, each once.
fn all<'a>(form: &Form<'a>) -> Vec<Level<'a>> {
    let mut levels: Vec<Level<'a>> = Vec::new();
    for (part, clique) in form.cliques() {
        for level in around(form, part, clique) {
            if !levels.iter().any(|known| known.at == level.at) {
                levels.push(level);
            }
        }
    }
    levels
}

fn domains(constraint: &TopologyConstraint) -> Vec<(&str, bool)> {
    let pack = constraint.pack.as_ref();
    let required = pack.and_then(|pack| pack.required.as_deref()).or(constraint.pack_domain.as_deref());
    let preferred = pack.and_then(|pack| pack.preferred.as_deref()).filter(|it| Some(*it) != required);
    required.map(|it| (it, true)).into_iter().chain(preferred.map(|it| (it, false))).collect()
}

/// The node label of a domain: of the topology that is named, or of the only one there is.
fn key(world: &World, name: Option<&str>, domain: &str) -> Result<String, Miss> {
    let all: Vec<&Value> = [kinds::TOPOLOGY, kinds::FORMER_TOPOLOGY]
        .iter()
        .flat_map(|kind| world.of(kind).collect::<Vec<_>>())
        .collect();
    let topology = match name {
        Some(name) => all.iter().find(|it| it["metadata"]["name"] == name),
        None => all.first().filter(|_| all.len() == 1),
    };
    let Some(topology) = topology else {
        return Err(match name {
            Some(name) if world.partial => {
                Miss::Unknown(format!("ClusterTopologyBinding {name} with domain {domain}"))
            }
            None if world.partial && all.is_empty() => {
                Miss::Unknown(format!("one ClusterTopologyBinding, with domain {domain}"))
            }
            Some(name) => Miss::None(format!("there is no ClusterTopologyBinding {name}")),
            None => Miss::None("no ClusterTopologyBinding is named".to_owned()),
        });
    };
    let spec: Option<TopologySpec> = serde_json::from_value(topology["spec"].clone()).ok();
    let level = spec.and_then(|spec| spec.levels.into_iter().find(|level| level.domain == domain));
    let name = topology["metadata"]["name"].as_str().unwrap_or_default();
    level
        .map(|level| level.key)
        .ok_or_else(|| Miss::None(format!("ClusterTopologyBinding {name} has no domain {domain}")))
}

fn term(form: &Form<'_>, level: &Level<'_>, key: &str) -> Value {
    json!({
        "labelSelector": {"matchLabels": {PART_OF: form.name}},
        "matchLabelKeys": level.keys,
        "topologyKey": key,
    })
}

fn add(pod_spec: &mut Value, term: &Value, required: bool) {
    let (list, item) = if required {
        ("requiredDuringSchedulingIgnoredDuringExecution", term.clone())
    } else {
        let preferred = json!({"weight": 100, "podAffinityTerm": term});
        ("preferredDuringSchedulingIgnoredDuringExecution", preferred)
    };
    let Some(affinity) = object(pod_spec, "affinity").and_then(|it| object(it, "podAffinity")) else {
        return;
    };
    match affinity.get_mut(list).and_then(Value::as_array_mut) {
        Some(items) => items.push(item),
        None => affinity[list] = json!([item]),
    }
}

/// The object in a field, made if there is nothing; none if something else is there, which somebody else will mind.
fn object<'a>(parent: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    let below = parent.as_object_mut()?.entry(field).or_insert_with(|| Value::Object(Map::new()));
    below.is_object().then_some(below)
}
