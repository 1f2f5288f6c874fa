//! Why something moved when it did.

use lockstep_core::coordinate::{Pauses, steps};
use lockstep_core::model::{Role, RuleKind, Spec, Step};
use lockstep_core::names::RoleName;
use lockstep_core::time::{Millis, Time};

use super::stage::Stage;

/// A reason, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Because {
    /// Waves with the same main reasons belong together.
    pub main: bool,
    /// In words.
    pub text: String,
}

impl Because {
    /// A reason that tells waves apart.
    pub fn main(text: impl Into<String>) -> Self {
        Self { main: true, text: text.into() }
    }

    /// A reason besides.
    pub fn aside(text: impl Into<String>) -> Self {
        Self { main: false, text: text.into() }
    }
}

/// The rules under which an instance of a role is updated now.
pub fn of_update(stage: &Stage, group: u32, name: &RoleName) -> Vec<Because> {
    let Some((spec, role)) = stage.spec().and_then(|spec| Some((spec, spec.role(name)?))) else {
        return Vec::new();
    };
    let mut found: Vec<Because> =
        (0..spec.rules.len()).filter_map(|i| of_rule(stage, group, spec, role, i)).collect();
    let (limits, _) = stage.limits(group, role);
    if found.is_empty() && limits.unavailable > 0 {
        found.push(Because::aside(format!("maxUnavailable {}", role.strategy.max_unavailable)));
    }
    found
}

fn of_rule(stage: &Stage, group: u32, spec: &Spec, role: &Role, index: usize) -> Option<Because> {
    let rule = &spec.rules[index];
    match &rule.kind {
        RuleKind::RollingUpdate(skew) if skew.roles.contains(&role.name) => {
            Some(Because::main(format!("{} maxSkew {}", rule.name, skew.max_skew)))
        }
        RuleKind::Steps(list) if names(list, &role.name) => {
            let current = steps::current(spec, index, list, &stage.progress(group), &mut Passed);
            Some(Because::main(match current {
                Some(current) => format!("{} step {}", rule.name, current.step + 1),
                None => "what no step names".to_owned(),
            }))
        }
        _ => None,
    }
}

fn names(steps: &[Step], name: &RoleName) -> bool {
    steps.iter().any(|step| matches!(step, Step::Update { role, .. } if role == name))
}

/// What moved has passed its pauses.
struct Passed;

impl Pauses for Passed {
    fn hold(&mut self, _: usize, _: usize, _: Option<Millis>) -> Option<Option<Time>> {
        None
    }
}

/// A pause, from the path by which the engine names it: `coordination[canary].steps[1]`.
pub fn pause(spec: &Spec, path: &str) -> Option<(String, Because)> {
    let (rule, step) = path.strip_prefix("coordination[")?.split_once("].steps[")?;
    let step: usize = step.strip_suffix(']')?.parse().ok()?;
    let mut lists = spec.rules.iter().filter(|r| r.name.as_str() == rule).filter_map(|r| match &r.kind {
        RuleKind::Steps(list) => list.get(step),
        _ => None,
    });
    let text = match lists.next()? {
        Step::Pause { duration: Some(length) } => format!("pause {length}"),
        _ => "pause until promoted".to_owned(),
    };
    Some((text, Because::main(format!("{rule} step {}", step + 1))))
}

/// Why an instance that was not there is started: the change, and the rule that paces it.
pub fn of_start(stage: &Stage, from: Option<&Spec>, group: u32, name: &RoleName) -> Vec<Because> {
    let change = of_growth(stage, from, group, name);
    let rules = stage.spec().map(|spec| spec.rules.as_slice()).unwrap_or_default();
    let pace = rules.iter().find_map(|rule| match &rule.kind {
        RuleKind::Scaling(scaling) if scaling.roles.contains(name) => {
            Some(Because::main(format!("{} maxSkew {}", rule.name, scaling.max_skew)))
        }
        _ => None,
    });
    match pace {
        Some(pace) => vec![pace, Because::aside(change.text)],
        None => vec![change],
    }
}

fn of_growth(stage: &Stage, from: Option<&Spec>, group: u32, name: &RoleName) -> Because {
    let Some(spec) = stage.spec() else { return Because::main("") };
    let Some(from) = from else { return Because::main("first start") };
    if group >= spec.replicas {
        return Because::aside(format!("maxSurge {} of groups", spec.strategy.max_surge));
    }
    if group >= from.replicas {
        return Because::main(format!("groups {} → {}", from.replicas, spec.replicas));
    }
    let size = |spec: &Spec| spec.role(name).map(|role| role.replicas);
    match (size(from), size(spec)) {
        (None, _) => Because::main("new role"),
        (Some(old), Some(new)) if old != new => Because::main(format!("{name} {old} → {new}")),
        _ => Because::main("comes back"),
    }
}

/// Why an instance goes for good.
pub fn of_removal(stage: &Stage, from: Option<&Spec>, group: u32, name: &RoleName) -> Because {
    let (Some(spec), Some(from)) = (stage.spec(), from) else { return Because::main("not wished for") };
    if group >= spec.replicas {
        return Because::main(format!("groups {} → {}", from.replicas, spec.replicas));
    }
    match (from.role(name), spec.role(name)) {
        (_, None) => Because::main("role removed"),
        (Some(old), Some(new)) => Because::main(format!("{name} {} → {}", old.replicas, new.replicas)),
        (None, Some(_)) => Because::main("not wished for"),
    }
}
