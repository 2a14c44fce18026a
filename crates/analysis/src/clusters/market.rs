//! A made market with planted owners, and traps that look like them. For tests.

use std::fmt::Write;

use model::time::Time;

/// A transfer: block, transaction, sender, recipient, whole tokens. A block takes 12 s.
pub(crate) type Step = (i64, u64, usize, usize, f64);

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Plan {
    /// Owners of every kind beside every trap.
    Owners,
    /// The traps alone.
    Traps,
    /// Everybody pays everybody.
    Payments,
}

#[derive(Debug, Default)]
pub(crate) struct Market {
    pub(crate) steps: Vec<Step>,
    /// Payer, recipient, block.
    pub(crate) funding: Vec<(usize, usize, i64)>,
    pub(crate) labels: Vec<(usize, &'static str)>,
    /// The owner of each address.
    pub(crate) owners: Vec<usize>,
    /// Addresses of planted owners.
    pub(crate) planted: Vec<Vec<usize>>,
    seed: u64,
    transactions: u64,
    marks: [usize; 3],
}

const ZERO: usize = 0;
const POOL: usize = 1;
pub(crate) const CREATOR: usize = 2;
const LAUNCH: i64 = 10_000;
const DAY: i64 = 7_200;
pub(crate) const SUPPLY: f64 = 1e9;

impl Market {
    pub(crate) fn new(seed: u64, plan: Plan) -> Self {
        let mut market = Self {
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            ..Self::default()
        };
        for _ in 0..3 {
            market.address();
        }
        market.labels.push((POOL, "liquidity_pool"));
        market.marks = [0; 3].map(|_| market.address());
        market.labels.push((market.marks[0], "exchange"));
        market.labels.push((market.marks[1], "binance"));
        market.step(LAUNCH - 100, ZERO, CREATOR, SUPPLY);
        market.step(LAUNCH, CREATOR, POOL, 0.5 * SUPPLY);
        let people = market.retail(600 + (seed % 5) as usize * 200);
        if plan == Plan::Payments {
            market.payments(&people);
        }
        market.traps(&people);
        if plan == Plan::Owners {
            for kind in 0..8 {
                let size = 2.0 * 100_f64.powf(market.random());
                market.owner(kind, size as usize, &people);
            }
        }
        market.steps.sort_by_key(|step| (step.0, step.1));
        market
    }

    fn random(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.random() * end as f64) as usize
    }

    fn later(&mut self, days: f64) -> i64 {
        (self.random() * days * DAY as f64) as i64
    }

    fn amount(&mut self) -> f64 {
        (2_000.0 * 200_f64.powf(self.random()) * 1e6).round() / 1e6
    }

    fn address(&mut self) -> usize {
        self.owners.push(self.owners.len());
        self.owners.len() - 1
    }

    fn step(&mut self, block: i64, from: usize, to: usize, value: f64) {
        self.transactions += 1;
        self.steps.push((block, self.transactions, from, to, value));
    }

    /// Strangers, who mostly come from exchanges, one of them without a label.
    fn person(&mut self) -> usize {
        let person = self.address();
        let block = LAUNCH + self.later(90.0) - 60 * DAY;
        let choice = self.random();
        let payer = if choice < 0.6 {
            self.marks[self.below(2)]
        } else if choice < 0.8 {
            self.marks[2]
        } else {
            self.address()
        };
        self.funding.push((payer, person, block));
        person
    }

    fn retail(&mut self, count: usize) -> Vec<usize> {
        let people: Vec<usize> = (0..count).map(|_| self.person()).collect();
        for (place, person) in people.iter().enumerate() {
            let sniper = place < 12;
            let block = LAUNCH
                + if sniper {
                    1 + self.below(3) as i64
                } else {
                    10 + self.later(30.0)
                };
            let value = if place < 5 {
                0.01 * SUPPLY
            } else {
                self.amount()
            };
            self.step(block, POOL, *person, value);
            if self.random() < 0.4 {
                let (at, part) = (block + 1 + self.later(10.0), self.random());
                self.step(at, *person, POOL, value * part);
            }
            // Some sell to a stranger.
            if self.random() < 0.06 {
                let (other, at) = (people[self.below(count)], block + 1 + self.later(5.0));
                let part = 0.05 + 0.4 * self.random();
                if other != *person {
                    self.step(at, *person, other, value * part);
                }
            }
        }
        people
    }

    fn traps(&mut self, people: &[usize]) {
        // Deposit addresses of the exchanges, and withdrawals to strangers.
        for nth in 0..150 {
            let (exchange, user) = (self.marks[nth % 3], people[self.below(people.len())]);
            let (deposit, at, value) = (
                self.address(),
                LAUNCH + DAY + self.later(25.0),
                self.amount() / 50.0,
            );
            self.step(at, user, deposit, value);
            self.step(at + 20, deposit, exchange, value);
            let (fresh, at, value) = (self.person(), at + self.later(4.0), self.amount() / 50.0);
            self.step(at + 30, exchange, fresh, value);
        }
        // An airdrop by a distributor, and a smaller one by the creator.
        let distributor = self.address();
        self.step(LAUNCH + 5 * DAY, CREATOR, distributor, 0.05 * SUPPLY);
        for (source, count) in [(distributor, 250), (CREATOR, 60)] {
            for nth in 0..count {
                let person = if nth % 3 == 0 {
                    people[self.below(people.len())]
                } else {
                    self.person()
                };
                let at = LAUNCH + 5 * DAY + 5 + nth / 50;
                self.step(at, source, person, 100_000.0);
                if self.random() < 0.3 {
                    let at = at + 10 + self.later(3.0);
                    self.step(at, person, POOL, 100_000.0);
                }
            }
        }
        // Dust to everybody.
        let attacker = self.person();
        self.step(LAUNCH + 8 * DAY, POOL, attacker, 5_000.0);
        for (nth, person) in people.iter().enumerate() {
            let at = LAUNCH + 9 * DAY + (nth / 100) as i64;
            self.step(at, attacker, *person, 0.001);
        }
        for nth in 0..400 {
            let fresh = self.person();
            self.step(LAUNCH + 9 * DAY + 50 + nth / 100, attacker, fresh, 0.001);
        }
        // A mixer of equal amounts.
        let mixer = self.address();
        for _ in 0..60 {
            let (user, fresh) = (people[self.below(people.len())], self.address());
            let at = LAUNCH + 10 * DAY + self.later(10.0);
            self.step(at, user, mixer, 5_000.0);
            let at = at + 100 + self.later(10.0);
            self.step(at, mixer, fresh, 5_000.0);
        }
    }

    fn payments(&mut self, people: &[usize]) {
        let mut known = people.to_vec();
        for _ in 0..people.len() * 20 {
            let from = known[self.below(known.len())];
            let to = if self.random() < 0.1 {
                let fresh = self.person();
                known.push(fresh);
                fresh
            } else {
                known[self.below(known.len())]
            };
            let (at, value) = (LAUNCH + 10 + self.later(40.0), self.amount() / 10.0);
            if from != to {
                self.step(at, from, to, value);
            }
        }
    }

    fn owner(&mut self, kind: usize, size: usize, people: &[usize]) {
        let size = size.max([2, 4, 2, 3, 3, 4, 4, 2][kind]);
        let members: Vec<usize> = (0..size).map(|_| self.address()).collect();
        let payer = self.address();
        let day = LAUNCH + DAY + self.later(20.0);
        let by_exchange = |market: &mut Self, members: &[usize]| {
            for member in members {
                let (mark, at) = (
                    market.marks[market.below(3)],
                    LAUNCH - 60 * DAY + market.later(90.0),
                );
                market.funding.push((mark, *member, at));
            }
        };
        match kind {
            // Paid for in a few hours, bought over days.
            0 => {
                for member in &members {
                    let at = day - DAY + self.later(0.4);
                    self.funding.push((payer, *member, at));
                    let (at, value) = (day + self.later(6.0), self.amount());
                    self.step(at, POOL, *member, value);
                }
            }
            // One transaction, or one block with falling amounts.
            1 => {
                by_exchange(self, &members);
                let (one, first) = (self.random() < 0.5, self.amount());
                for (nth, member) in members.iter().enumerate() {
                    self.step(LAUNCH + 2, POOL, *member, first * 0.97_f64.powi(nth as i32));
                    if one && nth > 0 {
                        self.transactions -= 1;
                        let at = self.steps.len() - 1;
                        self.steps[at].1 = self.transactions;
                    }
                }
                self.transactions += 1;
            }
            // One buys and splits.
            2 => {
                by_exchange(self, &members[..1]);
                let value = 50_000.0 * size as f64;
                self.step(day, POOL, members[0], value);
                for member in &members[1..] {
                    let (at, part) = (day + 10 + self.later(2.0), 0.5 + self.random());
                    self.step(at, members[0], *member, value / size as f64 * part * 0.6);
                }
                if size == 2 {
                    self.step(day + 3 * DAY, members[0], members[1], value * 0.35);
                }
            }
            // Equal amounts one after the other.
            3 => {
                by_exchange(self, &members);
                let value = self.amount();
                for (nth, member) in members.iter().enumerate() {
                    self.step(day + nth as i64 * 20, POOL, *member, value);
                }
            }
            // Paid for over weeks, bought in minutes.
            4 => {
                for member in &members {
                    let at = day - 30 * DAY + self.later(25.0);
                    self.funding.push((payer, *member, at));
                    let (at, value) = (day + self.later(0.006), self.amount());
                    self.step(at, POOL, *member, value);
                }
            }
            // Bought one by one, sold from one purse.
            5 => {
                by_exchange(self, &members);
                for member in &members[1..] {
                    let (at, value) = (day + self.later(3.0), self.amount());
                    self.step(at, POOL, *member, value);
                    let at = at + 1 + self.later(2.0);
                    self.step(at, *member, members[0], value * 0.95);
                }
                self.step(day + 6 * DAY, members[0], POOL, 1_000.0);
            }
            // Half paid for in one rush, the others seeded by one of them.
            6 => {
                let (paid, seeded) = members.split_at(size / 2);
                for member in paid {
                    let at = day - 2 * DAY + self.later(0.1);
                    self.funding.push((payer, *member, at));
                    let (at, value) = (day + self.later(2.0), self.amount());
                    self.step(at, POOL, *member, value);
                }
                let value = 20_000.0 * size as f64;
                self.step(day, POOL, paid[0], value);
                for member in seeded {
                    let at = day + 3 * DAY + self.later(1.0);
                    self.step(at, paid[0], *member, value / size as f64);
                }
            }
            // Insiders whom one payer funds in one block, with tokens bought at any time.
            _ => {
                for member in &members {
                    self.funding.push((payer, *member, day - 100));
                    let (at, value) = (day + self.later(9.0), self.amount());
                    self.step(at, POOL, *member, value);
                }
            }
        }
        // Each has the habits of others too.
        for member in &members {
            if self.random() < 0.1 {
                let (other, at) = (
                    people[self.below(people.len())],
                    day + 7 * DAY + self.later(5.0),
                );
                self.step(at, *member, other, 500.0);
            }
        }
        let owner = self.owners.len();
        for member in &members {
            self.owners[*member] = owner;
        }
        self.planted.push(members);
    }

    /// The tables as CSV: `tokens`, `transfers`, `funding`, `labels`.
    pub(crate) fn tables(&self) -> [(&'static str, String); 4] {
        let hex = |address: usize| {
            if address == ZERO {
                0
            } else {
                0xabc0_0000 + address
            }
        };
        let time = |block: i64| Time((1_700_000_000 + block * 12) * 1_000).to_string();
        let mut transfers =
            "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index".to_owned();
        for (nth, (block, transaction, from, to, value)) in self.steps.iter().enumerate() {
            let _ = write!(
                transfers,
                "\n0x1,{},{block},0x{transaction:064x},0x{:x},0x{:x},{:.0},{nth}",
                time(*block),
                hex(*from),
                hex(*to),
                value * 1e6
            );
        }
        let mut funding = "from_address,to_address,timestamp".to_owned();
        for (from, to, block) in &self.funding {
            let _ = write!(
                funding,
                "\n0x{:x},0x{:x},{}",
                hex(*from),
                hex(*to),
                time(*block)
            );
        }
        let mut labels = "address,label".to_owned();
        for (address, label) in &self.labels {
            let _ = write!(labels, "\n0x{:x},{label}", hex(*address));
        }
        let tokens = format!(
            "token_address,symbol,name,chain,decimals,total_supply\n0x1,ONE,One,eth,6,{SUPPLY}"
        );
        [
            ("tokens", tokens),
            ("transfers", transfers),
            ("funding", funding),
            ("labels", labels),
        ]
    }

    /// The number of the address, from its last bytes.
    pub(crate) fn number(bytes: [u8; 20]) -> Option<usize> {
        let low = bytes
            .last_chunk::<4>()
            .map(|low| u32::from_be_bytes(*low))?;
        low.checked_sub(0xabc0_0000).map(|number| number as usize)
    }

    /// Pairs found, right ones among them, and all right ones.
    pub(crate) fn pairs(&self, found: &[Vec<usize>]) -> [usize; 3] {
        let of = |count: usize| count * count.saturating_sub(1) / 2;
        let mut sums = [0; 3];
        for cluster in found {
            let mut owners: Vec<usize> = cluster
                .iter()
                .map(|address| self.owners[*address])
                .collect();
            owners.sort_unstable();
            sums[0] += of(cluster.len());
            sums[1] += owners
                .chunk_by(|a, b| a == b)
                .map(|same| of(same.len()))
                .sum::<usize>();
        }
        sums[2] = self.planted.iter().map(|members| of(members.len())).sum();
        sums
    }
}
