//! Registries that a program, or an image of its memory, contains.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memmem::Finder;
use telemetry_decode::blocks::unpacked;
use telemetry_format::{BlockType, HEADER_LEN, Header, MAGIC, MAX_PAYLOAD};
use telemetry_schema::{ProgramHead, Registry, parse_embedded};

use crate::registry::called::CalledMark;

/// How much of a file is searched at once.
const CHUNK: usize = 1 << 20;
/// The most emitters that are remembered.
const MAX_CALLED: usize = 1 << 20;
/// A string in the runtime, before its version and ` variety=NAME`.
const RUNTIME: &[u8] = b"telemetry-runtime ";
/// The maximum of bytes of such a string.
const MAX_RUNTIME: usize = 64;
/// All varieties.
const VARIETIES: [&str; 3] = ["cool", "hot", "rash"];

/// What a file contains.
#[derive(Debug, Default)]
pub(crate) struct Contained {
    /// By name, version and fingerprint, each once.
    pub(crate) registries: BTreeMap<(String, [u32; 3], u64), Registry>,
    /// The emitters that code calls, if the file is a program or a library.
    pub(crate) called: BTreeSet<CalledMark>,
    /// The versions of the runtime, and their varieties, each once.
    pub(crate) runtimes: Vec<String>,
}

/// Searches a file. A program has each registry behind a head. Memory images and streams have them
/// in blocks.
pub(crate) fn search(path: &Path) -> std::io::Result<Contained> {
    search_in(|| File::open(path))
}

/// Searches what `open` opens. Two are open at once.
pub(crate) fn search_in<F: Read + Seek>(open: impl Fn() -> std::io::Result<F>) -> std::io::Result<Contained> {
    let mut found = Contained::default();
    find(&open, &[ProgramHead::MARK.as_bytes(), &MAGIC, CalledMark::MARK, RUNTIME], |which, file, at| {
        match which {
            0 => found.take(behind_head(file, at)?),
            1 => found.take(in_block(file, at)?),
            2 => found.take_mark(CalledMark::read(&part(file, at, CalledMark::LEN)?)),
            _ => found.take_runtime(runtime_at(file, at)?),
        }
        Ok(true)
    })?;
    // A core dump may have only some pages of its program.
    if !is_program(&mut open()?)? {
        found.called.clear();
    }
    Ok(found)
}

/// Returns true if a file is a program or a library for Linux, and not a core dump.
fn is_program(file: &mut (impl Read + Seek)) -> std::io::Result<bool> {
    let head = part(file, 0, 18)?;
    Ok(head.starts_with(b"\x7fELF") && matches!(head.get(16..18), Some([2 | 3, 0])))
}

/// Returns the variety of the first runtime in a file.
#[cfg(unix)]
pub(crate) fn variety(path: &Path) -> std::io::Result<Option<&'static str>> {
    let mut variety = None;
    find(
        || File::open(path),
        &[RUNTIME],
        |_, file, at| {
            variety = runtime_at(file, at)?.map(|(_, name)| name);
            Ok(variety.is_none())
        },
    )?;
    Ok(variety)
}

/// Returns true if a file contains these bytes.
#[cfg(unix)]
pub(crate) fn contains(path: &Path, bytes: &[u8]) -> std::io::Result<bool> {
    let mut found = false;
    find(
        || File::open(path),
        &[bytes],
        |_, _, _| {
            found = true;
            Ok(false)
        },
    )?;
    Ok(found)
}

/// Passes each place where one of these strings of bytes is to a function, with the index of the
/// string, until the function returns false. A place may come twice. Memory does not grow with the
/// file.
fn find<F: Read + Seek>(
    open: impl Fn() -> std::io::Result<F>,
    wanted: &[&[u8]],
    mut take: impl FnMut(usize, &mut F, u64) -> std::io::Result<bool>,
) -> std::io::Result<()> {
    let (mut file, mut other) = (open()?, open()?);
    let finders: Vec<_> = wanted.iter().map(Finder::new).collect();
    let longest = wanted.iter().map(|bytes| bytes.len()).max().unwrap_or(1);
    let (mut buffer, mut kept, mut offset) = (vec![0; CHUNK], 0, 0_u64);
    loop {
        let read = file.read(&mut buffer[kept..])?;
        let end = kept + read;
        for (which, finder) in finders.iter().enumerate() {
            for at in finder.find_iter(&buffer[..end]) {
                if !take(which, &mut other, offset + at as u64)? {
                    return Ok(());
                }
            }
        }
        if read == 0 {
            return Ok(());
        }
        // What begins at the end of this part is found with the next one.
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

    fn take_mark(&mut self, mark: Option<CalledMark>) {
        if self.called.len() < MAX_CALLED {
            self.called.extend(mark);
        }
    }

    /// Returns true if code calls the emitter of an event. Nothing if the file does not tell: it
    /// has no mark of an emitter of the registry.
    pub(crate) fn is_called(&self, fingerprint: u64, code: u16) -> Option<bool> {
        let mark = |code| CalledMark { fingerprint, code };
        let is_told = self.called.range(mark(0)..=mark(u16::MAX)).next().is_some();
        is_told.then(|| self.called.contains(&mark(code)))
    }

    fn take_runtime(&mut self, runtime: Option<(String, &'static str)>) {
        if let Some((line, _)) = runtime
            && !self.runtimes.contains(&line)
        {
            self.runtimes.push(line);
        }
    }
}

/// Returns what the runtime says of itself at an offset, and its variety.
fn runtime_at(file: &mut (impl Read + Seek), at: u64) -> std::io::Result<Option<(String, &'static str)>> {
    let bytes = part(file, at, MAX_RUNTIME)?;
    let line = bytes.split(|byte| !(b' '..=b'~').contains(byte)).next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let is_named = |name: &&&str| line.ends_with(&format!(" variety={name}"));
    Ok(VARIETIES.iter().find(is_named).map(|name| (line.to_string(), *name)))
}

/// Returns the registry behind the head at an offset.
fn behind_head(file: &mut (impl Read + Seek), at: u64) -> std::io::Result<Option<Registry>> {
    let Some(head) = ProgramHead::read(&part(file, at, ProgramHead::LEN)?) else { return Ok(None) };
    if head.len > MAX_PAYLOAD {
        return Ok(None);
    }
    let text = part(file, at + ProgramHead::LEN as u64, head.len as usize)?;
    Ok(registry_of(&text, head.fingerprint))
}

/// Returns the registry of the block at an offset, if it is one of a registry.
fn in_block(file: &mut (impl Read + Seek), at: u64) -> std::io::Result<Option<Registry>> {
    let Ok(header) = Header::decode(&part(file, at, HEADER_LEN)?, crc32c::crc32c) else { return Ok(None) };
    if header.block_type != BlockType::Registry {
        return Ok(None);
    }
    let payload = part(file, at + u64::from(header.header_len), header.payload_len as usize)?;
    Ok(unpacked(&header, &payload).and_then(|text| registry_of(&text, header.registry)))
}

fn registry_of(text: &[u8], fingerprint: u64) -> Option<Registry> {
    let registry = parse_embedded(std::str::from_utf8(text).ok()?).ok()?;
    (registry.fingerprint() == fingerprint).then_some(registry)
}

/// Reads bytes at an offset, or fewer at the end of the file.
fn part(file: &mut (impl Read + Seek), at: u64, len: usize) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.by_ref().take(len as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
