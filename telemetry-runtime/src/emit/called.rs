//! The mark of an emitter that code calls, by which `telemetry registry` tells the others.
//!
//! It is 16 bytes in a section that belongs to the section of a function of the emitter. If nothing
//! calls the emitter, the linker drops the function, and the mark with it. The mark is no
//! instruction, and no code refers to it. Its section is not named like an identifier of C: linkers
//! such as mold keep all sections with such a name.

/// Makes the mark in a function of an emitter, with the fingerprint of the registry and the event's
/// code. For generated code, not public API.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[doc(hidden)]
#[macro_export]
macro_rules! called {
    ($fingerprint:literal, $code:literal) => {
        // SAFETY: this is no code. It is data in a section of its own, which nothing writes.
        unsafe {
            ::core::arch::asm!(
                // A label that no other mark has. By it, the mark belongs to this function, which
                // may have a type parameter.
                ".ifndef .Ltelemetry_calls",
                ".set .Ltelemetry_calls, 0",
                ".endif",
                ".set .Ltelemetry_calls, .Ltelemetry_calls + 1",
                ".altmacro",
                ".macro telemetry_call number",
                ".Ltelemetry_call\\number:",
                ".pushsection .telemetry_called, \"ao\", \"progbits\", .Ltelemetry_call\\number",
                // `CalledMark` of `telemetry registry` reads it.
                ".byte 0x89, 0x54, 0x65, 0x6c, 0x45, 0x6d",
                ::core::concat!(".2byte ", $code),
                ::core::concat!(".8byte ", $fingerprint),
                ".popsection",
                ".endm",
                "telemetry_call %.Ltelemetry_calls",
                ".purgem telemetry_call",
                ".noaltmacro",
                options(nomem, nostack, preserves_flags),
            );
        }
    };
}

/// Makes nothing: only linkers of Linux are known to drop the mark.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[doc(hidden)]
#[macro_export]
macro_rules! called {
    ($($mark:tt)*) => {};
}
