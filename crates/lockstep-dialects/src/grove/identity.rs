//! What makes a pod one of theirs: names, labels, environment.

use std::collections::BTreeMap;

use lockstep_api::Identity;

/// Who manages everything that belongs to a PodCliqueSet, as selectors know it.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "grove-operator");
/// Which PodCliqueSet something belongs to.
pub(super) const PART_OF: &str = "app.kubernetes.io/part-of";
/// The name of an object.
pub(super) const NAME: &str = "app.kubernetes.io/name";
/// What kind of thing an object is.
pub(super) const COMPONENT: &str = "app.kubernetes.io/component";
/// The clique, with all that its name is made of.
pub(super) const CLIQUE: &str = "grove.io/podclique";
/// The replica of the set.
pub(super) const REPLICA: &str = "grove.io/podcliqueset-replica-index";
/// The scaling group, with all that its name is made of.
pub(super) const GROUP: &str = "grove.io/podcliquescalinggroup";
/// The replica of the scaling group.
pub(super) const GROUP_REPLICA: &str = "grove.io/podcliquescalinggroup-replica-index";
/// The pod's place in its replica of the scaling group.
pub(super) const GROUP_POD: &str = "grove.io/podcliquescalinggroup-pod-index";

/// Variables that no container sets itself.
pub(super) const RESERVED: [&str; 9] = [
    "GROVE_PCS_NAME",
    "GROVE_PCS_INDEX",
    "GROVE_PCLQ_NAME",
    "GROVE_PCLQ_POD_INDEX",
    "GROVE_HEADLESS_SERVICE",
    "GROVE_PCSG_NAME",
    "GROVE_PCSG_INDEX",
    "GROVE_PCSG_POD_INDEX",
    "GROVE_PCSG_TEMPLATE_NUM_PODS",
];

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// What all pods of a set have. It is part of every revision: changing a word of this rolls all pods.
pub(super) fn of_set() -> Identity {
    Identity {
        subdomain: Some("{set}-{group}".to_owned()),
        labels: map(&[
            MANAGED_BY,
            (PART_OF, "{set}"),
            (REPLICA, "{group}"),
            ("grove.io/podgang", "{gang}"),
            ("grove.io/pod-template-hash", "{revision}"),
        ]),
        env: map(&[
            ("GROVE_PCS_NAME", "{set}"),
            ("GROVE_PCS_INDEX", "{group}"),
            ("GROVE_HEADLESS_SERVICE", "{set}-{group}.{namespace}.svc.cluster.local"),
        ]),
        ..Identity::default()
    }
}

/// What pods of a standalone clique have besides.
pub(super) fn of_clique() -> Identity {
    const FULL: &str = "{set}-{group}-{role}";
    Identity {
        hostname: Some(format!("{FULL}-{{instance}}")),
        labels: map(&[
            (NAME, FULL),
            (COMPONENT, "pcs-podclique"),
            (CLIQUE, FULL),
            ("grove.io/podclique-pod-index", "{instance}"),
        ]),
        env: map(&[("GROVE_PCLQ_NAME", FULL), ("GROVE_PCLQ_POD_INDEX", "{instance}")]),
        ..Identity::default()
    }
}

/// What pods of a scaling group have besides.
pub(super) fn of_group() -> Identity {
    const GROUP_FULL: &str = "{set}-{group}-{role}";
    const FULL: &str = "{set}-{group}-{role}-{instance}-{member}";
    let pod = format!("{FULL}-{{pod}}");
    Identity {
        // Said even for instances of one pod, whose clique would not be in the name otherwise.
        pod_name: Some(pod.clone()),
        hostname: Some(pod),
        labels: map(&[
            (NAME, FULL),
            (COMPONENT, "pcsg-podclique"),
            (CLIQUE, FULL),
            ("grove.io/podclique-pod-index", "{pod}"),
            ("grove.io/base-podgang", "{set}-{group}"),
            (GROUP, GROUP_FULL),
            (GROUP_REPLICA, "{instance}"),
            (GROUP_POD, "{index}"),
        ]),
        env: map(&[
            ("GROVE_PCLQ_NAME", FULL),
            ("GROVE_PCLQ_POD_INDEX", "{pod}"),
            ("GROVE_PCSG_NAME", GROUP_FULL),
            ("GROVE_PCSG_INDEX", "{instance}"),
            ("GROVE_PCSG_POD_INDEX", "{index}"),
            ("GROVE_PCSG_TEMPLATE_NUM_PODS", "{size}"),
        ]),
        ..Identity::default()
    }
}
