//! Manifests in, sets and rollouts out.

use std::collections::BTreeMap;

use lockstep_core::model::Spec;
use lockstep_core::simulate::trace::{Event, What};
use lockstep_core::simulate::{Outcome, Scenario, run};
use lockstep_core::time::Millis;
use lockstep_dialects::{ALL, Dialect, Lowered, World};
use serde_json::{Value, json};

pub fn grove() -> &'static dyn Dialect {
    ALL.into_iter().find(|dialect| dialect.name() == "grove").expect("grove is there")
}

pub fn yaml(text: &str) -> Value {
    lockstep_api::yaml_to_json(text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

/// A PodCliqueSet named `simple`, of a spec in which `$P` stands for a pod spec.
pub fn object(spec: &str) -> Value {
    let spec = spec.replace("$P", "{containers: [{name: main, image: 'vllm:1'}]}");
    let indented = spec.lines().collect::<Vec<_>>().join("\n  ");
    yaml(&format!(
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: simple, namespace: ml}}\nspec:\n  {indented}\n"
    ))
}

pub fn lower(object: &Value) -> Lowered {
    lower_in(object, &World::default())
}

#[track_caller]
pub fn lower_in(object: &Value, world: &World) -> Lowered {
    grove().lower(object, world).unwrap_or_else(|problems| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}\n{object:#}", said.join("\n"))
    })
}

/// What is said of an object: errors (`!`) or warnings (`?`).
pub fn said(object: &Value) -> Vec<String> {
    match grove().lower(object, &World::default()) {
        Ok(lowered) => lowered.warnings.iter().map(|warning| format!("? {warning}")).collect(),
        Err(problems) => {
            let errors = problems.iter().map(|problem| format!("! {problem}"));
            let warnings = grove().warnings(object, &World::default()).into_iter();
            errors.chain(warnings.map(|warning| format!("? {warning}"))).collect()
        }
    }
}

/// The same with every image at another tag.
pub fn with_tag(object: &Value, tag: &str) -> Value {
    let mut object = object.clone();
    for clique in object["spec"]["template"]["cliques"].as_array_mut().expect("cliques") {
        for container in clique["spec"]["podSpec"]["containers"].as_array_mut().expect("containers") {
            container["image"] = json!(format!("vllm:{tag}"));
        }
    }
    object
}

pub fn engine(object: &Value) -> Spec {
    lockstep_api::lower(&lower(object).set)
}

/// A rollout from one manifest to the next, in an ideal world unless the test says otherwise.
pub fn scenario(from: &Value, to: &Value) -> Scenario {
    Scenario { limit: Millis::minutes(600), ..Scenario::ideal(engine(from), engine(to)) }
}

/// What happened, and how it ended.
pub fn play(scenario: &Scenario) -> (Vec<Event>, Outcome) {
    let mut events = Vec::new();
    let outcome = run(scenario, &mut |event| events.push(event));
    (events, outcome)
}

/// How things are called in a list of steps.
#[derive(Clone, Copy)]
pub enum Unit {
    /// `frontend-0`, for one group.
    Instance,
    /// `0`: everything of the group.
    Group,
}

/// Where the last change begins: the first event that has the last targets.
pub fn began(events: &[Event]) -> usize {
    let targets = |event: &Event| match &event.what {
        What::Spec(spec) => Some(spec.targets.clone()),
        _ => None,
    };
    let last = events.iter().rev().find_map(targets);
    events.iter().position(|event| targets(event).is_some_and(|it| Some(it) == last)).expect("a change")
}

/// What happened after the change, one step after the other; what happens at once stands together.
pub fn steps(events: &[Event], unit: Unit, pods_of_group: usize) -> Vec<String> {
    let mut ready: BTreeMap<String, usize> = BTreeMap::new();
    let mut steps: Vec<(u64, String)> = Vec::new();
    for event in &events[began(events)..] {
        let (verb, of) = match &event.what {
            What::Create { of, .. } => ("create", of),
            What::Delete { of, .. } => ("delete", of),
            What::Ready { of, .. } => ("ready", of),
            What::Gone { of, .. } => ("gone", of),
            _ => continue,
        };
        let name = match unit {
            Unit::Instance => format!("{}-{}", of.role, of.instance),
            Unit::Group => of.group.to_string(),
        };
        if matches!(unit, Unit::Group) {
            let count = ready.entry(format!("{verb} {name}")).or_default();
            *count += 1;
            // The first create or delete of a group, and the last that is ready or gone.
            let all = count.is_multiple_of(pods_of_group);
            let first = *count % pods_of_group == 1 || pods_of_group == 1;
            if !(if ["create", "delete"].contains(&verb) { first } else { all }) {
                continue;
            }
        }
        steps.push((event.t, format!("{verb} {name}")));
    }
    steps.into_iter().map(|(_, step)| step).collect()
}
