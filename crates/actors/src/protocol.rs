//! The commit and lease protocols' safeguards, and a way to leave one out.
//!
//! Production runs [`Correct`] alone, for which every question here is answered at compile time.
//! Tests and simulations plant a bug by leaving one safeguard out, and must then see their checks
//! fail.

/// A part of the protocols without which something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Safeguard {
    /// The commit conflicts with any other write to the scope since its tip was read.
    ConflictsOnTip,
    /// The commit conflicts with any other write to a head that it changes.
    ConflictsOnHeads,
    /// A command that is repeated within a batch is applied once.
    DeduplicatesBatch,
    /// A command that was answered before is not applied again.
    RemembersCommands,
    /// The commit reads, in conflict, who owns the slot.
    ReadsOwner,
    /// Nobody is refused for good while an earlier attempt of the same command may still commit.
    BarsRefused,
    /// A commit that nobody heard of is not simply made again.
    UnknownIsNoFailure,
    /// A commit that nobody heard of is not simply acknowledged.
    UnknownIsNoSuccess,
    /// Nobody is answered before the commit.
    AnswersAfterCommit,
    /// The outbox row is written by the transaction that writes the events.
    TellsWithEvents,
    /// A relay goes on behind what the stream holds, and not behind what is newest in the outbox.
    ResumesWhereStreamEnds,
    /// The same of the relay of log records.
    ResumesWhereLogEnds,
    /// A stream that lost all of a slot is told again all that it would keep.
    FillsNewStreams,
    /// The numbers of commits go on rising when the process starts again. Kept by the engines: only a
    /// simulated disk asks for it.
    StampsRise,
    /// Every command of a batch is written.
    WritesWholeBatch,
    /// Equal facts of one batch count as neighbours of one another.
    KnowsOwnBatch,
    /// What a promotion published is marked by the transaction that publishes it.
    MarksWithProducts,
    /// A slot is taken only from an owner whose run is over.
    RespectsLivingOwners,
    /// Silence counts only while the watcher's own beats commit.
    CountsOwnBeats,
    /// Slots of a dead owner are taken by whoever they belong to, not only by who fenced it.
    AdoptsOrphans,
    /// The row of a fenced run is kept.
    KeepsFences,
    /// A run beats no more once it was fenced.
    BeatsOnlyUnfenced,
    /// How far a slot was told is written down by its owner only.
    RelaysUnderOwner,
    /// What is believed of a slot's owner is forgotten once that one says otherwise.
    ForgetsStaleOwners,
    /// An index's watermark does not count for slots that another node held when it was written.
    ReadsOthersWrites,
    /// A slot that is held before the indexer has read it is shown by the index's memory.
    ShowsWhatItHolds,
    /// What others committed is looked for although nobody told of it.
    SweepsOutbox,
    /// Whoever takes a slot resumes its promotions.
    ResumesJobs,
    /// Reads are answered from memory only while nobody can have taken the slot.
    ReadsUnderLease,
    /// What an operator fences is over only once it answers nothing from memory any more.
    FencesBeyondLease,
    /// Whoever owns the slot of a scope hears of its quarantine before it writes there again.
    TellsOwnerOfQuarantine,
    /// A promotion is published only while it is under way, and was not dropped.
    PublishesPending,
    /// What a task said of an entry before is looked up, so that it counts once.
    RemembersReports,
    /// A rehearsal of maintenance writes nothing.
    RehearsesOnly,
    /// The best entries of each task are neither archived nor pruned.
    KeepsBest,
    /// All indices hear of entries that leave recall.
    TellsOfRetired,
    /// The answer to a command is kept for as long as it may be given again.
    KeepsAnswers,
    /// The floor of command ids rises over a command only once nobody may give that again.
    RaisesFloorsLate,
    /// Of the entries of a task those are kept that are worth most.
    RanksBest,
    /// What a promotion has published is looked up, so that it is published once.
    PublishesOnce,
    /// An entry does not hold any more at the commit that ended it.
    EndsBeforeItsLastCommit,
    /// What a person has erased is destroyed, and not only said to be.
    ErasesContent,
    /// Chunks are written only while the scope is what their command was decided from.
    WritesChunksUnderTip,
    /// A stretch of a text is cited only where it stands, and takes no character apart.
    KeepsCharactersWhole,
    /// What an entry had replaced holds again once the promotion is taken back that had made it.
    RestoresReplaced,
    /// A commit that the repository at hand says it does not have is no citation.
    ResolvesCommits,
    /// What is close to a new entry is looked up by its owner, when it is decided, and not before it waits.
    ComparesInActor,
    /// What declares the key of a new entry with another value is looked up, however far it lies and in whatever table.
    AsksClaimants,
    /// Nothing is decided in a slot before the index has what its former owner published there.
    WaitsForIndex,
    /// How far confidence has faded is computed when it is asked for, and never written down.
    DecaysAtRead,
    /// An index serves once all entries were brought to it, and not before.
    WalksToTheEnd,
    /// What is written behind the walk over all entries is brought to the new index as well.
    BringsWhatChanges,
    /// An index that has forgotten a table is told everything again.
    TellsAllAgain,
    /// A vector is kept only while its entry says what was embedded.
    KeepsVectorsUnderHeads,
    /// A decision that moves to another rank or domain, or is withdrawn, is no longer listed where it was.
    EndsFormerListing,
    /// A brief loads what is active, and nothing that was withdrawn.
    LoadsActiveOnly,
    /// A brief loads by rank, and not by when something was last said.
    LoadsByRank,
    /// A brief loads the locks of all domains before those of its own.
    LoadsGlobalLocks,
    /// An analysis of impact goes into a node once.
    VisitsOnce,
    /// The relations of a decision are written by the transaction that saves it.
    SavesRelationsWithDecision,
    /// The relations of a decision that is called otherwise from now on say so.
    RenamesRelations,
    /// A brief loads anchors behind all decisions.
    ListsAnchorsLast,
    /// What failed in a task is kept with the task, and not by whichever process saw it.
    KeepsFailuresWithTask,
    /// A failure counts for those behind it in its own batch as well.
    CountsFailuresOfBatch,
    /// A verification that passes clears what failed in its task before.
    ClearsFailures,
    /// An approach that failed in another task only warns.
    WarnsOfOtherTasks,
    /// An approach that failed before a verification passed only warns.
    ForgivesClearedApproaches,
    /// Of an approach that is erased the row goes as well.
    ErasesFailedApproaches,
    /// How an approach was worded is not left where it is erased.
    ErasesWordings,
    /// The answer that judged an error does not say which it was once that is erased.
    ErasesJudgedErrors,
    /// What the gate reports of an entry is of the version that was looked at, and of no later one.
    HoldsReportsToVersions,
    /// What moved is cited where it was found.
    CitesWhereItLies,
    /// A trajectory that is given again counts once.
    CountsTrajectoriesOnce,
    /// Patterns are found in their own project.
    KeepsPatternsInProject,
    /// Warnings of a brief stand behind all that it loads, in the room that this leaves.
    WarnsLast,
    /// Of a trajectory that is erased the row goes as well.
    ErasesTrajectories,
}

/// Which safeguards apply.
pub trait Protocol: Copy + Send + Sync + 'static {
    /// Whether a safeguard applies.
    fn keeps(self, safeguard: Safeguard) -> bool;
}

/// The protocol as it is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Correct;

impl Protocol for Correct {
    #[inline]
    fn keeps(self, _: Safeguard) -> bool {
        true
    }
}

/// A planted bug: the protocol without one safeguard; without none, the protocol as it is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(pub Option<Safeguard>);

impl Protocol for Without {
    fn keeps(self, safeguard: Safeguard) -> bool {
        self.0 != Some(safeguard)
    }
}
