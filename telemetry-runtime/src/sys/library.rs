//! The program or the shared library that contains the runtime.
#![allow(unsafe_code)]

use crate::sys::atomic::{AtomicBool, Ordering};

/// Returns true if a shared library contains this code. Needs no lock.
pub(crate) fn is_library() -> bool {
    !is_in_program(is_library as *const () as usize)
}

/// Returns true if the C library does not use its own `malloc`: the program or a library has
/// another one, which may itself emit events. The answer is true, too, if it is not known.
#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
pub(crate) fn has_other_malloc() -> bool {
    // Both functions are in one file of the C library. Programs replace only the first.
    const SIZE_OF_FILE: usize = 1 << 16;
    let (malloc, info) = (libc::malloc as *const (), libc::malloc_info as *const ());
    malloc.addr().abs_diff(info.addr()) > SIZE_OF_FILE
}

/// Static programs cannot tell. The C libraries of other systems start threads without `malloc`.
#[cfg(not(all(target_env = "gnu", not(target_feature = "crt-static"))))]
pub(crate) fn has_other_malloc() -> bool {
    cfg!(target_env = "gnu")
}

/// Keeps the shared library that contains this code loaded, if there is one. Threads of the library
/// run to the end of the process, and so may its hooks. Called before such a thread is started. In
/// a library, takes the loader's lock and allocates.
pub(crate) fn pin_library() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if is_in_program(pin_library as *const () as usize) || DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Some(library) = object_of(pin_library as *const core::ffi::c_void) {
        // SAFETY: the name ends in NUL. To load a library that is loaded runs no code of it.
        unsafe { libc::dlopen(library.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// Returns true if the program's own headers contain an address. Needs no lock.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_in_program(address: usize) -> bool {
    #[cfg(target_pointer_width = "32")]
    use libc::Elf32_Phdr as Phdr;
    #[cfg(target_pointer_width = "64")]
    use libc::Elf64_Phdr as Phdr;
    // SAFETY: takes no pointers.
    let (at, len) = unsafe { (libc::getauxval(libc::AT_PHDR) as usize, libc::getauxval(libc::AT_PHNUM)) };
    if at == 0 {
        return false;
    }
    // SAFETY: the kernel says that there are `len` headers, which stay mapped as long as the
    // program runs.
    let headers = unsafe { core::slice::from_raw_parts(at as *const Phdr, len as usize) };
    // The distance between where the program is and where it was linked to be.
    let own = headers.iter().find(|header| header.p_type == libc::PT_PHDR);
    let moved = own.map_or(0, |own| at.wrapping_sub(own.p_vaddr as usize));
    headers.iter().filter(|header| header.p_type == libc::PT_LOAD).any(|header| {
        let from = moved.wrapping_add(header.p_vaddr as usize);
        address.wrapping_sub(from) < header.p_memsz as usize
    })
}

/// Always false, since these systems do not tell. To keep the program loaded does no harm.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_in_program(_address: usize) -> bool {
    false
}

/// Finds the program or the library that contains an address, and its name.
fn object_of(address: *const core::ffi::c_void) -> Option<libc::Dl_info> {
    // SAFETY: the address is only looked up, and the result is used only if the call has filled it
    // in.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        (libc::dladdr(address, &mut found) != 0 && !found.dli_fname.is_null()).then_some(found)
    }
}
