//! The transfers of one token, summed at the engine: the queries for each part of `TransferSums`, and how to read their results.

use std::{cell::RefCell, collections::HashMap, path::PathBuf};

use polars::prelude::DataFrame;

use super::{
    super::super::{
        EngineQuery, grouped,
        rows::copy_folder,
        sum::{
            Aggregation, counts, first, floats, rows_version, texts,
            transfers::{EDGES_MAX, Place, TransferQueries, UNKNOWN},
            whole,
        },
    },
    OnDemand, store, stored,
};
use crate::{
    in_place::RowsVersion,
    load::{remote::Pulse, task::TableLoadError},
};
use model::{
    address::Address,
    format::plural,
    time::Time,
    transfer_sums::{
        AddressFlow, Airdrop, EmptiedPool, FLOW_DAYS, Moment, SAMPLES_MAX, Sellers, TransferAnswer,
        TransferContext, TransferPart, TransferSample, TransferSums, WASH_STEP_MS, WASH_STEPS,
        WashEdge, WashEdges,
    },
};

/// Transfers of which the edges are asked for at once, and the shortest span, in halves of the longest window: four weeks.
const EDGE_ROWS: u64 = 5_000_000;
const EDGE_HALVES: i64 = 8;

/// Queries over the transfers of one token. Results are stored once the version of the rows was found to be the generation's.
struct Transfers<'q> {
    own: &'q OnDemand,
    asking: &'q EngineQuery<'q>,
    base: &'q str,
    pulse: &'q Pulse,
    fresh: RefCell<Vec<(PathBuf, DataFrame)>>,
}

impl OnDemand {
    pub(super) fn transfers(
        &self,
        asking: &EngineQuery<'_>,
        base: &str,
        part: &TransferPart,
        expected: RowsVersion,
        pulse: &Pulse,
    ) -> Result<TransferAnswer, TableLoadError> {
        let transfers = Transfers {
            own: self,
            asking,
            base,
            pulse,
            fresh: RefCell::default(),
        };
        let answer = match part {
            TransferPart::Sums(about) => transfers.sums(about, expected),
            TransferPart::Replayed(holders) => {
                transfers.replayed(holders).map(TransferAnswer::Replayed)
            }
            TransferPart::Among(members) => {
                let queries = transfers.queries();
                let rows = transfers.rows(&queries.among(members), SAMPLES_MAX as u64);
                rows.map(|rows| {
                    TransferAnswer::Among(rows.into_iter().map(|(_, row)| row).collect())
                })
            }
            TransferPart::Flows(addresses) => transfers.flows(addresses),
        }?;
        transfers.settle(expected)?;
        Ok(answer)
    }
}

impl Transfers<'_> {
    fn queries(&self) -> TransferQueries<'_> {
        static NOTHING: TransferContext = TransferContext::NONE;
        TransferQueries::new(self.base, &NOTHING)
    }

    /// The result of a query: stored, else from the engine.
    fn frame(&self, sql: &str, most: u64) -> Result<DataFrame, TableLoadError> {
        let place = copy_folder(self.asking.load.context, &[&self.own.hash, sql]);
        if let Some(stored) = place.as_deref().and_then(stored) {
            return Ok(stored);
        }
        self.asking.must_take(sql)?;
        let frame = self.asking.frame(sql, most, self.pulse)?;
        if let Some(place) = place {
            self.fresh.borrow_mut().push((place, frame.clone()));
        }
        Ok(frame)
    }

    /// Like `frame`, of a query with one row; decoded by `read`.
    fn one<T>(
        &self,
        sql: &str,
        read: impl Fn(&DataFrame) -> Option<T>,
    ) -> Result<T, TableLoadError> {
        read(&self.frame(sql, 1)?).ok_or_else(|| self.asking.unread())
    }

    /// Checks, after the last query, that the rows are still those of the snapshot, and stores the results.
    fn settle(self, expected: RowsVersion) -> Result<(), TableLoadError> {
        let fresh = self.fresh.take();
        if fresh.is_empty() {
            return Ok(());
        }
        let version = self.asking.sum(
            &Aggregation::RowsVersion("transfers"),
            self.base,
            self.pulse,
        )?;
        if rows_version(&version) != Some(expected) {
            return Err(TableLoadError::ChangedDuringRead);
        }
        store(
            &self.asking.load,
            fresh
                .into_iter()
                .filter(|(_, frame)| frame.width() > 0)
                .collect(),
        );
        Ok(())
    }

    fn sums(
        &self,
        about: &TransferContext,
        expected: RowsVersion,
    ) -> Result<TransferAnswer, TableLoadError> {
        let queries = TransferQueries::new(self.base, about);
        let (outline, mut sums, opening) = self.outline(&queries, about, expected)?;
        if sums.transfers == 0 {
            return Ok(TransferAnswer::Sums(Box::new(sums), WashEdges::default()));
        }
        let launch = sums
            .launch
            .map(|launch| (launch.time.0, launch.block.unwrap_or(UNKNOWN)));
        let main = self.frame(&queries.main(opening, launch), 1)?;
        let places = ["sales", "failures", "snipes", "creator_sales", "mints_late"]
            .map(|name| places(&main, name));
        let mut read = || {
            let (count, sum) = (
                |name: &str| first(&main, name),
                |name: &str| floats(&main, name)?.get(0),
            );
            (sums.buys, sums.sells, sums.tried, sums.failed) = (
                count("buys")?,
                count("sells")?,
                count("tried")?,
                count("failed")?,
            );
            (sums.sniped, sums.creator_sold) = (sum("sniped")?, sum("creator_sold")?);
            (sums.burned, sums.volume) = (sum("burned")?, sum("volume")?);
            (sums.receivers, sums.sellers.buyers) = (count("receivers")?, count("buyers")?);
            for (nth, digit) in sums.digits.iter_mut().enumerate() {
                *digit = count(&format!("digit{}", nth + 1))?;
            }
            Some(())
        };
        read().ok_or_else(|| self.asking.unread())?;
        let emptied = self.emptied(&queries, opening)?;
        let [sales, failures, snipes, creator_sales, mints_late] = places;
        let all = [&sales, &failures, &snipes, &creator_sales, &mints_late]
            .map(|places| places.clone().unwrap_or_default());
        let mut wanted: Vec<Place> = all
            .iter()
            .flatten()
            .copied()
            .chain(emptied.as_ref().map(|(place, _)| *place))
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let samples = if wanted.is_empty() {
            Vec::new()
        } else {
            self.rows(&queries.samples(&wanted), 10_000)?
        };
        let find = |place: &Place| {
            samples
                .iter()
                .find(|(at, _)| at == place)
                .map(|(_, row)| row.clone())
                .unwrap_or_default()
        };
        let [sales, failures, snipes, creator_sales, mints_late] =
            all.map(|places| places.iter().map(find).collect());
        (sums.sales, sums.failures, sums.snipes) = (sales, failures, snipes);
        (sums.creator_sales, sums.mints_late) = (creator_sales, mints_late);
        sums.worst_emptied = emptied.map(|(place, emptied)| EmptiedPool {
            row: find(&place),
            ..emptied
        });
        if let Some((launch, _)) = launch {
            let late = |frame: &DataFrame| {
                Some((
                    floats(frame, "minted_late")?.get(0)?,
                    floats(frame, "minted_most")?.get(0)?,
                    first(frame, "minted_to")?,
                ))
            };
            (sums.minted_late, sums.minted_most, sums.minted_to) =
                self.one(&queries.minted_late(launch), late)?;
        }
        sums.airdrop = self.airdrop(&queries)?;
        self.sellers(&queries, about, opening, &mut sums.sellers)?;
        let edges = self.edges(&queries, &outline)?;
        Ok(TransferAnswer::Sums(Box::new(sums), edges))
    }

    /// What the outline tells, and the place of the first transfer into a pool where the pools' events name no liquidity.
    fn outline(
        &self,
        queries: &TransferQueries<'_>,
        about: &TransferContext,
        expected: RowsVersion,
    ) -> Result<(Span, TransferSums, Option<Place>), TableLoadError> {
        let frame = self.frame(&queries.outline(), 1)?;
        // Their checksum is compared at the end.
        if first(&frame, "listed") != Some(expected.rows) {
            return Err(TableLoadError::ChangedDuringRead);
        }
        let read = || {
            let count = |name: &str| first(&frame, name);
            let [again, unread, ties, timed] = [
                count("again")?,
                count("unread")?,
                count("ties")?,
                count("timed")?,
            ];
            let odd = texts(&frame, "examples")?.get(0)?.to_owned();
            let time = |name: &str| whole(&frame, name)?.get(0);
            let span = Span {
                transfers: count("transfers")?,
                oldest: time("oldest")?,
                newest: time("newest")?,
                timed,
            };
            let sums = TransferSums {
                transfers: span.transfers,
                complete: count("complete")? > 0,
                statuses: count("statuses")? > 0,
                minted: floats(&frame, "minted")?.get(0)?,
                last: (timed > 0).then_some(Time(span.newest)),
                ..TransferSums::default()
            };
            Some((
                again,
                unread,
                odd,
                ties,
                span,
                sums,
                places(&frame, "opening")?,
            ))
        };
        let (again, unread, odd, ties, span, mut sums, opening) =
            read().ok_or_else(|| self.asking.unread())?;
        let refused = |why: String| {
            Err(TableLoadError::Unusable(format!(
                "{why}, or set `read = \"bring\"` in dataset.toml"
            )))
        };
        if unread > 0 {
            return refused(format!(
                "{} a notation that the server reads differently, such as {odd}; convert their columns with a `query`",
                plural(unread, "of its transfers has", "of its transfers have")
            ));
        }
        if again > 0 {
            return refused(format!(
                "{}, with the same hash and log index; set `final = true`, use a `query`",
                plural(
                    again,
                    "of its transfers is a duplicate",
                    "of its transfers are duplicates"
                )
            ));
        }
        if ties > 0 {
            sums.unfinished.push(format!(
                "{} transfers at the source share their time and block with others and have no log index, so their order is unknown",
                grouped(ties)
            ));
        }
        let opening = opening.first().copied().filter(|_| about.launch.is_none());
        sums.launch = about.launch.or_else(|| {
            opening.map(|place| Moment {
                time: Time(place.time),
                block: (place.block != UNKNOWN).then_some(place.block),
            })
        });
        Ok((span, sums, opening))
    }

    fn emptied(
        &self,
        queries: &TransferQueries<'_>,
        opening: Option<Place>,
    ) -> Result<Option<(Place, EmptiedPool)>, TableLoadError> {
        let Some(sql) = queries.emptied() else {
            return Ok(None);
        };
        let frame = self.frame(&sql, 1)?;
        if frame.height() == 0 {
            return Ok(None);
        }
        let read = || {
            let [time, block, log] = ["t", "k", "g"].map(|name| whole(&frame, name)?.get(0));
            let place = Place {
                time: time?,
                block: block?,
                log: log?,
            };
            Some((
                place,
                floats(&frame, "share")?.get(0)?,
                floats(&frame, "value")?.get(0)?,
            ))
        };
        let (place, share, value) = read().ok_or_else(|| self.asking.unread())?;
        let put_back = if place.time == UNKNOWN {
            0.0
        } else {
            self.one(&queries.put_back(opening, place), |frame| {
                floats(frame, "put_back")?.get(0)
            })?
        };
        Ok(Some((
            place,
            EmptiedPool {
                share,
                value,
                put_back,
                row: TransferSample::default(),
            },
        )))
    }

    fn airdrop(&self, queries: &TransferQueries<'_>) -> Result<Option<Airdrop>, TableLoadError> {
        let frame = self.frame(&queries.airdrop(), 1)?;
        if frame.height() == 0 {
            return Ok(None);
        }
        let sent = |frame: &DataFrame| {
            Some((
                address(texts(frame, "sender")?.get(0)?)?,
                floats(frame, "value")?.get(0)?,
            ))
        };
        let (count, ties) = first(&frame, "n")
            .zip(first(&frame, "ties"))
            .ok_or_else(|| self.asking.unread())?;
        let sent = if ties == 1 {
            sent(&frame)
        } else {
            Some(self.one(&queries.airdrop_of_ties(count), sent)?)
        };
        let (sender, value) = sent.ok_or_else(|| self.asking.unread())?;
        Ok(Some(Airdrop {
            sender,
            value,
            count,
        }))
    }

    fn sellers(
        &self,
        queries: &TransferQueries<'_>,
        about: &TransferContext,
        opening: Option<Place>,
        sellers: &mut Sellers,
    ) -> Result<(), TableLoadError> {
        // The check says nothing without a creator or an owner.
        if about.circle.is_empty() {
            return Ok(());
        }
        for of_circle in [false, true] {
            let frame = self.frame(&queries.sellers(opening, of_circle), SAMPLES_MAX as u64)?;
            if frame.height() == 0 {
                continue;
            }
            let read = || {
                let (who, sold) = (texts(&frame, "seller")?, floats(&frame, "sold")?);
                let all: Option<Vec<(Address, f64)>> = who
                    .iter()
                    .zip(sold.iter())
                    .map(|(who, sold)| Some((address(who?)?, sold?)))
                    .collect();
                Some((all?, first(&frame, "sellers")?))
            };
            let (all, count) = read().ok_or_else(|| self.asking.unread())?;
            if of_circle {
                (sellers.first, sellers.count) = (all, count);
            } else {
                sellers.outsider = all.first().copied();
                return Ok(());
            }
        }
        Ok(())
    }

    fn edges(
        &self,
        queries: &TransferQueries<'_>,
        span: &Span,
    ) -> Result<WashEdges, TableLoadError> {
        let mut flow = WashEdges::default();
        if span.timed == 0 {
            return Ok(flow);
        }
        let mut known: HashMap<Address, u32> = HashMap::new();
        for steps in span.parts() {
            let frame = self.frame(&queries.edges(steps), EDGES_MAX + 1)?;
            if frame.height() == 0 {
                continue;
            }
            if (flow.edges.len() + frame.height()) as u64 > EDGES_MAX {
                return Ok(WashEdges {
                    unfinished: true,
                    ..WashEdges::default()
                });
            }
            let mut read = || {
                let [senders, receivers] = ["f", "o"].map(|end| addresses(&frame, end));
                let [senders, receivers] = [senders?, receivers?];
                let (steps, volumes, counts) = (
                    whole(&frame, "step")?,
                    floats(&frame, "volume")?,
                    counts(&frame, "transfers")?,
                );
                for (row, (from, to)) in senders.into_iter().zip(receivers).enumerate() {
                    let [from, to] = [from, to].map(|address| {
                        *known.entry(address).or_insert_with(|| {
                            flow.traders.push(address);
                            flow.traders.len() as u32 - 1
                        })
                    });
                    let count = u32::try_from(counts.get(row)?).ok()?;
                    flow.edges.push(WashEdge {
                        step: i32::try_from(steps.get(row)?).ok()?,
                        from,
                        to,
                        count,
                        volume: volumes.get(row)?,
                    });
                }
                Some(())
            };
            read().ok_or_else(|| self.asking.unread())?;
        }
        flow.edges.sort_by_key(|edge| edge.step);
        Ok(flow)
    }

    fn rows(&self, sql: &str, most: u64) -> Result<Vec<(Place, TransferSample)>, TableLoadError> {
        let frame = self.frame(sql, most)?;
        if frame.height() == 0 {
            return Ok(Vec::new());
        }
        let read = || {
            let [times, blocks] = ["t", "k"].map(|name| whole(&frame, name));
            let (times, blocks, logs, values) = (
                times?,
                blocks?,
                whole(&frame, "g")?,
                floats(&frame, "value")?,
            );
            let (hashes, senders, receivers) = (
                texts(&frame, "hash")?,
                texts(&frame, "sender")?,
                texts(&frame, "receiver")?,
            );
            let row = |row: usize| {
                let known = |number: i64| (number != UNKNOWN).then_some(number);
                let place = Place {
                    time: times.get(row)?,
                    block: blocks.get(row)?,
                    log: logs.get(row)?,
                };
                let sample = TransferSample {
                    time: known(place.time).map(Time),
                    block: known(place.block),
                    hash: hashes.get(row).map(str::to_owned),
                    from: Address::parse(senders.get(row)?),
                    to: Address::parse(receivers.get(row)?),
                    value: values.get(row).filter(|value| value.is_finite()),
                };
                Some((place, sample))
            };
            (0..frame.height()).map(row).collect::<Option<Vec<_>>>()
        };
        read().ok_or_else(|| self.asking.unread())
    }

    fn replayed(&self, holders: &[Address]) -> Result<Vec<f64>, TableLoadError> {
        let frame = self.frame(&self.queries().replayed(holders), holders.len() as u64)?;
        let read = || {
            let mut known: HashMap<Address, f64> = HashMap::new();
            if frame.height() > 0 {
                for (holder, balance) in texts(&frame, "holder")?
                    .iter()
                    .zip(floats(&frame, "balance")?.iter())
                {
                    known.insert(address(holder?)?, balance?);
                }
            }
            Some(
                holders
                    .iter()
                    .map(|holder| known.get(holder).copied().unwrap_or_default())
                    .collect::<Vec<_>>(),
            )
        };
        read().ok_or_else(|| self.asking.unread())
    }

    fn flows(&self, addresses: &[Address]) -> Result<TransferAnswer, TableLoadError> {
        let queries = self.queries();
        let newest = self.one(&queries.newest(), |frame| {
            Some((first(frame, "timed")?, whole(frame, "newest")?.get(0)?))
        })?;
        let (1.., newest) = newest else {
            return Ok(TransferAnswer::Flows(None, Vec::new()));
        };
        let frame = self.frame(
            &queries.flows(addresses, newest, FLOW_DAYS),
            addresses.len() as u64,
        )?;
        let read = || {
            if frame.height() == 0 {
                return Some(Vec::new());
            }
            let (who, seen) = (
                texts(&frame, "wallet_address")?,
                whole(&frame, "first_seen")?,
            );
            let sum = |row: usize, name: &str| -> Option<Option<f64>> {
                let unknown = counts(&frame, &format!("{name}_unknown"))?.get(row)?;
                Some((unknown == 0).then_some(floats(&frame, name)?.get(row)?))
            };
            let flow = |row: usize| {
                Some(AddressFlow {
                    address: address(who.get(row)?)?,
                    first_seen: seen.get(row).map(Time),
                    received: [sum(row, "received0")?, sum(row, "received1")?],
                    sent: [sum(row, "sent0")?, sum(row, "sent1")?],
                })
            };
            (0..frame.height()).map(flow).collect::<Option<Vec<_>>>()
        };
        let flows = read().ok_or_else(|| self.asking.unread())?;
        Ok(TransferAnswer::Flows(Some(Time(newest)), flows))
    }
}

/// Number and times of a token's transfers.
struct Span {
    transfers: u64,
    timed: u64,
    oldest: i64,
    newest: i64,
}

impl Span {
    /// The steps of which edges are asked for at once: whole halves of the longest window.
    fn parts(&self) -> Vec<[i64; 2]> {
        let half = |time: i64| time.div_euclid(WASH_STEP_MS).div_euclid(WASH_STEPS);
        let (oldest, newest) = (half(self.oldest), half(self.newest));
        let parts = i64::try_from(self.transfers / EDGE_ROWS)
            .unwrap_or(i64::MAX)
            .saturating_add(1);
        let length = ((newest - oldest) / parts + 1).max(EDGE_HALVES);
        let starts = (oldest..=newest).step_by(usize::try_from(length).unwrap_or(usize::MAX));
        starts
            .map(|start| [start * WASH_STEPS, (start + length) * WASH_STEPS])
            .collect()
    }
}

/// An address of a result, in digits.
fn address(digits: &str) -> Option<Address> {
    Address::parse(&format!("0x{digits}"))
}

/// A column of addresses, of three numbers each.
fn addresses(frame: &DataFrame, end: &str) -> Option<Vec<Address>> {
    let [first, second, third] = [0, 1, 2].map(|nth| counts(frame, &format!("{end}{nth}")));
    let (first, second, third) = (first?, second?, third?);
    let address = |row: usize| {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&first.get(row)?.to_le_bytes());
        bytes[8..16].copy_from_slice(&second.get(row)?.to_le_bytes());
        bytes[16..].copy_from_slice(&third.get(row)?.to_le_bytes()[..4]);
        Some(Address(bytes))
    };
    (0..frame.height()).map(address).collect()
}

/// The places that `first` lists.
fn places(frame: &DataFrame, name: &str) -> Option<Vec<Place>> {
    let listed = texts(frame, name)?;
    let place = |text: &str| {
        let mut numbers = text.split(' ').map(|number| number.parse::<i64>().ok());
        Some(Place {
            time: numbers.next()??,
            block: numbers.next()??,
            log: numbers.next()??,
        })
    };
    listed
        .get(0)?
        .split(',')
        .filter(|text| !text.is_empty())
        .map(place)
        .collect()
}
