//! What is known of the cluster, kept by watches.

use futures::stream::{self, LocalBoxStream};
use futures::{StreamExt, TryStreamExt, future};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, ResourceExt};
use lockstep_api::label;
use lockstep_api::role_scale::RoleScale;
use lockstep_api::stored::StoredSet;
use lockstep_operator::set::resource;
use serde::Deserialize;

use crate::commands::live::home::belongs;
use crate::input::live_set::LiveSet;
use crate::input::scales::Scales;
use crate::input::shown::Shown;

/// Something has changed.
pub enum Change {
    /// A set.
    Set(Box<Event<DynamicObject>>),
    /// A pod.
    Pod(Box<Event<Pod>>),
    /// A node.
    Node(Box<Event<Node>>),
    /// How large a role is scaled to.
    Scale(Box<Event<RoleScale>>),
    /// A revision that is stored.
    Revision(Box<Event<ControllerRevision>>),
}

/// Changes as they come, those that come together in one piece.
pub type Changes = LocalBoxStream<'static, Vec<Result<Change, watcher::Error>>>;

/// Watches everything that is shown: of one namespace, or of all.
pub fn watch_all(client: &Client, scope: Option<&str>) -> Changes {
    let any = watcher::Config::default;
    let sets = match scope {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource()),
        None => Api::all_with(client.clone(), &resource()),
    };
    let (pods, scales) = match scope {
        Some(namespace) => {
            (Api::namespaced(client.clone(), namespace), Api::namespaced(client.clone(), namespace))
        }
        None => (Api::all(client.clone()), Api::all(client.clone())),
    };
    let sets = watch(sets, any()).default_backoff().map_ok(|event| Change::Set(Box::new(event)));
    let pods = watch(pods, any()).default_backoff().map_ok(|event| Change::Pod(Box::new(event)));
    let scales = watch(scales, any()).default_backoff().map_ok(|event| Change::Scale(Box::new(event)));
    let nodes = watch(Api::all(client.clone()), any()).default_backoff();
    let nodes = nodes.map_ok(|event| Change::Node(Box::new(event)));
    let revisions = revisions(client, scope);
    let all = [sets.boxed_local(), pods.boxed_local(), scales.boxed_local(), nodes.boxed_local(), revisions];
    stream::select_all(all).ready_chunks(4096).boxed_local()
}

/// The stored revisions of sets. Who may not see them misses the images, and nothing else.
fn revisions(
    client: &Client,
    scope: Option<&str>,
) -> LocalBoxStream<'static, Result<Change, watcher::Error>> {
    let api: Api<ControllerRevision> = match scope {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let events = watch(api, watcher::Config::default().labels(label::SET)).default_backoff();
    let events = events.map_ok(|event| Change::Revision(Box::new(event)));
    events.filter(|event| future::ready(event.is_ok())).boxed_local()
}

/// What is known of the cluster.
#[derive(Debug, Default)]
pub struct World {
    sets: Shown<DynamicObject>,
    /// Its pods.
    pub pods: Shown<Pod>,
    /// Its nodes.
    pub nodes: Shown<Node>,
    scales: Shown<RoleScale>,
    revisions: Shown<ControllerRevision>,
}

impl World {
    /// Takes in a change.
    pub fn see(&mut self, change: Change) {
        match change {
            Change::Set(event) => self.sets.see(*event),
            Change::Pod(event) => self.pods.see(*event),
            Change::Node(event) => self.nodes.see(*event),
            Change::Scale(event) => self.scales.see(*event),
            Change::Revision(event) => self.revisions.see(*event),
        }
    }

    /// All that is there has been seen once.
    pub fn is_complete(&self) -> bool {
        self.sets.complete && self.pods.complete && self.nodes.complete && self.scales.complete
    }

    /// The sets, by namespace and name. One whose status this version does not know is left out.
    pub fn sets(&self) -> Vec<LiveSet> {
        self.sets.objects.values().filter_map(|object| LiveSet::of(object.clone()).ok()).collect()
    }

    /// A stored revision of a set.
    pub fn stored(&self, set: &LiveSet, revision: &str) -> Option<StoredSet> {
        let found = self.revisions.objects.values().find(|stored| {
            belongs(stored, set) && stored.labels().get(label::SET_REVISION).is_some_and(|it| it == revision)
        })?;
        StoredSet::deserialize(&found.data.0).ok()
    }

    /// How large the roles of a set are scaled to.
    pub fn scales_of(&self, set: &LiveSet) -> Scales {
        let of_set = self
            .scales
            .objects
            .iter()
            .filter(|((namespace, _), scale)| *namespace == set.namespace && scale.spec.set == set.name);
        Scales::of(of_set.map(|(_, scale)| scale))
    }
}
