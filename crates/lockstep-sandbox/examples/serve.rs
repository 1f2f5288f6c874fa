//! An embedded cluster on a port of this machine, until it is stopped. The first argument is the port, the second the
//! file the kubeconfig is written to.

use lockstep_sandbox::cluster::{Cluster, Setup};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let cluster = Cluster::start(Setup::now());
    let listening = cluster.listen(port).await?;
    let kubeconfig = listening.access.kubeconfig("lockstep");
    match arguments.next() {
        Some(file) => std::fs::write(file, kubeconfig)?,
        None => print!("{kubeconfig}"),
    }
    std::future::pending::<()>().await;
    Ok(())
}
