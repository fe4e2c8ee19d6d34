//! A work tree of made-up source files in several languages, the same for the same arguments.
//!
//! Owns their text and where they lie. It must not know what is measured.

use std::fmt::Write as _;
use std::path::Path;

/// Lines of one file, about.
const FILE_LINES: usize = 200;
/// Files of one folder.
const FOLDER_FILES: usize = 20;
/// Ends of file names, in the order of files. A file calls the one that lies so many before it.
const ENDS: [&str; 8] = ["rs", "tsx", "ts", "py", "go", "java", "c", "cpp"];
/// Lines of one function.
const FUNCTION_LINES: usize = 9;
/// Folders of one part of the tree.
const PART_FOLDERS: usize = 10;
/// What each file imports beside the file that it calls, by the end of its name: most lies outside the tree, and a name of a
/// configuration is in each.
const IMPORTS: [(&str, &str); 8] = [
    ("rs", RUST_IMPORTS),
    ("ts", ECMA_IMPORTS),
    ("tsx", ECMA_IMPORTS),
    ("py", PYTHON_IMPORTS),
    ("go", GO_IMPORTS),
    ("java", JAVA_IMPORTS),
    ("c", C_IMPORTS),
    ("cpp", C_IMPORTS),
];
const RUST_IMPORTS: &str = "use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use crate::config::Config;
use crate::error::{Error, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tracing::{debug, warn};
";
const ECMA_IMPORTS: &str = "import { readFile } from 'node:fs/promises';
import path from 'node:path';
import React, { useEffect, useMemo, useState } from 'react';
import { debounce, groupBy } from 'lodash';
import { render } from '@testing-library/react';
import { Button } from '@company/components/button';
import { settings } from './config';
import type { Request, Response } from '../types/http';
";
const PYTHON_IMPORTS: &str = "import json
import logging
import os
import re
import sys
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Iterable, Optional
import numpy as np
from django.db import models
from django.utils.translation import gettext
from config import settings
";
const GO_IMPORTS: &str = "import (
    \"context\"
    \"encoding/json\"
    \"errors\"
    \"fmt\"
    \"net/http\"
    \"sync\"
    \"time\"
    \"github.com/stretchr/testify/require\"
    \"golang.org/x/sync/errgroup\"
    \"example.com/it/config\"
)
";
const JAVA_IMPORTS: &str = "import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.annotation.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import work.config;
";
const C_IMPORTS: &str = "#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include \"base/list.h\"
#include \"config.h\"
#include \"util/log.h\"
";

/// Writes a manifest, and source files of at least so many lines in all. How many of these.
pub(super) fn write_tree(root: &Path, lines: u64) -> std::io::Result<usize> {
    std::fs::write(root.join("Cargo.toml"), "[package]\nname = \"it\"\n")?;
    let (mut files, mut written) = (0, 0);
    while written < lines {
        let (path, text) = (root.join(path(files)), source(files, 0));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        written += text.lines().count() as u64;
        std::fs::write(path, text)?;
        files += 1;
    }
    Ok(files)
}

/// Where a file lies.
pub(super) fn path(file: usize) -> String {
    let folder = file / FOLDER_FILES;
    format!(
        "part{}/src/d{folder}/m{file}.{}",
        folder / PART_FOLDERS,
        end(file)
    )
}

/// A file that each file of the language of this one asks for. It is not there at first, and its text.
pub(super) fn config(file: usize) -> (String, String) {
    let end = match end(file) {
        "c" | "cpp" => "h",
        end => end,
    };
    let text = match end {
        "java" => "package work;\n\nclass config {}\n",
        "go" => "package config\n",
        _ => "",
    };
    (format!("part0/src/config/config.{end}"), text.to_owned())
}

const fn end(file: usize) -> &'static str {
    ENDS[file % ENDS.len()]
}

/// A function of a file that others call.
pub(super) fn called(file: usize) -> String {
    format!("work_{file}_3")
}

/// The text of a file, with so many functions more than it had at first.
pub(super) fn source(file: usize, more: usize) -> String {
    let end = end(file);
    let before = file.saturating_sub(ENDS.len());
    let other = called(before);
    let head = match end {
        "go" | "java" => "package work;\n\n",
        _ => "",
    };
    let own = match end {
        "rs" => format!("use super::m{before}::{other};\n"),
        "ts" | "tsx" => format!("import {{ {other} }} from './m{before}';\n"),
        "py" => format!("from .m{before} import {other}\n"),
        "c" | "cpp" => format!("#include \"m{before}.h\"\n"),
        _ => String::new(),
    };
    let imports = IMPORTS.iter().find(|(of, _)| *of == end);
    let imports = imports.map_or("", |(_, imports)| imports);
    let mut text = format!("{head}{own}{imports}\n");
    if end == "java" {
        writeln!(text, "class M{file} {{").expect("a text takes what is written into it");
    }
    for function in 0..FILE_LINES / FUNCTION_LINES + more {
        add(&mut text, end, (file, function), &other);
    }
    if end == "java" {
        text.push_str("}\n");
    }
    text
}

fn add(text: &mut String, end: &str, (file, function): (usize, usize), other: &str) {
    let name = format!("work_{file}_{function}");
    let called = format!("work_{file}_{}", function * 7 % 19);
    let comment = if end == "py" { "#" } else { "//" };
    let head = match end {
        "rs" => format!("pub fn {name}(at: u64) -> u64 {{"),
        "ts" | "tsx" => format!("export function {name}(at: number): number {{"),
        "py" => format!("def {name}(at: int) -> int:"),
        "go" => format!("func {name}(at int) int {{"),
        "java" => format!("    static int {name}(int at) {{"),
        _ => format!("int {name}(int at) {{"),
    };
    let declare = match end {
        "rs" => "let mut sum =",
        "ts" | "tsx" => "let sum =",
        "go" => "sum :=",
        "py" => "sum =",
        _ => "int sum =",
    };
    let stop = if matches!(end, "py" | "go") { "" } else { ";" };
    let close = if end == "py" { "" } else { "}" };
    let lines = [
        format!("{comment} What number {function} of {file} does."),
        head,
        format!("    {declare} {called}(at) + {other}(at){stop}"),
        format!("    sum = sum * {function} + 17{stop}"),
        format!("    sum = sum - {file}{stop}"),
        format!("    sum = helper(sum, \"a text of {file}\"){stop}"),
        format!("    return sum{stop}"),
        close.to_owned(),
        String::new(),
    ];
    for line in lines {
        writeln!(text, "{line}").expect("a text takes what is written into it");
    }
}
