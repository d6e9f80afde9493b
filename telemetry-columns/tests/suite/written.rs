//! Streams of chosen events.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_schema::Registry;

/// Parses a registry: its name and version, and the lines of its kinds, types and events.
pub(crate) fn registry(name: &str, version: &str, rest: &str) -> Registry {
    let text = format!(
        "[registry]\nname = \"{name}\"\nversion = \"{version}\"\ndoc = \"d\"\n\
         [kinds]\nK = {{ bit = 0, doc = \"d\" }}\n{rest}"
    );
    telemetry_schema::parse(&text).unwrap_or_else(|invalid| panic!("{}", invalid.render("registry", &text)))
}

/// Returns the lines of an event type of the kind `K`.
pub(crate) fn event(name: &str, code: u16, params: &str) -> String {
    format!(
        "[[event]]\nname = \"{name}\"\ncode = {code}\nkind = \"K\"\ndoc = \"of {name}\"\nparams = [{params}]\n"
    )
}

/// Writes a stream of one session: events by registry, code and values, one tick after the other.
pub(crate) fn stream(registries: &[Registry], events: &[(usize, u16, &[Value<'_>])]) -> Vec<u8> {
    write(Writer::new(Vec::new()), registries, events, false)
}

/// Writes such a stream with a block for each event, which can be read without the others.
pub(crate) fn stream_of_whole_blocks(
    registries: &[Registry],
    events: &[(usize, u16, &[Value<'_>])],
) -> Vec<u8> {
    write(Writer::new(Vec::new()).block_size(1), registries, events, false)
}

/// Writes such a stream with a block for each event.
pub(crate) fn stream_of_blocks(registries: &[Registry], events: &[(usize, u16, &[Value<'_>])]) -> Vec<u8> {
    write(Writer::new(Vec::new()), registries, events, true)
}

fn write(
    mut writer: Writer<Vec<u8>>,
    registries: &[Registry],
    events: &[(usize, u16, &[Value<'_>])],
    flushes: bool,
) -> Vec<u8> {
    let mut facts = Facts::default();
    facts.set("ticks_per_second", 1_000_000_000_i64);
    writer.session(7, &facts, 0, 1_000).unwrap();
    let fingerprints: Vec<_> =
        registries.iter().map(|registry| writer.registry(7, registry).unwrap()).collect();
    for (ticks, (registry, code, values)) in events.iter().enumerate() {
        let lane = Lane { session: 7, thread: 1, registry: fingerprints[*registry] };
        writer.event(lane, *code, ticks as u64, values).unwrap();
        if flushes {
            writer.flush().unwrap();
        }
    }
    writer.end(7, events.len() as u64).unwrap();
    writer.finish().unwrap()
}

/// An output that is full, after some bytes.
#[cfg(any(feature = "ipc", feature = "parquet"))]
pub(crate) struct Full(pub(crate) usize);

#[cfg(any(feature = "ipc", feature = "parquet"))]
impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => self.0 = left,
            None => return Err(std::io::ErrorKind::StorageFull.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
