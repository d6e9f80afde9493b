//! The check of an emitter's arguments.
//!
//! A plain parameter, such as `level: u32`, would be checked as well, but the compiler's error does
//! not name it. So a parameter is generic, and a trait of the type that is named after it says what
//! it takes. That trait is of the parameter's type and not of the argument's. Otherwise the
//! compiler would propose to borrow an argument, such as a number, where an address is expected.
//!
//! The compiler must know the argument's type first, or it would compare the two as those of a
//! plain parameter. So the trait also depends on the type of the call's last argument, `()`. Until
//! that one is checked, two implementations fit. Then one is left, which decides the type of a
//! number that is written out, or of `x.into()`.

use std::rc::Rc;
use std::sync::Arc;

use crate::model::values::{Address, Word};

/// The type of no last argument, for the second implementation.
#[derive(Debug, Clone, Copy)]
pub enum Never {}

/// Says that the parameter which `Self` is named after takes a value of the type `Expected`.
#[diagnostic::on_unimplemented(
    message = "parameter `{Self}` takes `{Expected}`, not `{Given}`",
    label = "expected `{Expected}`, found `{Given}`"
)]
pub trait Takes<Given, Expected, Last> {
    /// Returns the argument.
    fn take(given: Given) -> Expected;
}

#[diagnostic::do_not_recommend]
impl<P, T> Takes<T, T, ()> for P {
    #[inline(always)]
    fn take(given: T) -> T {
        given
    }
}

#[diagnostic::do_not_recommend]
impl<P, T> Takes<T, T, Never> for P {
    #[inline(always)]
    fn take(given: T) -> T {
        given
    }
}

/// Says that the parameter which `Self` is named after takes a reference to a `Target`: a text or a
/// list, or what owns one.
///
/// Each reference has two implementations, too. Otherwise the first text of a call would decide
/// `Last`, and the compiler would compare the arguments after it as those of plain parameters.
#[diagnostic::on_unimplemented(
    message = "parameter `{Self}` takes `&{Target}`, not `{Given}`",
    label = "expected `&{Target}`, found `{Given}`"
)]
pub trait Borrows<Given, Target: ?Sized, Last> {
    /// Returns the argument as a plain reference.
    fn borrow(given: &Given) -> &Target;
}

macro_rules! borrows {
    ($($reference:ty, $last:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<P, R: ?Sized, T: ?Sized + AsRef<R>> Borrows<$reference, R, $last> for P {
            #[inline(always)]
            fn borrow<'t>(given: &'t $reference) -> &'t R {
                (**given).as_ref()
            }
        }
    )*};
}

borrows! { &T, (); &T, Never; &mut T, (); &mut T, Never; }

/// Says that the parameter which `Self` is named after takes an address.
///
/// A call leaves `N` open, as the type of a number that is written out. One implementation fits
/// most addresses, and decides it. Two fit a reference to an owner, so the number becomes an `i32`,
/// for which there is none.
#[diagnostic::on_unimplemented(
    message = "parameter `{Self}` takes an address, not `{Given}`",
    label = "expected a pointer, a reference, `usize` or `u64`",
    note = "a number that is written out needs its type: `16_usize`",
    note = "for the address of what an owner such as a `Box` owns, write `&raw const *owner`"
)]
pub trait Locates<Given, N> {
    /// Returns the address as a number.
    fn address(given: Given) -> u64;
}

#[diagnostic::do_not_recommend]
impl<P, T: Address> Locates<T, u8> for P {
    #[inline(always)]
    fn address(given: T) -> u64 {
        given.address()
    }
}

/// The types that own what they lead to. A reference to one is the address of the owner, where that
/// of what it owns is meant.
pub trait Owner {}

impl<T: ?Sized> Owner for Box<T> {}
impl<T: ?Sized> Owner for Rc<T> {}
impl<T: ?Sized> Owner for Arc<T> {}

macro_rules! to_owners {
    ($($reference:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<P, O: Owner + ?Sized> Locates<$reference, u16> for P {
            fn address(given: $reference) -> u64 {
                given.address()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<P, O: Owner + ?Sized> AddressFor<P, u16> for $reference {}
    )*};
}

to_owners! { &O; &mut O; }

/// Says that an element of a list is an address for the parameter that the type `P` is named after.
/// `N` is as for [`Locates`].
#[diagnostic::on_unimplemented(
    message = "parameter `{P}` takes addresses, not `{Self}`",
    label = "expected pointers, references, `usize` or `u64`",
    note = "a number that is written out needs its type: `16_usize`",
    note = "for the address of what an owner such as a `Box` owns, write `&raw const *owner`"
)]
pub trait AddressFor<P, N>: Address {}

#[diagnostic::do_not_recommend]
impl<P, T: Address> AddressFor<P, u8> for T {}

/// A word for the parameter that the type `P` is named after. The compiler's advice to dereference
/// an argument is right here.
#[diagnostic::on_unimplemented(
    message = "parameter `{P}` takes a word, not `{Self}`",
    label = "expected `usize`, `u64`, `u32`, `u16` or `u8`",
    note = "parameters of the type `word` take unsigned numbers; one that is written out needs its type: `16_usize`"
)]
pub trait WordFor<P>: Word {}

impl<P, T: Word> WordFor<P> for T {}
