//! Certificates and keys in PEM files.

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

/// Reads the certificates of a file, at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    all(path, "certificate")
}

/// Reads the lists of revoked certificates in a file.
pub(crate) fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    all(path, "list of revoked certificates")
}

/// Reads the private key of a file.
pub(crate) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| wrong(path, "private key", &error))
}

/// Reads certificates of authorities.
pub(crate) fn roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(roots)
}

fn all<T: PemObject>(path: &Path, what: &str) -> Result<Vec<T>, String> {
    let found: Result<Vec<T>, _> = T::pem_file_iter(path).and_then(Iterator::collect);
    let found = found.map_err(|error| wrong(path, what, &error))?;
    if found.is_empty() { Err(format!("{}: found no {what} in PEM form", path.display())) } else { Ok(found) }
}

fn wrong(path: &Path, what: &str, error: &rustls::pki_types::pem::Error) -> String {
    use rustls::pki_types::pem::Error;
    match error {
        Error::Io(error) => format!("{}: {error}", path.display()),
        Error::NoItemsFound => format!("{}: found no {what} in PEM form", path.display()),
        error => format!("{}: expected a {what} in PEM form: {error}", path.display()),
    }
}
