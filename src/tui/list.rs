//! The one machine of every list on screen. A list says what its rows are and gives one table of fields; moving, the wheel, hit testing,
//! sorting, filtering, which columns are shown, files, copying and what is kept between runs come from it. A new column is one row.

mod cursor;
mod field;
mod sorting;

use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value as Json, json};

pub use self::{
    cursor::{Cursor, Did},
    field::{Field, Look, Row, Value},
    sorting::{SortColumn, Sorting},
};
use crate::{
    question::{
        filter::{self, Filter, FilterColumn},
        list::{Key, Order, put_in_order},
    },
    tui::{
        keymap::Action,
        view::{Context, Export},
        widgets::table::{Cell, Column, Table},
    },
};

use crossterm::event::{KeyModifiers, MouseEvent};

/// What the rows of a list are, and its table of fields.
pub trait Fields: Sized + 'static {
    /// A row with all that its cells tell.
    type Row<'a>: Copy;
    /// Also the order that `s` goes through, and that of a file's columns.
    const FIELDS: &'static [Field<Self>];
    /// How the rows stand while nobody sorts them; none is as they come.
    const STANDARD: Option<Order> = None;
    /// Rows have a star before them.
    const STARS: bool = false;

    /// What a filter can name.
    fn filter_columns() -> Vec<FilterColumn> {
        let column = |field: &Field<Self>| {
            let column = FilterColumn::new(field.column.key, field.kind?, field.aliases);
            Some(if field.searched { column.searched() } else { column })
        };
        Self::FIELDS.iter().filter_map(column).collect()
    }

    /// What the row has in a column that a filter can name.
    fn value<'a>(row: Row<'a, Self>, key: &str) -> Value<'a> {
        List::<Self>::field(key).map_or(Value(None), |field| (field.value)(row))
    }

    /// What the row is ordered by in a column.
    fn sort_key(row: Row<'_, Self>, key: &str) -> Option<Key> {
        List::<Self>::field(key)?.sort_key(row)
    }

    /// Reads a filter.
    fn read(text: &str) -> Result<Filter, String> {
        filter::parse(text, &Self::filter_columns()).map_err(|error| error.to_string())
    }

    fn starred(_: Self::Row<'_>) -> bool {
        false
    }

    /// Fits a column to the width of the list.
    fn fit(_: &mut Column, _width: u16) {}

    /// The row as the API gives it, of which fields are written to files.
    fn json(_: Self::Row<'_>) -> Json {
        Json::Null
    }

    /// The field's value in the row, as it is written.
    fn written(row: &Json, member: &str) -> Json {
        row.get(member).cloned().unwrap_or_default()
    }
}

/// A list as it stands: the rows shown and their order, what is selected, and what the person chose.
pub struct List<L: Fields> {
    pub cursor: Cursor,
    pub sorting: Sorting,
    /// The rows shown, as places in what they are of; none is all of them as they come.
    order: Option<Vec<u32>>,
    filter: Filter,
    filter_text: String,
    /// The keys of the columns that are not wanted now.
    hidden: Vec<&'static str>,
    /// Whether keys go here.
    pub focused: bool,
    fields: std::marker::PhantomData<L>,
}

impl<L: Fields> Default for List<L> {
    fn default() -> Self {
        let hidden = L::FIELDS.iter().filter(|field| field.optional).map(|field| field.column.key).collect();
        Self {
            cursor: Cursor::default(),
            sorting: Sorting::new(L::STANDARD),
            order: None,
            filter: Filter::default(),
            filter_text: String::new(),
            hidden,
            focused: true,
            fields: std::marker::PhantomData,
        }
    }
}

/// What a list draws beside its rows.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    pub area: Rect,
    /// What stands in place of rows when there are none: why, and what to do.
    pub empty: &'a str,
    /// Marked where they occur; without them those of the filter.
    pub words: Option<&'a [&'a str]>,
}

impl<'a> Frame<'a> {
    pub fn new(area: Rect, empty: &'a str) -> Self {
        Self { area, empty, words: None }
    }
}

/// Where the person is.
impl<L: Fields> List<L> {
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or(self.cursor.count(), Vec::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of the selected row in what the rows are of.
    pub fn selected(&self) -> Option<usize> {
        self.place(self.cursor.selected()?)
    }

    /// The place of a row on screen.
    pub fn place(&self, row: usize) -> Option<usize> {
        match &self.order {
            Some(order) => order.get(row).map(|&place| place as usize),
            None => (row < self.cursor.count()).then_some(row),
        }
    }

    /// The places of all rows, in their order.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter_map(|row| self.place(row))
    }

    /// The places of the rows that were on screen last.
    pub fn on_screen(&self) -> impl Iterator<Item = usize> + '_ {
        self.cursor.on_screen().filter_map(|row| self.place(row))
    }

    /// Selects the first row whose place is the one wanted; false when there is none.
    pub fn point_to(&mut self, is_it: impl Fn(usize) -> bool) -> bool {
        let row = self.places().position(is_it);
        row.map(|row| self.cursor.select(row)).is_some()
    }

    /// A key: it moves, or changes the order.
    pub fn act(&mut self, action: Action) -> Did {
        let columns = self.sort_columns();
        match action {
            Action::Sort if !columns.is_empty() => self.sorting.next(&columns),
            Action::SortReverse if !columns.is_empty() => self.sorting.reverse(),
            action => return if self.cursor.act(action) { Did::Moved } else { Did::Nothing },
        }
        Did::Sorted
    }

    /// A click or the wheel. On a header it sorts; with Ctrl or Alt, by that column after the others.
    pub fn mouse(&mut self, mouse: MouseEvent) -> Did {
        match self.cursor.mouse(mouse) {
            Did::Header(key) => {
                let also = mouse.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
                if self.sorting.click(key, also, &self.sort_columns()) { Did::Sorted } else { Did::Nothing }
            }
            did => did,
        }
    }
}

/// The mouse over two lists beside each other: the one it did something in has the keys from now on.
pub fn mouse_of_two<A: Fields, B: Fields>(first: &mut List<A>, second: &mut List<B>, in_second: &mut bool, mouse: MouseEvent) -> Did {
    match (first.mouse(mouse), second.mouse(mouse)) {
        (Did::Nothing, Did::Nothing) => Did::Nothing,
        (Did::Nothing, did) => {
            *in_second = true;
            did
        }
        (did, _) => {
            *in_second = false;
            did
        }
    }
}

/// What is shown, and how it stands.
impl<L: Fields> List<L> {
    fn wanted(&self) -> impl Iterator<Item = &'static Field<L>> + '_ {
        L::FIELDS.iter().filter(|field| !self.hidden.contains(&field.column.key))
    }

    fn field(key: &str) -> Option<&'static Field<L>> {
        L::FIELDS.iter().find(|field| field.column.key == key)
    }

    /// Shows the column or hides it; an order by one that is hidden goes with it.
    pub fn show(&mut self, key: &'static str, shown: bool) {
        self.hidden.retain(|hidden| *hidden != key);
        if !shown {
            self.hidden.push(key);
            self.sorting.set(self.sorting.keys().iter().copied().filter(|order| order.column != key).collect::<Vec<_>>());
        }
    }

    /// The keys of the columns that are shown only when they are asked for.
    pub fn optional() -> impl Iterator<Item = &'static str> {
        L::FIELDS.iter().filter(|field| field.optional).map(|field| field.column.key)
    }

    pub fn sort_columns(&self) -> Vec<SortColumn> {
        self.wanted().filter_map(|field| Some((field.column.key, field.falls?))).collect()
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn filter_text(&self) -> &str {
        &self.filter_text
    }

    /// Takes up the filter if it can be read; the rows are the caller's to arrange anew.
    pub fn set_filter(&mut self, text: &str) -> Result<(), String> {
        self.filter = L::read(text)?;
        text.clone_into(&mut self.filter_text);
        Ok(())
    }

    pub fn clear_filter(&mut self) {
        (self.filter, self.filter_text) = Default::default();
    }

    /// `requests / status>400`: what stands in the rule over the list.
    pub fn titled(&self, title: &str) -> String {
        if self.filter_text.is_empty() { title.to_owned() } else { format!("{title} / {}", self.filter_text) }
    }

    /// All of so many rows, as they come: they were filtered and ordered elsewhere.
    pub fn set_count(&mut self, count: usize) {
        self.order = None;
        self.cursor.set_count(count);
    }

    /// Takes those of the rows at `places` that meet the filter, in order. Rows without a value come last either way, equals stay as
    /// they come.
    pub fn arrange<'a>(&mut self, places: impl IntoIterator<Item = usize>, row: impl Fn(usize) -> Option<L::Row<'a>>) {
        let holds = |row| self.filter.matches(|key| L::value(Row { given: row }, key).0);
        let kept = |place: &usize| self.filter.is_empty() || row(*place).is_some_and(holds);
        let mut order: Vec<u32> = places.into_iter().filter(kept).map(|place| place as u32).collect();
        let key = |&place: &u32, key: &str| row(place as usize).and_then(|row| L::sort_key(Row { given: row }, key));
        put_in_order(&mut order, self.sorting.keys(), key, |_, _| std::cmp::Ordering::Equal);
        self.cursor.set_count(order.len());
        self.order = Some(order);
    }
}

/// What comes of it: the screen, a file, what is kept.
impl<L: Fields> List<L> {
    /// Draws the rows; `row` gives the one at a place.
    pub fn draw<'a>(&mut self, buffer: &mut Buffer, frame: Frame<'_>, context: &Context<'_>, row: impl Fn(usize) -> Option<L::Row<'a>>) {
        let fields: Vec<&Field<L>> = self.wanted().filter(|field| field.shown).collect();
        let fitted = |field: &&Field<L>| {
            let mut column = field.column;
            L::fit(&mut column, frame.area.width);
            column
        };
        let columns: Vec<Column> = fields.iter().map(fitted).collect();
        let count = self.len();
        let order = self.order.as_deref();
        let at = |nth: usize| row(order.map_or(Some(nth), |order| order.get(nth).map(|&place| place as usize))?);
        let star = |nth: usize| at(nth).is_some_and(L::starred);
        let filter_words: Vec<&str> = self.filter.words().collect();
        let nothing: &dyn Fn(usize) -> Vec<Cell> = &|_| Vec::new();
        let table = Table {
            sort: self.sorting.marks(&columns),
            words: frame.words.unwrap_or(&filter_words),
            star: L::STARS.then_some(&star),
            focused: self.focused,
            empty: frame.empty,
            ascii: context.ascii,
            ..Table::new(&columns, count, nothing)
        };
        let widths = table.widths(frame.area.intersection(buffer.area));
        let cells = |nth: usize| -> Vec<Cell> {
            let Some(row) = at(nth) else { return Vec::new() };
            let look = |cells| Look { cells, ascii: context.ascii, now: context.now };
            // What has no room is not made.
            let cell = |(field, &cells): (&&Field<L>, &usize)| {
                if cells == 0 { Cell::default() } else { field.show(Row { given: row }, &look(cells)) }
            };
            fields.iter().zip(&widths).map(cell).collect()
        };
        let table = Table { row: &cells, ..table };
        self.cursor.draw(&table, buffer, frame.area, context.theme);
    }

    /// The columns of a file.
    pub fn members(&self) -> Vec<&'static str> {
        let written = |field: &&Field<L>| !(field.member.is_empty() || field.optional && self.hidden.contains(&field.column.key));
        L::FIELDS.iter().filter(written).map(|field| field.member).collect()
    }

    /// The values of a row in those columns.
    pub fn written(row: L::Row<'_>, members: &[&str]) -> Vec<Json> {
        let row = L::json(row);
        members.iter().map(|member| L::written(&row, member)).collect()
    }

    /// Every row shown, as a table to be written.
    pub fn export<'a>(&self, name: impl Into<String>, row: impl Fn(usize) -> Option<L::Row<'a>>) -> Export {
        let members = self.members();
        let rows = self.places().filter_map(row).map(|row| Self::written(row, &members)).collect();
        Export::of(name, &members, rows, self.cursor.selected())
    }

    /// What is kept between runs, beside what the view keeps of its own.
    pub fn save(&self, mut own: Json) -> Json {
        (own["sort"], own["filter"]) = (self.sorting.save(), json!(self.filter_text));
        own
    }

    pub fn restore(&mut self, kept: &Json) {
        let columns = self.sort_columns();
        self.sorting.restore(&kept["sort"], &columns);
        // One that cannot be read any more is dropped.
        kept["filter"].as_str().map(|text| self.set_filter(text).ok());
    }
}
