//! What the use of a tool changes in files.
//!
//! Owns which tools of which client write files, and how their input tells it.

use serde_json::Value;

use super::Tool;

/// Files of one change that are told.
const FILES_MAX: usize = 32;
/// Edits of one tool that are looked at.
const EDITS_MAX: usize = 256;

/// A change of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The files, as the tool names them.
    pub files: Vec<String>,
    /// What is to stand in them, as far as the tool says.
    pub text: String,
}

impl Tool {
    /// What it changes; nothing where it is no tool that writes files.
    #[must_use]
    pub fn edit(&self) -> Option<Edit> {
        match self.name.as_str() {
            "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "Delete" | "StrReplace" => {
                self.direct()
            }
            "apply_patch" => self.patch(),
            _ => None,
        }
    }

    /// Of a tool that names one file.
    fn direct(&self) -> Option<Edit> {
        let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
        let paths = ["file_path", "notebook_path", "path"];
        let file = paths.iter().find_map(|key| text(&self.input, key))?;
        let bodies = ["new_string", "content", "contents", "new_source", "new_str"];
        let mut said: Vec<String> = Vec::new();
        said.extend(bodies.iter().find_map(|key| text(&self.input, key)));
        let edits = self.input.get("edits").and_then(Value::as_array);
        for edit in edits.into_iter().flatten().take(EDITS_MAX) {
            said.extend(bodies.iter().find_map(|key| text(edit, key)));
        }
        Some(Edit {
            files: vec![file],
            text: said.join("\n"),
        })
    }

    /// Of a patch, whose head lines name files and whose added lines begin with a plus.
    fn patch(&self) -> Option<Edit> {
        let keys = ["command", "input", "patch"];
        let patch = match &self.input {
            Value::String(text) => Some(text.as_str()),
            input => keys.iter().find_map(|key| input.get(key)?.as_str()),
        }?;
        let heads = [
            "*** Update File: ",
            "*** Add File: ",
            "*** Delete File: ",
            "*** Move to: ",
        ];
        let mut files = Vec::new();
        let mut text = String::new();
        for line in patch.lines() {
            let named = heads.iter().find_map(|head| line.strip_prefix(head));
            if let Some(file) = named.filter(|_| files.len() < FILES_MAX) {
                files.push(file.trim().to_owned());
            } else if let Some(added) = line.strip_prefix('+') {
                text.push_str(added);
                text.push('\n');
            }
        }
        (!files.is_empty()).then_some(Edit { files, text })
    }
}
