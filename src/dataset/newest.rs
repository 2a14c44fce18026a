//! The order of all posts, newest first, across tokens: made when it is first asked for.

use std::sync::OnceLock;

use super::{by_token::ByToken, rows::Post};

/// Places of posts, newest first, ties by id.
#[derive(Debug, Default)]
pub(super) struct Newest(OnceLock<Vec<u32>>);

impl Newest {
    pub(super) fn places(&self, posts: &ByToken<Post>) -> &[u32] {
        self.0.get_or_init(|| order(posts))
    }
}

fn order(posts: &ByToken<Post>) -> Vec<u32> {
    match posts {
        ByToken::Memory { rows, .. } => {
            let mut order: Vec<u32> = (0..rows.len() as u32).collect();
            order.sort_by(|&a, &b| {
                let (a, b) = (&rows[a as usize], &rows[b as usize]);
                b.published_at.cmp(&a.published_at).then_with(|| a.post_id.cmp(&b.post_id))
            });
            order
        }
        ByToken::Large(table) => {
            let times = table.whole_numbers("published_at", 0..table.height()).unwrap_or_default();
            let mut order: Vec<u32> = (0..times.len() as u32).collect();
            let id = |place: u32| posts.all().get(place as usize).map(|post| post.post_id);
            order.sort_by(|&a, &b| times[b as usize].cmp(&times[a as usize]).then_with(|| id(a).cmp(&id(b))));
            order
        }
    }
}
