//! The generic list behind every list on screen. A list defines its row type and one table of fields; selection, scrolling, hit testing,
//! sorting, filtering, column choice, export, copying and the saved session follow from it. A new column is one row of the table.

mod cells;
mod columns;
mod cursor;
mod field;
mod layout;
mod listing;
mod sorting;

use model::scalar::Scalar;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::Value as Json;

pub use self::{
    cursor::{Cursor, ListEvent},
    field::{CellContext, Field, ListRow},
    layout::ColumnLayout,
    listing::Listing,
    sorting::{SortColumn, Sorting},
};
use crate::{
    views::{error::InputError, keymap::Action, view::Context},
    widgets::table::{Cell, RowMark, TableColumn, TableWidget},
};
use query::queries::{
    fields,
    list::{Listed, sort_rows},
    order::Order,
    parameter::TokenReader,
};
use table::filter::{self, ExcludedRows, Filter, FilterColumn, ListColumns};

use crossterm::event::{KeyModifiers, MouseEvent, MouseEventKind};

/// The row type of a list and its table of fields.
pub trait Fields: Sized + 'static {
    /// A row, with all data that its cells need.
    type Row<'a>: Copy;
    /// Also the order in which `s` cycles, and the column order of a file.
    const FIELDS: &'static [Field<Self>];
    /// The default sort order; `None` for the order of the data.
    const STANDARD: Option<Order> = None;
    /// The default where the column of `STANDARD` is empty in all of the data.
    const OTHERWISE: Option<Order> = None;
    /// Whether rows have a star column.
    const STARS: bool = false;
    /// Whether a single cell can be selected.
    const CELLS: bool = false;
    /// Whether a cell is always selected and columns scroll horizontally beside the first, which stays.
    const SCROLLS: bool = false;

    /// The columns that a filter can name.
    fn filter_columns() -> Vec<FilterColumn> {
        Self::FIELDS
            .iter()
            .filter_map(Field::filter_column)
            .collect()
    }

    /// The row's value in a filter column.
    fn value<'a>(row: ListRow<'a, Self>, key: &str) -> Scalar<'a> {
        List::<Self>::field(key).map_or_else(|| Self::own(row, key), |field| (field.value)(row))
    }

    /// The row's value in a custom column of the data.
    fn own<'a>(_: ListRow<'a, Self>, _key: &str) -> Scalar<'a> {
        Scalar::Missing
    }

    /// The cell of a column without its own rendering.
    fn cell(row: ListRow<'_, Self>, key: &str) -> Cell {
        field::cell_of(Self::value(row, key))
    }

    /// Parses a filter over these columns.
    fn read(
        text: &str,
        columns: &[FilterColumn],
        tokens: TokenReader<'_>,
    ) -> Result<Filter, InputError> {
        filter::parse_with(text, columns, tokens).map_err(|error| {
            let name = text.get(error.at.clone()).unwrap_or_default();
            if filter::column(name, fields::TokenEntry::COLUMNS).is_some() {
                InputError::TokensColumn(error, name.to_owned())
            } else {
                InputError::Filter(error, text.to_owned())
            }
        })
    }

    /// Completion values of a column: its enumeration, or samples of the data.
    fn words(_key: &str, _: &Context<'_>) -> Vec<String> {
        Vec::new()
    }

    fn starred(_: Self::Row<'_>) -> bool {
        false
    }

    /// Adapts a column to the width of the list.
    fn fit(_: &mut TableColumn, _width: u16) {}

    /// The row as JSON, as in the API; the source of exported fields.
    fn json(_: Self::Row<'_>) -> Json {
        Json::Null
    }

    /// The field's exported value.
    fn written(row: &Json, member: &str) -> Json {
        row.get(member).cloned().unwrap_or_default()
    }
}

/// Session key that marks a saved screen: complete, so absent entries mean the defaults.
pub const SCREEN: &str = "screen";

/// The state of a list: its rows and order, the selection, and the user's choices.
pub struct List<L: Fields> {
    pub cursor: Cursor,
    pub sorting: Sorting,
    /// Indices of the filtered rows in sort order; `None` for all rows in data order.
    order: Option<Vec<u32>>,
    filter: Filter,
    filter_text: String,
    /// Rows excluded by the filter because of missing values.
    pub left_out: ExcludedRows,
    /// The custom columns of the data, beyond the table of fields.
    own: Vec<Field<L>>,
    /// The generation of the custom columns.
    own_generation: Option<u64>,
    /// The columns that are empty in all of the data; they are not drawn.
    pub empty_columns: Vec<&'static str>,
    /// Minimum widths of figure columns, so that no figure is cut.
    min_widths: Vec<(&'static str, u16)>,
    /// Shown columns that had no room when the list was last drawn.
    pub(super) no_room: Vec<&'static str>,
    /// Widths that columns take where there is room for them.
    pub ideal_widths: Vec<(&'static str, u16)>,
    layout: ColumnLayout,
    /// The column of the selected cell.
    column: Option<&'static str>,
    /// Horizontal scroll offset: the first scrolled column.
    first_scrolled: usize,
    /// The saved session, until the custom columns that it may name are known.
    saved_session: Option<Json>,
    /// Whether the list has the keyboard focus.
    pub focused: bool,
}

impl<L: Fields> Default for List<L> {
    fn default() -> Self {
        Self {
            cursor: Cursor::default(),
            sorting: Sorting::new(L::STANDARD),
            order: None,
            filter: Filter::default(),
            filter_text: String::new(),
            left_out: ExcludedRows::default(),
            own: Vec::new(),
            own_generation: None,
            empty_columns: Vec::new(),
            min_widths: Vec::new(),
            no_room: Vec::new(),
            ideal_widths: Vec::new(),
            layout: Self::standard_layout(),
            column: None,
            first_scrolled: 0,
            saved_session: None,
            focused: true,
        }
    }
}

/// The drawing parameters of a list.
#[derive(Clone, Copy)]
pub struct ListFrame<'a> {
    pub area: Rect,
    /// The placeholder of an empty list: the reason, and how to proceed.
    pub empty: &'a str,
    /// The current order of the rows, while the chosen one is still being computed.
    pub sort: Option<&'a [Order]>,
    /// The mark of a row, by its data index.
    pub marked: Option<&'a dyn Fn(usize) -> Option<RowMark>>,
    /// Whether a row is selected; see `to_read`.
    pub selects: bool,
}

impl<'a> ListFrame<'a> {
    pub fn new(area: Rect, empty: &'a str) -> Self {
        Self {
            area,
            empty,
            sort: None,
            marked: None,
            selects: true,
        }
    }

    /// Rows to look at, without a selected one.
    #[must_use]
    pub fn to_read(self) -> Self {
        Self {
            selects: false,
            ..self
        }
    }
}

/// Selection and input.
impl<L: Fields> List<L> {
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or(self.cursor.count(), Vec::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data index of the selected row.
    pub fn selected(&self) -> Option<usize> {
        self.place(self.cursor.selected()?)
    }

    /// The data index of a row on screen.
    pub fn place(&self, row: usize) -> Option<usize> {
        match &self.order {
            Some(order) => order.get(row).map(|&place| place as usize),
            None => (row < self.cursor.count()).then_some(row),
        }
    }

    /// The data indices of all rows, in their order.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter_map(|row| self.place(row))
    }

    /// The data indices of the rows that were last on screen.
    pub fn on_screen(&self) -> impl Iterator<Item = usize> + '_ {
        self.cursor.on_screen().filter_map(|row| self.place(row))
    }

    /// Selects the first row whose data index matches; false when there is none.
    pub fn point_to(&mut self, is_it: impl Fn(usize) -> bool) -> bool {
        let row = self.places().position(is_it);
        row.map(|row| self.cursor.select(row)).is_some()
    }

    /// Selects the row after or before that of a data index. Returns its data index, row number (from 1) and the number of rows.
    pub fn step_from(
        &mut self,
        from: Option<usize>,
        forward: bool,
    ) -> Option<(usize, usize, usize)> {
        // From a token that is not in the list, starts at the top.
        let row = self.places().position(|place| Some(place) == from);
        let next = match (row, forward) {
            (None, _) => 0,
            (Some(row), true) => row + 1,
            (Some(row), false) => row.checked_sub(1)?,
        };
        let place = self.place(next)?;
        self.cursor.select(next);
        Some((place, next + 1, self.len()))
    }

    /// Handles an action: movement or sorting. A new order selects the first row.
    pub fn act(&mut self, action: Action) -> ListEvent {
        let columns = self.sort_columns();
        match action {
            Action::Sort if !columns.is_empty() => match self.column().filter(|_| L::SCROLLS) {
                Some(key) => _ = self.sorting.click(key, false, &columns),
                // A column without any data has no order.
                None => self.sorting.next(
                    &columns
                        .into_iter()
                        .filter(|(key, _)| !self.empty_columns.contains(key))
                        .collect::<Vec<_>>(),
                ),
            },
            Action::SortReverse if !columns.is_empty() => self.sorting.reverse(),
            Action::Left | Action::Right if self.step_column(action == Action::Right) => {
                return ListEvent::Moved;
            }
            action => {
                return if self.cursor.act(action) {
                    ListEvent::Moved
                } else {
                    ListEvent::Nothing
                };
            }
        }
        self.cursor.select(0);
        ListEvent::Sorted
    }

    /// Handles the mouse. A click on a header sorts; with Ctrl or Alt it adds a secondary sort column. Dragging a header resizes its
    /// column.
    pub fn mouse(&mut self, mouse: MouseEvent) -> ListEvent {
        let sideways = matches!(
            mouse.kind,
            MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight
        );
        if L::SCROLLS && sideways && self.cursor.is_under(mouse) {
            self.step_column(mouse.kind == MouseEventKind::ScrollRight);
            return ListEvent::Moved;
        }
        match self.cursor.mouse(mouse) {
            ListEvent::Dragged(key, cells) => {
                self.layout.widen(key, cells);
                ListEvent::Moved
            }
            ListEvent::Header(key) => {
                let also = mouse
                    .modifiers
                    .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
                self.column = if L::SCROLLS { Some(key) } else { self.column };
                if !self.sorting.click(key, also, &self.sort_columns()) {
                    return ListEvent::Nothing;
                }
                self.cursor.select(0);
                ListEvent::Sorted
            }
            event => {
                if matches!(event, ListEvent::Moved | ListEvent::ClickedAgain)
                    && matches!(mouse.kind, MouseEventKind::Down(_))
                {
                    self.click_column(mouse);
                }
                event
            }
        }
    }
}

/// Handles the mouse over two lists side by side: the one that reacted gets the focus.
pub fn mouse_of_two<A: Fields, B: Fields>(
    first: &mut List<A>,
    second: &mut List<B>,
    in_second: &mut bool,
    mouse: MouseEvent,
) -> ListEvent {
    match (first.mouse(mouse), second.mouse(mouse)) {
        (ListEvent::Nothing, ListEvent::Nothing) => ListEvent::Nothing,
        (ListEvent::Nothing, event) => {
            *in_second = true;
            event
        }
        (event, _) => {
            *in_second = false;
            event
        }
    }
}

/// Rows and columns.
impl<L: Fields> List<L> {
    fn standard_layout() -> ColumnLayout {
        ColumnLayout {
            hidden: Self::optional().collect(),
            ..ColumnLayout::default()
        }
    }

    /// Every field, in the user's order.
    fn fields(&self) -> Vec<&Field<L>> {
        self.layout
            .in_order(L::FIELDS.iter().chain(&self.own).collect(), |field| {
                field.column.key
            })
    }

    fn unhidden_fields(&self) -> Vec<&Field<L>> {
        let mut fields = self.fields();
        fields.retain(|field| self.is_shown(field.column.key));
        fields
    }

    /// The fields with a column on screen.
    fn drawn_fields(&self) -> Vec<&Field<L>> {
        let mut fields = self.unhidden_fields();
        fields.retain(|field| field.shown && !self.empty_columns.contains(&field.column.key));
        fields
    }

    fn field(key: &str) -> Option<&'static Field<L>> {
        L::FIELDS.iter().find(|field| field.column.key == key)
    }

    /// Whether the column is an extra column of the data.
    pub fn is_own(key: &str) -> bool {
        Self::field(key).is_none()
    }

    /// Sets the extra columns of a snapshot and, the first time, restores the saved session. False where they are already known.
    pub fn set_own(
        &mut self,
        generation: u64,
        tokens: TokenReader<'_>,
        own: impl FnOnce() -> Vec<Field<L>>,
    ) -> bool {
        if self.own_generation == Some(generation) {
            return false;
        }
        (self.own, self.own_generation) = (own(), Some(generation));
        if let Some(session) = self.saved_session.take()
            && self.filter_text.is_empty()
        {
            self.apply_session(&session, tokens);
        }
        true
    }

    /// Every column that can be shown, in order: its key, its title, and whether it is shown.
    pub fn columns(&self) -> Vec<(&'static str, &'static str, bool)> {
        let column = |field: &&Field<L>| {
            (
                field.column.key,
                field.column.title,
                !self.layout.is_hidden(field.column.key),
            )
        };
        self.fields()
            .iter()
            .filter(|field| field.shown)
            .map(column)
            .collect()
    }

    /// Shows or hides the column; hiding one removes its sort key.
    pub fn show(&mut self, key: &'static str, shown: bool) {
        self.layout.show(key, shown);
        self.drop_hidden_orders();
    }

    /// Whether the column is shown: chosen, or named by the filter.
    pub fn is_shown(&self, key: &str) -> bool {
        self.is_chosen(key) || self.filter.names(key)
    }

    /// Whether the user has not hidden the column.
    pub fn is_chosen(&self, key: &str) -> bool {
        !self.layout.is_hidden(key)
    }

    /// The keys of the columns that are hidden by default.
    pub fn optional() -> impl Iterator<Item = &'static str> {
        L::FIELDS
            .iter()
            .filter(|field| field.optional)
            .map(|field| field.column.key)
    }

    pub fn sort_columns(&self) -> Vec<SortColumn> {
        self.unhidden_fields()
            .iter()
            .filter_map(|field| Some((field.column.key, field.descending_first?)))
            .collect()
    }

    /// The columns that a filter can name.
    pub fn filter_columns(&self) -> Vec<FilterColumn> {
        L::filter_columns()
            .into_iter()
            .chain(self.own.iter().filter_map(Field::filter_column))
            .collect()
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn clear_filter(&mut self) {
        (self.filter, self.filter_text) = Default::default();
    }

    /// The title over the list, with the filter: `requests / status>400`.
    pub fn titled(&self, title: &str) -> String {
        if self.filter_text.is_empty() {
            title.to_owned()
        } else {
            format!("{title} / {}", self.filter_text)
        }
    }

    /// Sets the columns that are empty in all of the data: they are not drawn, and order nothing by default.
    pub fn set_empty_columns(&mut self, empty: Vec<&'static str>) {
        let is_empty = L::STANDARD.is_some_and(|order| empty.contains(&order.column));
        self.sorting.set_standard(if is_empty {
            L::OTHERWISE.or(L::STANDARD)
        } else {
            L::STANDARD
        });
        self.empty_columns = empty;
    }

    /// Sets the number of rows that were filtered and sorted elsewhere.
    pub fn set_count(&mut self, count: usize) {
        (self.order, self.left_out) = (None, ExcludedRows::default());
        self.cursor.set_count(count);
    }

    /// Filters and sorts the rows at `places`. Missing values come last either way; the sort is stable.
    pub fn arrange<'a>(
        &mut self,
        places: impl IntoIterator<Item = usize>,
        row: impl Fn(usize) -> Option<L::Row<'a>>,
    ) {
        let mut order: Vec<u32> = places.into_iter().map(|place| place as u32).collect();
        let rows = ListColumns::new(|nth, key| {
            let given = row(*order.get(nth)? as usize)?;
            Some(L::value(ListRow { given }, key))
        });
        let (kept, left_out) = self.filter.kept(&rows, order.len());
        let mut kept = kept.into_iter();
        order.retain(|_| kept.next() == Some(true));
        let key = |&place: &u32, key: &str| {
            let given = row(place as usize)?;
            let row = ListRow { given };
            Self::field(key)
                .map_or_else(|| L::own(row, key).sort_key(), |field| field.sort_key(row))
        };
        sort_rows(&mut order, self.sorting.keys(), key, |_, _| {
            std::cmp::Ordering::Equal
        });
        self.set_rows(order, left_out);
    }

    /// Sets the rows, by their places, and those left out because of missing values.
    pub fn set_rows(&mut self, order: Vec<u32>, left_out: ExcludedRows) {
        self.cursor.set_count(order.len());
        (self.order, self.left_out) = (Some(order), left_out);
    }
}

/// Drawing.
impl<L: Fields> List<L> {
    /// Draws the rows; `row` returns the one at a data index.
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
        let place = |nth: usize| {
            order.map_or(Some(nth), |order| {
                order.get(nth).map(|&place| place as usize)
            })
        };
        let at = |nth: usize| row(place(nth)?);
        let star = |nth: usize| at(nth).is_some_and(L::starred);
        let filter_words: Vec<&str> = self.filter.words().collect();
        let marked = |nth: usize| frame.marked.and_then(|marked| marked(place(nth)?));
        let nothing: &dyn Fn(usize) -> Vec<Cell> = &|_| Vec::new();
        let table = TableWidget {
            sort: Sorting::marks(frame.sort.unwrap_or(self.sorting.keys()), &columns),
            words: &filter_words,
            star: L::STARS.then_some(&star),
            marked: frame.marked.is_some().then_some(&marked),
            focused: self.focused,
            selects: frame.selects,
            empty: frame.empty,
            ..TableWidget::new(&columns, count, nothing)
        };
        let widths = table.widths(frame.area.intersection(buffer.area));
        let cells = |nth: usize| -> Vec<Cell> {
            let Some(row) = at(nth) else {
                return Vec::new();
            };
            let look = |cells| CellContext {
                cells,
                now: context.now,
                newest: context.newest(),
                zone: context.zone,
            };
            // Cells of hidden columns are not rendered.
            let cell = |(field, &cells): (&Field<L>, &usize)| {
                if cells == 0 {
                    Cell::default()
                } else {
                    field.show(ListRow { given: row }, &look(cells))
                }
            };
            fields.iter().zip(&widths).map(cell).collect()
        };
        let table = TableWidget {
            row: &cells,
            ..table
        };
        self.cursor.draw(&table, buffer, frame.area, context.theme);
        let no_room = columns
            .iter()
            .zip(&widths)
            .filter(|(_, width)| **width == 0)
            .map(|(column, _)| column.key)
            .collect();
        self.no_room = no_room;
        if frame.selects {
            self.mark_cell(buffer, frame.area, context);
        }
    }
}
