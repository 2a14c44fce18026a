//! File formats. `formats.toml` describes all of them (`description`); a format whose columns say all is read as it describes (`described`),
//! the others by a reader in a file of its own. Here: the readers, and what they are given and return.

mod builds;
mod calls;
mod described;
mod description;
mod found;
mod holders;
mod labels;
mod logs;
pub(super) mod mapped;
mod own;
mod pools;
mod supply;
mod tokens;
mod transfers;
mod unknown;
mod yields;

use std::collections::HashMap;

pub use self::description::{FormatRow, Formats};
pub(super) use self::unknown::unknown;
use super::{
    ImportOptions, candles,
    error::FileError,
    names::{DECIMALS, Names, SYMBOL, TOKEN},
    pair,
    refusal::{ADDRESS, Refusal, VALUE},
    report::few,
    rows::{address, cells},
    sheet::{RawTable, json::LIST},
    sniff::Sniffed,
    tokens::{KnownTokens, TokenFoundBy, TokenHints, TokenMatch, alike},
};
use frames::raw_cell::is_null_word;
use load::{
    formats::RowSource,
    loader::bind::bind,
    manifest::{ColumnManifest, TableManifest},
};
use model::{
    address::Address,
    chain::Chain,
    schema::{self, TableSchema},
};

/// Who reads files whose units, dates or notation must be guessed.
#[derive(Debug)]
struct Reader {
    word: &'static str,
    /// The tables it fills, unless a format says others.
    into: &'static str,
    knows: fn(&FormatRow, &Sniffed) -> bool,
    open: fn(&FileToImport<'_>) -> Result<ImportPlan, Refusal>,
}

macro_rules! readers {
    ($($word:literal $into:literal $knows:expr, $open:path;)*) => {
        /// The readers that `formats.toml` names.
        const READERS: &[Reader] = &[$(Reader { word: $word, into: $into, knows: $knows, open: $open }),*];
    };
}

readers! {
    "candles" "candles" |format, sniffed| format.states("candles", "timestamp") || candles::is(sniffed), candles::open;
    "tokens" "tokens" |_, sniffed| tokens::is(sniffed), tokens::open;
    "tokens with supplies" "tokens" |_, sniffed| tokens::is(sniffed), tokens::with_supplies;
    "holders" "holders" holders::is, holders::open;
    "transfers" "transfers" |_, _| true, transfers::open;
    "event logs" "transfers" |_, sniffed| logs::is(sniffed), logs::open;
    "calls" "transfers" |_, _| true, calls::open;
    "build files" "contracts" |_, sniffed| builds::is(sniffed), builds::open;
    "labels" "labels" |_, sniffed| labels::is(sniffed), labels::open;
    "pools" "pools tokens" pools::is, pools::open;
    "own" "tokens kols posts candles holders holder_counts transfers contracts scams labels dexes fee_tiers pools pool_events locks funding yields gas"
        |_, sniffed| own::is(sniffed), own::open;
}

/// A file to import, with its context.
#[derive(Clone, Copy)]
pub(super) struct FileToImport<'a> {
    pub sniffed: &'a Sniffed,
    pub format: &'a FormatRow,
    pub formats: &'a Formats,
    pub tokens: &'a KnownTokens,
    pub hints: TokenHints<'a>,
    pub options: &'a ImportOptions,
    /// Decimals of the dataset's tokens.
    pub decimals: &'a HashMap<Address, Option<i64>>,
}

/// How to import a file.
#[derive(Default)]
pub(super) struct ImportPlan {
    pub takes: Vec<ImportedTable>,
    /// The token it is about, if it is about a single one.
    pub token: Option<TokenMatch>,
    /// That token's chain, if the file names it.
    pub chain: Option<Chain>,
    /// Decimals of tokens stated in the file.
    pub decimals: Vec<(Address, i64)>,
    /// Messages for the user.
    pub says: Vec<String>,
    /// Assumptions where the file is silent: reported now and by every load.
    pub notes: Vec<String>,
}

/// Columns beside those of `SYMBOL` and `TOKEN` that may name the token of a row.
const MAY_NAME_TOKENS: &str =
    "asset token coin currency contracttickersymbol assetsymbol coinsymbol tokenname";
/// How many tokens of a column are told apart.
const TOKENS_SHOWN: usize = 6;

/// Stands in for a column name where the file has no such column.
pub(super) const NO_COLUMN: &str = " none";

/// Rows for one table.
pub(super) struct ImportedTable {
    pub table: &'static str,
    pub manifest: TableManifest,
    pub rows: Box<dyn RowSource>,
    /// Describes the rows that the filter of `manifest` drops.
    pub left_out: String,
    /// Columns of the file from which a schema column is computed.
    pub worked_out: Vec<String>,
}

impl FormatRow {
    /// How to import a file of this format.
    pub(super) fn plan(&self, file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
        let Some(reader) = self.reader() else {
            return described::open(file);
        };
        let mut plan = (reader.open)(file)?;
        // Columns of candles are checked against the rows, so their reader asks for what is said of them.
        for (table, manifest) in self
            .mappings
            .iter()
            .filter(|(table, _)| *table != "candles")
        {
            for take in plan.takes.iter_mut().filter(|take| take.table == *table) {
                take.overlay(manifest);
            }
        }
        Ok(plan.saying_all(self.says.iter().cloned()))
    }
}

impl<'a> FileToImport<'a> {
    /// The file as read by the first format with this reader that recognizes it without signs of its own.
    fn of_any_source(self, reader: &str) -> Option<Self> {
        let header = self.sniffed.header();
        let fits = |row: &&FormatRow| {
            row.is_of_any_source(reader) && row.recognises(self.sniffed, &header)
        };
        self.formats
            .rows()
            .iter()
            .find(fits)
            .map(|format| Self { format, ..self })
    }

    /// The file as a table.
    pub(super) fn sheet(&self) -> Result<&'a RawTable, FileError> {
        self.sniffed.sheet.as_ref().ok_or(FileError::NoTable)
    }

    /// The chain of rows that name none: the option's, or Ethereum.
    pub(super) fn chain(&self) -> Chain {
        self.hints.chain.clone()
    }

    /// The decimals of a token: the option's, or the dataset's.
    pub(super) fn decimals_of(&self, token: &Address) -> Option<i64> {
        self.options
            .decimals
            .map(i64::from)
            .or_else(|| self.decimals.get(token).copied().flatten())
    }

    /// The file's column that `--map` assigns to a schema column.
    pub(super) fn mapped(&self, ours: &str) -> Option<usize> {
        let (_, theirs) = self.options.map.iter().find(|(known, _)| known == ours)?;
        self.sniffed
            .sheet
            .as_ref()?
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(theirs))
    }

    /// The constant that `--set` assigns to a schema column.
    fn set(&self, ours: &str) -> Option<&'a str> {
        self.options
            .set
            .iter()
            .find(|(known, _)| known == ours)
            .map(|(_, value)| value.as_str())
    }

    /// The token of a file about a single token; `accounts` are its columns of accounts.
    pub(super) fn token(&self, accounts: &[usize]) -> Result<TokenMatch, Refusal> {
        self.hold_to_one_token()?;
        self.tokens
            .find(&self.name_of_token(accounts), None, self.hints)
    }

    /// The file's name without the addresses of accounts, after which explorers name an account's exports: of most of its rows.
    fn name_of_token(&self, accounts: &[usize]) -> String {
        let mut name = self.sniffed.name.clone();
        let rows = self
            .sniffed
            .sheet
            .as_ref()
            .map_or(&[][..], |sheet| &sheet.first);
        while let Some(named) = pair::address(&name) {
            let holds = |row: &&Vec<String>| {
                accounts
                    .iter()
                    .any(|&at| row.get(at).and_then(|cell| address(cell)) == Some(named))
            };
            let place = name
                .match_indices("0x")
                .map(|(at, _)| at..at + 42)
                .find(|at| name.get(at.clone()).and_then(Address::parse) == Some(named));
            match place {
                Some(place) if rows.iter().filter(holds).count() * 2 > rows.len() => {
                    name.replace_range(place, "");
                }
                _ => break,
            }
        }
        name
    }

    /// Whether `--pick` takes a row of the sample.
    fn picks(&self, sheet: &RawTable, row: &[String]) -> bool {
        let cell = |name: &str| {
            row.get(
                sheet
                    .names
                    .iter()
                    .position(|known| known.eq_ignore_ascii_case(name))?,
            )
        };
        self.options
            .pick
            .iter()
            .all(|(name, value)| cell(name).is_none_or(|cell| cell.trim() == value.trim()))
    }

    /// The first cell of a column in the rows that `--pick` takes.
    fn first_picked<'s>(&self, sheet: &'s RawTable, at: usize) -> Option<&'s str> {
        sheet
            .first
            .iter()
            .filter(|row| self.picks(sheet, row))
            .map(|row| row[at].as_str())
            .find(|cell| !cell.is_empty())
    }

    /// Refuses rows that a column shows to be of several tokens, where one token is to be that of all rows.
    fn hold_to_one_token(&self) -> Result<(), Refusal> {
        let Some(sheet) = self
            .sniffed
            .sheet
            .as_ref()
            .filter(|sheet| sheet.named && !self.hints.forced)
        else {
            return Ok(());
        };
        let names = Names::of(&sheet.names);
        let mut columns: Vec<(usize, Vec<String>)> = [SYMBOL, MAY_NAME_TOKENS, TOKEN]
            .iter()
            .flat_map(|words| names.all(words))
            .map(|at| (at, Vec::new()))
            .collect();
        if columns.is_empty()
            || self.mapped("token_address").is_some()
            || self.set("token_address").is_some()
        {
            return Ok(());
        }
        let mut rows = sheet.rows(self.sniffed)?;
        while let Some(batch) = rows.next_batch()? {
            let picks: Vec<_> = self
                .options
                .pick
                .iter()
                .map(|(name, value)| (cells(&batch, name), value.trim()))
                .collect();
            let is_picked = |row: usize| {
                picks.iter().all(|(cells, value)| {
                    cells[row]
                        .as_deref()
                        .is_none_or(|cell| cell.trim() == *value)
                })
            };
            for (at, found) in &mut columns {
                for (_, cell) in cells(&batch, &sheet.names[*at])
                    .into_iter()
                    .enumerate()
                    .filter(|(row, _)| is_picked(*row))
                {
                    let Some(cell) = cell.filter(|cell| {
                        found.len() < TOKENS_SHOWN
                            && !is_null_word(cell)
                            && cell.parse::<f64>().is_err()
                    }) else {
                        continue;
                    };
                    if !found.iter().any(|known| alike(known, cell.trim())) {
                        found.push(cell.trim().to_owned());
                    }
                }
            }
        }
        let is_other = |token: &String| {
            self.hints.token.is_some()
                && address(token).is_some_and(|other| self.hints.token != Some(other))
        };
        let Some((at, found)) = columns
            .into_iter()
            .find(|(_, found)| found.len() > 1 || found.iter().any(is_other))
        else {
            return Ok(());
        };
        let name = &sheet.names[at];
        let what = if found.len() > 1 {
            "several tokens"
        } else {
            "a token other than --token"
        };
        let reason = format!(
            "has rows of {what}: `{name}` has {}, but all rows would be imported as those of one token",
            few(found.iter().map(|token| format!("`{token}`")), 3)
        );
        if found.iter().any(|token| address(token).is_some()) {
            let reason = format!(
                "{reason}; map that column with --map token_address, or pass --broken-too if they belong to one token"
            );
            return Err(Refusal::new(reason).say("map", format!("token_address={name}")));
        }
        let said = self
            .hints
            .token
            .and_then(|token| self.tokens.symbol(&token));
        let picked = found
            .into_iter()
            .find(|token| said.as_deref().is_some_and(|said| alike(said, token)));
        let pick = format!("{name}={}", picked.as_deref().unwrap_or(VALUE));
        Err(Refusal::new(format!(
            "{reason}; choose one with --pick, or pass --broken-too if they belong to one token"
        ))
        .say("pick", pick))
    }

    /// Assigns a contract's token to holders or transfers: by a column, by an address next to the table, or by the file's name or the
    /// symbol in it. Also returns the token's address, of a column that in its first row. `accounts` are the columns of accounts.
    fn of_contract(
        &self,
        take: ImportedTable,
        column: Option<usize>,
        symbol: Option<&str>,
        accounts: &[usize],
    ) -> Result<(ImportPlan, ImportedTable, Option<Address>), Refusal> {
        let sheet = self.sheet()?;
        if let Some(at) = column {
            let first = sheet.column(at).find_map(address);
            return Ok((
                ImportPlan::default(),
                take.columns(&[("token_address", &sheet.names[at])]),
                first,
            ));
        }
        self.hold_to_one_token()?;
        let beside = sheet.beside(TOKEN).and_then(Address::parse);
        if let Some(address) =
            beside.filter(|address| self.hints.token.is_none_or(|said| said == *address))
        {
            let plan = ImportPlan::default().saying(format!("token {address}, from the file"));
            return Ok((plan, take.of_address(address), Some(address)));
        }
        if let Some(coin) = self.hints.coin {
            let reason = format!(
                "cannot be about the coin {coin}: holders and transfers belong to a contract; pass --token ADDRESS"
            );
            return Err(Refusal::new(reason).say("token", ADDRESS));
        }
        let name = self.name_of_token(accounts);
        let token = self.tokens.find(
            &name,
            symbol,
            TokenHints {
                contract: true,
                ..self.hints
            },
        )?;
        let take = take.of_address(token.address);
        let found = Some(token.address);
        let mut plan = ImportPlan::default().about(token);
        if name != self.sniffed.name {
            plan = plan.saying(
                "the address in its name is that of an account, which appears in most of its rows, and not that of the \
                token",
            );
        }
        Ok((plan, take, found))
    }

    /// The token whose address stands at the place that the format names.
    pub(super) fn stated_token(&self) -> Result<Option<TokenMatch>, Refusal> {
        let text = |place: Option<&String>| self.sniffed.outline()?.text(place?);
        let Some(address) = text(self.format.token_at.as_ref()).and_then(Address::parse) else {
            return Ok(None);
        };
        match self.hints.token {
            Some(token) if token != address => {
                let reason = format!(
                    "is about {address}, but --token is {token}; import it without --token"
                );
                Err(Refusal::new(reason).say("token", address.to_string()))
            }
            Some(_) => Ok(None),
            None => {
                let symbol = text(self.format.symbol_at.as_ref()).map(str::to_owned);
                let says = "from the file".to_owned();
                Ok(Some(TokenMatch {
                    address,
                    symbol,
                    multiplier: 1.0,
                    quoted: true,
                    by: TokenFoundBy::File,
                    says,
                }))
            }
        }
    }

    /// The token of a file of prices.
    pub(super) fn traded(&self, content: Option<&str>) -> Result<TokenMatch, Refusal> {
        self.tokens
            .find_traded(&self.sniffed.name, content, self.hints)
    }
}

impl ImportPlan {
    pub(super) fn of(takes: Vec<ImportedTable>) -> Self {
        Self {
            takes,
            ..Self::default()
        }
    }

    pub(super) fn about(mut self, token: TokenMatch) -> Self {
        self.says
            .insert(0, format!("token {}, {}", token.display_name(), token.says));
        if token.multiplier > 1.0 {
            self.says.push(format!("its prices are per {0} tokens, so prices are divided and volumes multiplied by {0}", token.multiplier));
        }
        self.token = Some(token);
        self
    }

    pub(super) fn saying(mut self, says: impl Into<String>) -> Self {
        self.says.push(says.into());
        self
    }

    pub(super) fn noting(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Leaves a schema column empty.
    pub(super) fn leave_out(&mut self, table: &str, column: &'static str) {
        for take in self.takes.iter_mut().filter(|take| take.table == table) {
            take.manifest.columns.remove(column);
            take.manifest.set.insert(column, String::new());
        }
    }

    pub(super) fn saying_all(mut self, says: impl IntoIterator<Item = String>) -> Self {
        self.says.extend(says);
        self
    }

    /// Applies the user's `--set`, `--map` and `--pick`, which override the detected columns. Candles have applied `--map` and `--pick`
    /// already, as their columns are checked against the rows.
    pub(super) fn with_options(mut self, file: &FileToImport<'_>) -> Result<Self, Refusal> {
        let options = file.options;
        if self.takes.iter().any(|take| take.table != "candles") {
            one_list(file)?;
        }
        for take in &mut self.takes {
            let column = |ours: &str| {
                schema::table(take.table)
                    .and_then(|schema| schema.column(ours))
                    .map(|column| column.name)
            };
            let set: Vec<(&'static str, &String)> = options
                .set
                .iter()
                .filter_map(|(ours, value)| Some((column(ours)?, value)))
                .collect();
            let map: Vec<(&'static str, &String)> = options
                .map
                .iter()
                .filter_map(|(ours, theirs)| Some((column(ours)?, theirs)))
                .collect();
            for (ours, value) in set {
                take.manifest.columns.remove(ours);
                take.manifest.set.insert(ours, value.clone());
            }
            if take.table == "candles" {
                continue;
            }
            for (ours, theirs) in map {
                take.manifest.set.remove(ours);
                take.rule(ours).from = Some(theirs.clone());
            }
            for (name, value) in &options.pick {
                take.manifest
                    .filters
                    .push((name.clone(), std::iter::once(value.clone()).collect()));
                "do not match --pick".clone_into(&mut take.left_out);
            }
        }
        Ok(self)
    }
}

/// Refuses several lists of the same shape if none is picked: `removed` beside `tokens` does not belong together. Candles split such lists
/// into series.
fn one_list(file: &FileToImport<'_>) -> Result<(), Refusal> {
    let lists = file.sniffed.sheet.as_ref().map_or(&[][..], RawTable::lists);
    let picked = file.options.pick.iter().any(|(name, _)| name == LIST);
    if picked || lists.len() < 2 {
        return Ok(());
    }
    let shown = few(lists.iter().map(|list| format!("`{list}`")), 6);
    let reason = format!(
        "contains several lists of the same shape: {shown}; choose one, as in `--pick {LIST}={}`",
        lists[0]
    );
    Err(Refusal::new(reason).say("pick", format!("{LIST}={VALUE}")))
}

impl ImportedTable {
    pub(super) fn into(table: &'static str, rows: Box<dyn RowSource>) -> Self {
        Self {
            table,
            manifest: TableManifest::default(),
            rows,
            left_out: String::new(),
            worked_out: Vec::new(),
        }
    }

    /// Applies the description, which overrides what was found.
    fn overlay(&mut self, said: &TableManifest) {
        for (ours, rule) in &said.columns {
            self.manifest.set.remove(ours);
            self.manifest.columns.insert(ours, rule.clone());
        }
        for (ours, value) in &said.set {
            self.manifest.columns.remove(ours);
            self.manifest.set.insert(ours, value.clone());
        }
        self.manifest.filters.extend(said.filters.iter().cloned());
    }

    /// Maps columns of the file to schema columns.
    pub(super) fn columns(mut self, columns: &[(&'static str, &str)]) -> Self {
        for (ours, theirs) in columns {
            if *theirs == NO_COLUMN {
                self = self.without(ours);
            } else {
                self.rule(ours).from = Some((*theirs).to_owned());
            }
        }
        self
    }

    /// Leaves a schema column empty, even if the file has a column of its name.
    pub(super) fn without(self, column: &'static str) -> Self {
        self.set(column, "")
    }

    pub(super) fn set(mut self, column: &'static str, value: &(impl ToString + ?Sized)) -> Self {
        self.manifest.set.insert(column, value.to_string());
        self
    }

    pub(super) fn rule(&mut self, column: &'static str) -> &mut ColumnManifest {
        self.manifest.columns.entry(column).or_default()
    }

    /// Keeps the rows whose column has one of the values too; `left_out` describes the others.
    pub(super) fn keep(mut self, column: &str, values: &[&str], left_out: &str) -> Self {
        self.manifest.filters.push((
            column.to_owned(),
            values.iter().map(|&value| value.to_owned()).collect(),
        ));
        if self.left_out.is_empty() || self.left_out == left_out {
            left_out.clone_into(&mut self.left_out);
        } else {
            self.left_out.push_str(&format!(", or {left_out}"));
        }
        self
    }

    /// The schema columns that a file column or a constant fills.
    fn served(
        &self,
        sheet: &RawTable,
        schema: &'static TableSchema,
    ) -> Result<Vec<&'static str>, FileError> {
        let bound = bind(schema, &self.manifest, &sheet.names)?;
        Ok(bound
            .iter()
            .filter(|bound| !bound.is_absent())
            .map(|bound| bound.column.name)
            .collect())
    }

    /// Assigns the token to all rows; prices per thousand tokens become prices per token.
    pub(super) fn of(mut self, token: &TokenMatch) -> Self {
        if token.multiplier > 1.0 {
            for column in ["open", "high", "low", "close"] {
                self.rule(column).scale = Some(1.0 / token.multiplier);
            }
            let scale = self
                .manifest
                .columns
                .get("volume")
                .and_then(|rule| rule.scale)
                .unwrap_or(1.0);
            self.rule("volume").scale = Some(scale * token.multiplier);
        }
        self.of_address(token.address)
    }

    fn of_address(self, token: Address) -> Self {
        self.set("token_address", &token)
    }
}

/// Token decimals stated in the rows: in a column beside that of tokens, or beside the only token.
fn decimals_in(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    token: Option<usize>,
    one: Option<Address>,
) -> Vec<(Address, i64)> {
    let Some(at) = Names::of(&sheet.names).find(DECIMALS) else {
        return Vec::new();
    };
    let number = |cell: &str| match cell.trim().strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => cell.trim().trim_end_matches(".0").parse().ok(),
    };
    let of = |row: &Vec<String>| {
        let token = token.map_or(one, |token| address(&row[token]))?;
        Some((
            token,
            number(&row[at]).filter(|decimals| (0..=77).contains(decimals))?,
        ))
    };
    sheet
        .first
        .iter()
        .filter(|row| file.picks(sheet, row))
        .filter_map(of)
        .collect()
}
