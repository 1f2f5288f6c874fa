//! Writing what is made from objects: never what is not ours, and nothing that stands already.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::{Client, Error};
use lockstep_api::label;
use serde_json::{Value, json};

use super::book::Book;
use super::id::{Id, is_leaving, is_made_from, version};
use super::wanted;
use super::watches::Watched;
use crate::act::ActError;

/// What became of something that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    /// It stands.
    Stands(Arc<Value>),
    /// Something of that name is there and was not made from the object.
    InTheWay,
    /// An earlier one of that name is on its way out.
    Leaving,
}

/// Writes for a dialect.
pub struct Desk {
    client: Client,
    book: Arc<Book>,
    watched: Vec<Watched>,
    sure: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The statuses that were written last, and what the API server made of them.
    said: Mutex<BTreeMap<Id, (Value, Value)>>,
}

impl Desk {
    /// A desk with nothing on it.
    pub fn new(
        client: Client,
        book: Arc<Book>,
        watched: Vec<Watched>,
        sure: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Self {
        Self { client, book, watched, sure, said: Mutex::default() }
    }

    fn open(&self, id: &Id, doing: &str) -> Result<(&Watched, Api<DynamicObject>), ActError> {
        if !(self.sure)() {
            return Err(ActError::NotLeader);
        }
        let watched = self.watched.iter().find(|watched| watched.is_of(id));
        let watched = watched.ok_or_else(|| ActError::Refused {
            doing: doing.to_owned(),
            code: 404,
            message: format!("the cluster does not serve {}s, or did not when the operator started", id.kind),
        })?;
        Ok((
            watched,
            watched.api(&self.client, Some(&id.namespace).filter(|it| !it.is_empty()).map(String::as_str)),
        ))
    }

    /// Applies what is wanted of `maker`, unless it stands already or is not ours.
    pub async fn apply(&self, wanted: &Value, maker: &Value) -> Result<Applied, ActError> {
        let id = Id::of(wanted);
        let doing = format!("apply {} {}", id.kind, id.name);
        let (watched, api) = self.open(&id, &doing)?;
        let standing = match self.book.get(&id) {
            Some(known) => Some(known),
            // Nobody watches what is not ours, and the watch may be late.
            None => self.find(watched, &api, &id, &doing).await?,
        };
        let mut body = wanted.clone();
        let mut how = PatchParams::apply(label::DIALECT_MANAGER);
        if let Some(standing) = standing {
            if is_leaving(&standing) {
                return Ok(Applied::Leaving);
            }
            let ours = is_made_from(&standing, &maker["metadata"]["uid"]);
            if !ours {
                // Nobody but a dialect's user makes its kinds by hand: one for the same end is theirs, and gets what
                // it lacks.
                let of_user = !watched.made && id.kind != lockstep_api::KIND;
                if !of_user || !wanted::is_for_the_same(&standing, wanted) {
                    return Ok(Applied::InTheWay);
                }
                body = wanted::filled_in(wanted);
            }
            if wanted::stands(&body, &standing) {
                return Ok(Applied::Stands(standing));
            }
            // As it was seen, or not at all: somebody may just have scaled it.
            body["metadata"]["uid"] = standing["metadata"]["uid"].clone();
            body["metadata"]["resourceVersion"] = standing["metadata"]["resourceVersion"].clone();
            how.force = ours;
        }
        match api.patch(&id.name, &how, &Patch::Apply(&body)).await {
            Ok(object) => {
                self.book.see(watched.read(object));
                let stands = self.book.get(&id);
                Ok(stands.map_or(Applied::Leaving, Applied::Stands))
            }
            Err(error) => {
                if matches!(&error, Error::Api(status) if status.code == 409) {
                    self.find(watched, &api, &id, &doing).await?;
                }
                Err(ActError::of(doing, error))
            }
        }
    }

    /// An object as the API server has it now.
    async fn find(
        &self,
        watched: &Watched,
        api: &Api<DynamicObject>,
        id: &Id,
        doing: &str,
    ) -> Result<Option<Arc<Value>>, ActError> {
        let found = api.get_opt(&id.name).await.map_err(|error| ActError::of(doing.to_owned(), error))?;
        let Some(found) = found.map(|object| watched.read(object)) else { return Ok(None) };
        let is_set = id.kind == lockstep_api::KIND;
        // What is not watched is not kept either: nobody would say that it is gone.
        if watched.made && !is_set && found["metadata"]["labels"][label::DIALECT].is_null() {
            return Ok(Some(Arc::new(found)));
        }
        self.book.see(found);
        Ok(self.book.get(id))
    }

    /// Deletes something that was made once and is not wanted any more.
    pub async fn delete(&self, object: &Value) -> Result<(), ActError> {
        let id = Id::of(object);
        let doing = format!("delete {} {}", id.kind, id.name);
        let (_, api) = self.open(&id, &doing)?;
        let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
        let preconditions = Some(Preconditions { uid, resource_version: None });
        match api.delete(&id.name, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
            Ok(_) => Ok(()),
            // Gone, or another by now.
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(ActError::of(doing, error)),
        }
    }

    /// Says where an object stands, if that is news.
    pub async fn say(&self, object: &Value, status: &Value) -> Result<(), ActError> {
        let id = Id::of(object);
        let doing = format!("write the status of {} {}", id.kind, id.name);
        if status.is_null() || object["status"] == *status || self.is_said(&id, object, status) {
            return Ok(());
        }
        let (watched, api) = self.open(&id, &doing)?;
        let body = json!({
            "apiVersion": watched.resource.api_version,
            "kind": watched.resource.kind,
            "metadata": {"name": id.name, "namespace": object["metadata"]["namespace"], "uid": object["metadata"]["uid"]},
            "status": status,
        });
        let how = PatchParams::apply(label::DIALECT_MANAGER).force();
        match api.patch_status(&id.name, &how, &Patch::Apply(&body)).await {
            Ok(written) => {
                let written = watched.read(written);
                let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
                said.insert(id, (status.clone(), written["status"].clone()));
                drop(said);
                self.book.see(written);
                Ok(())
            }
            // It is gone, or another has its name: there is nobody to say it of.
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(ActError::of(doing, error)),
        }
    }

    /// Whether it was said in the same words before, and what the API server kept of them still stands.
    fn is_said(&self, id: &Id, object: &Value, status: &Value) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.get(id).is_some_and(|(said, kept)| said == status && *kept == object["status"])
    }

    /// An object is gone.
    pub fn forget(&self, id: &Id) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// The generation of an object, and whether its status speaks of it.
pub fn is_current(object: &Value) -> bool {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    version(object) > 0 && object["status"]["observedGeneration"].as_i64() == Some(generation)
}
