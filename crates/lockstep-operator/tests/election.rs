//! Leader election on a real API server: with leaders that die, that leave, and that are cut off.

#![allow(clippy::expect_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use lockstep_operator::election::{Election, ElectionOptions, Ended, Leadership};
use lockstep_testkit::proxy::{Fault, Proxy, Rule, Verb, Which};
use lockstep_testkit::{Cluster, Component};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Long enough for anything that happens.
const SOON: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(300);

async fn cluster() -> Option<Cluster> {
    let builder = Cluster::builder().without(Component::Scheduler).without(Component::ControllerManager);
    builder.not_a_guest().start_or_skip().await
}

/// When the work began and when it was dropped, term by term.
type Notes = Arc<Mutex<Vec<(Instant, Option<Instant>)>>>;

/// A candidate that notes when it leads and when it does not.
struct Candidate {
    holder: String,
    terms: watch::Receiver<Vec<Leadership>>,
    worked: Notes,
    task: JoinHandle<Ended<()>>,
    shutdown: Option<oneshot::Sender<()>>,
}

/// Notes when it is dropped.
struct Worker(Notes);

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(last) = self.0.lock().expect("no panic").last_mut() {
            last.1 = Some(Instant::now());
        }
    }
}

impl Candidate {
    fn start(client: kube::Client, name: &str, identity: &str) -> Self {
        let options = ElectionOptions {
            lease_duration: LEASE,
            renew_deadline: DEADLINE,
            retry_period: RETRY,
            ..ElectionOptions::new("default", name, identity)
        };
        let election = Election::new(client, &options).expect("good times");
        let holder = election.holder().to_owned();
        let (announce, terms) = watch::channel(Vec::new());
        let (shutdown, asked) = oneshot::channel();
        let worked = Notes::default();
        let notes = Arc::clone(&worked);
        let task = tokio::spawn(election.run(
            async {
                let _ = asked.await;
            },
            move |leadership| {
                announce.send_modify(|terms: &mut Vec<Leadership>| terms.push(leadership));
                let notes = Arc::clone(&notes);
                async move {
                    notes.lock().expect("no panic").push((Instant::now(), None));
                    let _worker = Worker(notes);
                    std::future::pending::<()>().await;
                }
            },
        ));
        Self { holder, terms, worked, task, shutdown: Some(shutdown) }
    }

    /// Waits until it has begun its `n`th term, and says when that was noticed.
    async fn leads(&mut self, n: usize) -> Instant {
        let leading = self.terms.wait_for(|terms| terms.len() >= n);
        drop(tokio::time::timeout(SOON, leading).await.expect("leads in time").expect("is there"));
        Instant::now()
    }

    fn is_sure(&self) -> bool {
        self.terms.borrow().iter().any(Leadership::is_sure)
    }

    async fn shut_down(&mut self) {
        self.shutdown.take().expect("once").send(()).expect("is there");
        assert_eq!((&mut self.task).await.expect("no panic"), Ended::Shutdown);
    }

    /// As a process that is killed: nothing is released.
    fn kill(&self) {
        self.task.abort();
    }
}

/// Looks all the time whether two are sure at once; they are looked at in both orders, so that a change between
/// two looks deceives nobody.
fn referee(candidates: &[&Candidate]) -> JoinHandle<()> {
    let terms: Vec<_> = candidates.iter().map(|candidate| candidate.terms.clone()).collect();
    tokio::spawn(async move {
        let sure = |i: usize| terms[i].borrow().iter().any(Leadership::is_sure);
        loop {
            for i in 0..terms.len() {
                for j in (0..terms.len()).filter(|j| *j != i) {
                    assert!(!(sure(i) && sure(j) && sure(i)), "two are sure at once");
                }
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

fn leases(cluster: &Cluster) -> Api<Lease> {
    Api::namespaced(cluster.client(), "default")
}

async fn held_by(cluster: &Cluster, name: &str) -> Option<String> {
    leases(cluster).get(name).await.expect("a lease").spec.expect("a spec").holder_identity
}

async fn behind(cluster: &Cluster, proxy: &Proxy, agent: &str) -> kube::Client {
    let access = cluster.access().expect("our own");
    access.through(&proxy.url(), proxy.ca_pem()).client(agent).await.expect("a client")
}

fn writes() -> Which {
    Which::writes().of("leases")
}

#[tokio::test]
async fn one_leads_and_the_next_follows_when_it_leaves_or_dies() {
    let Some(cluster) = cluster().await else { return };
    let mut one = Candidate::start(cluster.client(), "succession", "one");
    one.leads(1).await;
    let mut two = Candidate::start(cluster.client(), "succession", "two");
    let mut three = Candidate::start(cluster.client(), "succession", "three");
    let referee = referee(&[&one, &two, &three]);
    tokio::time::sleep(2 * LEASE).await;
    assert!(one.is_sure() && !two.is_sure() && !three.is_sure(), "it renews, the others wait");
    assert_eq!(one.terms.borrow().len(), 1, "without a gap");
    assert_eq!(held_by(&cluster, "succession").await, Some(one.holder.clone()));

    // It leaves: the next begins at once, well before the lease would have run out.
    let left = Instant::now();
    one.shut_down().await;
    assert!(!one.is_sure(), "as soon as it is asked");
    let second = tokio::select! {
        at = two.leads(1) => at,
        at = three.leads(1) => at,
    };
    assert!(second - left < LEASE / 2, "after {:?}", second - left);
    let stopped = one.worked.lock().expect("no panic")[0].1.expect("the work was dropped");
    assert!(stopped < second);

    // It dies: the next begins when the lease has run out, and not before.
    let (dies, mut remains) = if two.is_sure() { (two, three) } else { (three, two) };
    tokio::time::sleep(RETRY).await;
    dies.kill();
    let died = Instant::now();
    let third = remains.leads(1).await;
    assert!(third - died >= LEASE - 2 * RETRY, "after {:?}", third - died);
    assert!(third - died < 2 * LEASE, "after {:?}", third - died);
    assert!(!dies.is_sure());
    let lease = leases(&cluster).get("succession").await.expect("a lease");
    assert_eq!(lease.spec.expect("a spec").lease_transitions, Some(2));
    assert!(!referee.is_finished(), "never two");
}

#[tokio::test]
async fn who_is_cut_off_stops_before_the_other_begins() {
    let Some(cluster) = cluster().await else { return };
    let proxy = cluster.proxy().await.expect("a proxy");
    let mut one = Candidate::start(behind(&cluster, &proxy, "one").await, "cut-off", "one");
    one.leads(1).await;
    let mut two = Candidate::start(cluster.client(), "cut-off", "two");
    let referee = referee(&[&one, &two]);
    tokio::time::sleep(LEASE).await;
    let wall = proxy.add(Rule::new(Which::any(), Fault::Drop));
    let cut = Instant::now();
    let first = one.terms.borrow()[0].clone();
    first.lost().await;
    let (lost, sure) = (Instant::now(), one.is_sure());
    let began = two.leads(1).await;
    let dropped = one.worked.lock().expect("no panic")[0].1.expect("the work was dropped");
    assert!(!sure && lost < began && dropped < began);
    assert!(lost - cut <= DEADLINE + RETRY, "after {:?}", lost - cut);
    assert!(began - lost >= (LEASE - DEADLINE) / 2, "only {:?} apart", began - lost);

    // It comes back as one that waits.
    wall.remove();
    tokio::time::sleep(LEASE).await;
    assert!(two.is_sure() && !one.is_sure());
    two.shut_down().await;
    one.leads(2).await;
    assert!(!first.is_sure(), "an old term does not begin again");
    assert!(!referee.is_finished(), "never two");
}

#[tokio::test]
async fn writes_that_are_held_back_make_nobody_sure() {
    let Some(cluster) = cluster().await else { return };
    let proxy = cluster.proxy().await.expect("a proxy");
    let one = Candidate::start(behind(&cluster, &proxy, "one").await, "held-back", "one");
    let two = Candidate::start(behind(&cluster, &proxy, "two").await, "held-back", "two");
    let three = Candidate::start(cluster.client(), "held-back", "three");
    let referee = referee(&[&one, &two, &three]);
    // Two of them write late, one of them so late that the lease has run out meanwhile. What they sent before is
    // carried out all the same, after they have given up waiting for it.
    proxy.add(Rule::new(writes().user_agent("one"), Fault::Delay((LEASE + RETRY).into())).skip(3));
    proxy.add(Rule::new(writes().user_agent("two"), Fault::Delay((DEADLINE / 2).into())).skip(5));
    proxy.add(Rule::new(writes().user_agent("two"), Fault::LoseAnswer).skip(2).times(2));
    tokio::time::sleep(4 * LEASE).await;
    three.kill();
    tokio::time::sleep(4 * LEASE).await;
    proxy.clear();
    tokio::time::sleep(2 * LEASE).await;
    assert!(one.is_sure() != two.is_sure(), "in the end one leads");
    assert!(!referee.is_finished(), "never two");
}

/// What an answer proves counts from before the question: the others saw the write while we waited for the answer.
#[tokio::test]
async fn a_slow_answer_shortens_the_time_of_being_sure() {
    let Some(cluster) = cluster().await else { return };
    let proxy = cluster.proxy().await.expect("a proxy");
    let client = behind(&cluster, &proxy, "one").await;
    client.apiserver_version().await.expect("connected");
    let slow = Duration::from_millis(700);
    proxy.add(Rule::new(writes(), Fault::Delay(slow.into())).times(1));
    proxy.add(Rule::new(writes(), Fault::Drop).skip(1));
    let asked = Instant::now();
    let mut one = Candidate::start(client, "slow", "one");
    let leads = one.leads(1).await;
    let first = one.terms.borrow()[0].clone();
    first.lost().await;
    assert!(leads - asked >= slow);
    assert!(leads.elapsed() < DEADLINE - slow / 2, "sure for {:?}", leads.elapsed());
}

#[tokio::test]
async fn a_lost_answer_costs_no_leadership_and_a_foreign_write_does() {
    let Some(cluster) = cluster().await else { return };
    let proxy = cluster.proxy().await.expect("a proxy");
    let mut one = Candidate::start(behind(&cluster, &proxy, "one").await, "conflict", "one");
    one.leads(1).await;
    let lost = proxy.add(Rule::new(writes(), Fault::LoseAnswer).times(2));
    tokio::time::sleep(LEASE).await;
    assert_eq!(lost.hits(), 2);
    assert!(one.is_sure() && one.terms.borrow().len() == 1, "its own write is no conflict");

    // Somebody else writes between two renewals: the next one conflicts, and it is over long before the deadline.
    let now = Instant::now();
    let theirs = json!({"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 2}});
    leases(&cluster)
        .patch("conflict", &PatchParams::default(), &Patch::Merge(&theirs))
        .await
        .expect("written");
    let first = one.terms.borrow()[0].clone();
    first.lost().await;
    assert!(now.elapsed() < DEADLINE, "after {:?}", now.elapsed());
    assert_eq!(held_by(&cluster, "conflict").await.as_deref(), Some("somebody"), "no blind write");
    let again = one.leads(2).await;
    assert!(again - now >= Duration::from_secs(2), "their own lease counts");

    // Somebody removes it while another one holds it: that one may not know yet.
    let mut two = Candidate::start(cluster.client(), "conflict", "two");
    tokio::time::sleep(3 * RETRY).await;
    proxy.add(Rule::new(Which::any(), Fault::Drop));
    leases(&cluster).delete("conflict", &Default::default()).await.expect("removed");
    let removed = Instant::now();
    let began = two.leads(1).await;
    assert!(!one.is_sure() && began - removed >= LEASE - RETRY, "after {:?}", began - removed);
}

#[tokio::test]
async fn who_waits_watches_instead_of_asking() {
    let Some(cluster) = cluster().await else { return };
    let proxy = cluster.proxy().await.expect("a proxy");
    let mut one = Candidate::start(cluster.client(), "quiet", "one");
    one.leads(1).await;
    let mut two = Candidate::start(behind(&cluster, &proxy, "two").await, "quiet", "two");
    tokio::time::sleep(2 * LEASE).await;
    let asked = |verb| proxy.arrived(&Which::verbs([verb]).of("leases"));
    assert_eq!((asked(Verb::Get), asked(Verb::Watch), proxy.arrived(&writes())), (1, 1, 0));

    // Without a watch it asks now and then, and still takes over at once.
    proxy.add(Rule::new(Which::verbs([Verb::Watch]), Fault::CutWatch { after_events: 0 }));
    tokio::time::sleep(LEASE).await;
    assert!((4..30).contains(&asked(Verb::Get)), "{}", asked(Verb::Get));
    let left = Instant::now();
    one.shut_down().await;
    assert!(two.leads(1).await - left < LEASE / 2);
}
