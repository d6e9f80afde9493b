//! Decodes the events of a buffer to a page.

use telemetry_decode::foreign::Page;
use telemetry_schema::{Count, Registry, Sort};

use super::calls::Calls;
use super::decode::{Item, Visit};
use super::header::{BUFFER_LEN, BufferHead};
use super::layout::Layout;
use super::order::{self, Key};
use super::what::What;

/// Appends the events of a buffer to a page.
pub(super) struct PageEvents<'p> {
    layout: &'p Layout,
    registry: &'p Registry,
    /// Index of the registry among those of the log.
    index: usize,
    page: &'p mut Page,
    /// Clock reading of the buffer's earliest event.
    first: u64,
    /// The position of each event, if their order is to be given.
    keys: Option<Vec<Key>>,
    calls: Calls,
}

impl<'p> PageEvents<'p> {
    pub(super) fn new(
        layout: &'p Layout,
        (index, registry): (usize, &'p Registry),
        page: &'p mut Page,
        first: u64,
    ) -> Self {
        PageEvents { layout, registry, index, page, first, keys: None, calls: Calls::default() }
    }

    /// Appends the buffer itself: its number, the number of its events, and whether their order
    /// follows.
    pub(super) fn buffer(&mut self, head: &BufferHead, index: u32, events: u32, tells_order: bool) {
        let mut event =
            self.page.event(self.index, self.layout.index(What::Buffer) as usize, self.first, 0, BUFFER_LEN);
        let numbers =
            [index.into(), events.into(), head.time, head.ptr_base, head.obj_base, head.method_base];
        numbers.into_iter().for_each(|number| event.number(number));
        self.keys = tells_order.then(Vec::new);
    }

    /// Appends the order of the events, if it is to be given.
    pub(super) fn order(self) {
        let Some(keys) = self.keys else { return };
        for positions in order::positions(&keys).chunks(order::PER_EVENT) {
            let event = self.layout.index(What::Order) as usize;
            let mut event = self.page.event(self.index, event, self.first, 0, 0);
            event.array(Sort::U32, positions.iter().map(|position| u64::from(*position)));
        }
    }
}

impl Visit for PageEvents<'_> {
    #[inline]
    fn call(&mut self, what: What, ticks: u64, method: u64, at: usize, end: usize) {
        let (events, has_method) = self.calls.read(what, method);
        for what in events {
            let event = self.layout.index(*what) as usize;
            let mut event = self.page.event(self.index, event, ticks, BUFFER_LEN + at, end - at);
            if has_method {
                event.number(method);
            }
            if let Some(keys) = &mut self.keys {
                keys.push((ticks, self.layout.call_kind));
            }
        }
    }

    fn event(&mut self, item: &Item<'_>) {
        let (at, len) = (BUFFER_LEN + item.at, item.end - item.at);
        let mut event = self.page.event(self.index, item.event as usize, item.ticks, at, len);
        let params = self.registry.events.get(item.event as usize).map_or(&[][..], |event| &event.params);
        let (mut values, mut lists) = (0, item.lists.iter());
        for param in params {
            match (param.count, param.sort) {
                (Count::UpTo(_) | Count::Fixed(_), sort) => {
                    let list = lists.next().copied().unwrap_or_default();
                    event.array(sort, list.iter().copied());
                    continue;
                }
                (Count::One, Sort::String) => event.run(item.text(values)),
                (
                    Count::One,
                    Sort::Pointer | Sort::Addr | Sort::Word | Sort::F32 | Sort::F64 | Sort::Bool,
                )
                | (Count::One, Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64)
                | (Count::One, Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64)
                | (Count::One, Sort::Bytes | Sort::Label | Sort::Named(_)) => {
                    event.number(item.value(values))
                }
            }
            values += 1;
        }
        if let Some(keys) = &mut self.keys {
            keys.push((item.ticks, item.entry.kind));
        }
    }
}
