//! A file of code that was mapped into a process, and the names of its functions.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use addr2line::{Loader, demangle_auto};
use object::{Object, ObjectSegment};

use super::table::Table;

/// The largest file that is read.
const MAX_LEN: u64 = 4 << 30;

/// Where debuggers look for files of names.
const DEBUG: &str = "/usr/lib/debug/.build-id";

/// A module of a process.
pub(super) struct Module {
    pub(super) base: u64,
    pub(super) end: u64,
    build_id: Vec<u8>,
    pub(super) path: String,
    names: OnceCell<Vec<Names>>,
}

/// The names in one file.
struct Names {
    table: Table,
    /// For functions that were inlined, if the file has debug information.
    loader: Option<Loader>,
    /// The address that the file was linked to have at the beginning of its first segment.
    linked: u64,
}

impl Module {
    pub(super) fn new(base: u64, end: u64, build_id: Vec<u8>, path: String) -> Module {
        Module { base, end, build_id, path, names: OnceCell::new() }
    }

    /// Passes the functions at an address to a function, the innermost first: more than one if some
    /// were inlined. Without a name it is the module and the offset.
    pub(super) fn functions(&self, address: u64, mut each: impl FnMut(String)) {
        let offset = address.wrapping_sub(self.base);
        let names =
            self.names.get_or_init(|| self.files().iter().filter_map(|path| self.read(path)).collect());
        for names in names {
            let linked = names.linked.wrapping_add(offset);
            let mut found = false;
            if let Some(mut frames) = names.loader.as_ref().and_then(|loader| loader.find_frames(linked).ok())
            {
                while let Ok(Some(frame)) = frames.next() {
                    if let Some(name) = frame.function.as_ref().and_then(|name| name.demangle().ok()) {
                        each(name.into_owned());
                        found = true;
                    }
                }
            }
            if found {
                return;
            }
            if let Some(name) = names.table.name(linked) {
                return each(demangle_auto(Cow::Borrowed(name), None).into_owned());
            }
        }
        let name = Path::new(&self.path)
            .file_name()
            .map_or(self.path.as_str().into(), |name| name.to_string_lossy());
        each(format!("{name}+{offset:#x}"));
    }

    /// Returns the files that may have names: that of debuggers first.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        if let [first, rest @ ..] = &self.build_id[..] {
            let mut name = format!("{DEBUG}/{first:02x}/");
            for byte in rest {
                let _ = write!(name, "{byte:02x}");
            }
            files.push(PathBuf::from(name + ".debug"));
        }
        files.push(PathBuf::from(&self.path));
        files
    }

    /// Reads the names of a file, if it is the one that was mapped.
    fn read(&self, path: &Path) -> Option<Names> {
        let metadata = path.metadata().ok()?;
        if !path.is_absolute() || !metadata.is_file() || metadata.len() > MAX_LEN {
            return None;
        }
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        if !self.build_id.is_empty() && file.build_id().ok().flatten() != Some(&self.build_id) {
            return None;
        }
        let first = file.segments().min_by_key(|segment| segment.address())?;
        let linked = first.address().wrapping_sub(first.file_range().0);
        let has_debug = file.has_debug_symbols();
        Some(Names {
            table: Table::of(&file),
            loader: has_debug.then(|| Loader::new(path).ok()).flatten(),
            linked,
        })
    }
}
