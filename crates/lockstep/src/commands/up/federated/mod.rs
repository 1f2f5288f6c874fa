//! `lockstep up --clusters`: a host and its members in one process, and a Deployment that rolls over all of them.

mod clusters;
mod deeds;
mod demo;
mod scene;
mod session;

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use anyhow::{Result, bail};
use futures::FutureExt;
use futures::future::select_all;
use tokio::time::sleep;

use self::clusters::Clusters;
use self::deeds::Doings;
use self::session::Session;
use super::args::UpArgs;
use super::deeds::Deed;
use super::face::Face;
use super::plain::Plain;
use super::terminal::Terminal;
use super::{Press, over};
use crate::commands::operator::stopped;
use crate::exit::Exit;
use crate::input::live_set::now;
use crate::screen::{Paint, Screen};

/// What changes together is looked at once.
const TOGETHER: Duration = Duration::from_millis(30);

/// Runs until somebody quits.
pub async fn run(args: &UpArgs, count: u32, screen: &mut Screen<'_>) -> Result<Exit> {
    let clusters = Clusters::start(count, args.nodes).await?;
    super::demo::apply(&clusters.client, &demo::objects(&clusters.names(), args.speed)).await?;
    let access = clusters.access();
    let first = access.first().cloned().unwrap_or_default();
    let mut session = Session::new(first, args.roll, args.until, now());
    if args.plain || !stdout().is_terminal() {
        for line in &access {
            writeln!(screen.out, "{line}")?;
        }
        return play(args, &clusters, &mut Plain::new(screen), &mut session).await;
    }
    let ended = {
        let mut terminal = Terminal::open(Paint::for_stream(&stdout()).is_on())?;
        play(args, &clusters, &mut terminal, &mut session).await
    };
    if !session.commands.is_empty() {
        writeln!(screen.out, "What you did, as commands:\n  {}", session.commands.join("\n  "))?;
    }
    ended
}

/// Plays a session to its end.
async fn play(
    args: &UpArgs,
    clusters: &Clusters,
    face: &mut impl Face,
    session: &mut Session,
) -> Result<Exit> {
    let mut changes = clusters.changes();
    let mut doings = Doings::default();
    let (stop, limit) = (stopped(), over(args.limit));
    tokio::pin!(stop, limit);
    let mut fresh = true;
    loop {
        if fresh {
            for changed in &mut changes {
                changed.catch_up();
            }
            session.see(clusters.look(doings.cut).await?);
        }
        session.wait(now());
        let again = face.show(session, now(), fresh)?;
        if let Some(exit) = session.end() {
            return Ok(exit);
        }
        fresh = true;
        if session.rolls() {
            doings.perform(Deed::Roll, session, clusters).await;
            continue;
        }
        let changed = select_all(changes.iter_mut().map(|it| it.next().boxed()));
        tokio::select! {
            _ = changed => sleep(TOGETHER).await,
            press = face.press() => match press? {
                Press::Do(deed) => doings.perform(deed, session, clusters).await,
                Press::Help => session.toggle_help(),
                Press::Next | Press::Redraw => {}
                Press::Quit => return Ok(Exit::Fine),
            },
            () = sleep(again) => fresh = false,
            () = clusters.broken() => bail!("what rolls workloads over the clusters has broken down"),
            stopped = &mut stop => return stopped.map(|()| Exit::Fine),
            () = &mut limit => return Ok(if args.until.is_some() { Exit::TimedOut } else { Exit::Fine }),
        }
    }
}
