//! An argument without meaning, in the register that reading the clock overwrites.
//!
//! The compiler removes arguments that are constant or unused. So an empty `asm!` makes the value,
//! and another one takes it. Neither has an instruction.
#![allow(unsafe_code)]

/// The argument. Reading the clock overwrites a function's third word only with the calling
/// convention of Unix on x86-64.
#[cfg(all(target_arch = "x86_64", unix, not(miri)))]
pub type Spare = u64;
/// The argument, which takes no register here.
#[cfg(not(all(target_arch = "x86_64", unix, not(miri))))]
pub type Spare = ();

/// Returns whatever is in a register.
#[inline(always)]
pub fn spare() -> Spare {
    #[cfg(all(target_arch = "x86_64", unix, not(miri)))]
    {
        let any: u64;
        // SAFETY: contains no instruction, and every value of the register is a number.
        unsafe {
            core::arch::asm!("/* {0} */", out(reg) any, options(nomem, nostack, preserves_flags));
        }
        any
    }
}

/// Takes the argument in the function that has it.
#[inline(always)]
pub fn take_spare(spare: Spare) {
    #[cfg(all(target_arch = "x86_64", unix, not(miri)))]
    // SAFETY: contains no instruction.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) spare, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", unix, not(miri))))]
    spare
}
