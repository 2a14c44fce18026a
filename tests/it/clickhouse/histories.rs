//! Random histories of tokens: their transfers, as cells of a file and as values of an engine's table, and the tables beside them.

use std::fmt::Write as _;

use crate::random::Random;

/// Random tokens of a dataset.
const TOKENS: usize = 10;
pub(super) const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
pub(super) const ZERO: &str = "0x0000000000000000000000000000000000000000";

/// The files of a dataset, row by row, and the engine's values.
#[derive(Default)]
pub(super) struct Files {
    pub(super) tokens: String,
    pub(super) contracts: String,
    pub(super) labels: String,
    pub(super) funding: String,
    pub(super) pools: String,
    pub(super) pool_events: String,
    pub(super) holders: String,
    pub(super) dexes: String,
    pub(super) transfers: String,
    pub(super) values: Vec<String>,
}

/// A history being written.
struct History<'a> {
    random: &'a mut Random,
    files: &'a mut Files,
    token: String,
    /// Seconds and block of the next transfer.
    time: u64,
    block: u64,
    log: u64,
    count: u64,
    /// Shares of rows without a time, a block, a status, an end or an amount; and of those that failed.
    gaps: f64,
    statuses: bool,
    failing: f64,
    decimals: u32,
}

impl History<'_> {
    fn wallet(&self, nth: usize) -> String {
        format!("0x{}{:06x}", &self.token[2..36], nth)
    }

    fn amount(&mut self) -> u128 {
        let unit = 10_u128.pow(self.decimals);
        match self.random.below(5) {
            0 => unit * self.random.whole(1, 20) as u128 * 10_u128.pow(self.random.below(4) as u32),
            1 => u128::from(self.random.word() % 1_000_000),
            _ => {
                (self.random.scale(1e-3, 1e5) * unit as f64) as u128
                    + u128::from(self.random.word() % 1_000)
            }
        }
    }

    /// Goes on by up to so many seconds.
    fn wait(&mut self, seconds: usize) {
        let seconds = self.random.below(seconds + 1) as u64;
        if seconds > 0 {
            self.time += seconds;
            self.block += 1 + seconds / 12;
            self.log = 0;
        }
    }

    fn send(&mut self, from: &str, to: &str, value: u128) {
        let status = if !self.statuses {
            ""
        } else if self.random.chance(self.failing) {
            "0"
        } else {
            "1"
        };
        self.row(from, to, value, status);
    }

    fn row(&mut self, from: &str, to: &str, value: u128, status: &str) {
        self.count += 1;
        self.log += 1 + self.random.below(3) as u64;
        let gap = |random: &mut Random, gaps: f64, text: String| {
            if random.chance(gaps) {
                String::new()
            } else {
                text
            }
        };
        let gaps = self.gaps;
        let time = gap(self.random, gaps / 4.0, (self.time * 1_000).to_string());
        let block = gap(self.random, gaps / 4.0, self.block.to_string());
        let [from, to, value] = [from.to_owned(), to.to_owned(), value.to_string()]
            .map(|text| gap(self.random, gaps, text));
        let status = gap(self.random, gaps, status.to_owned());
        let hash = format!("0x{}{:024x}", &self.token[2..42], self.count);
        let shown = time.parse::<i64>().map_or_else(
            |_| String::new(),
            |time| model::time::Time(time).to_string(),
        );
        let copies = if self.random.chance(gaps / 2.0) { 2 } else { 1 };
        for _ in 0..copies {
            writeln!(
                self.files.transfers,
                "{},{shown},{block},{},{hash},{from},{to},{value},{status}",
                self.token, self.log
            )
            .unwrap();
        }
        let or = |text: &str, made: &dyn Fn(&str) -> String| {
            if text.is_empty() {
                "NULL".to_owned()
            } else {
                made(text)
            }
        };
        let text = |text: &str| format!("'{text}'");
        let value = format!(
            "('{}',{},{},{},'{hash}',{},{},{},{})",
            self.token,
            or(&time, &|time| format!(
                "fromUnixTimestamp64Milli(toInt64({time}), 'UTC')"
            )),
            or(&block, &|block| block.to_owned()),
            self.log,
            or(&from, &text),
            or(&to, &text),
            or(&value, &|value| format!("toUInt256('{value}')")),
            or(&status, &|status| status.to_owned())
        );
        for _ in 0..copies {
            self.files.values.push(value.clone());
        }
    }
}

/// Who is who in a history.
struct Cast {
    token: String,
    creator: String,
    owner: String,
    router: String,
    exchange: String,
    pool: String,
    second: String,
    burner: String,
    wallets: Vec<String>,
    /// Who made the token, and has it first.
    maker: String,
    /// Where it is traded.
    places: Vec<String>,
    supply: u128,
}

/// Appends a random token.
fn token(files: &mut Files, random: &mut Random, dataset: u64, nth: usize) -> String {
    let token = format!("0x{:08x}{:04x}{:028x}", dataset + 1, nth + 1, random.word());
    let decimals = [18, 18, 6, 0, 9][random.below(5)];
    let supply = 10_u128.pow(decimals)
        * random.whole(1, 1_000) as u128
        * 10_u128.pow(random.below(5) as u32);
    let whole = supply / 10_u128.pow(decimals);
    let (known, shown) = (random.chance(0.95), random.chance(0.5));
    let or = |is: bool, text: String| if is { text } else { String::new() };
    writeln!(
        files.tokens,
        "{token},T{nth},Token {nth},eth,{},{}",
        or(known, decimals.to_string()),
        or(shown, whole.to_string())
    )
    .unwrap();
    let mut history = History {
        gaps: [0.0, 0.0, 0.02][random.below(3)],
        failing: [0.0, 0.02, 0.4][random.below(3)],
        statuses: random.chance(0.7),
        time: 1_600_000_000 + random.below(100_000_000) as u64,
        block: random.whole(1_000, 9_000_000) as u64,
        random,
        files,
        token: token.clone(),
        log: 0,
        count: 0,
        decimals,
    };
    let cast = history.cast(dataset, nth, supply);
    history.begin(&cast);
    let pace = [5, 600, 20_000, 300_000][history.random.below(4)];
    let kinds: [f64; 5] = [1.0, 1.0, 1.0, 0.25, 0.125].map(|most| most * history.random.unit());
    for _ in 0..history.random.whole(5, 500) {
        history.wait(pace);
        history.step(&cast, kinds);
        history.plant(&cast);
    }
    if history.random.chance(0.3) {
        history.wait(1_000);
        history.send(&cast.pool, &cast.maker, supply);
    }
    if history.random.chance(0.5) {
        for wallet in cast.wallets.iter().take(60) {
            let balance = if history.random.chance(0.9) {
                history.random.unit() * whole as f64 / 10.0
            } else {
                0.0
            };
            writeln!(history.files.holders, "{token},{wallet},{balance}").unwrap();
        }
    }
    token
}

impl History<'_> {
    /// The addresses, and what the other tables say of them.
    fn cast(&mut self, dataset: u64, nth: usize, supply: u128) -> Cast {
        let token = self.token.clone();
        let [
            creator,
            owner,
            router,
            exchange,
            pool,
            second,
            labelled,
            burner,
            bridge,
        ] = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|nth| self.wallet(nth));
        let wallets: Vec<String> = (0..self.random.whole(3, 120))
            .map(|nth| self.wallet(100 + nth))
            .collect();
        let (creates, owns) = (self.random.chance(0.7), self.random.chance(0.4));
        if creates || owns {
            let [creator, owner] = [(creates, &creator), (owns, &owner)]
                .map(|(is, who)| if is { who.as_str() } else { "" });
            writeln!(self.files.contracts, "{token},0x00,{creator},{owner}").unwrap();
        }
        for (address, label) in [
            (&exchange, "binance"),
            (&labelled, "pool"),
            (&burner, "burn"),
            (&bridge, "bridge"),
        ] {
            if self.random.chance(0.7) {
                writeln!(self.files.labels, "{address},{label}").unwrap();
            }
        }
        let paid = [0.0, 0.2, 1.0][self.random.below(3)];
        for wallet in &wallets {
            if self.random.chance(paid) {
                let who = if self.random.chance(0.9) {
                    &creator
                } else {
                    &exchange
                };
                writeln!(self.files.funding, "{who},{wallet},2020-01-01T00:00:00Z").unwrap();
            }
        }
        if self.random.chance(0.4) {
            writeln!(self.files.dexes, "d{dataset}x{nth},Dex,eth,{router}").unwrap();
        }
        let pools = self.random.below(4);
        for (address, own) in [(&pool, true), (&second, false)].iter().take(pools) {
            let [one, two] = if *own || self.random.chance(0.5) {
                [token.as_str(), WETH]
            } else {
                [WETH, token.as_str()]
            };
            writeln!(
                self.files.pools,
                "{address},uniswap,eth,{one},{two},{}",
                self.random.whole(10, 100_000)
            )
            .unwrap();
        }
        let mut places = vec![pool.clone()];
        for (share, place) in [
            (if pools > 1 { 1.0 } else { 0.0 }, &second),
            (0.3, &labelled),
            (0.4, &router),
        ] {
            if self.random.chance(share) {
                places.push(place.clone());
            }
        }
        let maker = if creates {
            creator.clone()
        } else {
            wallets[0].clone()
        };
        Cast {
            token,
            creator,
            owner,
            router,
            exchange,
            pool,
            second,
            burner,
            wallets,
            maker,
            places,
            supply,
        }
    }

    /// The first mint, the first liquidity, and those who snipe.
    fn begin(&mut self, cast: &Cast) {
        let first = if self.random.chance(0.85) {
            ZERO
        } else {
            &cast.exchange
        };
        self.send(first, &cast.maker, cast.supply);
        if self.random.chance(0.3) {
            let count = self.random.whole(2, 60);
            for wallet in cast.wallets.iter().take(count) {
                self.send(ZERO, wallet, cast.supply / 1_000);
            }
        }
        self.wait(86_400);
        if self.random.chance(0.85) {
            let from = if self.random.chance(0.8) {
                &cast.maker
            } else {
                &cast.wallets[0]
            };
            let share = self.random.whole(2, 20) as u128;
            self.send(from, &cast.pool, cast.supply / share);
            if self.random.chance(0.4) {
                let at = model::time::Time(self.time as i64 * 1_000);
                writeln!(
                    self.files.pool_events,
                    "{},{at},{},mint,{},1000000",
                    cast.pool,
                    self.block,
                    cast.supply / 4
                )
                .unwrap();
            }
        }
        if self.random.chance(0.4) {
            for _ in 0..self.random.whole(1, 15) {
                self.wait(24);
                let (to, share) = (
                    self.random.below(cast.wallets.len()),
                    self.random.whole(20, 200) as u128,
                );
                self.send(&cast.places[0], &cast.wallets[to], cast.supply / share);
            }
        }
    }

    /// A transfer: a purchase, a sale, one among traders, one of those who hold for others, or a rare one.
    fn step(&mut self, cast: &Cast, kinds: [f64; 5]) {
        let [one, two] = [0, 0].map(|_| &cast.wallets[self.random.below(cast.wallets.len())]);
        let place = &cast.places[self.random.below(cast.places.len())];
        let amount = if self.random.chance(0.05) {
            0
        } else {
            self.amount()
        };
        let mut at = self.random.unit() * kinds.iter().sum::<f64>();
        let kind = kinds.iter().position(|share| {
            at -= share;
            at < 0.0
        });
        let other = [
            &cast.exchange,
            &cast.burner,
            &cast.creator,
            &cast.owner,
            &cast.token,
            &cast.router,
        ][self.random.below(6)];
        match (kind.unwrap_or(0), self.random.below(6)) {
            (0, _) => self.send(place, one, amount),
            (1, _) => self.send(one, place, amount),
            (2, _) => self.send(one, two, amount),
            (3, 0..3) => self.send(other, one, amount),
            (3, _) => self.send(one, other, amount),
            (_, 0) => self.send(ZERO, one, cast.supply / 50),
            (_, 1) => self.send(one, ZERO, amount),
            (_, 2) => self.send(one, "0x000000000000000000000000000000000000dead", amount),
            (_, 3) => self.send(&cast.maker, place, cast.supply / 30),
            (_, 4) => self.send(place, &cast.second, amount),
            // Of nothing, as anybody may pretend.
            _ => self.send(one, one, 0),
        }
    }

    /// Now and then a ring, an airdrop, or liquidity that goes and may come back.
    fn plant(&mut self, cast: &Cast) {
        if self.random.chance(0.03) {
            let members = self.random.whole(2, 5).min(cast.wallets.len());
            let (amount, rounds) = (self.amount() + 1, self.random.whole(1, 6));
            let gap = [10, 3_000, 200_000][self.random.below(3)];
            for step in 0..rounds * members {
                self.wait(gap);
                self.send(
                    &cast.wallets[step % members],
                    &cast.wallets[(step + 1) % members],
                    amount,
                );
            }
        }
        if self.random.chance(0.01) {
            let amount = self.amount();
            for nth in 0..self.random.whole(5, 80) {
                let to = self.wallet(1_000 + nth);
                self.send(&cast.maker, &to, amount);
            }
        }
        if self.random.chance(0.01) {
            let amount = [cast.supply / 2, cast.supply / 30, cast.supply * 2][self.random.below(3)];
            self.send(&cast.pool, &cast.maker, amount);
            if self.random.chance(0.3) {
                self.wait(90_000);
                self.send(&cast.wallets[0], &cast.pool, amount / 2);
            }
        }
    }
}

/// The files of a dataset, and its tokens.
pub(super) fn dataset(seed: u64) -> (Files, Vec<String>) {
    let (mut files, mut random) = (Files::default(), Random(seed));
    let tokens = (0..TOKENS)
        .map(|nth| token(&mut files, &mut random, seed, nth))
        .collect();
    (files, tokens)
}
