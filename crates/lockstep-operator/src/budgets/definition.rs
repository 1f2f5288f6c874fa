//! Whose the definition of PodUnavailableBudget is. Where Kruise has brought it, Kruise looks after it.

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt};
use lockstep_dialects::definition::MADE_BY;
use lockstep_feed::{InitialList, Source, feed};
use tokio::sync::watch;

use crate::report::{Herald, Note};

/// The name of the definition.
pub const NAME: &str = "podunavailablebudgets.policy.kruise.io";

/// Whose a definition is.
#[derive(Debug, Clone, PartialEq)]
pub enum Whose {
    /// Nobody has brought it.
    Nobodys,
    /// We have.
    Ours,
    /// Somebody else has.
    Foreign(ObjectReference),
}

/// Follows the definition, for ever.
pub async fn follow(client: Client, whose: Arc<watch::Sender<Option<Whose>>>) {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut source = Source::new(api, InitialList::Paged);
    source.config.field_selector = Some(format!("metadata.name={NAME}"));
    let mut events = feed(source).boxed();
    let mut listed = Whose::Nobodys;
    let tell = |now: &Whose| {
        whose.send_if_modified(|known| {
            let news = known.as_ref() != Some(now);
            if news {
                *known = Some(now.clone());
            }
            news
        });
    };
    while let Some(event) = events.next().await {
        match event {
            Event::Init => listed = Whose::Nobodys,
            Event::InitApply(definition) => listed = of(&definition),
            Event::InitDone => tell(&listed),
            Event::Apply(definition) => tell(&of(&definition)),
            Event::Delete(_) => tell(&Whose::Nobodys),
        }
    }
}

fn of(definition: &PartialObjectMeta<CustomResourceDefinition>) -> Whose {
    let (label, us) = MADE_BY;
    if definition.labels().get(label).is_some_and(|who| who == us) {
        return Whose::Ours;
    }
    Whose::Foreign(ObjectReference {
        api_version: Some("apiextensions.k8s.io/v1".to_owned()),
        kind: Some("CustomResourceDefinition".to_owned()),
        name: Some(definition.name_any()),
        uid: definition.uid(),
        ..ObjectReference::default()
    })
}

/// Says that somebody else looks after budgets here.
pub async fn warn(herald: &Herald, definition: &ObjectReference) {
    let message = "defined by somebody else, whose controller looks after it: Lockstep leaves budgets alone. To hand \
                   it over: uninstall that controller, label the definition app.kubernetes.io/managed-by=lockstep, \
                   then `lockstep install`";
    tracing::warn!(definition = NAME, "{message}");
    let note = Note { warning: false, reason: "NotServed".to_owned(), message: message.to_owned() };
    if let Err(error) = herald.tell(definition, &note).await {
        tracing::warn!(%error, "cannot send an event");
    }
}
