//! The files a control plane is started with.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::component::Setting;
use super::{Access, ClusterError, Credential};
use crate::audit::{self, Quiet};
use crate::pki::{self, Authority};

/// Whoever has a token from the start: name and user.
const USERS: [(&str, &str); 3] = [
    ("admin", "admin"),
    ("controller-manager", "system:kube-controller-manager"),
    ("scheduler", "system:kube-scheduler"),
];

/// What an API server calls itself when it asks another one on behalf of somebody.
const FRONT_PROXY: &str = "front-proxy-client";

/// Flags by which an API server has other servers answer for some kinds (APIService). Paths are those of its folder.
pub(crate) const AGGREGATION: [&str; 7] = [
    "--proxy-client-cert-file=front-proxy.crt",
    "--proxy-client-key-file=front-proxy.key",
    "--requestheader-client-ca-file=ca.crt",
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
];

/// Writes everything into the folder of a cluster, and says how the administrator gets in.
pub(super) fn write(setting: &Setting<'_>, authority: &Authority) -> Result<Access, ClusterError> {
    let dir = setting.dir;
    let serving = authority.serve(&["kubernetes", "kubernetes.default.svc"])?;
    // For an API server that has others answer for some kinds; who does not, has the files lie.
    let front = authority.user(FRONT_PROXY, &[])?;
    let (signing, public) = pki::signing_key()?;
    // Nobody else on the machine can guess a token made from a private key.
    let token = |name: &str| -> String {
        let digest = Sha256::digest(format!("{name} {signing}").as_bytes());
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    };
    let tokens: String =
        USERS.iter().map(|(name, user)| format!("{},{user},{user},system:masters\n", token(name))).collect();
    let files = [
        ("ca.crt", authority.certificate_pem()),
        ("api.crt", &serving.certificate_pem),
        ("api.key", &serving.key_pem),
        ("front-proxy.crt", &front.certificate_pem),
        ("front-proxy.key", &front.key_pem),
        ("tokens.key", &signing),
        ("tokens.pub", &public),
        ("tokens.csv", &tokens),
        ("audit-policy.yaml", &audit::policy(Quiet::default())),
        ("scheduler.yaml", &setting.scheduler_file()),
    ];
    for (name, text) in files {
        write_file(&dir.join(name), text)?;
    }
    let access = |name: &str| Access {
        url: format!("https://127.0.0.1:{}", setting.ports.api),
        ca_pem: authority.certificate_pem().to_owned(),
        credential: Credential::Token(token(name)),
    };
    for (name, _) in USERS {
        access(name).write(&dir.join(format!("{name}.kubeconfig")))?;
    }
    Ok(access("admin"))
}

fn write_file(path: &Path, text: &str) -> Result<(), ClusterError> {
    fs::write(path, text).map_err(ClusterError::file(path))
}
