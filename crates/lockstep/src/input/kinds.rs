//! Further kinds that may be spread over clusters: a list of where their fields stand.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use lockstep_core::align::Kind;
use lockstep_federation::interpret::{Interpretation, Kinds};

/// The kinds that are built in, and those of a file.
pub fn read(file: Option<&Path>) -> Result<Kinds> {
    let Some(file) = file else { return Ok(Kinds::default()) };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let given = parse(&text).with_context(|| format!("{} is no list of kinds", file.display()))?;
    Ok(Kinds::with(given))
}

fn parse(text: &str) -> Result<Vec<Interpretation>> {
    let value = lockstep_api::yaml_to_json(text).map_err(|problems| {
        anyhow!(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    })?;
    let given: Vec<Interpretation> = serde_path_to_error::deserialize(value)?;
    for (i, kind) in given.iter().enumerate() {
        check(kind, &given[..i]).with_context(|| format!("[{i}] {} {}", kind.api_version, kind.kind))?;
    }
    Ok(given)
}

fn check(kind: &Interpretation, before: &[Interpretation]) -> Result<()> {
    if before.iter().any(|it| it.api_version == kind.api_version && it.kind == kind.kind) {
        bail!("is given twice");
    }
    // Its counts prove nothing before its ReplicaSets are settled, and another kind has none.
    if kind.like == Kind::Deployment && kind.kind != "Deployment" {
        bail!(
            "like: Deployment is for Deployments alone, whose ReplicaSets are looked at; say like: CloneSet"
        );
    }
    match kind.missing()[..] {
        [] => Ok(()),
        ref missing => bail!("like: {:?} needs {}, or it could not be held", kind.like, missing.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALED: &str = "
- apiVersion: example.com/v1
  kind: Farm
  like: CloneSet
  template: [spec.pod]
  replicas: spec.size
  maxUnavailable: spec.rolling.away
  partition: spec.rolling.old
  maxSurge: spec.rolling.more
  paused: spec.rolling.paused
  counts: {ready: live}
";

    #[test]
    fn a_kind_is_where_its_fields_stand() {
        let given = parse(SCALED).unwrap();
        assert_eq!((given.len(), given[0].counts.ready.as_str()), (1, "live"));
        assert_eq!(given[0].counts.updated, "updatedReplicas");
    }

    #[test]
    fn what_is_wrong_names_the_field_and_what_is_accepted() {
        for (from, to, said) in [
            ("spec.size", "spec..size", "\"spec..size\" is no path of field names"),
            ("like: CloneSet", "like: Job", "expected one of `Deployment`, `CloneSet`"),
            ("replicas: spec.size", "", "missing field `replicas`"),
            ("maxUnavailable", "maxAway", "unknown field `maxAway`"),
            ("  paused: spec.rolling.paused\n", "", "like: CloneSet needs paused"),
            ("like: CloneSet", "like: Deployment", "is for Deployments alone"),
        ] {
            let error = format!("{:#}", parse(&SCALED.replace(from, to)).unwrap_err());
            assert!(error.contains("[0]") && error.contains(said), "{error}");
        }
    }
}
