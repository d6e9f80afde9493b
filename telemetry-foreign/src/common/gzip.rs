//! Logs that are compressed as a whole with gzip.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Output that any input may have.
const FREE: u64 = 64 << 20;

/// Beyond that, the output may be this many times the input. Logs of events shrink to a third or a
/// tenth.
const RATIO: u64 = 256;

/// Returns true if bytes begin like a gzip file (RFC 1952).
pub fn is_gzip(first: &[u8]) -> bool {
    first.starts_with(&[0x1f, 0x8b])
}

/// Returns a reader of the decompressed data. Reading fails, after the data that could be
/// decompressed, if the compression is broken or cut, or if something follows it. It also fails if
/// the output is far larger than a log can be.
pub(crate) fn gunzip(input: impl BufRead) -> impl Read {
    let counted = BufReader::new(Counted { input, read: 0 });
    Bounded { decoder: MultiGzDecoder::new(counted), given: 0 }
}

/// Counts the bytes that are read.
struct Counted<R> {
    input: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(to)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// Returns no more than the input can reasonably contain.
struct Bounded<R> {
    decoder: MultiGzDecoder<BufReader<Counted<R>>>,
    given: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let taken = self.decoder.get_ref().get_ref().read;
        if self.given > FREE && self.given / RATIO > taken {
            let text = format!("{} bytes come out of {taken} bytes of gzip, which is not a log", self.given);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let read = self.decoder.read(to).map_err(|error| {
            let text = format!("broken gzip, after {} bytes of what it holds: {error}", self.given);
            io::Error::new(error.kind(), text)
        })?;
        self.given += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::gunzip;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns the output, and the error at its end.
    fn read(packed: &[u8]) -> (Vec<u8>, Option<String>) {
        let (mut plain, mut from) = (Vec::new(), gunzip(packed));
        let mut buffer = [0; 4096];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return (plain, None),
                Ok(len) => plain.extend_from_slice(&buffer[..len]),
                Err(error) => return (plain, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn broken_gzip_gives_what_comes_before() {
        let plain: Vec<u8> = (0..100_000_u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
        let packed = gzip(&plain);
        assert_eq!(read(&packed), (plain.clone(), None));
        let (cut, why) = read(&packed[..packed.len() / 2]);
        assert!(plain.starts_with(&cut) && !cut.is_empty());
        let expected = format!("broken gzip, after {} bytes", cut.len());
        assert!(why.as_ref().is_some_and(|why| why.starts_with(&expected)), "{why:?}");
        let (all, why) = read(&[&packed[..], b"garbage"].concat());
        assert_eq!(all, plain);
        assert!(why.is_some());
        assert_eq!(read(&[&packed[..], &packed].concat()), ([&plain[..], &plain].concat(), None));
    }

    #[test]
    fn what_unpacks_to_far_too_much_is_refused() {
        let packed = gzip(&vec![0; 200 << 20]);
        let mut from = gunzip(&packed[..]);
        let read = std::io::copy(&mut from, &mut std::io::sink());
        let why = read.unwrap_err().to_string();
        assert!(why.ends_with("bytes of gzip, which is not a log"), "{why}");
    }
}
