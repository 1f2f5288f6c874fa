//! What is on the screen, at several sizes. `UPDATE_EXPECTED=1 cargo test -p lockstep` writes it anew.

use std::path::PathBuf;

use lockstep_core::time::Millis;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::draw;
use super::scene::{
    EventScene, NodeScene, PodScene, RoleScene, RuleScene, Said, Scene, SetScene, State, Tone,
};
use super::theme::Theme;

use State::{Broken, Coming, Leaving, Missing, New, Old};

const WHY: &str = "\
Waiting: chat-1: step 2/3: pause, until its time is over or it is promoted (3s).
  chat-1/decode-0 and chat-1/prefill-3 have waited for 3s: step 2/3: pause, until its time is over or it is promoted.
    by coordination[canary].steps[1] (PauseStep)
    to go on: it goes on by itself in 3s, or now by `lockstep promote chat -g 1 -n default`
  No deadline runs while it waits on purpose.
";

const WHY_SHORT: &str = "\
Waiting: chat-1: step 2/3: pause, until its time is over or it is promoted (3s).
  to go on: it goes on by itself in 3s, or now by `lockstep promote chat -g 1 -n default`
  No deadline runs while it waits on purpose.
";

const STALLED: &str = "\
chat is stalled: nothing was achieved before the deadline. Waiting: chat-1: step 1/3: decode 0 of 1 updated and ready (36s).
  to go on: it has had its time: `lockstep get chat -n default` shows the pods; `lockstep undo chat -n default` or \
`lockstep abort` goes back, `lockstep retry` gives it more
  chat-1-decode-1: ErrImagePull: failed to pull image: not found
  The deadline passed 6s ago. `lockstep retry chat -n default` gives it another.
";

fn role(group: u32, name: &str, instances: &[State], beyond: &[State]) -> RoleScene {
    let wished = u32::try_from(instances.len()).unwrap();
    let (instances, beyond) = (instances.to_vec(), beyond.to_vec());
    RoleScene { group: Some(group), role: name.to_owned(), wished, instances, beyond }
}

fn node(name: &str, state: &str, tone: Tone, pods: &[(Option<usize>, char, State)]) -> NodeScene {
    let pods = pods.iter().map(|&(role, letter, state)| PodScene { role, letter, state }).collect();
    NodeScene { name: name.to_owned(), state: state.to_owned(), tone, gpus: Some((6, 8)), pods }
}

fn set() -> SetScene {
    let rule = |rule: &str, step, text: &str| RuleScene {
        rule: rule.to_owned(),
        step,
        text: text.to_owned(),
        at_rest: false,
    };
    SetScene {
        name: "chat".to_owned(),
        namespace: "default".to_owned(),
        phase: "Progressing".to_owned(),
        tone: Tone::Warn,
        since: Some(Millis::seconds(5)),
        names: [
            "registry.example/chat:v1 → v2  (fe63e7f4b8 → 7099929327)",
            "registry.example/chat:v1 → v2",
            "chat:v1 → v2",
            "fe63e7f4b8 → 7099929327",
        ]
        .map(str::to_owned)
        .to_vec(),
        groups: 2,
        groups_ready: 1,
        groups_updated: 0,
        in_update: vec![1],
        goes_back: false,
        conditions: [("not Ready", Tone::Quiet), ("Reconciling", Tone::Warn)]
            .map(|(name, tone)| (name.to_owned(), tone))
            .to_vec(),
        roles: vec![
            role(0, "prefill", &[Old, Old, Broken, Missing], &[]),
            role(0, "decode", &[Old, Old], &[]),
            role(1, "prefill", &[Old, Leaving, Coming, New], &[Coming]),
            role(1, "decode", &[Old, New], &[]),
        ],
        rules: vec![
            rule("canary in chat-1", Some((2, 3)), "step 2/3: pause"),
            rule("together in chat-1", None, "skew 25.0%, allowed 50%"),
        ],
        why: WHY.to_owned(),
        why_short: WHY_SHORT.to_owned(),
        over_clusters: false,
    }
}

fn scene() -> Scene {
    let (p, d, other) = (Some(0), Some(1), None);
    let event = |at, tone, text: &str| EventScene { at: Millis::seconds(at), tone, text: text.to_owned() };
    Scene {
        elapsed: Millis::seconds(64),
        sets: vec!["chat".to_owned()],
        chosen: 0,
        set: Some(set()),
        nodes: vec![
            node("node-0", "Ready", Tone::Good, &[(p, 'p', Old), (p, 'p', Old), (d, 'd', New)]),
            node(
                "node-1",
                "Ready, cordoned",
                Tone::Warn,
                &[(p, 'p', Leaving), (d, 'd', Old), (other, 'w', New)],
            ),
            node("node-2", "NotReady", Tone::Bad, &[(p, 'p', Broken), (d, 'd', Old)]),
            NodeScene { gpus: None, ..node("no node", "waiting", Tone::Warn, &[(p, 'p', Coming)]) },
        ],
        events: vec![
            event(2, Tone::Good, "chat: everything is at fe63e7f4b8 and available"),
            event(59, Tone::Plain, "prefill and decode of chat: rolls to registry.example/chat:v2"),
            event(60, Tone::Plain, "chat: rolls from fe63e7f4b8 to 7099929327"),
            event(61, Tone::Bad, "node-2 is not ready"),
            event(62, Tone::Plain, "chat: group 1, canary: step 2/3: pause"),
        ],
        said: Some(Said {
            tone: Tone::Good,
            text: "prefill and decode of chat: rolls to registry.example/chat:v2".to_owned(),
            command: Some(format!(
                "kubectl patch lss chat -n default --type=json -p '[{}]'",
                "x".repeat(200)
            )),
            is_old: false,
        }),
        access: "export KUBECONFIG=/run/up/kubeconfig; kubectl get lss,pods -A".to_owned(),
        help: false,
    }
}

/// A rollout that stands still, of which more can be said than the screen takes.
fn stalled() -> Scene {
    let mut scene = scene();
    let set = scene.set.as_mut().unwrap();
    (set.phase, set.tone, set.why_short) = ("Stalled".to_owned(), Tone::Bad, STALLED.to_owned());
    set.why = format!("{STALLED}{WHY}{WHY}");
    scene
}

/// A set of eighty groups of two roles on forty nodes.
fn large() -> Scene {
    let mut scene = scene();
    let set = scene.set.as_mut().unwrap();
    set.name = "a-name-that-is-much-too-long-for-a-column".to_owned();
    set.roles = (0..80)
        .flat_map(|group| {
            let state = if group < 20 { Old } else { New };
            [
                role(group, "prefill", &[state; 3], &[]),
                role(group, "模型服务-decode-worker", &[state, New], &[]),
            ]
        })
        .collect();
    scene.nodes = (0..40)
        .map(|n| {
            node(
                &format!("ip-10-0-0-{n}.eu.compute.internal"),
                "Ready",
                Tone::Good,
                &[(Some(0), 'p', New); 90],
            )
        })
        .collect();
    scene.sets = vec!["one".to_owned(), "two".to_owned(), "three".to_owned()];
    scene
}

fn drawn(scene: &Scene, width: u16, height: u16, colour: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, scene, Theme { colour })).unwrap();
    terminal
}

/// The screen as text, without what is blank at the end of lines.
fn text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide sign covers the cell after it.
            x += u16::try_from(super::text::width(symbol).max(1)).unwrap();
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn check(name: &str, scene: &Scene, width: u16, height: u16, colour: bool) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/expected/view-{name}.txt"));
    let now = text(&drawn(scene, width, height, colour));
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(now, expected, "{}", path.display());
}

#[test]
fn on_a_small_screen() {
    check("80x24", &scene(), 80, 24, true);
}

/// The same in one line, however it is broken into lines.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What matters is there whole: which set and how it is, every role, what is waited for and what to do about it, every
/// node, the last event, and the keys.
#[test]
fn nothing_that_matters_is_lost_on_80x24() {
    let mut promoted = scene();
    let said = "lockstepset \"chat\" promoted past coordination[canary].steps[1], in all groups, also those still to come";
    promoted.said = Some(Said {
        tone: Tone::Good,
        text: said.to_owned(),
        command: Some("lockstep promote chat -n default".to_owned()),
        is_old: false,
    });
    promoted.events.push(EventScene { at: Millis::seconds(63), tone: Tone::Good, text: said.to_owned() });
    for (what, scene, phase) in [
        ("a pause", scene(), "Progressing"),
        ("a stall", stalled(), "Stalled"),
        ("a promotion", promoted, "Progressing"),
    ] {
        let screen = flat(&text(&drawn(&scene, 80, 24, true)));
        let set = scene.set.as_ref().unwrap();
        let title = format!("chat in default {phase} for 0:05 registry.example/chat:v1 → v2 up 1:04");
        let numbers = "2 groups: 0 updated, 1 ready, in update: 1 not Ready Reconciling".to_owned();
        let keys = "r roll b bad n node p pause P promote u undo a abort s scale ? help q quit".to_owned();
        let event = scene.events.last().unwrap().text.clone();
        let access = "export KUBECONFIG=/run/up/kubeconfig; kubectl get lss,pods -A".to_owned();
        for part in [title, numbers, flat(&set.why_short), event, access, keys] {
            assert!(
                screen.contains(&part),
                "{what}: {part:?} is not on\n{}",
                text(&drawn(&scene, 80, 24, true))
            );
        }
        for name in ["prefill", "decode", "node-0", "node-1", "node-2", "no node"] {
            assert!(screen.contains(name), "{what}: {name}");
        }
    }
    check("80x24-stalled", &stalled(), 80, 24, true);
}

#[test]
fn a_name_is_as_long_as_there_is_room() {
    let title = |width: u16| text(&drawn(&scene(), width, 24, true)).lines().next().unwrap().to_owned();
    for (width, name) in [
        (120, "  registry.example/chat:v1 → v2  (fe63e7f4b8 → 7099929327) "),
        (80, "  registry.example/chat:v1 → v2 "),
        (64, "  chat:v1 → v2 "),
    ] {
        assert!(title(width).contains(name), "{}", title(width));
    }
}

/// Clusters say what they wait for, whole.
#[test]
fn over_clusters() {
    let bar = |name: &str, states: &[State]| RoleScene { group: None, ..role(0, name, states, &[]) };
    let rule = |name: &str, text: &str| RuleScene {
        rule: name.to_owned(),
        text: text.to_owned(),
        ..RuleScene::default()
    };
    let waits = "granted 0+0, lease 14/14, waits: may not roll yet: what may be unavailable or surged is in use in member1";
    let set = SetScene {
        name: "web".to_owned(),
        roles: vec![
            bar("member1", &[New, Coming, Leaving, Old]),
            bar("member2", &[Old, Old, Broken, Missing]),
        ],
        rules: vec![rule("member1", "granted 1+0, lease 15/15"), rule("member2", waits)],
        why: "Waiting: member1: 1 of its 4 new pods is not available yet".to_owned(),
        why_short: "Waiting: member1: 1 of its 4 new pods is not available yet".to_owned(),
        over_clusters: true,
        in_update: Vec::new(),
        ..set()
    };
    let scene = Scene { set: Some(set), nodes: Vec::new(), ..scene() };
    let screen = text(&drawn(&scene, 80, 24, true));
    assert!(flat(&screen).contains(waits), "{screen}");
    check("over-clusters", &scene, 80, 24, true);
}

#[test]
fn on_a_tiny_screen() {
    check("60x16", &scene(), 60, 16, true);
}

#[test]
fn on_a_large_screen() {
    check("120x40", &scene(), 120, 40, true);
}

#[test]
fn without_colours() {
    let scene = scene();
    check("no-colour", &scene, 80, 24, false);
    let terminal = drawn(&scene, 120, 40, false);
    for cell in terminal.backend().buffer().content() {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{:?}", cell.symbol());
    }
}

#[test]
fn a_set_that_is_much_larger_than_the_screen() {
    check("large", &large(), 80, 24, true);
}

#[test]
fn the_help() {
    check("help", &Scene { help: true, ..scene() }, 80, 24, true);
}

#[test]
fn before_there_is_a_set() {
    check("no-set", &Scene { set: None, sets: Vec::new(), said: None, ..scene() }, 80, 24, true);
}

#[test]
fn colours_say_the_same_as_signs() {
    let terminal = drawn(&scene(), 80, 24, true);
    let buffer = terminal.backend().buffer();
    let colour_of = |sign: &str| {
        let found: Vec<Color> = (3..7)
            .flat_map(|y| (0..40).map(move |x| (x, y)))
            .filter(|&at| buffer[at].symbol() == sign)
            .map(|at| buffer[at].fg)
            .collect();
        assert!(!found.is_empty() && found.iter().all(|colour| *colour == found[0]), "{sign}: {found:?}");
        found[0]
    };
    assert_eq!(
        ["█", "▒", "░", "×", "!", "·"].map(colour_of),
        [Color::Green, Color::Yellow, Color::Blue, Color::Red, Color::Red, Color::Red]
    );
}

/// Whatever the size, nothing panics, and no line is longer than the screen.
#[test]
fn at_any_size() {
    for scene in [scene(), large(), Scene::default(), Scene { help: true, ..scene() }] {
        for width in [1, 7, 39, 40, 41, 60, 80, 119, 250] {
            for height in [1, 5, 9, 10, 11, 16, 24, 60] {
                let terminal = drawn(&scene, width, height, true);
                assert_eq!(terminal.backend().buffer().area.width, width);
            }
        }
    }
}
