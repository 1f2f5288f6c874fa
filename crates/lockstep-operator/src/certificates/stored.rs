//! What is kept in the Secret, and what it says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use rcgen::{KeyPair, PublicKeyData};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::PkiError;

/// The authorities an API server is to trust, newest first.
const AUTHORITIES: &str = "ca.crt";
/// The key of the newest.
const AUTHORITY_KEY: &str = "ca.key";
/// The certificate that is shown.
const CERTIFICATE: &str = "tls.crt";
/// Its key.
const KEY: &str = "tls.key";

/// The content of the Secret, each part as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The authorities to be trusted, newest first.
    pub authorities: String,
    /// The key of the newest authority.
    pub authority_key: String,
    /// The certificate that is shown.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// What a certificate says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Whose it is.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// Good from.
    pub from: Timestamp,
    /// Good until.
    pub until: Timestamp,
    /// The names it is good for.
    pub names: Vec<String>,
}

/// What the whole Secret says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The authorities, newest first; at least one.
    pub authorities: Vec<Facts>,
    /// The certificate that is shown.
    pub certificate: Facts,
}

impl Stored {
    /// Reads it from a Secret's data; nothing if a part is missing.
    pub fn from_data(data: &BTreeMap<String, ByteString>) -> Option<Self> {
        let part = |key: &str| data.get(key).and_then(|bytes| String::from_utf8(bytes.0.clone()).ok());
        Some(Self {
            authorities: part(AUTHORITIES)?,
            authority_key: part(AUTHORITY_KEY)?,
            certificate: part(CERTIFICATE)?,
            key: part(KEY)?,
        })
    }

    /// As a Secret's data.
    pub fn to_data(&self) -> BTreeMap<String, ByteString> {
        let part = |key: &str, pem: &str| (key.to_owned(), ByteString(pem.as_bytes().to_vec()));
        BTreeMap::from([
            part(AUTHORITIES, &self.authorities),
            part(AUTHORITY_KEY, &self.authority_key),
            part(CERTIFICATE, &self.certificate),
            part(KEY, &self.key),
        ])
    }

    /// What the certificates say; an error if one cannot be read, or a key is not that of its certificate.
    pub fn read(&self) -> Result<Known, PkiError> {
        let authorities = split("the authorities", &self.authorities)?;
        let chain = split("the certificate", &self.certificate)?;
        let newest = first("the authorities", &authorities)?;
        let shown = first("the certificate", &chain)?;
        fits("the authorities", newest, &self.authority_key)?;
        fits("the certificate", shown, &self.key)?;
        let authorities =
            authorities.iter().map(|der| facts("the authorities", der)).collect::<Result<_, _>>()?;
        Ok(Known { authorities, certificate: facts("the certificate", shown)? })
    }
}

/// The certificates of a PEM text.
pub(super) fn split(what: &'static str, pem: &str) -> Result<Vec<CertificateDer<'static>>, PkiError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    all.map_err(|error| PkiError::Read { what, reason: error.to_string() })
}

pub(super) fn first<'a, T>(what: &'static str, all: &'a [T]) -> Result<&'a T, PkiError> {
    all.first().ok_or(PkiError::Read { what, reason: "there is none".to_owned() })
}

fn parsed<'a>(what: &'static str, der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, PkiError> {
    let read = X509Certificate::from_der(der);
    read.map(|(_, certificate)| certificate)
        .map_err(|error| PkiError::Read { what, reason: error.to_string() })
}

/// The key is that of the certificate.
fn fits(what: &'static str, der: &CertificateDer<'_>, key: &str) -> Result<(), PkiError> {
    let key = KeyPair::from_pem(key).map_err(|source| PkiError::Make { what, source })?;
    if parsed(what, der)?.public_key().raw == key.subject_public_key_info() {
        return Ok(());
    }
    Err(PkiError::Read { what, reason: "the key is another one's".to_owned() })
}

fn facts(what: &'static str, der: &CertificateDer<'_>) -> Result<Facts, PkiError> {
    let read = |reason: String| PkiError::Read { what, reason };
    let certificate = parsed(what, der)?;
    let time = |at: x509_parser::time::ASN1Time| {
        Timestamp::from_second(at.timestamp()).map_err(|error| read(error.to_string()))
    };
    let alternatives = certificate.subject_alternative_name().map_err(|error| read(error.to_string()))?;
    let names = alternatives.iter().flat_map(|extension| &extension.value.general_names);
    Ok(Facts {
        subject: certificate.subject().to_string(),
        issuer: certificate.issuer().to_string(),
        from: time(certificate.validity().not_before)?,
        until: time(certificate.validity().not_after)?,
        names: names.filter_map(name).collect(),
    })
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match **bytes {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(a, b, c, d).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|b| std::net::Ipv6Addr::from(b).to_string()),
        },
        _ => None,
    }
}
