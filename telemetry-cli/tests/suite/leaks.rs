//! `leaks` on recordings made for the tests. `tests/leaks.rs` finds the leak of a real program.

use crate::replay::{doubtful, growing, sound};
use crate::run::Folder;
use crate::streams::gc;

#[test]
fn what_is_live_is_shown() {
    let folder = Folder::new()
        .with("sound.tel", sound())
        .with("growing.tel", growing(50))
        .with("doubtful.tel", doubtful())
        .with("gc.tel", gc())
        .with("nothing", "")
        .with("no.tel", "no stream");
    folder.check(
        "leaks",
        &[
            "leaks sound.tel",
            "leaks --at 4us --by event,thread sound.tel",
            "leaks --at 4us --by size,align --json sound.tel",
            "leaks --by size -n 3 growing.tel",
            "leaks --by event doubtful.tel",
            "leaks --by event --strict doubtful.tel",
            "leaks --by event --event Allocated sound.tel",
            "leaks --by sise sound.tel",
            "leaks gc.tel",
            "leaks nothing",
            "leaks no.tel",
            "leaks --by a,b,c,d,e,f,g,h,i sound.tel",
        ],
    );
}

/// A pipe is read as a file is.
#[test]
fn pipes_are_read() {
    let folder = Folder::new().with("sound.tel", sound());
    let piped = folder.run_on("leaks --by size -", &sound());
    assert_eq!(piped.stdout, folder.run("leaks --by size sound.tel").stdout);
}
