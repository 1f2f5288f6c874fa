//! A bar for every role: what is new, what is on its way, what is old, what is down, against what is wished for.

use ratatui::text::{Line, Span};

use super::Canvas;
use super::scene::{RoleScene, SetScene, State};
use super::text::{cut, fit, pad, span, width};
use super::theme::{Theme, sign};

/// The widest name of a role or group.
const NAME: usize = 16;
/// The widest an instance is drawn.
const WIDEST: usize = 8;

/// How many rows it can fill.
pub fn rows(set: &SetScene) -> usize {
    1 + set.roles.len()
}

/// With how many rows every role is there, if only once for all groups.
pub fn least(set: &SetScene) -> usize {
    1 + over_all_groups(set).len().min(set.roles.len())
}

pub fn lines(set: &SetScene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    if rows < 2 {
        return Vec::new();
    }
    let all = over_all_groups(set);
    let (shown, more) = match rows - 1 {
        room if set.roles.len() <= room => (&set.roles, 0),
        room if all.len() <= room => (&all, 0),
        room => (&all, all.len() - (room - 1)),
    };
    let columns = Columns::of(set, shown, canvas.width);
    let mut lines = vec![columns.head(set, canvas)];
    let mut above = None;
    for role in &shown[..shown.len() - more] {
        let place = place(set, &role.role);
        let group = group_name(set, role);
        let group = if above == Some(role.group) { String::new() } else { group };
        above = Some(role.group);
        lines.push(fit(columns.row(&group, role, place, canvas.theme), canvas.width));
    }
    if more > 0 {
        lines.push(Line::from(span(format!(" … and {more} more roles"), canvas.theme.quiet())));
    }
    lines
}

/// The place of a role among those of the set; its colour goes by it.
fn place(set: &SetScene, role: &str) -> Option<usize> {
    let mut names: Vec<&str> = Vec::new();
    for known in &set.roles {
        if !names.contains(&known.role.as_str()) {
            names.push(&known.role);
        }
    }
    names.iter().position(|name| *name == role)
}

fn group_name(set: &SetScene, role: &RoleScene) -> String {
    match role.group {
        Some(group) => format!("{}-{group}", set.name),
        None if set.over_clusters => String::new(),
        None => "all groups".to_owned(),
    }
}

/// Each role once, over all groups.
fn over_all_groups(set: &SetScene) -> Vec<RoleScene> {
    let mut all: Vec<RoleScene> = Vec::new();
    for role in &set.roles {
        let sum = match all.iter_mut().find(|sum| sum.role == role.role) {
            Some(sum) => sum,
            None => {
                all.push(RoleScene { role: role.role.clone(), ..RoleScene::default() });
                let last = all.len() - 1;
                &mut all[last]
            }
        };
        sum.wished += role.wished;
        sum.instances.extend(&role.instances);
        sum.beyond.extend(&role.beyond);
    }
    all
}

/// A number beside a bar.
type Count = fn(&RoleScene) -> usize;

/// The numbers beside the bars; their heads explain the signs, at length or, where it is narrow, in short.
const COUNTS: [(&str, &str, Count); 5] = [
    ("█ new", "  █", |role| role.count(|state| state == State::New)),
    ("▒ coming", "  ▒", |role| role.count(|state| state == State::Coming)),
    ("░ old", "  ░", |role| role.count(|state| state == State::Old)),
    ("· down", "  ·", |role| role.count(State::is_down)),
    ("wished", " of", |role| usize::try_from(role.wished).unwrap_or(usize::MAX)),
];
/// The signs that have no number of their own: both count as down.
const DOWN: &str = "! broken  × leaving";
/// A bar narrower than this wants the room of the heads.
const NARROW: usize = 20;

/// How wide each part of a row is.
struct Columns {
    group: usize,
    role: usize,
    bar: usize,
    heads: [&'static str; 5],
}

impl Columns {
    fn of(set: &SetScene, roles: &[RoleScene], total: usize) -> Self {
        let widest = |names: Vec<usize>| names.into_iter().max().unwrap_or_default().min(NAME);
        let group = widest(roles.iter().map(|role| width(&group_name(set, role))).collect());
        let role = widest(roles.iter().map(|role| width(&role.role)).collect());
        let with = |heads: [&'static str; 5]| {
            let numbers: usize = heads.iter().map(|head| width(head) + 2).sum();
            Self { group, role, bar: total.saturating_sub(group + role + numbers + 4), heads }
        };
        let long = with(COUNTS.map(|(long, _, _)| long));
        if long.bar >= NARROW { long } else { with(COUNTS.map(|(_, short, _)| short)) }
    }

    fn head(&self, set: &SetScene, canvas: Canvas) -> Line<'static> {
        let name = if set.over_clusters { "Clusters" } else { "Roles" };
        let heads: String = self.heads.iter().map(|head| format!("  {head}")).collect();
        let long = format!("{DOWN}{heads}");
        // What counts as down is explained where there is room.
        let fits = width(name) + width(&long) + 8 <= canvas.width;
        let heads = if fits { long } else { heads.trim_start().to_owned() };
        canvas.title(name, vec![span(heads, canvas.theme.quiet())])
    }

    fn row(&self, group: &str, role: &RoleScene, place: Option<usize>, theme: Theme) -> Line<'static> {
        let mut spans = vec![
            Span::raw(format!(" {} ", pad(group, self.group))),
            span(format!("{} ", pad(&cut(&role.role, self.role), self.role)), theme.role(place)),
        ];
        let bar = bar(role, self.bar, theme);
        let taken: usize = bar.iter().map(Span::width).sum();
        spans.extend(bar);
        spans.push(Span::raw(" ".repeat(self.bar.saturating_sub(taken))));
        for (head, (_, _, count)) in self.heads.iter().zip(COUNTS) {
            let count = count(role);
            let style = if count == 0 { theme.quiet() } else { theme.strong() };
            spans.push(span(format!("  {count:>width$}", width = width(head)), style));
        }
        Line::from(spans)
    }
}

/// The bar: an instance is a block of its own where there is room, else a part of a whole.
fn bar(role: &RoleScene, columns: usize, theme: Theme) -> Vec<Span<'static>> {
    let count = role.instances.len() + role.beyond.len();
    let mark = usize::from(!role.beyond.is_empty()) * 2;
    let each = columns.saturating_sub(mark) / count.max(1);
    let draw = |states: &[State], room: usize| match each {
        0 => parts(states, room, theme),
        each => blocks(states, each.min(WIDEST), theme),
    };
    let (inside, outside) = (role.instances.len(), role.beyond.len());
    let room = columns.saturating_sub(mark);
    let beyond = if outside > 0 { (room * outside / count).max(1) } else { 0 };
    let mut spans = draw(&role.instances, room.saturating_sub(beyond));
    if outside > 0 {
        let gap = if inside > 0 { "┃ " } else { " ┃" };
        spans.push(span(gap, theme.quiet()));
        spans.extend(draw(&role.beyond, beyond));
    }
    spans
}

fn blocks(states: &[State], each: usize, theme: Theme) -> Vec<Span<'static>> {
    let gap = usize::from(each > 2);
    let block = |state: &State| span(sign(*state).repeat(each - gap) + &" ".repeat(gap), theme.state(*state));
    states.iter().map(block).collect()
}

/// Many instances in few columns: each state has its share, and at least one column.
fn parts(states: &[State], columns: usize, theme: Theme) -> Vec<Span<'static>> {
    let mut sorted = states.to_vec();
    sorted.sort_unstable();
    let mut spans = Vec::new();
    let mut left = columns;
    for (at, same) in sorted.chunk_by(|a, b| a == b).enumerate() {
        let kinds_after = sorted.chunk_by(|a, b| a == b).count() - at - 1;
        let fair = columns * same.len() / sorted.len();
        let takes = if kinds_after == 0 { left } else { fair.max(1).min(left.saturating_sub(kinds_after)) };
        spans.push(span(sign(same[0]).repeat(takes), theme.state(same[0])));
        left -= takes;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(instances: &[State], beyond: &[State], columns: usize) -> String {
        let role =
            RoleScene { instances: instances.to_vec(), beyond: beyond.to_vec(), ..RoleScene::default() };
        bar(&role, columns, Theme { colour: false }).iter().map(|span| span.content.clone()).collect()
    }

    #[test]
    fn one_block_for_each_while_there_is_room() {
        use State::*;
        for (instances, beyond, columns, text) in [
            (&[New, Coming, Old][..], &[][..], 15, "████ ▒▒▒▒ ░░░░ "),
            (&[New, Missing], &[], 99, "███████ ······· "),
            (&[Leaving, Broken, Old], &[], 6, "××!!░░"),
            (&[New, Old], &[Coming], 11, "██ ░░ ┃ ▒▒ "),
            (&[New, New, New, Old], &[], 2, "█░"),
            (&[Old, New, Old, Old, Old, Old, Old, Old], &[], 4, "█░░░"),
            (&[], &[], 5, ""),
        ] {
            assert_eq!(drawn(instances, beyond, columns), text, "{instances:?} {beyond:?} in {columns}");
        }
    }
}
