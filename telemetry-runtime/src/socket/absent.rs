//! Systems without Unix sockets, where processes cannot be reached.

pub(crate) fn begin() {}

pub(crate) fn is_missing() -> bool {
    false
}

pub(crate) fn begin_soon() {}

pub(crate) fn hold() -> Option<()> {
    None
}

pub(crate) fn prepare(_configured: Option<bool>, _is_child: bool) -> bool {
    false
}

pub(crate) fn serve_peers() -> bool {
    false
}

pub(crate) fn leave_link(_ring: &core::ffi::CStr) {}

pub(crate) fn remove_link() {}

pub(crate) fn end() {}

pub(crate) fn in_child() {}
