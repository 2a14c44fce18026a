//! What addresses received and sent of a token in the last days of its transfers, and since when they are known. Pure; in one pass.

use std::collections::HashMap;

use model::{
    address::Address,
    data::Data,
    rows::TransferRow,
    time::{DAY_MS, Time},
};

/// The spans, in days before the token's last transfer.
pub const SPANS: [i64; 2] = [7, 30];

/// An address's part in the transfers of a token. Amounts are whole tokens, over each of `SPANS`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    /// Its first transfer.
    pub first_seen: Option<Time>,
    pub received: [f64; 2],
    pub sent: [f64; 2],
}

/// The flows of these addresses, and the time of the token's last transfer; `None` without any that has a time, or without decimals.
pub fn flows(dataset: &dyn Data, token: &Address, addresses: &[Address]) -> Option<(Time, HashMap<Address, Flow>)> {
    let decimals = dataset.token(token)?.row.decimals?;
    let unit = 10_f64.powi(i32::try_from(decimals).ok()?);
    let transfers = || dataset.transfers().chunks(token).flatten();
    let last = transfers().filter_map(|transfer| transfer.timestamp).max()?;
    let mut flows: HashMap<Address, Flow> = addresses.iter().map(|address| (*address, Flow::default())).collect();
    for transfer in transfers() {
        // A failed one moved nothing.
        let Some(time) = transfer.timestamp.filter(|_| transfer.status != Some(0)) else { continue };
        let TransferRow { from_address, to_address, value, .. } = transfer;
        if from_address == to_address {
            continue;
        }
        let whole = value.map_or(0.0, |value| value.0 / unit);
        let mut take = |address: Option<Address>, of: fn(&mut Flow) -> &mut [f64; 2]| {
            let Some(flow) = address.and_then(|address| flows.get_mut(&address)) else { return };
            flow.first_seen = Some(flow.first_seen.map_or(time, |first| first.min(time)));
            for (sum, days) in of(flow).iter_mut().zip(SPANS) {
                if time.0 > last.0 - days * DAY_MS {
                    *sum += whole;
                }
            }
        };
        take(to_address, |flow| &mut flow.received);
        take(from_address, |flow| &mut flow.sent);
    }
    Some((last, flows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::sample;

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
                 0x1,2026-03-01T00:00:00Z,7,0x07,0xa,0xb,60,1,1",
            ),
        ]);
        let [one, two] = [0, 1].map(|place| dataset.tokens()[place].row.token_address);
        let of = |digit: u8| {
            let mut bytes = [0; 20];
            bytes[19] = digit;
            Address(bytes)
        };
        let (last, flows) = flows(&dataset, &one, &[of(10), of(11), of(12), of(13)]).expect("flows");
        assert_eq!(last.to_string().get(..10), Some("2026-03-01"));
        let day = |digit: u8| flows[&of(digit)].first_seen.map(|time| time.to_string()[..10].to_owned());
        // Exactly seven days before the last transfer is no longer within: what happened a second later is.
        assert_eq!((flows[&of(11)].received, flows[&of(11)].sent), ([6.0, 7.0], [3.0, 5.0]));
        assert_eq!((flows[&of(10)].received, flows[&of(10)].sent), ([0.0, 2.0], [6.0, 7.0]));
        assert_eq!((day(10).as_deref(), day(12).as_deref(), day(13)), (Some("2026-01-01"), Some("2026-02-22"), None));
        assert_eq!(super::flows(&dataset, &two, &[of(10)]), None);
    }
}
