//! From what stands in all clusters to what is on the screen, and to lines. Pure.

use lockstep_api::federation::{FederatedRollout, FederatedRolloutStatus, MemberStatus};
use lockstep_core::time::Time;
use serde_json::Value;

use super::demo::{NAME, NAMESPACE};
use crate::exit::Exit;
use crate::show::spread::{ended, seen};
use crate::view::scene::{RoleScene, RuleScene, SetScene, State, Tone};

/// The phase of a template that nobody has looked at yet.
pub const UNSEEN: &str = "Unseen";

/// What stands everywhere.
#[derive(Debug, Clone)]
pub struct Sight {
    pub rollout: Option<FederatedRollout>,
    pub template: Value,
    pub members: Vec<MemberSight>,
    pub at: Time,
}

/// What stands in a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSight {
    pub name: String,
    /// It cannot be reached from the host.
    pub cut: bool,
    pub pods: Vec<PodSight>,
}

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodSight {
    pub image: String,
    pub ready: bool,
    pub leaving: bool,
}

impl MemberSight {
    fn ready(&self) -> u32 {
        let ready = self.pods.iter().filter(|pod| pod.ready && !pod.leaving).count();
        u32::try_from(ready).unwrap_or(u32::MAX)
    }
}

impl Sight {
    /// The image that is wished for.
    pub fn image(&self) -> &str {
        self.template["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default()
    }

    /// The generation of the template.
    pub fn generation(&self) -> Option<i64> {
        self.template["metadata"]["generation"].as_i64()
    }

    /// Where the rollout stands; nothing while nobody has looked at this template.
    pub fn phase(&self) -> &str {
        let seen = self.rollout.as_ref().and_then(|it| seen(it, self.generation()));
        seen.map_or(UNSEEN, |it| it.phase.as_str())
    }

    /// How it ended, if it is at its end.
    pub fn ended(&self) -> Option<Exit> {
        ended(self.rollout.as_ref()?, self.generation())
    }

    fn status(&self) -> Option<&FederatedRolloutStatus> {
        self.rollout.as_ref()?.status.as_ref()
    }

    /// What the ledger says of a cluster.
    fn granted(&self, cluster: &str) -> Option<&MemberStatus> {
        self.status()?.members.iter().find(|it| it.cluster == cluster)
    }

    /// What it waits for.
    pub fn waiting_for(&self) -> &str {
        self.status().map_or("", |it| it.waiting_for.as_str())
    }

    /// The rollout as it is shown: a bar for each cluster.
    pub fn scene(&self) -> SetScene {
        let phase = self.phase();
        let tone = if phase == "Complete" { Tone::Good } else { Tone::Warn };
        let count = |is: &dyn Fn(&MemberSight) -> bool| {
            u32::try_from(self.members.iter().filter(|it| is(it)).count()).unwrap_or(u32::MAX)
        };
        let why = match self.waiting_for() {
            "" => String::new(),
            waiting => format!("Waiting: {waiting}"),
        };
        SetScene {
            name: NAME.to_owned(),
            namespace: NAMESPACE.to_owned(),
            phase: phase.to_owned(),
            tone,
            names: vec![self.image().to_owned()],
            groups: count(&|_| true),
            groups_updated: count(&|it| self.granted(&it.name).is_some_and(|it| it.complete)),
            groups_ready: count(&|it| it.ready() >= self.wished(it)),
            roles: self.members.iter().map(|member| self.bar(member)).collect(),
            rules: self.members.iter().map(|member| self.rule(member)).collect(),
            why_short: why.clone(),
            why,
            over_clusters: true,
            ..SetScene::default()
        }
    }

    fn wished(&self, member: &MemberSight) -> u32 {
        self.granted(&member.name).map_or(0, |it| it.replicas)
    }

    fn bar(&self, member: &MemberSight) -> RoleScene {
        let wished = self.wished(member);
        let (leaving, staying): (Vec<&PodSight>, Vec<&PodSight>) =
            member.pods.iter().partition(|pod| pod.leaving);
        let mut states: Vec<State> = staying.iter().map(|pod| self.state(pod)).collect();
        states.extend(leaving.iter().map(|_| State::Leaving));
        let room = usize::try_from(wished).unwrap_or(usize::MAX);
        let beyond = states.split_off(room.min(states.len()));
        states.resize(room, State::Missing);
        RoleScene { group: None, role: member.name.clone(), wished, instances: states, beyond }
    }

    fn state(&self, pod: &PodSight) -> State {
        match (pod.image == self.image(), pod.ready) {
            (true, true) => State::New,
            (true, false) => State::Coming,
            (false, true) => State::Old,
            (false, false) => State::Broken,
        }
    }

    fn rule(&self, member: &MemberSight) -> RuleScene {
        let granted = self.granted(&member.name);
        let at_rest = granted.is_none_or(|it| it.complete && it.waiting_for.is_empty()) && !member.cut;
        RuleScene { rule: member.name.clone(), step: None, text: self.grant(member), at_rest }
    }

    /// What a cluster may do, what of that it knows, and what it waits for.
    fn grant(&self, member: &MemberSight) -> String {
        let Some(it) = self.granted(&member.name) else { return "nothing granted yet".to_owned() };
        let known = it.acknowledged.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let mut text = format!("granted {}+{}, lease {known}/{}", it.max_unavailable, it.max_surge, it.lease);
        if member.cut {
            text += ", cut off";
        }
        if !it.waiting_for.is_empty() {
            text += &format!(", waits: {}", it.waiting_for);
        }
        text
    }

    /// The pods of a cluster in a line, and what it may do to them; nothing while nothing was granted to it.
    pub fn line(&self, member: &MemberSight) -> Option<String> {
        let granted = self.granted(&member.name)?;
        let staying = || member.pods.iter().filter(|pod| !pod.leaving);
        let new = staying().filter(|pod| pod.image == self.image()).count();
        let (old, ready) = (staying().count() - new, member.ready());
        let counts = format!("{}: {old} old, {new} new, {ready} of {} ready", member.name, granted.replicas);
        Some(match (granted.max_unavailable, granted.max_surge) {
            (0, 0) => counts,
            (down, surge) => format!("{counts}; may have {down} unavailable, {surge} too many"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(image: &str, ready: bool, leaving: bool) -> PodSight {
        PodSight { image: image.to_owned(), ready, leaving }
    }

    #[test]
    fn a_cluster_is_a_bar_and_a_line() {
        let member = MemberSight {
            name: "east".to_owned(),
            cut: true,
            pods: vec![
                pod("v2", true, false),
                pod("v2", false, false),
                pod("v1", true, true),
                pod("v1", true, false),
            ],
        };
        let status = MemberStatus {
            cluster: "east".to_owned(),
            replicas: 3,
            lease: 14,
            acknowledged: Some(13),
            max_unavailable: 2,
            max_surge: 1,
            waiting_for: "it is not reachable".to_owned(),
            ..MemberStatus::default()
        };
        let sight = Sight {
            rollout: Some(FederatedRollout {
                status: Some(FederatedRolloutStatus {
                    members: vec![status],
                    ..FederatedRolloutStatus::default()
                }),
                ..FederatedRollout::default()
            }),
            template: json!({"spec": {"template": {"spec": {"containers": [{"image": "v2"}]}}}}),
            members: vec![member.clone()],
            at: Time(0),
        };
        let bar = &sight.scene().roles[0];
        assert_eq!(bar.instances, [State::New, State::Coming, State::Old]);
        assert_eq!(bar.beyond, [State::Leaving]);
        let text = "granted 2+1, lease 13/14, cut off, waits: it is not reachable";
        assert_eq!(sight.scene().rules[0].text, text);
        let line = "east: 1 old, 2 new, 2 of 3 ready; may have 2 unavailable, 1 too many";
        assert_eq!(sight.line(&member).as_deref(), Some(line));
    }
}
