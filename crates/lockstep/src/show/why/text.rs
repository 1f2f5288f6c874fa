//! The answer for people: whole, and where there is little room.

use std::fmt::Write;

use super::{Block, Why};
use crate::show::words;

/// So many names are all said; of more only so many, and how many more there are.
const MOST_NAMES: usize = 5;
const FIRST_NAMES: usize = 3;

impl Why {
    /// The answer for people.
    pub fn text(&self) -> String {
        let mut text = self.opening();
        let mut alike: Vec<Vec<&Block>> = Vec::new();
        for block in &self.blocked {
            match alike.iter_mut().find(|known| known.first().is_some_and(|first| first.is_like(block))) {
                Some(known) => known.push(block),
                None => alike.push(vec![block]),
            }
        }
        alike.iter().for_each(|blocks| write_blocks(&mut text, blocks));
        self.write_pods(&mut text);
        let count = alike.len();
        let nothing_else = (count == 1).then(|| "Nothing else is blocked.".to_owned());
        let end: Vec<String> = nothing_else.into_iter().chain(self.deadline_text.clone()).collect();
        if !end.is_empty() {
            let _ = writeln!(text, "  {}", end.join(" "));
        }
        text
    }

    /// The answer where there is little room: what it waits for, what would let that go on, what the pods say.
    pub fn short(&self) -> String {
        let mut text = self.opening();
        if let Some(advice) = self.blocked.first().and_then(|block| block.to_go_on.as_ref()) {
            let _ = writeln!(text, "  to go on: {advice}");
        }
        self.write_pods(&mut text);
        if let Some(deadline) = &self.deadline_text {
            let _ = writeln!(text, "  {deadline}");
        }
        text
    }

    fn opening(&self) -> String {
        let mut text = format!("{}\n", self.summary);
        for line in &self.lacking {
            let _ = writeln!(text, "  {line}");
        }
        text
    }

    fn write_pods(&self, text: &mut String) {
        for trouble in &self.pods {
            let _ = writeln!(text, "  {}: {}", some(trouble.pods.iter().map(String::as_str)), trouble.cause);
        }
    }
}

impl Block {
    /// The pod that could not be written, if that is what it says.
    fn pod(&self) -> Option<&str> {
        let rest = self.message.strip_prefix("create pod ").or(self.message.strip_prefix("delete pod "))?;
        rest.split_once(": ").map(|(pod, _)| pod)
    }

    /// Whether another waits for the same, be it with another pod.
    fn is_like(&self, other: &Self) -> bool {
        let message = |block: &Self| match block.pod() {
            Some(pod) => block.message.replace(pod, ""),
            None => block.message.clone(),
        };
        (&self.reason, &self.rule) == (&other.reason, &other.rule) && message(self) == message(other)
    }
}

/// The first few names, each once, and how many more there are.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    names.for_each(|name| {
        if !all.contains(&name) {
            all.push(name);
        }
    });
    if all.len() <= MOST_NAMES {
        return words::list(&all);
    }
    let more = format!("{} more", all.len() - FIRST_NAMES);
    words::list(&[&all[..FIRST_NAMES], &[more.as_str()]].concat())
}

/// Writes what waits for the same reason.
fn write_blocks(text: &mut String, blocks: &[&Block]) {
    let Some(first) = blocks.first() else { return };
    let what = some(blocks.iter().map(|block| block.what.as_str()));
    let have = if blocks.iter().all(|block| block.what == first.what) { "has" } else { "have" };
    let waited = first.waited.map(|waited| format!(" for {waited}")).unwrap_or_default();
    let _ = writeln!(text, "  {what} {have} waited{waited}: {}.", first.message.trim_end_matches('.'));
    let others = || blocks.iter().filter_map(|block| block.pod()).filter(|pod| Some(*pod) != first.pod());
    if others().next().is_some() {
        let _ = writeln!(text, "    the same of {}", some(others()));
    }
    if !first.rule.is_empty() {
        let value = first.value.as_ref().map(|value| format!(", which is {value}")).unwrap_or_default();
        let _ = writeln!(text, "    by {}{value} ({})", first.rule, first.reason);
    }
    if let Some(advice) = &first.to_go_on {
        let _ = writeln!(text, "    to go on: {advice}");
    }
}
