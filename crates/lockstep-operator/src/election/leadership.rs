//! Being the leader, for one term.

use tokio::sync::watch;
use tokio::time::Instant;

/// How long a term lasts, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Sure until then, unless it is renewed before.
    Sure(Instant),
    /// For ever.
    Over,
}

/// The right to act, for one term. Cheap to clone; once lost it stays lost, and the next term has its own.
#[derive(Debug, Clone)]
pub struct Leadership(watch::Receiver<State>);

impl Leadership {
    /// Whether nobody else can be leading now. To be asked before everything that changes the world.
    pub fn is_sure(&self) -> bool {
        matches!(*self.0.borrow(), State::Sure(until) if Instant::now() < until)
    }

    /// Waits until we are no longer sure.
    pub async fn lost(&self) {
        let mut state = self.0.clone();
        loop {
            let State::Sure(until) = *state.borrow_and_update() else { return };
            tokio::select! {
                biased;
                renewed = state.changed() => if renewed.is_err() { return },
                () = tokio::time::sleep_until(until) => return,
            }
        }
    }
}

/// The other end: who keeps the term going. It is over when this is dropped.
#[derive(Debug)]
pub(super) struct Term(watch::Sender<State>);

impl Term {
    /// Begins a term.
    pub(super) fn begin(sure_until: Instant) -> (Self, Leadership) {
        let (sender, receiver) = watch::channel(State::Sure(sure_until));
        (Self(sender), Leadership(receiver))
    }

    /// Goes on, unless it came too late: a term of which somebody may have seen the end does not begin again.
    pub(super) fn renew(&self, sure_until: Instant) -> bool {
        let mut in_time = false;
        self.0.send_if_modified(|state| {
            in_time = matches!(*state, State::Sure(until) if Instant::now() < until);
            if in_time {
                *state = State::Sure(sure_until);
            }
            in_time
        });
        in_time
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.0.send_replace(State::Over);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_term_that_was_not_renewed_is_lost_for_ever() {
        let start = Instant::now();
        let (term, leadership) = Term::begin(start + 10 * SECOND);
        tokio::time::advance(9 * SECOND).await;
        assert!(leadership.is_sure() && term.renew(start + 15 * SECOND));
        tokio::time::advance(5 * SECOND).await;
        assert!(leadership.is_sure());
        leadership.lost().await;
        assert_eq!(start.elapsed().as_secs(), 15);
        assert!(!leadership.is_sure() && !term.renew(start + 60 * SECOND) && !leadership.is_sure());
    }

    #[tokio::test(start_paused = true)]
    async fn renewals_are_noticed_by_who_waits_for_the_end() {
        let start = Instant::now();
        let (term, leadership) = Term::begin(start + 10 * SECOND);
        let waits = tokio::spawn(async move { leadership.lost().await });
        for second in 1..100 {
            tokio::time::sleep(SECOND).await;
            assert!(term.renew(start + (second + 10) * SECOND) && !waits.is_finished());
        }
        drop(term);
        waits.await.expect("lost");
        assert_eq!(start.elapsed().as_secs(), 99, "at once, not when it would have run out");
    }

    #[tokio::test]
    async fn a_term_that_nobody_keeps_is_over() {
        let (term, leadership) = Term::begin(Instant::now() + 60 * SECOND);
        let copy = leadership.clone();
        drop(term);
        assert!(!leadership.is_sure() && !copy.is_sure());
    }
}
