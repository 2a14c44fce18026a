//! Requests: a query's fields are its parameters. `request!` generates the type, the parameter table, the parser and the canonical
//! target from one list of fields. Answers are not known here.

use std::borrow::Cow;

use super::{
    order::Order,
    parameter::{Arguments, Parameter, ParameterKind, encode},
};
use analysis::indicators::Indicator;
use model::{address::Address, chain::Chain, error::Result, time::Time};
use table::filter::Filter;

/// A request with path and query.
pub trait Request: Clone + Send + Sync + Sized + 'static {
    /// The route; its placeholders are named as in `PARAMETERS`.
    const PATH: &'static str;
    const PARAMETERS: &'static [Parameter];

    fn parse(arguments: &Arguments<'_>) -> Result<Self>;

    /// The canonical request: the path in lower case, then every documented parameter with its value. Equal for equal queries; over HTTP
    /// it asks this same query.
    fn target(&self) -> String;

    /// The token of the request, which must be in the data.
    fn token(&self) -> Option<Address> {
        None
    }

    /// Whether the evidence behind the result is requested.
    fn explains(&self) -> bool {
        false
    }
}

/// A field type of a request: parses and writes a parameter value.
pub(super) trait ParameterValue: Sized {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self>;
    /// The canonical text; `None` when omitted.
    fn written(&self) -> Option<Cow<'_, str>>;

    fn address(&self) -> Option<Address> {
        None
    }

    fn is_set(&self) -> bool {
        false
    }
}

/// Generates a request type from its route and its fields, each with its `Parameter`.
macro_rules! request {
    ($(#[$meta:meta])* $name:ident at $path:literal { $($(#[$field_meta:meta])* $field:ident: $type:ty = $parameter:expr,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        impl $crate::queries::request::Request for $name {
            const PATH: &'static str = $path;
            const PARAMETERS: &'static [$crate::queries::parameter::Parameter] = &[$($parameter,)*];

            fn parse(arguments: &$crate::queries::parameter::Arguments<'_>) -> ::model::error::Result<Self> {
                // A query may have no parameters.
                let _ = arguments;
                Ok(Self { $($field: $crate::queries::request::ParameterValue::read(arguments, &$parameter)?,)* })
            }

            fn target(&self) -> String {
                $crate::queries::request::target(Self::PATH, &[$(($parameter, $crate::queries::request::ParameterValue::written(&self.$field)),)*])
            }

            fn token(&self) -> Option<::model::address::Address> {
                None$(.or_else(|| $crate::queries::request::ParameterValue::address(&self.$field)))*
            }

            fn explains(&self) -> bool {
                false$(|| $parameter.name == $crate::queries::parameter::EXPLAIN.name && $crate::queries::request::ParameterValue::is_set(&self.$field))*
            }
        }
    };
}
pub(super) use request;

/// The path with its placeholders filled in, and the query of the given values, in table order.
pub(super) fn target(path: &str, values: &[(Parameter, Option<Cow<'_, str>>)]) -> String {
    let mut target = String::with_capacity(128);
    let mut rest = path;
    // Byte search: paths are short, and this runs for every request.
    let find = |text: &str, sign: u8| text.bytes().position(|byte| byte == sign);
    while let Some(start) = find(rest, b'{')
        && let Some(length) = find(&rest[start..], b'}')
    {
        let name = &rest[start + 1..start + length];
        target.push_str(&rest[..start]);
        let value = values
            .iter()
            .find(|(parameter, _)| parameter.name == name)
            .and_then(|(_, value)| value.as_deref());
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

/// How each field type is parsed and written.
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

/// A flag; a false one is omitted.
impl ParameterValue for bool {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.flag(parameter.name)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.then_some("true".into())
    }

    fn is_set(&self) -> bool {
        *self
    }
}

values! {
    /// An identifier in the path, in lower case.
    String: |arguments, parameter| Ok(arguments.identifier(parameter.name).to_lowercase()), |value| Some(value.into());
    u64: |arguments, parameter| match parameter.kind {
        // Some numbers are declared as words; such words are digits.
        ParameterKind::Word { .. } => Ok(arguments.word(parameter.name)?.and_then(|word| word.parse().ok()).unwrap_or_default()),
        _ => arguments.integer(parameter.name),
    }, |value| Some(value.to_string().into());
    /// A word with a default.
    &'static str: |arguments, parameter| Ok(arguments.word(parameter.name)?.unwrap_or_default()), |value| Some((*value).into());
    Option<&'static str>: |arguments, parameter| arguments.word(parameter.name), |value| value.map(Cow::Borrowed);
    Option<String>: |arguments, parameter| arguments.text(parameter.name), |value| value.as_deref().map(Cow::Borrowed);
    Option<Address>: |arguments, parameter| arguments.optional_address(parameter.name), |value| value.map(|address| address.to_string().into());
    Option<Chain>: |arguments, parameter| arguments.chain(parameter.name), |value| value.as_ref().map(|chain| chain.to_string().into());
    Option<Time>: |arguments, parameter| arguments.time(parameter.name), |value| value.map(|time| time.to_string().into());
    Vec<Address>: |arguments, parameter| arguments.addresses(parameter.name),
        |value| Some(value.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into());
    /// An empty filter is omitted.
    Filter: |arguments, parameter| arguments.conditions(parameter.name), |value| (!value.is_empty()).then(|| value.conditions().into());
    Vec<Order>: |arguments, parameter| arguments.orders(parameter.name),
        |value| (!value.is_empty()).then(|| value.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into());
    Vec<Indicator>: |arguments, parameter| arguments.indicators(parameter.name),
        |value| Some(value.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into());
    /// An empty list is omitted.
    Vec<&'static str>: |arguments, parameter| arguments.words(parameter.name), |value| (!value.is_empty()).then(|| value.join(",").into());
}
