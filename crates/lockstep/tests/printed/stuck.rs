//! Every stuck scenario of Grove's text: what is said, that nothing old is touched, and the ways out.

use lockstep_core::simulate::trace::{By, End, What};
use lockstep_kubelet::NodeGroup;
use serde_json::{Value, json};

use crate::grove::{clique, recreated, scaling_group};
use crate::manifest::{asking_for, behaving, with_tag};
use crate::row::{Deed, Row};
use crate::story::{Story, condition};

const OF_CLIQUE: &str = "/spec/template/cliques/0/updateStrategy";
const OF_GROUP: &str = "/spec/template/podCliqueScalingGroups/0/updateStrategy";
const OF_SET: &str = "/spec/updateStrategy/rollingUpdate";

/// A node on which there is no room for any surge, with something of its own for each row.
pub fn nodes() -> Vec<NodeGroup> {
    let node = NodeGroup::new("full", 1);
    // Three pods; three replicas of three pods, and two more; two replicas of seven pods, and six more.
    let room = [("example.com/clique", "3"), ("example.com/group", "11"), ("example.com/set", "20")];
    vec![room.into_iter().fold(node, |node, (resource, count)| node.with_capacity(resource, count))]
}

fn with_limits(object: &Value, path: &str, unavailable: u32, surge: u32) -> Value {
    let mut object = object.clone();
    *object.pointer_mut(path).expect(path) = json!({"maxUnavailable": unavailable, "maxSurge": surge});
    object
}

/// What an update waits for.
fn waits_for(status: &Value) -> &str {
    condition(status, "UpdateInProgress", "True").unwrap_or_default()
}

/// Before the way out, nothing that was old went.
fn nothing_old_was_touched(story: &Story) {
    let old = story.events.iter().find_map(|event| match &event.what {
        What::Create { set_revision, .. } => Some(*set_revision),
        _ => None,
    });
    let mut standing = std::collections::BTreeMap::new();
    for event in &story.events[..story.changed] {
        match &event.what {
            What::Create { of, set_revision, .. } => drop(standing.insert(of.clone(), *set_revision)),
            What::Delete { of, by: By::Engine, .. } => assert_ne!(standing.get(of).copied(), old, "{of}"),
            _ => {}
        }
    }
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        no_room("no room for the surge of a clique", clique(), OF_CLIQUE, "example.com/clique"),
        no_room("no room for the surge of a scaling group", scaling_group(3), OF_GROUP, "example.com/group"),
        no_room("no room for a surge replica", recreated(2, 0, 1), OF_SET, "example.com/set"),
    ];
    for (name, back, object) in [
        ("a surge pod that is never ready", "a surge pod that is never ready, taken back", clique()),
        (
            "a surge replica of a scaling group that is never ready",
            "a surge replica of a scaling group that is never ready, taken back",
            scaling_group(3),
        ),
        (
            "a surge replica below its minimum",
            "a surge replica below its minimum, taken back",
            recreated(2, 0, 1),
        ),
    ] {
        rows.push(never_ready(name, &object, with_tag(&object, "good")));
        rows.push(never_ready(back, &object, object.clone()));
    }
    rows.push(tried_again());
    rows.push(crashing());
    rows.push(unhealthy());
    rows.push(in_the_end().long());
    rows
}

/// "Surge pod cannot be scheduled", "Surge replica cannot be scheduled", "Gang scheduling amplification", "Surge replica
/// is unscheduled". To reduce `maxSurge` to 0 alone leaves nothing that could move, which is said; with
/// `maxUnavailable: 1` it goes on.
fn no_room(name: &'static str, object: Value, path: &'static str, resource: &str) -> Row {
    let object = asking_for(&object, resource);
    let new = with_tag(&object, "2");
    let deeds = vec![
        Deed::Apply(object, End::Complete),
        Deed::Begin(new.clone()),
        Deed::Until("it says that the surge finds no node", |status| {
            let said = waits_for(status);
            said.contains("surge") && (said.contains("no node") || said.contains("to find nodes"))
        }),
        Deed::Refused(with_limits(&new, path, 0, 0), &["maxUnavailable: 1"]),
        Deed::Apply(with_limits(&new, path, 1, 0), End::Complete),
    ];
    Row::new(name, deeds, |story| {
        let moved =
            story.events[..story.changed].iter().any(|event| matches!(event.what, What::Delete { .. }));
        assert!(!moved, "nothing goes while the surge waits");
    })
}

/// "Surge pod scheduled but not ready", "Surge replica scheduled but not ready", "Surge replica has MinAvailable
/// breached": another image, or the old one, takes the surge's place at no cost.
fn never_ready(name: &'static str, object: &Value, out: Value) -> Row {
    let bad = behaving(&with_tag(object, "bad"), None, "image", "missing");
    let deeds = vec![
        Deed::Apply(object.clone(), End::Complete),
        Deed::Begin(bad),
        Deed::Until("it says that the surge is not available", |status| {
            let said = waits_for(status);
            said.contains("surge") && said.contains("available")
        }),
        Deed::Apply(out, End::Complete),
    ];
    Row::new(name, deeds, nothing_old_was_touched)
}

/// "deleting the stuck surge replica": it is tried again, at once and then with back-off, which is said.
fn tried_again() -> Row {
    let object = clique();
    let bad = behaving(&with_tag(&object, "bad"), None, "image", "missing");
    let stuck = |status: &Value| waits_for(status).contains("surge");
    let deeds = vec![
        Deed::Apply(object.clone(), End::Complete),
        Deed::Begin(bad),
        Deed::Until("the surge waits", stuck),
        Deed::Delete("simple-0-a-3"),
        Deed::Until("the surge waits again", stuck),
        Deed::Remove("simple-0-a-3"),
        Deed::Until("it says that it backs off", |status| {
            waits_for(status).contains("was deleted 2 times in a row and waits before it is made anew")
        }),
        Deed::Apply(with_tag(&object, "good"), End::Complete),
    ];
    Row::new("a surge that somebody deletes", deeds, |story| {
        nothing_old_was_touched(story);
        let made = story.events[..story.changed].iter().filter(|event| match &event.what {
            What::Create { of, .. } => of.instance == 3,
            _ => false,
        });
        assert_eq!(made.count(), 2, "it came back at once, and then not so soon");
        let told = |(reason, note): &(String, String)| {
            reason == "RestartBackoff" && note.contains("was deleted 2 times in a row")
        };
        assert!(story.told.iter().any(told), "{:#?}", story.told);
    })
}

/// "fail to become ready due to crash loops".
fn crashing() -> Row {
    let object = recreated(2, 0, 1);
    let bad = behaving(&with_tag(&object, "bad"), None, "crash-after", "0s");
    let deeds = vec![
        Deed::Apply(object.clone(), End::Complete),
        Deed::Begin(bad),
        Deed::Until("it says that the surge is not available", |status| waits_for(status).contains("surge")),
        Deed::Apply(with_tag(&object, "good"), End::Complete),
    ];
    Row::new("a surge replica that crashes", deeds, nothing_old_was_touched)
}

/// "Existing replicas are unhealthy": what does not work is moved at no cost, so that `maxUnavailable: 0` is no corner.
fn unhealthy() -> Row {
    let object = recreated(2, 0, 1);
    let never = behaving(&object, None, "image", "missing");
    let deeds = vec![
        Deed::Begin(never),
        Deed::Until("nothing is available", |status| {
            status["replicas"] == 2 && status["availableReplicas"] == 0
        }),
        Deed::Apply(with_tag(&object, "good"), End::Complete),
    ];
    Row::new("replicas that never worked", deeds, |_| {})
}

/// "Users are responsible for identifying when a rolling update […] is stuck": after ten minutes it is said so itself.
fn in_the_end() -> Row {
    let bad = behaving(&with_tag(&clique(), "bad"), None, "image", "missing");
    let deeds = vec![
        Deed::Apply(clique(), End::Complete),
        Deed::Apply(bad, End::Stuck),
        Deed::Until("it is said to be stuck", |status| {
            let all = status["conditions"].as_array().into_iter().flatten();
            let stuck = |it: &&Value| it["reason"] == "ProgressDeadlineExceeded" && it["status"] == "True";
            all.into_iter().any(|it| stuck(&it))
                && waits_for(status).contains("surge a-3 is not available yet")
        }),
    ];
    Row::new("a surge that is given up on", deeds, |story| {
        let told = |(reason, note): &(String, String)| reason == "Stalled" && note.contains("surge a-3");
        assert!(story.told.iter().any(told), "{:#?}", story.told);
        assert!(story.deleted().is_empty());
    })
}
