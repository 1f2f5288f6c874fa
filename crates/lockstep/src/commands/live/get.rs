//! `lockstep get`: the sets of a namespace, or one as a tree.

use std::io::{IsTerminal, stdout};

use anyhow::{Result, bail};
use futures::stream::{self, LocalBoxStream};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};

use super::answer::{give, give_next};
use super::args::GetArgs;
use super::home::{Home, explain_kind, selector};
use super::status::refuse_to_watch;
use crate::exit::Exit;
use crate::input::live_set::{LiveSet, now};
use crate::input::shown::Shown;
use crate::screen::Screen;
use crate::show::set_list::{self, Entry};
use crate::show::{tree, tree_table};

/// Clears the screen and goes to its top.
const ANEW: &str = "\u{1b}[H\u{1b}[2J";

/// Runs the command.
pub async fn run(args: &GetArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let home = Home::open(&args.cluster).await?;
    match (&args.name, args.watch) {
        (Some(name), false) => one(&home, name, args, screen).await?,
        (Some(name), true) => watch_one(&home, name, args, screen).await?,
        (None, false) => all(&home, args, screen).await?,
        (None, true) => watch_all(&home, args, screen).await?,
    }
    Ok(Exit::Fine)
}

async fn one(home: &Home, name: &str, args: &GetArgs, screen: &mut Screen<'_>) -> Result<()> {
    let (set, pods) = (home.set(name).await?, home.pods_of(name).await?);
    let tree = tree::grow(&set, &pods);
    let paint = screen.paint;
    give(screen, args.output, &tree, || tree_table::draw(&tree, now(), paint))
}

async fn all(home: &Home, args: &GetArgs, screen: &mut Screen<'_>) -> Result<()> {
    let api = if args.all_namespaces { home.all_sets() } else { home.sets() };
    let listed = api.list(&ListParams::default()).await.map_err(explain_kind)?;
    let entries = entries(listed.items)?;
    if entries.is_empty() && args.output == Default::default() {
        let place = if args.all_namespaces { "any".to_owned() } else { home.namespace.clone() };
        writeln!(screen.err, "No LockstepSets in {place} namespace.")?;
        return Ok(());
    }
    let paint = screen.paint;
    give(screen, args.output, &entries, || set_list::draw(&entries, args.all_namespaces, now(), paint))
}

fn entries(objects: impl IntoIterator<Item = DynamicObject>) -> Result<Vec<Entry>> {
    let sets = objects.into_iter().map(LiveSet::of).collect::<Result<Vec<_>>>()?;
    Ok(sets.iter().map(Entry::from).collect())
}

/// Something of a set has changed.
enum Change {
    Set(Box<Event<DynamicObject>>),
    Pod(Box<Event<Pod>>),
}

async fn watch_one(home: &Home, name: &str, args: &GetArgs, screen: &mut Screen<'_>) -> Result<()> {
    // A clear word if it is not there, before anything is watched.
    home.set(name).await?;
    let of_set = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let sets = watch(home.sets(), of_set)
        .default_backoff()
        .map_ok(|event| Change::Set(Box::new(event)))
        .boxed_local();
    let of_pods = watcher::Config::default().labels(&selector(name));
    let pods = watch(home.pods(), of_pods)
        .default_backoff()
        .map_ok(|event| Change::Pod(Box::new(event)))
        .boxed_local();
    let (mut sets_shown, mut pods_shown) = (Shown::default(), Shown::default());
    let mut changes: LocalBoxStream<'_, _> = stream::select(sets, pods).ready_chunks(4096).boxed_local();
    while let Some(batch) = changes.next().await {
        for change in batch {
            match change {
                Ok(Change::Set(event)) => sets_shown.see(*event),
                Ok(Change::Pod(event)) => pods_shown.see(*event),
                Err(error) => refuse_to_watch(error)?,
            }
        }
        if !sets_shown.complete || !pods_shown.complete {
            continue;
        }
        let Some(object) = sets_shown.objects.values().next() else {
            bail!("lockstepset {name:?} is gone from namespace {:?}", home.namespace);
        };
        let tree = tree::grow(&LiveSet::of(object.clone())?, pods_shown.objects.values());
        let paint = screen.paint;
        give_next(screen, args.output, &tree, || anew(tree_table::draw(&tree, now(), paint)))?;
    }
    bail!("the watch of {name} has ended")
}

async fn watch_all(home: &Home, args: &GetArgs, screen: &mut Screen<'_>) -> Result<()> {
    let api = if args.all_namespaces { home.all_sets() } else { home.sets() };
    api.list(&ListParams::default().limit(1)).await.map_err(explain_kind)?;
    let mut shown = Shown::default();
    let mut changes =
        watch(api, watcher::Config::default()).default_backoff().ready_chunks(4096).boxed_local();
    while let Some(batch) = changes.next().await {
        for change in batch {
            match change {
                Ok(event) => shown.see(event),
                Err(error) => refuse_to_watch(error)?,
            }
        }
        if !shown.complete {
            continue;
        }
        let entries = entries(shown.objects.values().cloned())?;
        let paint = screen.paint;
        give_next(screen, args.output, &entries, || {
            anew(set_list::draw(&entries, args.all_namespaces, now(), paint))
        })?;
    }
    bail!("the watch has ended")
}

/// On a terminal each drawing takes the place of the one before; elsewhere they follow each other.
fn anew(text: String) -> String {
    if stdout().is_terminal() { format!("{ANEW}{}", text.trim_end()) } else { text }
}
