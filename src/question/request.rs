//! How a question is asked for: its fields are its parameters. `request!` makes the type, the table of parameters, the reader and the
//! canonical target from one list of fields. What a question answers is not known here.

use std::borrow::Cow;

use super::{
    filter::Filter,
    order::Order,
    parameter::{Arguments, Parameter, ParameterKind, encode},
};
use crate::{
    analysis::indicators::Indicator,
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

    /// The token it is about, which must be in the data.
    fn token(&self) -> Option<Address> {
        None
    }
}

/// A type that a parameter's value is read into and written from.
pub(super) trait ParameterValue: Sized {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self>;
    /// As the canonical request writes it; `None` where it is left out.
    fn written(&self) -> Option<Cow<'_, str>>;

    fn address(&self) -> Option<Address> {
        None
    }
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
                // A question may have no parameters.
                let _ = arguments;
                Ok(Self { $($field: $crate::question::request::ParameterValue::read(arguments, &$parameter)?,)* })
            }

            fn target(&self) -> String {
                $crate::question::request::target(Self::PATH, &[$(($parameter, $crate::question::request::ParameterValue::written(&self.$field)),)*])
            }

            fn token(&self) -> Option<$crate::dataset::address::Address> {
                None$(.or_else(|| $crate::question::request::ParameterValue::address(&self.$field)))*
            }
        }
    };
}
pub(super) use request;

/// The path with its placeholders filled in, and the query of what has a value, in the order of the table.
pub(super) fn target(path: &str, values: &[(Parameter, Option<Cow<'_, str>>)]) -> String {
    let mut target = String::with_capacity(128);
    let mut rest = path;
    // Searched byte by byte: paths are short, and this is done for every request.
    let find = |text: &str, sign: u8| text.bytes().position(|byte| byte == sign);
    while let Some(start) = find(rest, b'{')
        && let Some(length) = find(&rest[start..], b'}')
    {
        let name = &rest[start + 1..start + length];
        target.push_str(&rest[..start]);
        let value = values.iter().find(|(parameter, _)| parameter.name == name).and_then(|(_, value)| value.as_deref());
        target.push_str(&encode(value.unwrap_or_default()));
        rest = &rest[start + length + 1..];
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

/// What each type of field is read with, and how it is written.
macro_rules! values {
    ($($(#[$meta:meta])* $type:ty: |$arguments:ident, $parameter:ident| $read:expr, |$value:ident| $written:expr;)*) => {$(
        $(#[$meta])*
        impl ParameterValue for $type {
            fn read($arguments: &Arguments<'_>, $parameter: &Parameter) -> Result<Self> {
                $read
            }

            fn written(&self) -> Option<Cow<'_, str>> {
                let $value = self;
                $written
            }
        }
    )*};
}

impl ParameterValue for Address {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.address(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        Some(const_hex::encode_prefixed(self.0).into())
    }

    fn address(&self) -> Option<Address> {
        Some(*self)
    }
}

values! {
    /// An identifier in the path, in lower case.
    String: |arguments, parameter| Ok(arguments.identifier(parameter.name).to_lowercase()), |value| Some(value.into());
    u64: |arguments, parameter| match parameter.kind {
        // A few numbers are spelled as words; the table's words are digits.
        ParameterKind::Word { .. } => Ok(arguments.word(parameter.name)?.and_then(|word| word.parse().ok()).unwrap_or_default()),
        _ => arguments.integer(parameter.name),
    }, |value| Some(value.to_string().into());
    /// A flag that is not set is left out.
    bool: |arguments, parameter| arguments.flag(parameter.name), |value| value.then_some("true".into());
    /// A word that has a default.
    &'static str: |arguments, parameter| Ok(arguments.word(parameter.name)?.unwrap_or_default()), |value| Some((*value).into());
    Option<&'static str>: |arguments, parameter| arguments.word(parameter.name), |value| value.map(Cow::Borrowed);
    Option<String>: |arguments, parameter| arguments.text(parameter.name), |value| value.as_deref().map(Cow::Borrowed);
    Option<Chain>: |arguments, parameter| arguments.chain(parameter.name), |value| value.as_ref().map(|chain| chain.to_string().into());
    Option<Time>: |arguments, parameter| arguments.time(parameter.name), |value| value.map(|time| time.to_string().into());
    Vec<Address>: |arguments, parameter| arguments.addresses(parameter.name),
        |value| Some(value.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into());
    /// No conditions are left out.
    Filter: |arguments, parameter| arguments.conditions(parameter.name), |value| (!value.is_empty()).then(|| value.conditions().into());
    Vec<Order>: |arguments, parameter| arguments.orders(parameter.name),
        |value| (!value.is_empty()).then(|| value.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into());
    Vec<Indicator>: |arguments, parameter| arguments.indicators(parameter.name),
        |value| Some(value.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into());
    /// An empty list is left out.
    Vec<&'static str>: |arguments, parameter| arguments.words(parameter.name), |value| (!value.is_empty()).then(|| value.join(",").into());
}
