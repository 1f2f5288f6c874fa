//! A request, one step at a time, so that anything can happen in between: the same steps as the operator's
//! clerk takes.

use std::sync::Arc;

use lockstep_core::budget::*;

use super::setup::{Flaw, Setup};
use super::state::{Client, Copied, Draft, Phase, Stage, State};
use super::tally::{Event, Tally};

/// What comes of a step: the request goes on, or it is over.
pub type Next = Option<Client>;

impl Client {
    /// Goes on with giving back, or asks again if there is nothing to give back.
    fn give_back(&mut self, written: Vec<(usize, Write)>) {
        self.stage = if written.is_empty() { Stage::Asked } else { Stage::GiveBack(written) };
    }
}

impl State {
    /// Reads all budgets, as they stand or as this replica last saw them.
    pub fn read(&mut self, mut client: Client, cached: bool) -> Next {
        let book = &mut self.replicas[client.replica].book;
        let copies = self.budgets.iter().zip(book).map(|(current, known)| match known {
            Some(old) if cached => Copied { state: Arc::clone(old), current: false },
            _ => {
                *known = None;
                Copied { state: Arc::clone(current), current: true }
            }
        });
        client.stage = Stage::Read(copies.collect());
        client.excused = self.sick.iter().zip(&client.spared).map(|(sick, spared)| sick | spared).collect();
        Some(client)
    }

    /// Lists the pods after the budgets were read.
    pub fn list(&mut self, mut client: Client) -> Next {
        let Stage::Read(copies) = client.stage else { return None };
        let newest = self.newest();
        self.replicas[client.replica].seen = newest;
        client.stage = Stage::Listed(copies, newest);
        Some(client)
    }

    /// Decides from a cache that has got this far. Looking and deciding are one step: a cache that shows the
    /// same later is one that has not moved.
    pub fn look(&mut self, mut client: Client, version: u8, setup: &Setup, tally: &Tally) -> Next {
        self.replicas[client.replica].seen = version;
        let Stage::Read(copies) = std::mem::replace(&mut client.stage, Stage::Asked) else { return None };
        self.decide(client, &copies, version, setup.has(Flaw::BrokenUnproved), setup, tally)
    }

    pub fn decide(
        &mut self,
        mut client: Client,
        copies: &[Copied],
        version: u8,
        live: bool,
        setup: &Setup,
        tally: &Tally,
    ) -> Next {
        client.stage = Stage::Asked;
        let mut drafts = Vec::with_capacity(copies.len());
        for (k, copied) in copies.iter().enumerate() {
            let (account, mut decision) = self.ask(&client, k, &copied.state, version, live, setup);
            match decision.verdict {
                Verdict::ReadAgain(NotYet::PodUnknown) if version == self.newest() => return None,
                Verdict::ReadAgain(why) => {
                    client.live |= why == NotYet::NeedsLiveView;
                    tally.count(Event::Again, 1);
                    return Some(client);
                }
                Verdict::Refused(_) => {
                    tally.count(Event::Refused, 1);
                    return None;
                }
                Verdict::Free(_) | Verdict::Pays => {}
            }
            let pays = decision.verdict == Verdict::Pays;
            if setup.has(Flaw::FreeUnwritten) {
                decision.write.put.retain(|promise| promise.paid);
            }
            let mut state = BudgetState::clone(&copied.state);
            state.record(&account, &decision.write);
            let valid = copied.current || setup.has(Flaw::NoCompare);
            drafts.push(Draft { write: decision.write, pays, state: valid.then(|| Arc::new(state)) });
        }
        client.stage = Stage::Write(0, drafts);
        Some(client)
    }

    /// The core's answer.
    fn ask(
        &self,
        client: &Client,
        k: usize,
        state: &BudgetState,
        version: u8,
        live: bool,
        setup: &Setup,
    ) -> (Account, Decision) {
        let now = setup.clock(self.now, client.replica);
        let mut budget = setup.budget(k, state);
        if setup.has(Flaw::OldViews) {
            budget.state.rests_on = Version::default();
        }
        let mut view = setup.view(k, self.world(version), version, live);
        let shown = setup.pod(client.slot, client.shown);
        if setup.has(Flaw::OldPod) {
            view.pods.iter_mut().filter(|pod| pod.uid == shown.uid).for_each(|pod| pod.clone_from(&shown));
        }
        let mut account = account(&budget, &view, now);
        account.refresh(&shown, client.shown.changed.into());
        let request = Request { pod: shown.uid, operation: client.operation };
        let decision = decide(&account, &request, now);
        (account, decision)
    }

    /// Writes to the next budget, if it still stands as it was read; else what was written goes back. The
    /// client is in no list meanwhile.
    pub fn compare_and_swap(&mut self, mut client: Client, setup: &Setup, tally: &Tally) -> Next {
        let Stage::Write(k, mut drafts) = std::mem::replace(&mut client.stage, Stage::Asked) else {
            return None;
        };
        let Draft { write, pays, state } = drafts[k].clone();
        if !write.is_empty() {
            let Some(state) = state else {
                tally.count(Event::Conflicts, 1);
                let written = drafts.into_iter().map(|draft| draft.write).take(k).enumerate();
                client.give_back(written.filter(|(_, write)| !write.is_empty()).collect());
                return Some(client);
            };
            self.write(k, state, Some(client.replica), setup);
            self.overdrawn |= pays && setup.blinks == 0 && self.is_overdrawn(setup, k);
        }
        drafts[k].state = None;
        let before = self.up_with(&client, Stage::Write(k, Vec::new()), setup, k);
        let after = self.up_with(&client, Stage::Write(k + 1, Vec::new()), setup, k);
        self.ours[k] |= before & !after & !client.excused[k];
        client.stage = Stage::Write(k + 1, drafts);
        if k + 1 == setup.specs.len() {
            tally.count(Event::Admitted, 1);
            client.stage = Stage::Land;
        }
        Some(client)
    }

    /// What is up with the client in this stage.
    fn up_with(&mut self, client: &Client, stage: Stage, setup: &Setup, k: usize) -> u16 {
        self.clients.push(Client { stage, ..client.clone() });
        let up = self.up(setup, k);
        self.clients.pop();
        up
    }

    /// Takes back what was written to one budget, and asks again once nothing is left.
    pub fn give_back(&mut self, mut client: Client, setup: &Setup, tally: &Tally) -> Next {
        let Stage::GiveBack(mut written) = std::mem::replace(&mut client.stage, Stage::Asked) else {
            return None;
        };
        let (k, write) = written.pop()?;
        let mut state = BudgetState::clone(&self.budgets[k]);
        let given = state.give_back(&write);
        tally.count(Event::GivenBack, given);
        if given > 0 {
            self.write(k, Arc::new(state), Some(client.replica), setup);
        }
        client.give_back(written);
        Some(client)
    }

    /// The removal arrives. A delete is admitted for the very object it was shown; another one is admitted
    /// anew. An eviction is for one UID.
    pub fn land(&mut self, mut client: Client, tally: &Tally) -> Next {
        let seat = self.seats()[client.slot];
        if seat.birth != client.shown.birth || !matches!(seat.phase, Phase::Ready | Phase::Unready) {
            return None;
        }
        if client.operation == Operation::Delete && seat.changed != client.shown.changed {
            (client.shown, client.stage, client.live) = (seat, Stage::Asked, false);
            client.spared = self.spared(seat);
            return Some(client);
        }
        tally.count(Event::Landed, 1);
        self.change(client.slot, |seat| seat.phase = Phase::Leaving);
        None
    }
}
