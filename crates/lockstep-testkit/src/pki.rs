//! Certificates of a cluster that lives for one test.

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// A certificate could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate for {name}: {source}")]
pub struct PkiError {
    name: String,
    source: rcgen::Error,
}

/// Somebody who signs certificates.
#[derive(Debug)]
pub struct Authority {
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, both as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate_pem: String,
    /// Its private key (PKCS #8).
    pub key_pem: String,
}

impl Authority {
    /// A new authority that nobody knows yet.
    pub fn new(name: &str) -> Result<Self, PkiError> {
        let fail = |source| PkiError { name: name.to_owned(), source };
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().map_err(fail)?;
        let certificate_pem = params.self_signed(&key).map_err(fail)?.pem();
        Ok(Self { certificate_pem, issuer: Issuer::new(params, key) })
    }

    /// Its own certificate: what a client must trust.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// A certificate for a server on this machine, known by these DNS names as well.
    pub fn serve(&self, names: &[&str]) -> Result<Identity, PkiError> {
        let name = names.first().copied().unwrap_or("localhost");
        let fail = |source| PkiError { name: name.to_owned(), source };
        let local = ["localhost", "127.0.0.1"];
        let all: Vec<String> = local.iter().chain(names).map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(all).map_err(fail)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(fail)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(fail)?;
        Ok(Identity { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }

    /// A certificate by which a person or program says who it is: its name, and its groups.
    pub fn user(&self, name: &str, groups: &[&str]) -> Result<Identity, PkiError> {
        let fail = |source| PkiError { name: name.to_owned(), source };
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().map_err(fail)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(fail)?;
        Ok(Identity { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }
}

/// A key pair as PEM, private and public, for signing tokens.
pub fn signing_key() -> Result<(String, String), PkiError> {
    let key =
        KeyPair::generate().map_err(|source| PkiError { name: "service accounts".to_owned(), source })?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
