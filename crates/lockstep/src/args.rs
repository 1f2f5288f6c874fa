//! What may be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lockstep_api::Duration;
use lockstep_core::time::Millis;

use crate::commands::install::InstallArgs;
use crate::commands::live::args::{Live, Subject, subject};
use crate::commands::migrate::{HELP as MIGRATE_HELP, MigrateArgs};
use crate::commands::operator::{FederationArgs, OperatorArgs};
use crate::commands::uninstall::UninstallArgs;
use crate::commands::up::args::{HELP as UP_HELP, UpArgs};
use crate::input::cluster::ClusterArgs;
use crate::input::spread::clusters::Clusters;

/// Plan, simulate and check rollouts of LockstepSets before they happen; follow and steer them while they do.
///
/// plan, simulate, lint, convert and demo talk to no cluster: manifests in, answers out, made by the same engine that
/// runs in the operator. The others take the cluster that kubectl would take.
#[derive(Debug, Parser)]
#[command(name = "lockstep", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all is well, 1 wrong input or an error, 2 the rollout cannot finish, 3 a promise was broken.
`lockstep status` has its own.
Start with `lockstep demo`.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what a rollout will do, wave by wave; or what the engine would do now for an observed state.
    #[command(after_help = PLAN_EXAMPLES)]
    #[command(mut_arg("kubeconfig", |arg| arg.requires("live")), mut_arg("context", |arg| arg.requires("live")))]
    #[command(mut_arg("namespace", |arg| arg.requires("live")))]
    Plan(PlanArgs),
    /// Play a rollout, with faults if you like, and check every promise on the way.
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(SimulateArgs),
    /// Say everything that is wrong with manifests, also rules that block each other.
    #[command(after_help = LINT_EXAMPLES)]
    Lint(LintArgs),
    /// Show what a RoleBasedGroup, a ModelServing or a PodCliqueSet becomes.
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// See all of it on a built-in prefill/decode example. Needs no files and writes none.
    Demo,
    /// Start a cluster, the operator and a demo set in this one process, and watch and steer it live.
    #[command(after_help = UP_HELP)]
    #[command(mut_arg("kubeconfig", |arg| arg.hide(true)), mut_arg("context", |arg| arg.hide(true)))]
    #[command(mut_arg("namespace", |arg| arg.hide(true)))]
    Up(UpArgs),
    /// What talks to a cluster.
    #[command(flatten)]
    Live(Live),
    /// Write the completion of a shell: `source <(lockstep completion bash)`.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual.
    Man {
        /// Write a page per command into this folder.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Run the operator: look after the LockstepSets of a cluster.
    #[command(mut_arg("namespace", |namespace| namespace.help("Only the sets of this namespace. Default: all")))]
    Operator(OperatorArgs),
    /// Look after rollouts over several clusters, on Karmada's API server.
    Federation(FederationArgs),
    /// Install the operator, or bring an older one up to date.
    #[command(mut_arg("namespace", |namespace| namespace.help(OPERATOR_NAMESPACE)))]
    Install(InstallArgs),
    /// Move over from the operator of another project, with a plan first: which pods stay, which roll.
    #[command(after_help = MIGRATE_HELP)]
    #[command(mut_arg("namespace", |namespace| namespace.help(OPERATOR_NAMESPACE)))]
    Migrate(MigrateArgs),
    /// Remove the operator. Sets and their pods stay as they are.
    #[command(mut_arg("namespace", |namespace| namespace.help(OPERATOR_NAMESPACE)))]
    Uninstall(UninstallArgs),
}

const OPERATOR_NAMESPACE: &str = "The operator's namespace [default: lockstep-system]";

const PLAN_EXAMPLES: &str = "\
Examples:
  lockstep plan -f old.yaml --to new.yaml --ready prefill=8m,decode=6m
  lockstep plan --to new.yaml                        a first start
  lockstep plan -f old.yaml --to new.yaml -o svg > rollout.svg
  lockstep plan -f set.yaml --snapshot state.yaml    what happens next, from this state
  lockstep plan --live llama                         the same, from what a cluster holds, and what is left
  lockstep plan --live llama --to new.yaml           what applying this would do to it
  lockstep plan -f web.yaml --to web-v2.yaml --clusters member1=4,member2=6
                                                     a Deployment over clusters: see federation.md
  lockstep plan --live deployment/web                what is left of its rollout, on Karmada's API server";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  lockstep simulate -f old.yaml --to new.yaml --faults rough-day.yaml --runs 500
  lockstep simulate -f old.yaml --to new.yaml --seed 7 -o jsonl > trace.jsonl
  lockstep simulate -f web.yaml --to web-v2.yaml --clusters member1=4,member2=6 --faults outages.yaml --runs 500";

const LINT_EXAMPLES: &str = "\
Examples:
  lockstep lint -f set.yaml -f other.yaml
  kustomize build | lockstep lint -f - --strict";

const CONVERT_EXAMPLES: &str = "\
plan, simulate and lint take the same files as they are.

Examples:
  lockstep convert -f modelserving.yaml
  lockstep convert -f podcliqueset.yaml --all | kubectl apply -f -";

/// `lockstep convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// Manifests of other projects; `-` reads stdin. Other objects of the same file are read together with them.
    #[arg(short = 'f', long = "file", value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Also show what stands beside the set: config maps, services, autoscalers.
    #[arg(long)]
    pub all: bool,
}

/// `lockstep plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The manifest that runs now. Without it: a first start. `-` reads stdin. Of what is spread over clusters also a
    /// ResourceBinding and a FederationPolicy, in the same file or further ones.
    #[arg(short = 'f', long = "from", value_name = "FILE")]
    pub from: Vec<PathBuf>,
    /// The manifest that is wished for.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["snapshot", "live"])]
    #[arg(conflicts_with = "snapshot")]
    pub to: Option<PathBuf>,
    /// An observed state: show what the engine would do now. Needs -f and no --to.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub snapshot: Option<PathBuf>,
    /// How many pods each cluster is to have, instead of a ResourceBinding.
    #[arg(long, value_name = "CLUSTER=N,…", conflicts_with_all = ["snapshot", "live"])]
    pub clusters: Option<Clusters>,
    /// A set in a cluster, or what is spread over clusters (`deployment/web`, `froll/NAME`): what would happen to it
    /// next, or with --to, on the way to that.
    #[arg(long, value_name = "NAME", value_parser = subject, conflicts_with_all = ["from", "snapshot"])]
    pub live: Option<Subject>,
    /// Where that set is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// How long things take.
    #[command(flatten)]
    pub pace: Pace,
    /// Show every wave, also those that look alike.
    #[arg(long)]
    pub all: bool,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t = PlanForm::Table)]
    pub output: PlanForm,
}

/// How long things take.
#[derive(Debug, Clone, Default, Args)]
pub struct Pace {
    /// How long pods take to become ready: one time for all, or by role (by cluster, of what is spread over clusters).
    #[arg(long, value_name = "5m | ROLE=8m,…", value_delimiter = ',')]
    pub ready: Vec<Ready>,
    /// How long pods take to terminate.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub terminate: Option<Millis>,
}

/// One part of `--ready`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The role; all of them if none is named.
    pub role: Option<String>,
    /// How long.
    pub time: Millis,
}

impl std::str::FromStr for Ready {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (role, time) = match text.split_once('=') {
            Some((role, time)) => (Some(role.trim().to_owned()), time.trim()),
            None => (None, text.trim()),
        };
        Ok(Self { role, time: duration(time)? })
    }
}

/// A length of time such as `5m`.
pub fn duration(text: &str) -> Result<Millis, String> {
    text.parse::<Duration>().map(|duration| duration.0).map_err(|error| error.to_string())
}

/// The forms of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanForm {
    /// For people.
    Table,
    /// For machines.
    Json,
    /// A picture: one lane per instance.
    Svg,
}

/// `lockstep simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The manifest that runs now. Without it: a first start. `-` reads stdin. Of what is spread over clusters also a
    /// ResourceBinding and a FederationPolicy, in the same file or further ones.
    #[arg(short = 'f', long = "from", value_name = "FILE")]
    pub from: Vec<PathBuf>,
    /// The manifest that is wished for.
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// How many pods each cluster is to have, instead of a ResourceBinding.
    #[arg(long, value_name = "CLUSTER=N,…")]
    pub clusters: Option<Clusters>,
    /// How long things take; stands over what the fault profile says.
    #[command(flatten)]
    pub pace: Pace,
    /// The first seed. The same seed gives the same run, byte for byte.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many runs, with the seeds that follow.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub runs: u64,
    /// What goes wrong: a fault profile (see docs/faults.md).
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t = SimulateForm::Summary)]
    pub output: SimulateForm,
}

/// The forms of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SimulateForm {
    /// For people.
    Summary,
    /// The summary for machines.
    Json,
    /// The trace of one run, one event per line.
    Jsonl,
}

/// `lockstep lint`.
#[derive(Debug, Args)]
pub struct LintArgs {
    /// Manifests to check; `-` reads stdin.
    #[arg(short = 'f', long = "file", value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Warnings are errors.
    #[arg(long)]
    pub strict: bool,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t = LintForm::Text)]
    pub output: LintForm,
}

/// The forms of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LintForm {
    /// For people.
    Text,
    /// For machines.
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn ready_by_role_or_for_all() {
        let cli = Cli::parse_from(["lockstep", "plan", "--to", "x", "--ready", "prefill=8m,decode=1h30m"]);
        let Command::Plan(plan) = cli.command else { panic!("{cli:?}") };
        let of = |role: &str, minutes| Ready { role: Some(role.to_owned()), time: Millis::minutes(minutes) };
        assert_eq!(plan.pace.ready, [of("prefill", 8), of("decode", 90)]);
        assert_eq!("5m".parse(), Ok(Ready { role: None, time: Millis::minutes(5) }));
        assert!("prefill=soon".parse::<Ready>().is_err());
    }
}
