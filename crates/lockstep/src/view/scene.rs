//! All that the terminal view shows, as plain data.

use lockstep_core::time::Millis;

/// Everything on the screen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scene {
    /// Since the program was started.
    pub elapsed: Millis,
    /// The sets one can look at.
    pub sets: Vec<String>,
    /// Which of them is shown.
    pub chosen: usize,
    /// The set that is shown; none, if there is none.
    pub set: Option<SetScene>,
    /// The nodes, and a line for pods that are on none.
    pub nodes: Vec<NodeScene>,
    /// What happened lately, oldest first.
    pub events: Vec<EventScene>,
    /// What the last key did.
    pub said: Option<Said>,
    /// How to reach the cluster from another terminal.
    pub access: String,
    /// The help stands over everything else.
    pub help: bool,
}

/// How something is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// Good.
    Good,
    /// Worth a look.
    Warn,
    /// Bad.
    Bad,
    /// Not worth a look.
    Quiet,
}

/// A set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SetScene {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Where its rollout stands.
    pub phase: String,
    /// How that is to be taken.
    pub tone: Tone,
    /// For how long it has stood there, if that will not last.
    pub since: Option<Millis>,
    /// What it is made of, or goes from and to, as images or revisions: the best first, of which the first that fits is
    /// shown.
    pub names: Vec<String>,
    /// Groups wished for.
    pub groups: u32,
    /// Of them ready.
    pub groups_ready: u32,
    /// Of them wholly updated.
    pub groups_updated: u32,
    /// To be updated means to be back where it was.
    pub goes_back: bool,
    /// Groups on their way.
    pub in_update: Vec<u32>,
    /// Its conditions, in words.
    pub conditions: Vec<(String, Tone)>,
    /// Its roles, group by group.
    pub roles: Vec<RoleScene>,
    /// Its rules.
    pub rules: Vec<RuleScene>,
    /// What it waits for, in the words of `lockstep why`.
    pub why: String,
    /// The same where there is little room.
    pub why_short: String,
    /// It is a workload over several clusters: its bars are clusters, not roles.
    pub over_clusters: bool,
}

/// A role of one group, or of all of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RoleScene {
    /// The group; none, if it is all of them.
    pub group: Option<u32>,
    /// The role.
    pub role: String,
    /// Instances wished for.
    pub wished: u32,
    /// Those that are wished for, by ordinal.
    pub instances: Vec<State>,
    /// Those beyond: surge, or on their way out after a scale-in.
    pub beyond: Vec<State>,
}

impl RoleScene {
    /// How many are as `is` says, those beyond included.
    pub fn count(&self, is: impl Fn(State) -> bool) -> usize {
        self.instances.iter().chain(&self.beyond).filter(|state| is(**state)).count()
    }
}

/// How an instance or a pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// At the revision wished for, and ready.
    New,
    /// At the revision wished for, and not ready yet.
    Coming,
    /// At another revision, and ready.
    Old,
    /// At another revision, and not ready.
    Broken,
    /// On its way out.
    Leaving,
    /// Not there.
    Missing,
}

impl State {
    /// It cannot be used, and nothing says that it will be.
    pub fn is_down(self) -> bool {
        matches!(self, Self::Broken | Self::Leaving | Self::Missing)
    }
}

/// Where a rule stands in a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleScene {
    /// The rule, and the group: `together in chat-1`.
    pub rule: String,
    /// The step it is at and how many there are.
    pub step: Option<(u32, u32)>,
    /// In words.
    pub text: String,
    /// Nothing is under way.
    pub at_rest: bool,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeScene {
    /// Its name.
    pub name: String,
    /// `Ready`, `NotReady`, `Ready, cordoned`.
    pub state: String,
    /// How that is to be taken.
    pub tone: Tone,
    /// GPUs in use and there, if it has any.
    pub gpus: Option<(u64, u64)>,
    /// Its pods.
    pub pods: Vec<PodScene>,
}

/// A pod on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodScene {
    /// Its role's place among the roles of the set; none, if it is of another set.
    pub role: Option<usize>,
    /// The first letter of its role.
    pub letter: char,
    /// How it is.
    pub state: State,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventScene {
    /// When, since the start.
    pub at: Millis,
    /// How it is to be taken.
    pub tone: Tone,
    /// What.
    pub text: String,
}

/// What a key did, or why it did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// How it is to be taken.
    pub tone: Tone,
    /// What it did.
    pub text: String,
    /// The command that does the same.
    pub command: Option<String>,
    /// It was some time ago, and may take less room.
    pub is_old: bool,
}

/// After so long what was said takes less room.
const SAID_LONG_AGO: Millis = Millis::seconds(20);

impl Said {
    /// The same, so long after it was said.
    pub fn after(self, passed: Millis) -> Self {
        Self { is_old: passed > SAID_LONG_AGO, ..self }
    }
}
