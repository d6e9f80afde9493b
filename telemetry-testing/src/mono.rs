//! Logs made byte by byte.

/// The length of a file header of data version 1 in all of these.
pub const FILE_LEN: usize = 32;
/// The length of a buffer header.
pub const BUFFER_LEN: usize = 48;

/// Makes a file header of data version 1: started at 30 ms, process 4242.
pub fn file_one() -> Vec<u8> {
    let mut out = b"\x01\x5a\x50\x4d\x00\x01\x01\x08".to_vec();
    out.extend(30_u64.to_le_bytes());
    [7_u32, 0, 4242, 0].iter().for_each(|number| out.extend(number.to_le_bytes()));
    out
}

/// Makes a file header of data version 17.
pub fn file_seventeen() -> Vec<u8> {
    let mut out = b"\x01\x5a\x50\x4d\x03\x00\x11\x08".to_vec();
    out.extend(1_795_231_241_000_u64.to_le_bytes());
    out.extend(1_000_u64.to_le_bytes());
    [29_u32, 0, 28_745].iter().for_each(|number| out.extend(number.to_le_bytes()));
    out.extend(58_895_u16.to_le_bytes());
    for text in ["log:alloc", "x86-64", "linux"] {
        out.extend((text.len() as u32 + 1).to_le_bytes());
        out.extend(text.as_bytes());
        out.push(0);
    }
    out
}

/// Makes a buffer. Its base for pointers is 0x1000, for objects 0x100 (that is 0x800), for methods
/// 0x5000.
pub fn buffer(thread: u64, time: u64, events: &[u8]) -> Vec<u8> {
    let mut out = b"\x01\x4c\x50\x4d".to_vec();
    out.extend((events.len() as i32).to_le_bytes());
    [time, 0x1000, 0x100, thread, 0x5000].iter().for_each(|number| out.extend(number.to_le_bytes()));
    out.extend(events);
    out
}

/// Every event of data version 1 in one buffer, with negative numbers and numbers of two bytes.
pub const ONE: &[u8] = b"\
    \x22\x0a\x02\x10\x00prog.exe\0\
    \x22\x01\x01\x20\x10\x00N\xc3\xa4me.Inner<T>\0\
    \x22\x01\x03\x01\
    \x22\x01\x04\x02\
    \x43\x80\x01\x08\xc0\x00\xac\x02Prog:Main (string[])\0\
    \x23\x01\x00\
    \x23\x01\x7f\
    \x00\x01\x20\x00\x18\
    \x10\x01\x20\x7f\x85\x80\x80\x80\x08\x00\x02\x08\xf8\x00\
    \x04\x02\x01\
    \x84\x01\x01\x00\x00\
    \x14\x01\x00\x00\x01\
    \x33\x01\x7f\
    \x13\x01\x01\
    \x13\x01\x78\
    \x15\x01\x02\
    \x95\x01\x02\x00\x01\x08\
    \x25\x01\x02\
    \x35\x01\x7f\
    \x11\x01\x00\x01\
    \x11\xe8\x07\x05\x01\
    \x21\x01\x80\x80\x80\x80\x20\
    \x31\x01\x02\x00\x7f\
    \x06\x01\
    \x26\x00\x20\x18\x02\x01\x7f\
    \x26\x00\x20\x00\x01\x02\
    \x16\x05";

/// The text that is printed for them.
pub const ONE_SHOWN: &str = "\
loaded image 0x1010 (prog.exe) at 1000010
loaded class 0x1020 (Näme.Inner<T> in 0x1010) at 1000011
jitted method 0x5008 (Prog:Main (string[])), size: 300
enter method Prog:Main (string[])
enter method unknown method
alloced object 0x800, size 24 (Näme.Inner<T>) at 1000144 (0x53)
alloced object 0x7f8, size 2147483653 (Näme.Inner<T>) at 1000145 (0x5c)
throw 0x808
throw 0x808
clause catch (0) in method Prog:Main (string[])
exleave method unknown method
leave method Prog:Main (string[])
unmatched leave at stack pos: 0 for method unknown method
leave method unknown method
monitor contended for object 0x810
monitor contended for object 0x810
monitor acquired for object 0x810
monitor not taken for object 0x7f8
gc event for gen0: start at 1000157
gc event for gen0: end at 1001157
gc heap resized to 8589934592
moved obj 0x800 to 0x7f8
heap shot start
traced object 0x800, size 24 (Näme.Inner<T>), refs: 2
heap shot end
";

/// Every event of data version 17.
pub const SEVENTEEN: &[u8] = b"\
    \x22\x0a\x02\x10prog.exe\0guid\0\
    \x22\x01\x01\x20\x10Name\0\
    \x22\x01\x03\x18\x10asm\0\
    \x22\x01\x04\x00\
    \x02\x01\x04\x00prog\0\
    \x22\x01\x05\x01\
    \x02\x01\x05\x01Main\0\
    \x22\x01\x06\x02\x00\
    \x22\x01\x07\x30\x00\x20\
    \x43\x01\x08\x10\xac\x02Prog:Main ()\0\
    \x23\x01\x00\
    \x00\x01\x30\x00\x18\
    \x10\x01\x30\x01\x20\x01\x00\
    \x11\x01\x00\x01\
    \x11\x01\x0a\x01\
    \x21\x01\xe8\x07\
    \x31\x01\x02\x00\x01\
    \x41\x01\x02\x05\x00\
    \x61\x01\x00\x06\x00\x01\x00\
    \x51\x01\x02\x05\
    \x71\x01\x00\x06\x00\
    \x81\x01\x91\x01\xa1\x01\x00\xb1\x01\x00\
    \x04\x01\x00\
    \x84\x01\x00\x01\x00\
    \x14\x01\x02\x03\x00\x00\
    \x05\x01\x01\x00\
    \x85\x01\x02\x00\x01\x00\
    \x05\x01\x03\x00\
    \x06\x01\
    \x36\x01\x01\x08\x01\
    \x46\x01\x10\x08\x08\x00Pin\0\
    \x56\x01\x10\
    \x26\x01\x00\x30\x18\x00\x01\x08\x01\
    \x16\x01\
    \x07\x01\x01\x01\x11\x01\x00\
    \x17\x01\x40\x08sym\0\
    \x37\x01\x02\x80\x80\x02mine\0mine\0\x05\x00\x00\x01\x80\x80\x01Page Faults\0\x00\x00\x00\x02\
    \x47\x01\x01\x05\x00\x00\x00\x00\x00\x00\xf8\x3f\x02\x00\x2a\x00\
    \x18\x01\x05\x10\x20tramp\0\
    \x18\x01\x07\x10\x20\
    \x0a\x01\x01\
    \x1a\x01id\0\
    \x33\x01\x00\
    \x13\x01\x00\
    \x42\x01\x04\x00\x42\x01\x05\x01\x42\x01\x06\x02\x00\x42\x01\x03\x18\x10asm\0\x42\x01\x02\x10prog.exe\0";

/// Makes a whole log of version 1. It has two threads, one of which uses a method before the other
/// one's buffer names it. It also has a clock that goes back, and events of two kinds at one time
/// with the later kind first. Two buffers of a thread overlap, and one is empty.
pub fn one() -> Vec<u8> {
    let back = b"\x06\x05\x23\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00\x20\x00\x08\x13\x09\x00";
    let buffers = [
        buffer(0x7f00_0002, 1_000_005, b"\x23\x0a\x08\x13\x0a\x00"),
        buffer(0x7f00_0001, 1_000_000, ONE),
        buffer(0x7f00_0002, 1_000_100, back),
        buffer(0x7f00_0002, 1_000_101, b"\x16\x01"),
        buffer(0x7f00_0003, 5, b""),
    ];
    [file_one(), buffers.concat()].concat()
}

/// Makes a whole log of data version 17.
pub fn seventeen() -> Vec<u8> {
    [file_seventeen(), buffer(0x1001, 2_000, SEVENTEEN)].concat()
}

/// The last value of a counter in the profiler's report.
pub struct ReportedCounter {
    /// Its section and name.
    pub name: String,
    value: f64,
    /// Nanoseconds, or 1.
    scale: f64,
}

impl ReportedCounter {
    /// Tells whether the report shows this value. Times are in nanoseconds.
    pub fn shows(&self, value: f64) -> bool {
        // The report has three digits of a time, and six of other fractions.
        let is_near = (value / self.scale - self.value).abs() <= 5.1e-4;
        // It prints 32 bits of some numbers.
        is_near || f64::from(value as i64 as u32) == self.value
    }
}

/// Returns the counters of what `telemetry mono-report --verbose` prints.
pub fn reported_counters(report: &str) -> Vec<ReportedCounter> {
    let counters = report.split_once("\nCounters:\n").expect("a report has counters").1;
    let (mut section, mut all) = ("", Vec::new());
    for line in counters.lines() {
        let Some(line) = line.strip_prefix("\t\t") else {
            section = line.trim().trim_end_matches(':');
            continue;
        };
        let (name, value) = line.rsplit_once(" : ").expect("a counter has a value");
        let (value, scale) = value.strip_suffix("ms").map_or((value, 1.0), |value| (value, 1e6));
        // Some are texts.
        if let Ok(value) = value.parse() {
            all.push(ReportedCounter { name: format!("{section}: {}", name.trim_end()), value, scale });
        }
    }
    all
}
