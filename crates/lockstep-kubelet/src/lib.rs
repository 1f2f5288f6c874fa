//! A kubelet without containers: pods come up, fail and go as their annotations say.
//!
//! An ordinary API client plays the kubelets of any number of nodes. It watches the pods that are bound to
//! them, writes the status a kubelet would write, and finishes deletions. Nothing runs, so a laptop carries
//! thousands of pods. It is for tests: of operators, schedulers, controllers.
//!
//! ```no_run
//! use lockstep_kubelet::{Kubelet, NodeGroup, Options};
//!
//! # async fn run(client: kube::Client) -> kube::Result<()> {
//! let zones = ["a", "b", "c"];
//! NodeGroup::new("gpu", 12)
//!     .with_capacity("nvidia.com/gpu", "8")
//!     .with_topology("topology.kubernetes.io/zone", &zones)
//!     .create(&client)
//!     .await?;
//! let kubelet = Kubelet::start(client, Options::default());
//! // The test.
//! kubelet.node_gone("gpu-3").await?;
//! kubelet.node_back("gpu-3").await?;
//! println!("{} pods came up", kubelet.counters().started);
//! kubelet.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # How pods behave
//!
//! By annotation of the pod, all with the prefix `kubelet.lockstep.dev/`. Lengths of time are written `500ms`,
//! `8m`, `1m30s`; a range `5s..10s` is drawn from by UID, so that it comes out the same every time.
//!
//! | annotation | value | what happens |
//! |---|---|---|
//! | `ready-after` | length, range, `never` | a container is ready so long after its start; at once if absent |
//! | `image` | `missing`, `present` | the image is never pulled: `ErrImagePull`, then `ImagePullBackOff` |
//! | `crash-after` | length, range, `never` | a container fails so long after each start, with exit code 1 |
//! | `crashes` | number | it fails so many times and then stays up; for ever if absent |
//! | `crash-reason` | `Error`, `OOMKilled` | how it fails; `OOMKilled` exits with 137 |
//! | `back-off` | `100ms..2s` | the first and the longest pause before a restart; `10s..5m` if absent |
//! | `flaps` | `ready 10s, unready 2s` or `ready 10s, unready 2s, 3 times`, `never` | readiness comes and goes |
//! | `completes-after` | length, range, `never` | a container exits with 0 so long after its start |
//! | `terminates-after` | length, range, `never` | the pod is gone so long after its deletion, at the latest when its grace period ends; `never` hangs; at once if absent |
//!
//! - All containers of a pod behave alike; init containers are done at once; sidecars run along.
//! - The restart policy holds. As with a real kubelet the first restart does not wait, the pause doubles from
//!   the second on, and ten minutes without failure wipe out the earlier ones.
//! - Readiness gates hold: the pod is `Ready` only if their conditions are `True`.
//! - A deletion is counted from its time as the API stores it, in whole seconds. Everything else is exact to
//!   the millisecond.
//! - An annotation that cannot be read is treated as absent, and the pod gets a `Warning` event with reason
//!   `InvalidAnnotation` that says what was expected.
//!
//! A [`Profile`] says the same for many pods at once, by label and node; the first rule that fits holds, and a
//! pod's own annotations go before it. It can be changed while pods live: [`Kubelet::set_profile`].
//!
//! # Nodes
//!
//! Nodes with the label `kubelet.lockstep.dev/stand-in: "true"` are played: they become and stay `Ready`, their
//! lease is renewed. [`NodeGroup`] creates such nodes. With the annotation `kubelet.lockstep.dev/gone: "true"`
//! a node is gone: no lease, no status, its pods are not touched. Without it, the node is back and catches up.
//!
//! # What can be relied on
//!
//! - A pod is its UID. Every patch carries it, every deletion has it as precondition, so no pod ever gets what
//!   was meant for another one of the same name.
//! - All state is in the status of the pods. A stand-in can be dropped at any moment; the next one goes on.
//! - What is decided about a pod is a pure function, [`pod::step`]. Waiting is done with tokio's timers and
//!   timestamps come from a [`Clock`], so that with tokio's clock paused and a [`TokioClock`] a run takes no
//!   time and repeats exactly.
//! - A pod that is ready at once takes one write to start and one to end.
//!
//! Of an API server it asks for: list and watch of pods (`spec.nodeName!=`) and nodes (by label), strategic
//! merge patches of `pods/status` and `nodes/status` that merge conditions by type and refuse a foreign
//! `metadata.uid`, deletion of pods with a UID as precondition, merge patches of leases and nodes, creation of
//! leases and events.

pub mod annotations;
pub mod behaviour;
pub mod clock;
pub mod pod;
pub mod profile;
pub mod span;

mod draw;
mod node;
mod shell;
mod time;

pub use behaviour::Behaviour;
pub use clock::{Clock, TokioClock, WallClock};
pub use node::NodeGroup;
pub use profile::{Profile, Rule};
pub use shell::{Counters, InitialList, Kubelet, Options};
