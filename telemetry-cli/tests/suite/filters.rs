//! The filter options.

use crate::run::Folder;
use crate::streams::{gc, gc_run};

#[test]
fn filters() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check(
        "filters",
        &[
            "print gc.tel --kind Pool",
            "print gc.tel --kind 1 --kind Ref",
            "print gc.tel --event TraceEnd --event 0x101",
            "print gc.tel --event 257",
            "print gc.tel --kind gc:Pool --kind telemetry:Ref",
            "print gc.tel --event gc:0x101 --event app:TraceEnd",
            "print gc.tel --thread main --kind User",
            "print gc.tel --thread worker --event TraceStart",
            "print gc.tel --thread 2 --thread 4",
            "print gc.tel --from 1.5ms --until 2,600,000",
            "print gc.tel --from -1s --until 1us",
            "print gc.tel --from 3s",
            "print gc.tel --session gcbench --registry-name gc --event Heartbeat",
            "cnv gc.tel --event RefFix",
            "txt gc.tel --event RefFix",
            "stats gc.tel --event RefFix",
        ],
    );
}

#[test]
fn sessions_and_registries_can_be_chosen() {
    let both = [gc_run(0x2a).finish().unwrap(), gc_run(7).finish().unwrap()].concat();
    let folder = Folder::new().with("both.tel", both);
    folder.check(
        "sessions_and_registries_can_be_chosen",
        &["print both.tel --session 7 --kind Pool", "print both.tel --session 0x2a --kind Pool"],
    );
}

#[test]
fn names_that_nothing_has_are_told() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check(
        "names_that_nothing_has_are_told",
        &[
            "print gc.tel --kind Pol --event PoolInt --thread 77 --session x --registry-name y",
            "stats gc.tel --kind Pol",
            "print gc.tel PoolInit",
            "stats Pool",
            "print gc.tel pool",
            "print gc.tel --from soon",
            "print gc.tel --order sideways",
            "dance",
        ],
    );
}
