//! `lockstep install`: the operator into a cluster, or the newer one over the older.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use lockstep_api::{budget, json_to_yaml};
use lockstep_dialects::definition;
use lockstep_operator::dialects::Dialects;
use serde_json::Value;

use super::uninstall::remove;
use crate::exit::Exit;
use crate::input::cluster::{ClusterArgs, block_on};
use crate::input::dialects::{DialectName, chosen, dialect};
use crate::input::kinds;
use crate::input::objects::{api, plainly};
use crate::install::federation::Federation;
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
    /// Install on Karmada's API server what `lockstep federation` needs there, and nothing else.
    #[arg(long, conflicts_with_all = ["dialects", "budgets", "image", "replicas"])]
    pub karmada: bool,
    /// Where Karmada's API server reaches `lockstep federation`.
    #[arg(
        long,
        value_name = "URL",
        requires = "karmada",
        default_value = "https://lockstep-federation.lockstep-system.svc:443"
    )]
    pub webhook_url: String,
    /// Further kinds to roll over several clusters, by where their fields stand.
    #[arg(long, value_name = "FILE", requires = "karmada")]
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
        return federate(args, Federation { namespace, url: args.webhook_url.clone(), kinds }, screen);
    }
    let dialects = Dialects(chosen(&args.dialects));
    let (image, replicas, budgets) = (args.image.clone(), args.replicas, args.budgets);
    let mut installation = Installation { namespace, image, replicas, dialects, budgets };
    if args.dry_run {
        let documents: Vec<String> = installation.objects().iter().map(json_to_yaml).collect();
        write!(screen.out, "{}", documents.join("---\n"))?;
        return Ok(Exit::Fine);
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
        for object in installation.objects() {
            let what = apply(&client, &object).await?;
            writeln!(screen.out, "{} {what}", title(&object))?;
        }
        let namespace = &installation.namespace;
        writeln!(
            screen.out,
            "Lockstep is installed in namespace {namespace}. Until its operator answers, new specs are refused: \
             `kubectl rollout status deployment/lockstep -n {namespace}` waits for it."
        )?;
        Ok(Exit::Fine)
    })
}

/// Installs what rollouts over several clusters need on Karmada's API server.
fn federate(args: &InstallArgs, federation: Federation, screen: &mut Screen<'_>) -> Result<Exit> {
    let objects = federation.objects();
    if args.dry_run {
        let documents: Vec<String> = objects.iter().map(json_to_yaml).collect();
        write!(screen.out, "{}", documents.join("---\n"))?;
        return Ok(Exit::Fine);
    }
    block_on(async {
        let (client, _) = args.cluster.client().await?;
        for object in &objects {
            let what = apply(&client, object).await?;
            writeln!(screen.out, "{} {what}", title(object))?;
        }
        writeln!(
            screen.out,
            "Until `lockstep federation` answers at {}, Works of the kinds that can be aligned are refused.",
            federation.url
        )?;
        Ok(Exit::Fine)
    })
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
