//! An authority that signs certificates of hosts and collectors.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

pub(crate) struct Authority {
    dir: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub(crate) file: PathBuf,
}

/// Returns an address of this machine that no other test has. So no other test takes the port of a
/// collector that restarts. Only Linux has more than one address without setup.
pub(crate) fn own_address() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let part = |number: u32| 1 + number % 250;
    match cfg!(target_os = "linux") {
        true => format!("127.{}.{}.{}", part(process), part(process / 250), part(count)),
        false => "127.0.0.1".to_owned(),
    }
}

/// What a certificate is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Validity {
    Good,
    Expired,
}

impl Authority {
    /// Writes the files of an authority to a directory.
    pub(crate) fn new(dir: &Path, name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let file = dir.join(format!("{name}.pem"));
        std::fs::write(&file, certificate.pem()).unwrap();
        Authority { dir: dir.to_owned(), issuer: Issuer::new(params, key), file }
    }

    /// Signs a certificate for a DNS name or an IP address. Returns its file and that of its key.
    pub(crate) fn sign(&self, name: &str, serial: u64, validity: Validity) -> (PathBuf, PathBuf) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.serial_number = Some(SerialNumber::from(serial));
        if validity == Validity::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (file, key_file) =
            (self.dir.join(format!("{name}-{serial}.pem")), self.dir.join(format!("{name}-{serial}.key")));
        std::fs::write(&file, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        (file, key_file)
    }

    /// Writes the list of revoked certificates.
    pub(crate) fn revoke(&self, serials: &[u64]) -> PathBuf {
        let revoked = serials.iter().map(|&serial| RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2124, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let file = self.dir.join("revoked.pem");
        // In one step, because collectors read it at any time.
        let new = self.dir.join("revoked.new");
        std::fs::write(&new, params.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
        std::fs::rename(&new, &file).unwrap();
        file
    }
}
