//! Somebody who wants a pod gone, and the replica that answers: one step at a time, so that anything can
//! happen in between.

use std::collections::BTreeMap;
use std::rc::Rc;

use lockstep_core::budget::*;
use lockstep_core::snapshot::Uid;
use lockstep_core::time::Time;

use super::{Actual, Flaw, REQUEST, Stands, World};

#[derive(Debug, Clone)]
pub(super) enum Stage {
    ReadBudget,
    ReadPods { budget: Budget, version: u64 },
    Decide { budget: Budget, version: u64, view: Rc<View> },
    Write { account: Box<Account>, version: u64, decision: Decision },
    Land,
    GiveBack,
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) pod: Uid,
    pub(super) operation: Operation,
    pub(super) replica: usize,
    /// For a delete, the object it was shown.
    pub(super) shown: Actual,
    pub(super) budget: usize,
    pub(super) stage: Stage,
    pub(super) written: Vec<(usize, Write)>,
    pub(super) live: bool,
    pub(super) due: u64,
    pub(super) deadline: u64,
    /// Asks again when refused, as a drain does.
    pub(super) insists: bool,
    /// All pods of an instance, promised together before they are deleted one by one.
    pub(super) instance: Vec<Uid>,
    /// Part of an instance: when it was paid for, by budget.
    pub(super) promised: BTreeMap<usize, Time>,
}

impl World {
    pub(super) fn step_client(&mut self) -> Result<(), String> {
        if self.clients.is_empty() {
            return Ok(());
        }
        let at = self.random.index(self.clients.len());
        if self.clients[at].due > self.now {
            return Ok(());
        }
        let mut client = self.clients.swap_remove(at);
        // A request that takes too long is dropped wherever it is, and so is one whose replica dies.
        if self.now > client.deadline || self.random.below(200) == 0 {
            if client.insists {
                (client.stage, client.budget, client.deadline) = (Stage::ReadBudget, 0, self.now + REQUEST);
                client.written.clear();
                self.clients.push(client);
            }
            self.settle();
            return Ok(());
        }
        let next = self.advance(client)?;
        self.clients.extend(next);
        self.settle();
        Ok(())
    }

    pub(super) fn advance(&mut self, mut client: Client) -> Result<Option<Client>, String> {
        match std::mem::replace(&mut client.stage, Stage::ReadBudget) {
            Stage::ReadBudget => {
                let (budget, version) = self.budgets[client.budget].clone();
                client.stage = Stage::ReadPods { budget, version };
            }
            Stage::ReadPods { mut budget, version } => {
                if self.setup.flaw == Flaw::OldViews {
                    budget.state.rests_on = Version::default();
                }
                let cached = self.replicas[client.replica].0;
                let cached = if client.live { self.views.len() - 1 } else { cached };
                let mut view = self.views[cached].clone();
                if client.live || self.setup.flaw == Flaw::BrokenUnproved {
                    view = Rc::new(View { live: true, ..View::clone(&view) });
                }
                client.stage = Stage::Decide { budget, version, view };
            }
            Stage::Decide { budget, version, view } => return self.judge(client, &budget, version, &view),
            Stage::Write { account, version, decision } => {
                return self.write(client, *account, version, decision);
            }
            Stage::Land => return Ok(self.land(client)),
            Stage::GiveBack => {
                for (k, write) in &client.written {
                    let (budget, version) = &mut self.budgets[*k];
                    let given = budget.state.give_back(write);
                    *version += u64::from(given > 0);
                    self.tally.given_back += given as u64;
                }
                return Ok(None);
            }
        }
        Ok(Some(client))
    }

    pub(super) fn decide(
        &self,
        client: &Client,
        budget: &Budget,
        view: &View,
        clock: Time,
    ) -> Option<(Account, Decision)> {
        let mut account = account(budget, view, clock);
        if !client.instance.is_empty() {
            let decision = decide_instance(&account, &client.instance, Operation::Delete, clock);
            return Some((account, decision));
        }
        // An eviction reads the pod; a delete has been shown it.
        let shown = match client.operation {
            Operation::Evict => self.pods.get(&client.pod)?,
            _ => &client.shown,
        };
        account.refresh(&shown.pod, shown.version);
        let request = Request { pod: client.pod.clone(), operation: client.operation };
        let decision = decide(&account, &request, clock);
        Some((account, decision))
    }

    /// Paid for a moment ago by whoever asks, a delete is not refused; unless the clocks are so far apart
    /// that it is no moment to the one who is asked. (One that was free may be: what was broken has recovered.)
    pub(super) fn check_own(&self, client: &Client, clock: Time, decision: &Decision) -> Result<(), String> {
        let young = client.promised.get(&client.budget).is_some_and(|at| clock.since(*at) < YOUNG);
        match &decision.verdict {
            Verdict::Refused(why) if young && !self.setup.blinks => Err(format!("our own delete: {why}")),
            _ => Ok(()),
        }
    }

    pub(super) fn judge(
        &mut self,
        mut client: Client,
        budget: &Budget,
        version: u64,
        view: &View,
    ) -> Result<Option<Client>, String> {
        let clock = self.clock(self.replicas[client.replica].1);
        let Some((account, decision)) = self.decide(&client, budget, view, clock) else { return Ok(None) };
        self.check_own(&client, clock, &decision)?;
        match &decision.verdict {
            Verdict::ReadAgain(_) => {
                client.live = true;
                client.stage = Stage::ReadBudget;
            }
            Verdict::Refused(_) => {
                self.tally.refused += 1;
                if !client.written.is_empty() {
                    client.stage = Stage::GiveBack;
                } else if client.insists {
                    client.due = self.now + 500 + self.random.below(5_000);
                    client.deadline = client.due + REQUEST;
                    client.live = false;
                    client.stage = Stage::ReadBudget;
                } else {
                    return Ok(None);
                }
            }
            Verdict::Free(_) | Verdict::Pays => {
                client.stage = Stage::Write { account: Box::new(account), version, decision };
            }
        }
        Ok(Some(client))
    }

    pub(super) fn write(
        &mut self,
        mut client: Client,
        account: Account,
        version: u64,
        mut decision: Decision,
    ) -> Result<Option<Client>, String> {
        if self.setup.flaw == Flaw::FreeUnwritten {
            decision.write.put.retain(|promise| promise.paid);
        }
        if !decision.write.is_empty() {
            let (budget, current) = &mut self.budgets[client.budget];
            if *current != version && self.setup.flaw != Flaw::NoCompare {
                self.tally.conflicts += 1;
                client.stage = Stage::ReadBudget;
                return Ok(Some(client));
            }
            budget.state.record(&account, &decision.write);
            if self.setup.flaw == Flaw::NoMemory {
                budget.state.memory = Memory::default();
            }
            *current += 1;
            client.written.push((client.budget, decision.write.clone()));
            if decision.verdict == Verdict::Pays {
                self.tally.paid += 1;
                self.check_floor(client.budget)?;
            }
        }
        let k = client.budget;
        let before = self.up(k);
        client.budget += 1;
        client.stage = Stage::ReadBudget;
        if client.budget == self.budgets.len() {
            if !client.instance.is_empty() {
                self.delete_all(&client);
                return Ok(None);
            }
            client.stage = Stage::Land;
            let slow = self.random.chance(20);
            client.due = self.now + self.random.below(if slow { 40_000 } else { 1_000 });
            self.tally.admitted += 1;
        }
        self.clients.push(client);
        self.check_ours(k, &before)?;
        Ok(self.clients.pop())
    }

    /// The promises of an instance stand everywhere: now its pods are deleted, each through the webhook.
    pub(super) fn delete_all(&mut self, client: &Client) {
        for pod in &client.instance {
            let asked = self.clients.len();
            self.ask(pod.clone(), Operation::Delete, false);
            let Some(own) = self.clients.get_mut(asked) else { continue };
            for (k, write) in &client.written {
                let promise = write.put.iter().find(|promise| promise.uid == *pod && promise.paid);
                own.promised.extend(promise.map(|promise| (*k, promise.time)));
            }
        }
    }

    pub(super) fn land(&mut self, mut client: Client) -> Option<Client> {
        if self.random.chance(12) {
            return None;
        }
        let version = self.version + 1;
        let linger = self.random.below(self.setup.linger);
        let now = self.now;
        let actual = self.pods.get_mut(&client.pod)?;
        if client.operation == Operation::Delete && actual.version != client.shown.version {
            // A delete is admitted for the very object it was shown; another one is admitted anew.
            client.shown = actual.clone();
            (client.budget, client.stage) = (0, Stage::ReadBudget);
            return Some(client);
        }
        if actual.pod.terminating {
            return None;
        }
        (actual.pod.terminating, actual.due, actual.version) = (true, now + linger, version);
        let group = actual.pod.group.clone();
        self.tally.landed += 1;
        self.commit();
        if self.setup.recreates && self.random.chance(60) {
            let rest = self.pods.values().filter(|other| other.pod.group == group && other.pod.stands());
            for uid in rest.map(|other| other.pod.uid.clone()).collect::<Vec<_>>() {
                self.ask(uid, Operation::Delete, false);
            }
        }
        None
    }
}
