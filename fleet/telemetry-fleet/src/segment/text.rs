//! The texts of registries.

use std::borrow::Cow;
use std::sync::OnceLock;

use flate2::{Decompress, FlushDecompress, Status};
use telemetry_decode::blocks::Block;
use telemetry_format::{MAX_PAYLOAD, codec};

/// The start of the runtime's own registry in its canonical form.
const RUNTIME_REGISTRY: &[u8] = b"[registry]\nname = \"telemetry\"\n";

/// Returns the fingerprint of the runtime's own registry, of this version.
pub(crate) fn own_fingerprint() -> Option<u64> {
    static KNOWN: OnceLock<Option<u64>> = OnceLock::new();
    *KNOWN.get_or_init(|| telemetry_decode::names::runtime_registry().map(|own| own.fingerprint()))
}

/// The text of a registry, or nothing if its block cannot be decompressed.
pub(crate) struct Text<'a>(Cow<'a, [u8]>);

impl<'a> Text<'a> {
    /// Returns the text of a registry block.
    pub(crate) fn of(block: &Block<'a>) -> Text<'a> {
        let header = &block.header;
        let text = match header.codec {
            codec::NONE => Some(block.payload.into()),
            codec::DEFLATE if header.unpacked_len <= MAX_PAYLOAD => {
                let mut text = Vec::with_capacity(header.unpacked_len as usize);
                // It never takes more memory than the vector has.
                let end =
                    Decompress::new(false).decompress_vec(block.payload, &mut text, FlushDecompress::Finish);
                let is_whole =
                    matches!(end, Ok(Status::StreamEnd)) && text.len() == header.unpacked_len as usize;
                is_whole.then_some(text.into())
            }
            _ => None,
        };
        Text(text.unwrap_or_default())
    }

    /// Returns its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns true if it is the runtime's own registry.
    pub(crate) fn is_own(&self) -> bool {
        self.0.starts_with(RUNTIME_REGISTRY)
    }
}
