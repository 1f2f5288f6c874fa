//! `lockstep install`: the operator into a cluster, or the newer one over the older.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use lockstep_api::{budget, json_to_yaml};
use lockstep_dialects::definition;
use lockstep_operator::dialects::Dialects;
use lockstep_operator::operator::FEDERATION;
use serde_json::Value;

use super::uninstall::remove;
use crate::exit::Exit;
use crate::input::cluster::{ClusterArgs, block_on};
use crate::input::dialects::{DialectName, chosen, dialect};
use crate::input::kinds;
use crate::input::objects::{api, plainly};
use crate::input::way_in::{way_in, write_private};
use crate::install::federation::Federation;
use crate::install::federation_host::FederationHost;
use crate::install::{FIELD_MANAGER, Installation, NAME, title};
use crate::screen::Screen;

/// Where the operator runs unless somebody says otherwise.
pub const NAMESPACE: &str = "lockstep-system";

/// `lockstep install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The operator's image.
    #[arg(long, value_name = "REF", default_value = concat!("lockstep:", env!("CARGO_PKG_VERSION")))]
    pub image: String,
    /// How many operators: one leads, all of them check what is applied.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub replicas: u32,
    /// Also serve the kinds of these projects: rbg (RoleBasedGroup), kthena (ModelServing), grove (PodCliqueSet). Kinds
    /// that somebody else has defined are left to them.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "none", value_parser = dialect)]
    pub dialects: Vec<Option<DialectName>>,
    /// Also look after PodUnavailableBudgets, and guard pods by them. A cluster where Kruise does is left to Kruise.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub budgets: bool,
    /// For rollouts over several clusters: install on Karmada's API server what `lockstep federation` needs there, and
    /// nothing else.
    #[arg(long, group = "federated", conflicts_with_all = ["dialects", "budgets", "image", "replicas"])]
    pub karmada: bool,
    /// Write the kubeconfig by which `lockstep federation` reaches Karmada's API server, with a token of its own
    /// account. It is for `--karmada-host`.
    #[arg(long, value_name = "FILE", requires = "karmada", conflicts_with = "dry_run")]
    pub write_kubeconfig: Option<PathBuf>,
    /// Where `lockstep federation` reaches Karmada's API server. Default: where this command reaches it.
    #[arg(long, value_name = "URL", requires = "write_kubeconfig")]
    pub karmada_server: Option<String>,
    /// For rollouts over several clusters: install `lockstep federation` itself, in the cluster in which Karmada runs.
    #[arg(
        long,
        group = "federated",
        requires = "karmada_kubeconfig",
        conflicts_with_all = ["karmada", "dialects", "budgets"]
    )]
    pub karmada_host: bool,
    /// The kubeconfig that `--karmada --write-kubeconfig` wrote.
    #[arg(long, value_name = "FILE", requires = "karmada_host")]
    pub karmada_kubeconfig: Option<PathBuf>,
    /// Where Karmada's API server reaches `lockstep federation`. Default: its Service, in the namespace of `-n`.
    #[arg(long, value_name = "URL", requires = "federated")]
    pub webhook_url: Option<String>,
    /// Further kinds to roll over several clusters, by where their fields stand.
    #[arg(long, value_name = "FILE", requires = "federated")]
    pub kinds: Option<PathBuf>,
    /// Print what would be applied, as YAML, and change nothing. Talks to nobody.
    #[arg(long)]
    pub dry_run: bool,
    /// Which cluster, and where in it.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Runs the command.
pub fn run(args: &InstallArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let namespace = args.cluster.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned());
    if args.karmada {
        let kinds = kinds::read(args.kinds.as_deref())?;
        let url = webhook_url(args, &namespace);
        return federate(args, Federation { namespace, url, kinds }, screen);
    }
    if let Some(kubeconfig) = args.karmada_kubeconfig.as_deref().filter(|_| args.karmada_host) {
        return host(args, namespace, kubeconfig, screen);
    }
    let dialects = Dialects(chosen(&args.dialects));
    let (image, replicas, budgets) = (args.image.clone(), args.replicas, args.budgets);
    let mut installation = Installation { namespace, image, replicas, dialects, budgets };
    if args.dry_run {
        return print(&installation.objects(), screen);
    }
    block_on(async {
        let (client, _) = args.cluster.client().await?;
        if installation.budgets && foreign_budgets(&client).await? {
            writeln!(screen.out, "customresourcedefinition/{} {FOREIGN}", budget::definition::NAME)?;
            installation.budgets = false;
        }
        if !installation.budgets {
            // An earlier installation may have guarded pods, which nobody would answer for now.
            remove(&client, installation.guards(), screen).await?;
        }
        apply_all(&client, &installation.objects(), screen).await?;
        let namespace = &installation.namespace;
        writeln!(
            screen.out,
            "Lockstep is installed in namespace {namespace}. Until its operator answers, new specs are refused: \
             `kubectl rollout status deployment/lockstep -n {namespace}` waits for it."
        )?;
        Ok(Exit::Fine)
    })
}

/// Where Karmada's API server reaches `lockstep federation`: both halves of the installation must mean the same place.
fn webhook_url(args: &InstallArgs, namespace: &str) -> String {
    args.webhook_url.clone().unwrap_or_else(|| format!("https://{FEDERATION}.{namespace}.svc:443"))
}

/// Installs what rollouts over several clusters need on Karmada's API server.
fn federate(args: &InstallArgs, federation: Federation, screen: &mut Screen<'_>) -> Result<Exit> {
    let objects = federation.objects();
    if args.dry_run {
        return print(&objects, screen);
    }
    block_on(async {
        let (client, _) = args.cluster.client().await?;
        apply_all(&client, &objects, screen).await?;
        if let Some(path) = &args.write_kubeconfig {
            let config = args.cluster.config().await?;
            let kubeconfig = way_in(&client, &config, args.karmada_server.as_deref(), &federation.namespace);
            write_private(path, &json_to_yaml(&kubeconfig.await?))?;
            writeln!(
                screen.out,
                "{} is the way in for `lockstep federation`: keep it safe.",
                path.display()
            )?;
        }
        writeln!(
            screen.out,
            "Until `lockstep federation` answers at {}, Works of the kinds that can be aligned are refused.",
            federation.url
        )?;
        Ok(Exit::Fine)
    })
}

/// Installs the process that looks after rollouts over several clusters.
fn host(args: &InstallArgs, namespace: String, kubeconfig: &Path, screen: &mut Screen<'_>) -> Result<Exit> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    // What is no list of kinds is said here, not by a process that does not start.
    kinds::read(args.kinds.as_deref())?;
    let host = FederationHost {
        kubeconfig: read(kubeconfig)?,
        kinds: args.kinds.as_deref().map(read).transpose()?,
        image: args.image.clone(),
        replicas: args.replicas,
        url: webhook_url(args, &namespace),
        namespace,
    };
    let objects = host.objects();
    if args.dry_run {
        return print(&objects, screen);
    }
    block_on(async {
        let (client, _) = args.cluster.client().await?;
        apply_all(&client, &objects, screen).await?;
        let namespace = &host.namespace;
        writeln!(
            screen.out,
            "`kubectl rollout status deployment/{FEDERATION} -n {namespace}` waits until it answers."
        )?;
        Ok(Exit::Fine)
    })
}

fn print(objects: &[Value], screen: &mut Screen<'_>) -> Result<Exit> {
    let documents: Vec<String> = objects.iter().map(json_to_yaml).collect();
    write!(screen.out, "{}", documents.join("---\n"))?;
    Ok(Exit::Fine)
}

async fn apply_all(client: &Client, objects: &[Value], screen: &mut Screen<'_>) -> Result<()> {
    for object in objects {
        let what = apply(client, object).await?;
        writeln!(screen.out, "{} {what}", title(object))?;
    }
    Ok(())
}

/// What is said of a definition that another project installed.
const FOREIGN: &str = "is somebody else's and left to them: their controller looks after its objects";

/// Whether somebody else has defined PodUnavailableBudgets.
async fn foreign_budgets(client: &Client) -> Result<bool> {
    let definition = budget::definition::definition();
    let (api, name) = api(client, &definition)?;
    let before = api.get_opt(&name).await.map_err(plainly);
    let before = before.with_context(|| format!("cannot see {}", title(&definition)))?;
    Ok(before.is_some_and(|before| is_of_others(&definition, &before)))
}

/// Applies one object and says what became of it.
async fn apply(client: &Client, object: &Value) -> Result<&'static str> {
    let doing = || format!("cannot apply {}", title(object));
    let (api, name) = api(client, object)?;
    let before = api.get_opt(&name).await.map_err(plainly).with_context(doing)?;
    if before.as_ref().is_some_and(|before| object["kind"] == "Namespace" && !is_ours(before)) {
        return Ok("is not Lockstep's own and left as it is");
    }
    if before.as_ref().is_some_and(|before| is_of_others(object, before)) {
        return Ok(FOREIGN);
    }
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let after = api.patch(&name, &params, &Patch::Apply(object)).await;
    let after = after.map_err(plainly).with_context(doing)?;
    let before = before.map(content);
    Ok(match before {
        None => "created",
        Some(before) if before == content(after) => "unchanged",
        Some(_) => "changed",
    })
}

/// What can be installed of an object. The rest is written by the cluster, at any moment.
fn content(mut object: DynamicObject) -> (Value, Option<BTreeMap<String, String>>) {
    if let Value::Object(fields) = &mut object.data {
        fields.remove("status");
    }
    (object.data, object.metadata.labels)
}

/// A definition that another project installed. Ours for the same kind says so in a label.
fn is_of_others(object: &Value, before: &DynamicObject) -> bool {
    let (label, us) = definition::MADE_BY;
    let shared = object["kind"] == "CustomResourceDefinition" && object["metadata"]["labels"][label] == us;
    shared && before.labels().get(label).is_none_or(|who| who != us)
}

/// A namespace in which others live must not be locked down for our sake.
fn is_ours(namespace: &DynamicObject) -> bool {
    namespace.labels().get("app.kubernetes.io/part-of").is_some_and(|whole| whole == NAME)
}
