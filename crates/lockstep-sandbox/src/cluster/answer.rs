//! Requests, from the first to the last word: webhooks are asked in between.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;

use crate::request::Request;
use crate::server::{Answer, Call, Told};
use crate::store::Key;

use super::Shared;
use super::audit::Asked;

impl Shared {
    /// What comes of a request.
    pub async fn respond(&self, request: &Request) -> Answer {
        // The time of a request is that of its arrival, and what is made up for it is made up once: a webhook that
        // takes its time is asked once.
        let now = self.now();
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let mut told = Told::about(format!("{} {number}", self.first));
        loop {
            match self.handle(now, request, &told) {
                Answer::Ask(call) => self.ask(&call, &mut told).await,
                Answer::Done(done) => {
                    if let Some(log) = &self.audit {
                        log.note(Asked::read(request, now), &done, self.now());
                    }
                    return Answer::Done(done);
                }
                Answer::Watch(watch) => return Answer::Watch(watch),
            }
        }
    }

    /// Carries a question to a webhook, and back what it says.
    pub async fn ask(&self, call: &Call, told: &mut Told) {
        let time = std::time::Duration::from_secs(call.timeout);
        let said = tokio::time::timeout(time, self.caller.call(call, self.elsewhere(call))).await;
        let said = said.unwrap_or_else(|_| Err("context deadline exceeded".to_owned()));
        told.tell(call, said);
    }

    /// Where the service of a webhook is, if it says so itself.
    fn elsewhere(&self, call: &Call) -> Option<String> {
        let service = &call.client["service"];
        let text = |key: &str| Arc::from(service[key].as_str().unwrap_or_default());
        let key = Key { resource: Arc::from("services"), namespace: text("namespace"), name: text("name") };
        let state = self.lock();
        let spec = &state.server.store().get(&key)?["spec"];
        let name = spec["externalName"].as_str().filter(|_| spec["type"] == "ExternalName")?;
        Some(format!("{name}:{}", service["port"].as_u64().unwrap_or(443)))
    }

    fn handle(&self, now: Timestamp, request: &Request, told: &Told) -> Answer {
        let (answer, revision) = {
            let mut state = self.lock();
            let kinds = state.server.catalogue().generation();
            let answer = state.server.handle(now, request, told);
            if state.server.catalogue().generation() != kinds {
                let catalogue = state.server.catalogue().clone();
                *self.kinds.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = catalogue;
            }
            (answer, state.server.store().revision())
        };
        self.revision.change(|known| known.max(revision));
        answer
    }
}
