//! `lockstep up`: a cluster, the operator and a set in one process, and a view of all of it.

pub mod args;
mod cluster;
mod compose;
mod contents;
mod deeds;
mod demo;
mod embedded;
mod face;
mod federated;
mod held;
mod images;
mod journal;
mod kubeconfigs;
mod machines;
mod plain;
#[cfg(test)]
mod scratch;
mod script;
mod session;
mod stand_ins;
mod terminal;
mod world;

use std::fs::File;
use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use lockstep_core::time::Millis;
use lockstep_operator::dialects::Dialects;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::operator::{self, OperatorOptions};
use lockstep_operator::serve::{Trigger, shutdown};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing_subscriber::EnvFilter;

use self::args::UpArgs;
use self::cluster::Running;
use self::deeds::{Deed, perform};
use self::face::Face;
use self::journal::Kind;
use self::plain::Plain;
use self::script::Script;
use self::session::Session;
use self::terminal::Terminal;
use self::world::watch_all;
use super::operator::stopped;
use crate::exit::Exit;
use crate::input::cluster::block_on;
use crate::input::live_set::now;
use crate::install::{Installation, NAME};
use crate::screen::{Paint, Screen};
use crate::view::scene::Tone;

/// How long the API server may take to serve our kinds.
const SERVED: Duration = Duration::from_secs(30);

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// Do something.
    Do(Deed),
    /// Show or hide the help.
    Help,
    /// Show the next set.
    Next,
    /// Draw again.
    Redraw,
    /// End.
    Quit,
}

/// Runs until somebody quits.
pub fn run(args: &UpArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    // What is wrong with a manifest is said before anything starts.
    let objects = demo::objects(args)?;
    if let Some(file) = &args.log {
        log(file)?;
    }
    if let Some(count) = args.clusters {
        return block_on(federated::run(args, count, screen));
    }
    block_on(async {
        let mut running = match args.is_of_others() {
            true => cluster::join(&args.cluster).await?,
            false => embedded::start(&args.start_options()).await?,
        };
        if !args.is_of_others() {
            serve_kinds(&running.client).await?;
            // What is applied is checked as it would be by an operator that is installed.
            if !args.no_operator {
                demo::apply(&running.client, &installation().admission()).await?;
            }
        }
        let operator = (!args.no_operator).then(|| Operator::start(&running));
        demo::start(&running.client, &objects, args).await?;
        let ended = show(args, &running, operator.as_ref(), screen).await;
        if let Some(operator) = operator {
            operator.stop().await?;
        }
        if let Some(end) = running.end.take() {
            end.await?;
        }
        ended
    })
}

/// Shows it, on a terminal or line by line.
async fn show(
    args: &UpArgs,
    running: &Running,
    operator: Option<&Operator>,
    screen: &mut Screen<'_>,
) -> Result<Exit> {
    let script = Script::new(args.roll, args.until);
    let mut session =
        Session::new(running.client.clone(), running.nodes.clone(), access(running), script, now());
    if args.no_operator {
        let starter = starter(running);
        let text = format!("no operator runs in this process; in another terminal `{starter}` starts one");
        session.journal.tell(Kind::Note, Tone::Warn, text, now());
        session.starter = Some(starter);
    }
    let stage = Theatre { running, operator, limit: args.limit, fails: args.until.is_some() };
    if args.plain || !stdout().is_terminal() {
        writeln!(screen.out, "{}", access(running))?;
        return stage.play(&mut Plain::new(screen), &mut session).await;
    }
    let ended = {
        let mut terminal = Terminal::open(Paint::for_stream(&stdout()).is_on())?;
        stage.play(&mut terminal, &mut session).await
    };
    // On the screen they are broken into lines; here they can be copied.
    if !session.commands().is_empty() {
        writeln!(screen.out, "What you did, as commands:\n  {}", session.commands().join("\n  "))?;
    }
    ended
}

/// How to reach the cluster from another terminal.
fn access(running: &Running) -> String {
    let get = match &running.scope {
        Some(namespace) => format!("kubectl get lss,pods -n {namespace}"),
        None => "kubectl get lss,pods -A".to_owned(),
    };
    match &running.kubeconfig {
        Some(path) => format!("export KUBECONFIG={}; {get}", path.display()),
        None => get,
    }
}

/// The command that runs an operator beside us.
fn starter(running: &Running) -> String {
    let way = running.kubeconfig.iter().map(|path| format!("KUBECONFIG={} ", path.display()));
    let scope = running.scope.iter().map(|namespace| format!(" -n {namespace}"));
    format!("{}lockstep operator{}", way.collect::<String>(), scope.collect::<String>())
}

/// What a session is played with.
struct Theatre<'a> {
    running: &'a Running,
    operator: Option<&'a Operator>,
    limit: Option<Millis>,
    /// To be over the time is a failure.
    fails: bool,
}

impl Theatre<'_> {
    /// Plays a session to its end.
    async fn play(&self, face: &mut impl Face, session: &mut Session) -> Result<Exit> {
        let mut changes = watch_all(&self.running.client, self.running.scope.as_deref());
        let mut deeds = FuturesUnordered::new();
        let (stop, limit, failed) = (stopped(), over(self.limit), self.operator_failed());
        tokio::pin!(stop, limit, failed);
        let mut fresh = true;
        loop {
            let again = face.show(session, now(), fresh)?;
            if let Some(exit) = session.end(now()) {
                return Ok(exit);
            }
            let mut wanted = session.wanted(now());
            fresh = true;
            tokio::select! {
                Some(batch) = changes.next() => session.see(batch, now())?,
                Some(outcome) = deeds.next() => session.done(outcome, now()),
                press = face.press(), if wanted.is_none() => match press? {
                    Press::Do(deed) => wanted = Some(deed),
                    Press::Help => session.toggle_help(),
                    Press::Next => session.choose_next(),
                    Press::Redraw => {}
                    Press::Quit => return Ok(Exit::Fine),
                },
                () = sleep(again) => fresh = false,
                stopped = &mut stop => return stopped.map(|()| Exit::Fine),
                () = &mut limit => return Ok(if self.fails { Exit::TimedOut } else { Exit::Fine }),
                error = &mut failed => return Err(error),
            }
            if let Some(deed) = wanted
                && let Some(stage) = session.stage(now())
            {
                deeds.push(perform(deed, stage));
            }
        }
    }

    /// Comes back only if the operator has ended before us.
    async fn operator_failed(&self) -> anyhow::Error {
        match self.operator {
            Some(operator) => operator.failed().await,
            None => std::future::pending().await,
        }
    }
}

/// The operator beside us.
struct Operator {
    task: tokio::sync::Mutex<JoinHandle<Result<(), operator::OperatorError>>>,
    trigger: Trigger,
}

impl Operator {
    fn start(running: &Running) -> Self {
        let (trigger, shutdown) = shutdown();
        let options = OperatorOptions {
            namespace: running.scope.clone(),
            identity: "lockstep-up".to_owned(),
            clock: running.clock.clone(),
            dialects: Dialects(lockstep_dialects::ALL.to_vec()),
            budgets: true,
            ..OperatorOptions::default()
        };
        let operator = operator::run(running.client.clone(), options, Metrics::new(), shutdown);
        Self { task: tokio::sync::Mutex::new(tokio::spawn(operator)), trigger }
    }

    /// Waits for the end of the operator, which nobody has asked for.
    async fn failed(&self) -> anyhow::Error {
        match (&mut *self.task.lock().await).await {
            Ok(Ok(())) => anyhow!("the operator has ended"),
            Ok(Err(error)) => anyhow!(error).context("the operator has ended"),
            Err(error) => anyhow!(error).context("the operator has ended"),
        }
    }

    /// Ends it.
    async fn stop(self) -> Result<()> {
        self.trigger.shut_down();
        let mut task = self.task.into_inner();
        // One that has ended already has said so.
        if !task.is_finished() {
            (&mut task).await.context("the operator did not end well")??;
        }
        Ok(())
    }
}

/// What would be installed, as far as this process does not do it itself.
fn installation() -> Installation {
    let dialects = Dialects(lockstep_dialects::ALL.to_vec());
    Installation { namespace: NAME.to_owned(), image: String::new(), replicas: 1, dialects, budgets: true }
}

/// Makes a cluster serve our kinds, and those of others that we understand.
async fn serve_kinds(client: &Client) -> Result<()> {
    serve(client, &installation().all_definitions()).await
}

/// Makes a cluster serve kinds.
async fn serve(client: &Client, definitions: &[serde_json::Value]) -> Result<()> {
    demo::apply(client, definitions).await?;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let served = await_condition(api.clone(), name, conditions::is_crd_established());
        timeout(SERVED, served).await.with_context(|| format!("{name} is not served"))??;
    }
    Ok(())
}

/// What the operator says goes to a file: the screen is taken.
fn log(file: &Path) -> Result<()> {
    let open = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Mutex::new(open)).init();
    Ok(())
}

/// Comes back when the time is over that somebody gave.
async fn over(limit: Option<Millis>) {
    match limit {
        Some(limit) => sleep(Duration::from_millis(limit.0)).await,
        None => std::future::pending().await,
    }
}
