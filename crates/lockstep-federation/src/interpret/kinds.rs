//! The kinds that are known without being told.

use std::sync::{Arc, LazyLock};

use lockstep_core::align::Kind;
use serde_json::Value;

use super::{Counts, Interpretation};
use crate::path::Path;

static BUILT_IN: LazyLock<[Interpretation; 5]> =
    LazyLock::new(|| [deployment(), stateful_set(), clone_set(), leader_worker_set(), lockstep_set()]);

/// All kinds that are known without being told.
pub fn built_in() -> &'static [Interpretation] {
    &*BUILT_IN
}

/// How an object is read, if its kind is known without being told.
pub fn of(object: &Value) -> Option<&'static Interpretation> {
    built_in().iter().find(|it| it.is_of(object))
}

/// All kinds that are known: those that were given, then those that are built in.
#[derive(Debug, Clone)]
pub struct Kinds(Arc<[Interpretation]>);

impl Default for Kinds {
    fn default() -> Self {
        Self::with(Vec::new())
    }
}

impl Kinds {
    /// With these besides those that are built in. One that is given takes the place of one that is built in.
    pub fn with(mut given: Vec<Interpretation>) -> Self {
        let is_given =
            |it: &Interpretation| given.iter().any(|g| g.api_version == it.api_version && g.kind == it.kind);
        let others: Vec<Interpretation> = built_in().iter().filter(|it| !is_given(it)).cloned().collect();
        given.extend(others);
        Self(given.into())
    }

    /// How an object is read, if its kind is known.
    pub fn of(&self, object: &Value) -> Option<&Interpretation> {
        self.iter().find(|it| it.is_of(object))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Interpretation> {
        self.0.iter()
    }
}

fn deployment() -> Interpretation {
    Interpretation {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        plural: None,
        like: Kind::Deployment,
        template: vec![Path::known("spec.template")],
        replicas: Path::known("spec.replicas"),
        paused: Some(Path::known("spec.paused")),
        partition: None,
        max_unavailable: Path::known("spec.strategy.rollingUpdate.maxUnavailable"),
        max_surge: Some(Path::known("spec.strategy.rollingUpdate.maxSurge")),
        counts: Counts::default(),
        at_rest: None,
    }
}

fn stateful_set() -> Interpretation {
    Interpretation {
        kind: "StatefulSet".to_owned(),
        like: Kind::StatefulSet,
        paused: None,
        partition: Some(Path::known("spec.updateStrategy.rollingUpdate.partition")),
        max_unavailable: Path::known("spec.updateStrategy.rollingUpdate.maxUnavailable"),
        max_surge: None,
        ..deployment()
    }
}

fn clone_set() -> Interpretation {
    Interpretation {
        api_version: "apps.kruise.io/v1alpha1".to_owned(),
        kind: "CloneSet".to_owned(),
        like: Kind::CloneSet,
        paused: Some(Path::known("spec.updateStrategy.paused")),
        partition: Some(Path::known("spec.updateStrategy.partition")),
        max_unavailable: Path::known("spec.updateStrategy.maxUnavailable"),
        max_surge: Some(Path::known("spec.updateStrategy.maxSurge")),
        ..deployment()
    }
}

fn leader_worker_set() -> Interpretation {
    Interpretation {
        api_version: "leaderworkerset.x-k8s.io/v1".to_owned(),
        kind: "LeaderWorkerSet".to_owned(),
        like: Kind::LeaderWorkerSet,
        template: vec![Path::known("spec.leaderWorkerTemplate")],
        paused: None,
        partition: Some(Path::known("spec.rolloutStrategy.rollingUpdateConfiguration.partition")),
        max_unavailable: Path::known("spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable"),
        max_surge: Some(Path::known("spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge")),
        counts: ready_is_available(),
        at_rest: Some("Available".to_owned()),
        ..deployment()
    }
}

/// Groups are what is counted; what a group is made of is the template, sizes of roles included: a group of another
/// shape is another group.
fn lockstep_set() -> Interpretation {
    Interpretation {
        api_version: "lockstep.dev/v1alpha1".to_owned(),
        kind: "LockstepSet".to_owned(),
        like: Kind::LockstepSet,
        template: ["spec.roles", "spec.identity", "spec.coordination"].map(Path::known).into(),
        partition: Some(Path::known("spec.updateStrategy.partition")),
        max_unavailable: Path::known("spec.updateStrategy.maxUnavailable"),
        max_surge: Some(Path::known("spec.updateStrategy.maxSurge")),
        counts: tallied(),
        ..deployment()
    }
}

/// What a set says of itself is about the groups that are wished for; what is added up over clusters is beside it.
fn tallied() -> Counts {
    let name = |it: &str| format!("tally.{it}");
    Counts {
        replicas: name("standing"),
        available: name("reliable"),
        updated: name("begun"),
        updated_available: name("done"),
        under_way: name("underWay"),
        creates_updated: name("createsUpdated"),
        ..Counts::default()
    }
}

fn ready_is_available() -> Counts {
    Counts { available: Counts::default().ready, ..Counts::default() }
}
