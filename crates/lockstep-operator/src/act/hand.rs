//! The hand that writes: single requests, each with the precondition that makes it safe to be late.

use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::Request;
use kube::{Client, Error};
use lockstep_api::label;
use lockstep_core::names::Uid;
use lockstep_core::plan::DeleteWhy;
use serde_json::{Value, json};

use crate::observe::SlimPod;

/// A write that was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// The API server refused it.
    #[error("{doing}: {message}")]
    Refused {
        /// What was tried.
        doing: String,
        /// The HTTP status.
        code: u16,
        /// What the API server said.
        message: String,
    },
    /// Nobody knows whether it was done.
    #[error("{doing}: {message}")]
    Unknown {
        /// What was tried.
        doing: String,
        /// What went wrong on the way.
        message: String,
    },
    /// The name is taken by a pod that is not ours.
    #[error("a pod named {name} is there and does not belong to this set; delete or rename it")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// It is not ours to write any more.
    #[error("not the leader any more")]
    NotLeader,
    /// It spoke of a state that is over.
    #[error("somebody else was faster")]
    Overtaken,
}

impl ActError {
    /// Whether it says nothing of the object in particular: no quota, no rights, nobody answers. A webhook that
    /// denies one object may let another pass.
    pub fn is_at_large(&self) -> bool {
        match self {
            Self::Unknown { .. } | Self::NotLeader => true,
            Self::Refused { code, message, .. } => {
                *code >= 500 || (*code == 403 && !message.contains("denied the request"))
            }
            Self::NameTaken { .. } | Self::Overtaken => false,
        }
    }

    /// What went wrong, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Refused { code: 403, .. } => "forbidden",
            Self::Refused { code: 409, .. } => "conflict",
            Self::Refused { code: 422, .. } => "invalid",
            Self::Refused { code: 429, .. } => "throttled",
            Self::Refused { .. } => "refused",
            Self::Unknown { .. } => "unreachable",
            Self::NameTaken { .. } => "name_taken",
            Self::NotLeader => "not_leader",
            Self::Overtaken => "conflict",
        }
    }

    pub(crate) fn of(doing: String, error: Error) -> Self {
        match error {
            Error::Api(status) => Self::Refused { doing, code: status.code, message: status.message },
            other => Self::Unknown { doing, message: other.to_string() },
        }
    }
}

/// What became of a write on a pod.
#[derive(Debug)]
pub enum Answer {
    /// Done, and so it stands now.
    Stands(Box<SlimPod>),
    /// There is no such pod any more.
    Gone,
    /// It is not as we believed; so it stands, if it does.
    Changed(Option<Box<SlimPod>>),
}

/// Writes pods of one namespace.
#[derive(Clone)]
pub struct Hand {
    pods: Api<SlimPod>,
    client: Client,
    namespace: String,
}

impl Hand {
    /// A hand for a namespace.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { pods: Api::namespaced(client.clone(), namespace), client, namespace: namespace.to_owned() }
    }

    /// Creates a pod. If one of that name is there already and is ours, that is the one.
    pub async fn create(&self, owner: &Uid, name: &str, pod: &Value) -> Result<Answer, ActError> {
        let doing = || format!("create pod {name}");
        let body = serde_json::to_vec(pod)
            .map_err(|error| ActError::Unknown { doing: doing(), message: error.to_string() })?;
        let path =
            format!("/api/v1/namespaces/{}/pods?fieldManager={}", self.namespace, label::FIELD_MANAGER);
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(body)
            .map_err(|error| ActError::Unknown { doing: doing(), message: error.to_string() })?;
        match self.client.request::<SlimPod>(request).await {
            Ok(slim) => Ok(Answer::Stands(Box::new(slim))),
            Err(Error::Api(status)) if status.reason == "AlreadyExists" => match self.get(name).await? {
                Some(slim) if slim.owner.as_ref() == Some(owner) => Ok(Answer::Changed(Some(slim))),
                Some(_) => Err(ActError::NameTaken { name: name.to_owned() }),
                None => Ok(Answer::Changed(None)),
            },
            Err(error) => Err(ActError::of(doing(), error)),
        }
    }

    /// Deletes a pod, if it is the one that was seen, and in the state that was seen if `version` is given. Why is
    /// for whoever stands between in the same process, and is not sent.
    pub async fn delete(
        &self,
        name: &str,
        uid: &Uid,
        version: Option<u64>,
        why: DeleteWhy,
    ) -> Result<Answer, ActError> {
        let doing = || format!("delete pod {name}");
        let preconditions = Preconditions {
            uid: Some(uid.to_string()),
            resource_version: version.map(|version| version.to_string()),
        };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let mut request = Request::new(self.pods.resource_url())
            .delete(name, &parameters)
            .map_err(|error| ActError::of(doing(), Error::BuildRequest(error)))?;
        request.extensions_mut().insert(why);
        match self.client.request_status::<SlimPod>(request).await {
            Ok(either) => Ok(match either.left() {
                Some(slim) => Answer::Stands(Box::new(slim)),
                None => Answer::Gone,
            }),
            Err(Error::Api(status)) if status.code == 404 => Ok(Answer::Gone),
            Err(Error::Api(status)) if status.code == 409 => Ok(Answer::Changed(self.get(name).await?)),
            Err(error) => Err(ActError::of(doing(), error)),
        }
    }

    /// Lifts our gate from a pod.
    pub async fn ungate(&self, name: &str, uid: &Uid) -> Result<Answer, ActError> {
        let gate = json!({"$patch": "delete", "name": label::GATE});
        let patch = json!({"metadata": {"uid": uid.as_str()}, "spec": {"schedulingGates": [gate]}});
        let parameters =
            PatchParams { field_manager: Some(label::FIELD_MANAGER.to_owned()), ..Default::default() };
        match self.pods.patch(name, &parameters, &Patch::Strategic(patch)).await {
            Ok(slim) => Ok(Answer::Stands(Box::new(slim))),
            Err(Error::Api(status)) if status.code == 404 => Ok(Answer::Gone),
            Err(Error::Api(status)) if status.code == 409 => Ok(Answer::Changed(self.get(name).await?)),
            Err(error) => Err(ActError::of(format!("lift the gate of pod {name}"), error)),
        }
    }

    /// All pods that say they belong to a set.
    pub async fn all_of(&self, set: &str) -> Result<Vec<SlimPod>, ActError> {
        let of_set = ListParams::default().labels(&format!("{}={set}", label::SET));
        let listed = self.pods.list(&of_set).await;
        listed.map(|list| list.items).map_err(|error| ActError::of(format!("list the pods of {set}"), error))
    }

    /// A pod as it stands.
    pub async fn get(&self, name: &str) -> Result<Option<Box<SlimPod>>, ActError> {
        let found = self.pods.get_opt(name).await;
        found.map(|slim| slim.map(Box::new)).map_err(|error| ActError::of(format!("read pod {name}"), error))
    }
}
