//! Events as objects of the classes that Python gives.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use telemetry_decode::{Event, Value};

use crate::slots::{Class, Slot, text};

/// The most objects of numbers that are kept for a parameter or a session.
const MAX_KEPT: usize = 1 << 16;

/// Makes objects of events.
pub(crate) struct Maker {
    /// A function of Python: the fingerprint of a registry to the forms of its events.
    forms_of: Py<PyAny>,
    /// A function of Python: a session's id, a thread, a fingerprint and a kind to a lane.
    lane_of: Py<PyAny>,
    registries: Vec<(u64, Vec<Option<Form>>)>,
    /// The index of the latest registry.
    registry: usize,
    lanes: Vec<Lane>,
    lane_ids: HashMap<Key, usize>,
    /// The index of the latest lane.
    lane: usize,
    labels: Vec<Labels>,
}

/// Session id, thread, fingerprint, kind.
type Key = (u64, u32, u64, u8);

struct Lane {
    key: Key,
    object: Py<PyAny>,
    /// Index of its session's labels.
    labels: usize,
}

/// The labels of a session.
struct Labels {
    session: u64,
    /// A function of Python: a number to a label.
    of: Py<PyAny>,
    known: HashMap<u64, Py<PyAny>>,
}

/// The form of an event's objects.
struct Form {
    class: Class,
    ticks: Slot,
    lane: Slot,
    params: Vec<(Slot, Convert)>,
}

/// How a value becomes an object.
enum Convert {
    Plain,
    Label,
    /// An enum or flags: a function of Python, and its results by number.
    Named(Py<PyAny>, HashMap<i128, Py<PyAny>>),
    /// All values are hidden: what stands for them.
    Hidden(Py<PyAny>),
}

impl Maker {
    pub(crate) fn new(forms_of: Py<PyAny>, lane_of: Py<PyAny>) -> Maker {
        Maker {
            forms_of,
            lane_of,
            registries: Vec::new(),
            registry: 0,
            lanes: Vec::new(),
            lane_ids: HashMap::new(),
            lane: 0,
            labels: Vec::new(),
        }
    }

    /// Returns the object of an event; `None` if Python has no class for it.
    #[inline]
    pub(crate) fn make<'py>(
        &mut self,
        py: Python<'py>,
        event: &Event<'_>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let fingerprint = event.known_registry().fingerprint;
        if self.registries.get(self.registry).is_none_or(|known| known.0 != fingerprint) {
            self.registry = self.find_registry(py, event)?;
        }
        if self.registries[self.registry].1[event.index()].is_none() {
            return Ok(None);
        }
        let key = (event.session().id, event.thread(), fingerprint, event.kind().bit);
        if self.lanes.get(self.lane).is_none_or(|lane| lane.key != key) {
            self.lane = self.find_lane(py, key)?;
        }
        let lane = &self.lanes[self.lane];
        let Some(form) = &mut self.registries[self.registry].1[event.index()] else { return Ok(None) };
        let object = form.class.make(py)?;
        form.ticks.set(&object, PyInt::new(py, event.ticks()).as_any())?;
        form.lane.set(&object, lane.object.bind(py))?;
        let labels = &mut self.labels[lane.labels];
        let mut values = event.values();
        for (slot, convert) in &mut form.params {
            // A parameter that the stream's version does not have is none.
            let value = match values.next() {
                Some(value) => match convert {
                    Convert::Hidden(object) => object.bind(py).clone(),
                    convert => object_of(py, value, convert, labels)?,
                },
                None => py.None().into_bound(py),
            };
            slot.set(&object, &value)?;
        }
        Ok(Some(object))
    }

    #[cold]
    fn find_registry(&mut self, py: Python<'_>, event: &Event<'_>) -> PyResult<usize> {
        let fingerprint = event.known_registry().fingerprint;
        if let Some(index) = self.registries.iter().position(|known| known.0 == fingerprint) {
            return Ok(index);
        }
        let by_code = self.forms_of.bind(py).call1((fingerprint,))?;
        let by_code = by_code.cast::<PyDict>()?;
        let events = event.registry().events.iter();
        let forms = events.map(|event| match by_code.get_item(event.code)? {
            Some(form) => Ok(Some(Form::new(&form)?)),
            None => Ok(None),
        });
        let forms = forms.collect::<PyResult<_>>()?;
        self.registries.push((fingerprint, forms));
        Ok(self.registries.len() - 1)
    }

    #[inline(never)]
    fn find_lane(&mut self, py: Python<'_>, key: Key) -> PyResult<usize> {
        if let Some(index) = self.lane_ids.get(&key) {
            return Ok(*index);
        }
        let object = self.lane_of.bind(py).call1(key)?;
        let labels = match self.labels.iter().position(|labels| labels.session == key.0) {
            Some(index) => index,
            None => {
                let of = object.getattr("session")?.getattr("_label")?.unbind();
                self.labels.push(Labels { session: key.0, of, known: HashMap::new() });
                self.labels.len() - 1
            }
        };
        self.lanes.push(Lane { key, object: object.unbind(), labels });
        self.lane_ids.insert(key, self.lanes.len() - 1);
        Ok(self.lanes.len() - 1)
    }
}

impl Form {
    /// Takes a class, and a list of the names of its slots, each with the word `label`, a function
    /// of enums or flags, or none. Another text stands for values that are hidden.
    fn new(form: &Bound<'_, PyAny>) -> PyResult<Form> {
        let form = form.cast::<PyTuple>()?;
        let class = form.get_item(0)?.cast_into::<PyType>()?;
        let mut params = Vec::new();
        for param in form.get_item(1)?.try_iter()? {
            let (name, convert) = param?.extract::<(String, Bound<'_, PyAny>)>()?;
            let convert = if convert.is_none() {
                Convert::Plain
            } else if convert.is_callable() {
                Convert::Named(convert.unbind(), HashMap::new())
            } else if convert.cast::<PyString>()?.to_cow()? == "label" {
                Convert::Label
            } else {
                Convert::Hidden(convert.unbind())
            };
            params.push((Slot::new(&class, &name)?, convert));
        }
        let (ticks, lane) = (Slot::new(&class, "ticks")?, Slot::new(&class, "lane")?);
        Ok(Form { class: Class::new(&class)?, ticks, lane, params })
    }
}

/// Returns the object of a value.
#[inline]
fn object_of<'py>(
    py: Python<'py>,
    value: Value<'_>,
    convert: &mut Convert,
    labels: &mut Labels,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Unsigned(n) => number(py, n),
        Value::Signed(n) => PyInt::new(py, n).into_any(),
        Value::F32(x) => PyFloat::new(py, x.into()).into_any(),
        Value::F64(x) => PyFloat::new(py, x).into_any(),
        Value::Bool(truth) => PyBool::new(py, truth).to_owned().into_any(),
        Value::String(string) => text(py, string.0)?,
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::Label(n) => match convert {
            Convert::Label => kept(py, &labels.of, &mut labels.known, n, n)?,
            _ => number(py, n),
        },
        Value::Named(named) => match convert {
            Convert::Named(of, known) => kept(py, of, known, named.number(), named.number())?,
            _ => PyInt::new(py, named.number() as i64).into_any(),
        },
        Value::Array(array) => {
            let items = array.iter().map(|item| object_of(py, item, convert, labels));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
    })
}

#[inline]
fn number(py: Python<'_>, n: u64) -> Bound<'_, PyAny> {
    PyInt::new(py, n).into_any()
}

/// Returns the object that a function of Python makes of a number. It is called once for each.
fn kept<'py, K, N>(
    py: Python<'py>,
    of: &Py<PyAny>,
    known: &mut HashMap<K, Py<PyAny>>,
    key: K,
    n: N,
) -> PyResult<Bound<'py, PyAny>>
where
    K: std::hash::Hash + Eq,
    N: IntoPyObject<'py>,
{
    if let Some(object) = known.get(&key) {
        return Ok(object.bind(py).clone());
    }
    let object = of.bind(py).call1((n,))?;
    if known.len() >= MAX_KEPT {
        known.clear();
    }
    known.insert(key, object.clone().unbind());
    Ok(object)
}
