//! Rows of the tables over one level: units as letters, moves as short text.

use lockstep_core::model::Order;
use lockstep_core::number::Limits;
use lockstep_core::roll::{Assigned, Hold, Moves, Pace, Roll, roll};
use lockstep_core::time::{Millis, Time};
use lockstep_core::unit::{At, Standing, Unit};

const NOW: Time = Time(1_000_000);

/// A level with a stable revision `A` and a target `B`.
pub fn level(desired: u32, unavailable: u32, surge: u32) -> Roll {
    Roll {
        desired,
        limits: Limits { unavailable, surge },
        partition: 0,
        order: Order::Descending,
        ceiling: None,
        reached: 0,
        pace: Pace::Go,
        has_old: true,
        unproven: true,
        min_ready: Millis(0),
        now: NOW,
    }
}

/// One letter an ordinal: `A` old, `B` new, `C` another; small: not available for long. `b` is starting. `.`
/// gone, `-` on its way out, `f` old and flapping, `g` old and held by our gate, `u` old without a node, `n`
/// new without a node, `m` mixed.
pub fn units(letters: &str) -> Vec<Unit> {
    letters.chars().zip(0..).filter_map(|(letter, ordinal)| unit(letter, ordinal)).collect()
}

fn unit(letter: char, ordinal: u32) -> Option<Unit> {
    let at = match letter {
        '.' => return None,
        'B' | 'b' | 'n' => At::Target,
        'C' | 'c' => At::Other,
        'm' => At::Mixed,
        _ => At::Old,
    };
    let available = letter.is_ascii_uppercase();
    Some(Unit {
        ordinal,
        standing: if letter == '-' { Standing::Terminating } else { Standing::Present },
        at,
        ready: available,
        available,
        stably_broken: "acun".contains(letter),
        held: letter == 'g',
        staged: false,
        unscheduled: "gun".contains(letter),
        serves: false,
        created: Time(0),
    })
}

/// `-3` removed on the account, `x3` removed free, `+3B` and `+3A` returns new or old, `+4s` surge.
pub fn moves(ask: &Roll, letters: &str) -> String {
    text(&roll(ask, &units(letters), &mut |_| true))
}

pub fn text(moves: &Moves) -> String {
    let removed = moves.remove.iter().map(|r| format!("{}{}", if r.paid { '-' } else { 'x' }, r.ordinal));
    let letter = |assigned| if assigned == Assigned::Target { 'B' } else { 'A' };
    let returned = moves.recover.iter().map(|(ordinal, to)| format!("+{ordinal}{}", letter(*to)));
    let surge = moves.surge.iter().map(|ordinal| format!("+{ordinal}s"));
    removed.chain(returned).chain(surge).collect::<Vec<_>>().join(" ")
}

pub fn holds(ask: &Roll, letters: &str) -> Vec<Hold> {
    roll(ask, &units(letters), &mut |_| true).held.iter().map(|held| held.by).collect()
}

/// Compares every row of a table and shows all that differ.
pub fn table(rows: &[(&str, Roll, &str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(why, ask, letters, expected)| (why, letters, expected, moves(ask, letters)))
        .filter(|(_, _, expected, found)| **expected != found)
        .map(|(why, letters, expected, found)| format!("{why}: {letters} -> {found:?}, not {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
