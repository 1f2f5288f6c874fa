//! What may be said about a set that runs in a cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lockstep_core::time::Millis;

use crate::args::duration;
use crate::input::cluster::ClusterArgs;

/// The commands that talk to a cluster.
#[derive(Debug, Subcommand)]
pub enum Live {
    /// Follow a rollout to its end, like `kubectl rollout status`.
    #[command(after_help = STATUS_HELP)]
    Status(StatusArgs),
    /// List sets, or show one as a tree: groups, roles, instances, pods.
    #[command(after_help = GET_HELP)]
    Get(GetArgs),
    /// Say what a rollout waits for, by which rule, since when, and what would let it go on.
    #[command(after_help = WHY_HELP)]
    Why(WhyArgs),
    /// Let nothing move forward; lost pods still come back as they were.
    Pause(SubjectArgs),
    /// Let a paused set go on.
    Resume(SubjectArgs),
    /// Let the pauses pass that hold a rollout now.
    Promote(PromoteArgs),
    /// Send a rollout back to the last revision that stood complete. The spec of a set stays as it is; a workload that
    /// is spread over clusters has the template put back.
    Abort(SubjectArgs),
    /// Clear a stall and the back-off of restarts, and try on.
    Retry(SetArgs),
    /// Put the templates of an earlier revision back into the spec.
    #[command(after_help = UNDO_HELP)]
    Undo(UndoArgs),
    /// Show the revisions that are stored, one of them, or the difference between two.
    #[command(after_help = HISTORY_HELP)]
    History(HistoryArgs),
    /// Show what an unavailable budget lets go now, unit by unit, and who was promised what.
    #[command(after_help = BUDGET_HELP)]
    Budget(BudgetArgs),
    /// Say whether a node can be drained, what goes at once, what waits for what, and what can never go.
    #[command(after_help = DRAIN_HELP)]
    #[command(mut_arg("namespace", |arg| arg.hide(true)))]
    DrainCheck(DrainArgs),
}

const BUDGET_HELP: &str = "\
Examples:
  lockstep budget                  all PodUnavailableBudgets of the namespace
  lockstep budget llm-serving      one of them, unit by unit";

const DRAIN_HELP: &str = "\
Exit codes: 0 it would pass at once, 1 it would wait (or an error), 2 it could never finish.

Examples:
  lockstep drain-check node-7 && kubectl drain node-7 --ignore-daemonsets";

const STATUS_HELP: &str = "\
Exit codes: 0 complete or partition reached, 1 error, 2 stalled, rolled back or refused, 3 not at its end
within --timeout. With --no-wait a rollout that is under way is 0.

Examples:
  lockstep status llama --timeout 30m
  lockstep status llama --no-wait -o json";

const GET_HELP: &str = "\
Examples:
  lockstep get               all sets of the namespace
  lockstep get llama -w      one set as a tree, drawn again when anything changes";

const WHY_HELP: &str = "\
Examples:
  lockstep why llama
  lockstep why llama --dump state.json
  lockstep plan -f state.set.yaml --snapshot state.json    what the engine makes of it, anywhere";

const UNDO_HELP: &str = "\
Examples:
  lockstep undo llama                          to the revision before
  lockstep undo llama --to-revision 3          by its number, or by its hash
  lockstep undo llama --dry-run                only show what would change";

const HISTORY_HELP: &str = "\
Examples:
  lockstep history llama
  lockstep history llama --revision 3
  lockstep history llama --diff 2..3";

/// The forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
    /// For machines and people.
    Yaml,
}

/// One set in one cluster, and the form of the answer.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// The set: `llama` or `lss/llama`.
    #[arg(value_name = "NAME", value_parser = set_name)]
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

/// A set in one cluster or a workload that is spread over several, and the form of the answer.
#[derive(Debug, Args)]
pub struct SubjectArgs {
    /// The set: `llama` or `lss/llama`. On Karmada's API server also what has a rollout over clusters: `deployment/web`,
    /// `cloneset/web`, or by the rollout itself `froll/NAME`; of the kinds that are built in.
    #[arg(value_name = "NAME", value_parser = subject)]
    pub subject: Subject,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

/// What a command is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A set, by its name.
    Set(String),
    /// A workload that is spread over clusters.
    Spread(Workload),
}

/// A workload that is spread over clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    /// By its resource template.
    Template {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// By its rollout.
    Rollout(String),
}

/// `lockstep status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Which set.
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Wait for the end and say what happens on the way. This is the default.
    #[arg(short, long, conflicts_with = "no_wait")]
    pub watch: bool,
    /// Say once how it stands.
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait at most. Default: for ever.
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "no_wait")]
    pub timeout: Option<Millis>,
}

/// `lockstep get`.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// The set: `llama` or `lss/llama`. Without it: all of the namespace.
    #[arg(value_name = "NAME", value_parser = set_name)]
    pub name: Option<String>,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The sets of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace"])]
    pub all_namespaces: bool,
    /// Stay, and show it again when anything changes.
    #[arg(short, long)]
    pub watch: bool,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

/// `lockstep budget`.
#[derive(Debug, Args)]
pub struct BudgetArgs {
    /// The budget. Without it: all of the namespace.
    #[arg(value_name = "NAME", value_parser = budget_name)]
    pub name: Option<String>,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The budgets of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace"])]
    pub all_namespaces: bool,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

/// `lockstep drain-check`.
#[derive(Debug, Args)]
pub struct DrainArgs {
    /// The node: `node-7` or `node/node-7`.
    #[arg(value_name = "NODE", value_parser = node_name)]
    pub node: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

/// `lockstep why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Which set.
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Write what the engine sees to FILE, and the set beside it, for `lockstep plan --snapshot`.
    #[arg(long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
}

/// `lockstep promote`.
#[derive(Debug, Args)]
pub struct PromoteArgs {
    /// Which set.
    #[command(flatten)]
    pub set: SetArgs,
    /// Only this group, by its ordinal. Default: all, also those that are still to come.
    #[arg(short, long, value_name = "N")]
    pub group: Option<u32>,
}

/// `lockstep undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Which set.
    #[command(flatten)]
    pub set: SetArgs,
    /// The revision to go back to. Default: the last other one at which everything stood complete.
    #[arg(long, value_name = "N|HASH")]
    pub to_revision: Option<String>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// `lockstep history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Which set.
    #[command(flatten)]
    pub set: SetArgs,
    /// Show what this revision is made of.
    #[arg(long, value_name = "N|HASH", conflicts_with = "diff")]
    pub revision: Option<String>,
    /// Show what differs between two revisions.
    #[arg(long, value_name = "A..B", value_parser = pair)]
    pub diff: Option<(String, String)>,
}

/// `llama`, or with the kind in front as kubectl prints it.
pub fn set_name(text: &str) -> Result<String, String> {
    const KINDS: [&str; 5] =
        ["lss", "lockstepset", "lockstepsets", "lockstepset.lockstep.dev", "lockstepsets.lockstep.dev"];
    let name = match text.split_once('/') {
        None => text,
        Some((kind, name)) if KINDS.contains(&kind) || becomes_set(kind) => name,
        Some((word, _)) if SPREAD.iter().any(|(_, words)| words.contains(&word)) => {
            return Err(format!(
                "{word:?} is no LockstepSet; what is spread over clusters has plan --live, status, why, pause, resume and abort"
            ));
        }
        Some((kind, _)) => return Err(format!("{kind:?} is no LockstepSet; say lss/NAME or NAME")),
    };
    if name.is_empty() { Err("a name is missing".to_owned()) } else { Ok(name.to_owned()) }
}

/// The words for kinds that may be spread over clusters, besides those of a set.
const SPREAD: [(&str, &[&str]); 4] = [
    ("Deployment", &["deploy", "deployment", "deployments", "deployment.apps", "deployments.apps"]),
    ("StatefulSet", &["sts", "statefulset", "statefulsets", "statefulset.apps", "statefulsets.apps"]),
    ("CloneSet", &["clone", "cloneset", "clonesets", "cloneset.apps.kruise.io", "clonesets.apps.kruise.io"]),
    (
        "LeaderWorkerSet",
        &[
            "lws",
            "leaderworkerset",
            "leaderworkersets",
            "leaderworkerset.leaderworkerset.x-k8s.io",
            "leaderworkersets.leaderworkerset.x-k8s.io",
        ],
    ),
];

/// A set, or a workload that is spread over clusters.
pub fn subject(text: &str) -> Result<Subject, String> {
    const ROLLOUTS: [&str; 4] =
        ["froll", "federatedrollout", "federatedrollouts", "federatedrollout.lockstep.dev"];
    let Some((word, name)) = text.split_once('/') else { return set_name(text).map(Subject::Set) };
    let spread = SPREAD.iter().find(|(_, words)| words.contains(&word));
    match spread {
        _ if name.is_empty() => Err("a name is missing".to_owned()),
        Some((kind, _)) => Ok(Subject::Spread(Workload::Template { kind, name: name.to_owned() })),
        None if ROLLOUTS.contains(&word) => Ok(Subject::Spread(Workload::Rollout(name.to_owned()))),
        None => set_name(text).map(Subject::Set),
    }
}

/// Whether objects of a kind become sets, which have their names: `modelserving`, `podcliquesets.grove.io`.
fn becomes_set(word: &str) -> bool {
    let kinds = lockstep_dialects::ALL.iter().flat_map(|dialect| dialect.kinds());
    let called = |kind: &lockstep_dialects::Kind| {
        let singular = kind.kind.to_lowercase();
        let (short, group) = word.split_once('.').map_or((word, kind.group), |(short, group)| (short, group));
        group == kind.group && (short.to_lowercase() == singular || short == kind.plural)
    };
    kinds.filter(|kind| kind.becomes_set).any(called)
}

/// `llm`, or with the kind in front as kubectl prints it.
fn budget_name(text: &str) -> Result<String, String> {
    let kinds = [
        "pub",
        "podunavailablebudget",
        "podunavailablebudgets",
        "podunavailablebudget.policy.kruise.io",
        "podunavailablebudgets.policy.kruise.io",
    ];
    of_kind(text, &kinds, "PodUnavailableBudget")
}

fn node_name(text: &str) -> Result<String, String> {
    of_kind(text, &["node", "nodes", "no"], "Node")
}

fn of_kind(text: &str, kinds: &[&str], kind: &str) -> Result<String, String> {
    match text.split_once('/') {
        None if !text.is_empty() => Ok(text.to_owned()),
        Some((written, name)) if kinds.contains(&written) && !name.is_empty() => Ok(name.to_owned()),
        Some((written, _)) if !kinds.contains(&written) => Err(format!("{written:?} is no {kind}")),
        _ => Err("a name is missing".to_owned()),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once("..") {
        Some((a, b)) if !a.is_empty() && !b.is_empty() => Ok((a.to_owned(), b.to_owned())),
        _ => Err("must be two revisions such as 2..3".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_their_kind() {
        for text in [
            "llama",
            "lss/llama",
            "lockstepset.lockstep.dev/llama",
            "modelserving/llama",
            "podcliquesets.grove.io/llama",
        ] {
            assert_eq!(set_name(text), Ok("llama".to_owned()), "{text}");
        }
        assert!(set_name("deploy/llama").is_err_and(|error| error.contains("\"deploy\"")));
        assert!(set_name("lss/").is_err());
    }

    #[test]
    fn workloads_that_are_spread() {
        let template = |kind| Ok(Subject::Spread(Workload::Template { kind, name: "web".to_owned() }));
        assert_eq!(subject("deploy/web"), template("Deployment"));
        assert_eq!(subject("clonesets.apps.kruise.io/web"), template("CloneSet"));
        assert_eq!(subject("froll/w"), Ok(Subject::Spread(Workload::Rollout("w".to_owned()))));
        assert_eq!(subject("lss/llama"), Ok(Subject::Set("llama".to_owned())));
        assert!(subject("deploy/").is_err() && subject("job/web").is_err());
    }

    #[test]
    fn two_revisions() {
        assert_eq!(pair("2..a41d0"), Ok(("2".to_owned(), "a41d0".to_owned())));
        assert!(pair("2..").is_err() && pair("2").is_err());
    }
}
