//! Lists that are older than they could be, as far as they may be.

use http::Uri;

use crate::request::Query;

use super::link::Link;

/// The same request, for the state of a little while ago; nothing if it has to be answered with what stands.
/// `oldest` and `newest` are the revisions the server knows.
pub(super) fn stale(link: &Link, uri: &Uri, (oldest, newest): (u64, u64)) -> Option<Uri> {
    let lists = link.profile().lists;
    let least = not_older_than(&Query::read(uri.query().unwrap_or_default()))?;
    let mut dice = link.dice();
    if link.is_calm() || !dice.chance(lists.stale) {
        return None;
    }
    let behind = dice.below(lists.behind.saturating_add(1));
    let revision = newest.saturating_sub(behind).max(least).max(oldest);
    let kept = uri.query().unwrap_or_default().split('&');
    let kept = kept.filter(|pair| !pair.starts_with("resourceVersion")).map(|pair| format!("{pair}&"));
    let kept: String = kept.collect();
    let exact = format!("resourceVersion={revision}&resourceVersionMatch=Exact");
    format!("{}?{kept}{exact}", uri.path()).parse().ok()
}

/// The oldest state a list may be answered with; nothing if it says which it wants.
fn not_older_than(query: &Query) -> Option<u64> {
    let named = query.get("resourceVersion").filter(|version| !version.is_empty())?;
    let version: u64 = named.parse().ok()?;
    let goes_on = query.get("continue").is_some_and(|token| !token.is_empty());
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    // Pages of a version are pages of that very version, unless another is asked for.
    let exact = matching.is_empty() && version > 0 && query.get("limit").is_some();
    let open = !goes_on && !exact && matches!(matching, "" | "NotOlderThan");
    (open && !query.says("watch")).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::super::profile::{Lists, Profile};
    use super::*;

    #[test]
    fn no_list_is_older_than_it_may_be() {
        let lists = Lists { stale: 1000, behind: 50 };
        let now = tokio::time::Instant::now();
        let link = Link::new(Profile { lists, ..Profile::default() }, 1, now);
        let rows = [
            ("", None),
            ("watch=true&resourceVersion=0", None),
            ("resourceVersion=95&resourceVersionMatch=Exact", None),
            ("resourceVersion=95&limit=5", None),
            ("resourceVersion=0&continue=x", None),
            ("resourceVersion=0", Some(60)),
            ("resourceVersion=0&limit=5", Some(60)),
            ("resourceVersion=95&resourceVersionMatch=NotOlderThan", Some(95)),
            ("resourceVersion=95", Some(95)),
        ];
        for (query, least) in rows {
            for _ in 0..50 {
                let uri: Uri = format!("/api/v1/pods?{query}").parse().expect("a URI");
                let answered = stale(&link, &uri, (60, 100));
                assert_eq!(answered.is_some(), least.is_some(), "{query}");
                let Some((answered, least)) = answered.zip(least) else { continue };
                let query = Query::read(answered.query().unwrap_or_default());
                let revision = query.get("resourceVersion").and_then(|version| version.parse::<u64>().ok());
                assert!(revision.is_some_and(|revision| (least..=100).contains(&revision)), "{answered}");
                assert_eq!(query.get("resourceVersionMatch"), Some("Exact"));
            }
        }
    }
}
