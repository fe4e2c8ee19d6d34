//! Clauses of the tree, as stages of the plan. What writes, calls or loads is refused here, by its name.
//!
//! Owns the order of clauses, scopes between them and what a projection becomes. The list of what is
//! taken is closed: a clause that is not named here as reading has no stage that it could become.

use std::collections::BTreeSet;

use grafeo_adapters::query::cypher::{
    Clause, Expression, ProjectionItem, Query, ReturnItems, SortDirection, SortItem, Statement,
};
use serde_json::{Map as Json, Value as JsonValue};
use sillok_core::error::Error;

use crate::columns::{as_written, column_name, is_once};
use crate::graph::Graph;
use crate::meter::invalid;
use crate::plan::{End, Expr, Frame, Item, Plan, Project, Slot, Stage};
use crate::scope::{Compiler, Names};

/// Most queries that `UNION` joins.
const UNIONS_MAX: usize = 32;
/// Most clauses of one query: each is a level of the stack while a row goes through.
const CLAUSES_MAX: usize = 64;

pub(crate) fn compile(
    graph: &Graph,
    params: &Json<String, JsonValue>,
    is_over: &dyn Fn() -> bool,
    statement: &Statement,
) -> Result<Plan, Error> {
    let (queries, once) = match statement {
        Statement::Query(query) => (std::slice::from_ref(query), false),
        Statement::Union { queries, all } => (queries.as_slice(), !all),
        other => return Err(refused(statement_name(other))),
    };
    if queries.len() > UNIONS_MAX {
        let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let (limit, got) = (number(UNIONS_MAX), number(queries.len()));
        return Err(Error::too_large("number of queries in a UNION", limit, got));
    }
    let mut compiler = Compiler::new(graph, params, is_over);
    let mut columns: Option<Vec<String>> = None;
    let mut frames = Vec::new();
    for query in queries {
        compiler.names = Names::new();
        let (frame, names) = compiler.query(query)?;
        match &columns {
            Some(first) if *first != names => {
                return Err(invalid(
                    "the queries of a UNION return columns of other names",
                ));
            }
            _ => columns = Some(names),
        }
        frames.push(frame);
    }
    Ok(Plan {
        columns: columns.unwrap_or_default(),
        frames,
        once,
        slots: compiler.slots(),
        states: compiler.states(),
        regex_bytes: compiler.regexes.held(),
    })
}

fn refused(what: &str) -> Error {
    invalid(format!(
        "{what} is refused: a query reads this graph, and does nothing else"
    ))
}

fn statement_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) | Statement::Union { .. } => "a query",
        Statement::Create(_) => "CREATE",
        Statement::Merge(_) => "MERGE",
        Statement::Delete(_) => "DELETE",
        Statement::Set(_) => "SET",
        Statement::Remove(_) => "REMOVE",
        Statement::Explain(_) => "EXPLAIN",
        Statement::Profile(_) => "PROFILE",
        Statement::Schema(_) => "a change of the schema",
        Statement::ShowIndexes | Statement::ShowConstraints | Statement::ShowCurrentGraphType => {
            "SHOW"
        }
    }
}

/// How a clause is called in a refusal.
pub(crate) fn clause_name(clause: &Clause) -> &'static str {
    match clause {
        Clause::Match(_) => "MATCH",
        Clause::OptionalMatch(_) => "OPTIONAL MATCH",
        Clause::Where(_) => "WHERE",
        Clause::With(_) => "WITH",
        Clause::Return(_) => "RETURN",
        Clause::Unwind(_) => "UNWIND",
        Clause::OrderBy(_) => "ORDER BY",
        Clause::Skip(_) => "SKIP",
        Clause::Limit(_) => "LIMIT",
        Clause::Create(_) => "CREATE",
        Clause::Merge(_) => "MERGE",
        Clause::Delete(_) => "DELETE",
        Clause::Set(_) => "SET",
        Clause::Remove(_) => "REMOVE",
        Clause::Call(_) | Clause::CallSubquery { .. } => "CALL",
        Clause::ForEach(_) => "FOREACH",
        Clause::LoadCsv(_) => "LOAD CSV",
    }
}

/// What a projection takes from the clause itself.
struct Projected<'a> {
    distinct: bool,
    /// Nothing for `*`.
    items: Option<&'a [ProjectionItem]>,
    filter: Option<&'a Expression>,
    /// Whether each item has to have a name.
    named: bool,
}

/// `ORDER BY`, `SKIP` and `LIMIT` behind a projection.
#[derive(Default)]
struct Tail<'a> {
    order: &'a [SortItem],
    skip: Option<&'a Expression>,
    limit: Option<&'a Expression>,
}

impl<'a> Tail<'a> {
    /// What stands at the beginning of `clauses`, and how many of them it takes.
    fn read(clauses: &'a [Clause]) -> (Self, usize) {
        let mut tail = Self::default();
        for (taken, clause) in clauses.iter().enumerate() {
            match clause {
                Clause::OrderBy(by) if tail.order.is_empty() => tail.order = &by.items,
                Clause::Skip(count) if tail.skip.is_none() => tail.skip = Some(count),
                Clause::Limit(count) if tail.limit.is_none() => tail.limit = Some(count),
                _ => return (tail, taken),
            }
        }
        (tail, clauses.len())
    }
}

impl Compiler<'_> {
    fn query(&mut self, query: &Query) -> Result<(Frame, Vec<String>), Error> {
        if query.clauses.len() > CLAUSES_MAX {
            return Err(invalid(format!(
                "a query has at most {CLAUSES_MAX} clauses"
            )));
        }
        let id = self.state();
        let at = query
            .clauses
            .iter()
            .position(|clause| matches!(clause, Clause::Return(_)))
            .unwrap_or(query.clauses.len());
        let (before, rest) = query.clauses.split_at(at);
        let mut stages = self.stages_before(before, rest)?;
        let Some((Clause::Return(last), rest)) = rest.split_first() else {
            return Err(invalid("a query ends with RETURN"));
        };
        let (tail, taken) = Tail::read(rest);
        if let Some(other) = rest.get(taken) {
            return Err(match other {
                Clause::Match(_) | Clause::With(_) | Clause::Unwind(_) | Clause::Return(_) => {
                    invalid(format!("{} stands behind RETURN", clause_name(other)))
                }
                Clause::OrderBy(_) | Clause::Skip(_) | Clause::Limit(_) => {
                    invalid(format!("{} comes twice", clause_name(other)))
                }
                _ => refused(clause_name(other)),
            });
        }
        let projected = Projected {
            distinct: last.distinct,
            items: match &last.items {
                ReturnItems::All => None,
                ReturnItems::Explicit(items) => Some(items),
            },
            filter: None,
            named: false,
        };
        let (project, columns) = self.project(&projected, &tail)?;
        let slots = project.items.iter().map(|item| item.slot).collect();
        stages.push(Stage::Project(project));
        let end = End::Answer(slots);
        Ok((Frame { id, stages, end }, columns))
    }

    /// The stages of a subquery. `once`: how often a row is found makes no difference.
    pub(crate) fn stages(&mut self, clauses: &[Clause], once: bool) -> Result<Vec<Stage>, Error> {
        self.stages_where(clauses, |_| once)
    }

    fn stages_before(&mut self, before: &[Clause], rest: &[Clause]) -> Result<Vec<Stage>, Error> {
        self.stages_where(before, |at| {
            let behind = before[at..].iter().chain(rest);
            behind.into_iter().find_map(is_once).unwrap_or(false)
        })
    }

    fn stages_where(
        &mut self,
        clauses: &[Clause],
        once: impl Fn(usize) -> bool,
    ) -> Result<Vec<Stage>, Error> {
        let mut stages = Vec::new();
        let mut at = 0;
        while let Some(clause) = clauses.get(at) {
            at += 1;
            match clause {
                Clause::Match(of) | Clause::OptionalMatch(of) => {
                    let optional = matches!(clause, Clause::OptionalMatch(_));
                    let condition = match clauses.get(at) {
                        Some(Clause::Where(condition)) => {
                            at += 1;
                            Some(&condition.predicate)
                        }
                        _ => None,
                    };
                    stages.push(self.matching(of, condition, optional, once(at))?);
                }
                Clause::Where(condition) => {
                    stages.push(Stage::Filter(self.expr(&condition.predicate)?));
                }
                Clause::Unwind(unwind) => {
                    let list = self.expr(&unwind.expression)?;
                    let slot = self.define(&unwind.variable)?;
                    stages.push(Stage::Unwind { list, slot });
                }
                Clause::With(with) => {
                    let (tail, taken) = Tail::read(&clauses[at..]);
                    at += taken;
                    let projected = Projected {
                        distinct: with.distinct,
                        items: (!with.is_wildcard).then_some(with.items.as_slice()),
                        filter: with.where_clause.as_ref().map(|one| &one.predicate),
                        named: true,
                    };
                    stages.push(Stage::Project(self.project(&projected, &tail)?.0));
                }
                Clause::OrderBy(_) | Clause::Skip(_) | Clause::Limit(_) | Clause::Return(_) => {
                    let name = clause_name(clause);
                    return Err(invalid(format!("{name} stands where it has no meaning")));
                }
                other => return Err(refused(clause_name(other))),
            }
        }
        Ok(stages)
    }

    /// A slot for a name that is new.
    pub(crate) fn define(&mut self, name: &str) -> Result<Slot, Error> {
        if self.names.contains_key(name) {
            return Err(invalid(format!("`{name}` is defined already")));
        }
        let slot = self.slot();
        self.names.insert(name.to_owned(), slot);
        Ok(slot)
    }

    fn project(
        &mut self,
        projected: &Projected<'_>,
        tail: &Tail<'_>,
    ) -> Result<(Project, Vec<String>), Error> {
        let id = self.state();
        let sources = self.sources(projected)?;
        self.aggregates = Some(Vec::new());
        let items = self.items(&sources)?;
        let aggregated = |this: &Self| this.aggregates.as_ref().map_or(0, Vec::len);
        let grouped = aggregated(self) > 0;
        let outer = std::mem::take(&mut self.names);
        let new: Names = sources
            .iter()
            .zip(&items)
            .map(|((name, _), item)| (name.clone(), item.slot))
            .collect();
        if new.len() != items.len() {
            return Err(invalid(
                "two columns have one name: give one another with AS",
            ));
        }
        if !grouped && !projected.distinct {
            self.names = outer;
        }
        self.names.extend(new.clone());
        if !grouped {
            self.aggregates = None;
        }
        let written: Vec<String> = if tail.order.is_empty() {
            Vec::new()
        } else {
            sources.iter().map(|(_, one)| as_written(one)).collect()
        };
        let mut order = Vec::new();
        for by in tail.order {
            // A name is first that of a column, whatever else it was before.
            let named = match &by.expression {
                Expression::Variable(name) => new.get(name).copied(),
                _ => None,
            };
            let same = |one: &String| *one == as_written(&by.expression);
            let slot = named.or_else(|| Some(items[written.iter().position(same)?].slot));
            let expr = match slot {
                Some(slot) => Expr::Slot(slot),
                None => self.expr(&by.expression)?,
            };
            order.push((expr, by.direction == SortDirection::Desc));
        }
        let aggregates = self.aggregates.take().unwrap_or_default();
        let filter = projected.filter.map(|one| self.expr(one)).transpose()?;
        self.names = Names::new();
        let skip = tail.skip.map(|one| self.expr(one)).transpose()?;
        let limit = tail.limit.map(|one| self.expr(one)).transpose()?;
        self.names = new;
        let columns = sources.into_iter().map(|(name, _)| name).collect();
        let project = Project {
            id,
            items,
            grouped,
            aggregates,
            distinct: projected.distinct,
            filter,
            order,
            skip,
            limit,
        };
        Ok((project, columns))
    }

    /// The items of a projection with their names.
    fn sources(&self, projected: &Projected<'_>) -> Result<Vec<(String, Expression)>, Error> {
        let Some(items) = projected.items else {
            let all = self.names.keys();
            let all: Vec<_> = all
                .map(|name| (name.clone(), Expression::Variable(name.clone())))
                .collect();
            if all.is_empty() {
                return Err(invalid("there is nothing that * could stand for"));
            }
            return Ok(all);
        };
        let mut sources = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let name = match (&item.alias, &item.expression) {
                (Some(alias), _) => alias.clone(),
                (None, Expression::Variable(name)) => name.clone(),
                (None, _) if projected.named => {
                    return Err(invalid("what WITH hands on has to have a name: add AS"));
                }
                (None, other) => column_name(other).unwrap_or_else(|| format!("column {}", at + 1)),
            };
            sources.push((name, item.expression.clone()));
        }
        Ok(sources)
    }

    fn items(&mut self, sources: &[(String, Expression)]) -> Result<Vec<Item>, Error> {
        let mut items = Vec::new();
        let mut of_groups = BTreeSet::new();
        for (_, expression) in sources {
            let before = self.aggregates.as_ref().map_or(0, Vec::len);
            let (expr, read) = self.noting(|this| this.expr(expression))?;
            let of_group = self.aggregates.as_ref().map_or(0, Vec::len) > before;
            if of_group {
                of_groups.extend(read);
            }
            let slot = self.slot();
            items.push(Item {
                slot,
                expr,
                of_group,
            });
        }
        let keys: BTreeSet<Slot> = items
            .iter()
            .filter_map(|item| match item.expr {
                Expr::Slot(slot) if !item.of_group => Some(slot),
                _ => None,
            })
            .collect();
        if !of_groups.is_subset(&keys) {
            return Err(invalid(
                "beside an aggregate stands what its group has no one value of: \
                 project that by itself first, using WITH",
            ));
        }
        Ok(items)
    }
}
