//! Recorded runs that the tests write themselves, in the form of SWE-agent: three of one issue, two
//! of others. What the three found is the same; how they went about it is not.

use std::path::Path;

use serde_json::{Value, json};

const ISSUE: &str = "We're currently solving the following issue. Here's the issue text:\nISSUE:\nDuration serialization loses precision\nA Duration of 345 milliseconds is serialized as 344.\n\nINSTRUCTIONS:\nMend it.";

fn step(thought: &str, action: &str, observation: &str) -> Value {
    json!({ "thought": thought, "action": action, "observation": observation })
}

fn run(issue: &str, steps: &[Value]) -> String {
    json!({
        "history": [
            { "role": "system", "content": "You are an agent." },
            { "role": "user", "content": issue },
        ],
        "trajectory": steps,
        "info": { "exit_status": "submitted" },
    })
    .to_string()
}

fn of_the_issue(first: Value, last: Value) -> String {
    let common = [
        step(
            "Let us reproduce the bug with the snippet of the issue.",
            "python reproduce.py\n",
            "344\n",
        ),
        step(
            "The output is 344 where 345 is right: the root cause is that the division truncates in src/fields.py.",
            "open src/fields.py 1474\n",
            "[File: src/fields.py (1997 lines total)]\n1474:        return int(value.total_seconds() / base_unit.total_seconds())\n",
        ),
        step(
            "Round instead of cutting off.",
            "edit 1474:1474\n        return int(round(value.total_seconds() / base_unit.total_seconds()))\nend_of_edit\n",
            "[File: src/fields.py (1997 lines total)]\n1474:        return int(round(value.total_seconds() / base_unit.total_seconds()))\n",
        ),
        step("Check that it is mended.", "python reproduce.py\n", "345\n"),
    ];
    let mut steps = vec![first];
    steps.extend(common);
    steps.push(last);
    run(ISSUE, &steps)
}

/// The three runs of one issue.
fn of_one_issue(submitted: &Value) -> [(&'static str, String); 3] {
    let look = step("Look around.", "ls -F\n", "README.md\nsrc/\ntests/\n");
    let find = step(
        "Find the class.",
        "search_dir Duration src\n",
        "Found 2 matches in src/fields.py\n",
    );
    let ask = step(
        "What changed last?",
        "git log --oneline -3\n",
        "aa11 Release 3.1\n",
    );
    [
        ("duration-1", of_the_issue(look, submitted.clone())),
        ("duration-2", of_the_issue(find, submitted.clone())),
        ("duration-3", of_the_issue(ask, submitted.clone())),
    ]
}

/// Two runs of other issues.
fn of_others(submitted: &Value) -> [(&'static str, String); 2] {
    let colon = run(
        "ISSUE:\nSyntaxError in division.py\nThe function has no colon.\n",
        &[
            step(
                "Run it.",
                "python division.py\n",
                "SyntaxError: expected ':'\n",
            ),
            step(
                "Add the colon.",
                "edit 4:4\ndef divide(a, b):\nend_of_edit\n",
                "[File: division.py]\n4:def divide(a, b):\n",
            ),
            step("Run it.", "python division.py\n", "2.0\n"),
            submitted.clone(),
        ],
    );
    let cipher = run(
        "CHALLENGE:\nThe capsule\nFind the flag in the encrypted message.\n",
        &[
            step(
                "Read the server.",
                "cat server.py\n",
                "from Crypto.Util.number import getPrime\ne = 5\n",
            ),
            step(
                "A small exponent: use the remainder theorem.",
                "python solve.py\n",
                "HTB{small}\n",
            ),
            submitted.clone(),
        ],
    );
    [("colon", colon), ("cipher", cipher)]
}

/// Writes five runs into `folder`: those of one issue are called `duration-…`.
pub(crate) fn write_runs(folder: &Path) {
    let submitted = step(
        "Done.",
        "submit\n",
        "diff --git a/src/fields.py b/src/fields.py\n",
    );
    let runs = of_one_issue(&submitted)
        .into_iter()
        .chain(of_others(&submitted));
    for (name, text) in runs {
        let path = folder.join(format!("{name}.traj"));
        std::fs::write(path, text).expect("the folder is there and writable");
    }
}
