//! Execution on on-chain state: trades in the real pool, then tests of the real owner's privileges, all in memory. Missing state is returned,
//! so that it can be fetched and the contract executed again.

mod exchanges;
mod pools;
#[cfg(test)]
mod tests;
mod upgrade;

use std::{rc::Rc, sync::Arc};

use revm::primitives::{Address, U256};

use self::exchanges::PoolPlace;
pub use self::exchanges::{Exchange, Exchanges, PoolKind, QuoteCoin, Venue};
pub(super) use self::pools::{LivePool, balance_slot_of, reserves};
use super::{
    Budget, CodeInput, CodeReport, ImplementationContract, SaleState, abi,
    accounts::{Accounts, Seed},
    deployment::{self, AssumedSlots, DeployedBy, Deployment},
    evm_state::EvmState,
    execution, findings,
    functions::{self, CodeShape},
    funding, guarded_calls,
    machine::Machine,
    pool_trades::{Deal, Trader},
    trade_series::{self, Trials, verdict},
    trade_simulation::{self, Opening, Scene},
    transaction_context::TransactionContext,
};
use crate::{
    AnomalyCode,
    simulation::{SimulatedTrades, Simulation},
};
use model::{
    chain::Chain,
    chain_state::{ChainState, MissingState},
    time::{SECOND_MS, Time},
    untrusted::caught,
};

/// Times that the state is read on; after that trades show nothing, and powers are judged by what is known.
const ROUNDS_MAX: u32 = 10;
/// The same for a contract whose execution takes more work than this.
const ROUNDS_OF_HEAVY: (u32, u64) = (5, 10_000_000);
/// Findings of the trades, not of the owner's powers.
const SHOWN_BY_TRADES: [AnomalyCode; 8] = [
    AnomalyCode::SellBlocked,
    AnomalyCode::SellTax,
    AnomalyCode::BuyBlockable,
    AnomalyCode::BuyTax,
    AnomalyCode::SimulatorAware,
    AnomalyCode::ClosesLater,
    AnomalyCode::Cooldown,
    AnomalyCode::Limit,
];
/// Maximum number of contracts whose functions are taken for the token's own.
const IMPLEMENTATIONS_MAX: usize = 32;

/// The chain that a token is executed on.
#[derive(Debug, Clone)]
pub struct LiveInput<'a> {
    pub state: Arc<dyn ChainState>,
    pub exchanges: &'a Exchanges,
    pub chain: &'a Chain,
    pub token: model::address::Address,
}

/// Executes the token on the state of its chain. Errors: the state that is needed and unknown.
pub fn inspect(
    input: &CodeInput<'_>,
    live: &LiveInput<'_>,
    budget: &Budget,
    cancelled: &dyn Fn() -> bool,
) -> Result<CodeReport, MissingState> {
    let token = Address::new(live.token.0);
    let chain = live.chain.as_str();
    let mut places = live.exchanges.places(chain, token);
    let Some(head) = live
        .state
        .block()
        .filter(|_| live.state.account(&live.token).is_some())
    else {
        return Err(pools::first_need(
            token,
            &places,
            live.exchanges.openings(chain, token),
        ));
    };
    let (opened, all_opened) = live.exchanges.opened(chain, token, &*live.state);
    let known = |place: &PoolPlace<'_>| places.iter().any(|known| known.key == place.key);
    let opened: Vec<_> = opened.into_iter().filter(|place| !known(place)).collect();
    places.extend(opened);
    // As for code alone: a panic in the interpreter loses this contract's result only.
    let ran = caught(|| {
        let seed = Seed::new(&head.hash, Some(token));
        let people = Accounts::new(seed, Some(token), live.exchanges.venue(chain).as_ref());
        let circumstances = TransactionContext::after(&head, seed);
        let evm_state = EvmState::of_chain(Arc::clone(&live.state), people, &circumstances);
        let mut machine = Machine::of_chain(
            budget,
            cancelled,
            (evm_state, circumstances),
            (live.chain, head),
        );
        Run {
            input,
            live,
            token,
            places: &places,
            all_opened,
        }
        .execute(&mut machine)
    });
    ran.unwrap_or_else(|| {
        Ok(CodeReport {
            unfinished: vec!["the execution stopped with an internal error".into()],
            ..CodeReport::default()
        })
    })
}

/// Who owns the token.
struct LiveOwner {
    /// The contract's own, or the dataset's if it has none; `None` once renounced.
    now: Option<Address>,
    /// As the dataset has it.
    told: Option<Address>,
}

/// Whether there is code of its own: an account may also delegate to code (EIP-7702) and still be one person's.
pub(super) fn is_contract(code: &[u8]) -> bool {
    !code.is_empty() && !code.starts_with(&functions::DELEGATION)
}

struct Run<'a> {
    input: &'a CodeInput<'a>,
    live: &'a LiveInput<'a>,
    token: Address,
    places: &'a [PoolPlace<'a>],
    /// Whether the node searched the whole chain for pools that were opened with it.
    all_opened: bool,
}

impl Run<'_> {
    fn execute(&self, machine: &mut Machine<'_>) -> Result<CodeReport, MissingState> {
        let pool = pools::deepest(machine, self.places);
        let code = machine.evm_state().code(self.token);
        let implementations = self.implementations(machine);
        // Slots may be missing still: our people's balances are zero anyway. Code must be known.
        if !machine.evm_state().missing().accounts.is_empty() {
            self.complete(machine)?;
        }
        let mut shape = functions::shape(&code);
        let input = CodeInput {
            runtime: &code,
            implementations: &implementations,
            creation: None,
            storage: None,
            ..*self.input
        };
        let mut report = CodeReport {
            contracts: super::contracts(self.live.token, &code, &implementations),
            ..CodeReport::default()
        };
        super::unverified(&input, &mut report);
        if code.is_empty() {
            report.unfinished.push(format!(
                "there is no contract at this address on {}",
                self.live.chain
            ));
            return Ok(report);
        }
        let owner = self.owner(machine, &input);
        let owner_is_contract = owner
            .now
            .is_some_and(|owner| is_contract(&machine.evm_state().code(owner)));
        let input = CodeInput {
            owner_is_contract,
            ..input
        };
        let input = CodeInput {
            upgraded_by: upgrade::upgraded_by(machine, self.token, &shape.functions),
            ..input
        };
        let unknown = super::proxy(&mut shape, &input, &mut report);
        report.selectors = shape
            .functions
            .iter()
            .map(|function| function.selector)
            .collect();
        if unknown {
            return self.complete(machine).map(|_| report);
        }
        self.trade(
            machine,
            &input,
            (&shape, &owner),
            pool.as_ref(),
            &mut report,
        )?;
        execution::finish(machine, &mut report);
        Ok(report)
    }

    fn owner(&self, machine: &mut Machine<'_>, input: &CodeInput<'_>) -> LiveOwner {
        let named = abi::OWNER_OF_IT
            .iter()
            .find_map(|selector| machine.ask(self.token, *selector, &[]));
        let told = input
            .owner
            .map(|owner| Address::new(owner.0))
            .filter(|owner| !owner.is_zero());
        let now = named.map_or(told, |word| {
            Some(abi::address_of(word)).filter(|owner| !owner.is_zero())
        });
        LiveOwner { now, told }
    }

    /// Contracts that the token hands its calls to, found by calling it.
    fn implementations(&self, machine: &mut Machine<'_>) -> Vec<ImplementationContract> {
        let people = machine.people;
        let holder = abi::word_of(people.holder);
        let calls = [
            abi::call(abi::TOTAL_SUPPLY, &[]),
            abi::call(abi::BALANCE_OF, &[holder]),
            abi::call(abi::TRANSFER, &[holder, U256::ZERO]),
            abi::call(abi::APPROVE, &[holder, U256::ZERO]),
            // What it has no function for another contract may.
            abi::call(guarded_calls::NO_FUNCTION, &[holder, U256::ZERO]),
        ];
        let mut found: Vec<ImplementationContract> = Vec::new();
        for data in calls {
            for address in machine.simulate(people.other, self.token, data).delegated {
                let known = found
                    .iter()
                    .any(|contract| contract.address.0 == address.0.0);
                let code = machine.evm_state().code(address);
                if !known
                    && address != self.token
                    && !code.is_empty()
                    && found.len() < IMPLEMENTATIONS_MAX
                {
                    let address = model::address::Address(address.into_array());
                    found.push(ImplementationContract {
                        address,
                        code: code.to_vec(),
                        storage: Vec::new(),
                    });
                }
            }
        }
        found
    }

    fn trade(
        &self,
        machine: &mut Machine<'_>,
        input: &CodeInput<'_>,
        (shape, owner): (&CodeShape, &LiveOwner),
        pool: Option<&LivePool>,
        report: &mut CodeReport,
    ) -> Result<(), MissingState> {
        let mut deployment =
            Deployment::new(self.token, machine.people.owner, DeployedBy::Chain, None);
        report.deployed_by = Some(DeployedBy::Chain);
        if !shape.token() {
            report
                .unfinished
                .push("not a token: transfer or balanceOf is missing".into());
            return self.complete(machine).map(drop);
        }
        if let Some(owner) = owner.now.or(owner.told) {
            deployment.owner = owner;
            deployment.owner_known = true;
        }
        report.owner = owner
            .now
            .map(|owner| model::address::Address(owner.into_array()));
        machine.evm_state().person(deployment.owner);
        if let Some(pool) = pool {
            machine.people = Accounts {
                pair: pool.address,
                router: pool.router,
                factory: pool.factory,
                coin: pool.quote,
                ..machine.people
            };
        }
        deployment::assume_ownership(
            machine,
            &mut deployment,
            &shape.functions,
            AssumedSlots::None,
        );
        let (pair, router) = pool.map_or((machine.people.pair, machine.people.router), |pool| {
            (pool.address, pool.router)
        });
        let supply = machine
            .ask(self.token, abi::TOTAL_SUPPLY, &[])
            .unwrap_or_default();
        let blank = funding::Funding::of(supply, None, input.decimals);
        let scene = Scene {
            people: machine.people,
            token: self.token,
            owner: deployment.owner,
            pair,
            router,
            pool: pool.cloned().map(Rc::new),
            obeyed: trade_simulation::obeyed(&deployment),
            funding: blank,
        };
        let trade_at = |pool: &LivePool| {
            machine.set_exchange(vec![pool.address, pool.router, pool.factory, pool.quote]);
            trade_series::run(&mut Trader::new(machine, &scene))
        };
        let trials = pool.map(trade_at).unwrap_or_default();
        report.simulation = self.live.state.block().map(|head| Simulation {
            block: head.number,
            timestamp: Time(
                i64::try_from(head.timestamp)
                    .unwrap_or(i64::MAX)
                    .saturating_mul(SECOND_MS),
            ),
            pool: pool.map(|pool| model::address::Address(pool.address.into_array())),
            dex: pool.map(|pool| pool.dex.clone()),
            trades: verdict::shown(&trials),
            requests: self.live.state.requests(),
        });
        self.interpret(&trials, pool, report);
        let Some(funding) = funding::fund_on_chain(machine, &scene, supply, input.decimals) else {
            report.unfinished.push(
                "no test balance could be created, so owner privileges were not tested".into(),
            );
            return self
                .complete(machine)
                .map(|whole| give_up_unless(whole, report));
        };
        let scene = Scene { funding, ..scene };
        self.powers(machine, input, shape, &deployment, &scene, report)
    }

    /// Adds what the trades show to the report.
    fn interpret(&self, trials: &Trials, pool: Option<&LivePool>, report: &mut CodeReport) {
        let block = self.live.state.block().map_or(0, |head| head.number);
        let Some(pool) = pool else {
            let none = format!(
                "no pool of the token was found on the known exchanges of {}",
                self.live.chain
            );
            let unsearched = if self.all_opened {
                ""
            } else {
                ", and the node does not search the whole chain for pools with hooks"
            };
            report.sale = SaleState::Depends(format!("{none}{unsearched}"));
            return;
        };
        let at = format!("in its {} pool at block {block}", pool.dex);
        report.taxes = Some(verdict::taxes(trials));
        report.traded = trials.sell.is_some();
        report.trials = Some(trials.done());
        report.anomalies.extend(verdict::findings(trials, &at));
        report.sale = match (&trials.sell, &trials.buy) {
            (Some(_), _) => SaleState::Stands,
            (
                None,
                Some(Deal {
                    reason: Some(why), ..
                }),
            ) => SaleState::Depends(format!("buying fails {at}: {why}")),
            (None, _) => SaleState::Depends("the simulated trades hit the step limit".to_owned()),
        };
        report.proofs = [AnomalyCode::SellBlocked, AnomalyCode::SellTax]
            .map(|code| (code, verdict::evidence(trials)))
            .into();
        if trials.unfinished {
            report
                .unfinished
                .push("some simulated trades hit the step limit".to_owned());
        }
    }

    /// Whether all that the calls so far read is known. Errors: what is not, while another round trip is worth it.
    fn complete(&self, machine: &mut Machine<'_>) -> Result<bool, MissingState> {
        let missing = machine.evm_state().missing();
        if missing.is_empty() {
            return Ok(true);
        }
        let missing = std::mem::take(missing);
        let most = if machine.work > ROUNDS_OF_HEAVY.1 {
            ROUNDS_OF_HEAVY.0
        } else {
            ROUNDS_MAX
        };
        if self.live.state.rounds() < most {
            return Err(missing);
        }
        *machine.evm_state().missing() = missing;
        Ok(false)
    }

    fn powers(
        &self,
        machine: &mut Machine<'_>,
        input: &CodeInput<'_>,
        shape: &CodeShape,
        deployment: &Deployment,
        scene: &Scene,
        report: &mut CodeReport,
    ) -> Result<(), MissingState> {
        let first = trade_simulation::simulate_trades(machine, scene, true, None);
        give_up_unless(self.complete(machine)?, report);
        let (trial, opening) = if first.open() {
            (first.clone(), Opening::Open)
        } else {
            let calls = execution::owner_calls(machine, scene, shape);
            trade_simulation::open(machine, scene, &calls)
        };
        let traded = findings::Traded {
            trial: &trial,
            first: &first,
            opening,
            deployed_by: DeployedBy::Chain,
            funding: &scene.funding,
            pair: scene.pair,
            whole: true,
        };
        report.opening = Some(opening);
        if opening == Opening::Owner {
            for anomaly in report
                .anomalies
                .iter_mut()
                .filter(|anomaly| anomaly.code == AnomalyCode::SellBlocked)
            {
                anomaly
                    .sentence
                    .push_str("; an owner call would enable selling");
            }
        }
        report.conclusive = trial.score() >= trade_simulation::ONE_LEG;
        if !report.conclusive {
            report
                .unfinished
                .push("no transfer succeeded, so owner privileges could not be detected".into());
        }
        report.anomalies.extend(findings::lied(&traded));
        execution::try_powers(machine, input, shape, deployment, scene, &traded, report);
        if !self.complete(machine)? {
            let MissingState {
                accounts, slots, ..
            } = machine.evm_state().missing();
            let left = accounts.len() + slots.len();
            report.conclusive = false;
            report.unfinished.push(format!(
                "{left} slots and accounts that owner calls read were not fetched, so some owner privileges may not have been found"
            ));
        }
        Ok(())
    }
}

/// Withdraws what the trades seemed to show, if they ran over a state that is not whole: a contract may read on without an end.
fn give_up_unless(whole: bool, report: &mut CodeReport) {
    if whole {
        return;
    }
    report
        .anomalies
        .retain(|anomaly| !SHOWN_BY_TRADES.contains(&anomaly.code));
    report.proofs.clear();
    (report.traded, report.taxes, report.trials) = (false, None, None);
    if let Some(simulation) = &mut report.simulation {
        simulation.trades = SimulatedTrades::default();
    }
    let why = "its trades read more of the on-chain state than was fetched".to_owned();
    report.unfinished.push(why.clone());
    report.sale = SaleState::Depends(why);
}
