//! Rows of `telemetry-columns` as rows of the lake.

use std::sync::Arc;

use telemetry_columns::{Batch, ColumnData, Data, Runs, Table};

/// Returns a batch with signed numbers. It has the host in front if that is in the rows, and the
/// lane of each row if there are lanes. Columns for which `hidden` is true have no values. Returns
/// `None` if the table is another one.
pub fn batch(
    batch: Batch,
    table: &Arc<Table>,
    host: Option<&Arc<Runs>>,
    lanes: Option<Vec<i32>>,
    hidden: &[bool],
) -> Option<Batch> {
    let mut columns = Vec::with_capacity(table.columns.len());
    let of_host =
        |values: &Arc<Runs>| Data::Dictionary { keys: vec![0; batch.rows()], values: values.clone() };
    columns.extend(host.map(|host| ColumnData::new(of_host(host), None)));
    let mut lanes = lanes.map(|lanes| ColumnData::new(Data::I32(lanes), None));
    let is_of_events = lanes.is_some();
    for (index, column) in batch.into_columns().into_iter().enumerate() {
        let is_hidden = hidden.get(index).copied().unwrap_or_default();
        let column = if is_hidden { column.without_values() } else { column };
        let (data, validity) = column.into_parts();
        let validity = validity.filter(|_| table.columns[columns.len()].is_nullable);
        columns.push(ColumnData::new(signed(data), validity));
        if index == 0 && is_of_events {
            columns.extend(lanes.take());
        }
    }
    Batch::new(table, columns)
}

/// Returns the values of the column `host`, in the form in which all batches share them.
pub fn host(name: &str) -> Arc<Runs> {
    let mut values = Runs::default();
    values.bytes.extend_from_slice(name.as_bytes());
    values.offsets.push(name.len() as i32);
    Arc::new(values)
}

fn signed(data: Data) -> Data {
    match data {
        Data::I8(all) => Data::I32(all.into_iter().map(i32::from).collect()),
        Data::I16(all) => Data::I32(all.into_iter().map(i32::from).collect()),
        Data::U8(all) => Data::I32(all.into_iter().map(i32::from).collect()),
        Data::U16(all) => Data::I32(all.into_iter().map(i32::from).collect()),
        Data::U32(all) => Data::I64(all.into_iter().map(i64::from).collect()),
        // The same bits, as in SQLite.
        Data::U64(all) => Data::I64(all.into_iter().map(|number| number as i64).collect()),
        Data::List { offsets, mut items } => {
            items.data = signed(items.data);
            Data::List { offsets, items }
        }
        other => other,
    }
}
