//! Objects of classes with slots, made without a call of their `__init__`.
//!
//! An event is an object whose slots are set once. Its constructor would be Python code, and takes
//! ten times as long. So this file does what `object.__new__` and the slots' own descriptors do,
//! through the functions that the types state for it.

#![allow(unsafe_code)]

use std::os::raw::c_int;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// A class whose objects are made here.
pub(crate) struct Class {
    class: Py<PyType>,
    alloc: ffi::allocfunc,
}

/// A slot of a class.
pub(crate) struct Slot {
    descriptor: Py<PyAny>,
    set: ffi::descrsetfunc,
}

impl Class {
    /// Takes a class whose objects have only slots.
    pub(crate) fn new(class: &Bound<'_, PyType>) -> PyResult<Class> {
        let py = class.py();
        // SAFETY: `class` is a type, and the slot of this number is a function of this type or
        // null. `Option` of a function has the form of a pointer that may be null.
        let alloc: Option<ffi::allocfunc> =
            unsafe { std::mem::transmute(ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_alloc)) };
        // Other classes have memory that only their own `__new__` prepares.
        let new_of_all = py.get_type::<PyAny>().getattr("__new__")?;
        let alloc = alloc.filter(|_| class.getattr("__new__").is_ok_and(|new| new.is(&new_of_all)));
        let alloc = alloc.ok_or_else(|| {
            PyTypeError::new_err("found a class with a `__new__` of its own, expected one of slots")
        })?;
        Ok(Class { class: class.clone().unbind(), alloc })
    }

    /// Returns a new object, whose slots are empty.
    pub(crate) fn make<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: `alloc` is the allocator of this type, and its objects have no variable part. The
        // result is a new reference, or null with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, (self.alloc)(self.class.as_ptr().cast(), 0)) }
    }
}

impl Slot {
    /// Finds the slot of a class by its name.
    pub(crate) fn new(class: &Bound<'_, PyType>, name: &str) -> PyResult<Slot> {
        let py = class.py();
        let descriptor = class.getattr(name)?;
        let ty = descriptor.get_type();
        let member = py.import("types")?.getattr("MemberDescriptorType")?;
        if !ty.is(&member) {
            return Err(PyTypeError::new_err(format!("found `{name}` as {ty}, expected a slot")));
        }
        // SAFETY: as for `Py_tp_alloc` above: `ty` is a type, and the slot of this number is such a
        // function or null.
        let set: Option<ffi::descrsetfunc> =
            unsafe { std::mem::transmute(ffi::PyType_GetSlot(ty.as_type_ptr(), ffi::Py_tp_descr_set)) };
        let set = set.ok_or_else(|| PyTypeError::new_err("slots that cannot be set"))?;
        Ok(Slot { descriptor: descriptor.unbind(), set })
    }

    /// Sets the slot of an object of its class.
    #[inline]
    pub(crate) fn set(&self, object: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        // SAFETY: all three are live objects, and `set` is the function of the descriptor's type.
        // It checks the class of the object, and takes its own reference to the value.
        let done: c_int = unsafe { (self.set)(self.descriptor.as_ptr(), object.as_ptr(), value.as_ptr()) };
        if done < 0 { Err(PyErr::fetch(object.py())) } else { Ok(()) }
    }
}

/// Returns the text of bytes, in which those that are not UTF-8 are lone surrogates.
pub(crate) fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the pointer and the length are those of a slice, whose length fits `isize`. The name
    // of the error handler ends with NUL. The result is a new reference, or null with an exception
    // set.
    unsafe {
        let decoded = ffi::PyUnicode_DecodeUTF8(
            bytes.as_ptr().cast(),
            bytes.len() as isize,
            c"surrogateescape".as_ptr(),
        );
        Bound::from_owned_ptr_or_err(py, decoded)
    }
}
