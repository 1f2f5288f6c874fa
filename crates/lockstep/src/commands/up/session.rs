//! Everything between the cluster and the screen: what is known, what is chosen, what is asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::Result;
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use lockstep_api::label;
use lockstep_core::time::Time;

use super::cluster::NodeSwitch;
use super::compose;
use super::deeds::{Deed, Outcome, Stage};
use super::face::Shown;
use super::images::Versions;
use super::journal::{Journal, Kind};
use super::machines::node_of;
use super::script::Script;
use super::world::{Change, World};
use crate::commands::live::home::Home;
use crate::commands::live::status::refuse_to_watch;
use crate::exit::Exit;
use crate::input::live_set::LiveSet;
use crate::view::scene::{Said, Scene, Tone};

/// One run of the program.
pub struct Session {
    client: Client,
    nodes: Option<Rc<dyn NodeSwitch>>,
    versions: Rc<RefCell<Versions>>,
    started: Time,
    access: String,
    /// The command that runs an operator, if there is none in this process.
    pub starter: Option<String>,
    script: Script,
    world: World,
    /// What happened.
    pub journal: Journal,
    chosen: usize,
    help: bool,
    said: Option<Said>,
    said_at: Time,
    commands: Vec<String>,
    /// The cluster does not answer.
    silent: bool,
}

impl Session {
    /// Begins.
    pub fn new(
        client: Client,
        nodes: Option<Rc<dyn NodeSwitch>>,
        access: String,
        script: Script,
        started: Time,
    ) -> Self {
        Self {
            client,
            nodes,
            versions: Rc::default(),
            started,
            access,
            starter: None,
            script,
            world: World::default(),
            journal: Journal::default(),
            chosen: 0,
            help: false,
            said: None,
            said_at: started,
            commands: Vec::new(),
            silent: false,
        }
    }

    /// Takes in what the watches show.
    pub fn see(&mut self, changes: Vec<Result<Change, watcher::Error>>, now: Time) -> Result<()> {
        for change in changes {
            match change {
                Ok(change) => {
                    self.heard(now);
                    self.world.see(change);
                }
                Err(error) => self.not_heard(error, now)?,
            }
        }
        if self.world.is_complete() {
            self.journal.look(&self.world, now);
        }
        Ok(())
    }

    fn heard(&mut self, now: Time) {
        if std::mem::take(&mut self.silent) {
            self.journal.tell(Kind::Note, Tone::Good, "the cluster answers again".to_owned(), now);
        }
    }

    /// Watches end and are taken up again, which is nothing to speak of, unless they cannot be.
    fn not_heard(&mut self, error: watcher::Error, now: Time) -> Result<()> {
        let cut_off =
            matches!(error, watcher::Error::InitialListFailed(_) | watcher::Error::WatchStartFailed(_));
        let text = format!("the cluster does not answer: {error}");
        refuse_to_watch(error)?;
        if cut_off && !std::mem::replace(&mut self.silent, true) {
            self.journal.tell(Kind::Note, Tone::Bad, text, now);
        }
        Ok(())
    }

    /// Shows or hides the help.
    pub fn toggle_help(&mut self) {
        self.help = !self.help;
    }

    /// The next set is the one that is shown.
    pub fn choose_next(&mut self) {
        let count = self.world.sets().len().max(1);
        self.chosen = (self.chosen + 1) % count;
    }

    /// The set that is shown.
    fn chosen_set(&self) -> Option<LiveSet> {
        let mut sets = self.world.sets();
        let chosen = self.chosen.min(sets.len().checked_sub(1)?);
        Some(sets.swap_remove(chosen))
    }

    /// Where a deed is to be done; says so, if it cannot be done at all.
    pub fn stage(&mut self, now: Time) -> Option<Stage> {
        let Some(set) = self.chosen_set() else {
            let text = "there is no set yet".to_owned();
            self.said = Some(Said { tone: Tone::Bad, text, command: None, is_old: false });
            self.said_at = now;
            return None;
        };
        Some(Stage {
            home: Home::of(self.client.clone(), &set.namespace).started_by(self.starter.clone()),
            fullest: self.fullest(&set),
            name: set.name,
            nodes: self.nodes.clone(),
            lost: self.lost().into_iter().next(),
            versions: Rc::clone(&self.versions),
        })
    }

    /// The nodes that are lost.
    fn lost(&self) -> Vec<String> {
        let Some(switch) = &self.nodes else { return Vec::new() };
        let nodes = self.world.nodes.objects.values();
        nodes.filter(|node| switch.is_lost(node)).map(ResourceExt::name_any).collect()
    }

    /// The node with the most pods of a set; of several the last.
    fn fullest(&self, set: &LiveSet) -> Option<String> {
        let mut pods: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in self.world.pods.objects.values() {
            let ours = pod.labels().get(label::SET) == Some(&set.name);
            if ours && pod.namespace().as_ref() == Some(&set.namespace) && !node_of(pod).is_empty() {
                *pods.entry(node_of(pod)).or_default() += 1;
            }
        }
        pods.into_iter().max_by_key(|(_, count)| *count).map(|(node, _)| node.to_owned())
    }

    /// Remembers what came of a deed.
    pub fn done(&mut self, outcome: Outcome, now: Time) {
        let Outcome { deed, set, said, generation } = outcome;
        self.commands.extend(said.command.clone().filter(|_| said.tone == Tone::Good));
        let kind = if said.tone == Tone::Good { Kind::Deed } else { Kind::Refusal };
        self.journal.tell(kind, said.tone, said.text.clone(), now);
        if deed == Deed::Roll {
            self.script.rolled(&set, generation);
        }
        (self.said, self.said_at) = (Some(said), now);
    }

    /// The commands that do what was done.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// What the script wants done now.
    pub fn wanted(&mut self, now: Time) -> Option<Deed> {
        self.script.rolls(&self.world.sets(), now).then_some(Deed::Roll)
    }

    /// How it ends, if it ends now.
    pub fn end(&self, now: Time) -> Option<Exit> {
        self.script.end(&self.world.sets(), now)
    }
}

impl Shown for Session {
    fn started(&self) -> Time {
        self.started
    }

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn said(&self) -> Option<&Said> {
        self.said.as_ref()
    }

    fn scene(&self, now: Time) -> Scene {
        let set = self.chosen_set();
        Scene {
            elapsed: now.since(self.started),
            sets: self.world.sets().into_iter().map(|set| set.name).collect(),
            chosen: self.chosen,
            nodes: compose::node_scenes(set.as_ref(), &self.world, &self.lost()),
            set: set.map(|set| compose::set_scene(&set, &self.world, self.starter.as_deref(), now)),
            events: self.journal.events(self.started),
            said: self.said.clone().map(|said| said.after(now.since(self.said_at))),
            access: self.access.clone(),
            help: self.help,
        }
    }
}
