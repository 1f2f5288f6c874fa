//! A PodCliqueSet with its defaults filled in, and every part of it at its place.

use lockstep_core::number::IntOrPercent;
use serde_json::{Map, Value, json};

use super::spec::{
    AutoScaling, CliqueTemplate, Limits, PodCliqueSetSpec, RollingUpdate, ScalingGroup, SetStrategyType,
    StartupType,
};
use crate::findings::Findings;

/// A PodCliqueSet that was read.
#[derive(Debug)]
pub(super) struct Form<'a> {
    /// The set's name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its labels.
    pub labels: Option<&'a Map<String, Value>>,
    /// Its annotations.
    pub annotations: Option<&'a Map<String, Value>>,
    /// What was written.
    pub spec: &'a PodCliqueSetSpec,
    /// What each replica is made of, in the order in which their first cliques are listed.
    pub parts: Vec<Part<'a>>,
}

/// What becomes a role: a standalone clique, or a scaling group.
#[derive(Debug)]
pub(super) struct Part<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is written.
    pub at: String,
    /// The scaling group, if it is one.
    pub group: Option<&'a ScalingGroup>,
    /// Its cliques; a standalone one is one.
    pub cliques: Vec<Clique<'a>>,
    /// How many instances the template asks for, and where it says so.
    pub replicas: Number,
    /// How many of them have to be available, and where it is said.
    pub min_available: Number,
    /// How it is updated, and where it is said.
    pub limits: Given,
    /// The autoscaler, and where it is.
    pub scaling: Option<(&'a AutoScaling, String)>,
}

impl<'a> Part<'a> {
    /// Nothing is wished for in any of its cliques.
    pub fn is_idle(&self) -> bool {
        self.cliques.iter().all(|clique| clique.replicas.value == 0)
    }

    /// The cliques that an instance has pods of; all of them if it is idle.
    pub fn members(&self) -> impl Iterator<Item = &Clique<'a>> {
        let idle = self.is_idle();
        self.cliques.iter().filter(move |clique| idle || clique.replicas.value > 0)
    }
}

/// A clique.
#[derive(Debug)]
pub(super) struct Clique<'a> {
    /// Where it is written.
    pub at: String,
    /// What is written.
    pub template: &'a CliqueTemplate,
    /// How many pods.
    pub replicas: Number,
    /// How many of them have to be ready.
    pub min_available: Number,
}

/// A number and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    /// The number.
    pub value: u32,
    /// Where it is, or would be.
    pub at: String,
}

/// How many at a time, and where each was said; if nowhere, where it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// Of which so many may be unavailable.
    pub unavailable: Option<IntOrPercent>,
    /// Beyond which so many may stand.
    pub surge: Option<IntOrPercent>,
    /// The deadline.
    pub deadline: Option<(String, String)>,
    /// Where it was said.
    pub at: String,
}

impl Given {
    /// Whether anything was said.
    pub fn is_some(&self) -> bool {
        self.unavailable.is_some() || self.surge.is_some() || self.deadline.is_some()
    }
}

impl<'a> Form<'a> {
    /// Puts the parts together. What contradicts itself goes to `found`.
    pub fn of(object: &'a Value, spec: &'a PodCliqueSetSpec, found: &mut Findings<'_>) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let groups = super::members::groups(spec, found);
        let mut parts: Vec<Part<'a>> = Vec::new();
        for (i, template) in spec.template.cliques.iter().enumerate() {
            let Some(g) = groups.iter().position(|members| members.contains(&i)) else {
                parts.push(alone(clique(i, template, found), found));
                continue;
            };
            let group = &spec.template.pod_clique_scaling_groups[g];
            if parts.iter().any(|part| part.group.is_some_and(|it| std::ptr::eq(it, group))) {
                continue;
            }
            let member = |i: &usize| (*i, &spec.template.cliques[*i]);
            let members = groups[g].iter().map(member).map(|(i, it)| clique(i, it, found)).collect();
            parts.push(together(g, group, members, found));
        }
        let [labels, annotations] =
            ["labels", "annotations"].map(|field| object["metadata"][field].as_object());
        Self { name: text("name"), namespace: text("namespace"), labels, annotations, spec, parts }
    }

    /// Metadata of something that stands beside the set.
    pub fn metadata(&self, name: &str, labels: Map<String, Value>) -> Value {
        let mut metadata = json!({"name": name, "labels": labels});
        if !self.namespace.is_empty() {
            metadata["namespace"] = json!(self.namespace);
        }
        metadata
    }

    /// How replicas of the set move.
    pub fn strategy(&self) -> SetStrategyType {
        self.spec.update_strategy.as_ref().and_then(|it| it.kind).unwrap_or_default()
    }

    /// In which order cliques start.
    pub fn startup(&self) -> StartupType {
        self.spec.template.clique_startup_type.unwrap_or_default()
    }

    /// Every clique with the part it is in.
    pub fn cliques(&self) -> impl Iterator<Item = (&Part<'a>, &Clique<'a>)> {
        self.parts.iter().flat_map(|part| part.cliques.iter().map(move |clique| (part, clique)))
    }

    /// Which part a clique is in.
    pub fn part_of(&self, clique: &str) -> Option<usize> {
        self.parts.iter().position(|part| part.cliques.iter().any(|it| it.template.name == clique))
    }
}

fn clique<'a>(i: usize, template: &'a CliqueTemplate, found: &mut Findings<'_>) -> Clique<'a> {
    let at = format!("spec.template.cliques[{i}]");
    let (beside, inside) = (template.replicas, template.spec.replicas);
    if let (Some(beside), Some(inside)) = (beside, inside)
        && beside != inside
    {
        found.error(format!("{at}.replicas"), format!("{at}.spec.replicas is {inside}; keep one of them"));
    }
    let place = if beside.is_some() { "replicas" } else { "spec.replicas" };
    let replicas = Number { value: beside.or(inside).unwrap_or(1), at: format!("{at}.{place}") };
    let min_available = Number {
        // Of what is idle, one has to be there once it is woken.
        value: template.spec.min_available.unwrap_or(replicas.value.max(1)),
        at: format!("{at}.spec.minAvailable"),
    };
    Clique { at, template, replicas, min_available }
}

fn alone<'a>(clique: Clique<'a>, found: &mut Findings<'_>) -> Part<'a> {
    let limits = clique.limits(found);
    let scaling = clique.template.spec.auto_scaling_config.as_ref();
    Part {
        name: &clique.template.name,
        at: clique.at.clone(),
        group: None,
        replicas: clique.replicas.clone(),
        min_available: clique.min_available.clone(),
        limits,
        scaling: scaling.map(|it| (it, format!("{}.spec.autoScalingConfig", clique.at))),
        cliques: vec![clique],
    }
}

fn together<'a>(
    g: usize,
    group: &'a ScalingGroup,
    cliques: Vec<Clique<'a>>,
    found: &mut Findings<'_>,
) -> Part<'a> {
    let at = format!("spec.template.podCliqueScalingGroups[{g}]");
    let number =
        |value: Option<u32>, field: &str| Number { value: value.unwrap_or(1), at: format!("{at}.{field}") };
    let said = [
        (group.update_strategy.clone().map(Into::into), format!("{at}.updateStrategy")),
        (group.rolling_update.clone(), format!("{at}.rollingUpdate")),
    ];
    Part {
        name: &group.name,
        group: Some(group),
        cliques,
        replicas: number(group.replicas, "replicas"),
        min_available: number(group.min_available, "minAvailable"),
        limits: agreed(&said, found),
        scaling: group.scale_config.as_ref().map(|it| (it, format!("{at}.scaleConfig"))),
        at,
    }
}

impl Clique<'_> {
    /// What is said of its updates, in any of the places for it.
    pub fn limits(&self, found: &mut Findings<'_>) -> Given {
        let template = self.template;
        let said = [
            (
                template.spec.update_strategy.clone().map(Into::into),
                format!("{}.spec.updateStrategy", self.at),
            ),
            (template.update_strategy.clone().map(Into::into), format!("{}.updateStrategy", self.at)),
            (template.rolling_update.clone(), format!("{}.rollingUpdate", self.at)),
        ];
        agreed(&said, found)
    }
}

impl From<Limits> for RollingUpdate {
    fn from(limits: Limits) -> Self {
        let Limits { max_unavailable, max_surge } = limits;
        Self { max_unavailable, max_surge, progress_deadline: None }
    }
}

/// What was said in several places, which must not differ.
fn agreed(said: &[(Option<RollingUpdate>, String)], found: &mut Findings<'_>) -> Given {
    let otherwise = said.first().map(|(_, at)| at.clone()).unwrap_or_default();
    let mut given = Given { unavailable: None, surge: None, deadline: None, at: otherwise };
    let mut first: Option<&str> = None;
    for (limits, at) in said {
        let Some(limits) = limits else { continue };
        let pairs = [
            ("maxUnavailable", &mut given.unavailable, limits.max_unavailable),
            ("maxSurge", &mut given.surge, limits.max_surge),
        ];
        for (field, known, new) in pairs {
            match (*known, new) {
                (Some(known), Some(new)) if known != new => {
                    let other = first.unwrap_or_default();
                    found.error(
                        format!("{at}.{field}"),
                        format!("{other}.{field} says otherwise; keep one of them"),
                    );
                }
                (None, Some(_)) => *known = new,
                _ => {}
            }
        }
        if let Some(deadline) = &limits.progress_deadline {
            given.deadline = Some((deadline.clone(), format!("{at}.progressDeadline")));
        }
        if first.is_none() {
            first = Some(at);
            given.at.clone_from(at);
        }
    }
    given
}
