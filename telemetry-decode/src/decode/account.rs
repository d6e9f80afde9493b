//! The completeness of a stream, from the state of the decoder.

use super::decoder::Decoder;
use crate::lanes::lane::{Lane, LaneKey};
use crate::report::completeness::{Completeness, Gap, LeftOutReport};
use crate::sessions::session::Session;

impl Decoder {
    /// Returns the completeness so far.
    pub(crate) fn completeness(&self) -> Completeness {
        let report = &self.report;
        let lanes = self.lanes.iter().map(|lane| {
            let session = &self.state.sessions[lane.key.session as usize];
            let registry = self.state.registry(lane.key.registry).map(|index| &self.state.registries[index]);
            let kind = registry
                .and_then(|registry| registry.registry.kinds.iter().find(|kind| kind.bit == lane.key.kind));
            lane.report(session.id, kind.map(|kind| kind.name.as_str()), session.clock.start_ticks())
        });
        Completeness {
            is_of_logs: report.is_of_logs,
            bytes: report.bytes,
            blocks: report.blocks,
            events: report.events,
            lanes: lanes.collect(),
            unaccounted: self.unaccounted(),
            damage: report.damage.clone(),
            damaged_ranges: report.damaged_ranges,
            undecodable: report.undecodable.clone(),
            undecodable_parts: report.undecodable_parts,
            unknown_blocks: report.unknown_blocks.clone(),
            sessions: self.state.sessions.iter().map(|session| (session.id, session.ended)).collect(),
            without_end_mark: self.state.sessions.iter().filter(|session| session.may_be_truncated()).count()
                as u64,
            unreadable: self.state.all_unreadable(),
            unmatched: self.unmatched(),
            left_out: self.left_out(),
        }
    }

    /// Returns the gaps of all lanes that have events which are not returned, whatever the filter.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        let of_lane = |lane: &Lane| {
            let session = &self.state.sessions[lane.key.session as usize];
            let LaneKey { thread, registry, kind, .. } = lane.key;
            let gaps = lane.gaps(session.clock.start_ticks());
            let gap = |(from_ticks, until_ticks)| Gap {
                session: session.id,
                thread,
                registry,
                kind,
                from_ticks,
                until_ticks,
            };
            gaps.map(gap).collect::<Vec<_>>()
        };
        self.lanes.iter().flat_map(of_lane).collect()
    }

    fn left_out(&self) -> Vec<LeftOutReport> {
        let of_session = |session: &Session| {
            let id = session.id;
            let report = |(registry, event, events)| LeftOutReport { session: id, registry, event, events };
            session.left_out.all().map(report).collect::<Vec<_>>()
        };
        self.state.sessions.iter().flat_map(of_session).collect()
    }

    /// Returns for each session the number of events that its sync blocks count and no lane
    /// accounts for.
    fn unaccounted(&self) -> Vec<(u64, u64)> {
        let sessions = self.state.sessions.iter();
        let mut told: Vec<u64> = sessions.map(|session| self.earlier.given(session.id)).collect();
        for lane in &self.lanes {
            let told = &mut told[lane.key.session as usize];
            *told = told.saturating_add(lane.given());
        }
        let sessions = self.state.sessions.iter().zip(self.state.given.iter().zip(told));
        let unaccounted = sessions.map(|(session, (given, told))| (session.id, given.saturating_sub(told)));
        unaccounted.filter(|(_, events)| *events > 0).collect()
    }
}
