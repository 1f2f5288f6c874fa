//! `--clusters member1=4,member2=6`: a split without a file.

use std::str::FromStr;

use serde_json::{Value, json};

/// Clusters and how many pods each is to have, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters(Vec<(String, u32)>);

impl Clusters {
    /// The binding that says the same.
    pub fn to_binding(&self) -> Value {
        let total: u64 = self.0.iter().map(|(_, n)| u64::from(*n)).sum();
        let clusters: Vec<Value> =
            self.0.iter().map(|(name, replicas)| json!({"name": name, "replicas": replicas})).collect();
        json!({"kind": "ResourceBinding", "spec": {"replicas": total, "clusters": clusters}})
    }
}

impl FromStr for Clusters {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut clusters: Vec<(String, u32)> = Vec::new();
        for part in text.split(',') {
            let read = part.split_once('=').map(|(name, n)| (name.trim(), n.trim().parse::<u32>()));
            let (name, replicas) = match read {
                Some((name, Ok(replicas))) if !name.is_empty() => (name, replicas),
                _ => return Err(format!("{part:?}: must be a cluster and its replicas such as member1=4")),
            };
            if clusters.iter().any(|(known, _)| known == name) {
                return Err(format!("{name:?} is named twice; each cluster is named once"));
            }
            clusters.push((name.to_owned(), replicas));
        }
        Ok(Self(clusters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_and_their_replicas() {
        let of = |it: &[(&str, u32)]| Ok(Clusters(it.iter().map(|(c, n)| ((*c).to_owned(), *n)).collect()));
        assert_eq!("member1=4,member2=6".parse(), of(&[("member1", 4), ("member2", 6)]));
        assert_eq!("b=0, a=1".parse(), of(&[("b", 0), ("a", 1)]));
        for text in ["", "a", "a=", "=3", "a=-1", "a=1,,b=2", "a=1,a=2"] {
            assert!(text.parse::<Clusters>().is_err(), "{text}");
        }
    }
}
