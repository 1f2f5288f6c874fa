//! Telling everything to end.

use tokio::sync::watch;

/// Tells everything that holds the other half to end. To drop it is to tell them.
#[derive(Debug)]
pub struct Trigger(watch::Sender<bool>);

/// Waits for being told to end.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<bool>);

/// The two halves.
pub fn shutdown() -> (Trigger, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (Trigger(sender), Shutdown(receiver))
}

impl Trigger {
    /// Tells.
    pub fn shut_down(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Waits until it is told.
    pub async fn requested(&self) {
        // An error says that nobody could tell us any more, which is the same.
        let _ = self.0.clone().wait_for(|told| *told).await;
    }

    /// Whether it was told.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
