//! `lockstep up --clusters`, and the verbs of the command line on what is spread there.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use common::{Ran, lockstep};
use kube::api::{Api, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

/// A host and three members that run.
struct Up {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    kubeconfig: String,
}

impl Up {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["up", "--clusters", "3", "--speed", "10", "--plain", "--for", "5m"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let kubeconfig = first.strip_prefix("export KUBECONFIG=").and_then(|rest| rest.split(';').next());
        Self { child, lines, kubeconfig: kubeconfig.unwrap().to_owned() }
    }

    fn until(&mut self, part: &str) {
        assert!(self.lines.any(|line| line.unwrap().contains(part)), "{part} never came");
    }

    fn verb(&self, verb: &str, more: &[&str]) -> Ran {
        let args = [&[verb, "deployment/web", "--kubeconfig", &self.kubeconfig], more].concat();
        lockstep(&args)
    }

    /// What is left of the rollout, played from the ledger that stands.
    #[track_caller]
    fn plans(&self, more: &[&str], parts: &[&str]) {
        let args = ["plan", "--live", "deployment/web", "--kubeconfig", &self.kubeconfig];
        let ran = lockstep(&[&args[..], more].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        for part in parts {
            assert!(ran.out.contains(part), "{part:?} is not in\n{}{}", ran.out, ran.err);
        }
    }

    #[track_caller]
    fn says(&self, verb: &str, more: &[&str], part: &str) {
        let ran = self.verb(verb, more);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains(part), "{part:?} is not in\n{}{}", ran.out, ran.err);
    }

    #[track_caller]
    fn refuses(&self, verb: &str, part: &str) {
        let ran = self.verb(verb, &[]);
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(part), "{part:?} is not in\n{}", ran.err);
    }

    /// Changes the pod template, as kubectl would.
    fn patch(&self, annotations: Value, image: &str) {
        let change = async {
            let file = Kubeconfig::read_from(&self.kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
            let api: Api<k8s_openapi::api::apps::v1::Deployment> =
                Api::default_namespaced(Client::try_from(config).unwrap());
            let containers = json!([{"name": "main", "image": image}]);
            let template =
                json!({"metadata": {"annotations": annotations}, "spec": {"containers": containers}});
            let patch = Patch::Strategic(json!({"spec": {"template": template}}));
            api.patch("web", &PatchParams::default(), &patch).await.unwrap();
        };
        tokio::runtime::Runtime::new().unwrap().block_on(change);
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Whoever is killed leaves what it wrote.
        if let Some(folder) = std::path::Path::new(&self.kubeconfig).parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[test]
fn a_rollout_over_clusters_is_told_to_its_end() {
    let until = ["--plain", "--roll", "--until", "complete", "--for", "3m"];
    let ran = lockstep(&[&["up", "--clusters", "3", "--speed", "10"][..], &until].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let at = |part: &str| ran.out.find(part).unwrap_or_else(|| panic!("{part:?} is not in\n{}", ran.out));
    let stands = at("web: complete with registry.example/web:v1");
    let rolls = at("web rolls to registry.example/web:v2");
    let arrives = at("web: complete with registry.example/web:v2");
    assert!(stands < rolls && rolls < arrives, "{}", ran.out);
    for cluster in ["member1", "member2", "member3"] {
        assert!(ran.out[rolls..].contains(&format!("{cluster}: 0 old, 4 new, 4 of 4 ready")), "{}", ran.out);
    }
}

#[test]
fn what_is_spread_is_followed_paused_and_aborted_by_the_verbs_of_a_set() {
    let mut up = Up::start();
    up.until("web: complete");
    let all = "12 of 12 pods new and available (member1 4/4, member2 4/4, member3 4/4)";
    up.says("status", &[], &format!("deployment/web: complete: {all}"));
    let over = "web: Deployment of 12 pods over member1 (4), member2 (4) and member3 (4), what is left of the rollout";
    up.plans(&[], &[over, "Can finish: yes"]);
    up.refuses("abort", "there is nothing to abort: deployment/web has the template that stood complete");

    up.says(
        "pause",
        &[],
        "deployment/web paused in all clusters; `lockstep resume deployment/web` lets it go on",
    );
    up.says("pause", &[], "deployment/web is paused already");
    up.patch(json!({}), "registry.example/web:v2");
    up.until("web: paused with registry.example/web:v2");
    up.says("status", &["--no-wait"], "deployment/web: paused: 0 of 12 pods new and available");
    up.says("why", &[], "lets it go on");
    let sum = "12 replacements, at least 10 of 12 available over all clusters, at most 13 pods";
    up.plans(&[], &[over, "paused: nothing moves until it is resumed", sum, "Can finish: yes"]);
    up.says("resume", &[], "deployment/web resumed");
    up.says("status", &["--timeout", "2m"], &format!("deployment/web: complete: {all}"));

    // One that never becomes ready spreads no further than what may be unavailable or too many.
    up.patch(json!({"kubelet.lockstep.dev/image": "missing"}), "registry.example/web:v3");
    up.until("web: rolling with registry.example/web:v3");
    up.until("web waits");
    up.says("why", &[], "Of 12 pods over all clusters 2 may be unavailable and 1 too many at any time.");
    assert_eq!(up.verb("status", &["--timeout", "1s"]).code, 3);
    up.says("abort", &[], "deployment/web has the template of its generation");
    up.says("status", &["--timeout", "2m"], &format!("deployment/web: complete: {all}"));
}
