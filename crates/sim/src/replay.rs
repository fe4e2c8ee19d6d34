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
use crate::suite::{Suite, left_over};
use crate::violation::Violation;
use crate::world::Outcome;

/// The version of the format.
pub const FORMAT: u64 = 1;
/// The commit that this was built from, with `-dirty` behind it if the sources had been changed
/// since; or `unknown`.
pub const COMMIT: &str = env!("SILLOK_SIM_COMMIT");
/// What a file may say beside its profile.
const ENVELOPE: [&str; 8] = [
    "format",
    "commit",
    "protocol",
    "why",
    "violation",
    "digest",
    "seed",
    "operations",
];

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
                operations: read_list("operations", &value)?,
            },
        };
        plan.validate(suite)?;
        for (number, operation) in plan.operations.iter().enumerate() {
            if let Some(path) = suite.left_over(operation) {
                return Err(unknown(format!("operations[{number}].action{path}")));
            }
        }
        let read = Self {
            commit: fields.required("commit")?,
            protocol,
            why: fields.optional("why")?,
            plan,
            violation: fields.whole("violation")?,
            digest: fields.optional("digest")?,
        };
        fields.end()?;
        Ok(read)
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

    /// As [`optional`](Self::optional), for an object that has fields of its own.
    fn whole<T: DeserializeOwned + Serialize>(&mut self, name: &str) -> Result<Option<T>, Refused> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read_whole(&self.path_of(name), &value).map(Some),
        }
    }

    /// Nobody knows what is left.
    fn end(self) -> Result<(), Refused> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(name) => Err(unknown(self.path_of(name))),
        }
    }
}

fn unknown(path: String) -> Refused {
    Refused::new(path, "unknown field")
}

/// Reads a value of which every field must be known.
fn read_whole<T: DeserializeOwned + Serialize>(path: &str, value: &Value) -> Result<T, Refused> {
    let read = T::deserialize(value).map_err(|error| Refused::new(path, error))?;
    let written = serde_json::to_value(&read).expect("plans are JSON");
    match left_over(value, &written) {
        None => Ok(read),
        Some(below) => Err(unknown(format!("{path}{below}"))),
    }
}

/// Reads a profile, as it stands in a replay file and in a file of its own.
fn read_profile(value: Value) -> Result<Profile, Refused> {
    let mut fields = Fields::of(value, "profile")?;
    let nodes = fields.required("nodes")?;
    let store = fields.optional("store")?.unwrap_or_default();
    let faults_ms = fields.required("faults_ms")?;
    let faults: Value = fields.required("faults")?;
    fields.end()?;
    Ok(Profile {
        nodes,
        store,
        faults_ms,
        faults: read_list::<Fault>("profile.faults", &faults)?,
    })
}

fn read_list<T>(path: &str, value: &Value) -> Result<Vec<T>, Refused>
where
    T: DeserializeOwned + Serialize,
{
    let Value::Array(items) = value else {
        return Err(Refused::new(path, "a list is expected"));
    };
    let read = |(number, item)| read_whole(&format!("{path}[{number}]"), item);
    items.iter().enumerate().map(read).collect()
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
            let profile = read_profile(fields.remove("profile").unwrap_or_default())?;
            match fields
                .keys()
                .find(|name| !ENVELOPE.contains(&name.as_str()))
            {
                None => profile,
                Some(name) => return Err(unknown(name.clone())),
            }
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
    line + &format!(" # commit {}, profile {}", short(COMMIT), summary(profile))
}

/// A commit in twelve digits, with what else is said of it.
fn short(commit: &str) -> String {
    let (digits, dirty) = match commit.strip_suffix(DIRTY) {
        Some(digits) => (digits, DIRTY),
        None => (commit, ""),
    };
    format!("{digits:.12}{dirty}")
}

/// What stands behind a commit whose sources had been changed.
const DIRTY: &str = "-dirty";

/// Whether a build of `commit` is known to be the same code as one of `other`: two trees that differ
/// from one commit, and two of which nothing is known, need not have anything in common.
#[must_use]
pub fn is_same_code(commit: &str, other: &str) -> bool {
    commit == other && commit != UNKNOWN && !commit.ends_with(DIRTY)
}

/// What stands for the commit of a build without git.
const UNKNOWN: &str = "unknown";

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
mod tests;
