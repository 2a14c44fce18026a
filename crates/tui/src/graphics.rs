//! Pictures on the terminal: its protocol, the bytes sent to it, and when. A picture is sent again only if it changed, and removed as soon
//! as a frame has none.

pub mod answers;

use std::io::{self, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use crossterm::{cursor::MoveTo, queue};
use ratatui::{backend::Backend, buffer::Buffer, layout::Rect};

use self::answers::TerminalAnswers;
use crate::widgets::pixels::{
    plot::{CellPixels, PlotScene},
    png::png,
    sixel::sixel,
};

/// The setting: whether charts are drawn in pixels, and by which protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Graphics {
    /// By what the terminal answers.
    #[default]
    Auto,
    By(PictureProtocol),
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureProtocol {
    /// kitty's graphics protocol: a picture lies under the text.
    Kitty,
    /// iTerm2's inline images: text replaces the part of a picture in its cell.
    Iterm,
    /// DEC's sixels, likewise.
    Sixel,
}

impl Graphics {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "auto" => Self::Auto,
            "kitty" => Self::By(PictureProtocol::Kitty),
            "iterm" => Self::By(PictureProtocol::Iterm),
            "sixel" => Self::By(PictureProtocol::Sixel),
            "off" => Self::Off,
            _ => return None,
        })
    }

    /// The query for the terminal; empty if it prints queries that it does not understand, or has no colors to draw in.
    pub fn question(self, has_colors: bool, var: impl Fn(&str) -> Option<String>) -> &'static [u8] {
        let prints = var("TERM_PROGRAM").is_some_and(|program| program == "Apple_Terminal")
            || var("TERM").is_some_and(|term| term == "linux");
        match self {
            Self::Off => b"",
            _ if prints || !has_colors || !model::system::ANSWERS_AMONG_KEYS => b"",
            // tmux would take kitty's for a window's title.
            _ if in_multiplexer(var) => answers::ATTRIBUTES,
            _ => answers::QUESTION,
        }
    }

    /// The protocol to use after the terminal's reply; the error gives the reason why it is not the requested one.
    pub fn protocol(
        self,
        answers: &TerminalAnswers,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<PictureProtocol>, &'static str> {
        let is =
            |name: &str, values: &[&str]| var(name).is_some_and(|value| values.contains(&&*value));
        let by_name =
            || is("TERM_PROGRAM", &["iTerm.app", "WezTerm"]) || is("LC_TERMINAL", &["iTerm2"]);
        let inside = in_multiplexer(&var);
        Ok(match self {
            Self::Off => None,
            Self::By(PictureProtocol::Kitty | PictureProtocol::Iterm) if inside => {
                return Err("tmux and screen can show only sixel");
            }
            Self::By(protocol) => Some(protocol),
            Self::Auto if answers.kitty => Some(PictureProtocol::Kitty),
            // Inside a multiplexer these variables are of the terminal that it was started in.
            Self::Auto if answers.names_iterm() || answers.arrived && !inside && by_name() => {
                Some(PictureProtocol::Iterm)
            }
            Self::Auto => answers.sixel.then_some(PictureProtocol::Sixel),
        })
    }
}

/// Whether tmux or screen stands between the program and the terminal.
fn in_multiplexer(var: impl Fn(&str) -> Option<String>) -> bool {
    ["TMUX", "STY"]
        .into_iter()
        .any(|name| var(name).is_some_and(|value| !value.is_empty()))
}

/// The number of the picture among those of the terminal: none that another program would choose.
const ID: u32 = 0x0074_6b64;

/// How hard to compress: a picture is made within a frame, and sent in few bytes.
const LEVEL: u32 = 6;

/// Bytes of a piece that kitty takes at once.
const PIECE: usize = 4_096;

/// Most pixels of a picture; larger ones are drawn at half the size, and the terminal scales them.
const PIXELS_MAX: usize = 2_500_000;

/// The picture on the terminal.
#[derive(Debug)]
pub struct Pictures {
    protocol: PictureProtocol,
    /// Of the terminal's answer, where the system does not tell it.
    cell: CellPixels,
    /// The picture on screen: the scene and the words in its cells.
    shown: Option<(PlotScene, Words)>,
    /// Whether it may be gone: the window was resized, or the screen cleared.
    uncertain: bool,
}

/// The cells with words over a picture.
type Words = Vec<(u16, u16, ratatui::buffer::Cell)>;

impl Pictures {
    pub fn new(protocol: PictureProtocol, cell: CellPixels) -> Self {
        Self {
            protocol,
            cell,
            shown: None,
            uncertain: false,
        }
    }

    /// Whether a picture outlasts the screen it was drawn on.
    pub fn outlasts(&self) -> bool {
        self.protocol == PictureProtocol::Kitty
    }

    pub fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// The terminal's content is unknown: the next picture is sent in any case.
    pub fn forget(&mut self) {
        self.uncertain = true;
    }

    /// Brings the terminal's picture up to the frame just written: nothing is sent where it is the same.
    pub fn follow<B: Backend<Error = io::Error> + Write>(
        &mut self,
        scene: Option<PlotScene>,
        frame: &Buffer,
        out: &mut B,
    ) -> io::Result<()> {
        let Some(scene) = scene else {
            return self.remove(frame, out);
        };
        let words = if self.protocol == PictureProtocol::Kitty {
            Words::new()
        } else {
            words(frame, scene.area)
        };
        let is_certain = !std::mem::take(&mut self.uncertain);
        if is_certain
            && self
                .shown
                .as_ref()
                .is_some_and(|(shown, over)| *shown == scene && *over == words)
        {
            return Ok(());
        }
        if self
            .shown
            .as_ref()
            .is_some_and(|(shown, _)| shown.area != scene.area)
        {
            self.remove(frame, out)?;
        }
        let area = scene.area;
        queue!(out, MoveTo(area.x, area.y))?;
        out.write_all(&self.coded(&scene))?;
        out.draw(words.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        self.shown = Some((scene, words));
        Ok(())
    }

    /// Takes the picture away; where text replaces it, by writing its cells again.
    fn remove<B: Backend<Error = io::Error> + Write>(
        &mut self,
        frame: &Buffer,
        out: &mut B,
    ) -> io::Result<()> {
        match (self.shown.take(), self.protocol) {
            (None, _) => Ok(()),
            (Some(_), PictureProtocol::Kitty) => out.write_all(farewell().as_bytes()),
            (Some((scene, _)), _) => {
                let area = scene.area.intersection(frame.area);
                out.draw(
                    area.positions()
                        .map(|place| (place.x, place.y, &frame[place])),
                )
            }
        }
    }

    fn coded(&self, scene: &PlotScene) -> Vec<u8> {
        let mut cell = cell_pixels().unwrap_or(self.cell);
        let pixels = |cell: CellPixels| {
            usize::from(cell.width) * usize::from(cell.height) * scene.area.area() as usize
        };
        // A sixel is as large as it is: it cannot be scaled.
        while self.protocol != PictureProtocol::Sixel && pixels(cell) > PIXELS_MAX {
            let Some(half) = CellPixels::new(cell.width / 2, cell.height / 2) else {
                break;
            };
            cell = half;
        }
        let canvas = scene.paint(cell);
        let Rect { width, height, .. } = scene.area;
        match self.protocol {
            PictureProtocol::Kitty => kitty(&png(&canvas, LEVEL), width, height),
            PictureProtocol::Iterm => iterm(&png(&canvas, LEVEL), width, height),
            PictureProtocol::Sixel => sixel(&canvas),
        }
    }
}

/// Removes the picture of kitty's protocol, if there is one.
pub fn farewell() -> String {
    format!("\x1b_Ga=d,d=I,i={ID},q=2\x1b\\")
}

/// A cell's pixels, where the system knows the window's.
pub fn cell_pixels() -> Option<CellPixels> {
    let window = crossterm::terminal::window_size().ok()?;
    CellPixels::new(
        window.width.checked_div(window.columns)?,
        window.height.checked_div(window.rows)?,
    )
}

fn words(frame: &Buffer, area: Rect) -> Words {
    let places = area.intersection(frame.area).positions();
    places
        .filter(|place| frame[*place].symbol() != " ")
        .map(|place| (place.x, place.y, frame[place].clone()))
        .collect()
}

/// Under the text (`z`), over `columns` × `rows` cells, without moving the cursor (`C`), and without a reply (`q`).
fn kitty(png: &[u8], columns: u16, rows: u16) -> Vec<u8> {
    let text = STANDARD.encode(png).into_bytes();
    let mut out = Vec::with_capacity(text.len() + text.len() / 64 + 128);
    let mut pieces = text.chunks(PIECE).peekable();
    let mut head = format!("a=T,f=100,q=2,i={ID},p=1,C=1,z=-1,c={columns},r={rows},");
    while let Some(piece) = pieces.next() {
        let more = u8::from(pieces.peek().is_some());
        out.extend(format!("\x1b_G{head}m={more};").bytes());
        out.extend(piece);
        out.extend(b"\x1b\\");
        // The rest of a picture says no more than that it is quiet.
        "q=2,".clone_into(&mut head);
    }
    out
}

fn iterm(png: &[u8], columns: u16, rows: u16) -> Vec<u8> {
    let size = png.len();
    let head = format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};preserveAspectRatio=0;doNotMoveCursor=1:"
    );
    [head.as_bytes(), STANDARD.encode(png).as_bytes(), b"\x07"].concat()
}

#[cfg(test)]
mod tests;
