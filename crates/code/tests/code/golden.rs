//! What is found in a small source of each language, symbol by symbol.

use core::fmt::Write;

use sillok_code::{FileIndex, Language, index};

/// All that is said of a source: symbols with their lines and signatures, imports, calls.
fn said(language: Language, source: &str) -> String {
    let file = index(language, source.as_bytes()).unwrap();
    let mut said = String::new();
    for symbol in &file.symbols {
        let (kind, (first, last)) = (symbol.kind.name(), symbol.lines);
        writeln!(
            said,
            "{kind} {} {first}-{last}: {}",
            symbol.name, symbol.signature
        )
        .unwrap();
    }
    for import in &file.imports {
        let name = import.name.as_deref().unwrap_or("-");
        let alias = import
            .alias
            .as_deref()
            .map_or(String::new(), |alias| format!(" as {alias}"));
        let declares = if import.declares { " (declared)" } else { "" };
        writeln!(said, "import {} {name}{alias}{declares}", import.module).unwrap();
    }
    for call in &file.calls {
        writeln!(said, "call {}", call_of(&file, call)).unwrap();
    }
    assert!(!file.has_errors, "the sample is no {language:?}");
    said
}

fn call_of(file: &FileIndex, call: &sillok_code::Call) -> String {
    let caller = call
        .caller
        .map_or("-", |at| &*file.symbols[at as usize].name);
    let qualifier = call
        .qualifier
        .as_deref()
        .map_or(String::new(), |it| format!("[{it}] "));
    format!("{caller} -> {qualifier}{}", call.callee)
}

fn check(language: Language, source: &str, expected: &str) {
    let said = said(language, source);
    let lines = |text: &str| -> Vec<String> { text.trim().lines().map(str::to_owned).collect() };
    assert_eq!(lines(&said), lines(expected), "{language:?} says:\n{said}");
}

#[test]
fn an_empty_file_says_nothing() {
    for language in Language::ALL {
        let found = index(language, b"").unwrap();
        assert!(found.symbols.is_empty() && found.imports.is_empty() && found.calls.is_empty());
    }
}

const RUST: &str = r#"use std::collections::{BTreeMap, hash_map::{self, Entry as Slot}};
use crate::store::*;
mod wire;

/// Reads.
pub struct Client<T> { inner: T }

pub trait Reads { fn read(&self) -> u8; }

impl<T: Clone> Reads for Client<T> {
    fn read(&self /* it */) -> u8 { self.step(); wire::decode(0) }
}

impl<T> Client<T> {
    const SIZE: usize = 4;
    pub async fn new(
        inner: T, // kept
    ) -> Self {
        let local = Self::SIZE;
        assert!(check(local), "{}", Vec::<u8>::with_capacity(4).len());
        Client { inner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn it() { let _ = Client::new(1); }
}
"#;

#[test]
fn rust_is_read() {
    check(
        Language::Rust,
        RUST,
        "
module wire 3-3: mod wire;
struct Client 6-6: pub struct Client<T>
interface Reads 8-8: pub trait Reads
method Reads::read 8-8: fn read(&self) -> u8;
method Client::read 11-11: fn read(&self ) -> u8
constant Client::SIZE 15-15: const SIZE: usize = 4;
method Client::new 16-22: pub async fn new( inner: T, ) -> Self
module tests 26-29: mod tests
function tests::it 28-28: fn it()
import crate::store *
import self *
import self wire (declared)
import std::collections BTreeMap
import std::collections hash_map
import std::collections::hash_map Entry as Slot
call Client::new -> assert
call Client::new -> check
call Client::read -> [wire] decode
call Client::new -> [] len
call tests::it -> [Client] new
call Client::read -> [self] step
call Client::new -> [] with_capacity
",
    );
}

#[test]
fn functions_of_one_name_are_told_apart_by_what_they_implement() {
    let display = "impl fmt::Display for A { fn fmt(&self) {} }\n";
    let debug = "impl fmt::Debug for A { fn fmt(&self) {} }\n";
    let ids = |source: String| {
        let file = index(Language::Rust, source.as_bytes()).unwrap();
        let all = file.symbols_named("A::fmt");
        all.map(|symbol| symbol.id).collect::<Vec<_>>()
    };
    let there = ids(format!("{display}{debug}"));
    let mut back = ids(format!("{debug}{display}"));
    back.reverse();
    assert_eq!((there.len(), &there), (2, &back));
    assert_eq!(ids(debug.to_owned()), there[1..]);
}

const TYPESCRIPT: &str = r#"import express, { Router as R } from "express";
import * as fs from "./files.js";
import "./side-effect";
export { a, b as c } from "./other";
export * from "./all";
const path = require("path");

export interface Reads { read(at: number): string }
export type Name = string | number;
enum Mode { One, Two }

export class Client extends Base implements Reads {
  private limit = 3;
  static make = (n: number) => new Client(n);
  constructor(private n: number) { super(n); this.open(); }
  read(at: number): string { return fs.read(at).trim(); }
}

export const load = async (name: Name) => {
  const inner = () => check(name);
  const value = 4;
  return inner();
};
const LIMIT = 3;
namespace deep { export function f() {} }
"#;

#[test]
fn typescript_is_read() {
    check(
        Language::TypeScript,
        TYPESCRIPT,
        "
variable path 6-6: path = require(\"path\")
interface Reads 8-8: interface Reads
method Reads.read 8-8: read(at: number): string
type_alias Name 9-9: type Name = string | number;
enum Mode 10-10: enum Mode
class Client 12-17: class Client extends Base implements Reads
variable Client.limit 13-13: private limit = 3
method Client.make 14-14: static make = (n: number) =>
method Client.constructor 15-15: constructor(private n: number)
method Client.read 16-16: read(at: number): string
function load 19-23: load = async (name: Name) =>
function load.inner 20-20: inner = () =>
constant LIMIT 24-24: LIMIT = 3
module deep 25-25: namespace deep
function deep.f 25-25: function f()
import ./all *
import ./files.js - as fs
import ./other a
import ./other b as c
import ./side-effect -
import express Router as R
import express default as express
import path - as path
call Client.make -> Client
call load.inner -> check
call load -> inner
call Client.constructor -> [this] open
call Client.read -> [fs] read
call Client.read -> [] trim
",
    );
}

#[test]
fn components_of_tsx_are_calls() {
    let source = "import { Row } from './row';\nexport const Table = () => <div><Row n={1}/><ui.Cell></ui.Cell></div>;\n";
    check(
        Language::Tsx,
        source,
        "
function Table 2-2: Table = () =>
import ./row Row
call Table -> [ui] Cell
call Table -> Row
",
    );
}

const JAVASCRIPT: &str = r#"'use strict';
const { one } = require('./one');
import('./later');

class Queue {
  #items = [];
  push(item) { this.#items.push(item); return size(this); }
}

function* each(queue) { yield queue?.next(); }
module.exports = { Queue, each, helper() { return one(); } };
"#;

#[test]
fn javascript_is_read() {
    check(
        Language::JavaScript,
        JAVASCRIPT,
        "
class Queue 5-8: class Queue
variable Queue.#items 6-6: #items = []
method Queue.push 7-7: push(item)
function each 10-10: function* each(queue)
method helper 11-11: helper()
import ./later -
import ./one -
call each -> [queue] next
call helper -> one
call Queue.push -> [this.#items] push
call Queue.push -> size
",
    );
}

const PYTHON: &str = r#"import os.path, json as j
from .models import (User, Group as G)
from .. import base
from typing import *

LIMIT: int = 3
names = []

class Client(Base):
    """Reads."""
    retries = 2

    @property
    def size(self):  # of it
        return len(self.items)

    async def read(self, at: int = 0) -> bytes:
        total = 1
        def inner(): return User.load(at)
        return await self.step(inner())

def main(*args):
    os.path.join("a")
    j.dumps({})
    Client().read()
"#;

#[test]
fn python_is_read() {
    check(
        Language::Python,
        PYTHON,
        "
constant LIMIT 6-6: LIMIT: int = 3
variable names 7-7: names = []
class Client 9-20: class Client(Base):
variable Client.retries 11-11: retries = 2
method Client.size 14-15: def size(self):
method Client.read 17-20: async def read(self, at: int = 0) -> bytes:
function Client.read.inner 19-19: def inner():
function main 22-25: def main(*args):
import .. base
import .models Group as G
import .models User
import json - as j
import os.path -
import typing *
call main -> Client
call main -> [j] dumps
call Client.read -> inner
call main -> [os.path] join
call Client.size -> len
call Client.read.inner -> [User] load
call main -> [] read
call Client.read -> [self] step
",
    );
}

const GO: &str = r#"// Package store keeps.
package store

import (
	"fmt"
	w "example.com/a/wire"
	. "example.com/a/dot"
	_ "example.com/a/side"
)

const Limit, other = 3, 4

type Client[T any] struct{ inner T }
type Reads interface {
	Read(at int) (string, error)
}
type Name = string
type Code int

func (c *Client[T]) Read(at int) (string, error) {
	local := w.Decode(at)
	return fmt.Sprint(local), c.step()
}

func New[T any](inner T) *Client[T] { return build[T](inner) }
"#;

#[test]
fn go_is_read() {
    check(
        Language::Go,
        GO,
        "
constant Limit 11-11: Limit, other = 3, 4
struct Client 13-13: Client[T any]
interface Reads 14-16: Reads
method Reads.Read 15-15: Read(at int) (string, error)
type_alias Name 17-17: Name = string
type_alias Code 18-18: Code int
method Client.Read 20-23: func (c *Client[T]) Read(at int) (string, error)
function New 25-25: func New[T any](inner T) *Client[T]
import example.com/a/dot *
import example.com/a/side - as _
import example.com/a/wire - as w
import fmt -
call Client.Read -> [w] Decode
call Client.Read -> [fmt] Sprint
call New -> build
call Client.Read -> [c] step
",
    );
    assert_eq!(
        index(Language::Go, GO.as_bytes())
            .unwrap()
            .package
            .as_deref(),
        Some("store")
    );
}

const JAVA: &str = r#"package com.example.store;

import java.util.List;
import static com.example.Wire.decode;
import com.example.model.*;

/** Reads. */
public class Client<T> extends Base implements Reads {
    private static final int LIMIT = 3;
    private T inner;

    public Client(T inner) { this.inner = inner; open(); }

    @Override
    public String read(int at) throws IOException { return decode(at).trim(); }

    enum Mode { ONE }
    record Pair(int a, int b) {}
    interface Visitor { void visit(Client<?> client); }

    static Client<String> of() { return new Client<String>("a"); }
}
"#;

#[test]
fn java_is_read() {
    check(
        Language::Java,
        JAVA,
        "
class Client 8-22: public class Client<T> extends Base implements Reads
constant Client.LIMIT 9-9: private static final int LIMIT = 3;
variable Client.inner 10-10: private T inner;
method Client.Client 12-12: public Client(T inner)
method Client.read 14-15: @Override public String read(int at) throws IOException
enum Client.Mode 17-17: enum Mode
struct Client.Pair 18-18: record Pair(int a, int b)
interface Client.Visitor 19-19: interface Visitor
method Client.Visitor.visit 19-19: void visit(Client<?> client);
method Client.of 21-21: static Client<String> of()
import com.example.Wire decode
import com.example.model *
import java.util List
call Client.of -> Client
call Client.read -> decode
call Client.Client -> open
call Client.read -> [] trim
",
    );
}

const C: &str = r#"#include <stdio.h>
#include "list.h"
#define LIMIT 3
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct { int a; } pair_t;
struct list { struct list *next; };
enum mode { ONE, TWO };
typedef int (*callback)(int);
static int count = 0;
int list_size(const struct list *list);

static int *list_find(struct list *list, int at) /* slow */
{
    int local = MAX(at, 0);
    return list->ops.find(list, local) ? list_first(list) : NULL;
}
"#;

#[test]
fn c_is_read() {
    check(
        Language::C,
        C,
        "
macro LIMIT 3-3: #define LIMIT 3
macro MAX 4-4: #define MAX(a, b) ((a) > (b) ? (a) : (b))
struct pair_t 6-6: typedef struct
struct list 7-7: struct list
enum mode 8-8: enum mode
type_alias callback 9-9: typedef int (*callback)(int);
variable count 10-10: static int count = 0;
function list_size 11-11: int list_size(const struct list *list);
function list_find 13-17: static int *list_find(struct list *list, int at)
import <stdio.h> -
import list.h -
call list_find -> MAX
call list_find -> [list->ops] find
call list_find -> list_first
",
    );
}

const CPP: &str = r#"#include "client.hpp"
#include <vector>
namespace store {
template <typename T>
class Client : public Base {
public:
    explicit Client(T inner);
    ~Client() { close(); }
    std::vector<T> read(int at) const;
    int size_;
};

template <typename T>
std::vector<T> Client<T>::read(int at) const { return wire::decode<T>(at); }

using Name = std::string;
bool operator==(const Client<int>& a, const Client<int>& b) { return a.same(b); }
}
store::Client<int>* make() { return new store::Client<int>(1); }
"#;

#[test]
fn cpp_is_read() {
    check(
        Language::Cpp,
        CPP,
        "
module store 3-18: namespace store
class store::Client 5-11: class Client : public Base
method store::Client::Client 7-7: explicit Client(T inner);
method store::Client::~Client 8-8: ~Client()
method store::Client::read 9-9: std::vector<T> read(int at) const;
method store::Client::read 14-14: std::vector<T> Client<T>::read(int at) const
type_alias store::Name 16-16: using Name = std::string;
function store::operator== 17-17: bool operator==(const Client<int>& a, const Client<int>& b)
function make 19-19: store::Client<int>* make()
import <vector> -
import client.hpp -
call make -> [store] Client
call store::Client::~Client -> close
call store::Client::read -> [wire] decode
call store::operator== -> [a] same
",
    );
}

#[test]
fn manifests_name_what_lies_beside_them() {
    let of = |language, text: &str| index(language, text.as_bytes()).unwrap().package;
    let cargo = of(Language::CargoManifest, "[package]\nname = \"a-b\"\n");
    assert_eq!(cargo.as_deref(), Some("a_b"));
    let go = of(Language::GoManifest, "module example.com/a\n");
    assert_eq!(go.as_deref(), Some("example.com/a"));
}
