//! Batches as Arrow's record batches.

use telemetry_columns::{Batches, ColumnType, record_batch, schema};
use telemetry_decode::Reader;
use telemetry_testing::made::{Plan, make, registry};

#[test]
fn record_batches_have_the_rows_of_batches() {
    let stream = make(&registry(), &Plan { events: 3000, threads: 3, ..Plan::default() }).stream;
    let mut batches = Batches::new(Reader::from_slice(&stream).events().unwrap());
    let (mut rows, mut checked) = (0, 0);
    while let Some(batch) = batches.next_batch().unwrap() {
        let (table, expected) = (batch.table().clone(), batch.clone());
        let schema = schema(&table);
        let found = record_batch(batch, &schema).unwrap();
        assert_eq!(found.num_rows(), expected.rows());
        assert_eq!(schema.metadata["telemetry.event"], table.event);
        for (index, column) in table.columns.iter().enumerate() {
            let (array, data) = (found.column(index), &expected.columns()[index]);
            assert_eq!(schema.field(index).name(), &column.name);
            for row in 0..expected.rows() {
                assert_eq!(array.is_valid(row), data.has_value(row), "{} {}", table.name, column.name);
            }
            checked += usize::from(column.ty == ColumnType::Dictionary);
        }
        rows += found.num_rows() as u64;
    }
    assert_eq!(rows, batches.events().completeness().events);
    assert!(checked > 0);
}

#[test]
fn a_schema_of_another_table_is_an_error() {
    let stream = make(&registry(), &Plan::default()).stream;
    let mut batches = Batches::new(Reader::from_slice(&stream).events().unwrap());
    let batch = batches.next_batch().unwrap().unwrap();
    let other = batches.tables().iter().find(|table| table.columns.len() != batch.columns().len()).unwrap();
    assert!(record_batch(batch, &schema(other)).is_err());
}
