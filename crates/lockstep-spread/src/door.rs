//! The way through the host to its members: `clusters/<name>/proxy`.

use std::collections::BTreeMap;

use http::{Request, Uri};
use kube::Client;
use kube::client::Body;

use crate::Member;

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/";

/// A client of the host that reaches the members, too, where Karmada's API server would pass requests on to them.
pub fn door(host: Client, members: &[Member]) -> Client {
    let members: BTreeMap<String, Client> =
        members.iter().map(|member| (member.name.clone(), member.client.clone())).collect();
    let send = move |mut request: Request<Body>| {
        let inside = inside(request.uri()).and_then(|(name, uri)| Some((members.get(&name)?.clone(), uri)));
        let to = match inside {
            Some((member, uri)) => {
                *request.uri_mut() = uri;
                member
            }
            None => host.clone(),
        };
        async move { to.send(request).await }
    };
    Client::new(tower::service_fn(send), "default")
}

/// The member that is asked for, and what it is asked.
fn inside(uri: &Uri) -> Option<(String, Uri)> {
    let asked = uri.path_and_query()?.as_str().strip_prefix(CLUSTERS)?;
    let (name, rest) = asked.split_once("/proxy")?;
    let rest = if rest.is_empty() { "/" } else { rest };
    (!name.contains('/') && rest.starts_with(['/', '?']))
        .then(|| Some((name.to_owned(), rest.parse().ok()?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_way_to_a_member_leads_there() {
        for (asked, found) in [
            (
                "/apis/cluster.karmada.io/v1alpha1/clusters/a/proxy/api/v1/pods?watch=1",
                Some(("a", "/api/v1/pods?watch=1")),
            ),
            ("/apis/cluster.karmada.io/v1alpha1/clusters/a/proxy", Some(("a", "/"))),
            ("/apis/cluster.karmada.io/v1alpha1/clusters/a", None),
            ("/apis/cluster.karmada.io/v1alpha1/clusters/a/proxying/api", None),
            ("/api/v1/pods", None),
        ] {
            let inside = inside(&asked.parse().unwrap());
            let told = inside.as_ref().map(|(name, uri)| (name.as_str(), uri.to_string()));
            assert_eq!(told, found.map(|(name, uri)| (name, uri.to_owned())), "{asked}");
        }
    }
}
