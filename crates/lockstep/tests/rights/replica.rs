//! A process of a Deployment of ours, run as a process of this machine: with the arguments of its manifest, but for where
//! it listens.

// Several programs share it, and not all of them need everything.
#![allow(dead_code)]

use std::time::Duration;

use lockstep_testkit::operator::Operator;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Long enough for anything that happens.
pub const SOON: Duration = Duration::from_secs(180);

/// One process of a Deployment.
pub struct Replica {
    pub operator: Operator,
    /// Where it answers the API server.
    pub webhook: u16,
    pub health: u16,
}

/// Two free ports: for admission and for health.
pub async fn free_ports() -> (u16, u16) {
    let listen = async || TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (one, two) = (listen().await, listen().await);
    let port = |it: &TcpListener| it.local_addr().expect("an address").port();
    (port(&one), port(&two))
}

/// Arguments as its container has them, for a process that listens at these ports.
pub fn listening(arguments: Vec<String>, (webhook, health): (u16, u16)) -> Vec<String> {
    let here = |argument: String| match argument.split_once('=') {
        Some((flag @ "--webhook-address", _)) => format!("{flag}=127.0.0.1:{webhook}"),
        Some((flag @ "--health-address", _)) => format!("{flag}=127.0.0.1:{health}"),
        _ => argument,
    };
    arguments.into_iter().map(here).collect()
}

impl Replica {
    /// What its health port says; nothing while it says nothing.
    pub async fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.health)).await else {
            return String::new();
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        if stream.write_all(request.as_bytes()).await.is_ok() {
            let _ = stream.read_to_string(&mut answer).await;
        }
        answer
    }

    /// Waits until it leads and can do its work.
    pub async fn until_leading(&self) {
        until("it leads", async || {
            self.get("/metrics").await.contains("\nlockstep_leader 1")
                && self.get("/readyz").await.ends_with("ok\n")
        })
        .await;
    }

    /// Whether it has logged a line with all of these words.
    pub fn has_logged(&self, words: &[&str]) -> bool {
        let mut log = std::fs::read_to_string(self.operator.log()).unwrap_or_default();
        log.retain(|c| c != '\\');
        log.lines().any(|line| words.iter().all(|it| line.contains(it)))
    }
}

/// Waits for something that nobody announces.
pub async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, waiting).await.unwrap_or_else(|_| panic!("in vain: {what}"));
}
