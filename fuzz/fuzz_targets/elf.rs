//! Reads arbitrary bytes as an ELF file, for the names of its functions. Each has a name at its
//! address, and only a file of the right build ID is read.
#![no_main]

use elf::Elf;
use libfuzzer_sys::fuzz_target;
use object::{Object, ObjectSymbol, SymbolKind};

#[path = "../../telemetry-cli/src/symbols/elf.rs"]
mod elf;
#[path = "../../telemetry-cli/src/symbols/table.rs"]
mod table;

fuzz_target!(|bytes: &[u8]| {
    let Some(Elf { table, linked, has_debug }) = Elf::read(bytes, &[]) else { return };
    let file = object::File::parse(bytes).unwrap();
    assert_eq!(has_debug, file.has_debug_symbols());
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let (address, size) = (symbol.address(), symbol.size());
        let has_name = symbol.name().is_ok_and(|name| !name.is_empty());
        let is_function = has_name && symbol.kind() == SymbolKind::Text && size > 0;
        let name = table.name(address);
        assert!(name.is_some() || !is_function || address.checked_add(size).is_none());
        for address in [linked, address.wrapping_sub(1), address.wrapping_add(size)] {
            assert_ne!(table.name(address), Some(""));
        }
    }
    let build_id = file.build_id().ok().flatten().unwrap_or_default();
    assert!(Elf::read(bytes, build_id).is_some());
    assert!(Elf::read(bytes, &[build_id, b"another"].concat()).is_none());
});
