//! Writes the page of what was gathered.

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use telemetry_decode::Events;

use super::html::{Parts, page};
use crate::document::against::Against;
use crate::document::builder::Origin;
use crate::document::forms::Document;
use crate::document::room::Room;
use crate::gather::gatherer::Gatherer;

/// The maximum length of the document in the page, in bytes of Base64. With script and style, the
/// page stays below 5 MB.
const MAX_DATA: usize = 4_700_000;

/// The title and the verdict of a page, as text.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// The title of the page, such as the program's name.
    pub title: String,
    /// The verdict on the recording: one or more sentences.
    pub verdict: Vec<String>,
    /// Nothing is missing.
    pub is_complete: bool,
}

impl Gatherer {
    /// Returns the page: an HTML file that needs no network, of at most 5 MB. `stats` and `paired`
    /// are the objects of `telemetry stats --json` and `telemetry spans --json`.
    ///
    /// # Errors
    /// If one of the objects cannot be serialized.
    pub fn page(
        &self,
        events: &Events<'_>,
        head: &Head,
        origin: &Origin,
        stats: &impl Serialize,
        paired: &impl Serialize,
    ) -> io::Result<String> {
        self.page_with(events, head, origin, stats, paired, None)
    }

    /// Returns the page as [`Gatherer::page`] does, with another run beside the recording.
    ///
    /// # Errors
    /// Those of [`Gatherer::page`].
    pub fn page_against(
        &self,
        events: &Events<'_>,
        head: &Head,
        origin: &Origin,
        stats: &impl Serialize,
        paired: &impl Serialize,
        against: &Against<'_>,
    ) -> io::Result<String> {
        self.page_with(events, head, origin, stats, paired, Some(against))
    }

    fn page_with(
        &self,
        events: &Events<'_>,
        head: &Head,
        origin: &Origin,
        stats: &impl Serialize,
        paired: &impl Serialize,
        against: Option<&Against<'_>>,
    ) -> io::Result<String> {
        let mut room = Room::default();
        loop {
            let document = Document::new(self, events, origin, stats, paired, against, room)?;
            let data = packed(&document)?;
            if data.len() <= MAX_DATA || room.listed == 0 {
                let Head { title, verdict, is_complete } = head;
                return Ok(page(&Parts { title, verdict, is_complete: *is_complete, data: &data }));
            }
            room = room.half();
        }
    }
}

/// Returns the document as deflated JSON in Base64.
fn packed(document: &Document) -> io::Result<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    serde_json::to_writer(io::BufWriter::with_capacity(1 << 16, &mut encoder), document)?;
    encoder.flush()?;
    Ok(BASE64_STANDARD.encode(encoder.finish()?))
}
