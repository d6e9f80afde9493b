//! Events that spans and events of the crate `tracing` become: what the macro makes of the mark
//! `tracing`, for the package `telemetry-tracing`.

/// An event of a registry with its mark `tracing`.
#[derive(Debug)]
pub struct Mapping {
    /// Name of its registry.
    pub registry: &'static str,
    /// Its name.
    pub event: &'static str,
    /// Target of the span or event of `tracing`.
    pub target: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// Whether a span becomes the event when it is closed. Otherwise, when it is made.
    pub at_close: bool,
    /// Names of the parameters and of their types.
    pub params: &'static [(&'static str, &'static str)],
    /// Returns true if the event is on.
    pub is_on: fn() -> bool,
    /// Emits the event with a value for each parameter.
    pub emit: Emit,
}

/// Emits an event. The error is the index of a parameter whose type does not have the value.
pub type Emit = fn(&[Value<'_>]) -> Result<(), usize>;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'v> {
    /// The field has no value.
    None,
    /// An integer.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A text, or a value that was formatted as one.
    Text(&'v str),
}

/// Returns an integer that fits its type.
pub fn integer<T: TryFrom<i128>>(value: Value<'_>) -> Option<T> {
    match value {
        Value::Integer(number) => T::try_from(number).ok(),
        _ => None,
    }
}

/// Returns a floating-point number. An integer is one, too.
pub fn float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float(number) => Some(number),
        Value::Integer(number) => Some(number as f64),
        _ => None,
    }
}

/// Returns true or false.
pub fn boolean(value: Value<'_>) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(value),
        _ => None,
    }
}

/// Returns a text.
pub fn text(value: Value<'_>) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_becomes_what_its_parameter_takes() {
        let values = [
            Value::None,
            Value::Integer(300),
            Value::Integer(-1),
            Value::Float(1.5),
            Value::Bool(true),
            Value::Text("text"),
        ];
        assert_eq!(values.map(integer::<u16>), [None, Some(300), None, None, None, None]);
        assert_eq!(values.map(integer::<i8>), [None, None, Some(-1), None, None, None]);
        assert_eq!(values.map(float), [None, Some(300.0), Some(-1.0), Some(1.5), None, None]);
        assert_eq!(values.map(boolean), [None, None, None, None, Some(true), None]);
        assert_eq!(values.map(text), [None, None, None, None, None, Some("text")]);
        assert_eq!(boolean(Value::Bool(false)), Some(false));
    }
}
