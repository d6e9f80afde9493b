//! A file of code that was mapped into a process, and the names of its functions.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use addr2line::{Loader, demangle_auto};

use super::elf::Elf;
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
            let symbol = names.table.name(linked);
            // The last one is the function itself, the ones before were inlined into it.
            let mut function = None;
            if let Some(mut frames) = names.loader.as_ref().and_then(|loader| loader.find_frames(linked).ok())
            {
                while let Ok(Some(frame)) = frames.next() {
                    if let Some(name) = frame.function.as_ref().and_then(|name| name.demangle().ok()) {
                        function.replace(name.into_owned()).into_iter().for_each(&mut each);
                    }
                }
            }
            match (function, symbol) {
                (None, None) => {}
                (None, Some(symbol)) => return each(demangled(symbol).into_owned()),
                (Some(function), None) => return each(function),
                (Some(function), Some(symbol)) => return each(the_longer(function, symbol)),
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
        let Elf { table, linked, has_debug } = Elf::read(&contents(path)?, &self.build_id)?;
        let loader = has_debug.then(|| Loader::new(path).ok()).flatten();
        Some(Names { table, loader, linked })
    }
}

/// Reads a regular file. A stream may name anything: a pipe is not waited for, and a file of the
/// system that has no length is not read.
fn contents(path: &Path) -> Option<Vec<u8>> {
    if !path.is_absolute() {
        return None;
    }
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.read(true).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || !(1..=MAX_LEN).contains(&metadata.len()) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(metadata.len()).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn demangled(symbol: &str) -> Cow<'_, str> {
    demangle_auto(Cow::Borrowed(symbol), None)
}

/// Chooses the name of a function with its module or namespace. Debug information of lines alone
/// has short names. A symbol that is mangled has all of it. Other symbols may have parts that the
/// compiler added.
fn the_longer(function: String, symbol: &str) -> String {
    let demangled = demangled(symbol);
    if demangled != symbol { demangled.into_owned() } else { function }
}

#[cfg(test)]
mod tests {
    use super::{contents, the_longer};

    #[test]
    fn a_function_has_its_longer_name() {
        let table = [
            ("leaf", "_ZN3app6stacks4leaf17h0123456789abcdefE", "app::stacks::leaf"),
            ("leaf", "_RNvNtCs1234_3app6stacks4leaf", "app::stacks::leaf"),
            ("find", "_ZN5Cache4findEi", "Cache::find(int)"),
            ("work", "work.constprop.0", "work"),
            ("main", "main", "main"),
        ];
        for (function, symbol, name) in table {
            assert_eq!(the_longer(function.to_string(), symbol), name);
        }
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "code").unwrap();
        std::fs::write(at("empty"), "").unwrap();
        assert_eq!(contents(&at("file")), Some(b"code".to_vec()));
        for name in ["empty", "none", ".", "/dev/null", "/proc/self/maps"] {
            assert_eq!(contents(&at(name)), None, "{name}");
        }
        assert_eq!(contents("file".as_ref()), None);
        #[cfg(unix)]
        {
            let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
            assert!(made.success());
            assert_eq!(contents(&at("pipe")), None);
        }
    }
}
