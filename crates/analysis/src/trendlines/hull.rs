//! Lower convex hull of points sorted by x: a line is below all points if it is below the hull's few corners.

use crate::numeric::Line;

/// Corners from left to right; the edge slopes increase.
pub(super) struct Hull {
    corners: Vec<(f64, f64)>,
}

impl Hull {
    /// Andrew's monotone chain (1979); x must increase from point to point.
    pub(super) fn below(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for point in points {
            while let [.., a, b] = corners[..]
                && (b.1 - a.1) * (point.0 - a.0) >= (point.1 - a.1) * (b.0 - a.0)
            {
                corners.pop();
            }
            corners.push(point);
        }
        Self { corners }
    }

    /// Vertical distance from the line to the lowest point relative to it; negative if that point is below the line.
    pub(super) fn clearance(&self, line: Line) -> f64 {
        // Binary search for the first edge that rises at least as fast as the line; its left corner is the closest.
        let edges = self.corners.windows(2);
        let steeper =
            |edge: &[(f64, f64)]| edge[1].1 - edge[0].1 >= line.slope * (edge[1].0 - edge[0].0);
        let (mut low, mut high) = (0, edges.len());
        while low < high {
            let middle = low.midpoint(high);
            if steeper(&self.corners[middle..middle + 2]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.corners
            .get(low)
            .map_or(f64::INFINITY, |&(x, y)| y - line.at(x))
    }

    /// The hull edge at this x: of all lines below the points, the one highest there. Needs two corners.
    pub(super) fn edge_over(&self, x: f64) -> Option<[(f64, f64); 2]> {
        let right = self
            .corners
            .partition_point(|corner| corner.0 <= x)
            .clamp(1, self.corners.len().saturating_sub(1).max(1));
        Some([*self.corners.get(right - 1)?, *self.corners.get(right)?])
    }
}
