//! The functions of an expression that are no aggregates: their names and how many arguments each takes.
//!
//! Owns the list. All of them are pure: there is none of chance, of time or of anything outside the graph.

use sillok_core::error::Error;

use crate::meter::invalid;

macro_rules! functions {
    ($($variant:ident = $name:literal, $least:literal..=$most:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Function {
            $($variant,)*
        }

        impl Function {
            /// Its name in small letters.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The function of this name, whatever its case.
            pub(crate) fn find(name: &str, arguments: usize) -> Result<Self, Error> {
                let lower = name.to_ascii_lowercase();
                match lower.as_str() {
                    $($name => arity(name, $least, $most, arguments).map(|()| Self::$variant),)*
                    _ => Err(invalid(format!("there is no function `{name}` here"))),
                }
            }
        }
    };
}

fn arity(name: &str, least: usize, most: usize, got: usize) -> Result<(), Error> {
    if (least..=most).contains(&got) {
        return Ok(());
    }
    let wanted = if least == most {
        least.to_string()
    } else if most == usize::MAX {
        format!("{least} or more")
    } else {
        format!("{least} to {most}")
    };
    Err(invalid(format!(
        "`{name}` takes {wanted} arguments, and got {got}"
    )))
}

functions! {
    Id = "id", 1..=1;
    Labels = "labels", 1..=1;
    Kind = "type", 1..=1;
    Properties = "properties", 1..=1;
    Keys = "keys", 1..=1;
    StartNode = "startnode", 1..=1;
    EndNode = "endnode", 1..=1;
    Nodes = "nodes", 1..=1;
    Relationships = "relationships", 1..=1;
    Length = "length", 1..=1;
    Size = "size", 1..=1;
    Exists = "exists", 1..=1;
    IsEmpty = "isempty", 1..=1;
    Head = "head", 1..=1;
    Last = "last", 1..=1;
    Tail = "tail", 1..=1;
    Reverse = "reverse", 1..=1;
    Range = "range", 2..=3;
    Coalesce = "coalesce", 1..=64;
    ToText = "tostring", 1..=1;
    ToInteger = "tointeger", 1..=1;
    ToFloat = "tofloat", 1..=1;
    ToBoolean = "toboolean", 1..=1;
    ToLower = "tolower", 1..=1;
    ToUpper = "toupper", 1..=1;
    Trim = "trim", 1..=1;
    Left = "left", 2..=2;
    Right = "right", 2..=2;
    Substring = "substring", 2..=3;
    Replace = "replace", 3..=3;
    Split = "split", 2..=2;
    Abs = "abs", 1..=1;
    Ceil = "ceil", 1..=1;
    Floor = "floor", 1..=1;
    Round = "round", 1..=1;
    Sign = "sign", 1..=1;
    Sqrt = "sqrt", 1..=1;
}
