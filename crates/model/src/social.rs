//! How a dataset counts social metrics: the `[social]` section of `dataset.toml`.

use super::time::DAY_MS;

/// Keys of `[social]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocialSettings {
    /// Length in milliseconds of the window before the newest post of the dataset, in which posts count; `None`: all posts count.
    pub window: Option<i64>,
    /// Which followers count as smart.
    pub smart: SmartRule,
    /// Age in milliseconds from which the texts and handles of fetched posts are emptied; `None`: they are kept.
    pub keep: Option<i64>,
}

crate::words! {
    /// Which people count as smart followers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum SmartRule {
        /// A quality score of at least 0.9.
        #[default]
        Score = "score",
        /// A verified wallet that holds a medium position of the token.
        Holder = "holder",
        /// The label `smart` on a wallet or on the handle.
        List = "list",
    }
}

/// Window of a dataset that is created for live posts.
pub const LIVE_WINDOW: i64 = 7 * DAY_MS;
