//! The views, one file each, in the order of their keys. No view knows another.
