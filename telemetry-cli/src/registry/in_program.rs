//! Registries that a program, or an image of its memory, contains.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memmem::Finder;
use telemetry_format::{BlockType, HEADER_LEN, Header, MAGIC, MAX_PAYLOAD};
use telemetry_schema::{ProgramHead, Registry, parse_embedded};

/// How much of a file is searched at once.
const CHUNK: usize = 1 << 20;
/// A string in the runtime, before its version and ` variety=NAME`.
const RUNTIME: &[u8] = b"telemetry-runtime ";
/// The maximum of bytes of such a string.
const MAX_RUNTIME: usize = 64;

/// What a file contains.
#[derive(Debug, Default)]
pub(crate) struct Contained {
    /// By name, version and fingerprint, each once.
    pub(crate) registries: BTreeMap<(String, [u32; 3], u64), Registry>,
    /// The versions of the runtime, and their varieties, each once.
    pub(crate) runtimes: Vec<String>,
}

/// Searches a file. A program has each registry behind a head. Memory images and streams have them
/// in blocks. Memory does not grow with the file.
pub(crate) fn search(path: &Path) -> std::io::Result<Contained> {
    let (mut file, mut other) = (File::open(path)?, File::open(path)?);
    let finders = [ProgramHead::MARK.as_bytes(), &MAGIC, RUNTIME].map(Finder::new);
    let longest = ProgramHead::MARK.len();
    let mut found = Contained::default();
    let (mut buffer, mut kept, mut offset) = (vec![0; CHUNK], 0, 0_u64);
    loop {
        let read = file.read(&mut buffer[kept..])?;
        let end = kept + read;
        for (which, finder) in finders.iter().enumerate() {
            for at in finder.find_iter(&buffer[..end]) {
                let at = offset + at as u64;
                match which {
                    0 => found.take(behind_head(&mut other, at)?),
                    1 => found.take(in_block(&mut other, at)?),
                    _ => found.take_runtime(&part(&mut other, at, MAX_RUNTIME)?),
                }
            }
        }
        if read == 0 {
            return Ok(found);
        }
        // What begins at the end of this part is found with the next one. It may be found twice.
        kept = end.min(longest - 1);
        buffer.copy_within(end - kept..end, 0);
        offset += (end - kept) as u64;
    }
}

impl Contained {
    fn take(&mut self, registry: Option<Registry>) {
        if let Some(registry) = registry {
            let version = [registry.version.major, registry.version.median, registry.version.minor];
            self.registries.insert((registry.name.clone(), version, registry.fingerprint()), registry);
        }
    }

    fn take_runtime(&mut self, bytes: &[u8]) {
        let line = bytes.split(|byte| !(b' '..=b'~').contains(byte)).next().unwrap_or_default();
        let Ok(line) = std::str::from_utf8(line) else { return };
        let is_runtime =
            ["cool", "hot", "rash"].iter().any(|name| line.ends_with(&format!(" variety={name}")));
        if is_runtime && !self.runtimes.iter().any(|known| known == line) {
            self.runtimes.push(line.to_string());
        }
    }
}

/// Returns the registry behind the head at an offset.
fn behind_head(file: &mut File, at: u64) -> std::io::Result<Option<Registry>> {
    let Some(head) = ProgramHead::read(&part(file, at, ProgramHead::LEN)?) else { return Ok(None) };
    if head.len > MAX_PAYLOAD {
        return Ok(None);
    }
    let text = part(file, at + ProgramHead::LEN as u64, head.len as usize)?;
    Ok(registry_of(&text, head.fingerprint))
}

/// Returns the registry of the block at an offset, if it is one of a registry.
fn in_block(file: &mut File, at: u64) -> std::io::Result<Option<Registry>> {
    let Ok(header) = Header::decode(&part(file, at, HEADER_LEN)?, crc32c::crc32c) else { return Ok(None) };
    if header.block_type != BlockType::Registry || header.codec != telemetry_format::codec::NONE {
        return Ok(None);
    }
    let text = part(file, at + u64::from(header.header_len), header.payload_len as usize)?;
    Ok(registry_of(&text, header.registry))
}

fn registry_of(text: &[u8], fingerprint: u64) -> Option<Registry> {
    let registry = parse_embedded(std::str::from_utf8(text).ok()?).ok()?;
    (registry.fingerprint() == fingerprint).then_some(registry)
}

/// Reads bytes at an offset, or fewer at the end of the file.
fn part(file: &mut File, at: u64, len: usize) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(len as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
