//! A set as a tree on the screen.

use lockstep_core::time::Time;

use super::columns::{Line, lay_out};
use super::tree::{Group, Instance, Mark, PodView, Role, Tree};
use super::words;
use crate::screen::Paint;

const HEADER: [&str; 7] = ["NAME", "REVISION", "READY", "STATE", "NODE", "AGE", "ROLLOUT"];

/// Draws a tree.
pub fn draw(tree: &Tree, now: Time, paint: Paint) -> String {
    let mut drawing = Drawing { tree, now, lines: Vec::new() };
    drawing.set();
    lay_out(&HEADER, &drawing.lines, paint)
}

/// The branches above a line.
#[derive(Clone, Default)]
struct Branch(String);

impl Branch {
    /// The line of a child, and the branch above its own children.
    fn child(&self, last: bool, name: &str) -> (String, Self) {
        let (corner, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        (format!("{}{corner}{name}", self.0), Self(format!("{}{below}", self.0)))
    }
}

struct Drawing<'a> {
    tree: &'a Tree,
    now: Time,
    lines: Vec<Line>,
}

impl Drawing<'_> {
    fn set(&mut self) {
        let tree = self.tree;
        let revision = match &tree.stable {
            Some(stable) if *stable != tree.update => format!("{stable} → {}", tree.update),
            _ => tree.update.clone(),
        };
        let waiting = match tree.waiting_for.as_str() {
            "" => String::new(),
            what => format!("waiting: {what}"),
        };
        let ready = format!("{}/{}", tree.ready, tree.replicas);
        let phase = if tree.phase.is_empty() { "Unseen" } else { &tree.phase };
        self.lines.push(Line {
            cells: vec![
                tree.name.clone(),
                revision,
                ready,
                phase.to_owned(),
                String::new(),
                self.age(tree.created),
                waiting,
            ],
            paint: Paint::bold,
        });
        for (i, group) in tree.groups.iter().enumerate() {
            self.group(group, i + 1 == tree.groups.len());
        }
    }

    fn group(&mut self, group: &Group, last: bool) {
        let (name, branch) = Branch::default().child(last, &format!("{}-{}", self.tree.name, group.group));
        let beyond = group.group >= self.tree.replicas;
        let rollout = match (group.in_update, beyond) {
            (true, _) => "in update",
            (false, true) => "beyond what is wished for",
            _ => "",
        };
        let mut cells = vec![String::new(); HEADER.len()];
        (cells[0], cells[6]) = (name, rollout.to_owned());
        self.lines.push(Line::plain(cells));
        for (i, role) in group.roles.iter().enumerate() {
            self.role(role, &branch, i + 1 == group.roles.len());
        }
    }

    fn role(&mut self, role: &Role, branch: &Branch, last: bool) {
        let (name, branch) = branch.child(last, &role.role);
        let mut cells = vec![String::new(); HEADER.len()];
        (cells[0], cells[2]) = (name, format!("{}/{}", role.ready(), role.replicas));
        self.lines.push(Line::plain(cells));
        for (i, instance) in role.instances.iter().enumerate() {
            self.instance(&role.role, instance, &branch, i + 1 == role.instances.len());
        }
    }

    fn instance(&mut self, role: &str, instance: &Instance, branch: &Branch, last: bool) {
        let (name, branch) = branch.child(last, &format!("{role}-{}", instance.instance));
        let ready = format!("{}/{}", instance.ready_pods(), instance.pods.len());
        let (rollout, paint) = said(instance.mark);
        let mut line = match &instance.pods[..] {
            [only] => self.pod_cells(name, only),
            pods => {
                let mut cells = vec![String::new(); HEADER.len()];
                let mut revisions: Vec<&str> = pods.iter().map(|pod| pod.revision.as_str()).collect();
                revisions.dedup();
                (cells[0], cells[1]) = (name, revisions.join(", "));
                cells
            }
        };
        line[2] = if instance.pods.is_empty() { String::new() } else { ready };
        line[6] = rollout.to_owned();
        self.lines.push(Line { cells: line, paint });
        if instance.pods.len() > 1 {
            for (i, pod) in instance.pods.iter().enumerate() {
                let (name, _) = branch.child(i + 1 == instance.pods.len(), &pod.member);
                self.lines.push(Line::plain(self.pod_cells(name, pod)));
            }
        }
    }

    fn pod_cells(&self, name: String, pod: &PodView) -> Vec<String> {
        let restarts = match pod.restarts {
            0 => String::new(),
            n => format!(" ({})", words::count(n.unsigned_abs(), "restart")),
        };
        vec![
            name,
            pod.revision.clone(),
            String::new(),
            format!("{}{restarts}", pod.state),
            pod.node.clone(),
            self.age(pod.created),
            String::new(),
        ]
    }

    fn age(&self, created: Option<Time>) -> String {
        created.map(|created| words::age(self.now.since(created))).unwrap_or_default()
    }
}

fn said(mark: Mark) -> (&'static str, fn(Paint, &str) -> String) {
    match mark {
        Mark::Settled => ("", |_, text| text.to_owned()),
        Mark::Old => ("old", |_, text| text.to_owned()),
        Mark::Updating => ("updating", Paint::warn),
        Mark::Surge => ("surge", Paint::warn),
        Mark::Missing => ("not there", Paint::bad),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::{Value, json};

    use super::*;
    use crate::input::live_set::LiveSet;
    use crate::show::tree::grow;

    fn set() -> LiveSet {
        let role = |name: &str, replicas: u32| {
            let revision = json!({"stable": "old", "update": "new"});
            json!({"name": name, "replicas": replicas, "revision": revision})
        };
        let object = json!({
            "metadata": {"name": "llama", "namespace": "ml", "creationTimestamp": "2026-01-28T12:00:00Z"},
            "spec": {},
            "status": {
                "replicas": 1, "readyReplicas": 0, "roles": [role("decode", 3), role("prefill", 1)],
                "revision": {"stable": "6f2c9", "update": "a41d0"},
                "rollout": {"phase": "Progressing", "waitingFor": "decode-1 is not available yet",
                            "groupsInUpdate": [0]},
            },
        });
        LiveSet::of(serde_json::from_value(object).unwrap()).unwrap()
    }

    fn pod(place: (&str, u32, &str, u32), revision: &str, more: Value) -> Pod {
        let (role, instance, member, index) = place;
        let mut pod = json!({
            "metadata": {
                "name": format!("llama-0-{role}-{instance}-{member}-{index}"),
                "creationTimestamp": "2026-01-31T11:59:00Z",
                "labels": {
                    "lockstep.dev/set": "llama", "lockstep.dev/group": "0", "lockstep.dev/role": role,
                    "lockstep.dev/instance": instance.to_string(), "lockstep.dev/member": member,
                    "lockstep.dev/pod": index.to_string(), "lockstep.dev/revision": revision,
                },
            },
            "spec": {"nodeName": "node-1", "containers": []},
        });
        for (key, fields) in more.as_object().unwrap() {
            for (field, value) in fields.as_object().unwrap() {
                pod[key][field] = value.clone();
            }
        }
        serde_json::from_value(pod).unwrap()
    }

    fn ready() -> Value {
        json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    }

    #[test]
    fn everything_there_is_and_what_is_missing() {
        let waiting = json!({"status": {"phase": "Pending", "containerStatuses": [{
            "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 2,
            "state": {"waiting": {"reason": "ImagePullBackOff"}},
        }]}});
        let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-31T11:59:59Z"}});
        let held = json!({"spec": {"nodeName": null, "schedulingGates": [{"name": "lockstep.dev/hold"}]}});
        let pods = [
            pod(("prefill", 0, "worker", 0), "new", held),
            pod(("prefill", 0, "leader", 0), "new", ready()),
            pod(("decode", 0, "decode", 0), "old", ready()),
            pod(("decode", 1, "decode", 0), "new", waiting),
            pod(("decode", 3, "decode", 0), "new", ready()),
            pod(("router", 0, "router", 0), "old", leaving),
        ];
        let tree = grow(&set(), &pods);
        let now = crate::input::live_set::moment("2026-01-31T12:00:00Z").unwrap();
        let expected = "\
NAME                   REVISION        READY   STATE                           NODE     AGE   ROLLOUT
llama                  6f2c9 → a41d0   0/1     Progressing                              3d    waiting: decode-1 is not available yet
└─ llama-0                                                                                    in update
   ├─ decode                           2/3
   │  ├─ decode-0      old             1/1     Ready                           node-1   60s   old
   │  ├─ decode-1      new             0/1     ImagePullBackOff (2 restarts)   node-1   60s   updating
   │  ├─ decode-2                                                                             not there
   │  └─ decode-3      new             1/1     Ready                           node-1   60s   surge
   ├─ prefill                          0/1
   │  └─ prefill-0     new             1/2                                                    updating
   │     ├─ leader-0   new                     Ready                           node-1   60s
   │     └─ worker-0   new                     Held                                     60s
   └─ router                           0/0
      └─ router-0      old             0/1     Terminating                     node-1   60s   old
";
        let found = draw(&tree, now, Paint::PLAIN);
        assert!(found == expected, "expected\n{expected}\nfound\n{found}");
    }
}
