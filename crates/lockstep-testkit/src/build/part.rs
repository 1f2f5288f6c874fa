//! What can be built, and from which modules.

use std::fmt;
use std::str::FromStr;

/// A part of a test cluster that comes as Go modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// etcd, the API server, the controller manager, the scheduler and kubectl.
    Kubernetes,
    /// The LeaderWorkerSet controller.
    LeaderWorkerSet,
    /// The Kruise controller (CloneSet and others).
    Kruise,
    /// Karmada's API server, controllers, scheduler, webhook and command line.
    Karmada,
}

/// A program: what its file is called, and the package it is built from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub name: &'static str,
    pub package: &'static str,
}

const fn program(name: &'static str, package: &'static str) -> Program {
    Program { name, package }
}

const KUBERNETES: &[Program] = &[
    program("etcd", "go.etcd.io/etcd/server/v3"),
    program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    program("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
];

const LEADER_WORKER_SET: &[Program] = &[program("lws-manager", "sigs.k8s.io/lws/cmd")];

const KRUISE: &[Program] = &[program("kruise-manager", "github.com/openkruise/kruise")];

const KARMADA: &[Program] = &[
    program("karmada-aggregated-apiserver", "github.com/karmada-io/karmada/cmd/aggregated-apiserver"),
    program("karmada-controller-manager", "github.com/karmada-io/karmada/cmd/controller-manager"),
    program("karmada-scheduler", "github.com/karmada-io/karmada/cmd/scheduler"),
    program("karmada-webhook", "github.com/karmada-io/karmada/cmd/webhook"),
    program("karmadactl", "github.com/karmada-io/karmada/cmd/karmadactl"),
];

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kubernetes, Self::LeaderWorkerSet, Self::Kruise, Self::Karmada];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::LeaderWorkerSet => "leaderworkerset",
            Self::Kruise => "kruise",
            Self::Karmada => "karmada",
        }
    }

    /// The version of its main module.
    pub fn version(self) -> &'static str {
        match self {
            Self::Kubernetes => "1.37.0",
            Self::LeaderWorkerSet => "0.9.0",
            Self::Kruise => "1.9.1",
            Self::Karmada => "1.18.1",
        }
    }

    /// Its main module, where its manifests lie.
    pub fn module(self) -> &'static str {
        match self {
            Self::Kubernetes => "k8s.io/kubernetes",
            Self::LeaderWorkerSet => "sigs.k8s.io/lws",
            Self::Kruise => "github.com/openkruise/kruise",
            Self::Karmada => "github.com/karmada-io/karmada",
        }
    }

    pub(super) fn programs(self) -> &'static [Program] {
        match self {
            Self::Kubernetes => KUBERNETES,
            Self::LeaderWorkerSet => LEADER_WORKER_SET,
            Self::Kruise => KRUISE,
            Self::Karmada => KARMADA,
        }
    }

    /// The names of its programs.
    pub fn program_names(self) -> impl Iterator<Item = &'static str> {
        self.programs().iter().map(|program| program.name)
    }

    /// The module files that pin everything it is built from.
    pub(super) fn module_files(self) -> (&'static str, &'static str) {
        macro_rules! files {
            ($part:literal) => {
                (
                    include_str!(concat!("../../control-plane/", $part, "/go.mod")),
                    include_str!(concat!("../../control-plane/", $part, "/go.sum")),
                )
            };
        }
        match self {
            Self::Kubernetes => files!("kubernetes"),
            Self::LeaderWorkerSet => files!("leaderworkerset"),
            Self::Kruise => files!("kruise"),
            Self::Karmada => files!("karmada"),
        }
    }

    /// The Go version its module file asks for.
    pub(super) fn needed_go(self) -> &'static str {
        let (module, _) = self.module_files();
        module.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or_default()
    }

    /// The linker stamps versions: without them the API server calls itself 0.0.
    pub(super) fn linker_flags(self) -> String {
        let mut flags = "-s -w".to_owned();
        if self == Self::Kubernetes {
            let mut version = self.version().split('.');
            let (major, minor) = (version.next().unwrap_or_default(), version.next().unwrap_or_default());
            for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
                flags += &format!(" -X {package}.gitVersion=v{}", self.version());
                flags += &format!(" -X {package}.gitMajor={major} -X {package}.gitMinor={minor}");
            }
        }
        flags
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.version())
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|part| part.name() == text);
        found.ok_or_else(|| format!("{text:?} is none of the parts there are: {names}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name on the screen and in the cache must be that of what is built.
    #[test]
    fn versions_are_those_of_the_module_files() {
        for part in Part::ALL {
            let module = part.module();
            let (text, _) = part.module_files();
            let wanted = format!("{module} v{}", part.version());
            assert!(text.lines().any(|line| line.trim().starts_with(&wanted)), "{wanted} not in go.mod");
        }
    }

    #[test]
    fn an_unknown_part_is_answered_with_those_there_are() {
        let error = "kwok".parse::<Part>().expect_err("no such part");
        assert_eq!(
            error,
            "\"kwok\" is none of the parts there are: kubernetes, leaderworkerset, kruise, karmada"
        );
    }
}
