//! EVM wrapper: executes calls in the world, each within a budget of gas and work, and records what an observer sees. The choice of calls
//! belongs to other files.

mod observer;

use std::{collections::HashSet, rc::Rc};

use revm::{
    Context, ExecuteEvm, InspectEvm, Journal, MainBuilder,
    context::{BlockEnv, CfgEnv, TxEnv},
    context_interface::result::{ExecutionResult, Output},
    handler::{EthPrecompiles, MainnetEvm},
    primitives::{Address, Bytes, Log, TxKind, U256, hardfork::SpecId},
};

use model::{chain::Chain as ModelChain, chain_state::BlockHead};

use self::observer::CallObserver;
use super::{
    Budget,
    abi::{self, Selector},
    accounts::{Accounts, Seed},
    caller_checks::{Branch, Guard, GuardTrace},
    evm_state::EvmState,
    live::Venue,
    trace::Trace,
    transaction_context::{BlockFacts, TransactionContext},
};

type Chain = Context<BlockEnv, TxEnv, CfgEnv, EvmState, Journal<EvmState>, ()>;

/// Seconds between blocks of a fresh world.
const BLOCK_SECONDS: u64 = 12;
/// A block of Ethereum and its time, from which the number of another one follows.
const KNOWN_BLOCK: (u64, u64) = (20_000_000, 1_720_000_000);
/// Calls in a row that fail with as much gas as there may be, after which none is allowed more than a person's.
const BURNT_MAX: u32 = 2;
/// Gas limit of a constructor, which has to store a whole contract.
const DEPLOY_GAS: u64 = 16_000_000;
/// Gas limit of a call over the state of a chain.
const CHAIN_GAS: u64 = 12_000_000;
/// Work of such a call: a sale may make the token sell for itself and pay many.
const CHAIN_WORK: u64 = 4_000_000;
/// Calls over the state of a chain that are cut off before no more are made: each is made again whenever some state was missing.
const CUT_MAX: u64 = 6;
/// Part of the budget that is spent on finding what else is missing.
const MISSING_PART: u64 = 8;

/// Result of a call.
#[derive(Debug, Default)]
pub(super) struct EvmOutcome {
    pub(super) ok: bool,
    pub(super) output: Bytes,
    pub(super) logs: Vec<Log>,
    /// Slots whose value it changed, ordered by address and slot.
    pub(super) writes: Vec<(Address, U256)>,
    pub(super) reads: Vec<(Address, U256)>,
    pub(super) created: Option<Address>,
    pub(super) destroyed: bool,
    /// Addresses whose code was run by DELEGATECALL or CALLCODE.
    pub(super) delegated: Vec<Address>,
    /// Other addresses that were called.
    pub(super) called: Vec<Address>,
    /// Those of them that were asked something, not merely paid.
    pub(super) questioned: Vec<Address>,
    /// Addresses that were called with exactly the bytes that the caller passed.
    pub(super) handed: Vec<Address>,
    /// Gas that it took.
    pub(super) gas: u64,
}

impl EvmOutcome {
    pub(super) fn word(&self) -> Option<U256> {
        (self.ok && self.output.len() >= 32).then(|| U256::from_be_slice(&self.output[..32]))
    }

    /// Whether a token call neither failed nor returned `false`.
    pub(super) fn yes(&self) -> bool {
        self.ok && (self.output.len() < 32 || self.output[..32].iter().any(|byte| *byte != 0))
    }
}

/// Who sends a transaction, who makes its call (the same, unless a contract passes it on), and its gas limit where it is a person's.
#[derive(Debug, Clone, Copy)]
struct Sender {
    origin: Address,
    caller: Address,
    gas: Option<u64>,
}

impl Sender {
    fn direct(from: Address) -> Self {
        Self {
            origin: from,
            caller: from,
            gas: None,
        }
    }
}

/// Rollback point: world, block and mock answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checkpoint {
    evm_state: usize,
    number: U256,
    time: U256,
    answer: super::evm_state::MockAnswer,
    circumstances: TransactionContext,
}

pub(super) struct Machine<'a> {
    evm: MainnetEvm<Chain, CallObserver>,
    budget: Budget,
    cancelled: &'a dyn Fn() -> bool,
    /// Milliseconds between blocks.
    interval_ms: u64,
    pub(super) people: Accounts,
    pub(super) circumstances: TransactionContext,
    /// Who sends the transactions in which people's wallets trade, if not they themselves.
    pub(super) sent_by: Option<Address>,
    /// Native coin sent along with the next call.
    pub(super) pay: U256,
    pub(super) calls: u64,
    pub(super) gas: u64,
    pub(super) work: u64,
    /// Calls in a row that failed with as much gas as there may be, too.
    burnt: u32,
    /// Work that was done when something of the chain's state turned out to be missing: then all is executed again.
    missing_since: Option<u64>,
    /// Reason for refusing further execution.
    pub(super) stopped: Option<&'static str>,
    /// Number of calls aborted for exceeding their own budget.
    pub(super) cut: u64,
}

impl<'a> Machine<'a> {
    /// A machine over a fresh world, at this time in seconds.
    pub(super) fn new(
        budget: &Budget,
        cancelled: &'a dyn Fn() -> bool,
        people: Accounts,
        seed: Seed,
        time: u64,
    ) -> Self {
        let circumstances = TransactionContext::made_up(seed);
        let number = KNOWN_BLOCK.0 + time.saturating_sub(KNOWN_BLOCK.1) / BLOCK_SECONDS;
        let specs = [SpecId::CANCUN, SpecId::HOMESTEAD];
        Self::over(
            EvmState::new(people, &circumstances),
            circumstances,
            specs,
            (number, time),
            budget,
            cancelled,
        )
    }

    /// A machine over the state of a chain at this block.
    pub(super) fn of_chain(
        budget: &Budget,
        cancelled: &'a dyn Fn() -> bool,
        (evm_state, circumstances): (EvmState, TransactionContext),
        (chain, head): (&ModelChain, BlockHead),
    ) -> Self {
        // A trade through a router takes more than a call of the token.
        let (gas_per_call, work_per_call) = (
            budget.gas_per_call.max(CHAIN_GAS),
            budget.work_per_call.max(CHAIN_WORK),
        );
        let budget = Budget {
            work_per_call,
            gas_per_call,
            ..*budget
        };
        let mut machine = Self::over(
            evm_state,
            circumstances,
            [SpecId::PRAGUE; 2],
            (head.number, head.timestamp),
            &budget,
            cancelled,
        );
        if let Some(id) = chain.id() {
            machine.evm.ctx.cfg.chain_id = id;
        }
        machine.interval_ms = chain.blocks().interval_ms.max(1);
        machine
    }

    fn over(
        mut evm_state: EvmState,
        circumstances: TransactionContext,
        specs: [SpecId; 2],
        (number, time): (u64, u64),
        budget: &Budget,
        cancelled: &'a dyn Fn() -> bool,
    ) -> Self {
        let people = evm_state.people;
        evm_state.reads.clear();
        let mut chain: Chain = Context::new(evm_state, specs[0]);
        chain.block.number = U256::from(number);
        chain.block.timestamp = U256::from(time);
        chain.block.difficulty = U256::ZERO;
        chain.cfg.disable_eip3607 = true;
        chain.cfg.disable_nonce_check = true;
        // The price is shown to the contract, and nobody pays it.
        chain.cfg.disable_fee_charge = true;
        chain.cfg.disable_base_fee = true;
        chain.cfg.disable_block_gas_limit = true;
        chain.cfg.limit_contract_code_size = Some(usize::MAX);
        chain.cfg.tx_gas_limit_cap = Some(u64::MAX);
        let mut evm = chain.build_mainnet_with_inspector(CallObserver::default());
        evm.precompiles = EthPrecompiles::new(specs[1]);
        Self {
            evm,
            budget: *budget,
            cancelled,
            interval_ms: BLOCK_SECONDS * 1_000,
            people,
            circumstances,
            sent_by: None,
            pay: U256::ZERO,
            calls: 0,
            gas: 0,
            work: 0,
            burnt: 0,
            missing_since: None,
            stopped: None,
            cut: 0,
        }
    }

    /// Puts the token, and with it its pool, elsewhere.
    pub(super) fn stand_at(&mut self, token: Address, venue: Option<&Venue<'_>>) {
        self.people = self.people.with_token_at(token, venue);
        let people = self.people;
        self.evm_state().set_people(people);
    }

    pub(super) fn evm_state(&mut self) -> &mut EvmState {
        &mut self.evm.ctx.journaled_state.database
    }

    pub(super) fn mark(&mut self) -> Checkpoint {
        let (number, time) = (self.evm.ctx.block.number, self.evm.ctx.block.timestamp);
        let circumstances = self.circumstances;
        let evm_state = self.evm_state();
        Checkpoint {
            evm_state: evm_state.mark(),
            number,
            time,
            answer: evm_state.answer,
            circumstances,
        }
    }

    pub(super) fn rollback(&mut self, mark: Checkpoint) {
        self.evm.ctx.block.number = mark.number;
        self.evm.ctx.block.timestamp = mark.time;
        self.circumstances = mark.circumstances;
        let evm_state = self.evm_state();
        evm_state.answer = mark.answer;
        evm_state.rollback(mark.evm_state);
    }

    pub(super) fn wait(&mut self, blocks: u64, seconds: u64) {
        self.evm.ctx.block.number += U256::from(blocks);
        self.evm.ctx.block.timestamp += U256::from(seconds);
    }

    pub(super) fn next_block(&mut self) {
        self.wait_blocks(1);
    }

    /// Advances by this number of blocks, and at least one second for each.
    pub(super) fn wait_blocks(&mut self, blocks: u64) {
        self.wait(
            blocks,
            blocks.max((blocks * self.interval_ms).div_ceil(1_000)),
        );
    }

    /// Advances by this number of seconds, and the blocks created in them.
    pub(super) fn wait_seconds(&mut self, seconds: u64) {
        self.wait(seconds.saturating_mul(1_000) / self.interval_ms, seconds);
    }

    /// Executes a call and commits its changes.
    pub(super) fn call(&mut self, from: Address, to: Address, data: Vec<u8>) -> EvmOutcome {
        self.run(Sender::direct(from), TxKind::Call(to), data, true)
    }

    /// Executes a call that a contract, `caller`, passes on for who sent the transaction, with a person's gas, and commits its changes.
    pub(super) fn pass(
        &mut self,
        who: Address,
        caller: Address,
        to: Address,
        data: Vec<u8>,
    ) -> EvmOutcome {
        let pay = self.pay;
        let sender = Sender {
            origin: self.sent_by.unwrap_or(who),
            caller,
            gas: Some(self.circumstances.gas),
        };
        let outcome = self.run(sender, TxKind::Call(to), data.clone(), true);
        // Wallets ask how much gas a trade takes, and allow that; but some contracts burn all that there is.
        if outcome.ok || outcome.gas < self.circumstances.gas / 10 * 9 || self.burnt >= BURNT_MAX {
            return outcome;
        }
        self.pay = pay;
        let outcome = self.run(
            Sender {
                gas: None,
                ..sender
            },
            TxKind::Call(to),
            data,
            true,
        );
        self.burnt = if outcome.ok { 0 } else { self.burnt + 1 };
        outcome
    }

    /// Has these branches go the other way, until other ones are given.
    pub(super) fn force(&mut self, branches: &[Branch]) {
        self.evm.inspector.forced = branches.iter().map(|branch| (*branch, 0)).collect();
    }

    /// Records the branches of calls that the caller or the arguments decide, but in the exchange's own contracts, until `end_guards`.
    pub(super) fn start_guards(&mut self, ledger: Rc<HashSet<(Address, U256)>>) {
        let exchange = self.evm.inspector.exchange.clone();
        self.evm.inspector.guards = Some(GuardTrace::new(exchange, ledger));
    }

    pub(super) fn end_guards(&mut self) -> Vec<Guard> {
        self.evm
            .inspector
            .guards
            .take()
            .map(|trace| trace.guards)
            .unwrap_or_default()
    }

    /// Leaves out what these contracts ask about transactions and blocks.
    pub(super) fn set_exchange(&mut self, contracts: Vec<Address>) {
        self.evm.inspector.exchange = contracts;
    }

    pub(super) fn forget_asked(&mut self) {
        self.evm.inspector.asked = BlockFacts::default();
    }

    /// What the calls since `forget_asked` asked about their transactions and blocks.
    pub(super) fn asked(&self) -> BlockFacts {
        self.evm.inspector.asked
    }

    /// Executes a call with a person's gas, and commits its changes.
    pub(super) fn person_calls(&mut self, who: Address, to: Address, data: Vec<u8>) -> EvmOutcome {
        self.pass(who, who, to, data)
    }

    /// Executes a call and discards its changes.
    pub(super) fn simulate(&mut self, from: Address, to: Address, data: Vec<u8>) -> EvmOutcome {
        self.run(Sender::direct(from), TxKind::Call(to), data, false)
    }

    /// Returns the first word of a view call's result.
    pub(super) fn ask(&mut self, to: Address, selector: Selector, words: &[U256]) -> Option<U256> {
        self.simulate(self.people.newcomer, to, abi::call(selector, words))
            .word()
    }

    pub(super) fn create(&mut self, from: Address, code: Vec<u8>) -> EvmOutcome {
        self.run(Sender::direct(from), TxKind::Create, code, true)
    }

    /// Executes a call and discards its changes, recording comparisons with the caller and slots read.
    pub(super) fn trace(
        &mut self,
        from: Address,
        to: Address,
        data: Vec<u8>,
    ) -> (EvmOutcome, Trace) {
        self.start_trace(from, to);
        let outcome = self.simulate(from, to, data);
        (outcome, self.end_trace())
    }

    /// As `trace`, and records what these words are compared with.
    pub(super) fn trace_words(
        &mut self,
        from: Address,
        to: Address,
        data: Vec<u8>,
        words: &[U256],
    ) -> (EvmOutcome, Trace) {
        self.start_trace(from, to);
        if let Some(trace) = &mut self.evm.inspector.trace {
            trace.words = words.to_vec();
        }
        let outcome = self.simulate(from, to, data);
        (outcome, self.end_trace())
    }

    /// Records every call to `of` until `end_trace`.
    pub(super) fn start_trace(&mut self, caller: Address, of: Address) {
        self.evm.inspector.trace = Some(Trace::new(caller, of));
    }

    pub(super) fn end_trace(&mut self) -> Trace {
        self.evm.inspector.trace.take().unwrap_or_default()
    }

    fn run(&mut self, sender: Sender, kind: TxKind, data: Vec<u8>, keep: bool) -> EvmOutcome {
        if self.stopped.is_none() {
            self.stopped = if (self.cancelled)() {
                Some("the analysis was canceled")
            } else if self.calls >= self.budget.calls {
                Some("the call limit was reached")
            } else if self.work
                >= self.missing_since.map_or(self.budget.work, |work| {
                    work + self.budget.work / MISSING_PART
                })
            {
                Some("the overall step limit was reached")
            } else if self.cut >= CUT_MAX && self.evm_state().is_of_chain() {
                Some("too many calls hit the step limit")
            } else {
                None
            };
        }
        if self.stopped.is_some() {
            return EvmOutcome::default();
        }
        self.calls += 1;
        let create = matches!(kind, TxKind::Create);
        let gas_limit = if create {
            DEPLOY_GAS
        } else {
            sender.gas.unwrap_or(self.budget.gas_per_call)
        };
        self.evm
            .inspector
            .start(self.budget.work_per_call * if create { 4 } else { 1 });
        self.evm.inspector.first_caller = (sender.caller != sender.origin).then_some(sender.caller);
        let value = std::mem::take(&mut self.pay);
        if !value.is_zero() {
            self.evm_state().afford(sender.origin, value);
        }
        self.evm_state().reads.clear();
        let circumstances = self.circumstances;
        self.evm_state().hashes = circumstances.hashes;
        let block = &mut self.evm.ctx.block;
        block.basefee = circumstances.base_fee;
        block.gas_limit = circumstances.block_gas_limit;
        block.beneficiary = circumstances.coinbase;
        block.prevrandao = Some(circumstances.randomness);
        let gas_price = circumstances.gas_price().into();
        let tx = TxEnv {
            caller: sender.origin,
            kind,
            data: data.into(),
            gas_limit,
            gas_price,
            value,
            chain_id: None,
            ..TxEnv::default()
        };
        let result = self.evm.inspect_one_tx(tx);
        let state = self.evm.finalize();
        self.work += self.evm.inspector.work;
        self.cut += u64::from(self.evm.inspector.cut);
        if self.missing_since.is_none() && !self.evm_state().missing().is_empty() {
            self.missing_since = Some(self.work);
        }
        let Ok(result) = result else {
            return EvmOutcome::default();
        };
        let gas = result.tx_gas_used();
        self.gas += gas;
        let mut outcome = EvmOutcome {
            gas,
            ..self.outcome(result)
        };
        if keep && outcome.ok {
            outcome.writes = self.keep(state);
        }
        outcome
    }

    fn outcome(&mut self, result: ExecutionResult) -> EvmOutcome {
        let mut outcome = EvmOutcome {
            destroyed: self.evm.inspector.destroyed,
            delegated: std::mem::take(&mut self.evm.inspector.delegated),
            called: std::mem::take(&mut self.evm.inspector.called),
            handed: std::mem::take(&mut self.evm.inspector.handed),
            questioned: std::mem::take(&mut self.evm.inspector.questioned),
            reads: std::mem::take(&mut self.evm_state().reads),
            ..EvmOutcome::default()
        };
        match result {
            ExecutionResult::Success { logs, output, .. } => {
                outcome.ok = true;
                outcome.logs = logs;
                if let Output::Create(_, address) = &output {
                    outcome.created = *address;
                }
                outcome.output = output.into_data();
            }
            ExecutionResult::Revert { output, .. } => outcome.output = output,
            ExecutionResult::Halt { .. } => {}
        }
        outcome
    }

    /// Commits the changes of a call. Returns the written slots, sorted, since the EVM's own order is arbitrary.
    fn keep(&mut self, state: revm::state::EvmState) -> Vec<(Address, U256)> {
        let mut writes = Vec::new();
        let evm_state = self.evm_state();
        for (address, account) in state {
            if !account.is_touched() {
                continue;
            }
            for (slot, value) in &account.storage {
                if value.is_changed() {
                    evm_state.set_slot(address, *slot, value.present_value);
                    writes.push((address, *slot));
                }
            }
            // A mock stays a mock; only its coin balance would have changed.
            if account.is_created() || !evm_state.mocked(address) {
                evm_state.set_account(address, account.info);
            }
        }
        writes.sort_unstable();
        writes
    }
}
