//! Messages for C, by name, for embedders of a program that cannot call its Rust functions.
//!
//! `include/telemetry.h` describes the functions.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_double, c_int};
use std::time::Duration;

use crate::memory::registry;
use crate::model::channel::{AnyChannel, AnyMessage, Form};
use crate::model::message_values::{Value, Valued};
use crate::sys::c_text::text;
use crate::sys::errno::{INVALID, NO_MEMORY};

/// Error: there is no such message or parameter.
const ABSENT: c_int = 2;

/// Makes the linker keep the functions in the program, though nothing calls them.
pub(crate) fn keep() {
    use core::hint::black_box;
    black_box(telemetry_message_enable as *const ());
    black_box(telemetry_message_disable as *const ());
    black_box(telemetry_message_queued as *const ());
    black_box(telemetry_message_dropped as *const ());
    black_box(telemetry_message_get as *const ());
    black_box(telemetry_message_wait as *const ());
    black_box(telemetry_message_free as *const ());
    black_box(telemetry_message_is_end as *const ());
    black_box(telemetry_message_ticks as *const ());
    black_box(telemetry_message_count as *const ());
    black_box(telemetry_message_integer as *const ());
    black_box(telemetry_message_real as *const ());
    black_box(telemetry_message_text as *const ());
}

/// Returns the message with a name, `Gc` or `registry:Gc`, in the registries that are in use
/// or known.
///
/// # Safety
/// `name` must be null or end in NUL.
unsafe fn channel(name: *const c_char) -> Result<&'static dyn AnyChannel, c_int> {
    // SAFETY: by the contract of this function.
    let name = unsafe { text(name) }.and_then(|name| name.to_str().ok()).ok_or(INVALID)?;
    let (registry, name) = name.split_once(':').map_or((None, name), |(of, name)| (Some(of), name));
    let mut channels = registry::all().chain(registry::known()).flat_map(|registry| registry.messages());
    let is_meant = |form: &Form| form.name == name && registry.is_none_or(|of| of == form.registry);
    channels.find(|channel| is_meant(channel.form())).copied().ok_or(ABSENT)
}

/// Returns the parameter with a name.
///
/// # Safety
/// `message` must be null or from `telemetry_message_get`. `name` must be null or end in NUL.
unsafe fn param<'m>(message: *const AnyMessage, name: *const c_char) -> Result<&'m dyn Valued, c_int> {
    // SAFETY: by the contract of this function.
    let (message, name) = unsafe { (message.as_ref(), text(name)) };
    let name = name.and_then(|name| name.to_str().ok()).ok_or(INVALID)?;
    message.ok_or(INVALID)?.find(name).ok_or(ABSENT)
}

/// Writes a value to the caller's variable.
///
/// # Safety
/// `into` must be null, or point to room for the value.
unsafe fn put<T>(into: *mut T, value: Result<Option<T>, c_int>) -> c_int {
    match value {
        Err(error) => error,
        Ok(None) => ABSENT,
        Ok(Some(_)) if into.is_null() => INVALID,
        Ok(Some(value)) => {
            // SAFETY: by the contract of this function, and `into` is not null.
            unsafe { into.write(value) };
            0
        }
    }
}

/// # Safety
/// As for [`channel`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_enable(name: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    match unsafe { channel(name) } {
        Ok(channel) if channel.start() => 0,
        Ok(_) => NO_MEMORY,
        Err(error) => error,
    }
}

/// # Safety
/// As for [`channel`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_disable(name: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { channel(name) }.map(|channel| channel.stop()).err().unwrap_or(0)
}

/// # Safety
/// As for [`channel`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_queued(name: *const c_char) -> u64 {
    // SAFETY: by the contract of this function.
    unsafe { channel(name) }.map_or(0, |channel| channel.queued())
}

/// # Safety
/// As for [`channel`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_dropped(name: *const c_char) -> u64 {
    // SAFETY: by the contract of this function.
    unsafe { channel(name) }.map_or(0, |channel| channel.dropped())
}

/// # Safety
/// As for [`channel`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_get(name: *const c_char) -> *mut AnyMessage {
    // SAFETY: by the contract of this function.
    handle(unsafe { channel(name) }.ok().and_then(|channel| channel.get()))
}

/// # Safety
/// As for [`channel`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_wait(name: *const c_char, seconds: c_double) -> *mut AnyMessage {
    let longest = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    // SAFETY: by the contract of this function.
    handle(unsafe { channel(name) }.ok().and_then(|channel| channel.wait(longest)))
}

fn handle(message: Option<AnyMessage>) -> *mut AnyMessage {
    message.map_or(core::ptr::null_mut(), |message| Box::into_raw(Box::new(message)))
}

/// # Safety
/// `message` must be null or from `telemetry_message_get`. The caller must not use it again.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_free(message: *mut AnyMessage) {
    if !message.is_null() {
        // SAFETY: by the contract of this function.
        drop(unsafe { Box::from_raw(message) });
    }
}

/// # Safety
/// As for [`param`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_is_end(message: *const AnyMessage) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { message.as_ref() }.is_some_and(|message| message.is_end).into()
}

/// # Safety
/// As for [`param`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_ticks(message: *const AnyMessage) -> u64 {
    // SAFETY: by the contract of this function.
    unsafe { message.as_ref() }.map_or(0, |message| message.ticks)
}

/// # Safety
/// As for [`param`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_count(message: *const AnyMessage, name: *const c_char) -> usize {
    // SAFETY: by the contract of this function.
    unsafe { param(message, name) }.map_or(0, |param| param.count())
}

/// # Safety
/// As for [`param`]. `into` must be null, or point to room for a number.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_integer(
    message: *const AnyMessage,
    name: *const c_char,
    index: usize,
    into: *mut u64,
) -> c_int {
    let integer = |value: Value<'_>| match value {
        Value::Unsigned(value) => Some(value),
        Value::Signed(value) => Some(value as u64),
        Value::Bool(value) => Some(value.into()),
        Value::Real(_) | Value::Text(_) | Value::Bytes(_) => None,
    };
    // SAFETY: by the contract of this function.
    unsafe { put(into, param(message, name).map(|param| param.nth(index).and_then(integer))) }
}

/// # Safety
/// As for [`param`]. `into` must be null, or point to room for a number.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_real(
    message: *const AnyMessage,
    name: *const c_char,
    index: usize,
    into: *mut c_double,
) -> c_int {
    let real = |value: Value<'_>| match value {
        Value::Real(value) => Some(value),
        _ => None,
    };
    // SAFETY: by the contract of this function.
    unsafe { put(into, param(message, name).map(|param| param.nth(index).and_then(real))) }
}

/// # Safety
/// As for [`param`]. `bytes` and `len` must be null, or point to room for a pointer and a size.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_message_text(
    message: *const AnyMessage,
    name: *const c_char,
    bytes: *mut *const u8,
    len: *mut usize,
) -> c_int {
    let run = |value: Value<'_>| match value {
        Value::Text(text) => Some((text.as_ptr(), text.len())),
        Value::Bytes(bytes) => Some((bytes.as_ptr(), bytes.len())),
        _ => None,
    };
    // SAFETY: by the contract of this function.
    let run = unsafe { param(message, name) }.map(|param| param.nth(0).and_then(run));
    // SAFETY: by the contract of this function.
    unsafe {
        match put(bytes, run.map(|run| run.map(|(bytes, _)| bytes))) {
            0 => put(len, run.map(|run| run.map(|(_, len)| len))),
            error => error,
        }
    }
}
