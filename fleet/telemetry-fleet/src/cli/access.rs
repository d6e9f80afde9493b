//! Options for certificates and tokens.

use std::path::PathBuf;

use telemetry_fleet::access::{ClientAccess, ClientFiles};

/// What `ship` shows a collector. All files are read again when they change.
#[derive(clap::Args, Clone)]
pub(crate) struct ClientOptions {
    /// Certificates of authorities, in PEM form: one has signed the collector's certificate
    #[arg(long, value_name = "FILE", help_heading = "Collector")]
    ca: Option<PathBuf>,

    /// Certificate of this host, in PEM form, with its name as a DNS name
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Collector")]
    cert: Option<PathBuf>,

    /// Private key of the certificate
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Collector")]
    key: Option<PathBuf>,

    /// File with the token of this host, instead of a certificate
    #[arg(long, value_name = "FILE", help_heading = "Collector")]
    token_file: Option<PathBuf>,

    /// Name in the collector's certificate, if it is not that of the address
    #[arg(long, value_name = "NAME", help_heading = "Collector")]
    pub(crate) server_name: Option<String>,
}

impl ClientOptions {
    pub(crate) fn open(&self) -> Result<ClientAccess, String> {
        let Some(ca) = self.ca.clone() else {
            return Err(
                "a collector needs --ca, the certificate of the authority that signed its own".to_owned()
            );
        };
        let identity = self.cert.clone().zip(self.key.clone());
        ClientAccess::new(ClientFiles { ca, identity, token: self.token_file.clone() })
    }
}
