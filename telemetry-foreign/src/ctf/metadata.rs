//! The file `metadata`: what the bytes of the other files mean.

use std::fmt::Write;

use super::fields::{STRING, integer, quoted};

/// Returns the description of a trace, with those of its event types.
pub(super) fn metadata(events: &str) -> String {
    let (u32, u64) = (integer(4, false, 10), integer(8, false, 10));
    // Some readers want the first line.
    format!(
        "/* CTF 1.8 */
trace {{
\tmajor = 1;
\tminor = 8;
\tbyte_order = le;
\tpacket.header := struct {{
\t\t{u32} magic;
\t\t{u32} stream_id;
\t\t{u64} stream_instance_id;
\t}};
}};

env {{
\ttracer_name = \"telemetry\";
\tdomain = \"ust\";
}};

clock {{
\tname = \"wall\";
\tdescription = \"nanoseconds since 1970 by the clock of each host\";
\tfreq = 1000000000;
\toffset = 0;
\tabsolute = true;
}};

typealias integer {{ size = 64; align = 8; signed = false; map = clock.wall.value; }} := time_t;

stream {{
\tid = 0;
\tpacket.context := struct {{
\t\ttime_t timestamp_begin;
\t\ttime_t timestamp_end;
\t\t{u64} content_size;
\t\t{u64} packet_size;
\t\t{u64} packet_seq_num;
\t\t{u64} events_discarded;
\t\t{u32} vpid;
\t\t{u32} vtid;
\t\t{STRING} procname;
\t\t{STRING} thread_name;
\t}};
\tevent.header := struct {{
\t\t{u32} id;
\t\ttime_t timestamp;
\t}};
}};
{events}"
    )
}

/// Returns the description of an event type, with those of its fields.
pub(super) fn event<'f>(id: u32, name: &str, fields: impl Iterator<Item = &'f str>) -> String {
    let mut out = format!("\nevent {{\n\tid = {id};\n\tname = ");
    quoted(&mut out, name);
    out.push_str(";\n\tstream_id = 0;\n\tfields := struct {\n");
    fields.for_each(|field| out.push_str(field));
    // Writing to a string cannot fail.
    let _ = write!(out, "\t}};\n}};\n");
    out
}
