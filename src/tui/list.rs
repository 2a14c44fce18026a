//! The one machine of every list on screen. A list says what its rows are and gives one table of fields; moving, the wheel, hit testing,
//! sorting, filtering, which columns are shown, files, copying and what is kept between runs come from it. A new column is one row.

mod cells;
mod columns;
mod cursor;
mod field;
mod file;
mod layout;
mod listing;
mod sorting;

use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::Value as Json;

pub use self::{
    cursor::{Cursor, Did},
    field::{CellContext, Field, ListRow, Value},
    layout::ColumnLayout,
    listing::Listing,
    sorting::{SortColumn, Sorting},
};
use crate::{
    analysis::market::TokenSummary,
    question::{
        filter::{self, Filter, FilterColumn, RowsLeftOut},
        list::{Listed, SortKey, put_in_order},
        order::Order,
    },
    tui::{
        keymap::Action,
        view::Context,
        widgets::table::{Cell, RowMark, TableColumn, TableWidget},
    },
};

use crossterm::event::{KeyModifiers, MouseEvent, MouseEventKind};

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
    /// One cell of a row can be selected.
    const CELLS: bool = false;
    /// One always is, and columns that have no room are scrolled to beside the first, which stays.
    const SCROLLS: bool = false;

    /// What a filter can name.
    fn filter_columns() -> Vec<FilterColumn> {
        Self::FIELDS.iter().filter_map(Field::filter_column).collect()
    }

    /// What the row has in a column that a filter can name.
    fn value<'a>(row: ListRow<'a, Self>, key: &str) -> Value<'a> {
        List::<Self>::field(key).map_or_else(|| Self::own(row, key), |field| (field.value)(row))
    }

    /// What the row has in a column that came with the data.
    fn own<'a>(_: ListRow<'a, Self>, _key: &str) -> Value<'a> {
        Value(None)
    }

    /// Whether the row would have a value in the column if the data told it: one that is still to come does not lack.
    fn lacks(_: ListRow<'_, Self>, _key: &str) -> bool {
        true
    }

    /// A cell of a column that says nothing of its cells.
    fn cell(row: ListRow<'_, Self>, key: &str) -> Cell {
        Self::value(row, key).cell()
    }

    /// What the row is ordered by in a column.
    fn sort_key(row: ListRow<'_, Self>, key: &str) -> Option<SortKey> {
        List::<Self>::field(key).map_or_else(|| Self::own(row, key).0.and_then(SortKey::of), |field| field.sort_key(row))
    }

    /// Reads a filter over these columns.
    fn read(text: &str, columns: &[FilterColumn]) -> Result<Filter, String> {
        filter::parse(text, columns).map_err(|error| {
            let name = text.get(error.at).unwrap_or_default();
            let of_tokens = filter::column(name, TokenSummary::COLUMNS).is_some();
            let absent = format!("no column `{name}`");
            let found = format!("`{name}` is a column of Tokens, not of this list");
            if of_tokens { error.message.replacen(&absent, &found, 1) } else { error.message }
        })
    }

    /// Words that the column's values are made of, or some of the texts that are there, for whoever types one.
    fn words(_key: &str, _: &Context<'_>) -> Vec<String> {
        Vec::new()
    }

    fn starred(_: Self::Row<'_>) -> bool {
        false
    }

    /// Fits a column to the width of the list.
    fn fit(_: &mut TableColumn, _width: u16) {}

    /// The row as the API gives it, of which fields are written to files.
    fn json(_: Self::Row<'_>) -> Json {
        Json::Null
    }

    /// The field's value in the row, as it is written.
    fn written(row: &Json, member: &str) -> Json {
        row.get(member).cloned().unwrap_or_default()
    }
}

/// In what was kept: it is the whole of a screen, and what it does not name is as at first.
pub const SCREEN: &str = "screen";

/// A list as it stands: the rows shown and their order, what is selected, and what the person chose.
pub struct List<L: Fields> {
    pub cursor: Cursor,
    pub sorting: Sorting,
    /// Indices of the rows shown, in their order; none for all rows as they come.
    order: Option<Vec<u32>>,
    filter: Filter,
    filter_text: String,
    /// The rows that the filter left out for want of a value.
    left_out: RowsLeftOut,
    /// The columns that the data have beyond the table of fields.
    own: Vec<Field<L>>,
    /// The generation of the data that they are of.
    owned: Option<u64>,
    /// The columns that nothing in the data has a value for.
    absent: Vec<&'static str>,
    /// The least cells of columns whose figures are never cut.
    least: Vec<(&'static str, u16)>,
    layout: ColumnLayout,
    /// The column of the selected cell.
    column: Option<&'static str>,
    /// The first column of those that scroll.
    first: usize,
    /// What was kept, until the columns of the data are known that it may name.
    kept: Option<Json>,
    /// Whether keys go here.
    pub focused: bool,
    fields: std::marker::PhantomData<L>,
}

impl<L: Fields> Default for List<L> {
    fn default() -> Self {
        Self {
            cursor: Cursor::default(),
            sorting: Sorting::new(L::STANDARD),
            order: None,
            filter: Filter::default(),
            filter_text: String::new(),
            left_out: RowsLeftOut::default(),
            own: Vec::new(),
            owned: None,
            absent: Vec::new(),
            least: Vec::new(),
            layout: Self::standard_layout(),
            column: None,
            first: 0,
            kept: None,
            focused: true,
            fields: std::marker::PhantomData,
        }
    }
}

/// What a list draws beside its rows.
#[derive(Clone, Copy)]
pub struct ListFrame<'a> {
    pub area: Rect,
    /// What stands in place of rows when there are none: why, and what to do.
    pub empty: &'a str,
    /// Words to highlight; without them the filter's.
    pub words: Option<&'a [&'a str]>,
    /// The order the rows are in, while the chosen one is still being worked out.
    pub sort: Option<&'a [Order]>,
    /// What the row of a place is marked with.
    pub marked: Option<&'a dyn Fn(usize) -> Option<RowMark>>,
}

impl<'a> ListFrame<'a> {
    pub fn new(area: Rect, empty: &'a str) -> Self {
        Self { area, empty, words: None, sort: None, marked: None }
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

    /// Selects the row after the one whose place `is_it` tells, or before it; its place, which row it is and of how many.
    pub fn step_from(&mut self, is_it: impl Fn(usize) -> bool, forward: bool) -> Option<(usize, usize, usize)> {
        // From a token that is not among the rows one begins at the top.
        let next = match (self.places().position(is_it), forward) {
            (None, _) => 0,
            (Some(row), true) => row + 1,
            (Some(row), false) => row.checked_sub(1)?,
        };
        let place = self.place(next)?;
        self.cursor.select(next);
        Some((place, next + 1, self.len()))
    }

    /// A key: it moves, or changes the order.
    pub fn act(&mut self, action: Action) -> Did {
        let columns = self.sort_columns();
        match action {
            Action::Sort if !columns.is_empty() => match self.column().filter(|_| L::SCROLLS) {
                Some(key) => _ = self.sorting.click(key, false, &columns),
                None => self.sorting.next(&columns),
            },
            Action::SortReverse if !columns.is_empty() => self.sorting.reverse(),
            Action::Left | Action::Right if self.step_column(action == Action::Right) => return Did::Moved,
            action => return if self.cursor.act(action) { Did::Moved } else { Did::Nothing },
        }
        Did::Sorted
    }

    /// A click or the wheel. On a header it sorts; with Ctrl or Alt, by that column after the others. A header that is dragged makes its
    /// column wider or narrower.
    pub fn mouse(&mut self, mouse: MouseEvent) -> Did {
        let sideways = matches!(mouse.kind, MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight);
        if L::SCROLLS && sideways && self.cursor.is_under(mouse) {
            self.step_column(mouse.kind == MouseEventKind::ScrollRight);
            return Did::Moved;
        }
        match self.cursor.mouse(mouse) {
            Did::Dragged(key, cells) => {
                self.layout.widen(key, cells);
                Did::Moved
            }
            Did::Header(key) => {
                let also = mouse.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
                self.column = if L::SCROLLS { Some(key) } else { self.column };
                if self.sorting.click(key, also, &self.sort_columns()) { Did::Sorted } else { Did::Nothing }
            }
            did => {
                if matches!(did, Did::Moved | Did::Again) && matches!(mouse.kind, MouseEventKind::Down(_)) {
                    self.click_column(mouse);
                }
                did
            }
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
    fn standard_layout() -> ColumnLayout {
        ColumnLayout { hidden: Self::optional().collect(), ..ColumnLayout::default() }
    }

    /// Every field, the person's order first.
    fn fields(&self) -> Vec<&Field<L>> {
        self.layout.in_order(L::FIELDS.iter().chain(&self.own).collect(), |field| field.column.key)
    }

    fn wanted(&self) -> Vec<&Field<L>> {
        let mut fields = self.fields();
        fields.retain(|field| !self.layout.is_hidden(field.column.key));
        fields
    }

    /// Those that have a column on screen.
    fn shown(&self) -> Vec<&Field<L>> {
        let mut fields = self.wanted();
        fields.retain(|field| field.shown && !self.absent.contains(&field.column.key));
        fields
    }

    fn field(key: &str) -> Option<&'static Field<L>> {
        L::FIELDS.iter().find(|field| field.column.key == key)
    }

    /// Whether the column came with the data.
    pub fn is_own(key: &str) -> bool {
        Self::field(key).is_none()
    }

    /// Takes the columns that nothing in the data has a value for: they take no room.
    pub fn set_absent(&mut self, keys: Vec<&'static str>) {
        self.absent = keys;
    }

    /// Whether the column is on screen, as far as there is room.
    pub fn is_wanted(&self, key: &str) -> bool {
        self.is_shown(key) && !self.absent.contains(&key)
    }

    /// Takes the columns that a generation of the data has beyond the table of fields, and with the first what was kept of an earlier
    /// run; false where they are known.
    pub fn set_own(&mut self, generation: u64, own: impl FnOnce() -> Vec<Field<L>>) -> bool {
        if self.owned == Some(generation) {
            return false;
        }
        (self.own, self.owned) = (own(), Some(generation));
        if let Some(kept) = self.kept.take()
            && self.filter_text.is_empty()
        {
            self.restore_now(&kept);
        }
        true
    }

    /// Every column that can be shown, in order: its key and title, and whether it is shown.
    pub fn columns(&self) -> Vec<(&'static str, &'static str, bool)> {
        let column = |field: &&Field<L>| (field.column.key, field.column.title, !self.layout.is_hidden(field.column.key));
        self.fields().iter().filter(|field| field.shown).map(column).collect()
    }

    /// Shows the column or hides it; an order by one that is hidden goes with it.
    pub fn show(&mut self, key: &'static str, shown: bool) {
        self.layout.show(key, shown);
        self.drop_hidden_orders();
    }

    pub fn is_shown(&self, key: &str) -> bool {
        !self.layout.is_hidden(key)
    }

    /// The keys of the columns that are shown only when they are asked for.
    pub fn optional() -> impl Iterator<Item = &'static str> {
        L::FIELDS.iter().filter(|field| field.optional).map(|field| field.column.key)
    }

    pub fn sort_columns(&self) -> Vec<SortColumn> {
        self.wanted().iter().filter_map(|field| Some((field.column.key, field.falls?))).collect()
    }

    /// What a filter can name.
    pub fn filter_columns(&self) -> Vec<FilterColumn> {
        L::filter_columns().into_iter().chain(self.own.iter().filter_map(Field::filter_column)).collect()
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn clear_filter(&mut self) {
        (self.filter, self.filter_text) = Default::default();
    }

    /// `requests / status>400`: what stands in the rule over the list.
    pub fn titled(&self, title: &str) -> String {
        if self.filter_text.is_empty() { title.to_owned() } else { format!("{title} / {}", self.filter_text) }
    }

    pub fn left_out(&self) -> &RowsLeftOut {
        &self.left_out
    }

    /// All of so many rows, as they come: they were filtered and ordered elsewhere.
    pub fn set_count(&mut self, count: usize) {
        (self.order, self.left_out) = (None, RowsLeftOut::default());
        self.cursor.set_count(count);
    }

    /// Takes those of the rows at `places` that meet the filter, in order. Rows without a value come last either way, equals stay as
    /// they come.
    pub fn arrange<'a>(&mut self, places: impl IntoIterator<Item = usize>, row: impl Fn(usize) -> Option<L::Row<'a>>) {
        let mut left_out = RowsLeftOut::of(&self.filter);
        let mut holds = |row| {
            let row = ListRow { given: row };
            self.filter.keeps(|key| L::value(row, key).0, |key| L::lacks(row, key), &mut left_out)
        };
        let kept = |place: &usize| self.filter.is_empty() || row(*place).is_some_and(&mut holds);
        let mut order: Vec<u32> = places.into_iter().filter(kept).map(|place| place as u32).collect();
        self.left_out = left_out;
        let key = |&place: &u32, key: &str| row(place as usize).and_then(|row| L::sort_key(ListRow { given: row }, key));
        put_in_order(&mut order, self.sorting.keys(), key, |_, _| std::cmp::Ordering::Equal);
        self.cursor.set_count(order.len());
        self.order = Some(order);
    }
}

/// Drawing.
impl<L: Fields> List<L> {
    /// Draws the rows; `row` gives the one at a place.
    pub fn draw<'a>(
        &mut self,
        buffer: &mut Buffer,
        frame: ListFrame<'_>,
        context: &Context<'_>,
        row: impl Fn(usize) -> Option<L::Row<'a>>,
    ) {
        let (fields, columns) = self.on_screen_columns(frame.area.width);
        let count = self.len();
        let order = self.order.as_deref();
        let at = |nth: usize| row(order.map_or(Some(nth), |order| order.get(nth).map(|&place| place as usize))?);
        let star = |nth: usize| at(nth).is_some_and(L::starred);
        let filter_words: Vec<&str> = self.filter.words().collect();
        let place = |nth: usize| order.map_or(Some(nth), |order| order.get(nth).map(|&place| place as usize));
        let marked = |nth: usize| frame.marked.and_then(|marked| marked(place(nth)?));
        let nothing: &dyn Fn(usize) -> Vec<Cell> = &|_| Vec::new();
        let table = TableWidget {
            sort: Sorting::marks(frame.sort.unwrap_or(self.sorting.keys()), &columns),
            words: frame.words.unwrap_or(&filter_words),
            star: L::STARS.then_some(&star),
            marked: frame.marked.is_some().then_some(&marked),
            focused: self.focused,
            empty: frame.empty,
            ascii: context.ascii,
            ..TableWidget::new(&columns, count, nothing)
        };
        let widths = table.widths(frame.area.intersection(buffer.area));
        let cells = |nth: usize| -> Vec<Cell> {
            let Some(row) = at(nth) else { return Vec::new() };
            let look = |cells| CellContext { cells, ascii: context.ascii, now: context.now };
            // What has no room is not made.
            let cell = |(field, &cells): (&Field<L>, &usize)| {
                if cells == 0 { Cell::default() } else { field.show(ListRow { given: row }, &look(cells)) }
            };
            fields.iter().zip(&widths).map(cell).collect()
        };
        let table = TableWidget { row: &cells, ..table };
        self.cursor.draw(&table, buffer, frame.area, context.theme);
        self.mark_cell(buffer, frame.area, context);
    }
}
