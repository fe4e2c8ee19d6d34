//! `[maintenance]`: when nodes take out of recall what is old, by themselves.
//!
//! Owns how a calendar is written. What a run does is the node's.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds};
use serde::{Deserialize, Serialize};
use sillok_core::ports::Calendar;
use sillok_core::time::Timestamp;
use sillok_core::{Error, ErrorCode};

use super::within;

/// Checkpoints that may be kept: all of a directory are listed with each new one.
const KEPT: RangeInclusive<usize> = 1..=10_000;

/// `[maintenance]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaintenanceConfig {
    /// When a run is due, as in a crontab: minute, hour, day of the month, month, day of the week. Empty: never, since
    /// somebody else calls `sillok maintain`.
    pub schedule: String,
    /// The time zone that is meant in, by its name in the IANA database, such as `Asia/Seoul`.
    pub time_zone: String,
    /// The directory that each run leaves a signed checkpoint in: a disk that the store does not lie on. Empty: none is
    /// signed.
    pub checkpoints: PathBuf,
    /// Checkpoints that are kept there: the newest ones.
    pub checkpoints_kept: usize,
}

impl Default for MaintenanceConfig {
    fn default() -> Self {
        Self {
            schedule: "0 3 * * *".to_owned(),
            time_zone: "UTC".to_owned(),
            checkpoints: PathBuf::new(),
            checkpoints_kept: 90,
        }
    }
}

impl MaintenanceConfig {
    /// The calendar; none where nothing is ever due.
    ///
    /// # Errors
    /// `invalid_argument`, naming the key, where that is no schedule, or one that names no time, or no time zone.
    pub fn calendar(&self) -> Result<Option<CronCalendar>, Error> {
        let schedule = self.schedule.trim();
        if schedule.is_empty() {
            return Ok(None);
        }
        let zone: Tz = self.time_zone.trim().parse().map_err(|_| {
            refused(
                "time_zone",
                "is no time zone of the IANA database, such as UTC or Asia/Seoul",
            )
        })?;
        let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
        let cron = parser.parse(schedule);
        let cron = cron.map_err(|error| refused("schedule", &error.to_string()))?;
        let calendar = CronCalendar { cron, zone };
        if calendar.next(Timestamp::EPOCH).is_none() {
            return Err(refused("schedule", "names a day that there never is"));
        }
        Ok(Some(calendar))
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        within("maintenance.checkpoints_kept", self.checkpoints_kept, KEPT)?;
        self.calendar().map(|_| ())
    }
}

/// A crontab's line in a time zone.
#[derive(Clone, Debug)]
pub struct CronCalendar {
    cron: Cron,
    zone: Tz,
}

impl CronCalendar {
    fn local(&self, time: Timestamp) -> Option<DateTime<Tz>> {
        let ms = i64::try_from(time.ms()).ok()?;
        Some(DateTime::<Utc>::from_timestamp_millis(ms)?.with_timezone(&self.zone))
    }
}

fn timestamp(time: &DateTime<Tz>) -> Option<Timestamp> {
    let ms = u64::try_from(time.timestamp_millis()).ok()?;
    Some(Timestamp::from_ms(ms))
}

impl Calendar for CronCalendar {
    fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        let found = self.cron.find_previous_occurrence(&self.local(now)?, true);
        timestamp(&found.ok()?)
    }

    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let found = self.cron.find_next_occurrence(&self.local(now)?, false);
        timestamp(&found.ok()?)
    }
}

fn refused(key: &str, why: &str) -> Error {
    let why = format!("configuration maintenance.{key}: {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schedule: &str, time_zone: &str) -> MaintenanceConfig {
        MaintenanceConfig {
            schedule: schedule.to_owned(),
            time_zone: time_zone.to_owned(),
            ..MaintenanceConfig::default()
        }
    }

    fn at(text: &str) -> Timestamp {
        timestamp(
            &DateTime::parse_from_rfc3339(text)
                .unwrap()
                .with_timezone(&Tz::UTC),
        )
        .unwrap()
    }

    #[test]
    fn a_calendar_names_times_of_its_zone() {
        let seoul = of("30 4 * * *", "Asia/Seoul").calendar().unwrap().unwrap();
        let now = at("2026-11-23T00:00:00Z");
        assert_eq!(seoul.latest(now), Some(at("2026-11-22T19:30:00Z")));
        assert_eq!(seoul.next(now), Some(at("2026-11-23T19:30:00Z")));
        let exactly = at("2026-11-23T19:30:00Z");
        assert_eq!(seoul.latest(exactly), Some(exactly), "now is not too early");
        assert_eq!(seoul.next(exactly), Some(at("2026-11-24T19:30:00Z")));
    }

    #[test]
    fn an_hour_that_is_skipped_or_comes_twice_has_one_time() {
        let berlin = of("30 2 * * *", "Europe/Berlin")
            .calendar()
            .unwrap()
            .unwrap();
        // On 2026-03-29 the clocks go from 2:00 to 3:00, and on 2026-10-25 from 3:00 back to 2:00.
        for (from, to) in [
            ("2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z"),
            ("2026-10-23T12:00:00Z", "2026-10-27T12:00:00Z"),
        ] {
            let (mut now, mut named) = (at(from), Vec::new());
            while let Some(next) = berlin.next(now).filter(|next| *next < at(to)) {
                assert!(next > now);
                assert_eq!(berlin.latest(next), Some(next));
                named.push(next);
                now = next;
            }
            let days = (at(to).ms() - at(from).ms()) / 86_400_000;
            assert_eq!(named.len() as u64, days, "{named:?}");
        }
    }

    #[test]
    fn what_is_no_calendar_is_refused_by_its_key() {
        assert_eq!(MaintenanceConfig::default().check(), Ok(()));
        assert!(of(" ", "Nowhere/At_All").calendar().unwrap().is_none());
        for (schedule, zone, key) in [
            ("every night", "UTC", "schedule"),
            ("61 3 * * *", "UTC", "schedule"),
            ("0 0 3 * * *", "UTC", "schedule"),
            ("0 3 31 2 *", "UTC", "schedule"),
            ("0 3 * * *", "Seoul", "time_zone"),
            ("0 3 * * *", "", "time_zone"),
        ] {
            let error = of(schedule, zone).check().unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{schedule} {zone}");
            let key = format!("configuration maintenance.{key}: ");
            assert!(error.message.starts_with(&key), "{schedule}: {error}");
        }
        let none_kept = MaintenanceConfig {
            checkpoints_kept: 0,
            ..MaintenanceConfig::default()
        };
        let error = none_kept.check().unwrap_err();
        assert!(
            error.message.contains("maintenance.checkpoints_kept"),
            "{error}"
        );
    }
}
