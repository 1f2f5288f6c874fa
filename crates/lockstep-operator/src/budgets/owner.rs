//! Owners of pods that are known: which stand, which are gone, and which cannot be read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use lockstep_api::budget::{Owner, Sight, Standing};
use tokio::time::Instant;

/// An owner that could not be read is asked for again after so long.
const OPAQUE: Duration = Duration::from_secs(60);

/// An owner's group, kind, namespace and name.
pub type Place = (String, String, String, String);

/// An object as it stands; nothing if it does not say what it is.
pub fn standing(object: &DynamicObject) -> Option<Standing> {
    let types = object.types.as_ref()?;
    Some(Standing::of((&types.api_version, &types.kind), &object.metadata, &object.data))
}

/// Where an owner is.
pub fn place(owner: &Owner, namespace: &str) -> Place {
    (owner.group().to_owned(), owner.kind.clone(), namespace.to_owned(), owner.name.clone())
}

/// So many that are gone are remembered; whoever asks for others is told by the API server.
const GONE: usize = 4_096;

/// All owners that are known.
#[derive(Debug, Default)]
pub struct Owners {
    standing: BTreeMap<Place, Arc<Standing>>,
    opaque: BTreeMap<Place, Instant>,
    gone: BTreeSet<String>,
}

impl Owners {
    /// What is known of an owner; nothing if it has to be asked for.
    pub fn sight(&self, owner: &Owner, namespace: &str) -> Option<Sight> {
        if self.gone.contains(&owner.uid) {
            return Some(Sight::Gone);
        }
        let place = place(owner, namespace);
        match self.standing.get(&place) {
            // Somebody names another object than the one that is known here: one of the two is newer.
            Some(standing) if owner.uid.is_empty() || standing.owner.uid == owner.uid => {
                Some(Sight::Stands(Arc::clone(standing)))
            }
            _ => self.opaque.get(&place).filter(|at| at.elapsed() < OPAQUE).map(|_| Sight::Opaque),
        }
    }

    /// What an owner's metadata were when last seen.
    pub fn metadata(&self, owner: &Owner, namespace: &str) -> Option<&ObjectMeta> {
        let standing = self.standing.get(&place(owner, namespace))?;
        (owner.uid.is_empty() || standing.owner.uid == owner.uid).then_some(&standing.metadata)
    }

    /// Takes in what was seen, unless something newer was before. Says whether anything is new.
    pub fn see(&mut self, standing: Standing) -> bool {
        let namespace = standing.metadata.namespace.clone().unwrap_or_default();
        let place = place(&standing.owner, &namespace);
        self.opaque.remove(&place);
        if self.standing.get(&place).is_some_and(|known| known.version >= standing.version) {
            return false;
        }
        if let Some(before) = self.standing.insert(place, Arc::new(standing.clone()))
            && before.owner.uid != standing.owner.uid
        {
            self.lost(&before.owner.uid);
        }
        true
    }

    /// It cannot be read.
    pub fn cannot_see(&mut self, place: Place) {
        self.opaque.insert(place, Instant::now());
    }

    /// This very object is gone.
    pub fn lost(&mut self, uid: &str) {
        if self.gone.len() >= GONE {
            self.gone.clear();
        }
        self.gone.insert(uid.to_owned());
        self.standing.retain(|_, standing| standing.owner.uid != uid);
    }

    /// These are all of a kind that were there at this version: what was seen before then is gone.
    pub fn listed(&mut self, (group, kind): (&str, &str), listed: Vec<Standing>, version: u64) {
        let there: BTreeSet<String> = listed.iter().map(|standing| standing.owner.uid.clone()).collect();
        let lost: Vec<String> = self
            .standing
            .iter()
            .filter(|(place, _)| place.0 == group && place.1 == kind)
            .map(|(_, standing)| standing)
            .filter(|standing| standing.version <= version && !there.contains(&standing.owner.uid))
            .map(|standing| standing.owner.uid.clone())
            .collect();
        for uid in lost {
            self.lost(&uid);
        }
        for standing in listed {
            self.see(standing);
        }
    }
}
