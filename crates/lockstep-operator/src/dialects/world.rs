//! What a dialect reads beside an object, asked of the API server by whoever does not follow it.

use kube::api::ListParams;
use kube::{Client, Error};
use lockstep_dialects::{Dialect, World};

use super::served;
use super::watches::Watched;

/// What there is for an object of a namespace.
pub async fn read(
    client: &Client,
    dialect: &'static dyn Dialect,
    namespace: Option<&str>,
) -> Result<World, Error> {
    let mut objects = Vec::new();
    for kind in dialect.kinds().iter().filter(|kind| !kind.becomes_set) {
        let watched = Watched::kind(kind);
        match watched.api(client, namespace).list(&ListParams::default()).await {
            Ok(listed) => objects.extend(listed.items.into_iter().map(|object| watched.read(object))),
            // Not every kind has to be defined.
            Err(Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(World { objects, served: served::ask(client).await, partial: false })
}
