//! The methods that a node may be called with. Only these can be sent, so that no request can change a chain.

use serde_json::{Value, json};

macro_rules! methods {
    ($($name:ident $word:literal;)*) => {
        /// A read-only method.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ReadMethod { $($name),* }

        /// Every method that can be sent.
        pub const READ_METHODS: &[(ReadMethod, &str)] = &[$((ReadMethod::$name, $word)),*];

        impl ReadMethod {
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }
        }
    };
}

methods! {
    ChainId "eth_chainId";
    GetBlockByNumber "eth_getBlockByNumber";
    GetCode "eth_getCode";
    GetBalance "eth_getBalance";
    GetStorageAt "eth_getStorageAt";
    GetLogs "eth_getLogs";
    Call "eth_call";
}

/// One call of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeCall {
    pub method: ReadMethod,
    pub params: Vec<Value>,
}

impl NodeCall {
    pub fn chain_id() -> Self {
        Self {
            method: ReadMethod::ChainId,
            params: Vec::new(),
        }
    }

    /// The newest block, without its transactions.
    pub fn newest_block() -> Self {
        Self {
            method: ReadMethod::GetBlockByNumber,
            params: vec![json!("latest"), json!(false)],
        }
    }

    /// A block, without its transactions.
    pub fn block(number: u64) -> Self {
        Self {
            method: ReadMethod::GetBlockByNumber,
            params: vec![quantity(number), json!(false)],
        }
    }

    pub fn code(address: &[u8; 20], block: u64) -> Self {
        Self {
            method: ReadMethod::GetCode,
            params: vec![hex(address), quantity(block)],
        }
    }

    pub fn balance(address: &[u8; 20], block: u64) -> Self {
        Self {
            method: ReadMethod::GetBalance,
            params: vec![hex(address), quantity(block)],
        }
    }

    pub fn slot(address: &[u8; 20], slot: &[u8; 32], block: u64) -> Self {
        Self {
            method: ReadMethod::GetStorageAt,
            params: vec![hex(address), hex(slot), quantity(block)],
        }
    }

    /// Events of these contracts with these topics (`None`: any), from one block to another, both included.
    pub fn logs(addresses: &[[u8; 20]], topics: &[Option<[u8; 32]>], from: u64, to: u64) -> Self {
        let addresses: Vec<Value> = addresses.iter().map(|address| hex(address)).collect();
        let topics: Vec<Value> = topics
            .iter()
            .map(|topic| topic.map_or(Value::Null, |topic| hex(&topic)))
            .collect();
        let filter = json!({"address": addresses, "topics": topics, "fromBlock": quantity(from), "toBlock": quantity(to)});
        Self {
            method: ReadMethod::GetLogs,
            params: vec![filter],
        }
    }

    /// A call of a contract, whose effects are discarded.
    pub fn call(to: &[u8; 20], data: &[u8], block: u64) -> Self {
        Self {
            method: ReadMethod::Call,
            params: vec![json!({"to": hex(to), "data": hex(data)}), quantity(block)],
        }
    }

    /// Bytes that its answer has, roughly.
    pub(super) fn weight(&self) -> u64 {
        match self.method {
            ReadMethod::GetCode => 20_000,
            ReadMethod::GetBlockByNumber => 4_000,
            ReadMethod::GetLogs => 100_000,
            _ => 200,
        }
    }

    /// The request with this id.
    pub(super) fn request(&self, id: usize) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": self.method.word(), "params": self.params})
    }
}

fn hex(bytes: &[u8]) -> Value {
    Value::String(const_hex::encode_prefixed(bytes))
}

fn quantity(number: u64) -> Value {
    Value::String(format!("{number:#x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_methods_that_read_can_be_sent() {
        let words: Vec<&str> = READ_METHODS.iter().map(|(_, word)| *word).collect();
        let reading = [
            "eth_chainId",
            "eth_getBlockByNumber",
            "eth_getCode",
            "eth_getBalance",
            "eth_getStorageAt",
            "eth_getLogs",
            "eth_call",
        ];
        assert_eq!(words, reading);
        assert!(
            READ_METHODS
                .iter()
                .all(|(method, word)| method.word() == *word)
        );
        // The word of a request is that of its method: no text of a caller gets there.
        let sent = NodeCall::slot(&[1; 20], &[2; 32], 17).request(3);
        assert_eq!(
            sent.to_string(),
            format!(
                r#"{{"jsonrpc":"2.0","id":3,"method":"eth_getStorageAt","params":["0x{}","0x{}","0x11"]}}"#,
                "01".repeat(20),
                "02".repeat(32)
            )
        );
    }
}
