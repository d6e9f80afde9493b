//! The macros of the emitters, as `#[telemetry_event]` has them made.
//!
//! They are made here, and not by the attribute, for the sake of compile errors. The compiler shows
//! a token that comes from a macro of another crate at the call. One that an attribute made, it
//! shows at the attribute.

/// Makes the macro of each emitter: it tests the event's bit, evaluates the arguments if the bit is
/// set, and passes them to the typed half. For generated code, not public API.
///
/// The first token is `$`, for the patterns of the macros that are made. Each event has:
///
/// - the path of its module, and its doc;
/// - its name at the root of the crate, and in the module;
/// - whether it is always compiled in, and the bit of its switch;
/// - the path of its message's channel, if it has one;
/// - its parameters, and a zero for each address, whose type the call leaves open;
/// - the two parts of the error about a wrong count.
///
/// The parameters are matched as `tt`, so that rustdoc shows `$size:expr` without spaces.
#[doc(hidden)]
#[macro_export]
macro_rules! emitters {
    ($d:tt $({
        [$($at:tt)*] $doc:tt $exported:ident $name:ident $always:tt $bit:tt
        $(|| [$($channel:tt)*])? [$($first:tt $($param:tt)*)?] [$($open:tt)*] $takes:tt $list:tt
    })*) => {$(
        #[doc = $doc]
        #[cfg_attr(doc, doc(hidden))]
        #[macro_export]
        macro_rules! $exported {
            ($($d $first:expr $(, $d $param:expr)* $d(,)?)?) => {
                if $crate::__private::is_on($always, &$d $($at)*::__emit::MASK[$bit / 8], $bit)
                    $(|| $d $($channel)*.is_wanted())?
                {
                    // A path that begins with a type has its place here, like `$crate`.
                    <$d $($at)*::__emit::emit>::$name(
                        $($d $first, $($d $param,)*)?
                        $($open,)*
                        (),
                    )
                }
            };
            ($d($d args:tt)*) => {
                $crate::wrong_count! {
                    $takes $list
                    ["none is" "1 is" "2 are" "3 are" "4 are" "5 are" "6 are" "7 are" "8 are" "more are"]
                    $d($d args)*
                }
            };
        }
        // A macro that a macro makes has no path, but its re-export has.
        #[doc(inline)]
        #[allow(unused_imports, unreachable_pub)]
        pub use $exported as $name;
    )*};
}

/// The same for editors, in one arm that takes anything: an unfinished call still reaches the typed
/// half, from which an editor knows the parameters.
#[doc(hidden)]
#[macro_export]
macro_rules! emitters_in_editor {
    ($d:tt $({
        [$($at:tt)*] $doc:tt $exported:ident $name:ident $always:tt $bit:tt
        $(|| [$($channel:tt)*])? [$($param:tt)*] [$($open:tt)*] $takes:tt $list:tt
    })*) => {$(
        #[doc = $doc]
        #[macro_export]
        macro_rules! $exported {
            ($d($d args:tt)*) => {
                if $crate::__private::is_on($always, &$d $($at)*::__emit::MASK[$bit / 8], $bit) {
                    <$d $($at)*::__emit::emit>::$name($d($d args)*)
                }
            };
        }
        #[doc(inline)]
        #[allow(unused_imports, unreachable_pub)]
        pub use $exported as $name;
    )*};
}

/// Reports a wrong number of arguments. It counts by taking a word from a list for each.
#[doc(hidden)]
#[macro_export]
macro_rules! wrong_count {
    ($takes:tt $list:tt [$given:tt $($next:tt)*]) => {
        ::core::compile_error!(::core::concat!($takes, ", but ", $given, " given", $list));
    };
    ($takes:tt $list:tt [$more:tt] $($rest:tt)+) => {
        ::core::compile_error!(::core::concat!($takes, ", but ", $more, " given", $list));
    };
    ($takes:tt $list:tt [$given:tt $($next:tt)+] $arg:expr $(, $($rest:tt)*)?) => {
        $crate::wrong_count! { $takes $list [$($next)+] $($($rest)*)? }
    };
    ($takes:tt $list:tt $words:tt $($rest:tt)+) => {
        ::core::compile_error!(::core::concat!($takes, ", with commas between them", $list));
    };
}
