//! The integration tests, one binary; a module a topic.

mod dataset;

use {criterion as _, insta as _, portable_pty as _, ureq as _, vt100 as _};
