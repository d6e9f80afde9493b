//! The check of an emitter's other arguments: numbers, enums, texts and lists.
//!
//! A plain parameter, such as `level: u32`, would be checked as well, but the compiler's error does
//! not name it. So a parameter is generic, and a trait of the type that is named after it says what
//! it takes.
//!
//! The compiler must know the argument's type first, or it would compare the two as those of a
//! plain parameter. So the trait also depends on the type of the call's last argument, `()`. Until
//! that one is checked, two implementations fit. Then one is left, which decides the type of a
//! number that is written out, or of `x.into()`.

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
#[diagnostic::on_unimplemented(
    message = "parameter `{Self}` takes `&{Target}`, not `{Given}`",
    label = "expected `&{Target}`, found `{Given}`"
)]
pub trait Borrows<Given, Target: ?Sized, Last> {
    /// Returns the argument as a plain reference.
    fn borrow(given: &Given) -> &Target;
}

#[diagnostic::do_not_recommend]
impl<P, R: ?Sized, T: ?Sized + AsRef<R>> Borrows<&T, R, ()> for P {
    #[inline(always)]
    fn borrow<'t>(given: &'t &T) -> &'t R {
        (**given).as_ref()
    }
}

#[diagnostic::do_not_recommend]
impl<P, R: ?Sized, T: ?Sized + AsRef<R>> Borrows<&mut T, R, ()> for P {
    #[inline(always)]
    fn borrow<'t>(given: &'t &mut T) -> &'t R {
        (**given).as_ref()
    }
}
