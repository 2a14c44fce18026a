//! A token's rows for the social metrics: who counts as smart, who holds what, and the metrics of its accounts.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use super::{SocialBound, SocialDetail, SocialGap, SocialMetric, SocialSource};
use crate::token::{SmartFollowerDistribution, Thresholds};
use model::{
    address::Address,
    data::Data,
    rows::{AccountRow, KolRow, PersonRow},
    social::{SmartRule, account_name},
};

/// The quality score from which the rule `score` counts a person as smart.
const SMART_SCORE: f64 = 0.9;
/// The label of the rule `list`.
const SMART_LABEL: &str = "smart";

/// A token's rows for the social metrics.
pub(crate) struct Social<'a> {
    pub(super) dataset: &'a dyn Data,
    pub(super) token: Address,
    accounts: &'a [AccountRow],
    kols: &'a [KolRow],
    pub(super) people: &'a [PersonRow],
    rule: SmartRule,
    /// Why the rule cannot be applied.
    pub(super) rule_gap: Option<SocialGap>,
    price: Option<f64>,
    thresholds: Thresholds,
    /// The token's balance in each wallet of a person or leader, by address; none if the wallet is no listed holder.
    balances: Vec<(Address, Option<f64>)>,
    /// The most that a holder who is not listed may have.
    unlisted: f64,
    has_holders: bool,
}

impl<'a> Social<'a> {
    pub(crate) fn new(
        dataset: &'a dyn Data,
        token: Address,
        price: Option<f64>,
        thresholds: Thresholds,
    ) -> Self {
        let (people, kols) = (dataset.people(), dataset.kols_of(&token));
        let holders = dataset.holding_of(&token);
        let wallets = people.iter().flat_map(|person| &person.wallets);
        let mut balances: Vec<(Address, Option<f64>)> = wallets
            .chain(kols.iter().map(|kol| &kol.kol_address))
            .map(|wallet| (*wallet, None))
            .collect();
        balances.sort_unstable_by_key(|(wallet, _)| *wallet);
        balances.dedup_by_key(|(wallet, _)| *wallet);
        if !balances.is_empty() {
            for (holder, balance) in holders.rows() {
                if let Ok(place) = balances.binary_search_by_key(&holder, |(wallet, _)| *wallet)
                    && let Some((_, listed)) = balances.get_mut(place)
                {
                    *listed = Some(listed.unwrap_or(0.0) + balance.unwrap_or(0.0).max(0.0));
                }
            }
        }
        let mut social = Self {
            dataset,
            token,
            accounts: dataset.accounts_of(&token),
            kols,
            people,
            rule: dataset.social().smart,
            rule_gap: None,
            price,
            thresholds,
            balances,
            unlisted: holders.others().most,
            has_holders: !holders.is_empty(),
        };
        social.rule_gap = social.rule_gap();
        social
    }

    fn rule_gap(&self) -> Option<SocialGap> {
        if self.people.is_empty() {
            return Some(SocialGap::NoPeople);
        }
        match self.rule {
            SmartRule::Score => {
                let scored = self.people.iter().any(|person| person.score.is_some());
                (!scored).then_some(SocialGap::NoScores)
            }
            SmartRule::Holder => self.holding_gap(),
            SmartRule::List => (!self.dataset.has("labels")).then_some(SocialGap::NoLabels),
        }
    }

    fn holding_gap(&self) -> Option<SocialGap> {
        match self.price {
            None => Some(SocialGap::NoPrice),
            Some(_) => (!self.has_holders).then_some(SocialGap::NoHolders),
        }
    }

    fn is_smart(&self, person: &PersonRow) -> bool {
        match self.rule {
            SmartRule::Score => person.score.is_some_and(|score| score >= SMART_SCORE),
            SmartRule::Holder => self.usd(&person.wallets).0 >= self.thresholds.medium_usd,
            SmartRule::List => person
                .wallets
                .iter()
                .any(|wallet| self.dataset.is_labelled(wallet, SMART_LABEL)),
        }
    }

    pub(super) fn is_smart_at(&self, place: usize) -> bool {
        self.people
            .get(place)
            .is_some_and(|person| self.is_smart(person))
    }

    pub(super) fn place(&self, platform: &str, id: &str) -> Option<usize> {
        let key = |person: &PersonRow| (&*person.platform, &*person.author_id).cmp(&(platform, id));
        self.people.binary_search_by(key).ok()
    }

    fn person(&self, platform: &str, id: &str) -> Option<&'a PersonRow> {
        self.people.get(self.place(platform, id)?)
    }

    pub(super) fn balance(&self, wallet: &Address) -> Option<f64> {
        let place = self
            .balances
            .binary_search_by_key(wallet, |(wallet, _)| *wallet);
        place.ok().and_then(|place| self.balances.get(place)?.1)
    }

    /// USD of the token in the wallets: what is listed, and the most it may be with the wallets that are not listed.
    fn usd<'w>(&self, wallets: impl IntoIterator<Item = &'w Address>) -> (f64, f64) {
        let (mut listed, mut most) = (0.0, 0.0);
        for wallet in wallets {
            match self.balance(wallet) {
                Some(balance) => listed += balance,
                None => most += self.unlisted,
            }
        }
        let price = self.price.unwrap_or(0.0);
        (listed * price, (listed + most) * price)
    }

    /// Followers of the token's accounts: the sum over platforms. On one platform, accounts share most of their followers, so the largest counts.
    pub(crate) fn followers(&self, detail: &mut SocialDetail) -> SocialMetric {
        let mut largest: BTreeMap<&str, i64> = BTreeMap::new();
        for account in self.accounts {
            let id = account.account_id.as_deref().unwrap_or(&account.account);
            let person = || self.person(&account.platform, id)?.followers;
            if let Some(followers) = account.followers.or_else(person) {
                let most = largest.entry(&account.platform).or_insert(followers);
                *most = followers.max(*most);
            }
        }
        detail.account_platforms = largest.keys().map(|name| (*name).to_owned()).collect();
        match largest.into_values().reduce(i64::saturating_add) {
            Some(sum) => SocialMetric::of(sum, SocialSource::Accounts),
            None if self.accounts.is_empty() => SocialMetric::none(SocialGap::NoAccounts),
            None => SocialMetric::none(SocialGap::NoFollowerCounts),
        }
    }

    /// Persons whom the rule counts and who follow an account of the token, each once.
    pub(crate) fn smart_followers(&self) -> SocialMetric {
        if self.accounts.is_empty() {
            return SocialMetric::none(SocialGap::NoAccounts);
        }
        let (mut all, mut is_whole) = (Vec::new(), true);
        for account in self.accounts {
            let platform = account.platform.as_str();
            let names = [Some(&account.account), account.account_id.as_ref()];
            let rows = names.into_iter().flatten().flat_map(|name| {
                equal(self.dataset.follows(), |row| {
                    (&*row.platform, &*row.account).cmp(&(platform, name))
                })
            });
            let mut listed: Vec<(&str, &str)> =
                rows.map(|row| (platform, &*row.follower_id)).collect();
            listed.sort_unstable();
            listed.dedup();
            let is_listed = |count| usize::try_from(count).is_ok_and(|count| count <= listed.len());
            is_whole &= account.followers.is_some_and(is_listed);
            all.append(&mut listed);
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return SocialMetric::none(SocialGap::NoFollows);
        }
        if let Some(gap) = self.rule_gap {
            return SocialMetric::none(gap);
        }
        let known: Vec<&PersonRow> = all
            .iter()
            .filter_map(|(platform, id)| self.person(platform, id))
            .collect();
        if known.is_empty() {
            return SocialMetric::none(SocialGap::NoPeople);
        }
        is_whole &= known.len() == all.len();
        let smart = known.into_iter().filter(|person| self.is_smart(person));
        let wallets: Vec<&[Address]> = smart.map(|person| &*person.wallets).collect();
        SocialMetric::count(persons(&wallets).len(), SocialSource::Follows)
            .bounded(SocialBound::AtLeast, !is_whole)
    }

    pub(super) fn is_own(&self, platform: &str, id: &str, handle: Option<&str>) -> bool {
        self.accounts.iter().any(|account| {
            let own = account_name(&account.account);
            account.platform == platform
                && (account.account_id.as_deref() == Some(id)
                    || own == account_name(id)
                    || handle.is_some_and(|handle| own == account_name(handle)))
        })
    }

    /// Smart persons and leaders by the USD value of the token in their wallets.
    pub(crate) fn distribution(&self) -> (SmartFollowerDistribution, SocialMetric) {
        let none = |gap| {
            (
                SmartFollowerDistribution::default(),
                SocialMetric::none(gap),
            )
        };
        if let Some(gap) = self.holding_gap() {
            return none(gap);
        }
        let smart = match self.rule_gap {
            Some(gap) if self.kols.is_empty() => return none(gap),
            Some(_) => Vec::new(),
            None => self.people.iter().filter(|p| self.is_smart(p)).collect(),
        };
        let leaders = self
            .kols
            .iter()
            .map(|kol| std::slice::from_ref(&kol.kol_address));
        let smart = smart.iter().map(|person| &*person.wallets);
        let wallets: Vec<&[Address]> = leaders.chain(smart).collect();
        let class = |usd: f64| {
            let thresholds = [
                f64::MIN_POSITIVE,
                self.thresholds.medium_usd,
                self.thresholds.whale_usd,
            ];
            thresholds.iter().filter(|least| usd >= **least).count()
        };
        let (mut counts, mut is_known) = ([0_i64; 4], [true; 4]);
        for person in persons(&wallets) {
            let (listed, most) = self.usd(&person);
            let (least, most) = (class(listed), class(most));
            counts[least] += 1;
            // A wallet that is not listed may lift the person into any class up to this one.
            if least < most {
                is_known[least..=most].fill(false);
            }
        }
        let counted = |class: usize| is_known[class].then_some(counts[class]);
        let found = SmartFollowerDistribution {
            whale_holders: counted(3),
            medium_holders: counted(2),
            small_holders: counted(1),
        };
        let is_unknown = found.small_holders.is_none();
        let gap = is_unknown.then_some(SocialGap::SmallHoldersUnknown);
        let metric = SocialMetric::from(SocialSource::Holders);
        (found, SocialMetric { gap, ..metric })
    }
}

/// The rows that are equal to a key, of rows in the order of the key.
pub(super) fn equal<T>(rows: &[T], order: impl Fn(&T) -> Ordering) -> &[T] {
    let start = rows.partition_point(|row| order(row).is_lt());
    let (_, rows) = rows.split_at(start);
    rows.split_at(rows.partition_point(|row| order(row).is_eq()))
        .0
}

/// Accounts as persons: accounts that share a wallet are one person. The wallets of each person; none for an account without wallets.
fn persons(accounts: &[&[Address]]) -> Vec<BTreeSet<Address>> {
    let mut parents: Vec<usize> = (0..accounts.len()).collect();
    let mut owners: HashMap<Address, usize> = HashMap::new();
    for (place, wallets) in accounts.iter().enumerate() {
        for wallet in *wallets {
            let owner = *owners.entry(*wallet).or_insert(place);
            let (a, b) = (root(&mut parents, owner), root(&mut parents, place));
            parents[b] = a;
        }
    }
    let mut found: BTreeMap<usize, BTreeSet<Address>> = BTreeMap::new();
    for (place, wallets) in accounts.iter().enumerate() {
        let person = found.entry(root(&mut parents, place)).or_default();
        person.extend(*wallets);
    }
    found.into_values().collect()
}

fn root(parents: &mut [usize], mut place: usize) -> usize {
    while parents[place] != place {
        // Halves the way for the next search.
        parents[place] = parents[parents[place]];
        place = parents[place];
    }
    place
}
