//! Eventlogs of GHC, made by hand.

/// Returns the header of a log that declares types: tag, size, description.
pub fn header<'t>(types: impl IntoIterator<Item = (u16, u16, &'t str)>) -> Vec<u8> {
    let mut bytes = b"hdrbhetb".to_vec();
    for (tag, size, description) in types {
        bytes.extend(b"etb\0");
        bytes.extend(tag.to_be_bytes());
        bytes.extend(size.to_be_bytes());
        bytes.extend((description.len() as u32).to_be_bytes());
        bytes.extend(description.bytes());
        bytes.extend([0; 4]);
        bytes.extend(b"ete\0");
    }
    bytes.extend(b"hetehdredatb");
    bytes
}
