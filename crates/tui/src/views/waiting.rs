//! The placeholder of a view while its tables are loading, with their progress; or the reason why they cannot be loaded.

use crate::views::prelude::*;

/// Width of a table's name, and of its bar.
const NAME: u16 = 16;
const BAR: u16 = 40;

/// Draws the placeholder of a view that needs a dataset with the large tables `needs`; false when all are loaded.
pub fn draw(needs: &[&str], buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> bool {
    let area = inset(area.intersection(buffer.area));
    let Some(snapshot) = context.snapshot else {
        match &context.load.failure {
            Some(failure) if !context.load.running => {
                let says = format!(
                    "{}; press r to retry, or : to open another dataset",
                    failure.reason
                );
                panel::failure(area, buffer, context.theme, &says);
            }
            _ => {
                let under_way = context
                    .load
                    .tables
                    .iter()
                    .filter(|(_, done, total)| done < total || *total == 0);
                let tables: Vec<&str> = under_way.map(|(name, ..)| name.as_str()).collect();
                let read = context.load.tables.len() - tables.len();
                let says = format!(
                    "loading the dataset {}: {}",
                    context.service.folder().display(),
                    plural(read as u64, "table loaded", "tables loaded")
                );
                draw_tables(&says, &tables, buffer, area, context);
            }
        }
        return true;
    };
    let tables: Vec<&str> = snapshot
        .dataset
        .importing
        .iter()
        .copied()
        .filter(|table| needs.contains(table))
        .collect();
    if tables.is_empty() {
        return false;
    }
    let named: Vec<String> = tables.iter().map(|table| format!("`{table}`")).collect();
    let (named, are) = (
        named.join(", "),
        if tables.len() == 1 { "is" } else { "are" },
    );
    if context.load.running {
        let them = if tables.len() == 1 { "it" } else { "them" };
        let says = format!(
            "{named} {are} loading for the first time; values that need {them} are still missing"
        );
        draw_tables(&says, &tables, buffer, area, context);
    } else {
        let why = context
            .load
            .failure
            .as_ref()
            .map_or_else(String::new, |failure| format!(": {}", failure.reason));
        panel::failure(
            area,
            buffer,
            context.theme,
            &format!("{named} {are} not loaded yet{why}; press r to reload"),
        );
    }
    true
}

/// Draws a sentence, the progress of each table, and a skeleton below.
fn draw_tables(
    says: &str,
    tables: &[&str],
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) {
    say(
        buffer,
        Rect {
            height: 2.min(area.height),
            ..area
        },
        context,
        says,
    );
    let mut y = 2;
    for table in tables {
        if y >= area.height {
            return;
        }
        let row = Rect {
            x: area.x,
            y: area.y + y,
            width: area.width,
            height: 1,
        };
        put(
            buffer,
            row,
            1,
            0,
            &text::truncate(table, usize::from(NAME)),
            context.theme.text(),
        );
        let bar = Rect {
            x: row.x.saturating_add(NAME + 2),
            width: row.width.saturating_sub(NAME + 2).min(BAR),
            ..row
        };
        match share(context, table) {
            Some(share) if bar.width > 0 => {
                progress::render(bar, buffer, context.theme, share, Role::Accent);
            }
            _ => drop(put(
                buffer,
                row,
                NAME + 2,
                0,
                &how_far(context, table),
                context.theme.dim(),
            )),
        }
        y += 1;
    }
    let below = Rect {
        y: area.y + (y + 1).min(area.height),
        height: area.height.saturating_sub(y + 1),
        ..area
    };
    progress::skeleton(below, buffer, context.theme);
}

/// The loaded share of the table; `None` while unknown.
fn share(context: &Context<'_>, table: &str) -> Option<f64> {
    let (_, done, total) = context
        .load
        .tables
        .iter()
        .find(|(name, ..)| name == table)?;
    progress::share((*done, *total))
}

/// `42%`, the bytes read where the total is unknown, or that loading has not started.
pub(super) fn how_far(context: &Context<'_>, table: &str) -> String {
    let row = context.load.tables.iter().find(|(name, ..)| name == table);
    match (share(context, table), row) {
        (Some(share), _) => format!("{}%", (share.clamp(0.0, 1.0) * 100.0).floor()),
        (None, Some((_, done, _))) if *done > 0 => format::bytes(*done),
        _ => "not started".to_owned(),
    }
}
