//! Behavior shared by the token lists, Tokens and Growth: marking and comparing, stars, cell selection, stepping to neighboring tokens.
//! The rows are each view's.

use super::compare::Compare;
use crate::views::prelude::*;
use load::Dataset;
use model::names;
use query::queries::tokens::row::{OWN, own_columns};
use table::filter::{self, FilterColumn};

pub(super) trait TokenList: View {
    type Fields: Fields;

    fn list(&self) -> &List<Self::Fields>;

    /// The list, and the comparison that replaces it while open.
    fn parts(&mut self) -> (&mut List<Self::Fields>, &mut Compare);

    /// The selected row.
    fn row<'a>(&'a self, context: &'a Context<'_>) -> Option<<Self::Fields as Fields>::Row<'a>>;

    /// The token of a row, by data index.
    fn token_at(&self, place: usize, context: &Context<'_>) -> Option<Address>;

    /// The data index of a token.
    fn place_of(&self, token: &Address, context: &Context<'_>) -> Option<usize> {
        let is_it = |place: &usize| self.token_at(*place, context) == Some(*token);
        self.list().places().find(is_it)
    }

    /// The sort order changed.
    fn sorted(&mut self, context: &Context<'_>) -> Effect;

    /// The selection may have moved.
    fn moved(&mut self, _: ListEvent) {}

    /// Handles Enter on the token.
    fn open(&mut self, token: Address, _: &Context<'_>) -> Effect {
        Effect::Open(token, ViewId::Chart)
    }

    /// The selected token.
    fn token(&self, context: &Context<'_>) -> Option<Address> {
        self.token_at(self.list().selected()?, context)
    }

    /// Selects the token's row; false when it has none.
    fn point_to(&mut self, token: Option<Address>, context: &Context<'_>) -> bool {
        let place = token.and_then(|token| self.place_of(&token, context));
        place.is_some_and(|place| self.parts().0.point_to(|known| known == place))
    }

    /// Handles an action common to token lists; `None` for any other.
    fn act_common(&mut self, action: Action, context: &Context<'_>) -> Option<Effect> {
        let token = self.token(context);
        let (list, compare) = self.parts();
        if compare.is_open() {
            return Some(compare.act(action, context));
        }
        match action {
            Action::Mark => {
                return Some(token.map_or(Effect::Pass, |token| compare.mark(token, context)));
            }
            Action::CompareTokens => return Some(compare.open(token, context)),
            _ => {}
        }
        let event = list.act(action);
        self.moved(event);
        if event != ListEvent::Nothing {
            return Some(self.on_list_event(event, context));
        }
        Some(match action {
            Action::Open => token.map_or(Effect::Pass, |token| self.open(token, context)),
            Action::Star => token.map_or(Effect::Pass, Effect::Star),
            Action::CopyValue => self.copy_value(context),
            Action::FilterLike | Action::FilterUnlike => {
                self.filter_like(action == Action::FilterLike, context)
            }
            _ => return None,
        })
    }

    fn mouse_common(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let (list, compare) = self.parts();
        if compare.is_open() {
            return compare.mouse(mouse, context);
        }
        let event = list.mouse(mouse);
        self.moved(event);
        self.on_list_event(event, context)
    }

    fn on_list_event(&mut self, event: ListEvent, context: &Context<'_>) -> Effect {
        match event {
            ListEvent::Moved | ListEvent::ClickedAgain => self.selected(context),
            ListEvent::Star => self.token(context).map_or(Effect::Nothing, Effect::Star),
            ListEvent::Sorted => self.sorted(context),
            ListEvent::Nothing | ListEvent::Header(_) | ListEvent::Dragged(..) => Effect::Nothing,
        }
    }

    /// Reports that the selection may be on another token.
    fn selected(&mut self, context: &Context<'_>) -> Effect {
        match self.token(context) {
            Some(token) if context.token != Some(token) => Effect::Select(token),
            _ => {
                self.refresh(context);
                Effect::Redraw
            }
        }
    }

    /// Selects the row after or before the token's; returns its token, row number and the number of rows.
    fn step_to_neighbour(
        &mut self,
        token: Option<Address>,
        forward: bool,
        context: &Context<'_>,
    ) -> Option<(Address, usize, usize)> {
        let from = token.and_then(|token| self.place_of(&token, context));
        self.moved(ListEvent::Moved);
        let (place, row, count) = self.parts().0.step_from(from, forward)?;
        Some((self.token_at(place, context)?, row, count))
    }

    fn filter_like(&mut self, like: bool, context: &Context<'_>) -> Effect {
        let text = self.list().filter_like(self.row(context), like);
        match text.and_then(|text| self.set_filter(&text, context)) {
            Ok(()) => self.selected(context),
            Err(problem) => Effect::Say(problem.into()),
        }
    }

    /// Copies the selected cell; for a whole row the address.
    fn copy_value(&self, context: &Context<'_>) -> Effect {
        let Some(row) = self.row(context) else {
            return Effect::Pass;
        };
        match self
            .list()
            .column()
            .and_then(|key| Some((List::<Self::Fields>::plain(row, key)?, key)))
        {
            Some((text, key)) => Effect::Copy(text, key),
            None => self.token(context).map_or(Effect::Pass, |token| {
                Effect::Copy(token.to_string(), "address")
            }),
        }
    }
}

/// The extra columns of the `tokens` file, shown by default where they fit. One whose name collides with a field of the list takes the
/// prefix `own_`.
pub(super) fn own_fields<L: Fields>(dataset: &Dataset) -> Vec<Field<L>> {
    let taken = |name: &str| {
        filter::column(name, &L::filter_columns()).is_some()
            || L::FIELDS.iter().any(|field| field.column.key == name)
    };
    let field = |FilterColumn { name, kind, .. }| {
        let name = if taken(name) {
            names::intern(&format!("{OWN}{name}"))?
        } else {
            name
        };
        let figure = matches!(kind, ColumnKind::Number | ColumnKind::Duration);
        let width = (text::width(name) as u16).clamp(6, 16);
        let field = if figure {
            Field::figure(name, name, width, 60, |_| Scalar::Missing)
        } else {
            Field::text(name, name, [width, 24], 60, |_| Scalar::Missing)
        };
        let field = if kind == ColumnKind::Time {
            field.largest_first()
        } else {
            field
        };
        Some(field.of(kind))
    };
    own_columns(dataset).into_iter().filter_map(field).collect()
}
