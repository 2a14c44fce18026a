//! How a question is asked for: its fields are its parameters. `request!` makes the type, the table of parameters, the reader and the
//! canonical target from one list of fields. What a question answers is not known here.

use std::borrow::Cow;

use super::{
    fields,
    parameter::{Arguments, Parameter, ParameterKind, encode},
    search::Order,
};
use crate::{
    dataset::{address::Address, chain::Chain, time::Time},
    error::Result,
};

/// What can be asked for by a path and a query.
pub trait Request: Clone + Send + Sync + Sized + 'static {
    /// The route, with placeholders named as in `PARAMETERS`.
    const PATH: &'static str;
    const PARAMETERS: &'static [Parameter];

    fn parse(arguments: &Arguments<'_>) -> Result<Self>;

    /// The canonical request: path in lower case, then every documented parameter with its value. Equal for equal questions; asking
    /// it over HTTP asks this question.
    fn target(&self) -> String;
}

/// A type that a parameter's value is read into and written from.
pub(super) trait Value: Sized {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self>;
    /// As the canonical request writes it; `None` where it is left out.
    fn written(&self) -> Option<Cow<'_, str>>;
}

/// A question's type from its route and its fields, each with its `Parameter`.
macro_rules! request {
    ($(#[$meta:meta])* $name:ident at $path:literal { $($(#[$field_meta:meta])* $field:ident: $type:ty = $parameter:expr,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        impl $crate::question::request::Request for $name {
            const PATH: &'static str = $path;
            const PARAMETERS: &'static [$crate::question::parameter::Parameter] = &[$($parameter,)*];

            fn parse(arguments: &$crate::question::parameter::Arguments<'_>) -> $crate::error::Result<Self> {
                Ok(Self { $($field: $crate::question::request::Value::read(arguments, &$parameter)?,)* })
            }

            fn target(&self) -> String {
                $crate::question::request::target(Self::PATH, &[$(($parameter, $crate::question::request::Value::written(&self.$field)),)*])
            }
        }
    };
}
pub(super) use request;

/// The path with its placeholders filled in, and the query of what has a value, in the order of the table.
pub(super) fn target(path: &str, values: &[(Parameter, Option<Cow<'_, str>>)]) -> String {
    let mut target = String::with_capacity(128);
    let mut rest = path;
    while let Some((before, (name, after))) = rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        target.push_str(before);
        let value = values.iter().find(|(parameter, _)| parameter.name == name).and_then(|(_, value)| value.as_deref());
        target.push_str(&encode(value.unwrap_or_default()));
        rest = after;
    }
    target.push_str(rest);
    let mut separator = '?';
    for (parameter, value) in values {
        if let Some(value) = value.as_deref().filter(|_| !parameter.kind.in_path()) {
            target.push(separator);
            target.push_str(parameter.name);
            target.push('=');
            target.push_str(&encode(value));
            separator = '&';
        }
    }
    target
}

impl Value for Address {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.address(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        Some(self.to_string().into())
    }
}

/// An identifier in the path, in lower case.
impl Value for String {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        Ok(arguments.identifier(parameter.name).to_lowercase())
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        Some(self.into())
    }
}

impl Value for u64 {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        match parameter.kind {
            // A few numbers are spelled as words; the table's words are digits.
            ParameterKind::Word { .. } => Ok(arguments.word(parameter.name)?.and_then(|word| word.parse().ok()).unwrap_or_default()),
            _ => arguments.integer(parameter.name),
        }
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        Some(self.to_string().into())
    }
}

/// A flag that is not set is left out.
impl Value for bool {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.flag(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.then_some("true".into())
    }
}

/// A word that has a default.
impl Value for &'static str {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        Ok(arguments.word(parameter.name)?.unwrap_or_default())
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        Some((*self).into())
    }
}

impl Value for Option<&'static str> {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.word(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.map(Cow::Borrowed)
    }
}

impl Value for Option<String> {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.text(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.as_deref().map(Cow::Borrowed)
    }
}

impl Value for Option<Chain> {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.chain(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.as_ref().map(|chain| chain.to_string().into())
    }
}

impl Value for Option<Time> {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.time(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.map(|time| time.to_string().into())
    }
}

impl Value for Option<Order> {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        Ok(arguments.word(parameter.name)?.map(Order::parse))
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.map(|order| order.to_string().into())
    }
}

/// An order that has a default.
impl Value for Order {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        Ok(Self::parse(arguments.word(parameter.name)?.unwrap_or_default()))
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        Some(self.to_string().into())
    }
}

/// Words of `fields`; none is left out.
impl Value for Vec<&'static str> {
    fn read(arguments: &Arguments<'_>, _: &Parameter) -> Result<Self> {
        fields::parse(arguments)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        (!self.is_empty()).then(|| self.join(",").into())
    }
}
