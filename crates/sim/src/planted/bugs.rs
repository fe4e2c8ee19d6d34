//! The list of planted bugs.
//!
//! Owns the name of each, and what it leaves out. It must not know how they are sought.

use sillok_actors::protocol::Safeguard;

use super::Bug;

/// All bugs that are planted.
pub const BUGS: &[Bug] = &[
    bug(
        "tip of the scope not in the conflict set",
        Safeguard::ConflictsOnTip,
    ),
    bug("no epoch read", Safeguard::ReadsOwner),
    bug("command id not checked", Safeguard::RemembersCommands),
    bug(
        "repeat within a batch not seen",
        Safeguard::DeduplicatesBatch,
    ),
    bug("fence row collected as garbage", Safeguard::KeepsFences),
    bug(
        "unknown outcome taken as failure",
        Safeguard::UnknownIsNoFailure,
    ),
    bug(
        "unknown outcome taken as success",
        Safeguard::UnknownIsNoSuccess,
    ),
    bug(
        "acknowledgement before commit",
        Safeguard::AnswersAfterCommit,
    ),
    bug(
        "outbox row outside the transaction",
        Safeguard::TellsWithEvents,
    ),
    bug(
        "relay that skips on reconnect",
        Safeguard::ResumesWhereStreamEnds,
    ),
    bug(
        "relay of the log that skips on reconnect",
        Safeguard::ResumesWhereLogEnds,
    ),
    bug(
        "new stream that is told the last of each slot",
        Safeguard::FillsNewStreams,
    ),
    bug("cursor moved by a stale relay", Safeguard::RelaysUnderOwner),
    bug("stamps that restart", Safeguard::StampsRise),
    bug(
        "batch that drops its last command",
        Safeguard::WritesWholeBatch,
    ),
    bug(
        "two equal facts of one batch published twice",
        Safeguard::KnowsOwnBatch,
    ),
    bug(
        "promotion marked on the wrong side",
        Safeguard::MarksWithProducts,
    ),
    bug("job lost when the owner dies", Safeguard::ResumesJobs),
    bug(
        "index that skips what others wrote",
        Safeguard::ReadsOthersWrites,
    ),
    bug(
        "slot held before the index shows it",
        Safeguard::ShowsWhatItHolds,
    ),
    bug(
        "lost news that nobody makes up for",
        Safeguard::SweepsOutbox,
    ),
    bug(
        "takeover from a live owner",
        Safeguard::RespectsLivingOwners,
    ),
    bug("beat without fence check", Safeguard::BeatsOnlyUnfenced),
    bug(
        "stale hint of an owner that loops",
        Safeguard::ForgetsStaleOwners,
    ),
    bug("stale cached read after lapse", Safeguard::ReadsUnderLease),
    bug(
        "operator's fence that waits out no lease",
        Safeguard::FencesBeyondLease,
    ),
    bug(
        "quarantine that the owner does not hear of",
        Safeguard::TellsOwnerOfQuarantine,
    ),
    bug(
        "promotion published though it was dropped",
        Safeguard::PublishesPending,
    ),
    bug("promotion published twice", Safeguard::PublishesOnce),
    bug(
        "task counted twice by what it says",
        Safeguard::RemembersReports,
    ),
    bug("dry run that writes", Safeguard::RehearsesOnly),
    bug("prune below the best that are kept", Safeguard::KeepsBest),
    bug(
        "worst of each task kept, and not the best",
        Safeguard::RanksBest,
    ),
    bug("undo that forgets an index", Safeguard::TellsOfRetired),
    bug(
        "answer forgotten before the retry window",
        Safeguard::KeepsAnswers,
    ),
    bug(
        "floor raised before the retry window",
        Safeguard::RaisesFloorsLate,
    ),
    bug(
        "entry that holds at the commit that ended it",
        Safeguard::EndsBeforeItsLastCommit,
    ),
    bug(
        "content said to be erased that stays",
        Safeguard::ErasesContent,
    ),
    bug("chunks that come late", Safeguard::WritesChunksUnderTip),
    bug(
        "excerpt that takes a character apart",
        Safeguard::KeepsCharactersWhole,
    ),
    bug(
        "undo that leaves replaced what it replaced",
        Safeguard::RestoresReplaced,
    ),
    bug(
        "citation of a commit that is not there",
        Safeguard::ResolvesCommits,
    ),
    bug("merge outside the actor", Safeguard::ComparesInActor),
    bug("merge against a lagging index", Safeguard::WaitsForIndex),
    bug(
        "claim of the same key not looked up",
        Safeguard::AsksClaimants,
    ),
    bug("decay applied twice", Safeguard::DecaysAtRead),
    bug("switch before the walk is over", Safeguard::WalksToTheEnd),
    bug(
        "what is written behind the walk forgotten",
        Safeguard::BringsWhatChanges,
    ),
    bug(
        "table forgotten and not told again",
        Safeguard::TellsAllAgain,
    ),
    bug(
        "vector kept of what was erased",
        Safeguard::KeepsVectorsUnderHeads,
    ),
    bug(
        "two active versions of a decision",
        Safeguard::EndsFormerListing,
    ),
    bug("inactive decision loaded", Safeguard::LoadsActiveOnly),
    bug(
        "decisions ordered by time and not by strength",
        Safeguard::LoadsByRank,
    ),
    bug("global lock forgotten", Safeguard::LoadsGlobalLocks),
    bug(
        "anchors loaded before decisions",
        Safeguard::ListsAnchorsLast,
    ),
    bug("cycle without end", Safeguard::VisitsOnce),
    bug(
        "relation left behind by a failed save",
        Safeguard::SavesRelationsWithDecision,
    ),
    bug(
        "relation that says a former title",
        Safeguard::RenamesRelations,
    ),
    bug(
        "failure counted by the process that saw it",
        Safeguard::KeepsFailuresWithTask,
    ),
    bug(
        "failure of the same batch not counted",
        Safeguard::CountsFailuresOfBatch,
    ),
    bug("pass that clears no failure", Safeguard::ClearsFailures),
    bug(
        "approach of another task rejected",
        Safeguard::WarnsOfOtherTasks,
    ),
    bug(
        "approach that a pass cleared rejected",
        Safeguard::ForgivesClearedApproaches,
    ),
    bug(
        "row of an erased approach left behind",
        Safeguard::ErasesFailedApproaches,
    ),
    bug(
        "wording of an erased approach left",
        Safeguard::ErasesWordings,
    ),
    bug(
        "hash of an erased error left in its answer",
        Safeguard::ErasesJudgedErrors,
    ),
    bug(
        "report of a former version that counts for the newest",
        Safeguard::HoldsReportsToVersions,
    ),
    bug(
        "what moved cited in another file",
        Safeguard::CitesWhereItLies,
    ),
    bug(
        "trajectory counted twice on a retry",
        Safeguard::CountsTrajectoriesOnce,
    ),
    bug(
        "pattern of another project found",
        Safeguard::KeepsPatternsInProject,
    ),
    bug("warning in the room of a decision", Safeguard::WarnsLast),
    bug(
        "row of an erased trajectory left behind",
        Safeguard::ErasesTrajectories,
    ),
    bug("fencing during a store outage", Safeguard::CountsOwnBeats),
    bug(
        "slot orphaned when the watcher dies",
        Safeguard::AdoptsOrphans,
    ),
];

const fn bug(name: &'static str, without: Safeguard) -> Bug {
    Bug { name, without }
}
