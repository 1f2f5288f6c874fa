//! What a budget covers, put together from pods and their owners: the one way, whether they come from watches or
//! have just been listed.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lockstep_core::budget::{Memory, Pod, Root, Version, View};

use super::{Chain, Coverage, Labels, Owner, Sight};

/// A pod, however much of it is kept.
pub trait Counted {
    /// Its metadata: at least labels and controller.
    fn metadata(&self) -> &ObjectMeta;

    /// Which state of it.
    fn version(&self) -> Version;

    /// The pod as the engine counts it, but for what its owners and the budget tell: root, group, and whether its
    /// controller is gone.
    fn alone(&self) -> Pod;
}

/// Whoever knows the pods of a namespace, and whose they are.
pub trait Surroundings {
    /// What is kept of a pod.
    type Pod: Counted;

    /// All pods.
    fn pods(&self) -> impl Iterator<Item = &Self::Pod>;

    /// Who stands above a pod. Owners that would have to be asked for first go into `missing`.
    fn chain(&self, pod: &Self::Pod, missing: &mut BTreeSet<Owner>) -> Chain;

    /// What is known of an owner; nothing if it would have to be asked for.
    fn sight(&self, owner: &Owner) -> Option<Sight>;
}

/// A budget, as far as what it covers goes.
#[derive(Debug, Clone, Copy)]
pub struct Lens<'a> {
    /// Which pods.
    pub coverage: &'a Coverage,
    /// What tells groups apart, if units are groups.
    pub group_label: Option<&'a str>,
    /// The roots it remembers.
    pub memory: Option<&'a Memory>,
}

/// What a budget covers, put together.
#[derive(Debug, Default)]
pub struct Assembled {
    /// What the engine counts. It rests on the newest of its pods; how far everything else has been seen only
    /// the caller knows.
    pub view: View,
    /// Owners that have to be asked for before this can be counted from.
    pub missing: BTreeSet<Owner>,
}

impl Lens<'_> {
    /// Puts together what the budget covers.
    pub fn assemble(&self, around: &impl Surroundings) -> Assembled {
        let mut assembled = Assembled::default();
        for pod in around.pods() {
            self.take(around, pod, &mut assembled);
        }
        self.remember(around, &mut assembled);
        assembled.view.version = assembled.view.since;
        assembled
    }

    /// Counts a pod in if the budget covers it.
    fn take<S: Surroundings>(&self, around: &S, pod: &S::Pod, into: &mut Assembled) {
        let metadata = pod.metadata();
        if !self.coverage.may_cover(metadata) {
            return;
        }
        let chain = around.chain(pod, &mut into.missing);
        let none = Labels::new();
        let labels = metadata.labels.as_ref().unwrap_or(&none);
        if !self.coverage.covers(labels, &chain) {
            return;
        }
        let root = chain.root(self.group_label.is_some());
        if let Some(root) = root {
            self.take_root(around, root, Root::default(), into);
        }
        let controller_gone = match chain.owners().first().and_then(|owner| around.sight(owner)) {
            Some(Sight::Gone) => true,
            Some(Sight::Stands(standing)) => standing.is_terminating(),
            Some(Sight::Opaque) | None => false,
        };
        into.view.since = into.view.since.max(pod.version());
        into.view.pods.push(Pod {
            root: root.map(Owner::key),
            group: self.group_label.and_then(|label| labels.get(label)).cloned(),
            controller_gone,
            ..pod.alone()
        });
    }

    /// Roots of which no pod stands are in the account for as long as they are there: their units are gone whole.
    fn remember(&self, around: &impl Surroundings, into: &mut Assembled) {
        for (key, memory) in self.memory.iter().flat_map(|memory| &memory.0) {
            if let Some(owner) = Owner::of_key(key) {
                self.take_root(around, &owner, memory.known, into);
            }
        }
    }

    /// Counts a root in. `unseen` is what is said of one that cannot be read.
    fn take_root(&self, around: &impl Surroundings, owner: &Owner, unseen: Root, into: &mut Assembled) {
        let key = owner.key();
        if into.view.roots.contains_key(&key) {
            return;
        }
        let root = match around.sight(owner) {
            Some(Sight::Stands(standing)) => standing.root(self.group_label, self.coverage),
            Some(Sight::Opaque) => unseen,
            Some(Sight::Gone) => return,
            None => {
                into.missing.insert(owner.clone());
                return;
            }
        };
        into.view.roots.insert(key, root);
    }
}
