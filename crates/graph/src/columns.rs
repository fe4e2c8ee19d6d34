//! What is told of a projection's items from how they are written: their names, and whether rows count once.
//!
//! Owns no state and compiles nothing.

use grafeo_adapters::query::cypher::{Clause, Expression, Literal, ReturnItems};

use crate::compile_expr::aggregate_kind;
use crate::plan::AggregateKind;

/// Whether the rows behind a clause count each only once; nothing where the clause does not say.
pub(crate) fn is_once(clause: &Clause) -> Option<bool> {
    let items = match clause {
        Clause::With(with) if with.is_wildcard => return Some(with.distinct),
        Clause::With(with) => (with.distinct, with.items.as_slice()),
        Clause::Return(last) => match &last.items {
            ReturnItems::All => return Some(last.distinct),
            ReturnItems::Explicit(items) => (last.distinct, items.as_slice()),
        },
        _ => return None,
    };
    let (distinct, items) = items;
    let mut aggregates = false;
    for item in items {
        match &item.expression {
            Expression::FunctionCall { name, distinct, .. } if aggregate_kind(name).is_some() => {
                aggregates = true;
                let kind = aggregate_kind(name);
                let extreme = matches!(kind, Some(AggregateKind::Min | AggregateKind::Max));
                if !distinct && !extreme {
                    return Some(false);
                }
            }
            other if is_plain(other) => {}
            // An aggregate may lie in it.
            _ => return Some(false),
        }
    }
    Some(distinct || aggregates)
}

/// Whether it is short enough to tell that no aggregate lies in it.
fn is_plain(expression: &Expression) -> bool {
    match expression {
        Expression::Variable(_) | Expression::Literal(_) | Expression::Parameter(_) => true,
        Expression::PropertyAccess { base, .. } => matches!(**base, Expression::Variable(_)),
        Expression::FunctionCall { name, args, .. } => {
            let simple =
                |one: &Expression| !matches!(one, Expression::FunctionCall { .. }) && is_plain(one);
            aggregate_kind(name).is_none() && args.iter().all(simple)
        }
        _ => false,
    }
}

/// Two expressions that are written alike are alike in this.
pub(crate) fn as_written(expression: &Expression) -> String {
    format!("{expression:?}")
}

/// How a column without a name of its own is called, where its expression is short enough to tell.
pub(crate) fn column_name(expression: &Expression) -> Option<String> {
    Some(match expression {
        Expression::Variable(name) => name.clone(),
        Expression::Parameter(name) => format!("${name}"),
        Expression::PropertyAccess { base, property } => match base.as_ref() {
            Expression::Variable(base) => format!("{base}.{property}"),
            _ => return None,
        },
        Expression::Literal(Literal::Integer(value)) => value.to_string(),
        Expression::FunctionCall {
            name,
            distinct,
            args,
        } => {
            let args: Option<Vec<String>> = args
                .iter()
                .map(|one| match one {
                    Expression::FunctionCall { .. } => None,
                    other => column_name(other),
                })
                .collect();
            let distinct = if *distinct { "DISTINCT " } else { "" };
            format!("{name}({distinct}{})", args?.join(", "))
        }
        _ => return None,
    })
}
