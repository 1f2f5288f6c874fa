//! `cargo xtask facts`: what the embedded cluster knows about Kubernetes, taken from a real one.
//!
//! Schemas, discovery and the heads of tables are asked from a real API server; how objects look in protobuf is read
//! from the Go modules it is made of.

mod ask;
mod go;
mod messages;
mod proto;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};
use lockstep_testkit::Cluster;
use serde_json::Value;

use self::ask::Server;

const FOLDER: &str = "crates/lockstep-sandbox/facts";

/// Writes the files.
pub async fn write() -> Result<()> {
    let cluster = Cluster::builder().our_own("what a real API server says").gangs().start().await?;
    let server = Server::new(cluster.client());
    let discovery = server.discovery().await?;
    pack("schemas", &server.schemas().await?)?;
    pack("columns", &server.columns(&discovery).await?)?;
    pack("messages", &messages::read(&Modules::of(&server.version().await?)?, &discovery)?)?;
    pack("discovery", &discovery)
}

/// Writes a file, the same bytes for the same facts: fields are in order, and no time is told.
fn pack(name: &str, facts: &Value) -> Result<()> {
    let path = Path::new(FOLDER).join(format!("{name}.json.gz"));
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(facts.to_string().as_bytes())?;
    fs::write(&path, packer.finish()?).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// The Go modules of a version of Kubernetes.
pub struct Modules {
    cache: PathBuf,
    version: String,
}

impl Modules {
    /// Those of a server. `v1.37.0` is made of modules `v0.37.0`.
    fn of(server: &str) -> Result<Self> {
        let Some(rest) = server.strip_prefix("v1.") else { bail!("{server} is no version of Kubernetes") };
        let told = Command::new("go").args(["env", "GOMODCACHE"]).output().context("cannot run go")?;
        let cache = String::from_utf8(told.stdout)?.trim().into();
        Ok(Self { cache, version: format!("v0.{rest}") })
    }

    /// The folder of one of them.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.cache.join("k8s.io").join(format!("{name}@{}", self.version));
        if !folder.is_dir() {
            bail!("{} is not there: `cargo xtask control-plane` downloads it", folder.display());
        }
        Ok(folder)
    }
}
