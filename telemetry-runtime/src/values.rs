//! What may be passed for a `pointer`, `addr` or `word` parameter.

use core::ptr::NonNull;

/// An address: a pointer or reference of any kind, or a number. Only the number is recorded; the
/// pointer is never read through.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no address",
    label = "expected a pointer, a reference, `usize` or `u64`",
    note = "parameters of sort `P` (pointer) and `A` (addr) take addresses"
)]
pub trait Address {
    /// The address as a number.
    fn address(self) -> u64;
}

/// A size, a count, any unsigned number of up to 64 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no word",
    label = "expected `usize`, `u64`, `u32`, `u16` or `u8`",
    note = "parameters of sort `W` (word) take unsigned numbers; one that is written out needs its type: `16_usize`"
)]
pub trait Word {
    /// The number.
    fn word(self) -> u64;
}

impl<T: ?Sized> Address for *const T {
    #[inline(always)]
    fn address(self) -> u64 {
        self.cast::<()>() as u64
    }
}

impl<T: ?Sized> Address for *mut T {
    #[inline(always)]
    fn address(self) -> u64 {
        self.cast::<()>() as u64
    }
}

impl<T: ?Sized> Address for &T {
    #[inline(always)]
    fn address(self) -> u64 {
        core::ptr::from_ref(self).address()
    }
}

impl<T: ?Sized> Address for &mut T {
    #[inline(always)]
    fn address(self) -> u64 {
        core::ptr::from_mut(self).address()
    }
}

impl<T: ?Sized> Address for NonNull<T> {
    #[inline(always)]
    fn address(self) -> u64 {
        self.as_ptr().address()
    }
}

impl<T: ?Sized> Address for Option<NonNull<T>> {
    #[inline(always)]
    fn address(self) -> u64 {
        self.map_or(0, Address::address)
    }
}

macro_rules! numbers {
    ($($trait:ident::$method:ident for $($type:ty)*;)*) => {$($(
        impl $trait for $type {
            #[inline(always)]
            fn $method(self) -> u64 {
                self as u64
            }
        }
    )*)*};
}

numbers! {
    Address::address for usize u64;
    Word::word for usize u64 u32 u16 u8;
}
