//! Amounts of a token that addresses received and sent in the last days of its transfers, and the addresses' first transfers. Pure. The
//! same of groups of addresses: `flows/groups.rs`; what an address paid: `flows/cost.rs`.

pub mod cost;
pub mod groups;

use std::collections::HashMap;

use model::{
    address::Address,
    data::Data,
    rows::TransferRow,
    time::{DAY_MS, Time},
};

/// Spans of the flows, in days before the token's last transfer.
const FLOW_DAYS: [i64; 2] = [7, 30];

/// An address's transfers of a token. Amounts are whole tokens, over each of `FLOW_DAYS`; `None` if one of them is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Its first transfer of an amount above zero; `None` also where the token's first transfers are not here.
    pub first_seen: Option<Time>,
    pub received: [Option<f64>; 2],
    pub sent: [Option<f64>; 2],
}

/// Why the flows are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFlows {
    /// The token's decimals are unknown.
    Decimals,
    /// No transfer of the token has a time.
    Times,
    /// The transfers that are here do not reach back far enough.
    LeftOut {
        needed_since: Time,
        here_since: Time,
    },
    Canceled,
}

/// The flows of these addresses, and the time of the token's last transfer. `go_on` is called with (done, total), in transfers; returning
/// false cancels.
pub fn flows(
    dataset: &dyn Data,
    token: &Address,
    addresses: &[Address],
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<(Time, HashMap<Address, Flow>), NoFlows> {
    let unit = unit_of(dataset, token)?;
    let transfers = dataset.transfers();
    // Read twice: the spans end with the last.
    let (total, mut done) = (transfers.count(token) * 2, 0);
    let mut step = |rows: usize| {
        done += rows;
        go_on(done, total).then_some(()).ok_or(NoFlows::Canceled)
    };
    let (here_since, last) = ends(dataset, token, &mut step)?;
    let is_part = dataset.transfers_left_out(token) > 0;
    let needed_since = Time(last.0 - FLOW_DAYS[1] * DAY_MS);
    if is_part && here_since > needed_since {
        return Err(NoFlows::LeftOut {
            needed_since,
            here_since,
        });
    }
    let none = Flow {
        first_seen: None,
        received: [Some(0.0); 2],
        sent: [Some(0.0); 2],
    };
    let mut flows: HashMap<Address, Flow> =
        addresses.iter().map(|address| (*address, none)).collect();
    for chunk in transfers.chunks(token) {
        for transfer in &chunk {
            add(&mut flows, transfer, unit, last);
        }
        step(chunk.len())?;
    }
    if is_part {
        for flow in flows.values_mut() {
            flow.first_seen = None;
        }
    }
    Ok((last, flows))
}

/// Base units per whole token.
fn unit_of(dataset: &dyn Data, token: &Address) -> Result<f64, NoFlows> {
    dataset
        .token(token)
        .and_then(|token| i32::try_from(token.row.decimals?).ok())
        .map(|decimals| 10_f64.powi(decimals))
        .ok_or(NoFlows::Decimals)
}

/// Times of the token's first and last transfer.
fn ends(
    dataset: &dyn Data,
    token: &Address,
    step: &mut dyn FnMut(usize) -> Result<(), NoFlows>,
) -> Result<(Time, Time), NoFlows> {
    let (mut first, mut last) = (None, None);
    for chunk in dataset.transfers().chunks(token) {
        let times = || chunk.iter().filter_map(|transfer| transfer.timestamp);
        first = first.or(times().min());
        last = last.max(times().max());
        step(chunk.len())?;
    }
    first.zip(last).ok_or(NoFlows::Times)
}

/// Whether the transfer moved nothing: it failed, or anyone could send it in another's name because its amount is zero.
fn is_void(transfer: &TransferRow) -> bool {
    transfer.status == Some(0)
        || transfer.from_address == transfer.to_address
        || transfer.value.is_some_and(|value| value.0 == 0.0)
}

fn add(flows: &mut HashMap<Address, Flow>, transfer: &TransferRow, unit: f64, last: Time) {
    let TransferRow {
        from_address,
        to_address,
        value,
        ..
    } = transfer;
    let Some(time) = transfer.timestamp.filter(|_| !is_void(transfer)) else {
        return;
    };
    let whole = value.map(|value| value.0 / unit);
    let mut take = |address: &Option<Address>, of: fn(&mut Flow) -> &mut [Option<f64>; 2]| {
        let Some(flow) = address.as_ref().and_then(|address| flows.get_mut(address)) else {
            return;
        };
        flow.first_seen = Some(flow.first_seen.map_or(time, |first| first.min(time)));
        for (sum, days) in of(flow).iter_mut().zip(FLOW_DAYS) {
            if time.0 > last.0 - days * DAY_MS {
                *sum = sum.zip(whole).map(|(sum, whole)| sum + whole);
            }
        }
    };
    take(to_address, |flow| &mut flow.received);
    take(from_address, |flow| &mut flow.sent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::sample;

    #[test]
    fn what_came_and_went_is_of_the_days_before_the_last_transfer() {
        let dataset = sample::dataset(&[
            ("tokens", "token_address,symbol,name,chain,decimals\n0x1,ONE,One,eth,1\n0x2,TWO,Two,eth,"),
            (
                "transfers",
                "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index,status
                 0x1,2026-01-01T00:00:00Z,1,0x01,0xa,0xb,1000,1,1
                 0x1,2026-02-01T00:00:00Z,2,0x02,0xa,0xb,10,1,
                 0x1,2026-02-22T00:00:00Z,3,0x03,0xb,0xa,20,1,1
                 0x1,2026-02-22T00:00:01Z,4,0x04,0xb,0xc,30,1,1
                 0x1,2026-02-23T00:00:00Z,5,0x05,0xa,0xb,40,1,0
                 0x1,2026-02-24T00:00:00Z,6,0x06,0xb,0xb,50,1,1
                 0x1,2026-01-02T00:00:00Z,8,0x08,0xa,0xc,0,1,1
                 0x1,2026-02-03T00:00:00Z,9,0x09,0xd,0xe,,1,1
                 0x1,2026-02-27T00:00:00Z,9,0x0a,0xd,0xe,10,1,1
                 0x1,2026-03-01T00:00:00Z,7,0x07,0xa,0xb,60,1,1",
            ),
        ]);
        let [one, two] = [0, 1].map(|place| dataset.tokens()[place].row.token_address);
        let of = |digit: u8| {
            let mut bytes = [0; 20];
            bytes[19] = digit;
            Address(bytes)
        };
        let (last, flows) = flows(
            &dataset,
            &one,
            &[of(10), of(11), of(12), of(13), of(14)],
            &mut |_, _| true,
        )
        .expect("flows");
        assert_eq!(last.to_string().get(..10), Some("2026-03-01"));
        let day = |digit: u8| {
            flows[&of(digit)]
                .first_seen
                .map(|time| time.to_string()[..10].to_owned())
        };
        let sums = |digit: u8| (flows[&of(digit)].received, flows[&of(digit)].sent);
        let known = |sums: [f64; 2]| sums.map(Some);
        // Exactly seven days before the last transfer is no longer within: what happened a second later is.
        assert_eq!(sums(11), (known([6.0, 7.0]), known([3.0, 5.0])));
        assert_eq!(sums(10), (known([0.0, 2.0]), known([6.0, 7.0])));
        // What an unknown value adds to is unknown; a transfer of nothing is no sign of the address.
        assert_eq!(sums(14), ([Some(1.0), None], known([0.0, 0.0])));
        assert_eq!(
            (day(10).as_deref(), day(12).as_deref(), day(13).as_deref()),
            (Some("2026-01-01"), Some("2026-02-22"), Some("2026-02-03"))
        );
        assert_eq!(
            super::flows(&dataset, &one, &[of(10)], &mut |done, total| done < total),
            Err(NoFlows::Canceled)
        );
        assert_eq!(
            super::flows(&dataset, &two, &[of(10)], &mut |_, _| true),
            Err(NoFlows::Decimals)
        );
    }
}
