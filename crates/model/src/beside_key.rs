//! A value that accompanies a cache key.

use std::{
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// A value that accompanies a key without being part of it, because the rest of the key determines it: any two are equal.
#[derive(Debug, Clone, Default)]
pub struct IgnoredInKey<T>(pub Arc<T>);

impl<T> PartialEq for IgnoredInKey<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for IgnoredInKey<T> {}

impl<T> Hash for IgnoredInKey<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T> Deref for IgnoredInKey<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}
