//! `lockstep plan` and `lockstep simulate` on workloads that are spread over clusters.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{Ran, expect, lockstep, well_formed};
use serde_json::{Value, json};

/// A folder of files of this test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lockstep-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A workload of one image, with a strategy in the kind's own words.
fn workload(kind: &str, replicas: u32, strategy: &str, image: &str) -> String {
    let (version, place) = match kind {
        "Deployment" => ("apps/v1", "strategy: {rollingUpdate: "),
        "CloneSet" => ("apps.kruise.io/v1alpha1", "updateStrategy: "),
        _ => ("apps/v1", "updateStrategy: {rollingUpdate: "),
    };
    let close = if place.ends_with("rollingUpdate: ") { "}" } else { "" };
    format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web, annotations: \
         {{federation.lockstep.dev/rollout: aligned}}}}\nspec:\n  replicas: {replicas}\n  {place}{strategy}{close}\n  \
         template: {{spec: {{containers: [{{name: web, image: \"{image}\"}}]}}}}\n"
    )
}

/// A plan from one image to another.
fn plan(kind: &str, strategy: &str, clusters: &str, more: &[&str]) -> Ran {
    let folder = Folder::new(&format!("plan-{kind}-{}", clusters.len() + strategy.len() + more.len()));
    let sum = |text: &str| -> u32 {
        text.split(',').map(|it| it.split_once('=').unwrap().1.parse::<u32>().unwrap()).sum()
    };
    let file = |name: &str, image: &str| folder.write(name, &workload(kind, sum(clusters), strategy, image));
    let (old, new) = (file("old.yaml", "web:1"), file("new.yaml", "web:2"));
    lockstep(&[&["plan", "-f", &old, "--to", &new, "--clusters", clusters][..], more].concat())
}

#[test]
fn plans_of_the_examples() {
    let f = |name: &'static str| format!("federation/{name}.yaml");
    let (web, web2, binding, careful) = (f("web"), f("web-v2"), f("binding"), f("careful"));
    let (shop, shop2) = (f("shop"), f("shop-v2"));
    let rows: [(&str, &[&str]); 4] = [
        ("web", &["-f", &web, "-f", &binding, "--to", &web2]),
        (
            "careful",
            &["-f", &web, "-f", &binding, "-f", &careful, "--to", &web2, "--ready", "member1=3m,member2=5m"],
        ),
        ("shop", &["-f", &shop, "--to", &shop2]),
        ("start", &["--to", &web, "--clusters", "member1=4,member2=6"]),
    ];
    for (name, args) in rows {
        let ran = lockstep(&[&["plan"], args].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
        expect(&format!("over-clusters-{name}.txt"), &ran.out);
        // Written as the proposal writes it, it is the same.
        if name == "web" {
            let folder = Folder::new("proposal");
            let text = std::fs::read_to_string(common::examples().join(&binding)).unwrap();
            let other = folder.write("b.yaml", &text.replace("work.karmada.io", "karmada.io"));
            assert_eq!(lockstep(&["plan", "-f", &web, "-f", &other, "--to", &web2]).out, ran.out);
        }
    }
}

/// The cases of the design that must come out exactly, as far as a plan shows them.
#[test]
fn cases_with_one_right_answer() {
    let ten = "c1=3,c2=3,c3=3,c4=3,c5=3,c6=3,c7=3,c8=3,c9=3,c10=3";
    for (kind, strategy, clusters, said) in [
        (
            "Deployment",
            "{maxUnavailable: 2, maxSurge: 1}",
            "c1=4,c2=6",
            &["10 replacements, at least 8 of 10 available over all clusters, at most 11 pods"][..],
        ),
        (
            "CloneSet",
            "{partition: 4, maxUnavailable: 2}",
            "c1=3,c2=7",
            &[
                "6 replacements, at least 8 of 10 available over all clusters, at most 10 pods",
                "Ends with the partition reached: 4 of 10 pods stay old (c2 4 of 7)",
            ],
        ),
        (
            "CloneSet",
            "{partition: 3, maxUnavailable: 2}",
            "c1=5,c2=5",
            &["7 replacements, at least 8 of 10", "4 of 10"]
                .map(|it| if it == "4 of 10" { "(c2 3 of 5)" } else { it })[..],
        ),
        (
            "Deployment",
            "{maxUnavailable: 5, maxSurge: 0}",
            ten,
            &["30 replacements, at least 25 of 30 available"],
        ),
        ("CloneSet", "{maxUnavailable: 5}", ten, &["30 replacements, at least 25 of 30 available"]),
        ("Deployment", "{maxUnavailable: 1, maxSurge: 0}", "c1=1,c2=1", &["at least 1 of 2 available"]),
        (
            "StatefulSet",
            "{maxUnavailable: 2, partition: 1}",
            "c1=3,c2=3",
            &["at least 4 of 6", "(c2 1 of 3)"],
        ),
    ] {
        let ran = plan(kind, strategy, clusters, &[]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{kind} {strategy} {clusters}");
        for said in said {
            assert!(ran.out.contains(said), "{kind} {strategy} {clusters}: {said:?} is not in\n{}", ran.out);
        }
        assert!(ran.out.ends_with("Can finish: yes\n"), "{}", ran.out);
    }
}

/// R10 P3 U2 over 5+5: what is written into both, one step after the other.
#[test]
fn the_documented_interleaving() {
    let ran = plan("CloneSet", "{partition: 3, maxUnavailable: 2}", "c1=5,c2=5", &["-o", "json"]);
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    let leases = value["waves"].as_array().unwrap().iter().flat_map(|it| it["leases"].as_array().unwrap());
    let open = leases.filter(|it| it["strategy"]["paused"] == false && it["strategy"]["maxSurge"] == 0);
    let told: Vec<(&str, &Value, &Value)> = open
        .map(|it| {
            (it["cluster"].as_str().unwrap(), &it["strategy"]["partition"], &it["strategy"]["maxUnavailable"])
        })
        .collect();
    let (c1, c2) = ("c1", "c2");
    let steps = [(c1, 0, 2), (c1, 0, 1), (c2, 4, 1), (c2, 3, 1)];
    for step in steps.map(|(cluster, partition, unavailable)| (cluster, json!(partition), json!(unavailable)))
    {
        assert!(told.iter().any(|it| (it.0, it.1, it.2) == (step.0, &step.1, &step.2)), "{step:?} {told:?}");
    }
    let first = told.iter().position(|it| it.0 == c2).unwrap();
    assert_eq!((told[0].1, told[0].2), (&json!(0), &json!(2)));
    assert!(
        told[..first].iter().any(|it| *it.2 == json!(1)),
        "c2 begins once c1 has given one back: {told:?}"
    );
    assert_eq!(
        value["clusters"],
        json!([{"name": "c1", "new": 5, "old": 0}, {"name": "c2", "new": 2, "old": 3}])
    );
}

#[test]
fn a_cluster_that_takes_over() {
    let folder = Folder::new("reweighed");
    let file =
        folder.write("web.yaml", &workload("Deployment", 4, "{maxUnavailable: 1, maxSurge: 0}", "web:1"));
    let binding = |name: &str, clusters: &str| {
        let text = format!(
            "apiVersion: work.karmada.io/v1alpha2\nkind: ResourceBinding\nspec: {{clusters: [{clusters}]}}\n"
        );
        folder.write(name, &text)
    };
    let old = binding("old.yaml", "{name: c1, replicas: 4}");
    let ran = lockstep(&["plan", "-f", &file, "-f", &old, "--to", &file, "--clusters", "c1=2,c2=2"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.contains("at least 3 of 4 available over all clusters, at most 4 pods"), "{}", ran.out);
    assert!(ran.out.contains("replicas 0 → 2"), "{}", ran.out);
    let ran = lockstep(&["plan", "-f", &file, "-f", &old, "--to", &file, "--clusters", "c2=4"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("c1 leaves the binding: Karmada deletes its 4 pods at once"), "{}", ran.err);
}

#[test]
fn what_cannot_finish_says_why() {
    for (kind, strategy, why) in [
        (
            "Deployment",
            "{maxUnavailable: 0, maxSurge: 0}",
            "spec.strategy.rollingUpdate.maxUnavailable 0 and spec.strategy.rollingUpdate.maxSurge 0 let nothing move",
        ),
        ("CloneSet", "{maxUnavailable: 0}", "spec.updateStrategy.maxUnavailable 0 and"),
        ("CloneSet", "{partition: 10}", "spec.updateStrategy.partition 10 keeps all 10 pods old"),
        (
            "StatefulSet",
            "{maxUnavailable: 0}",
            "spec.updateStrategy.rollingUpdate.maxUnavailable 0 lets nothing move",
        ),
    ] {
        let ran = plan(kind, strategy, "c1=4,c2=6", &[]);
        assert_eq!(ran.code, 2, "{kind} {strategy}: {}{}", ran.out, ran.err);
        assert!(
            ran.out.contains("Can finish: no\n") && ran.out.contains(why),
            "{kind} {strategy}:\n{}",
            ran.out
        );
    }
    // All pods of a first start are new, whatever the partition says.
    let folder = Folder::new("exceeded");
    let file = folder.write("web.yaml", &workload("CloneSet", 10, "{partition: 4}", "web:1"));
    let ran = lockstep(&["plan", "--to", &file, "--clusters", "c1=4,c2=6"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.contains("4 more pods are new than partition 4 of 10 allows"), "{}", ran.out);
}

#[test]
fn wrong_input_names_field_and_value_and_what_is_accepted() {
    let folder = Folder::new("wrong");
    let web = workload("Deployment", 10, "{maxUnavailable: 2}", "web:1");
    let binding = "apiVersion: work.karmada.io/v1alpha2\nkind: ResourceBinding\nspec:\n  clusters:\n  - {name: a, replicas: 4}\n  - {name: b, replicas: 6}\n";
    let with = |binding: &str| format!("{web}---\n{binding}");
    let kind = |kind: &str, version: &str| {
        web.replace("kind: Deployment", &format!("kind: {kind}")).replace("apps/v1", version)
    };
    let rows: Vec<(String, &str)> = vec![
        (web.clone(), "nothing says how it is split over clusters: give a ResourceBinding"),
        (with(&binding.replace("name: b", "name: a")), "spec.clusters[1].name: \"a\": is named twice"),
        (
            with(&binding.replace("6", "5")),
            "spec.clusters: 9: a 4 and b 5 make 9, but spec.replicas of deployment/web",
        ),
        (
            with(&binding.replace("6", "-6")),
            "spec.clusters[1].replicas: -6: must be a whole number from 0 up",
        ),
        (with(&binding.replace("name: b, ", "")), "spec.clusters[1]: name is required"),
        (
            with(&binding.replace("v1alpha2", "v1")),
            "apiVersion: \"work.karmada.io/v1\": must be work.karmada.io/v1alpha2 or karmada.io/v1alpha2",
        ),
        (
            with("apiVersion: karmada.io/v1alpha2\nkind: ResourceBinding\nspec: {clusters: []}\n"),
            "spec.clusters names no cluster: it is not scheduled yet",
        ),
        (
            with(&format!("{binding}---\n{binding}")),
            "a second ResourceBinding of deployment/web; one is expected",
        ),
        (
            with(binding)
                .replace("strategy: {rollingUpdate: {maxUnavailable: 2}}", "strategy: {type: Recreate}"),
            "spec.strategy.type: \"Recreate\": does not roll, so there is nothing to align; accepted: RollingUpdate",
        ),
        (
            with(binding).replace("maxUnavailable: 2", "maxUnavailable: lots"),
            "spec.strategy.rollingUpdate.maxUnavailable: \"lots\": must be a whole number from 0 up or a percentage such as 25%",
        ),
        (
            with(binding).replace("replicas: 10", "replicas: ten"),
            "spec.replicas: \"ten\": must be a whole number from 0 up",
        ),
        (
            with(binding).replace("rollout: aligned", "rollout: alone"),
            "\"alone\": keeps it out of what is aligned; accepted: aligned",
        ),
        (
            format!("{}---\n{binding}", kind("DaemonSet", "apps/v1")),
            "holds no workload that can be aligned; there is DaemonSet (apps/v1); accepted: Deployment (apps/v1), StatefulSet (apps/v1)",
        ),
        (
            format!("{}---\n{binding}", kind("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"))
                .replace("template:", "leaderWorkerTemplate:"),
            "kind: \"LeaderWorkerSet\": rollouts over clusters are played for Deployment, StatefulSet and CloneSet",
        ),
        (
            format!(
                "{}---\napiVersion: lockstep.dev/v1alpha1\nkind: FederationPolicy\nspec: {{bakeTim: 5m, split: Sequential}}\n",
                with(binding)
            ),
            "spec.bakeTim: no such field; there is kinds, selector, split",
        ),
        (
            format!(
                "{}---\napiVersion: lockstep.dev/v1alpha1\nkind: FederationPolicy\nspec: {{split: Even}}\n",
                with(binding)
            ),
            "unknown variant `Even`, expected `Sequential` or `Proportional`",
        ),
    ];
    for (text, said) in rows {
        let file = folder.write("wrong.yaml", &text);
        for command in ["plan", "simulate"] {
            let ran = lockstep(&[command, "--to", &file]);
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{text}");
            assert!(ran.err.contains(said), "{said:?} is not in\n{}", ran.err);
        }
    }
    for (clusters, said) in [
        ("a", "must be a cluster and its replicas such as member1=4"),
        ("a=1,a=9", "is named twice"),
        ("a=4000000000,b=6", "4000000006 pods in all; up to 100000 can be played"),
    ] {
        let ran = lockstep(&["plan", "--to", "federation/web.yaml", "--clusters", clusters]);
        assert!(ran.code != 0 && ran.err.contains(said), "{}", ran.err);
    }
    let ran = lockstep(&["plan", "--to", "federation/web.yaml", "--clusters", "a=4,b=6", "--ready", "c=5m"]);
    assert!(ran.err.contains("no cluster \"c\"; there is a and b"), "{}", ran.err);
    let ran = lockstep(&["plan", "-f", "minimal.yaml", "-f", "minimal.yaml", "--to", "minimal.yaml"]);
    assert!(ran.code == 1 && ran.err.contains("-f: error: is given twice"), "{}", ran.err);
}

#[test]
fn a_picture_has_a_lane_for_every_cluster() {
    let ran = plan("Deployment", "{maxUnavailable: 2, maxSurge: 1}", "c1=4,c2=6", &["-o", "svg"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    well_formed(&ran.out);
    for part in [">c1</text>", ">c2</text>", "c2: 6 old, 0 new, 0 not available, 0s to"] {
        assert!(ran.out.contains(part), "{part} is not in\n{}", ran.out);
    }
}

fn simulate(more: &[&str]) -> Ran {
    let args = [
        "simulate",
        "-f",
        "federation/web.yaml",
        "-f",
        "federation/binding.yaml",
        "--to",
        "federation/web-v2.yaml",
    ];
    lockstep(&[&args[..], more].concat())
}

#[test]
fn every_profile_that_fits_keeps_the_promises() {
    for name in ["rough-day", "bad-image", "bad-week", "lost-cluster"] {
        let ran = simulate(&["--faults", &format!("faults/{name}.yaml"), "--runs", "20"]);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.ends_with("Promises: all kept in 20 runs\n"), "{name}: {}", ran.out);
    }
    let shop = ["simulate", "-f", "federation/shop.yaml", "--to", "federation/shop-v2.yaml", "--runs", "20"];
    let ran = lockstep(&[&shop[..], &["--faults", "faults/rough-day.yaml"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("20 partition reached"), "{}", ran.out);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed: &str| simulate(&["--faults", "faults/bad-week.yaml", "--seed", seed, "-o", "jsonl"]);
    let (one, again, other) = (run("7"), run("7"), run("8"));
    assert_eq!((one.code, &one.out), (0, &again.out));
    assert_ne!(one.out, other.out);
    for line in one.out.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["t"].is_u64() && event["event"].is_string(), "{line}");
    }
    let value: Value = serde_json::from_str(&simulate(&["--runs", "3", "-o", "json"]).out).unwrap();
    assert_eq!((&value["ended"]["complete"], &value["broken"]), (&json!(3), &json!([])));
    assert_eq!((&value["availableLeast"], &value["podsMost"]), (&json!([8, 10]), &json!(11)));
}

#[test]
fn an_image_that_never_works_may_hold() {
    let folder = Folder::new("never");
    let profile = folder.write("never.yaml", "badImage: [{how: neverReady}]\n");
    let ran = simulate(&["--faults", &profile, "--runs", "2"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("2 held") && ran.out.contains("8/10"), "{}", ran.out);
}

#[test]
fn every_error_of_a_profile_is_named() {
    let folder = Folder::new("profile");
    let profile = folder.write(
        "profile.yaml",
        "\
startUp: {member9: 5m, default: soon}
nodes: {count: 2, pods: 8}
every: {nodeLoss: 1h, crash: 1ms}
badImage: [{how: failing}, {role: web, how: neverReady}]
strikes:
- {at: 5m, what: evict}
- {at: 5m, what: hit, cluster: member9}
outages:
- {cluster: member1}
changes:
- {at: 5m, scale: {web: 3}}
- {at: 4m, partition: 3, clusters: 5, apply: nowhere.yaml}
",
    );
    let ran = simulate(&["--faults", &profile]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let named = ran.err.replace(&profile, "profile.yaml");
    expect("wrong-profile-over-clusters.txt", &named.replace(folder.0.to_str().unwrap(), "."));
}
