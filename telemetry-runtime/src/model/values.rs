//! The types of arguments for `pointer`, `addr` and `word` parameters.

use core::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

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

/// An address for the parameter that the type `P` is named after. For generated code.
///
/// A call leaves `N` open, as the type of a number that is written out. One implementation fits
/// most addresses, and decides it. Two fit a reference to an owner, so the number becomes an `i32`,
/// for which there is none.
#[diagnostic::on_unimplemented(
    message = "parameter `{P}` takes an address, not `{Self}`",
    label = "expected a pointer, a reference, `usize` or `u64`",
    note = "parameters of the types `pointer` and `addr` take addresses",
    note = "for the address of what an owner such as a `Box` owns, write `&raw const *owner`"
)]
pub trait AddressFor<P, N>: Address {}

impl<P, T: Address> AddressFor<P, u8> for T {}

/// A word for the parameter that the type `P` is named after. For generated code.
#[diagnostic::on_unimplemented(
    message = "parameter `{P}` takes a word, not `{Self}`",
    label = "expected `usize`, `u64`, `u32`, `u16` or `u8`",
    note = "parameters of the type `word` take unsigned numbers; one that is written out needs its type: `16_usize`"
)]
pub trait WordFor<P>: Word {}

impl<P, T: Word> WordFor<P> for T {}

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

/// Makes errors say what to write for an owner, such as a `Box`, and for an untyped number. The
/// compiler proposes to borrow the argument if the missing trait is one step away: the address of
/// the box, and not of what it owns. So it is two steps away.
pub struct Advice<T: ?Sized>(core::marker::PhantomData<T>);

/// The first step.
pub trait Advised {}

/// The second step for owners. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not an address: the emitter would drop it",
    label = "expected a pointer, a reference, `usize` or `u64`",
    note = "for the address of what `owner` owns, write `&raw const *owner`"
)]
pub trait Owned<T: ?Sized> {}

/// The second step for numbers. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "`i32` is not an address",
    label = "expected a pointer, a reference, `usize` or `u64`",
    note = "a number that is written out needs its type: `16_usize`"
)]
pub trait Numbered<'a> {}

impl<T: ?Sized> Advised for Advice<T> where (): Owned<T> {}
impl<'a> Advised for &'a Advice<i32> where (): Numbered<'a> {}

/// The types that own what they lead to. A reference to one is the address of the owner, where that
/// of what it owns is meant.
pub trait Owner {}

#[diagnostic::do_not_recommend]
impl<P, O: Owner + ?Sized> AddressFor<P, u16> for &O {}
#[diagnostic::do_not_recommend]
impl<P, O: Owner + ?Sized> AddressFor<P, u16> for &mut O {}

macro_rules! owners {
    ($($owner:ident)*) => {$(
        impl<T: ?Sized> Sealed for $owner<T> {}
        impl<T: ?Sized> Owner for $owner<T> {}

        #[doc(hidden)]
        impl<T: ?Sized> Address for $owner<T>
        where
            Advice<$owner<T>>: Advised,
        {
            fn address(self) -> u64 {
                core::ptr::from_ref(&*self).address()
            }
        }
    )*};
}

owners! { Box Rc Arc }

impl Sealed for i32 {}

// For all lifetimes, because the compiler refuses a bound that it can see is not met.
#[doc(hidden)]
impl Address for i32
where
    for<'a> &'a Advice<i32>: Advised,
{
    fn address(self) -> u64 {
        u64::from(self.unsigned_abs())
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
