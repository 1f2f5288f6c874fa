//! Events about annotations that could not be read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

use crate::annotations::BadAnnotation;
use crate::draw;
use crate::pod::PodView;
use crate::time::stored;

/// The reason of the events.
const REASON: &str = "InvalidAnnotation";

/// A warning on the pod. Its name follows from what it says, so that saying it again changes nothing.
pub(crate) fn event(pod: &PodView, bad: &BadAnnotation, now: Timestamp) -> Event {
    let message = bad.to_string();
    let name = format!("{}.{:016x}", pod.name(), draw::number(&[pod.uid(), &message]));
    let time = Some(stored(now));
    Event {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(pod.namespace().to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: Some(pod.name().to_owned()),
            namespace: Some(pod.namespace().to_owned()),
            uid: Some(pod.uid().to_owned()),
            ..ObjectReference::default()
        },
        reason: Some(REASON.into()),
        message: Some(message),
        type_: Some("Warning".into()),
        count: Some(1),
        first_timestamp: time.clone(),
        last_timestamp: time,
        source: Some(EventSource { component: Some("kubelet".into()), host: Some(pod.node().to_owned()) }),
        ..Event::default()
    }
}

/// Writes the event. That it exists already is as good.
pub(crate) async fn say(client: Client, event: Event) -> kube::Result<()> {
    let namespace = event.metadata.namespace.clone().unwrap_or_default();
    let api: Api<Event> = Api::namespaced(client, &namespace);
    match api.create(&PostParams::default(), &event).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}
