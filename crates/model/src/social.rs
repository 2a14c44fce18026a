//! How a dataset counts social metrics: the `[social]` section of `dataset.toml`.

use super::{rows::AccountRow, time::DAY_MS};

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

/// Hosts of social platforms: host, platform, the path before the account, and the role of an account there. The first row that fits
/// counts.
const HOSTS: &[(&str, &str, &str, &str)] = &[
    ("farcaster.xyz", "farcaster", "~/channel/", "channel"),
    ("warpcast.com", "farcaster", "~/channel/", "channel"),
    ("farcaster.xyz", "farcaster", "", "project"),
    ("warpcast.com", "farcaster", "", "project"),
    ("bsky.app", "bluesky", "profile/", "project"),
    ("snapshot.org", "snapshot", "#/", "space"),
    ("snapshot.box", "snapshot", "#/s:", "space"),
    ("t.me", "telegram", "", "project"),
    ("x.com", "x", "", "project"),
    ("twitter.com", "x", "", "project"),
    ("discord.gg", "discord", "", "project"),
    ("discord.com", "discord", "invite/", "project"),
    ("reddit.com", "reddit", "r/", "channel"),
    ("medium.com", "medium", "", "project"),
    ("youtube.com", "youtube", "", "project"),
    ("github.com", "github", "", "repo"),
];

/// Platform, account and role that the URL of a known host names.
fn named_by_url(text: &str) -> Option<(String, String, &'static str)> {
    let rest = text
        .split_once("://")
        .map_or(text, |(_, rest)| rest)
        .trim_start_matches("www.");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    HOSTS.iter().find_map(|(known, platform, before, role)| {
        let path = path.strip_prefix(before)?;
        // A repository has an owner and a name.
        let parts = if *role == "repo" { 2 } else { 1 };
        let names: Vec<&str> = path
            .split(['/', '?', '#'])
            .filter(|name| !name.is_empty())
            .take(parts)
            .collect();
        (host.eq_ignore_ascii_case(known) && names.len() == parts)
            .then(|| ((*platform).to_owned(), names.join("/"), *role))
    })
}

/// The account that a handle, an id or a URL names: in lower case, without `@`. A URL of an unknown host stays whole.
pub fn account_name(text: &str) -> String {
    let text = text.trim();
    let named = named_by_url(text).map_or_else(|| text.to_owned(), |(_, account, _)| account);
    named.trim_start_matches('@').to_lowercase()
}

/// The account as its platform names it: a URL becomes the platform, the account and its role, `twitter` is `x`, and a handle loses its
/// `@`. A URL of an unknown host stays as it is.
#[must_use]
pub fn own_account(row: AccountRow) -> AccountRow {
    let platform = match row.platform.trim().to_lowercase() {
        platform if platform == "twitter" => "x".to_owned(),
        platform => platform,
    };
    let text = row.account.trim();
    let (platform, account, role) = match named_by_url(text) {
        Some((platform, account, role)) => (platform, account, Some(role)),
        None => (platform, text.to_owned(), None),
    };
    AccountRow {
        platform,
        account: account.trim_start_matches('@').to_owned(),
        role: row.role.or_else(|| role.map(str::to_owned)),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;

    #[test]
    fn a_url_becomes_the_account_on_its_platform() {
        for (platform, account, expected) in [
            ("twitter", "@Uniswap", ("x", "Uniswap", None)),
            (
                "twitter",
                "https://twitter.com/Uniswap?lang=en",
                ("x", "Uniswap", Some("project")),
            ),
            (
                "web",
                "https://www.x.com/Uniswap/",
                ("x", "Uniswap", Some("project")),
            ),
            (
                "farcaster",
                "https://warpcast.com/~/channel/degen",
                ("farcaster", "degen", Some("channel")),
            ),
            (
                "farcaster",
                "https://farcaster.xyz/jacek",
                ("farcaster", "jacek", Some("project")),
            ),
            (
                "web",
                "https://github.com/Uniswap/v4-core/releases",
                ("github", "Uniswap/v4-core", Some("repo")),
            ),
            // An organization is no repository.
            (
                "web",
                "https://github.com/Uniswap",
                ("web", "https://github.com/Uniswap", None),
            ),
            (
                "web",
                "https://bsky.app/profile/a.bsky.social",
                ("bluesky", "a.bsky.social", Some("project")),
            ),
            (
                "web",
                "https://snapshot.org/#/uniswap",
                ("snapshot", "uniswap", Some("space")),
            ),
            (
                "web",
                "https://uniswap.org",
                ("web", "https://uniswap.org", None),
            ),
            ("telegram", "uniswap", ("telegram", "uniswap", None)),
        ] {
            let row = own_account(AccountRow {
                token_address: Address::coin("A"),
                platform: platform.to_owned(),
                account: account.to_owned(),
                account_id: None,
                role: None,
                followers: None,
                as_of: None,
                source: None,
            });
            let found = (&*row.platform, &*row.account, row.role.as_deref());
            assert_eq!(found, expected, "{platform} {account}");
        }
    }
}
