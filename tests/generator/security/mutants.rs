//! Semantics-preserving bytecode mutations that imitate other compilers: disassembles contracts into instructions, transforms and
//! reassembles them. Nothing is judged here.

use std::collections::BTreeMap;

use demo::contracts::ContractCode;

use crate::random::Random;

const JUMPDEST: u8 = 0x5b;
const JUMP: u8 = 0x56;
const JUMPI: u8 = 0x57;
const DUP1: u8 = 0x80;
const EQ: u8 = 0x14;
const PUSH1: u8 = 0x60;
const PUSH2: u8 = 0x61;
const PUSH4: u8 = 0x63;
const PUSH32: u8 = 0x7f;
const SLOAD: u8 = 0x54;
const SSTORE: u8 = 0x55;
/// Storage slot of the owner, and the bit offset of flags packed into it.
const OWNER_SLOT: u8 = 3;
const BESIDE_OWNER: u8 = 160;
/// Storage slots of flags, one byte each when packed into the owner's slot.
const FLAGS: [u8; 4] = [4, 6, 11, 12];
/// Length of the copy code between constructor and runtime code of the invented contracts.
const COPY: usize = 14;
/// Selectors with a fixed meaning: the ERC-20 standard's and those of ownership.
const KNOWN: [u32; 13] = [
    0x06fd_de03,
    0x95d8_9b41,
    0x313c_e567,
    0x1816_0ddd,
    0x70a0_8231,
    0xdd62_ed3e,
    0xa905_9cbb,
    0x095e_a7b3,
    0x23b8_72dd,
    0x8da5_cb5b,
    0x893d_20e8,
    0x5c60_da1b,
    0x7150_18a6,
];

/// A code fragment; jumps refer to numbered labels, resolved on reassembly.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Op(Vec<u8>),
    Place(usize),
    To(usize),
}

/// Disassembled code, and the data that follows it.
#[derive(Debug, Clone)]
struct Pieces {
    #[allow(clippy::struct_field_names, reason = "they are the pieces")]
    pieces: Vec<Piece>,
    tail: Vec<u8>,
    places: usize,
}

/// A mutation of a contract.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change {
    /// Reorders the dispatcher's rows.
    Order,
    /// Replaces all selectors but the standard's.
    Rename,
    /// Compares selectors with `SUB` and jumps over, as optimisers do.
    Subtract,
    /// Compares with `XOR` and jumps to the next row, as Vyper does.
    Vyper,
    /// Binary dispatch: splits by `GT` first, as Solidity does with many functions.
    Halves,
    /// Extracts the selector by division, as before Solidity 0.5.
    Divide,
    /// Packs flags and fees into the owner's slot.
    Pack,
    /// Inserts dead code between the functions.
    Dead,
}

pub(crate) const CHANGES: [Change; 8] = [
    Change::Order,
    Change::Rename,
    Change::Subtract,
    Change::Vyper,
    Change::Halves,
    Change::Divide,
    Change::Pack,
    Change::Dead,
];

/// Applies the mutations in order. `None` if nothing changes, or if the code is no token of the template.
pub(crate) fn mutant(code: &ContractCode, changes: &[Change], seed: u64) -> Option<ContractCode> {
    let constructor = code.creation.len().checked_sub(code.runtime.len() + COPY)?;
    let mut pieces = Pieces::read(&code.runtime);
    pieces.rows()?;
    let mut random = Random(seed);
    for change in changes {
        match change {
            Change::Order => pieces.order(&mut random)?,
            Change::Rename => pieces.rename(&mut random)?,
            Change::Subtract => pieces.tell_apart(|selector, body, _| {
                vec![
                    op(&[DUP1]),
                    push4(selector),
                    op(&[0x03, 0x15]),
                    Piece::To(body),
                    op(&[JUMPI]),
                ]
            })?,
            Change::Vyper => pieces.tell_apart(|selector, body, next| {
                let other = vec![
                    op(&[DUP1]),
                    push4(selector),
                    op(&[0x18]),
                    Piece::To(next),
                    op(&[JUMPI]),
                ];
                [
                    other,
                    vec![Piece::To(body), op(&[JUMP]), Piece::Place(next)],
                ]
                .concat()
            })?,
            Change::Halves => pieces.halves()?,
            Change::Divide => pieces.divide()?,
            Change::Pack => pieces.pack(&code.creation[..constructor])?,
            Change::Dead => pieces.dead(&mut random)?,
        }
    }
    let runtime = pieces.write()?;
    let mut creation = code.creation[..constructor + COPY].to_vec();
    let size = u16::try_from(runtime.len()).ok()?.to_be_bytes();
    creation[constructor + 1..constructor + 3].copy_from_slice(&size);
    creation.extend(&runtime);
    (runtime != code.runtime).then_some(ContractCode { runtime, creation })
}

fn op(bytes: &[u8]) -> Piece {
    Piece::Op(bytes.to_vec())
}

fn push4(selector: u32) -> Piece {
    Piece::Op([&[PUSH4][..], &selector.to_be_bytes()].concat())
}

/// A dispatcher row: its index among the pieces, the selector, and the label of the body.
#[derive(Debug, Clone, Copy)]
struct Row {
    at: usize,
    selector: u32,
    body: usize,
}

const ROW_PIECES: usize = 5;

impl Pieces {
    fn read(code: &[u8]) -> Self {
        let end = code
            .windows(3)
            .position(|bytes| bytes == [0xfe, 0xa1, 0x64])
            .unwrap_or(code.len());
        let (code, tail) = code.split_at(end);
        let mut ops: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut at = 0;
        while at < code.len() {
            let length = match code[at] {
                push @ PUSH1..=PUSH32 => usize::from(push - PUSH1) + 1,
                _ => 0,
            };
            let next = (at + 1 + length).min(code.len());
            ops.push((at, code[at..next].to_vec()));
            at = next;
        }
        let number = |place: usize| {
            ops.iter()
                .filter(|(at, op)| op == &[JUMPDEST] && *at <= place)
                .count()
        };
        let is_place = |place: usize| ops.iter().any(|(at, op)| *at == place && op == &[JUMPDEST]);
        let to = |i: usize| -> Option<usize> {
            let op = &ops.get(i)?.1;
            let place = (op.len() == 3 && op[0] == PUSH2)
                .then(|| usize::from(u16::from_be_bytes([op[1], op[2]])))?;
            is_place(place).then(|| number(place))
        };
        let is = |i: usize, byte: u8| ops.get(i).is_some_and(|(_, op)| op == &[byte]);
        // Jump targets and return addresses.
        let jumps = |i: usize| {
            is(i + 1, JUMP) || is(i + 1, JUMPI) || to(i + 1).is_some() && is(i + 2, JUMP)
        };
        let pieces =
            ops.iter()
                .enumerate()
                .map(|(i, (at, bytes))| match to(i).filter(|_| jumps(i)) {
                    Some(place) => Piece::To(place),
                    None if bytes == &[JUMPDEST] => Piece::Place(number(*at)),
                    None => Piece::Op(bytes.clone()),
                });
        Self {
            pieces: pieces.collect(),
            tail: tail.to_vec(),
            places: number(usize::MAX),
        }
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut places = BTreeMap::new();
        let mut at = 0;
        for piece in &self.pieces {
            match piece {
                Piece::Op(bytes) => at += bytes.len(),
                Piece::Place(place) => {
                    places.insert(*place, at);
                    at += 1;
                }
                Piece::To(_) => at += 3,
            }
        }
        let mut code = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Op(bytes) => code.extend(bytes),
                Piece::Place(_) => code.push(JUMPDEST),
                Piece::To(place) => {
                    code.push(PUSH2);
                    code.extend(u16::try_from(*places.get(place)?).ok()?.to_be_bytes());
                }
            }
        }
        code.extend(&self.tail);
        Some(code)
    }

    /// The dispatcher's rows: `DUP1 PUSH4 EQ PUSH2 JUMPI`. `None` if there are fewer than a token has.
    fn rows(&self) -> Option<Vec<Row>> {
        let row = |at: usize| match &self.pieces[at..at + ROW_PIECES] {
            [dup, Piece::Op(push), eq, Piece::To(body), jump]
                if *dup == op(&[DUP1])
                    && push[0] == PUSH4
                    && *eq == op(&[EQ])
                    && *jump == op(&[JUMPI]) =>
            {
                Some(Row {
                    at,
                    selector: u32::from_be_bytes([push[1], push[2], push[3], push[4]]),
                    body: *body,
                })
            }
            _ => None,
        };
        let rows: Vec<Row> = (0..self.pieces.len().saturating_sub(ROW_PIECES))
            .filter_map(row)
            .collect();
        (rows.len() >= 9).then_some(rows)
    }

    /// The run of adjacent rows at the dispatcher's end: payable functions come before it and stay.
    fn run(&self) -> Option<Vec<Row>> {
        let mut rows = self.rows()?;
        let start = (1..rows.len())
            .rev()
            .find(|i| rows[*i].at != rows[*i - 1].at + ROW_PIECES)
            .unwrap_or(0);
        Some(rows.split_off(start))
    }

    fn replace(&mut self, rows: &[Row], with: Vec<Piece>) {
        let (first, last) = (rows[0].at, rows[rows.len() - 1].at + ROW_PIECES);
        self.pieces.splice(first..last, with);
    }

    fn place(&mut self) -> usize {
        self.places += 1;
        self.places
    }

    fn plain(rows: &[Row]) -> Vec<Piece> {
        let row = |row: &Row| {
            vec![
                op(&[DUP1]),
                push4(row.selector),
                op(&[EQ]),
                Piece::To(row.body),
                op(&[JUMPI]),
            ]
        };
        rows.iter().flat_map(row).collect()
    }

    fn order(&mut self, random: &mut Random) -> Option<()> {
        let rows = self.run()?;
        let mut shuffled = rows.clone();
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i + 1));
        }
        self.replace(&rows, Self::plain(&shuffled));
        Some(())
    }

    fn rename(&mut self, random: &mut Random) -> Option<()> {
        let rows = self.rows()?;
        let mut any = false;
        for row in rows.iter().filter(|row| !KNOWN.contains(&row.selector)) {
            self.pieces[row.at + 1] = push4(random.word() as u32 | 0x0100_0000);
            any = true;
        }
        any.then_some(())
    }

    fn tell_apart(&mut self, write: impl Fn(u32, usize, usize) -> Vec<Piece>) -> Option<()> {
        let rows = self.run()?;
        let mut with = Vec::new();
        for row in &rows {
            let next = self.place();
            with.extend(write(row.selector, row.body, next));
        }
        self.replace(&rows, with);
        Some(())
    }

    fn halves(&mut self) -> Option<()> {
        let rows = self.run()?;
        let fail = match &self.pieces[rows[rows.len() - 1].at + ROW_PIECES] {
            Piece::Place(fail) => *fail,
            _ => return None,
        };
        let mut sorted = rows.clone();
        sorted.sort_by_key(|row| row.selector);
        let (low, high) = sorted.split_at(sorted.len() / 2);
        let second = self.place();
        let ask = vec![
            op(&[DUP1]),
            push4(low[low.len() - 1].selector),
            op(&[0x10]),
            Piece::To(second),
            op(&[JUMPI]),
        ];
        let first = [
            Self::plain(low),
            vec![Piece::To(fail), op(&[JUMP]), Piece::Place(second)],
        ]
        .concat();
        self.replace(&rows, [ask, first, Self::plain(high)].concat());
        Some(())
    }

    fn divide(&mut self) -> Option<()> {
        let shift = [op(&[PUSH1, 0xe0]), op(&[0x1c])];
        let at = self.pieces.windows(2).position(|pieces| pieces == shift)?;
        // 2^224, then SWAP1, then DIV.
        let divisor = [&[PUSH1 + 28, 1][..], &[0; 28]].concat();
        self.pieces
            .splice(at..at + 2, [Piece::Op(divisor), op(&[0x90]), op(&[0x04])]);
        Some(())
    }

    fn pack(&mut self, constructor: &[u8]) -> Option<()> {
        let mut any = false;
        for (place, slot) in FLAGS.into_iter().enumerate() {
            let bit = BESIDE_OWNER + 8 * place as u8;
            let own = |op: u8| [PUSH1, slot, op];
            if [SLOAD, SSTORE]
                .iter()
                .any(|op| constructor.windows(3).any(|bytes| bytes == own(*op)))
            {
                continue;
            }
            let mut at = 0;
            while at + 1 < self.pieces.len() {
                if self.pieces[at] == op(&[PUSH1, slot]) && self.pieces[at + 1] == op(&[SLOAD]) {
                    let read = [
                        PUSH1, OWNER_SLOT, SLOAD, PUSH1, bit, 0x1c, PUSH1, 0xff, 0x16,
                    ];
                    self.pieces.splice(at..at + 2, [op(&read)]);
                    any = true;
                } else if self.pieces[at] == op(&[PUSH1, slot])
                    && self.pieces[at + 1] == op(&[SSTORE])
                {
                    // Writes the value's byte, keeping the rest of the slot.
                    let value = [PUSH1, 0xff, 0x16, PUSH1, bit, 0x1b];
                    let beside = [
                        PUSH1, 0xff, PUSH1, bit, 0x1b, 0x19, PUSH1, OWNER_SLOT, SLOAD, 0x16,
                    ];
                    let write = [0x17, PUSH1, OWNER_SLOT, SSTORE];
                    self.pieces
                        .splice(at..at + 2, [op(&[&value[..], &beside, &write].concat())]);
                    any = true;
                }
                at += 1;
            }
        }
        any.then_some(())
    }

    #[allow(
        clippy::unnecessary_wraps,
        reason = "one of a list of changes, some of which find nothing to change"
    )]
    fn dead(&mut self, random: &mut Random) -> Option<()> {
        // Inserted before labels without fall-through, that is after a terminating instruction.
        let ends = |piece: &Piece| {
            [0x00, JUMP, 0xf3, 0xfd]
                .iter()
                .any(|end| *piece == op(&[*end]))
        };
        let spots: Vec<usize> = (1..self.pieces.len())
            .filter(|at| matches!(self.pieces[*at], Piece::Place(_)) && ends(&self.pieces[*at - 1]))
            .collect();
        for at in spots.into_iter().rev() {
            let junk = (0..=random.below(12))
                .map(|_| [0x01, 0x33, 0x54, 0x55, 0xff, 0xf4, 0x42][random.below(7)])
                .collect();
            self.pieces.insert(at, Piece::Op(junk));
        }
        Some(())
    }
}

/// Minimal proxy (EIP-1167): forwards every call to one address.
pub(crate) fn clone_of(address: [u8; 20]) -> Vec<u8> {
    [
        bytes("363d3d373d3d3d363d73"),
        address.to_vec(),
        bytes("5af43d82803e903d91602b57fd5bf3"),
    ]
    .concat()
}

/// Implementation slot of EIP-1967: the hash of its name, minus one.
pub(crate) const IMPLEMENTATION_SLOT: &str =
    "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";

pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    const_hex::decode(hex).expect("hex")
}

/// Proxy that forwards every call to the address in that slot.
pub(crate) fn proxy_1967() -> Vec<u8> {
    forward(
        0,
        &[&[PUSH32][..], &bytes(IMPLEMENTATION_SLOT), &[SLOAD]].concat(),
    )
}

/// Delegates the call to the address that `whom` leaves on the stack, and returns its output. `at` is the code's offset.
fn forward(at: usize, whom: &[u8]) -> Vec<u8> {
    let mut code = [
        &bytes("36600060003760006000366000")[..],
        whom,
        &bytes("5af43d600060003e"),
    ]
    .concat();
    // PUSH2 over, JUMPI, the failure, and at `over` the return.
    let over = (at + code.len() + 4 + 4) as u16;
    code.push(PUSH2);
    code.extend(over.to_be_bytes());
    code.extend(bytes("573d6000fd5b3d6000f3"));
    code
}

/// Diamond (EIP-2535) with facets in its code: these functions go to the first, all others to the second.
pub(crate) fn diamond(first: [u8; 20], second: [u8; 20], of_first: &[u32]) -> Vec<u8> {
    let push = |address: [u8; 20]| [&[PUSH4 + 16][..], &address].concat();
    let mut code = bytes("60003560e01c");
    let others = forward(code.len() + 11 * of_first.len(), &push(second));
    let target = (code.len() + 11 * of_first.len() + others.len()) as u16;
    for selector in of_first {
        code.extend(
            [
                &[DUP1, PUSH4][..],
                &selector.to_be_bytes(),
                &[EQ, PUSH2],
                &target.to_be_bytes(),
                &[JUMPI],
            ]
            .concat(),
        );
    }
    code.extend(others);
    code.push(JUMPDEST);
    code.extend(forward(code.len(), &push(first)));
    code
}

/// Answers every call, `implementation()` included, with its first slot.
pub(crate) fn beacon() -> Vec<u8> {
    bytes("60005460005260206000f3")
}

/// Proxy that forwards every call to the implementation its beacon names.
pub(crate) fn beacon_proxy(beacon: [u8; 20]) -> Vec<u8> {
    // Queries the beacon in memory beyond the call data.
    let ask = [
        bytes("635c60da1b60e01b610400526020610400600461040073"),
        beacon.to_vec(),
        bytes("5afa5061040051"),
    ]
    .concat();
    forward(0, &ask)
}
