//! The way between one client and the server: cut, mended, or dead with its client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::dice::Dice;
use super::profile::Profile;
use super::sight::{Deed, Done, Sight};
use crate::cluster::tidings::Tidings;

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Cut,
    Dead,
}

/// When nothing went through last.
#[derive(Debug, Clone, Copy)]
struct Silence {
    from: Instant,
    /// It still lasts, if this is not said.
    until: Option<Instant>,
}

/// The way between one client and the server.
#[derive(Debug, Clone)]
pub struct Link(Arc<Wire>);

#[derive(Debug)]
struct Wire {
    profile: Profile,
    began: Instant,
    dice: Mutex<Dice>,
    state: Tidings<State>,
    silence: Mutex<Option<Silence>>,
    writes: AtomicU64,
    /// The client dies with this write.
    last_write: AtomicU64,
    sight: Sight,
}

impl Link {
    pub(super) fn new(profile: Profile, seed: u64, blind_since: Instant) -> Self {
        Self(Arc::new(Wire {
            profile,
            began: Instant::now(),
            sight: Sight::since(blind_since),
            dice: Mutex::new(Dice::new(seed)),
            state: Tidings::new(State::Open),
            silence: Mutex::default(),
            writes: AtomicU64::new(0),
            last_write: AtomicU64::new(u64::MAX),
        }))
    }

    /// Nothing goes through any more. What is sent meanwhile arrives when it is mended, or is lost.
    pub fn cut(&self) {
        self.turn(State::Cut);
    }

    /// It is as it was before it was cut.
    pub fn mend(&self) {
        self.turn(State::Open);
    }

    /// The client is gone, and nobody ever answers it again.
    pub fn kill(&self) {
        self.turn(State::Dead);
    }

    /// The client dies with a write of its own, this many from now on: it is done, and it never learns of it.
    pub fn kill_after(&self, writes: u64) {
        self.0.last_write.store(self.writes().saturating_add(writes), Ordering::Relaxed);
    }

    /// Whether the client is gone.
    pub fn is_dead(&self) -> bool {
        self.state() == State::Dead
    }

    /// When the client came.
    pub fn began(&self) -> Instant {
        self.0.began
    }

    /// Since when nothing went through last, if that was so at any time after this moment.
    pub fn silent_after(&self, moment: Instant) -> Option<Instant> {
        let silence = *self.silence();
        silence.filter(|it| it.until.is_none_or(|until| until >= moment)).map(|it| it.from)
    }

    fn silence(&self) -> MutexGuard<'_, Option<Silence>> {
        self.0.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client knows of the pods all that had happened until then, or more, whatever it does now.
    pub fn rests_on(&self) -> Instant {
        self.0.sight.rests_on()
    }

    /// What the client last did so to a pod, and what it knew when it decided to.
    pub fn deed(&self, deed: Deed, pod: &str) -> Option<Done> {
        self.0.sight.deed(deed, pod)
    }

    /// Something that the client did to a pod arrived after one moment, and not after the other.
    pub fn acted_between(&self, from: Instant, until: Instant) -> bool {
        self.0.sight.acted_between(from, until)
    }

    /// How many writes have arrived.
    pub fn writes(&self) -> u64 {
        self.0.writes.load(Ordering::Relaxed)
    }

    /// Waits until the client is dead.
    pub async fn dead(&self) {
        self.0.state.until(|state| state == State::Dead).await;
    }

    pub(super) fn state(&self) -> State {
        self.0.state.get()
    }

    pub(super) fn sight(&self) -> &Sight {
        &self.0.sight
    }

    pub(super) fn profile(&self) -> &Profile {
        &self.0.profile
    }

    pub(super) fn dice(&self) -> MutexGuard<'_, Dice> {
        self.0.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing goes wrong any more.
    pub(super) fn is_calm(&self) -> bool {
        let elapsed = self.0.began.elapsed().as_millis();
        self.0.profile.lasts.is_some_and(|lasts| elapsed >= u128::from(lasts))
    }

    /// Waits until something can go through. Returns whether it ever can.
    pub(super) async fn passes(&self) -> bool {
        self.0.state.until(|state| state != State::Cut).await == State::Open
    }

    /// A write has arrived.
    pub(super) fn wrote(&self) {
        let count = self.0.writes.fetch_add(1, Ordering::Relaxed) + 1;
        if count >= self.0.last_write.load(Ordering::Relaxed) {
            self.kill();
        }
    }

    /// Who is dead stays so, and sees nothing any more.
    fn turn(&self, to: State) {
        if to == State::Dead {
            self.0.sight.falls_behind("for ever");
        }
        self.note_silence(to);
        self.0.state.change(|state| if state == State::Dead { state } else { to });
    }

    fn note_silence(&self, to: State) {
        if self.is_dead() {
            return;
        }
        let (now, mut silence) = (Instant::now(), self.silence());
        match (to, &mut *silence) {
            (State::Open, Some(lasting)) => lasting.until = lasting.until.or(Some(now)),
            (State::Open, None) | (_, Some(Silence { until: None, .. })) => {}
            (_, ended) => *ended = Some(Silence { from: now, until: None }),
        }
    }
}
