//! Making authorities and certificates.

use std::time::Duration;

use jiff::Timestamp;
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use time::OffsetDateTime;

use super::next::Next;
use super::stored::{Stored, first, split};
use super::{Lifetimes, PkiError};

/// Carries out what is to be done: what is to be stored instead.
pub fn issue(
    next: Next,
    stored: Option<&Stored>,
    names: &[String],
    lives: &Lifetimes,
    now: Timestamp,
) -> Result<Stored, PkiError> {
    match (next, stored) {
        (Next::Keep { .. }, Some(stored)) => Ok(stored.clone()),
        (Next::Publish, Some(stored)) => {
            let (authority, authority_key) = authority(lives, now)?;
            let authorities = authority + &still_good(&stored.authorities, now);
            Ok(Stored { authorities, authority_key, ..stored.clone() })
        }
        (Next::Sign, Some(stored)) => sign(stored, names, lives, now),
        (Next::Forget, Some(stored)) => {
            Ok(Stored { authorities: still_good(&stored.authorities, now), ..stored.clone() })
        }
        (Next::Anew, _) | (_, None) => {
            let (authority, authority_key) = authority(lives, now)?;
            // Other replicas may still show a certificate of an authority that stood here.
            let before = stored.map(|stored| still_good(&stored.authorities, now)).unwrap_or_default();
            let (certificate, key) = (String::new(), String::new());
            let stored = Stored { authorities: authority + &before, authority_key, certificate, key };
            sign(&stored, names, lives, now)
        }
    }
}

/// A new authority, with its key. No two have the same name, so that it is clear who signed what.
fn authority(lives: &Lifetimes, now: Timestamp) -> Result<(String, String), PkiError> {
    let make = |source| PkiError::Make { what: "an authority", source };
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("lockstep-webhook-ca-{now}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = validity(now, lives.authority, lives.skew);
    let key = KeyPair::generate().map_err(make)?;
    Ok((params.self_signed(&key).map_err(make)?.pem(), key.serialize_pem()))
}

/// The same with another certificate, by the newest authority.
fn sign(stored: &Stored, names: &[String], lives: &Lifetimes, now: Timestamp) -> Result<Stored, PkiError> {
    let make = |source| PkiError::Make { what: "a certificate", source };
    let authorities = split("the authorities", &stored.authorities)?;
    let newest = first("the authorities", &authorities)?;
    let authority_key = KeyPair::from_pem(&stored.authority_key).map_err(make)?;
    let issuer = Issuer::from_ca_cert_der(newest, authority_key).map_err(make)?;
    let mut params = CertificateParams::new(names).map_err(make)?;
    let name = names.first().map_or("lockstep-webhook", String::as_str);
    // A common name has at most 64 letters, and nobody looks at it.
    params.distinguished_name.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = validity(now, lives.certificate, lives.skew);
    let key = KeyPair::generate().map_err(make)?;
    let certificate = params.signed_by(&key, &issuer).map_err(make)?.pem();
    Ok(Stored { certificate, key: key.serialize_pem(), ..stored.clone() })
}

fn validity(now: Timestamp, life: Duration, skew: Duration) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::from_unix_timestamp(now.as_second()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    (now - skew, now + life)
}

/// The certificates of a PEM text that have not expired and can be read, as they stand.
fn still_good(pem: &str, now: Timestamp) -> String {
    let good = |der: &CertificateDer<'_>| {
        let parsed = x509_parser::parse_x509_certificate(der);
        parsed.is_ok_and(|(_, certificate)| certificate.validity().not_after.timestamp() > now.as_second())
    };
    let text = |der: &CertificateDer<'_>| {
        let unix = EncodeConfig::new().set_line_ending(LineEnding::LF);
        pem::encode_config(&Pem::new("CERTIFICATE", der.as_ref()), unix)
    };
    let all = split("the authorities", pem).unwrap_or_default();
    all.iter().filter(|der| good(der)).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::super::next::next;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    /// What is made says of itself what it was made to say, through a whole change of authorities.
    #[test]
    fn from_nothing_to_the_second_authority() {
        let lives = Lifetimes {
            authority: Duration::from_secs(3000),
            certificate: Duration::from_secs(900),
            overlap: Duration::from_secs(10),
            skew: Duration::from_secs(5),
        };
        let names = ["hook.x.svc".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        let step = |stored: Option<&Stored>, now: i64| {
            let known = stored.map(|stored| stored.read().expect("readable"));
            let next = next(at(now), known.as_ref(), &names, &lives);
            (next, issue(next, stored, &names, &lives, at(now)).expect("made"))
        };
        let (what, first) = step(None, 0);
        assert_eq!(what, Next::Anew);
        let known = first.read().expect("readable");
        assert_eq!((known.certificate.from, known.certificate.until), (at(-5), at(900)));
        assert_eq!((known.authorities[0].from, known.authorities[0].until), (at(-5), at(3000)));
        assert_eq!(known.certificate.names, names);
        assert_eq!(known.certificate.issuer, known.authorities[0].subject);
        assert!(matches!(step(Some(&first), 1).0, Next::Keep { .. }));

        let (what, renewed) = step(Some(&first), 700);
        assert_eq!((what, &renewed.authorities), (Next::Sign, &first.authorities));
        assert_ne!(renewed.certificate, first.certificate);

        let (_, late) = step(Some(&first), 1900);
        let (what, published) = step(Some(&late), 2000);
        assert_eq!((what, &published.certificate), (Next::Publish, &late.certificate));
        assert!(
            published.authorities.ends_with(&first.authorities) && published.authorities != first.authorities
        );
        let (what, signed) = step(Some(&published), 2010);
        assert_eq!((what, &signed.authorities), (Next::Sign, &published.authorities));
        let known = signed.read().expect("readable");
        assert_eq!(known.certificate.issuer, known.authorities[0].subject);
        assert_eq!(known.authorities.len(), 2);

        let (_, later) = step(Some(&signed), 2900);
        let (what, forgotten) = step(Some(&later), 3000);
        assert_eq!(what, Next::Forget);
        assert!(signed.authorities.starts_with(&forgotten.authorities));
        assert_eq!(forgotten.read().expect("readable").authorities.len(), 1);
        assert_eq!(forgotten.to_data().len(), 4);
        assert_eq!(Stored::from_data(&forgotten.to_data()), Some(forgotten));

        // What was mixed up by hand is not read, and so it is made anew.
        for mixed in [
            Stored { key: first.key.clone(), ..signed.clone() },
            Stored { authority_key: first.authority_key.clone(), ..signed.clone() },
            Stored { certificate: String::new(), ..signed.clone() },
            Stored { authorities: "nonsense".to_owned(), ..signed.clone() },
        ] {
            assert!(mixed.read().is_err());
            assert!(issue(Next::Anew, Some(&mixed), &names, &lives, at(2010)).expect("made").read().is_ok());
        }
    }
}
