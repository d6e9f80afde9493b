//! Registries that a stream has more than once, with other marks.

use telemetry_format::Header;

use super::state::{StreamState, read_registry};
use crate::registry::filter::Filter;
use crate::registry::known_registry::KnownRegistry;

impl StreamState {
    /// Takes the text of a registry that the stream had already. The fingerprint does not cover
    /// which parameters are sensitive, so another program may have marked more of them.
    pub(super) fn registry_again(&mut self, index: usize, header: &Header, text: &[u8], filter: &Filter) {
        let known = &mut self.registries[index];
        // Nearly always it is the same text.
        let checksum = crc32c::crc32c(text);
        if checksum == known.text {
            return self.texts.forget(header);
        }
        // The beginning of a longer text is none. It waits for the rest.
        let Ok(registry) = read_registry(known.fingerprint, text) else { return };
        known.text = checksum;
        self.texts.forget(header);
        let mut stricter = known.recorded().clone();
        if !stricter.take_sensitive(&registry) {
            return;
        }
        let (fingerprint, at, text) = (known.fingerprint, known.at, known.text);
        let filter = self.hiding.filter(filter);
        let mut new = KnownRegistry::new(fingerprint, stricter, at, &filter);
        new.text = text;
        self.add(new, &filter);
    }
}
