//! The types of arguments for `pointer`, `addr` and `word` parameters.

use core::ptr::NonNull;

/// An address: a pointer, a reference or a number. Only the number is recorded, and the pointer is
/// never dereferenced.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an address",
    label = "expected a pointer, a reference, `usize` or `u64`",
    note = "parameters of sort `P` (pointer) and `A` (addr) take addresses"
)]
pub trait Address: Sealed {
    /// Returns the address as a number.
    fn address(self) -> u64;
}

/// A size, a count, or any unsigned number of up to 64 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a word",
    label = "expected `usize`, `u64`, `u32`, `u16` or `u8`",
    note = "parameters of sort `W` (word) take unsigned numbers; one that is written out needs its type: `16_usize`"
)]
pub trait Word: Sealed {
    /// Returns the number.
    fn word(self) -> u64;
}

/// Allows only the types below as addresses and words, so that more can be added later.
pub trait Sealed {}

impl<T: ?Sized> Sealed for *const T {}
impl<T: ?Sized> Sealed for *mut T {}
impl<T: ?Sized> Sealed for &T {}
impl<T: ?Sized> Sealed for &mut T {}
impl<T: ?Sized> Sealed for NonNull<T> {}
impl<T: ?Sized> Sealed for Option<NonNull<T>> {}

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

macro_rules! sealed {
    ($($type:ty)*) => {$(impl Sealed for $type {})*};
}

sealed! { usize u64 u32 u16 u8 }

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
