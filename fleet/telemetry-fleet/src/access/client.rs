//! What a shipper shows a collector, and which collectors it trusts.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;

use crate::access::files::FromFiles;
use crate::access::pem;

/// The files of a shipper.
#[derive(Debug, Clone, Default)]
pub struct ClientFiles {
    /// Certificates of authorities whose collectors it trusts.
    pub ca: PathBuf,
    /// Its certificate and private key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// A file with its token alone.
    pub token: Option<PathBuf>,
}

/// How a shipper connects.
pub struct ClientAccess(FromFiles<Keys>);

struct Keys {
    config: Arc<ClientConfig>,
    token: String,
}

impl ClientAccess {
    /// Reads the files.
    ///
    /// # Errors
    /// Which file is wrong, and why.
    pub fn new(files: ClientFiles) -> Result<ClientAccess, String> {
        let ClientFiles { ca, identity, token } = files.clone();
        let (certificate, key) = identity.unzip();
        let paths = [Some(ca), certificate, key, token].into_iter().flatten();
        FromFiles::new(paths, move || Keys::read(&files)).map(ClientAccess)
    }

    /// Returns the settings of TLS and the token as they are now. `problem` is told why changed
    /// files cannot be used.
    pub(crate) fn get(&self, problem: impl FnOnce(String)) -> (Arc<ClientConfig>, String) {
        let current = self.0.get();
        if let Some(why) = current.problem {
            problem(why);
        }
        (current.value.config.clone(), current.value.token.clone())
    }
}

impl Keys {
    fn read(files: &ClientFiles) -> Result<Keys, String> {
        let token = match &files.token {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
                let token = text.trim();
                if token.is_empty() || token.len() > 512 || !token.bytes().all(|byte| byte.is_ascii_graphic())
                {
                    return Err(format!(
                        "{}: expected a token of 1 to 512 printable characters",
                        path.display()
                    ));
                }
                token.to_owned()
            }
            None => String::new(),
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(pem::roots(&files.ca)?);
        let config = match &files.identity {
            Some((certificate, key)) => builder
                .with_client_auth_cert(pem::certificates(certificate)?, pem::key(key)?)
                .map_err(|error| format!("{}: {error}", certificate.display()))?,
            None => builder.with_no_client_auth(),
        };
        Ok(Keys { config: Arc::new(config), token })
    }
}

/// Says why TLS, or the connection, failed.
pub(crate) fn tls_problem(error: &std::io::Error) -> String {
    use rustls::AlertDescription as Alert;
    let refused = |why: &str| format!("the collector refuses the certificate of this host: {why}");
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::AlertReceived(alert)) => match alert {
            Alert::CertificateRevoked => refused("it is revoked"),
            Alert::CertificateExpired => refused("it has expired, or is not valid yet"),
            Alert::UnknownCA => refused("it is of an unknown authority"),
            Alert::CertificateRequired => "the collector expects a certificate of this host".to_owned(),
            Alert::BadCertificate | Alert::CertificateUnknown | Alert::DecryptError => refused("it is wrong"),
            alert => format!("the collector refuses TLS: {alert:?}"),
        },
        Some(rustls::Error::InvalidCertificate(error)) => {
            format!("this host does not trust the certificate of the collector: {error}")
        }
        Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS".to_owned(),
        Some(error) => error.to_string(),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "the collector closed the connection".to_owned()
        }
        None => error.to_string(),
    }
}
