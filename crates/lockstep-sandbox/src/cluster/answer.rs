//! Requests, from the first to the last word: webhooks are asked in between.

use std::sync::atomic::Ordering;

use jiff::Timestamp;

use crate::request::Request;
use crate::server::{Answer, Call, Told};

use super::Shared;

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
                done => return done,
            }
        }
    }

    /// Carries a question to a webhook, and back what it says.
    pub async fn ask(&self, call: &Call, told: &mut Told) {
        let time = std::time::Duration::from_secs(call.timeout);
        let said = tokio::time::timeout(time, self.caller.call(call)).await;
        let said = said.unwrap_or_else(|_| Err("context deadline exceeded".to_owned()));
        told.tell(call, said);
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
