//! What stands beside a set's pods: stored revisions, services, scales, gangs. Written when it is missing, left
//! alone when it stands.

mod gangs;
mod revisions;
mod scales;
mod services;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, PatchParams, PostParams};
use kube::{Client, Error, Resource};
use lockstep_api::label;

pub use self::scales::{read_scale, scaled};
pub use self::services::UNTIL_FREE;
use super::desk::Handle;
use super::wish::Wish;
use crate::act::{ActError, SetRef};

/// Keeps what stands beside the pods.
pub struct Keeper<'a> {
    /// The way to the API server.
    pub client: &'a Client,
    /// What is known.
    pub handle: &'a Handle,
    /// The set.
    pub wish: &'a Wish,
}

impl Keeper<'_> {
    fn set(&self) -> &SetRef {
        &self.wish.set
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.set().namespace)
    }
}

fn apply() -> PatchParams {
    PatchParams::apply(label::FIELD_MANAGER).force()
}

fn create() -> PostParams {
    PostParams { field_manager: Some(label::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn ignore_missing<T>(deleted: Result<T, Error>, doing: impl FnOnce() -> String) -> Result<(), ActError> {
    match deleted {
        Ok(_) => Ok(()),
        Err(Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(ActError::of(doing(), error)),
    }
}
