//! The module of `mpseventpy`, run by Python on a log.

use std::process::Command;

use telemetry_foreign::mps;

use super::made;

const READ: &str = r#"
import struct, sys
sys.path.insert(0, sys.argv[1])
import mpsevent

assert mpsevent.__version__ == (2, 0, 0)
assert (mpsevent.HEADER_SIZE, mpsevent.HEADER_FORMAT) == (16, '<HH4xQ')
assert struct.calcsize(mpsevent.HEADER_FORMAT) == mpsevent.HEADER_SIZE
assert sorted(mpsevent.KIND) == list(range(7)) and mpsevent.KIND[6] is mpsevent.Kind.User
assert len(mpsevent.EVENT) == 92 and mpsevent.EVENT[0x2d] is mpsevent.Event.PoolInit
assert mpsevent.Event.TraceFix.params[1].name == 'refIO' and mpsevent.Event.TraceFix.kind is mpsevent.Kind.Ref
assert mpsevent.Event.Intern.format == '<Q' and mpsevent.Event.Intern.maxsize == 272
assert mpsevent.ACCESS_MODE[3] == 'READ/WRITE' and mpsevent.RANK[3] == 'WEAK' and len(mpsevent.TRACE_START_WHY) == 7
for event in mpsevent.EVENT.values():
    if event is not mpsevent.Event.Intern:
        assert struct.calcsize(event.format) == event.maxsize, event
with open(sys.argv[1] + '/mpsio.log', 'rb') as log:
    while header := log.read(mpsevent.HEADER_SIZE):
        header = mpsevent.HeaderDesc(*struct.unpack(mpsevent.HEADER_FORMAT, header))
        event = mpsevent.EVENT[header.code]
        data = log.read(header.size - mpsevent.HEADER_SIZE)
        values = struct.unpack_from(event.format, data)
        print(header.clock, event.name, *values)
"#;

#[test]
fn module() {
    let module = mps::python_module();
    let folder = std::env::temp_dir().join(format!("telemetry-mpsevent-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mpsevent.py"), module).unwrap();
    std::fs::write(folder.join("mpsio.log"), made::small()).unwrap();
    let output = Command::new("python3").arg("-B").arg("-c").arg(READ).arg(&folder).output();
    std::fs::remove_dir_all(&folder).unwrap();
    let Ok(output) = output else { return eprintln!("SKIPPED: there is no python3") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[0], "1010 EventInit 2 0 0 92 19 64 1000000");
    assert_eq!(lines[4], "2100 PauseTimeSet 7 0.1");
    assert_eq!(lines[5], "2301 PoolInitMVFF 93458488369152 65536 32 8 False True True");
}
