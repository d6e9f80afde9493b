//! The macros that emit a census.

/// Makes the macro of each census, which emits the begin, evaluates what emits the rows, and emits
/// the end. If that leaves the block in another way, there is no end, and readers leave the census
/// out: a part of a heap is no heap. For generated code, not public API.
///
/// The first token is `$`, for the patterns of the macros that are made. Each census has:
///
/// - the path of its module, and its doc;
/// - its macro's name at the root of the crate, and in the module;
/// - of the begin, as for `emitters!`: whether it is always compiled in, its bit, and the path of
///   its channel;
/// - the macros of the begin and of the end;
/// - the error about wrong arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! censuses {
    ($d:tt $({
        [$($at:tt)*] $doc:tt $exported:ident $name:ident
        $always:tt $bit:tt $(|| [$($channel:tt)*])? $begin:ident $end:ident $wrong:tt
    })*) => {$(
        #[doc = $doc]
        #[cfg_attr(doc, doc(hidden))]
        #[macro_export]
        macro_rules! $exported {
            (
                $d($d begin:expr),* $d(,)?
                $d(; $d($d end:expr),* $d(,)?)?
                => $d rows:expr
            ) => {
                if $crate::__private::is_on($always, &$d $($at)*::__emit::MASK[$bit / 8], $bit)
                    $(|| $d $($channel)*.is_wanted())?
                {
                    $d $($at)*::$begin!($d($d begin),*);
                    $d rows;
                    $d $($at)*::$end!($d($d($d end),*)?);
                }
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
