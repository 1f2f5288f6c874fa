//! Tells an API server about a webhook.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, Client};

use super::Webhook;

/// How a webhook is registered.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    name: String,
    rules: Vec<RuleWithOperations>,
    failure_policy: &'static str,
    timeout_seconds: i32,
    object_selector: Option<LabelSelector>,
}

/// These operations (`CREATE`, `UPDATE`, `DELETE`, `CONNECT`) on resources (`pods`, `pods/eviction`) of a
/// group, in all its versions.
pub fn operations(operations: &[&str], group: &str, resources: &[&str]) -> RuleWithOperations {
    let owned = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    RuleWithOperations {
        operations: owned(operations),
        api_groups: owned(&[group]),
        api_versions: owned(&["*"]),
        resources: owned(resources),
        scope: None,
    }
}

impl Registration {
    /// Under this name (a DNS label), for these operations. A call that fails stops the operation; the API
    /// server waits five seconds for an answer.
    pub fn new(name: &str, rules: impl IntoIterator<Item = RuleWithOperations>) -> Self {
        Self {
            name: name.to_owned(),
            rules: rules.into_iter().collect(),
            failure_policy: "Fail",
            timeout_seconds: 5,
            object_selector: None,
        }
    }

    /// A call that fails stops nothing.
    pub fn ignore_failures(self) -> Self {
        Self { failure_policy: "Ignore", ..self }
    }

    /// The API server waits so long for an answer, from 1 to 30.
    pub fn timeout_seconds(self, timeout_seconds: i32) -> Self {
        Self { timeout_seconds, ..self }
    }

    /// Only for objects with these labels.
    pub fn objects(self, selector: LabelSelector) -> Self {
        Self { object_selector: Some(selector), ..self }
    }

    fn metadata(&self) -> ObjectMeta {
        ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() }
    }

    /// The API server wants names of three parts.
    fn hook_name(&self) -> String {
        format!("{}.testkit.lockstep", self.name)
    }

    fn validating(&self, webhook: &Webhook) -> ValidatingWebhookConfiguration {
        let hook = ValidatingWebhook {
            name: self.hook_name(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: webhook.client_config(),
            failure_policy: Some(self.failure_policy.to_owned()),
            object_selector: self.object_selector.clone(),
            rules: Some(self.rules.clone()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(self.timeout_seconds),
            ..ValidatingWebhook::default()
        };
        ValidatingWebhookConfiguration { metadata: self.metadata(), webhooks: Some(vec![hook]) }
    }

    fn mutating(&self, webhook: &Webhook) -> MutatingWebhookConfiguration {
        let hook = MutatingWebhook {
            name: self.hook_name(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: webhook.client_config(),
            failure_policy: Some(self.failure_policy.to_owned()),
            object_selector: self.object_selector.clone(),
            rules: Some(self.rules.clone()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(self.timeout_seconds),
            ..MutatingWebhook::default()
        };
        MutatingWebhookConfiguration { metadata: self.metadata(), webhooks: Some(vec![hook]) }
    }
}

/// A webhook an API server knows, until it is told otherwise.
#[derive(Debug)]
pub struct Registered {
    api: Registry,
    name: String,
}

#[derive(Debug)]
enum Registry {
    Validating(Api<ValidatingWebhookConfiguration>),
    Mutating(Api<MutatingWebhookConfiguration>),
}

impl Registered {
    /// Takes it back. The API server goes on asking for a moment, until it has noticed.
    pub async fn remove(self) -> Result<(), kube::Error> {
        let gone = DeleteParams::default();
        match self.api {
            Registry::Validating(api) => api.delete(&self.name, &gone).await.map(drop),
            Registry::Mutating(api) => api.delete(&self.name, &gone).await.map(drop),
        }
    }
}

impl Webhook {
    /// Lets the API server ask this webhook whether operations may happen. It takes the API server a moment to
    /// notice: try with something it should refuse before relying on it.
    pub async fn validate(
        &self,
        client: Client,
        registration: &Registration,
    ) -> Result<Registered, kube::Error> {
        let api = Api::all(client);
        api.create(&PostParams::default(), &registration.validating(self)).await?;
        Ok(Registered { api: Registry::Validating(api), name: registration.name.clone() })
    }

    /// Lets this webhook change objects before they are stored. The same moment passes.
    pub async fn mutate(
        &self,
        client: Client,
        registration: &Registration,
    ) -> Result<Registered, kube::Error> {
        let api = Api::all(client);
        api.create(&PostParams::default(), &registration.mutating(self)).await?;
        Ok(Registered { api: Registry::Mutating(api), name: registration.name.clone() })
    }
}
