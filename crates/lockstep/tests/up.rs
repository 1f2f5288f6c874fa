//! `lockstep up` as a process: what it keeps, what it leaves, what runs beside it.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

const WEB: &str = "
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {name: web, namespace: default}
spec:
  progressDeadlineSeconds: 60
  roles:
  - name: web
    replicas: 2
    template:
      metadata: {annotations: {kubelet.lockstep.dev/ready-after: 100ms, kubelet.lockstep.dev/terminates-after: 50ms}}
      spec: {containers: [{name: main, image: 'web:1'}]}
";

/// A folder that is also the place for temporary files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lockstep-up-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("web.yaml"), WEB).unwrap();
        Self(folder)
    }

    /// A run of the program.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command.args(args).current_dir(&self.0).env("TMPDIR", &self.0).env_remove("KUBECONFIG");
        command
    }

    fn up(&self, args: &[&str]) -> Up {
        let args = [&["up", "--plain", "--for", "3m"], args].concat();
        let mut child = self.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let kubeconfig = first.strip_prefix("export KUBECONFIG=").and_then(|rest| rest.split(';').next());
        Up { kubeconfig: kubeconfig.unwrap().to_owned(), child, lines }
    }

    /// The folders with kubeconfigs.
    fn kubeconfigs(&self) -> usize {
        let names = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().starts_with("lockstep-up-")).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A run that goes on until it is dropped.
struct Up {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    kubeconfig: String,
}

impl Up {
    #[track_caller]
    fn until(&mut self, part: &str) -> String {
        let mut said = Vec::new();
        for line in self.lines.by_ref().map(Result::unwrap) {
            if line.contains(part) {
                return line;
            }
            said.push(line);
        }
        panic!("{part:?} never came, but\n{}", said.join("\n"))
    }

    async fn client(&self) -> kube::Client {
        let file = kube::config::Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
        kube::Client::try_from(config).unwrap()
    }

    /// As `kill -9` does.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn verb(&self, folder: &Folder, args: &[&str]) -> String {
        let ran = folder.command(args).env("KUBECONFIG", &self.kubeconfig).output().unwrap();
        text(&ran)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(ran: &Output) -> String {
    String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr)
}

#[test]
fn two_on_one_file_would_lose_what_the_other_keeps() {
    let folder = Folder::new("data");
    let args = ["-f", "web.yaml", "--data", "cluster.json"];
    let mut first = folder.up(&args);
    first.until("web: everything is at");
    let second = folder.command(&[&["up", "--plain"], &args[..]].concat()).output().unwrap();
    let said = text(&second);
    assert_eq!(second.status.code(), Some(1), "{said}");
    let holder = format!("cluster.json is in use: process {} keeps its cluster there", first.child.id());
    assert!(said.contains(&holder) && said.contains("--data"), "{said}");

    // Whoever is killed holds it no longer, and what was kept is there.
    std::thread::sleep(std::time::Duration::from_secs(3));
    first.kill();
    let mut third = folder.up(&["--no-demo", "--data", "cluster.json"]);
    third.until("web: complete at");
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next() {
    let folder = Folder::new("left");
    let mut killed = folder.up(&["--no-demo"]);
    let beside = folder.up(&["--no-demo"]);
    killed.kill();
    assert!(Path::new(&killed.kubeconfig).exists(), "nobody was there to remove it");
    let next = folder.up(&["--no-demo"]);
    assert!(!Path::new(&killed.kubeconfig).parent().unwrap().exists());
    assert!(Path::new(&beside.kubeconfig).exists() && Path::new(&next.kubeconfig).exists());
    assert_eq!(folder.kubeconfigs(), 2);
}

#[test]
fn without_an_operator_it_says_what_starts_one_and_that_works() {
    let folder = Folder::new("operator");
    let mut up = folder.up(&["--no-operator", "-f", "web.yaml"]);
    let line = up.until("no operator runs in this process");
    let command = line.split('`').nth(1).unwrap();
    assert_eq!(command, format!("KUBECONFIG={} lockstep operator", up.kubeconfig));
    let refused = up.verb(&folder, &["promote", "web"]);
    assert!(refused.contains("the operator has not looked at web yet"), "{refused}");

    // As a shell would run it.
    let mut words = command.split_whitespace();
    let (name, value) = words.next().unwrap().split_once('=').unwrap();
    let args: Vec<&str> = words.skip(1).collect();
    let mut operator = folder.command(&args).env(name, value).stderr(Stdio::null()).spawn().unwrap();
    up.until("web: everything is at");
    operator.kill().unwrap();
    operator.wait().unwrap();
}

/// A bad revision between two good ones: the way back leads over it.
#[test]
fn undo_goes_to_what_stood_complete() {
    let folder = Folder::new("undo");
    let mut up = folder.up(&["-f", "web.yaml"]);
    up.until("web: everything is at");
    let apply = |image: &str, missing: bool| {
        let bad = if missing { "kubelet.lockstep.dev/image: missing, " } else { "" };
        let set = WEB.replace("web:1", image).replace("annotations: {", &format!("annotations: {{{bad}"));
        let change = async {
            let client = up.client().await;
            let resource = lockstep_operator::set::resource();
            let api: kube::Api<kube::core::DynamicObject> =
                kube::Api::namespaced_with(client, "default", &resource);
            let how = kube::api::PatchParams::apply("a-user").force();
            let set = lockstep_api::yaml_to_json(&set).unwrap();
            api.patch("web", &how, &kube::api::Patch::Apply(set)).await.unwrap();
        };
        tokio::runtime::Runtime::new().unwrap().block_on(change);
    };
    apply("web:2", true);
    let history = || up.verb(&folder, &["history", "web"]);
    while !history().contains("wished for") || history().lines().count() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    apply("web:3", false);
    let status = up.verb(&folder, &["status", "web", "--timeout", "1m"]);
    assert!(status.contains("web: complete at"), "{status}");

    let history = history();
    let second = history.lines().find(|line| line.starts_with('2')).unwrap();
    assert!(second.contains("never complete"), "{history}");
    let ahead = up.verb(&folder, &["undo", "web", "--to-revision", "2", "--dry-run"]);
    assert!(ahead.contains("warning: revision 2") && ahead.contains("never stood complete"), "{ahead}");
    let undone = up.verb(&folder, &["undo", "web"]);
    assert!(undone.contains("goes back to revision 1"), "{undone}");
    let status = up.verb(&folder, &["status", "web", "--timeout", "1m"]);
    assert!(status.contains("web: complete at"), "{status}");
    let again = up.verb(&folder, &["undo", "web"]);
    assert!(again.contains("goes back to revision 3"), "and forth again: {again}");
}

#[test]
fn all_that_is_in_a_file_is_applied_and_what_holds_nothing_says_so() {
    let folder = Folder::new("all");
    let beside = "
---
apiVersion: v1
kind: Namespace
metadata: {name: beside}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata: {name: one}
spec: {selector: {matchLabels: {lockstep.dev/set: web}}, maxUnavailable: 1}
---
apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata: {name: none}
spec: {selector: {matchLabels: {lockstep.dev/set: wep}}, maxUnavailable: 1}
";
    std::fs::write(folder.0.join("all.yaml"), WEB.to_owned() + beside).unwrap();
    let mut up = folder.up(&["-f", "all.yaml"]);
    up.until("web: everything is at");
    let list = async |kind: &str, namespace: Option<&str>| {
        let client = up.client().await;
        let kind = kube::api::GroupVersionKind::gvk("", "v1", kind);
        let kind = kube::api::ApiResource::from_gvk(&kind);
        let api: kube::Api<kube::core::DynamicObject> = match namespace {
            Some(namespace) => kube::Api::namespaced_with(client, namespace, &kind),
            None => kube::Api::all_with(client, &kind),
        };
        let names = api.list(&kube::api::ListParams::default()).await.unwrap().items.into_iter();
        names.filter_map(|it| it.metadata.name).collect::<Vec<_>>()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    assert!(runtime.block_on(list("Namespace", None)).contains(&"beside".to_owned()));
    assert!(runtime.block_on(list("ConfigMap", Some("default"))).contains(&"settings".to_owned()));
    let held = up.verb(&folder, &["budget", "one"]);
    assert!(held.contains("1 pod may be taken away now") && !held.contains("nothing is held"), "{held}");
    let held = up.verb(&folder, &["budget", "none"]);
    assert!(held.contains("covers no pod"), "{held}");
    drop(up);

    // Nobody is asked where no operator is in the same process.
    let up = folder.up(&["--no-operator", "-f", "all.yaml"]);
    let held = up.verb(&folder, &["budget", "one"]);
    assert!(held.contains("no webhook configuration lockstep-budgets"), "{held}");
}
