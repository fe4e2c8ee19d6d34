//! The name of the task that recorded work becomes.
//!
//! Owns that no two runs or sessions share one, and that one and the same has the same each time.

use sillok_core::limits::SEGMENT_CHARS_MAX;
use sillok_sessions::Head;

/// Bytes of a digest in the name of a task.
const DIGEST_BYTES: usize = 6;

/// The name of the task: of a run its own and what tells it from another run of that name; of a session its client, its id
/// and the agent that was at work in it.
#[must_use]
pub fn task_name(head: &Head) -> String {
    if let Some(digest) = head.digest {
        return told_apart(&head.name, &digest);
    }
    let mut name = format!("{}-{}", head.format, head.name);
    if let Some(agent) = &head.agent {
        name = format!("{name}-agent-{agent}");
    }
    let is_plain = segment(&name) == name;
    if is_plain {
        name
    } else {
        told_apart(&name, blake3::hash(name.as_bytes()).as_bytes())
    }
}

/// A name as far as it may stand in a scope path, and a digest that tells it from others that look like it there.
fn told_apart(name: &str, digest: &[u8; 32]) -> String {
    let digest = hex::encode(&digest[..DIGEST_BYTES]);
    let name: String = segment(name)
        .chars()
        .take(SEGMENT_CHARS_MAX - digest.len() - 1)
        .collect();
    format!("{name}-{digest}")
}

/// A name as it may stand in a scope path.
fn segment(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c
        } else {
            '-'
        }
    };
    let segment: String = name.chars().map(plain).take(SEGMENT_CHARS_MAX).collect();
    match segment.as_str() {
        "" | "." | ".." => "run".to_owned(),
        _ => segment,
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::scope::Scope;
    use sillok_sessions::Format;

    use super::*;

    fn head(format: Format, name: &str, digest: Option<[u8; 32]>) -> Head {
        Head {
            format,
            name: name.to_owned(),
            agent: None,
            digest,
            title: String::new(),
            description: String::new(),
        }
    }

    #[test]
    fn any_name_becomes_a_segment() {
        for name in ["a run.traj", "", "..", "한글", &"x".repeat(400), "ok-1_2.3"] {
            let worktree = Scope::parse("org/a/project/b/worktree/c").unwrap();
            for head in [
                head(Format::Traj, name, Some([1; 32])),
                head(Format::Codex, name, None),
            ] {
                let task = task_name(&head);
                assert!(worktree.child(&task).is_ok(), "{task}");
            }
        }
        assert_eq!(segment("a run"), "a-run");
    }

    #[test]
    fn a_run_names_its_task_alike_each_time_and_another_otherwise() {
        let run = |digest| task_name(&head(Format::Traj, "a run", Some(digest)));
        assert_eq!(run([1; 32]), "a-run-010101010101");
        assert_ne!(run([1; 32]), run([2; 32]));
    }

    #[test]
    fn sessions_that_look_alike_in_a_path_are_told_apart() {
        let name = |name: &str| task_name(&head(Format::ClaudeCode, name, None));
        assert_eq!(name("7d1c-0a01"), "claude-code-7d1c-0a01");
        assert_ne!(name("a b"), name("a-b"));
        assert_ne!(name("a b"), name("a/b"));
        let long = "x".repeat(200);
        assert_ne!(name(&long), name(&format!("{long}y")));
        let mut of_agent = head(Format::ClaudeCode, "s", None);
        of_agent.agent = Some("a1".to_owned());
        assert_eq!(task_name(&of_agent), "claude-code-s-agent-a1");
    }
}
