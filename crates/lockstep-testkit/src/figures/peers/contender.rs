//! Who rolls the same pods, and how each is told to.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};

use super::settled::Wish;
use super::{Size, window};
use crate::cluster::{Cluster, ClusterError};
use crate::figures::OPERATOR;
use crate::figures::stage::{Shape, resource};
use crate::neighbours::leader_worker_set::{self, disaggregated_sets, leader_worker_sets};

/// The name of every object that is measured.
const NAME: &str = "model";

/// The names of the roles; an object with one role has the first.
const ROLES: [&str; 2] = ["prefill", "decode"];

/// How far the roles of our own set may be apart: as far as a tenth of each that is away lets them be.
const MAX_SKEW: &str = "10%";

/// The kind of object that tells somebody to roll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// A leader StatefulSet, and a StatefulSet of workers for each leader. One role.
    LeaderWorkerSet,
    /// A LeaderWorkerSet for each role and revision.
    DisaggregatedSet,
    /// Ours.
    LockstepSet,
}

impl Kind {
    /// All kinds whose objects change while somebody rolls.
    pub fn resources() -> [ApiResource; 3] {
        [Self::LeaderWorkerSet, Self::DisaggregatedSet, Self::LockstepSet].map(Self::resource)
    }

    fn resource(self) -> ApiResource {
        match self {
            Self::LeaderWorkerSet => leader_worker_sets(),
            Self::DisaggregatedSet => disaggregated_sets(),
            Self::LockstepSet => resource(),
        }
    }

    /// How its controller appears in the audit log.
    pub fn agent(self) -> &'static str {
        match self {
            Self::LeaderWorkerSet | Self::DisaggregatedSet => leader_worker_set::AGENT,
            Self::LockstepSet => OPERATOR,
        }
    }
}

/// Somebody who rolls pods.
#[derive(Debug, Clone, Copy)]
pub struct Contender {
    /// By what kind of object.
    pub kind: Kind,
    /// In how many roles.
    pub roles: u32,
    /// How many pods.
    pub size: Size,
}

impl Contender {
    /// Everybody with the same pods: in one role, and in two.
    pub fn all(size: Size) -> [Self; 4] {
        let contender = |kind, roles| Self { kind, roles, size };
        [
            contender(Kind::LeaderWorkerSet, 1),
            contender(Kind::LockstepSet, 1),
            contender(Kind::DisaggregatedSet, 2),
            contender(Kind::LockstepSet, 2),
        ]
    }

    /// Applies the object with this image, and waits until its pods are there and everybody is quiet.
    pub async fn roll_out(
        &self,
        cluster: &Cluster,
        namespace: &str,
        image: &str,
    ) -> Result<(), ClusterError> {
        let kind = self.kind.resource();
        let api: Api<DynamicObject> = Api::namespaced_with(cluster.client(), namespace, &kind);
        // The pods are those of the other figures.
        let ready_after = self.size.ready_after.map(|span| span.to_string());
        let ready_after = ready_after.as_deref();
        let shape = Shape { name: NAME, pods: self.size.pods(), window: 0, ready_after };
        let spec = self.spec(&shape.template(cluster.stand_in(), image));
        let object = DynamicObject::new(NAME, &kind).data(json!({"spec": spec}));
        let parameters = PatchParams::apply("lockstep-figures").force();
        let applied = api.patch(NAME, &parameters, &Patch::Apply(object)).await;
        applied.map_err(ClusterError::api(format!("apply a {}", kind.kind)))?;
        Wish { image, pods: self.size.pods() as usize }.settled(cluster, namespace).await
    }

    fn spec(&self, template: &Value) -> Value {
        let size = self.size.group_size;
        let roles = ROLES.into_iter().zip(self.size.split(self.roles));
        match self.kind {
            Kind::LeaderWorkerSet => leader_worker_set(self.size.groups, size, template),
            Kind::DisaggregatedSet => {
                let role =
                    |(name, groups)| json!({"name": name, "spec": leader_worker_set(groups, size, template)});
                json!({"roles": roles.map(role).collect::<Vec<_>>()})
            }
            Kind::LockstepSet => {
                let roles: Vec<Value> =
                    roles.map(|(name, groups)| lockstep_role(name, groups, size, template)).collect();
                let together =
                    json!({"name": "together", "roles": ROLES, "rollingUpdate": {"maxSkew": MAX_SKEW}});
                let rules = if self.roles > 1 { vec![together] } else { Vec::new() };
                json!({"roles": roles, "coordination": rules})
            }
        }
    }
}

fn leader_worker_set(groups: u32, size: u32, template: &Value) -> Value {
    json!({
        "replicas": groups,
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxUnavailable": window(groups), "maxSurge": 0},
        },
        "leaderWorkerTemplate": {"size": size, "leaderTemplate": template, "workerTemplate": template},
    })
}

fn lockstep_role(name: &str, groups: u32, size: u32, template: &Value) -> Value {
    json!({
        "name": name,
        "replicas": groups,
        "updateStrategy": {"maxUnavailable": window(groups)},
        "members": [
            {"name": "leader", "template": template},
            {"name": "worker", "count": size.saturating_sub(1), "template": template},
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups_of(value: &Value) -> u64 {
        value["replicas"].as_u64().unwrap()
    }

    #[test]
    fn everybody_is_told_to_roll_the_same_pods() {
        let size = Size { groups: 50, group_size: 4, ready_after: None };
        let template = json!({"spec": {}});
        let [lws, ours, disaggregated, ours_in_two] = Contender::all(size).map(|it| it.spec(&template));
        assert_eq!((groups_of(&lws), groups_of(&ours["roles"][0])), (50, 50));
        assert_eq!(lws["rolloutStrategy"]["rollingUpdateConfiguration"]["maxUnavailable"], 5);
        assert_eq!(ours["roles"][0]["updateStrategy"]["maxUnavailable"], 5);
        assert_eq!(
            (&lws["leaderWorkerTemplate"]["size"], &ours["roles"][0]["members"][1]["count"]),
            (&json!(4), &json!(3))
        );
        for role in 0..2 {
            let (theirs, ours) = (&disaggregated["roles"][role], &ours_in_two["roles"][role]);
            assert_eq!(theirs["name"], ours["name"]);
            assert_eq!((groups_of(&theirs["spec"]), groups_of(ours)), (25, 25));
        }
        assert_eq!(ours_in_two["coordination"][0]["roles"], json!(["prefill", "decode"]));
    }
}
