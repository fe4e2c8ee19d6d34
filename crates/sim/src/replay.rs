//! Replay files: a plan in an envelope that says who saw what when it was run.
//!
//! Owns the format, which has a version, and the comparison of a run with what its file says. It
//! must not know where files lie.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::fault::{Fault, Profile};
use crate::plan::{Plan, Refused};
use crate::planted;
use crate::suite::Suite;
use crate::violation::Violation;
use crate::world::Outcome;

/// The version of the format.
pub const FORMAT: u64 = 1;
/// The commit that this was built from, or `unknown`.
pub const COMMIT: &str = env!("SILLOK_SIM_COMMIT");

/// A plan with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The commit of the simulation that made it.
    pub commit: String,
    /// The protocol that it was run under: `correct`, or the name of a planted bug.
    pub protocol: String,
    /// Why it is kept, for people.
    pub why: Option<String>,
    /// The plan.
    pub plan: Plan,
    /// What did not hold.
    pub violation: Option<Violation>,
    /// Digest of the trace, if it is known.
    pub digest: Option<String>,
}

impl Replay {
    /// The replay of a run of this build.
    #[must_use]
    pub fn of(plan: Plan, protocol: &str, outcome: &Outcome) -> Self {
        Self {
            commit: COMMIT.to_owned(),
            protocol: protocol.to_owned(),
            why: None,
            plan,
            violation: outcome.violation.clone(),
            digest: Some(outcome.digest.clone()),
        }
    }

    /// Reads a file. A file without operations, or without a profile, means those that its seed
    /// draws.
    ///
    /// # Errors
    /// The field that is wrong.
    pub fn read(text: &str, suite: &Suite) -> Result<Self, Refused> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Refused::new("not JSON", error))?;
        let mut fields = Fields::of(value, "")?;
        match fields.required::<u64>("format")? {
            FORMAT => {}
            other => {
                let why = format!("version {other} is unknown; this build reads {FORMAT}");
                return Err(Refused::new("format", why));
            }
        }
        let protocol: String = fields.required("protocol")?;
        if !planted::is_protocol(&protocol) {
            let why = format!(
                "neither {:?} nor a planted bug: {protocol:?}",
                planted::CORRECT
            );
            return Err(Refused::new("protocol", why));
        }
        let seed = fields.required("seed")?;
        let profile = match fields.take("profile") {
            None => Profile::draw(seed),
            Some(value) => read_profile(value)?,
        };
        let plan = match fields.take("operations") {
            None => Plan::draw_under(suite, seed, profile),
            Some(value) => Plan {
                seed,
                profile,
                operations: read_list("operations", value)?,
            },
        };
        plan.validate(suite)?;
        Ok(Self {
            commit: fields.required("commit")?,
            protocol,
            why: fields.optional("why")?,
            plan,
            violation: fields.optional("violation")?,
            digest: fields.optional("digest")?,
        })
    }

    /// The file: one line for each fault and each operation, so that it can be read and compared.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = format!(
            "{{\n\"format\": {FORMAT},\n\"commit\": {},\n\"protocol\": {},\n",
            json(&self.commit),
            json(&self.protocol)
        );
        if let Some(why) = &self.why {
            writeln!(text, "\"why\": {},", json(why)).expect("a string takes all");
        }
        let profile = &self.plan.profile;
        write!(
            text,
            "\"violation\": {},\n\"digest\": {},\n\"seed\": {},\n\
             \"profile\": {{\"nodes\": {}, \"store\": {}, \"faults_ms\": {}, \"faults\": [",
            json(&self.violation),
            json(&self.digest),
            self.plan.seed,
            profile.nodes,
            json(&profile.store),
            profile.faults_ms
        )
        .expect("a string takes all");
        list(&mut text, profile.faults.iter().map(json));
        text += "]},\n\"operations\": [";
        list(&mut text, self.plan.operations.iter().map(json));
        text += "]\n}\n";
        text
    }

    /// How a run compares with what the file says.
    #[must_use]
    pub fn compare(&self, outcome: &Outcome) -> Verdict {
        let invariant = |violation: &Option<Violation>| {
            let violation = violation.as_ref();
            violation.map(|violation| violation.invariant.clone())
        };
        let is_same_trace = self.digest.as_ref() == Some(&outcome.digest);
        if self.violation == outcome.violation && is_same_trace {
            Verdict::Reproduced
        } else if invariant(&self.violation) == invariant(&outcome.violation) {
            Verdict::SameInvariant
        } else {
            Verdict::Otherwise
        }
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plans are JSON")
}

fn list(text: &mut String, items: impl Iterator<Item = String>) {
    for (number, item) in items.enumerate() {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        text.push_str(&item);
    }
}

/// How a run compares with what its file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same end and the same trace, byte for byte.
    Reproduced,
    /// The same invariant did not hold, or all held as before, but the trace is another.
    SameInvariant,
    /// Another end.
    Otherwise,
}

impl Verdict {
    /// One word for machines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::SameInvariant => "same invariant",
            Self::Otherwise => "not reproduced",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced: the same end and the same trace as the file says",
            Self::SameInvariant => "the same end as the file says, by another trace",
            Self::Otherwise => "not reproduced: the file says another end",
        })
    }
}

/// The fields of an object, with its path.
struct Fields {
    fields: Map<String, Value>,
    path: String,
}

impl Fields {
    fn of(value: Value, path: &str) -> Result<Self, Refused> {
        match value {
            Value::Object(fields) => Ok(Self {
                fields,
                path: path.to_owned(),
            }),
            _ => {
                let what = if path.is_empty() { "the file" } else { path };
                Err(Refused::new(what, "an object is expected"))
            }
        }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name)
    }

    fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Refused> {
        let path = self.path_of(name);
        let value = self.take(name);
        let value = value.ok_or_else(|| Refused::new(&*path, "it is missing"))?;
        serde_json::from_value(value).map_err(|error| Refused::new(path, error))
    }

    fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Refused> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value)
                .map(Some)
                .map_err(|error| Refused::new(self.path_of(name), error)),
        }
    }
}

/// Reads a profile, as it stands in a replay file and in a file of its own.
fn read_profile(value: Value) -> Result<Profile, Refused> {
    let mut fields = Fields::of(value, "profile")?;
    let nodes = fields.required("nodes")?;
    let store = fields.optional("store")?.unwrap_or_default();
    let faults_ms = fields.required("faults_ms")?;
    let faults: Value = fields.required("faults")?;
    Ok(Profile {
        nodes,
        store,
        faults_ms,
        faults: read_list::<Fault>("profile.faults", faults)?,
    })
}

fn read_list<T: DeserializeOwned>(path: &str, value: Value) -> Result<Vec<T>, Refused> {
    let Value::Array(items) = value else {
        return Err(Refused::new(path, "a list is expected"));
    };
    let read = |(number, item)| {
        serde_json::from_value(item)
            .map_err(|error| Refused::new(format!("{path}[{number}]"), error))
    };
    items.into_iter().enumerate().map(read).collect()
}

/// Reads a profile that stands in a file of its own, or the one of a replay file.
///
/// # Errors
/// The field that is wrong.
pub fn profile(text: &str) -> Result<Profile, Refused> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| Refused::new("not JSON", error))?;
    let profile = match value {
        Value::Object(mut fields) if fields.contains_key("profile") => {
            read_profile(fields.remove("profile").unwrap_or_default())?
        }
        value => read_profile(value)?,
    };
    profile.validate()?;
    Ok(profile)
}

/// The one line that runs a seed again, to be copied.
#[must_use]
pub fn line(seed: u64, protocol: &str, profile: &Profile, profile_file: Option<&str>) -> String {
    let mut line = format!("sillok-sim replay --seed {seed}");
    if protocol != planted::CORRECT {
        write!(line, " --bug '{protocol}'").expect("a string takes all");
    }
    if let Some(file) = profile_file {
        write!(line, " --profile '{file}'").expect("a string takes all");
    }
    let short = &COMMIT[..COMMIT.len().min(12)];
    line + &format!(" # commit {short}, profile {}", summary(profile))
}

/// A profile in a few words: how many nodes, and how many faults of each kind.
#[must_use]
pub fn summary(profile: &Profile) -> String {
    let mut kinds: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    for fault in &profile.faults {
        let value = serde_json::to_value(fault.kind).expect("plans are JSON");
        let kind = value["kind"].as_str().unwrap_or_default().to_owned();
        *kinds.entry(kind).or_default() += 1;
    }
    let kinds = kinds.iter().map(|(kind, count)| match count {
        1 => kind.clone(),
        _ => format!("{count} {kind}"),
    });
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    format!(
        "{} nodes, {} faults: {kinds}",
        profile.nodes,
        profile.faults.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay() -> Replay {
        Replay {
            commit: "abc".into(),
            protocol: "correct".into(),
            why: Some("it failed \"once\"".into()),
            plan: Plan::draw(4),
            violation: Some(Violation::new("applied once", "twice")),
            digest: Some("00".into()),
        }
    }

    fn refused(from: &str, to: &str) -> String {
        let text = replay().write();
        assert!(text.contains(from), "{from}");
        let spoilt = text.replacen(from, to, 1);
        let refused = Replay::read(&spoilt, &Suite::built_in()).unwrap_err();
        refused.to_string()
    }

    #[test]
    fn a_file_gives_back_what_was_written() {
        let text = replay().write();
        let read = Replay::read(&text, &Suite::built_in()).unwrap();
        assert_eq!(read, replay());
        assert_eq!(profile(&text).unwrap(), replay().plan.profile);
        let own = serde_json::to_string(&replay().plan.profile).unwrap();
        assert_eq!(profile(&own).unwrap(), replay().plan.profile);
    }

    #[test]
    fn without_operations_the_seed_draws_them() {
        let text = r#"{"format": 1, "commit": "abc", "protocol": "correct", "seed": 4}"#;
        let read = Replay::read(text, &Suite::built_in()).unwrap();
        assert_eq!(read.plan, Plan::draw(4));
        assert_eq!((read.violation, read.digest), (None, None));
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_field() {
        let why = refused("\"format\": 1", "\"format\": 2");
        assert_eq!(why, "format: version 2 is unknown; this build reads 1");
        let why = refused("\"protocol\": \"correct\"", "\"protocol\": \"wishful\"");
        assert!(
            why.starts_with("protocol: neither \"correct\" nor"),
            "{why}"
        );
        assert_eq!(refused("\"seed\"", "\"seat\""), "seed: it is missing");
        let why = refused("\"seed\": 4", "\"seed\": -4");
        assert!(why.starts_with("seed: invalid value"), "{why}");
        let why = refused("\"faults\": [", "\"faults\": [{\"at_ms\": 1}, ");
        assert!(why.starts_with("profile.faults[0]: missing field"), "{why}");
        let why = refused("\"operations\": [", "\"operations\": [7, ");
        assert!(why.starts_with("operations[0]: "), "{why}");
        let why = refused("\"open_task\"", "\"close_shop\"");
        assert!(
            why.starts_with("operations[0]: action: unknown variant"),
            "{why}"
        );
        let why = refused("{", "");
        assert!(why.starts_with("not JSON: "), "{why}");
    }

    #[test]
    fn the_line_to_copy_says_all_that_is_needed() {
        let profile = Profile::draw(4);
        let line = line(4, "no epoch read", &profile, None);
        assert!(line.starts_with("sillok-sim replay --seed 4 --bug 'no epoch read' # commit "));
        assert!(
            line.contains(&format!("profile {} nodes, ", profile.nodes)),
            "{line}"
        );
        assert!(!line.contains('\n'));
    }
}
