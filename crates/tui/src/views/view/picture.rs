//! The slot through which a view passes a picture to the terminal.

use std::cell::{Cell, RefCell};

use crate::widgets::pixels::plot::PlotScene;

/// Where a view leaves the picture of its frame.
#[derive(Debug, Default)]
pub struct PictureSlot {
    /// The terminal can show pictures.
    allowed: Cell<bool>,
    on: Cell<bool>,
    scene: RefCell<Option<PlotScene>>,
}

impl PictureSlot {
    pub fn allow(&self, allowed: bool) {
        self.allowed.set(allowed);
    }

    /// Begins a frame, which may have a picture or not.
    pub fn begin(&self, on: bool) {
        self.on.set(on && self.allowed.get());
        self.scene.replace(None);
    }

    /// Whether this frame may have a picture.
    pub fn is_on(&self) -> bool {
        self.on.get()
    }

    pub fn put(&self, scene: Option<PlotScene>) {
        self.scene.replace(scene);
    }

    pub fn take(&self) -> Option<PlotScene> {
        self.scene.take()
    }
}
