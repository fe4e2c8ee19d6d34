//! Expressions of the tree, as expressions of the plan.
//!
//! Owns names, parameters, functions and aggregates in expressions. What lies to the left of an
//! operator is taken in a loop: `1 + 1 + 1 + …` is long, not deep.

use std::sync::Arc;

use grafeo_adapters::query::cypher::{
    BinaryOp, Clause, Expression, Literal, MapProjectionEntry, MatchClause, Pattern, Query, UnaryOp,
};
use sillok_core::error::Error;

use crate::functions::Function;
use crate::meter::invalid;
use crate::plan::{Aggregate, AggregateKind, Case, Comprehension, End, Expr, Frame, Reduce};
use crate::regexes::Matcher;
use crate::scope::Compiler;
use crate::value::Value;

impl Compiler<'_> {
    pub(crate) fn expr(&mut self, expression: &Expression) -> Result<Expr, Error> {
        self.deeper(|this| this.expr_here(expression))
    }

    fn boxed(&mut self, expression: &Expression) -> Result<Box<Expr>, Error> {
        self.expr(expression).map(Box::new)
    }

    fn exprs(&mut self, expressions: &[Expression]) -> Result<Vec<Expr>, Error> {
        expressions.iter().map(|one| self.expr(one)).collect()
    }

    fn maybe(&mut self, expression: Option<&Expression>) -> Result<Option<Expr>, Error> {
        expression.map(|one| self.expr(one)).transpose()
    }

    fn expr_here(&mut self, expression: &Expression) -> Result<Expr, Error> {
        Ok(match expression {
            Expression::Literal(literal) => Expr::Constant(constant(literal)),
            Expression::Variable(name) => Expr::Slot(self.resolve(name)?),
            Expression::Parameter(name) => Expr::Constant(self.parameter(name)?),
            Expression::PropertyAccess { base, property } => {
                let number = self.graph.number(property);
                Expr::Property(self.boxed(base)?, Arc::from(property.as_str()), number)
            }
            Expression::IndexAccess { base, index } => {
                Expr::Index(self.boxed(base)?, self.boxed(index)?)
            }
            Expression::SliceAccess { base, start, end } => Expr::Slice(
                self.boxed(base)?,
                self.maybe(start.as_deref())?.map(Box::new),
                self.maybe(end.as_deref())?.map(Box::new),
            ),
            Expression::Binary { .. } => self.chain(expression)?,
            Expression::Unary { op, operand } => {
                if let (UnaryOp::IsNull | UnaryOp::IsNotNull, Expression::Binary { op, .. }) =
                    (op, operand.as_ref())
                    && compares(*op)
                {
                    return Err(chained());
                }
                let operand = self.boxed(operand)?;
                match op {
                    UnaryOp::Not => Expr::Not(operand),
                    UnaryOp::Neg => Expr::Negate(operand),
                    UnaryOp::Pos => *operand,
                    UnaryOp::IsNull => Expr::IsNull(operand, true),
                    UnaryOp::IsNotNull => Expr::IsNull(operand, false),
                }
            }
            Expression::FunctionCall {
                name,
                distinct,
                args,
            } => self.call(name, *distinct, args)?,
            other => self.built(other)?,
        })
    }

    /// What is put together out of others.
    fn built(&mut self, expression: &Expression) -> Result<Expr, Error> {
        Ok(match expression {
            Expression::List(items) => Expr::List(self.exprs(items)?),
            Expression::Map(items) => {
                let items: Result<Vec<_>, Error> = items
                    .iter()
                    .map(|(key, value)| Ok((Arc::from(key.as_str()), self.expr(value)?)))
                    .collect();
                Expr::Map(items?)
            }
            Expression::ListComprehension {
                variable,
                list,
                filter,
                projection,
            } => {
                let list = self.expr(list)?;
                self.over(variable, list, filter.as_deref(), projection.as_deref())
                    .map(|it| Expr::Comprehension(Box::new(it)))?
            }
            Expression::ListPredicate {
                kind,
                variable,
                list,
                predicate,
            } => {
                let list = self.expr(list)?;
                let it = self.over(variable, list, Some(predicate), None)?;
                Expr::Quantifier(kind.clone(), Box::new(it))
            }
            Expression::Reduce { .. } => self.reduce(expression)?,
            Expression::Case {
                input,
                whens,
                else_clause,
            } => Expr::Case(Box::new(Case {
                input: self.maybe(input.as_deref())?,
                whens: whens
                    .iter()
                    .map(|(when, then)| Ok((self.expr(when)?, self.expr(then)?)))
                    .collect::<Result<_, Error>>()?,
                otherwise: self.maybe(else_clause.as_deref())?,
            })),
            Expression::Exists(query) => Expr::Exists(Box::new(self.subquery(query, true)?)),
            Expression::CountSubquery(query) => Expr::Count(Box::new(self.subquery(query, false)?)),
            Expression::PatternComprehension {
                pattern,
                where_clause,
                projection,
            } => {
                let frame = self.collected(pattern, where_clause.as_deref(), projection)?;
                Expr::Collect(Box::new(frame))
            }
            Expression::MapProjection { base, entries } => self.projection(base, entries)?,
            _ => return Err(invalid("an expression of another kind was expected")),
        })
    }

    /// An operator with all that stands to the left of it.
    fn chain(&mut self, expression: &Expression) -> Result<Expr, Error> {
        let mut rights = Vec::new();
        let mut first = expression;
        while let Expression::Binary { left, op, right } = first {
            rights.push((*op, right.as_ref()));
            first = left;
        }
        let mut chain = self.expr(first)?;
        let mut rest: Vec<(BinaryOp, Expr)> = Vec::new();
        let mut before = None;
        for (op, right) in rights.into_iter().rev() {
            refuse_chained(before.replace(op), op)?;
            if op == BinaryOp::RegexMatch {
                if !rest.is_empty() {
                    chain = Expr::Chain(Box::new(chain), std::mem::take(&mut rest));
                }
                let regex = self.regex(right)?;
                chain = Expr::Matches(Box::new(chain), regex);
            } else {
                rest.push((op, self.expr(right)?));
            }
        }
        if rest.is_empty() {
            return Ok(chain);
        }
        Ok(Expr::Chain(Box::new(chain), rest))
    }

    /// A regular expression is made once, so it has to be known before anything runs.
    fn regex(&mut self, expression: &Expression) -> Result<Arc<Matcher>, Error> {
        let Expr::Constant(Value::Text(text)) = self.expr(expression)? else {
            return Err(invalid(
                "what stands behind =~ has to be a text or a parameter that is one",
            ));
        };
        self.regexes.of(text, self.is_over)
    }

    fn over(
        &mut self,
        variable: &str,
        list: Expr,
        filter: Option<&Expression>,
        result: Option<&Expression>,
    ) -> Result<Comprehension, Error> {
        self.with_name(variable, |this, slot| {
            Ok(Comprehension {
                slot,
                list,
                filter: this.maybe(filter)?,
                result: this.maybe(result)?,
            })
        })
    }

    fn reduce(&mut self, expression: &Expression) -> Result<Expr, Error> {
        let Expression::Reduce {
            accumulator,
            initial,
            variable,
            list,
            expression,
        } = expression
        else {
            return Err(invalid("a reduction was expected"));
        };
        let (first, list) = (self.expr(initial)?, self.expr(list)?);
        self.with_name(accumulator, |this, total| {
            this.with_name(variable, |this, slot| {
                Ok(Expr::Reduce(Box::new(Reduce {
                    total,
                    first,
                    slot,
                    list,
                    next: this.expr(expression)?,
                })))
            })
        })
    }

    fn projection(&mut self, base: &str, entries: &[MapProjectionEntry]) -> Result<Expr, Error> {
        let base = Expr::Slot(self.resolve(base)?);
        let mut all = false;
        let mut listed = Vec::new();
        for entry in entries {
            match entry {
                MapProjectionEntry::AllProperties => all = true,
                MapProjectionEntry::PropertySelector(name) => {
                    let number = self.graph.number(name);
                    listed.push((Arc::from(name.as_str()), number, None));
                }
                MapProjectionEntry::LiteralEntry(name, value) => {
                    listed.push((Arc::from(name.as_str()), None, Some(self.expr(value)?)));
                }
            }
        }
        Ok(Expr::Projection(Box::new(base), all, listed))
    }

    fn call(&mut self, name: &str, distinct: bool, args: &[Expression]) -> Result<Expr, Error> {
        if let Some(kind) = aggregate_kind(name) {
            return self.aggregate(name, kind, distinct, args);
        }
        if distinct {
            return Err(invalid(format!("`{name}` takes no DISTINCT")));
        }
        if name == "hasLabel"
            && let [of, Expression::Literal(Literal::String(label))] = args
        {
            let label = self.graph.number(label);
            return Ok(Expr::HasLabel(self.boxed(of)?, label));
        }
        let function = Function::find(name, args.len())?;
        Ok(Expr::Call(function, self.exprs(args)?))
    }

    fn aggregate(
        &mut self,
        name: &str,
        kind: AggregateKind,
        distinct: bool,
        args: &[Expression],
    ) -> Result<Expr, Error> {
        let Some(before) = self.aggregates.take() else {
            return Err(invalid(format!(
                "`{name}` has its place in RETURN, WITH and their ORDER BY, outside of another aggregate and of what is \
                 worked out for each element of a list"
            )));
        };
        let of = match args {
            [Expression::Variable(star)] if star == "*" && kind == AggregateKind::Count => None,
            [one] => Some(one),
            _ => return Err(invalid(format!("`{name}` takes one argument"))),
        };
        // What an aggregate reads is read of each row, so it is not noted as read of the group.
        let read = self.read.clone();
        let of = self.maybe(of)?;
        self.read = read;
        let slot = self.slot();
        let mut aggregates = before;
        aggregates.push(Aggregate {
            kind,
            distinct,
            of,
            slot,
        });
        self.aggregates = Some(aggregates);
        Ok(Expr::Slot(slot))
    }

    /// `EXISTS { … }`, `COUNT { … }` and a pattern that stands as a predicate.
    fn subquery(&mut self, query: &Query, exists: bool) -> Result<Frame, Error> {
        let names = self.names.clone();
        let aggregates = self.aggregates.take();
        let id = self.state();
        let stages = self.reading(&query.clauses, exists);
        self.names = names;
        self.aggregates = aggregates;
        let end = if exists { End::Exists } else { End::Count };
        Ok(Frame {
            id,
            stages: stages?,
            end,
        })
    }

    fn collected(
        &mut self,
        pattern: &Pattern,
        condition: Option<&Expression>,
        result: &Expression,
    ) -> Result<Frame, Error> {
        let names = self.names.clone();
        let aggregates = self.aggregates.take();
        let id = self.state();
        let clause = MatchClause {
            patterns: vec![pattern.clone()],
            span: None,
        };
        let made = self
            .matching(&clause, condition, false, false)
            .and_then(|stage| Ok((stage, self.expr(result)?)));
        self.names = names;
        self.aggregates = aggregates;
        let (stage, result) = made?;
        Ok(Frame {
            id,
            stages: vec![stage],
            end: End::Collect(result),
        })
    }

    /// The clauses of a subquery, which may only match and filter.
    fn reading(
        &mut self,
        clauses: &[Clause],
        once: bool,
    ) -> Result<Vec<crate::plan::Stage>, Error> {
        if let Some(other) = clauses.iter().find(|clause| {
            !matches!(
                clause,
                Clause::Match(_) | Clause::OptionalMatch(_) | Clause::Where(_)
            )
        }) {
            let name = crate::compile::clause_name(other);
            return Err(invalid(format!(
                "{name} has no place in a subquery: it takes MATCH, OPTIONAL MATCH and WHERE"
            )));
        }
        self.stages(clauses, once)
    }
}

/// Whether it is one of the comparisons that openCypher reads as one with what they are chained to.
fn compares(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    )
}

/// Refuses what the parser reads from left to right where openCypher does not: it takes `1 < a < 3` for `(1 < a) < 3`, which
/// is null for each `a`, and `a = b IN c` for `(a = b) IN c`. It keeps no brackets, so what has them is refused as well.
fn refuse_chained(before: Option<BinaryOp>, op: BinaryOp) -> Result<(), Error> {
    let binds = compares(op)
        || matches!(
            op,
            BinaryOp::In
                | BinaryOp::StartsWith
                | BinaryOp::EndsWith
                | BinaryOp::Contains
                | BinaryOp::RegexMatch
        );
    if binds && before.is_some_and(compares) {
        return Err(chained());
    }
    Ok(())
}

fn chained() -> Error {
    invalid(
        "a comparison stands to the left of another one, or of IN, IS NULL and their like: join two comparisons with AND, \
         and give one that is compared itself a name first, using WITH",
    )
}

fn constant(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Integer(value) => Value::Int(*value),
        Literal::Float(value) => Value::Float(*value),
        Literal::String(value) => Value::text(value.as_str()),
    }
}

pub(crate) fn aggregate_kind(name: &str) -> Option<AggregateKind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "count" => AggregateKind::Count,
        "sum" => AggregateKind::Sum,
        "avg" => AggregateKind::Avg,
        "min" => AggregateKind::Min,
        "max" => AggregateKind::Max,
        "collect" => AggregateKind::Collect,
        _ => return None,
    })
}
