//! The build ID that the linker leaves in the program as a note.
#![allow(unsafe_code)]

#[cfg(target_pointer_width = "32")]
use libc::Elf32_Phdr as Segment;
#[cfg(target_pointer_width = "64")]
use libc::Elf64_Phdr as Segment;

/// `NT_GNU_BUILD_ID`.
const BUILD_ID: u32 = 3;

/// Returns the build ID of the program, if it has one. The kernel says where the program's headers
/// are. The loader's own list of objects has a lock.
pub(crate) fn build_id() -> Option<&'static [u8]> {
    // SAFETY: takes no pointer.
    let (at, len) = unsafe { (libc::getauxval(libc::AT_PHDR), libc::getauxval(libc::AT_PHNUM)) };
    let at = core::ptr::with_exposed_provenance::<Segment>(at as usize);
    if at.is_null() || len > 256 {
        return None;
    }
    // SAFETY: the kernel gives this address and length, and the headers stay mapped as long as the
    // program runs.
    let segments = unsafe { core::slice::from_raw_parts(at, len as usize) };
    let holds = |all: &Segment, from: usize, to: usize| {
        let is_readable = all.p_type == libc::PT_LOAD && all.p_flags & libc::PF_R != 0;
        is_readable && all.p_vaddr as usize <= from && to <= (all.p_vaddr + all.p_filesz) as usize
    };
    // The distance between where the program is and where it was linked to be. Without that header
    // it must be where it was linked to be.
    let moved = match segments.iter().find(|segment| segment.p_type == libc::PT_PHDR) {
        Some(headers) => at.addr().wrapping_sub(headers.p_vaddr as usize),
        None if segments.iter().any(|all| holds(all, at.addr(), at.addr())) => 0,
        None => return None,
    };
    let is_loaded = |note: &&Segment| {
        let from = note.p_vaddr as usize;
        let to = from.checked_add(note.p_memsz as usize);
        to.is_some_and(|to| segments.iter().any(|all| holds(all, from, to)))
    };
    let notes = segments.iter().filter(|note| note.p_type == libc::PT_NOTE).filter(is_loaded);
    notes.into_iter().find_map(|note| {
        let at = core::ptr::with_exposed_provenance::<u8>(moved.wrapping_add(note.p_vaddr as usize));
        // SAFETY: the note is part of a loaded segment, and readable.
        let notes = unsafe { core::slice::from_raw_parts(at, note.p_memsz as usize) };
        find(notes, note.p_align as usize)
    })
}

/// Finds the build ID among the notes. Each note is: lengths of name and value, type, name, value.
pub(crate) fn find(mut notes: &[u8], align: usize) -> Option<&[u8]> {
    let align = if align == 8 { 8 } else { 4 };
    loop {
        let word = |at: usize| notes.get(at..at + 4)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let (name_len, len, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let from = 12_usize.checked_add(name_len)?.checked_next_multiple_of(align)?;
        let to = from.checked_add(len)?;
        let name = notes.get(12..12_usize.checked_add(name_len)?)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return notes.get(from..to);
        }
        notes = notes.get(to.checked_next_multiple_of(align)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    fn note(name: &[u8], kind: u32, text: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [name.len() as u32, text.len() as u32, kind] {
            note.extend(word.to_ne_bytes());
        }
        for bytes in [name, text] {
            note.extend(bytes);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn a_build_is_found_among_notes() {
        let (abi, id) = (note(b"GNU\0", 1, &[0; 16]), note(b"GNU\0", 3, b"identity"));
        assert_eq!(find(&[abi.clone(), id.clone()].concat(), 4), Some(&b"identity"[..]));
        assert_eq!(find(&note(b"Go\0\0", 3, b"another"), 4), None);
        assert_eq!(find(&abi, 4), None);
        for len in 0..id.len() {
            assert_eq!(find(&id[..len], 4), None, "cut to {len} bytes");
        }
        assert_eq!(find(&[0xff; 64], 4), None);
    }
}
