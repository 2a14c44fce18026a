//! Disassembler: bytecode as a sequence of instructions. Their meaning is left to the callers.

pub const EQ: u8 = 0x14;
pub const PUSH0: u8 = 0x5F;
pub const PUSH1: u8 = 0x60;
pub const PUSH4: u8 = 0x63;
pub const PUSH32: u8 = 0x7F;
pub const DELEGATECALL: u8 = 0xF4;

/// Each opcode with its PUSH data: truncated where the code ends, empty for other opcodes.
pub fn instructions(code: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = code;
    std::iter::from_fn(move || {
        let (&opcode, after) = rest.split_first()?;
        let length = if (PUSH1..=PUSH32).contains(&opcode) {
            usize::from(opcode - PUSH0)
        } else {
            0
        };
        let (data, next) = after.split_at(length.min(after.len()));
        rest = next;
        Some((opcode, data))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_a_push_is_no_instruction() {
        let code = [
            PUSH0,
            PUSH4,
            0x60,
            0x61,
            0x62,
            0x63,
            EQ,
            PUSH32,
            DELEGATECALL,
        ];
        let read: Vec<(u8, &[u8])> = instructions(&code).collect();
        assert_eq!(
            read,
            [
                (PUSH0, &[][..]),
                (PUSH4, &[0x60, 0x61, 0x62, 0x63]),
                (EQ, &[]),
                (PUSH32, &[DELEGATECALL])
            ]
        );
        assert_eq!(instructions(&[]).next(), None);
    }
}
