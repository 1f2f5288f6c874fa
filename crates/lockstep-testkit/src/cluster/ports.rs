//! Free ports on loopback.

use std::net::TcpListener;

use super::component::Ports;

/// A port that nobody uses at this moment.
pub(crate) fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Ports that nobody uses at this moment. They are held together, so that they differ; somebody else may
/// still take one before it is bound, and the start is tried again then.
pub(super) fn free() -> std::io::Result<Ports> {
    let held: Vec<TcpListener> =
        (0..5).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<_, _>>()?;
    let port = |i: usize| held[i].local_addr().map(|address| address.port());
    Ok(Ports {
        etcd: port(0)?,
        etcd_peers: port(1)?,
        api: port(2)?,
        controllers: port(3)?,
        scheduler: port(4)?,
    })
}
