//! The functions of an ELF file.

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use super::table::Table;

/// What an ELF file says about its functions.
pub(super) struct Elf {
    pub(super) table: Table,
    /// The address that the file was linked to have at the beginning of its first segment.
    pub(super) linked: u64,
    /// It has debug information, which has functions that were inlined, too.
    pub(super) has_debug: bool,
}

impl Elf {
    /// Reads a file, unless it has another build ID. An empty one fits every file.
    pub(super) fn read(bytes: &[u8], build_id: &[u8]) -> Option<Elf> {
        let file = object::File::parse(bytes).ok()?;
        if !build_id.is_empty() && file.build_id().ok().flatten() != Some(build_id) {
            return None;
        }
        let first = file.segments().min_by_key(|segment| segment.address())?;
        let linked = first.address().wrapping_sub(first.file_range().0);
        Some(Elf { table: functions(&file), linked, has_debug: file.has_debug_symbols() })
    }
}

/// Returns the functions of a file. Those without a size are left out, as it is unknown where they
/// end.
fn functions(file: &object::File<'_>) -> Table {
    let all = file.symbols().chain(file.dynamic_symbols());
    let functions = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    Table::new(functions.filter_map(|symbol| {
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        Some((symbol.address(), symbol.address().checked_add(symbol.size())?, name.into()))
    }))
}
