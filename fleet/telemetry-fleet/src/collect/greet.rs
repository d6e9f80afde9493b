//! Who connects.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::access::Peer;
use crate::collect::collector::Collector;
use crate::log;
use crate::segment::Host;
use crate::wire::{Bye, Hello, Kind, Message, Version, Welcome, data, read_header};

/// The connection of a host that is known.
pub(crate) struct Known {
    pub(crate) host: Host,
    pub(crate) peer: Peer,
    pub(crate) version: Version,
    pub(crate) stream: TlsStream<TcpStream>,
}

/// Finds out who connects.
///
/// # Errors
/// Why it is refused. It has been told.
pub(crate) async fn greet(collector: &Collector, tcp: TcpStream) -> Result<Known, String> {
    let config = collector.access.tls(|problem| {
        log::line(format_args!("warning: files for TLS have changed and are not used: {problem}"));
    });
    // Small frames answer large ones; none should wait for more.
    let _ = tcp.set_nodelay(true);
    let mut stream = TlsAcceptor::from(config).accept(tcp).await.map_err(|error| tls_problem(&error))?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let certificates = certificates.iter().map(|one| one.clone().into_owned()).collect();
    let hello = match read_header(&mut stream).await {
        Ok((Kind::Hello, len)) => {
            let mut payload = Vec::new();
            data(&mut stream, len, &mut payload).await.map_err(|error| error.to_string())?;
            Message::parse(Kind::Hello, &payload)
        }
        Ok((kind, _)) => Err(format!("it began with a frame {kind:?}, expected Hello")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err("it closed the connection before it said who it is".to_owned());
        }
        Err(error) => Err(error.to_string()),
    };
    let checked = hello.and_then(|hello| {
        let Message::Hello(hello) = hello else { return Err("it sent no Hello".to_owned()) };
        check(collector, hello, certificates)
    });
    let (host, peer, version) = match checked {
        Ok(checked) => checked,
        Err(why) => {
            let bye = Message::Bye(Bye { is_passing: false, text: why.clone() });
            let _ = stream.write_all(&bye.frame()).await;
            let _ = stream.shutdown().await;
            return Err(why);
        }
    };
    let (window, max_segment) = (collector.window(), collector.limits.segment);
    let welcome = Message::Welcome(Welcome { version, window, max_segment });
    stream.write_all(&welcome.frame()).await.map_err(|error| error.to_string())?;
    stream.flush().await.map_err(|error| error.to_string())?;
    Ok(Known { host, peer, version, stream })
}

type Checked = (Host, Peer, Version);

fn check(
    collector: &Collector,
    hello: Hello,
    certificates: Vec<rustls::pki_types::CertificateDer<'static>>,
) -> Result<Checked, String> {
    let Hello { versions, host, token } = hello;
    let version = Version::agree(collector.versions, versions).ok_or_else(|| {
        format!(
            "it speaks the versions {} to {} of the protocol, expected one of {} to {}",
            versions.0, versions.1, collector.versions.0, collector.versions.1
        )
    })?;
    let host: Host = host.parse()?;
    let peer = Peer { certificates, token };
    collector.access.check(&host, &peer).map_err(|why| format!("host `{host}`: {why}"))?;
    Ok((host, peer, version))
}

/// Says why TLS failed.
fn tls_problem(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS".to_owned(),
        Some(error) => crate::access::refusal(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "it closed the connection during the handshake of TLS".to_owned()
        }
        None => format!("the handshake of TLS failed: {error}"),
    }
}
