//! What is asked, and what is answered by whom.

use serde_json::{Value, json};

use super::side::Keeper;

/// What somebody wants to do to a pod, by its number.
#[derive(Debug, Clone, Copy)]
pub enum Deed {
    Evict(u32),
    Delete(u32),
    /// Changes the image in place.
    Update(u32),
}

/// What is expected of each.
#[derive(Debug, Clone)]
pub struct Want<T> {
    kruise: T,
    ours: T,
}

impl<T> Want<T> {
    pub fn of(&self, keeper: Keeper) -> &T {
        match keeper {
            Keeper::Kruise => &self.kruise,
            Keeper::Ours => &self.ours,
        }
    }
}

/// What a budget shows before anything is done, and how each deed is answered: `+` or the code of the refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Total, desired, available, allowed.
    pub figures: [u64; 4],
    pub answers: Vec<String>,
}

/// Pods of one ReplicaSet, and a budget.
pub struct Case {
    pub name: &'static str,
    pub spec: Value,
    pub annotations: Value,
    /// What the ReplicaSet asks for, and how many pods there are; none has an owner if nothing is asked for.
    pub replicas: Option<u32>,
    pub pods: u32,
    pub unready: &'static [u32],
    pub opted_out: &'static [u32],
    pub labelled: &'static [u32],
    pub deeds: Vec<Deed>,
    pub want: Want<Outcome>,
}

/// A budget, and one that is there before.
pub struct Object {
    pub name: &'static str,
    pub before: Option<Value>,
    pub spec: Value,
    pub annotations: Value,
    pub want: Want<bool>,
}

/// Both figures, and for each deed whether it is admitted; Kruise refuses with 403, we with 429.
fn outcome(keeper: Keeper, figures: [u64; 4], answers: &str) -> Outcome {
    let refused = match keeper {
        Keeper::Kruise => "403",
        Keeper::Ours => "429",
    };
    let answers = answers.chars().map(|it| if it == '+' { "+".to_owned() } else { refused.to_owned() });
    Outcome { figures, answers: answers.collect() }
}

fn case(name: &'static str, limit: Value, pods: u32) -> Case {
    let mut spec = json!({"selector": {"matchLabels": {"app": "web"}}});
    for (field, value) in limit.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    Case {
        name,
        spec,
        annotations: json!({}),
        replicas: Some(pods),
        pods,
        unready: &[],
        opted_out: &[],
        labelled: &[],
        deeds: Vec::new(),
        want: both([0; 4], ""),
    }
}

fn both(figures: [u64; 4], answers: &str) -> Want<Outcome> {
    differ((figures, answers), (figures, answers))
}

fn differ(kruise: ([u64; 4], &str), ours: ([u64; 4], &str)) -> Want<Outcome> {
    Want { kruise: outcome(Keeper::Kruise, kruise.0, kruise.1), ours: outcome(Keeper::Ours, ours.0, ours.1) }
}

use Deed::{Delete, Evict, Update};

/// What both define, then what only one of them does.
pub fn cases() -> Vec<Case> {
    let mut cases = common();
    cases.extend(different());
    cases
}

fn common() -> Vec<Case> {
    let one = || json!({"maxUnavailable": 1});
    let none = || json!({"maxUnavailable": 0});
    let words = |words: &str| json!({"kruise.io/pub-protect-operations": words});
    let mut below = case("a workload", one(), 3);
    below.spec = json!({
        "targetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}, "maxUnavailable": 1,
    });
    vec![
        Case {
            deeds: vec![Evict(0), Evict(1), Delete(2)],
            want: both([3, 2, 3, 1], "+--"),
            ..case("a number", one(), 3)
        },
        Case {
            deeds: vec![Delete(0), Evict(1), Delete(2), Evict(3), Delete(4)],
            want: both([10, 7, 10, 3], "+++--"),
            ..case("a percentage", json!({"maxUnavailable": "30%"}), 10)
        },
        Case {
            deeds: vec![Evict(0), Evict(1), Evict(2)],
            want: both([15, 13, 15, 2], "++-"),
            ..case("a percentage, rounded up", json!({"maxUnavailable": "10%"}), 15)
        },
        Case {
            deeds: vec![Delete(0), Evict(1)],
            want: both([3, 2, 3, 1], "+-"),
            ..case("minAvailable", json!({"minAvailable": 2}), 3)
        },
        Case {
            deeds: vec![Evict(0), Delete(1), Evict(2)],
            want: both([5, 3, 5, 2], "++-"),
            ..case("minAvailable in percent, rounded up", json!({"minAvailable": "50%"}), 5)
        },
        Case {
            deeds: vec![Evict(0), Delete(1)],
            want: both([3, 5, 3, 0], "--"),
            ..case("more than there are", json!({"minAvailable": 5}), 3)
        },
        Case {
            deeds: vec![Evict(0), Delete(1), Evict(2)],
            want: both([3, 0, 3, 3], "+++"),
            ..case("everything", json!({"maxUnavailable": "100%"}), 3)
        },
        Case {
            unready: &[0],
            deeds: vec![Evict(1), Delete(2), Evict(0), Delete(1)],
            want: both([3, 2, 2, 0], "--+-"),
            ..case("a pod that is not ready", one(), 3)
        },
        Case {
            opted_out: &[0],
            deeds: vec![Evict(1), Delete(0), Delete(1)],
            want: both([3, 3, 3, 0], "-+-"),
            ..case("a pod that opted out", none(), 3)
        },
        Case { deeds: vec![Evict(0), Delete(1)], want: both([3, 2, 3, 1], "+-"), ..below },
        Case {
            replicas: Some(3),
            deeds: vec![Evict(0), Delete(1), Evict(2), Delete(3)],
            want: both([3, 2, 5, 3], "+++-"),
            ..case("more pods than asked for", one(), 5)
        },
        Case {
            replicas: Some(5),
            deeds: vec![Evict(0)],
            want: both([5, 4, 3, 0], "-"),
            ..case("fewer pods than asked for", one(), 3)
        },
        Case {
            annotations: words("DELETE"),
            deeds: vec![Delete(0), Evict(1), Update(2)],
            want: both([3, 3, 3, 0], "-++"),
            ..case("deletes only", none(), 3)
        },
        Case {
            annotations: words("EVICT"),
            deeds: vec![Evict(0), Delete(1), Update(2)],
            want: both([3, 3, 3, 0], "-++"),
            ..case("evictions only", none(), 3)
        },
        Case {
            annotations: words("UPDATE"),
            deeds: vec![Update(0), Delete(1), Evict(2)],
            want: both([3, 3, 3, 0], "-++"),
            ..case("updates only", none(), 3)
        },
        Case {
            annotations: json!({"pub.kruise.io/protect-total-replicas": "5"}),
            deeds: vec![Evict(0), Delete(1)],
            want: both([5, 4, 3, 0], "--"),
            ..case("a total that is given", one(), 3)
        },
        Case {
            annotations: json!({"pub.kruise.io/protect-total-replicas": "2"}),
            deeds: vec![Evict(0), Delete(1), Evict(2)],
            want: both([2, 1, 3, 2], "++-"),
            ..case("a smaller total that is given", one(), 3)
        },
    ]
}

fn different() -> Vec<Case> {
    let one = || json!({"maxUnavailable": 1});
    vec![
        Case {
            replicas: None,
            deeds: vec![Evict(0), Delete(1)],
            want: differ(([0, 0, 3, 3], "++"), ([3, 3, 3, 0], "--")),
            ..case("pods that nobody owns", json!({"maxUnavailable": 0}), 3)
        },
        Case {
            deeds: vec![Update(0), Evict(1)],
            want: differ(([3, 3, 3, 0], "--"), ([3, 3, 3, 0], "+-")),
            ..case("updates, if nothing is said", json!({"maxUnavailable": 0}), 3)
        },
        Case {
            labelled: &[0],
            deeds: vec![Evict(1), Evict(0)],
            want: differ(([3, 2, 2, 0], "-+"), ([3, 2, 3, 1], "+-")),
            ..case("a pod that is called unavailable by a label", one(), 3)
        },
    ]
}

/// Budgets that one of the two takes or refuses.
pub fn objects() -> Vec<Object> {
    let pods = json!({"matchLabels": {"app": "web"}});
    let others = json!({"matchLabels": {"app": "db"}});
    let limit = |selector: &Value| json!({"selector": selector, "maxUnavailable": 1});
    let want = |kruise, ours| Want { kruise, ours };
    let object = |name, spec, want| Object { name, before: None, spec, annotations: json!({}), want };
    let target = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"});
    let none = json!({});
    vec![
        object("one limit", limit(&pods), want(true, true)),
        object("no pods", json!({"maxUnavailable": 1}), want(false, false)),
        object("no limit", json!({"selector": pods}), want(false, false)),
        object("more than all", json!({"selector": pods, "maxUnavailable": "101%"}), want(false, false)),
        object("less than none", json!({"selector": pods, "minAvailable": -1}), want(false, false)),
        object(
            "pods said twice",
            json!({"selector": pods, "targetRef": target, "maxUnavailable": 1}),
            want(false, false),
        ),
        object(
            "both limits",
            json!({"selector": pods, "maxUnavailable": 1, "minAvailable": 1}),
            want(false, true),
        ),
        object("every pod", limit(&none), want(false, true)),
        Object {
            before: Some(limit(&others)),
            ..object("other pods than before", limit(&pods), want(false, true))
        },
        Object {
            annotations: json!({"kruise.io/pub-protect-operations": "DELETE,MOVE"}),
            ..object("a word nobody knows", limit(&pods), want(false, true))
        },
    ]
}
