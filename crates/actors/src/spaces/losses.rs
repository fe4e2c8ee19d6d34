//! What an index has lost to damage, and how far that is made good.
//!
//! Owns which tables are lacking now, which were since some moment, and when an index may begin anew. It must not know
//! indices.

use std::collections::BTreeMap;

use sillok_core::ports::{Lost, VectorTable};

/// How long no table begins anew that just did, in ms: what is damaged again at once would be filled for nothing.
pub(super) const AGAIN_AFTER_MS: u64 = 60_000;

/// What is known of the damage to an index.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// What was met, and not told again.
    lacking: Lost,
    /// Whether the index has begun anew without that, and is being told.
    is_filling: bool,
    /// How often it began anew.
    lives: u64,
    /// What of that was met since it last began anew.
    met: Lost,
    /// When each table was last forgotten, and all that there are.
    forgotten: BTreeMap<VectorTable, Birth>,
    all_forgotten: Option<Birth>,
}

/// How a table began anew.
#[derive(Clone, Copy, Debug)]
struct Birth {
    /// With which life of the index.
    life: u64,
    /// On the boot clock.
    at_ms: u64,
}

impl Losses {
    /// What the index lacks.
    pub(super) const fn lacking(&self) -> &Lost {
        &self.lacking
    }

    /// How often it began anew.
    pub(super) const fn lives(&self) -> u64 {
        self.lives
    }

    /// Whether it has to begin anew.
    pub(super) fn must_begin(&self) -> bool {
        !self.lacking.is_nothing() && !self.is_filling
    }

    /// Whether it may now, or a table that is damaged just did.
    pub(super) fn may_begin(&self, now_ms: u64) -> bool {
        let all = self.all_forgotten.iter();
        let tables = self.forgotten.iter();
        let tables = tables.filter(|(table, _)| self.met.has(table));
        let mut births = all.chain(tables.map(|(_, birth)| birth));
        self.met.is_nothing() || births.all(|birth| now_ms >= birth.at_ms + AGAIN_AFTER_MS)
    }

    /// Somebody met damage who had begun when it had begun anew so often: what was forgotten since is no more. Whether
    /// that is news.
    pub(super) fn note(&mut self, lives: u64, lost: &Lost) -> bool {
        let lost = self.left_of(lives, lost);
        if lost.is_nothing() || (!self.is_filling && self.lacking.has_all_of(&lost)) {
            return false;
        }
        self.lacking.add(&lost);
        self.met.add(&lost);
        self.is_filling = false;
        true
    }

    fn left_of(&self, lives: u64, lost: &Lost) -> Lost {
        match lost {
            Lost::All if self.lives > lives => Lost::default(),
            Lost::All => Lost::All,
            Lost::Tables(tables) => {
                let left = tables.iter().filter(|table| self.life_of(table) <= lives);
                Lost::Tables(left.cloned().collect())
            }
        }
    }

    fn life_of(&self, table: &VectorTable) -> u64 {
        let own = self.forgotten.get(table).map(|birth| birth.life);
        own.unwrap_or_default().max(self.all_life())
    }

    fn all_life(&self) -> u64 {
        self.all_forgotten.map_or(0, |birth| birth.life)
    }

    /// The index has forgotten these tables, and is to be told again. Whether that is all that it has to forget.
    pub(super) fn began(&mut self, lost: &Lost, now_ms: u64) -> bool {
        self.lives += 1;
        let birth = Birth {
            life: self.lives,
            at_ms: now_ms,
        };
        match lost {
            Lost::All => {
                self.all_forgotten = Some(birth);
                self.forgotten.clear();
            }
            Lost::Tables(tables) => {
                let tables = tables.iter().map(|table| (table.clone(), birth));
                self.forgotten.extend(tables);
            }
        }
        self.is_filling = lost.has_all_of(&self.lacking);
        if self.is_filling {
            self.met = Lost::default();
        }
        self.is_filling
    }

    /// It was told everything again.
    pub(super) fn is_filled(&mut self) {
        if self.is_filling {
            self.lacking = Lost::default();
            self.is_filling = false;
        }
    }

    /// What is lacking, and what was forgotten since the index had begun anew so often.
    pub(super) fn since(&self, lives: u64) -> Lost {
        let mut lost = self.lacking.clone();
        if self.all_life() > lives {
            lost.add(&Lost::All);
        }
        let later = self
            .forgotten
            .iter()
            .filter(|(_, birth)| birth.life > lives);
        lost.add(&Lost::Tables(
            later.map(|(table, _)| table.clone()).collect(),
        ));
        lost
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sillok_core::entry::Kind;

    use super::*;

    fn of(org: &str) -> Lost {
        Lost::table((org.to_owned(), Kind::Knowledge))
    }

    #[test]
    fn damage_that_was_met_before_a_table_was_forgotten_is_no_more() {
        let mut losses = Losses::default();
        let before = losses.lives();
        assert!(losses.note(before, &of("a")));
        assert!(!losses.note(before, &of("a")), "that is known");
        assert!(losses.must_begin());
        assert!(losses.began(&of("a"), 0));
        assert!(!losses.note(before, &of("a")));
        assert!(!losses.must_begin() && *losses.lacking() == of("a"));
        losses.is_filled();
        assert!(!losses.note(before, &of("a")) && losses.lacking().is_nothing());
        assert_eq!(losses.since(before), of("a"));
        assert!(losses.since(losses.lives()).is_nothing());
        assert!(losses.note(before, &of("b")), "that was not forgotten");
        assert!(losses.note(losses.lives(), &of("a")), "it is damaged again");
        losses.is_filled();
        assert!(losses.must_begin(), "what is damaged is not filled");
    }

    #[test]
    fn damage_that_is_met_while_tables_are_forgotten_or_filled_is_kept() {
        let mut losses = Losses::default();
        losses.note(0, &of("a"));
        losses.note(0, &of("b"));
        assert!(
            !losses.began(&of("a"), 0),
            "the other has to be forgotten too"
        );
        assert!(losses.must_begin());
        losses.note(losses.lives(), &Lost::All);
        assert!(losses.began(&Lost::All, 0));
        assert!(losses.note(losses.lives(), &of("a")));
        losses.is_filled();
        assert!(losses.must_begin() && *losses.lacking() == Lost::All);
    }

    #[test]
    fn what_just_began_anew_does_not_at_once_again() {
        let mut losses = Losses::default();
        losses.note(0, &Lost::All);
        assert!(losses.may_begin(0));
        assert!(losses.began(&Lost::All, 5));
        losses.note(losses.lives(), &of("a"));
        assert!(!losses.may_begin(4 + AGAIN_AFTER_MS));
        assert!(losses.may_begin(5 + AGAIN_AFTER_MS));
    }

    #[test]
    fn a_table_that_is_damaged_need_not_wait_for_another_that_just_began_anew() {
        let mut losses = Losses::default();
        losses.note(0, &of("a"));
        assert!(losses.began(&of("a"), 5));
        losses.note(losses.lives(), &of("b"));
        assert!(losses.must_begin() && losses.may_begin(6));
        let both = losses.lacking().clone();
        assert!(losses.began(&both, 6));
        losses.note(losses.lives(), &of("a"));
        assert!(!losses.may_begin(5 + AGAIN_AFTER_MS));
        assert!(losses.may_begin(6 + AGAIN_AFTER_MS));
    }

    proptest! {
        /// Against a model that has the tables of an index, each sound or not.
        #[test]
        fn nothing_damaged_counts_as_sound(steps in proptest::collection::vec((0_u8..5, 0_u8..3), 0..40)) {
            let names = ["a", "b", "c"];
            let mut losses = Losses::default();
            // Whether each is damaged, and whether it lacks something.
            let mut tables = [(false, false); 3];
            let mut met: Vec<(u64, u8)> = Vec::new();
            let mut forgotten_at = [0_u64; 3];
            for (step, table) in steps {
                let one = usize::from(table);
                match step {
                    0 => tables[one].0 = true,
                    1 if tables[one].0 => met.push((losses.lives(), table)),
                    2 => for (lives, table) in met.drain(..) {
                        losses.note(lives, &of(names[usize::from(table)]));
                        if forgotten_at[usize::from(table)] <= lives {
                            prop_assert!(losses.lacking().has(&(names[usize::from(table)].to_owned(), Kind::Knowledge)));
                        }
                    },
                    3 if losses.must_begin() => {
                        let lost = losses.lacking().clone();
                        prop_assert!(losses.began(&lost, 0));
                        for (number, name) in names.iter().enumerate() {
                            if lost.has(&((*name).to_owned(), Kind::Knowledge)) {
                                tables[number] = (false, true);
                                forgotten_at[number] = losses.lives();
                            }
                        }
                    }
                    4 if !losses.must_begin() => {
                        losses.is_filled();
                        tables.iter_mut().for_each(|table| table.1 = false);
                    }
                    _ => {}
                }
                for (number, name) in names.iter().enumerate() {
                    let is_lacking = losses.lacking().has(&((*name).to_owned(), Kind::Knowledge));
                    prop_assert!(is_lacking || !tables[number].1, "{} lacks something", name);
                }
            }
        }
    }
}
