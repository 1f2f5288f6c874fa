//! `lockstep history`: the stored revisions of a set.

use std::fmt::Write;

use anyhow::Result;
use lockstep_core::time::Time;
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{give, yaml};
use super::args::HistoryArgs;
use super::home::Home;
use super::revisions::{Revisions, Stood, StoredRevision};
use crate::exit::Exit;
use crate::input::live_set::{LiveSet, now, stamp};
use crate::screen::{Paint, Screen};
use crate::show::columns::{Line, lay_out};
use crate::show::{revision_diff, words};

/// Runs the command.
pub async fn run(args: &HistoryArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let home = Home::open(&args.set.cluster).await?;
    let set = home.set(&args.set.name).await?;
    let revisions = home.revisions(&set).await?;
    let (paint, form) = (screen.paint, args.set.output);
    if let Some((a, b)) = &args.diff {
        let (a, b) = (revisions.find(a)?, revisions.find(b)?);
        let diff = revision_diff::compare(&a.set, &b.set);
        let value = json!({"from": a.number, "to": b.number, "roles": diff});
        give(screen, form, &value, || match diff[..] {
            [] => format!("revisions {} and {} are the same\n", a.number, b.number),
            _ => revision_diff::draw(&diff, paint),
        })?;
    } else if let Some(text) = &args.revision {
        let one = revisions.find(text)?;
        let text = show_one(one)?;
        give(screen, form, &whole(one), || text)?;
    } else {
        let entries = entries(&set, &revisions);
        give(screen, form, &entries, || draw(&entries, now(), paint))?;
    }
    Ok(Exit::Fine)
}

/// One revision of the list.
#[derive(Debug, Serialize)]
struct Entry {
    revision: i64,
    hash: String,
    #[serde(serialize_with = "stamp")]
    created: Option<Time>,
    /// What it is now: wished for, gone back to, stable; and that nothing ever stood complete at it.
    is: Vec<&'static str>,
    /// What differs from the one before, in short.
    changed: String,
}

fn entries(set: &LiveSet, revisions: &Revisions) -> Vec<Entry> {
    let known = &set.status.revision;
    // The highest number is the one wished for last.
    let wished = revisions.0.last().map(|revision| revision.hash.clone());
    let entry = |revision: &StoredRevision| {
        let hash = Some(&revision.hash);
        let words = [
            ("wished for", hash == wished.as_ref()),
            ("gone back to", hash == Some(&known.update) && hash != wished.as_ref()),
            ("stable", hash == known.stable.as_ref()),
            ("never complete", revision.stood == Stood::Never && hash != Some(&known.update)),
        ];
        let is = words.iter().filter(|(_, holds)| *holds).map(|(word, _)| *word).collect();
        let changed = match revisions.predecessor(revision) {
            Some(before) => revision_diff::in_short(&revision_diff::compare(&before.set, &revision.set)),
            None => String::new(),
        };
        let (hash, created) = (revision.hash.clone(), revision.created);
        Entry { revision: revision.number, hash, created, is, changed }
    };
    revisions.0.iter().map(entry).collect()
}

fn draw(entries: &[Entry], now: Time, paint: Paint) -> String {
    if entries.is_empty() {
        return "no revision is stored yet\n".to_owned();
    }
    let line = |entry: &Entry| {
        let age = entry.created.map(|created| words::age(now.since(created))).unwrap_or_default();
        let number = entry.revision.to_string();
        Line::plain(vec![number, entry.hash.clone(), entry.is.join(", "), age, entry.changed.clone()])
    };
    let lines: Vec<Line> = entries.iter().map(line).collect();
    lay_out(&["REVISION", "HASH", "IS", "AGE", "CHANGED"], &lines, paint)
}

fn whole(revision: &StoredRevision) -> Value {
    json!({"revision": revision.number, "hash": revision.hash, "roles": revision.set.roles})
}

fn show_one(revision: &StoredRevision) -> Result<String> {
    let mut text = format!("revision {} ({})\n", revision.number, revision.hash);
    for (name, role) in &revision.set.roles {
        let _ = writeln!(text, "\n# role {name}, revision {}", role.revision);
        text.push_str(&yaml(&role.content)?);
    }
    Ok(text)
}
