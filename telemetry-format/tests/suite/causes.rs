//! Losses by cause, and the tags of notices.

use telemetry_format::{Loss, LossCause, Notice, NoticeTag};

#[test]
fn a_loss_has_its_causes() {
    let check = |loss: Loss, expected: &[(LossCause, u64)]| {
        assert_eq!(loss.causes().collect::<Vec<_>>(), expected, "{loss:?}");
        assert_eq!(loss.events(), expected.iter().map(|(_, events)| events).sum::<u64>(), "{loss:?}");
    };
    check(Loss::default(), &[]);
    check(Loss { truncated: 9, ..Loss::default() }, &[]);
    check(Loss { sink: 5, ..Loss::default() }, &[(LossCause::Sink, 5)]);
    check(
        Loss { pool: 2, reentrant: 3, sink: 4, truncated: 9 },
        &[(LossCause::PoolFull, 2), (LossCause::Reentrant, 3), (LossCause::Sink, 4)],
    );
}

#[test]
fn each_cause_is_explained() {
    let check = |cause: LossCause, expected: [&str; 4]| {
        assert_eq!([cause.code(), cause.text(), cause.why(), cause.remedy()], expected);
    };
    check(
        LossCause::PoolFull,
        [
            "pool-full",
            "pool full",
            "events came faster than they were written, until the pool was full",
            "raise TELEMETRY_BUFFER or set TELEMETRY_POLICY=wait",
        ],
    );
    check(
        LossCause::Reentrant,
        [
            "reentrant",
            "reentrant",
            "a signal handler emitted an event of the kind whose emission it had interrupted",
            "give what signal handlers emit a kind of its own",
        ],
    );
    check(
        LossCause::Sink,
        [
            "sink",
            "not written",
            "the disk was full, or a reader was gone or slow",
            "make room on the disk or name another place in TELEMETRY_FILENAME",
        ],
    );
}

#[test]
fn tags_are_read_back() {
    for notice in Notice::ALL {
        for errno in [None, Some(28), Some(-1)] {
            let tag = NoticeTag { notice, errno };
            let line = format!("{tag} no space left");
            assert_eq!(NoticeTag::parse(&line), Some((tag, "no space left")));
        }
        assert_eq!(NoticeTag::from(notice), NoticeTag { notice, errno: None });
    }
    for other in ["", "sink-failed", "[sink-failed", "[sink-failed x] a", "[sink] a", "x[sink-failed] a"] {
        assert_eq!(NoticeTag::parse(other), None, "{other}");
    }
}
