//! Sets whose pods come from another operator: nothing is done before all of them are known.

use std::sync::Arc;

use super::actor::Actor;
use super::pace::Topic;
use super::wish::{Migration, Wish};
use super::writes::in_time;
use crate::observe::SlimPod;
use crate::report::held;

impl Actor {
    /// Whether what stands of the set is all its own, and known. If not, that is said, and nothing may be planned:
    /// what seems to be missing may stand under another owner, or under another name.
    pub(super) async fn has_all_pods(&mut self, wish: &Arc<Wish>) -> bool {
        match wish.migration {
            Migration::None => true,
            Migration::Held => {
                self.taken_in = false;
                self.pace.halt();
                self.say(wish, held(wish, self.now()));
                false
            }
            Migration::Adopted if self.taken_in => true,
            Migration::Adopted => {
                if let Some(until) = self.holds(&Topic::Upkeep) {
                    self.wake_at(until);
                    return false;
                }
                let hand = Arc::clone(&self.hand);
                // The watch may not have shown those yet that were taken over last.
                match in_time("list the pods", hand.all_of(&wish.set.name)).await {
                    Ok(pods) => self.take_in(&pods),
                    Err(error) => self.failed(Topic::Upkeep, error),
                }
                self.taken_in
            }
        }
    }

    /// Knows these pods from now on.
    fn take_in(&mut self, pods: &[SlimPod]) {
        let now = self.now();
        let mut desk = self.handle.desk();
        for slim in pods {
            desk.view.see(slim, false, now);
        }
        drop(desk);
        self.taken_in = true;
    }
}
