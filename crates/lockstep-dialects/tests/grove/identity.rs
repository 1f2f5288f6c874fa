//! Names, labels and environment, pod by pod.

use std::collections::BTreeMap;

use lockstep_api::identity::{Identity, Values, default_pod_name, expand};
use lockstep_api::{LockstepSet, Member, Role};

use crate::support::{lower, yaml};

/// What a pod gets, as the operator fills it in.
struct Pod {
    name: String,
    hostname: String,
    subdomain: String,
    labels: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
}

fn pod(
    set: &LockstepSet,
    group: u32,
    (role, instance): (&Role, u32),
    (member, index): (&Member, u32),
) -> Pod {
    let wide = set.spec.identity.clone().unwrap_or_default();
    let identity: Identity = wide.narrowed(role.identity.as_ref().expect("an identity"));
    let before = role.parts().iter().take_while(|it| it.name != member.name).map(|it| it.count).sum::<u32>();
    let beyond =
        instance.checked_sub(role.min_available.map_or(role.replicas, |it| it.ceil_of(role.replicas)));
    let base = format!("{}-{group}", set.metadata.name);
    let gang = match beyond.filter(|_| role.pods() > 1) {
        Some(n) => format!("{base}-{}-{n}", role.name),
        None => base,
    };
    let values = Values {
        set: &set.metadata.name,
        group,
        role: &role.name,
        instance,
        member: &member.name,
        pod: index,
        index: before + index,
        revision: "r1",
        set_revision: "s1",
        leader: "",
        size: role.pods(),
        namespace: "ml",
        uid: "u",
        gang: &gang,
    };
    let all =
        |map: &BTreeMap<String, String>| map.iter().map(|(k, v)| (k.clone(), expand(v, &values))).collect();
    let name = expand(identity.pod_name.as_deref().unwrap_or(default_pod_name(role.pods())), &values);
    Pod {
        hostname: expand(identity.hostname.as_deref().expect("a host name"), &values),
        subdomain: expand(identity.subdomain.as_deref().expect("a subdomain"), &values),
        labels: all(&identity.labels),
        env: all(&identity.env),
        name,
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn pods_are_theirs() {
    let set = lower(&yaml(include_str!("../manifests/grove/leader-worker.yaml"))).set;
    let [frontend, model] = set.spec.roles.as_slice() else { panic!("two roles") };

    let one = pod(&set, 1, (frontend, 1), (&frontend.parts()[0], 0));
    assert_eq!(
        (one.name.as_str(), one.hostname.as_str(), one.subdomain.as_str()),
        ("qwen-1-frontend-1", "qwen-1-frontend-1", "qwen-1")
    );
    assert_eq!(
        one.labels,
        map(&[
            ("app.kubernetes.io/component", "pcs-podclique"),
            ("app.kubernetes.io/managed-by", "grove-operator"),
            ("app.kubernetes.io/name", "qwen-1-frontend"),
            ("app.kubernetes.io/part-of", "qwen"),
            ("grove.io/pod-template-hash", "r1"),
            ("grove.io/podclique", "qwen-1-frontend"),
            ("grove.io/podclique-pod-index", "1"),
            ("grove.io/podcliqueset-replica-index", "1"),
            ("grove.io/podgang", "qwen-1"),
        ])
    );
    assert_eq!(
        one.env,
        map(&[
            ("GROVE_HEADLESS_SERVICE", "qwen-1.ml.svc.cluster.local"),
            ("GROVE_PCLQ_NAME", "qwen-1-frontend"),
            ("GROVE_PCLQ_POD_INDEX", "1"),
            ("GROVE_PCS_INDEX", "1"),
            ("GROVE_PCS_NAME", "qwen"),
        ])
    );

    // The second worker of the second replica of the scaling group, which is beyond its minimum.
    let worker = &model.members[1];
    let two = pod(&set, 0, (model, 1), (worker, 1));
    assert_eq!(
        (two.name.as_str(), two.hostname.as_str(), two.subdomain.as_str()),
        ("qwen-0-model-1-worker-1", "qwen-0-model-1-worker-1", "qwen-0")
    );
    assert_eq!(
        two.labels,
        map(&[
            ("app.kubernetes.io/component", "pcsg-podclique"),
            ("app.kubernetes.io/managed-by", "grove-operator"),
            ("app.kubernetes.io/name", "qwen-0-model-1-worker"),
            ("app.kubernetes.io/part-of", "qwen"),
            ("grove.io/base-podgang", "qwen-0"),
            ("grove.io/pod-template-hash", "r1"),
            ("grove.io/podclique", "qwen-0-model-1-worker"),
            ("grove.io/podclique-pod-index", "1"),
            ("grove.io/podcliquescalinggroup", "qwen-0-model"),
            ("grove.io/podcliquescalinggroup-pod-index", "2"),
            ("grove.io/podcliquescalinggroup-replica-index", "1"),
            ("grove.io/podcliqueset-replica-index", "0"),
            ("grove.io/podgang", "qwen-0-model-0"),
        ])
    );
    assert_eq!(
        two.env,
        map(&[
            ("GROVE_HEADLESS_SERVICE", "qwen-0.ml.svc.cluster.local"),
            ("GROVE_PCLQ_NAME", "qwen-0-model-1-worker"),
            ("GROVE_PCLQ_POD_INDEX", "1"),
            ("GROVE_PCSG_INDEX", "1"),
            ("GROVE_PCSG_NAME", "qwen-0-model"),
            ("GROVE_PCSG_POD_INDEX", "2"),
            ("GROVE_PCSG_TEMPLATE_NUM_PODS", "3"),
            ("GROVE_PCS_INDEX", "0"),
            ("GROVE_PCS_NAME", "qwen"),
        ])
    );
    // How workers of the original find their leader: <scaling group>-<replica>-leader-0.<service>.
    let leader = pod(&set, 0, (model, 1), (&model.members[0], 0));
    let found = format!("{}-{}-leader-0", two.env["GROVE_PCSG_NAME"], two.env["GROVE_PCSG_INDEX"]);
    assert_eq!(leader.hostname, found);
}

/// A scaling group of one clique of one pod is still named like one.
#[test]
fn the_clique_is_in_the_name_even_if_it_is_the_only_one() {
    let set = lower(&crate::support::object(
        "replicas: 1\ntemplate:\n  cliques: [{name: a, spec: {podSpec: $P}}]\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [a]}]",
    ))
    .set;
    let role = &set.spec.roles[0];
    assert_eq!(pod(&set, 0, (role, 0), (&role.members[0], 0)).name, "simple-0-sg-0-a-0");
}

/// Identity is part of every revision: these may only change together with the templates' version.
#[test]
fn revisions_stay_what_they_are() {
    let set = lower(&yaml(include_str!("../manifests/grove/leader-worker.yaml"))).set;
    let spec = lockstep_api::lower(&set);
    let revisions: Vec<String> =
        spec.roles.iter().map(|role| format!("{} {}", role.name, role.revision)).collect();
    assert_eq!(revisions, ["frontend 9260ea38ab", "model 15e08c31d8"]);
}
