//! Whom a collector trusts, and what it shows them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, ServerConfig};

use crate::access::files::FromFiles;
use crate::access::pem;
use crate::access::token::Tokens;
use crate::segment::Host;

/// The files of a collector.
#[derive(Debug, Clone, Default)]
pub struct ServerFiles {
    /// Its certificate, and those of the authorities up to the root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Certificates of authorities whose hosts it accepts.
    pub client_ca: Option<PathBuf>,
    /// Lists of revoked certificates.
    pub revoked: Option<PathBuf>,
    /// Tokens that it accepts.
    pub tokens: Option<PathBuf>,
}

/// How a collector accepts hosts.
pub struct ServerAccess(FromFiles<Keys>);

struct Keys {
    config: Arc<ServerConfig>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    tokens: Tokens,
}

/// What a shipper has shown.
#[derive(Clone)]
pub(crate) struct Peer {
    /// Its certificate, and those of authorities.
    pub(crate) certificates: Vec<CertificateDer<'static>>,
    pub(crate) token: String,
}

impl ServerAccess {
    /// Reads the files.
    ///
    /// # Errors
    /// Which file is wrong, and why.
    pub fn new(files: ServerFiles) -> Result<ServerAccess, String> {
        if files.client_ca.is_none() && files.tokens.is_none() {
            return Err("nothing says which hosts are accepted; expected --client-ca or --tokens".to_owned());
        }
        let ServerFiles { certificate, key, client_ca, revoked, tokens } = files.clone();
        let paths = [Some(certificate), Some(key), client_ca, revoked, tokens].into_iter().flatten();
        FromFiles::new(paths, move || Keys::read(&files)).map(ServerAccess)
    }

    /// Returns the settings of TLS as they are now. `problem` is told why changed files cannot be
    /// used.
    pub(crate) fn tls(&self, problem: impl FnOnce(String)) -> Arc<ServerConfig> {
        let current = self.0.get();
        if let Some(why) = current.problem {
            problem(why);
        }
        current.value.config.clone()
    }

    /// Checks that a shipper is the host that it claims to be, now.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn check(&self, host: &Host, peer: &Peer) -> Result<(), String> {
        let keys = self.0.get().value;
        if let Some(verifier) = &keys.verifier
            && let Some((own, others)) = peer.certificates.split_first()
        {
            verifier.verify_client_cert(own, others, UnixTime::now()).map_err(|error| refusal(&error))?;
            return is_named(own, host);
        }
        if peer.token.is_empty() {
            return Err("it showed neither a certificate nor a token".to_owned());
        }
        keys.tokens.check(host, &peer.token)
    }
}

impl Keys {
    fn read(files: &ServerFiles) -> Result<Keys, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tokens = files.tokens.as_deref().map(Tokens::read).transpose()?;
        let verifier = match &files.client_ca {
            Some(path) => Some(verifier(path, files.revoked.as_deref(), tokens.is_some(), &provider)?),
            None => None,
        };
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match &verifier {
            Some(verifier) => builder.with_client_cert_verifier(verifier.clone()),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(pem::certificates(&files.certificate)?, pem::key(&files.key)?)
            .map_err(|error| format!("{}: {error}", files.certificate.display()))?;
        // A session that is resumed would not show its certificate again, which may be revoked.
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Keys { config: Arc::new(config), verifier, tokens: tokens.unwrap_or_default() })
    }
}

fn verifier(
    authorities: &Path,
    revoked: Option<&Path>,
    has_tokens: bool,
    provider: &Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let roots = Arc::new(pem::roots(authorities)?);
    let mut builder = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
    if let Some(path) = revoked {
        // An authority without a list has revoked nothing.
        builder = builder.with_crls(pem::revocations(path)?).allow_unknown_revocation_status();
    }
    if has_tokens {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map_err(|error| format!("{}: {error}", authorities.display()))
}

/// Returns why a certificate is refused.
pub(crate) fn refusal(error: &rustls::Error) -> String {
    let why = match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Revoked => "is revoked",
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "is not valid yet",
            CertificateError::UnknownIssuer => "is of an unknown authority",
            other => return format!("its certificate is wrong: {other}"),
        },
        rustls::Error::NoCertificatesPresented => return "it showed no certificate".to_owned(),
        other => return other.to_string(),
    };
    format!("its certificate {why}")
}

/// Checks that a name of the certificate is exactly that of the host. A wildcard is not a name.
fn is_named(certificate: &CertificateDer<'_>, host: &Host) -> Result<(), String> {
    let parsed = webpki::EndEntityCert::try_from(certificate);
    let parsed = parsed.map_err(|error| format!("its certificate is wrong: {error}"))?;
    let names: Vec<_> = parsed.valid_dns_names().collect();
    if names.contains(&host.as_str()) {
        return Ok(());
    }
    Err(match names.len() {
        0 => "its certificate names no host".to_owned(),
        _ => format!("its certificate is that of `{}`", names.join("`, `").escape_debug()),
    })
}
