//! Which kinds the cluster knows, and which of them are ours to serve.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt};
use lockstep_dialects::{Dialect, Kind, Served, definition};
use lockstep_feed::{InitialList, Source, feed};
use tokio::sync::watch;

/// The definitions in a cluster, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defined {
    definitions: BTreeMap<String, Definition>,
    pod_groups: bool,
}

/// A definition in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Definition {
    uid: String,
    ours: bool,
}

/// Whose a kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The cluster does not know it.
    Nobodys,
    /// We defined it.
    Ours,
    /// Somebody else did, and looks after it.
    Foreign,
}

impl Defined {
    /// Whose a kind is.
    pub fn whose(&self, kind: &Kind) -> Whose {
        match self.definitions.get(&name(kind)) {
            None => Whose::Nobodys,
            Some(known) if known.ours => Whose::Ours,
            Some(_) => Whose::Foreign,
        }
    }

    /// Those of a dialect's kinds that are ours; none if there is no object among them that becomes a set.
    pub fn kinds(&self, dialect: &dyn Dialect) -> Vec<&'static Kind> {
        let ours: Vec<&Kind> =
            dialect.kinds().iter().filter(|kind| self.whose(kind) == Whose::Ours).collect();
        if ours.iter().any(|kind| kind.becomes_set) { ours } else { Vec::new() }
    }

    /// Those of a dialect's definitions that are somebody else's.
    pub fn foreign(&self, dialect: &dyn Dialect) -> Vec<ObjectReference> {
        let foreign = dialect.kinds().iter().filter(|kind| self.whose(kind) == Whose::Foreign);
        foreign.map(|kind| self.reference(&name(kind))).collect()
    }

    fn reference(&self, name: &str) -> ObjectReference {
        ObjectReference {
            api_version: Some("apiextensions.k8s.io/v1".to_owned()),
            kind: Some("CustomResourceDefinition".to_owned()),
            name: Some(name.to_owned()),
            uid: self.definitions.get(name).map(|known| known.uid.clone()),
            ..ObjectReference::default()
        }
    }

    /// Gangs the cluster knows.
    pub fn served(&self) -> Served {
        Served {
            pod_groups: self.pod_groups,
            volcano: self.definitions.contains_key("podgroups.scheduling.volcano.sh"),
            pod_gangs: self.definitions.contains_key("podgangs.scheduler.grove.io"),
        }
    }

    fn put(&mut self, definition: &PartialObjectMeta<CustomResourceDefinition>) {
        let (label, us) = definition::MADE_BY;
        let ours = definition.labels().get(label).is_some_and(|who| who == us);
        let uid = definition.uid().unwrap_or_default();
        self.definitions.insert(definition.name_any(), Definition { uid, ours });
    }
}

/// The name of a kind's definition.
fn name(kind: &Kind) -> String {
    format!("{}.{}", kind.plural, kind.group)
}

/// Follows the definitions in a cluster, for ever.
pub async fn follow(client: Client, known: Arc<watch::Sender<Option<Defined>>>) {
    let pod_groups = super::served::pod_groups(&client).await;
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut events = feed(Source::new(api, InitialList::Paged)).boxed();
    let mut listed = Defined { pod_groups, ..Defined::default() };
    let tell = |defined: &Defined| {
        known.send_if_modified(|known| {
            let news = known.as_ref() != Some(defined);
            if news {
                *known = Some(defined.clone());
            }
            news
        })
    };
    while let Some(event) = events.next().await {
        match event {
            Event::Init => listed.definitions.clear(),
            Event::InitApply(definition) => listed.put(&definition),
            Event::InitDone => drop(tell(&listed)),
            Event::Apply(definition) => {
                listed.put(&definition);
                tell(&listed);
            }
            Event::Delete(definition) => {
                listed.definitions.remove(&definition.name_any());
                tell(&listed);
            }
        }
    }
}
