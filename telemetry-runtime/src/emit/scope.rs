//! The guard that ends a span, and the macros that begin one.

use core::marker::PhantomData;

/// A span that has begun: its end is emitted when this is dropped. That is on every way out of a
/// block, also by `?` and while a panic unwinds. For generated code, not public API.
#[must_use = "the span ends where this is dropped; give it a name: `let _span = ...`"]
pub struct Scope<K, E: FnMut(K)> {
    /// None if the begin was off: then the end is not emitted, either.
    key: Option<K>,
    end: E,
}

impl<K, E: FnMut(K)> Scope<K, E> {
    /// Takes the key of the begin, if it was on, and what emits the end.
    #[inline(always)]
    pub fn new(key: Option<K>, end: E) -> Self {
        Scope { key, end }
    }
}

impl<K, E: FnMut(K)> Drop for Scope<K, E> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            (self.end)(key);
        }
    }
}

impl<K, E: FnMut(K)> core::fmt::Debug for Scope<K, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scope").field("is_on", &self.key.is_some()).finish_non_exhaustive()
    }
}

/// Stands for the key of a span that has none. Such spans nest per thread, so they must end on the
/// thread that began them.
#[derive(Debug, Default)]
pub struct OnThread(PhantomData<*const ()>);

impl OnThread {
    /// Returns it.
    #[inline(always)]
    pub const fn new() -> Self {
        OnThread(PhantomData)
    }
}

/// Makes the macro of each span, which emits the begin and returns a [`Scope`]. For generated code,
/// not public API.
///
/// The first token is `$`, for the patterns of the macros that are made. Each span has:
///
/// - the path of its module, and its doc;
/// - its macro's name at the root of the crate, and in the module; its own name;
/// - of the begin, as for `emitters!`: whether it is always compiled in, its bit, the path of its
///   channel, its parameters, and its zeros;
/// - of the end: its macro, and its parameters besides the key; then the same again before the key,
///   the key if there is one, and after the key;
/// - the error about wrong arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! scopes {
    ($d:tt $({
        [$($at:tt)*] $doc:tt $exported:ident $name:ident $span:ident
        $always:tt $bit:tt $(|| [$($channel:tt)*])? [$($first:tt $($param:tt)*)?] [$($open:tt)*]
        $end:ident [$($end_first:tt $($end_param:tt)*)?]
        [$($before:tt)*] [$key:ident $($keyed:ident)?] [$($after:tt)*]
        $wrong:tt
    })*) => {$(
        #[doc = $doc]
        #[cfg_attr(doc, doc(hidden))]
        #[macro_export]
        macro_rules! $exported {
            (
                $($d $first:expr $(, $d $param:expr)* $d(,)?)?
                $(; $d $end_first:expr $(, $d $end_param:expr)* $d(,)?)?
            ) => {
                $crate::__private::Scope::new(
                    if $crate::__private::is_on($always, &$d $($at)*::__emit::MASK[$bit / 8], $bit)
                        $(|| $d $($channel)*.is_wanted())?
                    {
                        $crate::__private::core::option::Option::Some(
                            <$d $($at)*::__emit::begin>::$span(
                                $($d $first, $($d $param,)*)?
                                $($open,)*
                                (),
                            )
                        )
                    } else {
                        $crate::__private::core::option::Option::None
                    },
                    |$key| $d $($at)*::$end!($($d $before,)* $($keyed,)? $($d $after,)*),
                )
            };
            ($d($d args:tt)*) => {
                ::core::compile_error!($wrong)
            };
        }
        #[doc(inline)]
        #[allow(unused_imports, unreachable_pub)]
        pub use $exported as $name;
    )*};
}

/// The same for editors, in which an unfinished call reaches the typed half of the begin.
#[doc(hidden)]
#[macro_export]
macro_rules! scopes_in_editor {
    ($d:tt $({
        [$($at:tt)*] $doc:tt $exported:ident $name:ident $span:ident
        $always:tt $bit:tt $(|| [$($channel:tt)*])? [$($param:tt)*] [$($open:tt)*]
        $end:ident [$($end_param:tt)*] [$($before:tt)*] [$($key:ident)*] [$($after:tt)*]
        $wrong:tt
    })*) => {$(
        #[doc = $doc]
        #[macro_export]
        macro_rules! $exported {
            ($d($d arg:expr),* $d(,)? $d(; $d($d end:expr),* $d(,)?)?) => {{
                $d($d(let _ = || $d end;)*)?
                <$d $($at)*::__emit::begin>::$span($d($d arg),*);
                $crate::__private::Scope::new($crate::__private::core::option::Option::None, |_: ()| ())
            }};
            ($d($d args:tt)*) => {
                <$d $($at)*::__emit::begin>::$span($d($d args)*)
            };
        }
        #[doc(inline)]
        #[allow(unused_imports, unreachable_pub)]
        pub use $exported as $name;
    )*};
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::Scope;

    type Keys = RefCell<Vec<u32>>;

    fn begin(key: Option<u32>, ended: &Keys) -> Scope<u32, impl FnMut(u32)> {
        Scope::new(key, move |key| ended.borrow_mut().push(key))
    }

    #[test]
    fn a_span_ends_once_if_it_has_begun() {
        let ended = Keys::default();
        let [first, second, off] = [Some(1), Some(2), None].map(|key| begin(key, &ended));
        assert_eq!(format!("{first:?} {off:?}"), "Scope { is_on: true, .. } Scope { is_on: false, .. }");
        assert!(ended.borrow().is_empty());
        drop((second, off));
        assert_eq!(*ended.borrow(), [2]);
        drop(first);
        assert_eq!(*ended.borrow(), [2, 1]);
    }
}
