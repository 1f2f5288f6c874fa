//! Requests, from the first to the last word: webhooks are asked in between.

use crate::request::Request;
use crate::server::{Answer, Told};

use super::Shared;

impl Shared {
    /// What comes of a request.
    pub async fn respond(&self, request: &Request) -> Answer {
        let mut told = Told::default();
        loop {
            match self.handle(request, &told) {
                Answer::Ask(call) => {
                    let time = std::time::Duration::from_secs(call.timeout);
                    let said = tokio::time::timeout(time, self.caller.call(&call)).await;
                    let said = said.unwrap_or_else(|_| Err("context deadline exceeded".to_owned()));
                    told.tell(&call, said);
                }
                done => return done,
            }
        }
    }

    fn handle(&self, request: &Request, told: &Told) -> Answer {
        let now = self.now();
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
        self.changed.send_if_modified(|known| {
            let later = *known < revision;
            *known = revision.max(*known);
            later
        });
        answer
    }
}
