//! Static probes of emitters (USDT), by which system tracers attach to a program. Compiled in with
//! `--cfg telemetry_usdt`, on Linux.
//!
//! A probe is an instruction that does nothing, and a note about it in the program's file. A tracer
//! reads the note and puts a breakpoint at the instruction. The notes are those of SystemTap, which
//! bpftrace, perf and gdb read, too:
//! <https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation>.

/// Makes a probe. Each argument has its number of bytes, negative if it has a sign, the part of the
/// register that it takes, and the value. For generated code, not public API.
#[cfg(all(telemetry_usdt, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[doc(hidden)]
#[macro_export]
macro_rules! probe {
    (
        $provider:literal $name:literal
        $([$first_size:literal $first:ident $first_value:expr] $([$size:literal $width:ident $value:expr])*)?
    ) => {
        // SAFETY: the code is one instruction without effect. The rest is data in a section that is
        // not loaded, and a byte in one that is.
        unsafe {
            ::core::arch::asm!(
                // A label that no other probe has. By it, the linker drops the note of an emitter
                // that nothing calls.
                ".ifndef .Ltelemetry_probes",
                ".set .Ltelemetry_probes, 0",
                ".endif",
                ".set .Ltelemetry_probes, .Ltelemetry_probes + 1",
                ".altmacro",
                ".macro telemetry_probe number",
                ".Ltelemetry_probe\\number: nop",
                ".pushsection .note.stapsdt, \"o\", \"note\", .Ltelemetry_probe\\number",
                ".balign 4",
                ".4byte 992f - 991f, 994f - 993f, 3",
                "991: .asciz \"stapsdt\"",
                "992: .balign 4",
                // The probe, a symbol by which readers see that the program was moved, and no
                // counter of tracers.
                "993: .8byte .Ltelemetry_probe\\number, _.stapsdt.base, 0",
                ::core::concat!(".asciz \"", $provider, "\""),
                ::core::concat!(".asciz \"", $name, "\""),
                ::core::concat!(
                    ".asciz \""
                    $(
                        , $first_size, "@", $crate::probe_register!($first)
                        $(, " ", $size, "@", $crate::probe_register!($width))*
                    )?,
                    "\""
                ),
                "994: .balign 4",
                ".popsection",
                ".ifndef _.stapsdt.base",
                ".pushsection .stapsdt.base, \"aGR\", \"progbits\", .stapsdt.base, comdat",
                ".weak _.stapsdt.base",
                ".hidden _.stapsdt.base",
                "_.stapsdt.base: .space 1",
                ".size _.stapsdt.base, 1",
                ".popsection",
                ".endif",
                ".endm",
                "telemetry_probe %.Ltelemetry_probes",
                ".purgem telemetry_probe",
                ".noaltmacro",
                $(in(reg) $first_value, $(in(reg) $value,)*)?
                options(readonly, nostack, preserves_flags),
            );
        }
    };
}

/// Writes the register of an argument as the assembler of the processor names it: its lower 32
/// bits, or all of it.
#[cfg(all(telemetry_usdt, target_os = "linux", target_arch = "x86_64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! probe_register {
    (low) => {
        // gdb does not know the names of the lower 8 bits.
        "%{:e}"
    };
    (whole) => {
        "%{:r}"
    };
}

#[cfg(all(telemetry_usdt, target_os = "linux", target_arch = "aarch64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! probe_register {
    (low) => {
        "{:w}"
    };
    (whole) => {
        "{:x}"
    };
}

/// Makes nothing: the program is built without probes.
#[cfg(not(all(telemetry_usdt, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[doc(hidden)]
#[macro_export]
macro_rules! probe {
    ($($probe:tt)*) => {};
}
