//! Frames: a header of 8 bytes, then a payload.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The most bytes of segments in one frame.
pub const DATA_LEN: usize = 64 << 10;

/// The most bytes of another frame.
pub const MAX_CONTROL: usize = 4 << 10;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The first frame of a shipper.
    Hello = 1,
    /// The first frame of a collector.
    Welcome = 2,
    /// A segment follows.
    Segment = 3,
    /// Bytes of the segment.
    Data = 4,
    /// The outcome of a segment.
    Done = 5,
    /// Nothing, to show that the peer lives.
    Alive = 6,
    /// The last frame of a collector, with the reason.
    Bye = 7,
    /// The state of a spool.
    Status = 8,
    /// A request to a program of the host.
    Request = 9,
    /// The outcome of a request.
    Reply = 10,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Hello,
        Kind::Welcome,
        Kind::Segment,
        Kind::Data,
        Kind::Done,
        Kind::Alive,
        Kind::Bye,
        Kind::Status,
        Kind::Request,
        Kind::Reply,
    ];
}

/// Returns the header of a frame.
pub fn header(kind: Kind, len: usize) -> [u8; 8] {
    let mut header = [kind as u8, 0, 0, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&(len as u32).to_le_bytes());
    header
}

/// Reads the header of a frame: what it is, and the length of its payload.
///
/// # Errors
/// Those of the connection, and [`io::ErrorKind::InvalidData`] for anything that is not a frame.
pub async fn read_header(from: &mut (impl AsyncRead + Unpin)) -> io::Result<(Kind, usize)> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).await?;
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let [code, reserved @ .., _, _, _, _] = bytes;
    let len = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == code && reserved == [0; 3]);
    let kind = kind.ok_or_else(|| invalid(format!("no frame begins with the bytes {:02x?}", &bytes[..4])))?;
    let most = if kind == Kind::Data { DATA_LEN } else { MAX_CONTROL };
    if len > most {
        return Err(invalid(format!("a frame {kind:?} of {len} bytes, expected at most {most}")));
    }
    Ok((kind, len))
}

/// Reads the payload of a frame to the end of `to`.
///
/// # Errors
/// Those of the connection.
pub async fn data(from: &mut (impl AsyncRead + Unpin), len: usize, to: &mut Vec<u8>) -> io::Result<()> {
    let mut payload = from.take(len as u64);
    to.reserve(len);
    while payload.limit() > 0 {
        if payload.read_buf(to).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}
