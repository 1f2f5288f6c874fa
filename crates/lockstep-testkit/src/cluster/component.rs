//! The processes of a control plane, and how each is started.

use std::fmt;
use std::path::Path;
use std::time::Duration;

/// A process of a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store. The order is that of dependence: each stands on those before it.
    Etcd,
    /// The API server.
    ApiServer,
    /// The built-in controllers.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

impl Component {
    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program())
    }
}

/// The ports of a cluster, all on loopback.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub etcd: u16,
    pub etcd_peers: u16,
    pub api: u16,
    pub controllers: u16,
    pub scheduler: u16,
}

impl Ports {
    /// The port at which a component answers when it is up.
    pub fn of(&self, component: Component) -> u16 {
        match component {
            Component::Etcd => self.etcd,
            Component::ApiServer => self.api,
            Component::ControllerManager => self.controllers,
            Component::Scheduler => self.scheduler,
        }
    }
}

/// What the arguments of the components depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub dir: &'a Path,
    pub ports: Ports,
    pub gangs: bool,
    pub node_grace: Duration,
    pub flags: &'a [(Component, String)],
}

/// Kubernetes' own gang scheduling.
const GANG_GATE: &str = "--feature-gates=GenericWorkload=true";

impl Setting<'_> {
    /// The arguments of a component.
    pub fn arguments(&self, component: Component) -> Vec<String> {
        let mut arguments = match component {
            Component::Etcd => self.etcd(),
            Component::ApiServer => self.api_server(),
            Component::ControllerManager => self.controller_manager(),
            Component::Scheduler => self.scheduler(),
        };
        let more = self.flags.iter().filter(|(of, _)| *of == component);
        arguments.extend(more.map(|(_, flag)| flag.clone()));
        arguments
    }

    fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn etcd(&self) -> Vec<String> {
        let client = format!("http://127.0.0.1:{}", self.ports.etcd);
        let peer = format!("http://127.0.0.1:{}", self.ports.etcd_peers);
        vec![
            "--name=test".to_owned(),
            format!("--data-dir={}", self.file("etcd")),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=test={peer}"),
            // The machine may lose power; the test is over then anyway.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ]
    }

    fn api_server(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.ports.api),
            format!("--tls-cert-file={}", self.file("api.crt")),
            format!("--tls-private-key-file={}", self.file("api.key")),
            format!("--client-ca-file={}", self.file("ca.crt")),
            format!("--token-auth-file={}", self.file("tokens.csv")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", self.file("tokens.pub")),
            format!("--service-account-signing-key-file={}", self.file("tokens.key")),
            "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            // As kubeadm and its like start it; the server's own default forbids them.
            "--allow-privileged=true".to_owned(),
            format!("--audit-policy-file={}", self.file("audit-policy.yaml")),
            format!("--audit-log-path={}", self.file("audit.log")),
            "--audit-log-mode=blocking".to_owned(),
            // A client must not be throttled: tests measure what the server can do.
            "--max-requests-inflight=2000".to_owned(),
            "--max-mutating-requests-inflight=1000".to_owned(),
        ];
        if self.gangs {
            arguments.push(GANG_GATE.to_owned());
            // A version that does not exist stops the server at start.
            arguments.push("--runtime-config=scheduling.k8s.io/v1beta1=true".to_owned());
        }
        arguments
    }

    fn controller_manager(&self) -> Vec<String> {
        let mut arguments = self.client_of("controller-manager", self.ports.controllers);
        arguments.extend([
            format!("--service-account-private-key-file={}", self.file("tokens.key")),
            format!("--root-ca-file={}", self.file("ca.crt")),
            "--kube-api-qps=1000".to_owned(),
            "--kube-api-burst=2000".to_owned(),
            "--concurrent-gc-syncs=20".to_owned(),
            "--node-monitor-period=1s".to_owned(),
            format!("--node-monitor-grace-period={}s", self.node_grace.as_secs().max(1)),
        ]);
        arguments
    }

    fn scheduler(&self) -> Vec<String> {
        let mut arguments = self.client_of("scheduler", self.ports.scheduler);
        // The configuration file holds the kubeconfig, too, and then the flag may not.
        arguments
            .retain(|argument| !argument.starts_with("--kubeconfig=") && !argument.starts_with("--leader"));
        arguments.push(format!("--config={}", self.file("scheduler.yaml")));
        arguments
    }

    fn client_of(&self, name: &str, port: u16) -> Vec<String> {
        let kubeconfig = self.file(&format!("{name}.kubeconfig"));
        let mut arguments = vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--cert-dir={}", self.file(&format!("{name}-certs"))),
        ];
        if self.gangs {
            arguments.push(GANG_GATE.to_owned());
        }
        arguments
    }

    /// The scheduler's configuration file.
    pub fn scheduler_file(&self) -> String {
        format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\n\
             kind: KubeSchedulerConfiguration\n\
             leaderElection: {{leaderElect: false}}\n\
             clientConnection: {{kubeconfig: {:?}, qps: 1000, burst: 2000}}\n",
            self.file("scheduler.kubeconfig")
        )
    }
}
