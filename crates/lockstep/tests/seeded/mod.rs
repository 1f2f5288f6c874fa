//! One run: what is played is data, drawn from a seed or read from a file.

mod draw;
mod perform;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::trace::End;
use lockstep_kubelet::NodeGroup;
use lockstep_sandbox::cluster::faults::{Profile, Span};
use lockstep_testkit::embedded::{Embedded, in_virtual_time};
use lockstep_testkit::scenario::{Scenario, ScenarioError, Verdict, World};
use serde::{Deserialize, Serialize};

/// Room for every set, and few enough that their leases are not most of what happens.
const NODES: u32 = 4;

/// How long a rollout may take with all that goes wrong.
const LIMIT: Duration = Duration::from_secs(2400);

/// What is played. Times are in milliseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// Where names, identities and all misfortunes come from.
    pub seed: u64,
    /// What stands at first.
    pub given: String,
    /// What happens then.
    pub happenings: Vec<Happening>,
    /// How long pods take to start.
    pub starts_in: Span,
    /// How long they take to go.
    pub terminates_in: u64,
    /// What goes wrong on the operators' way to the API server.
    pub operator: Profile,
    /// What goes wrong on the kubelets' way.
    #[serde(default)]
    pub kubelet: Profile,
    /// Who plays the operator.
    pub troupe: Troupe,
}

/// Something that happens so long after the first change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Happening {
    /// When.
    pub after: u64,
    /// What.
    pub what: What,
}

/// What may happen.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// Another manifest is applied.
    Change(String),
    /// Something befalls the first instance of a role in group 0.
    Strike {
        /// The role.
        role: String,
        /// What befalls it.
        blow: Blow,
    },
    /// Somebody aborts.
    Abort,
    /// A node falls silent for a while.
    LoseNode {
        /// Which.
        name: String,
        /// For how long.
        length: u64,
    },
}

/// Who plays the operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Troupe {
    /// One that lives.
    One,
    /// One after the other: each dies with so many writes, and the next comes so much later.
    Mortals(Vec<(u64, u64)>),
    /// Two with an election, of whom one is cut off after a while, for a while, and then the other.
    Rivals(Vec<(u64, u64)>),
}

/// What became of it.
pub struct Run {
    /// What the promises say.
    pub verdict: Result<Verdict, ScenarioError>,
    /// Every change of everything, if it was asked for.
    pub history: Vec<String>,
}

impl Run {
    /// What is wrong with it, if anything is.
    pub fn fault(&self) -> Option<String> {
        match &self.verdict {
            Ok(verdict) if verdict.is_kept() => None,
            Ok(verdict) => Some(verdict.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string_pretty(self).unwrap_or_default())
    }
}

impl Plan {
    /// What is played with this seed. Another generator draws another plan: what is to stay is kept as a file.
    pub fn draw(seed: u64) -> Self {
        draw::plan(seed)
    }

    /// Plays it.
    pub fn play(&self, with_history: bool) -> Run {
        let scenario = self.scenario().expect("a scenario");
        in_virtual_time(async {
            let started =
                Embedded::start_with(self.seed, &NodeGroup::new("node", NODES), self.kubelet.clone()).await;
            let embedded = started.expect("an embedded cluster");
            let world = World::Embedded(&embedded);
            let verdict = tokio::select! {
                biased;
                verdict = scenario.play(&world) => verdict,
                () = self.perform(&embedded) => unreachable!("operators never stop"),
            };
            let history = if with_history { embedded.history() } else { Vec::new() };
            Run { verdict, history }
        })
    }

    fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let span = self.starts_in;
        let mut scenario = Scenario::given(&self.given)?
            .starting_in(Duration::from_millis(span.least), Duration::from_millis(span.most))
            .terminating_in(Duration::from_millis(self.terminates_in))
            .promoting()
            .within(LIMIT)
            .ends_in(&self.ends());
        for Happening { after, what } in &self.happenings {
            let after = Duration::from_millis(*after);
            scenario = match what {
                What::Change(manifest) => scenario.change(after, manifest)?,
                What::Strike { role, blow } => scenario.strike(after, role, 0, *blow),
                What::Abort => scenario.abort(after),
                What::LoseNode { name, length } => {
                    scenario.lose_node(after, name, Duration::from_millis(*length))
                }
            };
        }
        Ok(scenario)
    }

    /// The ends it may come to: what somebody aborted may be back where it was, and so may what is rolled back by
    /// itself; what a partition keeps need not have moved.
    fn ends(&self) -> Vec<End> {
        let mut ends = vec![End::Complete];
        let changes: Vec<&String> = self.changes().collect();
        if changes.last().is_some_and(|last| last.contains("partition")) {
            ends.push(End::PartitionReached);
        }
        let aborted = self.happenings.iter().any(|happening| matches!(happening.what, What::Abort));
        if aborted || changes.iter().any(|manifest| manifest.contains("onFailure: Rollback")) {
            ends.push(End::RolledBack);
        }
        ends
    }

    fn changes(&self) -> impl Iterator<Item = &String> {
        self.happenings.iter().filter_map(|happening| match &happening.what {
            What::Change(manifest) => Some(manifest),
            _ => None,
        })
    }

    /// What goes on in it, in words: to say which of all that was played.
    pub fn classes(&self) -> BTreeSet<&'static str> {
        let manifests = || std::iter::once(&self.given).chain(self.changes());
        let says = |text: &str| manifests().any(|manifest| manifest.contains(text));
        let mut classes = BTreeSet::new();
        let mut add = |class: &'static str, holds: bool| {
            if holds {
                classes.insert(class);
            }
        };
        add("bad image", says("image: missing"));
        add("partition", says("partition"));
        add("paused", says("paused: true"));
        add("pause step", says("pause:"));
        add("rolled back by itself", says("onFailure: Rollback"));
        add("groups recreated", says("GroupRecreate"));
        add(
            "several groups",
            manifests().any(|manifest| !manifest.contains("  replicas: 1\n")) && says("\n  replicas:"),
        );
        add("kubelet's way", self.kubelet != Profile::default());
        add("operator's way", self.operator != Profile::default());
        for happening in &self.happenings {
            match &happening.what {
                What::Change(_) => {}
                What::Strike { .. } => add("strike", true),
                What::Abort => add("abort", true),
                What::LoseNode { .. } => add("lost node", true),
            }
        }
        match self.troupe {
            Troupe::One => add("one operator", true),
            Troupe::Mortals(_) => add("operators that die", true),
            Troupe::Rivals(_) => add("two leaders", true),
        }
        classes
    }
}
