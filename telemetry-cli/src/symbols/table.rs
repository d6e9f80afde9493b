//! Functions by their addresses.

/// The names of ranges of addresses that do not overlap.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Ordered by start: start, end, name.
    ranges: Vec<(u64, u64, Box<str>)>,
}

impl Table {
    /// Orders ranges. Of those that begin at one address, the first counts.
    pub(super) fn new(ranges: impl Iterator<Item = (u64, u64, Box<str>)>) -> Table {
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_by_key(|(start, ..)| *start);
        ranges.dedup_by_key(|(start, ..)| *start);
        Table { ranges }
    }

    /// Returns the name of the range that an address is in.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        let after = self.ranges.partition_point(|(start, ..)| *start <= address);
        let (_, end, name) = self.ranges.get(after.checked_sub(1)?)?;
        (address < *end).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn an_address_has_the_name_of_its_range() {
        let ranges = [(20, 30, "b"), (10, 15, "a"), (20, 40, "other"), (0, 5, "first")];
        let table = Table::new(ranges.map(|(start, end, name)| (start, end, name.into())).into_iter());
        let names: Vec<_> = [0, 4, 5, 10, 14, 15, 19, 20, 29, 30, u64::MAX].map(|at| table.name(at)).into();
        let (first, a, b) = (Some("first"), Some("a"), Some("b"));
        assert_eq!(names, [first, first, None, a, a, None, None, b, b, None, None]);
        assert_eq!(Table::default().name(0), None);
    }
}
