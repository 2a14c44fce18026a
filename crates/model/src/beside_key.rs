//! A value that goes along with a key of a cache.

use std::{
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// What goes along with a key and is no part of it, as it follows from the rest: any two are equal.
#[derive(Debug, Clone, Default)]
pub struct BesideKey<T>(pub Arc<T>);

impl<T> PartialEq for BesideKey<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for BesideKey<T> {}

impl<T> Hash for BesideKey<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T> Deref for BesideKey<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}
