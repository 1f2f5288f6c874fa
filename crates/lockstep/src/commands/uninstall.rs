//! `lockstep uninstall`: the operator out of a cluster. What it looked after goes on running.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use lockstep_api::budget;
use serde_json::Value;

use super::install::NAMESPACE;
use lockstep_operator::dialects::Dialects;

use crate::exit::Exit;
use crate::input::cluster::{ClusterArgs, block_on};
use crate::input::objects::{api, is_missing, plainly};
use crate::install::{Installation, title};
use crate::screen::Screen;
use crate::show::words;

/// How long pods may take to end.
const PATIENCE: Duration = Duration::from_secs(600);

/// `lockstep uninstall`.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Also delete every LockstepSet with its pods, in all namespaces, and the kinds themselves.
    #[arg(long)]
    pub all: bool,
    /// Yes, delete them.
    #[arg(long, requires = "all")]
    pub yes: bool,
    /// Which cluster, and where in it.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Runs the command.
pub fn run(args: &UninstallArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let namespace = args.cluster.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned());
    let (image, dialects) = (String::new(), Dialects::default());
    let installation = Installation { namespace, image, replicas: 0, dialects, budgets: true };
    block_on(async {
        let (client, _) = args.cluster.client().await?;
        let sets = Sets::find(&client).await?;
        if args.all {
            sets.say(screen)?;
            if !args.yes {
                bail!("nothing was deleted; say --yes to go on");
            }
            // Where no operator answers any more, no pod could be deleted.
            remove(&client, installation.guards(), screen).await?;
            // While the operator still runs: it may have something to put in order.
            sets.delete(screen).await?;
        }
        let mut goes = installation.operator();
        goes.extend(installation.made_by_the_operator());
        remove(&client, goes, screen).await?;
        if args.all {
            let mut kinds = Installation::definitions();
            kinds.extend(budgets_of_ours(&client).await?);
            remove(&client, kinds, screen).await?;
        }
        writeln!(screen.out, "{}", left(&installation, &sets, args.all))?;
        Ok(Exit::Fine)
    })
}

/// What is still there.
fn left(installation: &Installation, sets: &Sets, all: bool) -> String {
    let Installation { namespace, .. } = installation;
    let empty = format!("Namespace {namespace} is left; `kubectl delete namespace {namespace}` removes it.");
    match sets.found.len() as u64 {
        _ if all => empty,
        0 => format!("The kinds are left; `lockstep uninstall --all` removes them. {empty}"),
        n => {
            let sets = words::count(n, "set");
            format!("What runs goes on running: {sets} with all pods. Nobody looks after them now. {empty}")
        }
    }
}

/// Deletes objects, the last first; what is not there is passed over.
pub(super) async fn remove(client: &Client, objects: Vec<Value>, screen: &mut Screen<'_>) -> Result<()> {
    for object in objects.iter().rev() {
        let (api, name) = api(client, object)?;
        match api.delete(&name, &DeleteParams::background()).await {
            Ok(_) => writeln!(screen.out, "{} deleted", title(object))?,
            Err(error) if is_missing(&error) => {}
            Err(error) => {
                return Err(plainly(error)).with_context(|| format!("cannot delete {}", title(object)));
            }
        }
    }
    Ok(())
}

/// The definition of PodUnavailableBudgets, if it is ours to delete.
async fn budgets_of_ours(client: &Client) -> Result<Option<Value>> {
    let definition = budget::definition::definition();
    let (api, name) = api(client, &definition)?;
    let there = api.get_opt(&name).await.map_err(plainly).context("cannot see the kinds")?;
    let (label, us) = budget::definition::MADE_BY;
    Ok(there.filter(|it| it.labels().get(label).is_some_and(|who| who == us)).map(|_| definition))
}

/// All sets of a cluster.
struct Sets {
    client: Client,
    resource: ApiResource,
    found: Vec<DynamicObject>,
}

impl Sets {
    async fn find(client: &Client) -> Result<Self> {
        let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", lockstep_api::KIND);
        let resource = ApiResource::from_gvk(&kind);
        let everywhere: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let found = match everywhere.list(&ListParams::default()).await {
            Ok(list) => list.items,
            // Without the kind there is none of it.
            Err(error) if is_missing(&error) => Vec::new(),
            Err(error) => return Err(plainly(error)).context("cannot list the LockstepSets"),
        };
        Ok(Self { client: client.clone(), resource, found })
    }

    /// Says what is about to go.
    fn say(&self, screen: &mut Screen<'_>) -> Result<()> {
        let sets = words::count(self.found.len() as u64, "LockstepSet");
        writeln!(screen.out, "To be deleted: {sets} with all pods, the operator, and its kinds.")?;
        for set in &self.found {
            writeln!(screen.out, "  {}/{}", set.namespace().unwrap_or_default(), set.name_any())?;
        }
        Ok(())
    }

    /// Deletes them and waits until their pods are gone. With their kind gone first, the garbage collector
    /// would not know whose the pods were.
    async fn delete(&self, screen: &mut Screen<'_>) -> Result<()> {
        for set in &self.found {
            match self.api(set).delete(&set.name_any(), &DeleteParams::foreground()).await {
                Err(error) if !is_missing(&error) => {
                    let name = set.name_any();
                    return Err(plainly(error)).with_context(|| format!("cannot delete lockstepset/{name}"));
                }
                _ => {}
            }
        }
        for set in &self.found {
            let (name, uid) = (set.name_any(), set.uid().unwrap_or_default());
            let gone = await_condition(self.api(set), &name, conditions::is_deleted(&uid));
            let waited = tokio::time::timeout(PATIENCE, gone).await;
            let waited =
                waited.with_context(|| format!("lockstepset/{name} is still there, with its pods"))?;
            waited.with_context(|| format!("cannot see whether lockstepset/{name} is gone"))?;
            writeln!(screen.out, "lockstepset/{name} deleted")?;
        }
        Ok(())
    }

    fn api(&self, set: &DynamicObject) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &set.namespace().unwrap_or_default(), &self.resource)
    }
}
