//! Names, labels and environment that routers and start scripts of these groups know.

use std::collections::BTreeMap;

use lockstep_api::Identity;

/// What a pod is called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// One pod to an instance, called like it.
    Standalone,
    /// A leader and its workers, numbered.
    Numbered,
    /// A leader called like the instance, its workers numbered: the way of LeaderWorkerSets.
    LeaderWorkerSet,
    /// Several kinds of pods.
    Components,
}

/// The prefix of today's labels and annotations, and that of v1alpha1.
pub(crate) const PREFIX: &str = "rbg.workloads.x-k8s.io/";
pub(crate) const OLD_PREFIX: &str = "rolebasedgroup.workloads.x-k8s.io/";

/// The names of a group: alone, or one of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names {
    /// Whether the groups are those of a RoleBasedGroupSet.
    pub of_set: bool,
}

impl Names {
    /// The template of the group's name.
    pub fn group(self) -> &'static str {
        if self.of_set { "{set}-{group}" } else { "{set}" }
    }

    /// The template of an instance's name.
    fn instance(self) -> String {
        format!("{}-{{role}}-{{instance}}", self.group())
    }

    /// The template of a role's service.
    pub fn service(self) -> String {
        format!("s-{}-{{role}}", self.group())
    }

    /// What all pods have.
    pub fn of_all(self) -> Identity {
        let group = self.group();
        let mut labels = map(&[
            ("group-name", group),
            ("group-uid", "{uid}"),
            ("role-name", "{role}"),
            ("role-instance-name", &self.instance()),
            ("role-instance-index", "{instance}"),
            ("component-name", "{member}"),
            ("component-id", "{pod}"),
            ("role-revision", "{revision}"),
        ]);
        // Services in the manifests of v1alpha1 select by these.
        labels.insert(format!("{OLD_PREFIX}name"), group.to_owned());
        labels.insert(format!("{OLD_PREFIX}role"), "{role}".to_owned());
        if self.of_set {
            labels.extend(map(&[("groupset-name", "{set}"), ("groupset-index", "{group}")]));
            labels.insert("rolebasedgroupset.workloads.x-k8s.io/name".to_owned(), "{set}".to_owned());
            labels.insert("rolebasedgroupset.workloads.x-k8s.io/rbg-index".to_owned(), "{group}".to_owned());
        }
        let env = environment(&[
            ("RBG_GROUP_NAME", group),
            ("RBG_ROLE_NAME", "{role}"),
            ("RBG_ROLE_INDEX", "{instance}"),
            ("RBG_ROLE_INSTANCE_NAME", &self.instance()),
            ("RBG_COMPONENT_NAME", "{member}"),
            ("RBG_COMPONENT_INDEX", "{pod}"),
        ]);
        Identity { subdomain: Some(self.service()), labels, env, ..Identity::default() }
    }

    /// What pods of a role have besides.
    pub fn of_role(self, naming: Naming) -> Identity {
        let instance = self.instance();
        match naming {
            Naming::Standalone => Identity {
                pod_name: Some(instance),
                labels: map(&[("component-index", "{pod}"), ("component-size", "1")]),
                ..Identity::default()
            },
            Naming::Components => Identity {
                pod_name: Some(format!("{instance}-{{member}}-{{pod}}")),
                labels: map(&[("component-index", "{pod}")]),
                ..Identity::default()
            },
            Naming::Numbered => {
                let address = format!("{instance}-0.{}.{{namespace}}", self.service());
                Identity {
                    pod_name: Some(format!("{instance}-{{index}}")),
                    labels: map(&[("component-index", "{index}"), ("component-size", "{size}")]),
                    env: leader(&address),
                    ..Identity::default()
                }
            }
            Naming::LeaderWorkerSet => self.as_leader_worker_set(&instance),
        }
    }

    fn as_leader_worker_set(self, instance: &str) -> Identity {
        let workload = format!("{}-{{role}}", self.group());
        let address = format!("{instance}.{workload}.{{namespace}}");
        let mut env = leader(&address);
        env.extend(environment(&[
            ("LWS_LEADER_ADDRESS", &address),
            ("LWS_GROUP_SIZE", "{size}"),
            ("LWS_WORKER_INDEX", "{index}"),
        ]));
        let mut labels = map(&[("component-index", "{index}"), ("component-size", "{size}")]);
        for (key, value) in
            [("name", workload.as_str()), ("group-index", "{instance}"), ("worker-index", "{index}")]
        {
            labels.insert(format!("leaderworkerset.sigs.k8s.io/{key}"), value.to_owned());
        }
        Identity {
            pod_name: Some(format!("{instance}-{{index}}")),
            subdomain: Some(workload),
            labels,
            env,
            ..Identity::default()
        }
    }

    /// What the leader of a LeaderWorkerSet has besides: the name of its instance.
    pub fn of_leader(self) -> Identity {
        Identity { pod_name: Some(self.instance()), ..Identity::default() }
    }
}

fn leader(address: &str) -> BTreeMap<String, String> {
    environment(&[
        ("RBG_LWP_LEADER_ADDRESS", address),
        ("RBG_LWP_WORKER_INDEX", "{index}"),
        ("RBG_LWP_GROUP_SIZE", "{size}"),
    ])
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect()
}

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
